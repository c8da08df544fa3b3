//! Masks by rule: which values of which exchanges are excused, and what they must look like on both sides.
//!
//! A rule's pointer is spelled as a comparison prints it: into the result, or under `/params` or `/error`. It may go on
//! through a text that holds JSON: `/content/0/text/generated_at`. `*` stands for one token, `**` for any number of
//! them; those two never begin a way into the parameters or the error, which have to be named.

mod glob;
mod hits;
mod shape;

pub use hits::{Hits, Start};
pub(super) use shape::{UNITS, text_fits};

use super::exchanges::Exchange;
use super::volatile::{Mask, Shape, Span};
use crate::protocol::json::Node;
use crate::session::mask::{MaskRule, MaskType};
use glob::Glob;
use regex::Regex;

/// Why a rule cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct RuleError {
    /// The key that is wrong; empty if it is the rule as a whole.
    pub key: &'static str,
    /// What is wrong, as a sentence.
    pub reason: String,
}

/// What part of an exchange is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its parameters.
    Params,
    /// Its result.
    Result,
    /// Its error.
    Error,
}

/// Rules that are ready to be used.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    rules: Vec<Rule>,
}

/// One token of a rule's pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    One,
    Any,
    Key(String),
}

/// One rule.
#[derive(Debug, Clone)]
pub struct Rule {
    method: Option<Glob>,
    name: Option<Glob>,
    part: Part,
    at: Vec<Token>,
    text: Option<Regex>,
    kind: MaskType,
}

/// The most rules; each is looked at for every value that it may be about.
const MOST_RULES: usize = 2_000;

/// The largest program that a rule's expression may become, in bytes.
const LARGEST_EXPRESSION: usize = 1 << 20;

impl Rules {
    /// Compiles rules.
    ///
    /// # Errors
    /// Says what is wrong with the first one that cannot be used.
    pub fn of<'r>(written: impl IntoIterator<Item = &'r MaskRule>) -> Result<Self, RuleError> {
        written.into_iter().try_fold(Self::default(), Self::and)
    }

    /// Returns these rules and one more.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn and(mut self, written: &MaskRule) -> Result<Self, RuleError> {
        if self.rules.len() >= MOST_RULES {
            return Err(RuleError { key: "", reason: format!("there are more than {MOST_RULES} masks") });
        }
        self.rules.push(compiled(written)?);
        Ok(self)
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns true if one of them is about what the client says.
    #[must_use]
    pub fn concern_params(&self) -> bool {
        self.rules.iter().any(|rule| rule.part == Part::Params)
    }

    /// Returns the rules for a part of an exchange, at its root.
    #[must_use]
    pub fn start(&self, exchange: &Exchange, part: Part) -> Start<'_> {
        self.start_of(&exchange.method, exchange.name.as_deref(), part)
    }

    /// Returns the rules for a part of an exchange of that method and name, at its root.
    #[must_use]
    pub fn start_of(&self, method: &str, name: Option<&str>, part: Part) -> Start<'_> {
        if self.rules.is_empty() {
            return Start::default();
        }
        let concern = |rule: &&Rule| rule.part == part && rule.concerns(method, name);
        Start::of(self.rules.iter().filter(concern).collect())
    }
}

impl Rule {
    fn concerns(&self, method: &str, name: Option<&str>) -> bool {
        self.method.as_ref().is_none_or(|glob| glob.matches(method))
            && self.name.as_ref().is_none_or(|glob| glob.matches(name.unwrap_or_default()))
    }

    /// Returns the kind under which excused values are counted.
    #[must_use]
    pub fn mask(&self) -> Mask {
        match self.kind {
            MaskType::Timestamp => Mask::Timestamp,
            MaskType::Uuid => Mask::Id,
            MaskType::Token => Mask::Token,
            MaskType::Duration => Mask::Duration,
            MaskType::Counter => Mask::Counter,
            MaskType::Random => Mask::Random,
            MaskType::Order => Mask::Order,
        }
    }

    /// Tells whether a value looks as this rule wants it.
    #[must_use]
    pub fn fits(&self, node: Node<'_, '_>) -> bool {
        shape::fits(self.kind, node)
    }

