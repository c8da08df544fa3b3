//! What the comparison of two sessions finds, as plain data.

use super::normalize::MaskCounts;
use super::text_diff::Piece;
use crate::session::message::{Outcome, Place};
use serde::Serialize;

/// How much a change matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Who spoke: versions, revision, instructions. Never fails.
    Identity,
    /// What the server offers.
    Surface,
    /// How an exchange ended.
    Outcome,
    /// What was said.
    Content,
    /// Hints, progress, number spelling, order of unordered lists. Never fails.
    Soft,
}

/// What kind of change it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Only the second side has it.
    Added,
    /// Only the first side has it.
    Removed,
    /// Another value of the same type.
    Changed,
    /// A value of another type.
    Type,
    /// Another text, compared by words.
    Text,
    /// A picture, sound or file with other bytes.
    Blob,
    /// The same items in another order.
    Reordered,
    /// The same number, spelled differently.
    Spelling,
    /// Numbers that differ by what rounding can do (a billionth), or by less than what is tolerated.
    FloatNoise,
    /// Another outcome of an exchange.
    Outcome,
    /// Another number of messages.
    Count,
}

/// What a change of the surface means for a client written against the first side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Impact {
    /// What worked does not any more.
    Breaking,
    /// It cannot be said without comparing what the schemas accept.
    Undecided,
    /// What worked still does.
    Compatible,
    /// The model reads it: descriptions, titles.
    Wording,
    /// Nobody depends on it: annotations, icons.
    Cosmetic,
}

impl Impact {
    /// Returns the word used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Breaking => "breaking",
            Self::Undecided => "undecided",
            Self::Compatible => "compatible",
            Self::Wording => "wording",
            Self::Cosmetic => "cosmetic",
        }
    }
}

/// Which surface changes make the answer "no".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FailOn {
    /// Those that break a client, or may.
    #[default]
    Breaking,
    /// All of them.
    Any,
    /// None.
    None,
}

/// What is compared, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Options {
    /// True if nothing volatile is excused.
    pub strict: bool,
    /// The relative difference up to which two numbers, not both whole, are the same.
    pub float_tolerance: Option<f64>,
    /// True if the order of arrays does not matter.
    pub ignore_order: bool,
    /// Which surface changes fail.
    pub fail_on: FailOn,
}

/// A JSON pointer (RFC 6901) on each side; the sides differ where an array grew or shrank before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointers {
    /// On the first side; absent if nothing is there.
    pub a: Option<String>,
    /// On the second side; absent if nothing is there.
    pub b: Option<String>,
}

impl Pointers {
    /// Returns the same pointer for both sides.
    #[must_use]
    pub fn both(pointer: &str) -> Self {
        Self { a: Some(pointer.to_owned()), b: Some(pointer.to_owned()) }
    }

    /// Returns the one that is shown: the first side's, else the second's.
    #[must_use]
    pub fn shown(&self) -> &str {
        self.a.as_deref().or(self.b.as_deref()).unwrap_or_default()
    }

    fn swapped(self) -> Self {
        Self { a: self.b, b: self.a }
    }
}

/// One side's value of a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SideValue {
    /// The JSON text, in its own spelling; of a long value the beginning, as a JSON string.
    pub json: String,
    /// How long the value is, in bytes.
    pub bytes: u64,
    /// True if it is only the beginning.
    pub cut: bool,
}

/// The largest value that is kept whole, in bytes of JSON.
pub const LONGEST_VALUE: usize = 16 << 10;

impl SideValue {
    /// Returns a value by its JSON text.
    #[must_use]
    pub fn of_json(raw: &[u8]) -> Self {
        let bytes = raw.len() as u64;
        if raw.len() <= LONGEST_VALUE {
            return Self { json: String::from_utf8_lossy(raw).into_owned(), bytes, cut: false };
        }
        let start = String::from_utf8_lossy(raw.get(..LONGEST_VALUE).unwrap_or_default());
        let json = serde_json::Value::String(format!("{start}…")).to_string();
        Self { json, bytes, cut: true }
    }

    /// Returns a text as a value.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self::of_json(serde_json::Value::String(text.to_owned()).to_string().as_bytes())
    }
}

/// A tool, prompt, resource, template or capability that a surface change is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Item {
    /// `tool`, `prompt`, `resource`, `template`, `capability`.
    pub kind: &'static str,
    /// Its name or URI; empty for the capabilities as a whole.
    pub name: String,
}