    /// Returns the stretches of a text that this rule excuses, given a number that stands for it.
    pub fn spans(&self, text: &str, number: u32, found: &mut Vec<Span>) {
        let Some(expression) = &self.text else { return };
        let form = 0x8000_0000 | number;
        for group in groups(expression, text) {
            if shape::text_fits(self.kind, text.get(group.clone()).unwrap_or_default()) {
                found.push(Span { start: group.start, end: group.end, shape: Shape { mask: self.mask(), form } });
            }
        }
    }
}

/// How often in one text a search begins again inside what was found.
const MOST_OVERLAPS: usize = 1_000;

/// Returns where group 1 of an expression is in a text.
///
/// What stands behind one group may stand before the next, so a search begins where the last group ended.
pub(super) fn groups(expression: &Regex, text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    let mut from = 0;
    while let Some(captures) = text.get(from..).and_then(|_| expression.captures_at(text, from)) {
        let whole = captures.get_match().range();
        let group = captures.get(1).map(|group| group.range()).filter(|group| !group.is_empty());
        from = match &group {
            Some(group) if found.len() < MOST_OVERLAPS => group.end,
            _ => whole.end,
        };
        if group.is_none() && whole.is_empty() {
            from += text.get(from..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        }
        // A group may lie behind the one that was found, never before it.
        found.extend(group.filter(|group| found.last().is_none_or(|last| group.start >= last.end)));
    }
    found
}

/// Tells what is wrong with a rule.
///
/// # Errors
/// Says so.
pub fn check(written: &MaskRule) -> Result<(), RuleError> {
    compiled(written).map(drop)
}

fn compiled(written: &MaskRule) -> Result<Rule, RuleError> {
    let wrong = |key, reason: &str| Err(RuleError { key, reason: reason.to_owned() });
    let (method, name) = match (&written.method, &written.tool, &written.resource) {
        (None, None, None) => (None, None),
        (Some(method), None, None) => (Some(method.as_str()), None),
        (None, Some(tool), None) => (Some("tools/call"), Some(tool.as_str())),
        (None, None, Some(resource)) => (Some("resources/read"), Some(resource.as_str())),
        _ => return wrong("", "a mask names a `method`, a `tool` or a `resource`, and no two of them"),
    };
    if written.kind == MaskType::Order && written.text.is_some() {
        return wrong("text", "`order` is for arrays, and `text` for a part of a text");
    }
    let text = match &written.text {
        None => None,
        Some(expression) => {
            let built = regex::RegexBuilder::new(expression).size_limit(LARGEST_EXPRESSION).build();
            let expression = built.map_err(|error| RuleError { key: "text", reason: said(&error) })?;
            if expression.captures_len() < 2 {
                return wrong("text", "`text` has no group: put the part that varies in ( )");
            }
            Some(expression)
        }
    };
    let (part, at) = match &written.at {
        Some(pointer) => place(pointer)?,
        None if text.is_some() => (Part::Result, vec![Token::Any]),
        None => return wrong("", "a mask says with `at` or `text` which values it is about"),
    };
    Ok(Rule { method: method.map(Glob::new), name: name.map(Glob::new), part, at, text, kind: written.kind })
}

/// Reads a pointer with wildcards.
fn place(pointer: &str) -> Result<(Part, Vec<Token>), RuleError> {
    let wrong = |reason: String| RuleError { key: "at", reason };
    if pointer.is_empty() {
        return Ok((Part::Result, Vec::new()));
    }
    let Some(rest) = pointer.strip_prefix('/') else {
        return Err(wrong(format!("`{pointer}` is no pointer: it begins with `/`")));
    };
    let mut tokens: Vec<Token> = Vec::new();
    for token in rest.split('/') {
        tokens.push(match token {
            "*" => Token::One,
            // Two in a row say no more than one.
            "**" if tokens.last() == Some(&Token::Any) => continue,
            "**" => Token::Any,
            key => Token::Key(key.replace("~1", "/").replace("~0", "~")),
        });
    }
    let part = match tokens.first() {
        Some(Token::Key(key)) if key == "params" => Part::Params,
        Some(Token::Key(key)) if key == "error" => Part::Error,
        _ => return Ok((Part::Result, tokens)),
    };
    tokens.remove(0);
    Ok((part, tokens))
}

/// Returns what is wrong with an expression, in one line.
fn said(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    format!("`text` is no regular expression: {}", last.strip_prefix("error: ").unwrap_or(last))
}

#[cfg(test)]
mod tests;