/// One exchange, as reports name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeHead {
    /// Where its request stands.
    pub place: Place,
    /// Where its answer stands.
    pub answer: Option<Place>,
    /// The method.
    pub method: String,
    /// The name.
    pub name: Option<String>,
    /// The arguments, or else the parameters, as JSON; the beginning of long ones.
    pub arguments: Option<String>,
    /// How it ended; absent if it was never answered.
    pub outcome: Option<Outcome>,
    /// The code of a JSON-RPC error.
    pub error_code: Option<i64>,
    /// The message of a JSON-RPC error.
    pub error_message: Option<String>,
    /// The time the other side took, ns.
    pub took_ns: Option<i64>,
    /// How long the caller had waited when it gave up, ns.
    pub gave_up_after_ns: Option<i64>,
}

/// An exchange of the one session and the one of the other that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairHead {
    /// The first side's.
    pub a: Option<ExchangeHead>,
    /// The second side's.
    pub b: Option<ExchangeHead>,
    /// True if the server asked.
    pub from_server: bool,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// How much it matters.
    pub level: Level,
    /// What kind it is.
    pub kind: ChangeKind,
    /// What it means for a client, for a surface change.
    pub impact: Option<Impact>,
    /// What it is about, for a surface change.
    pub item: Option<Item>,
    /// The pair of exchanges it was found in, as an index into [`DiffReport::pairs`].
    pub pair: Option<usize>,
    /// Where it is: in the result, under `/params` or `/error`, or in the item.
    pub pointer: Pointers,
    /// Where it is inside the JSON that the text at `pointer` holds.
    pub inside: Option<Pointers>,
    /// The first side's value; absent if it is missing there.
    pub a: Option<SideValue>,
    /// The second side's value; absent if it is missing there.
    pub b: Option<SideValue>,
    /// The words of a changed text.
    pub words: Vec<Piece>,
    /// Which recorded messages of the first side depend on what changed, as places with their exchange's name.
    pub touches: Vec<Place>,
}

impl Change {
    /// Returns a change at a level, with nothing known of it yet.
    #[must_use]
    pub fn new(level: Level, kind: ChangeKind) -> Self {
        Self {
            level,
            kind,
            impact: None,
            item: None,
            pair: None,
            pointer: Pointers::default(),
            inside: None,
            a: None,
            b: None,
            words: Vec::new(),
            touches: Vec::new(),
        }
    }

    /// Returns true if this change makes the answer "no".
    #[must_use]
    pub fn fails(&self, fail_on: FailOn) -> bool {
        match self.level {
            Level::Outcome | Level::Content => true,
            Level::Identity | Level::Soft => false,
            Level::Surface => match fail_on {
                FailOn::None => false,
                FailOn::Any => true,
                FailOn::Breaking => matches!(self.impact, Some(Impact::Breaking | Impact::Undecided) | None),
            },
        }
    }

    /// Returns the change as the other side sees it; what it means for a client is not turned around.
    #[must_use]
    pub fn swapped(self) -> Self {
        let kind = match self.kind {
            ChangeKind::Added => ChangeKind::Removed,
            ChangeKind::Removed => ChangeKind::Added,
            other => other,
        };
        let inside = self.inside.map(Pointers::swapped);
        Self { kind, pointer: self.pointer.swapped(), inside, a: self.b, b: self.a, ..self }
    }
}

/// What the comparison of two sessions found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffReport {
    /// Every difference: identity, surface, then by exchange.
    pub changes: Vec<Change>,
    /// The pairs of exchanges that changes point to.
    pub pairs: Vec<PairHead>,
    /// How many exchanges each side has, lists with all their pages counted once.
    pub exchanges: [usize; 2],
    /// How many pairs gave the same.
    pub same: usize,
    /// How many pairs did not, or have no partner.
    pub changed: usize,
    /// How many values were compared by shape only.
    pub masks: MaskCounts,
    /// How many differences were found beyond those that are kept.
    pub left_out: u64,
    /// The lists that only one side asked for, so that they were not compared.
    pub not_compared: Vec<String>,
    /// Messages that could not be compared: too long, or no JSON.
    pub unread: u64,
}

impl DiffReport {
    /// Returns true if nothing differs in surface, outcome and content.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        !self.changes.iter().any(|change| !matches!(change.level, Level::Identity | Level::Soft))
    }

    /// Returns true if the answer is "no".
    #[must_use]
    pub fn fails(&self, fail_on: FailOn) -> bool {
        self.changes.iter().any(|change| change.fails(fail_on))
    }
}
