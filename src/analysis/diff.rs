//! The comparison of two sessions. Both the comparing and its order depend on nothing but the two recordings.

use super::align::{Pair, align, align_asking};
use super::exchanges::{Exchange, Recording, asks, items, list_member};
use super::identity;
use super::normalize::{Eye, Eyes, MaskCounts};
use super::report::{Change, ChangeKind, DiffReport, ExchangeHead, Level, Options, PairHead, Pointers, SideValue};
use super::rules::{Part, Rules, Start};
use super::surface;
use super::value_diff::{Comparer, Matter, ValueChange};
use crate::protocol::json::{Node, Tree};
use crate::session::frame::Direction;
use crate::session::message::Outcome;
use std::collections::{BTreeMap, HashSet};

/// How much work goes into the words of changed texts of one report, in pairs of words: a second or two. Beyond it,
/// texts are shown as changed lines or as a whole.
const WORD_BUDGET: u64 = 400_000_000;

/// The most of a request's arguments that a report repeats, in bytes.
const ARGUMENTS: usize = 2_000;

/// Compares two recordings.
#[must_use]
pub fn diff(a: &Recording, b: &Recording, options: Options) -> DiffReport {
    diff_masked(a, b, options, &Rules::default())
}

/// Compares two recordings; what rules excuse counts as equal, unless nothing shall be excused.
#[must_use]
pub fn diff_masked(a: &Recording, b: &Recording, options: Options, rules: &Rules) -> DiffReport {
    let mut work = Work {
        a,
        b,
        options,
        rules,
        masks: MaskCounts::new(),
        budget: WORD_BUDGET,
        left_out: 0,
        report: DiffReport::default(),
    };
    let pairs = if rules.concern_params() && !options.strict {
        let asks = |recording: &Recording| -> Vec<u64> {
            let one = |exchange: &Exchange| asks(exchange, recording.era, &rules.start(exchange, Part::Params));
            recording.exchanges.iter().map(one).collect()
        };
        align_asking((&a.exchanges, &asks(a)), (&b.exchanges, &asks(b)))
    } else {
        align(&a.exchanges, &b.exchanges)
    };
    let from_client = |recording: &Recording| {
        recording.exchanges.iter().filter(|exchange| exchange.direction == Direction::ToServer).count()
    };
    work.report.exchanges = [from_client(a), from_client(b)];
    work.report.unread = a.unread + b.unread;
    work.greeting();
    work.lists(&pairs);
    for pair in &pairs {
        work.pair(*pair);
    }
    work.notifications();
    DiffReport { masks: work.masks, left_out: work.left_out, ..work.report }
}

struct Work<'r> {
    a: &'r Recording,
    b: &'r Recording,
    options: Options,
    rules: &'r Rules,
    masks: MaskCounts,
    budget: u64,
    left_out: u64,
    report: DiffReport,
}

impl<'r> Work<'r> {
    /// Returns what compares the parts of two exchanges that rules may be about.
    fn ruled(&mut self, matter: Matter, rules: Start<'r>) -> Comparer<'_> {
        Comparer { rules, ..self.comparer(matter) }
    }

    fn comparer(&mut self, matter: Matter) -> Comparer<'_> {
        let strict = self.options.strict;
        Comparer {
            matter,
            eyes: Eyes {
                a: Eye { era: self.a.era, strict, ruled: &[] },
                b: Eye { era: self.b.era, strict, ruled: &[] },
            },
            rules: Start::default(),
            options: self.options,
            masks: &mut self.masks,
            budget: &mut self.budget,
            left_out: &mut self.left_out,
        }
    }

    fn greeting(&mut self) {
        let (Some(ours), Some(theirs)) = (identity::greeting(self.a), identity::greeting(self.b)) else { return };
        let found = self.comparer(Matter::Identity).texts(&ours.identity, &theirs.identity);
        self.report.changes.extend(found.into_iter().map(|change| from_value(change, Level::Identity, "")));
        let mut comparer = self.comparer(Matter::Surface);
        let changes = surface::capabilities(&mut comparer, &ours.capabilities, &theirs.capabilities);
        self.report.changes.extend(changes);
    }

    /// Compares what was listed; what several lists say alike is said once.
    fn lists(&mut self, pairs: &[Pair]) {
        let mut seen = HashSet::new();
        let calls = surface::Calls::of(self.a);
        let mut asked: BTreeMap<&str, [bool; 2]> = BTreeMap::new();
        for pair in pairs {
            let [ours, theirs] = self.sides(*pair);
            for (side, exchange) in [ours, theirs].into_iter().enumerate() {
                let listed = exchange.filter(|exchange| exchange.is_list() && exchange.outcome == Some(Outcome::Ok));
                if let Some(exchange) = listed {
                    asked.entry(&exchange.method).or_default()[side] = true;
                }
            }
            let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
            let (true, Some(a), Some(b)) = (ours.is_list(), items(ours), items(theirs)) else { continue };
            let method = ours.method.clone();
            // The items of all pages stand in one list, so that their numbers mean nothing.
            let rules = self.rules.start(ours, Part::Result).under(list_member(&method).unwrap_or_default()).under("");
            for mut change in surface::lists(&mut self.ruled(Matter::Surface, rules), &method, &a, &b) {
                let what = (change.item.clone(), change.pointer.clone(), change.a.clone(), change.b.clone());
                if seen.insert(what) {
                    change.touches = calls.touched_by(&change);
                    self.report.changes.push(change);
                }
            }
        }
        let alone = asked.iter().filter(|(_, sides)| sides[0] != sides[1]);
        self.report.not_compared = alone.map(|(method, _)| (*method).to_owned()).collect();
    }

    fn sides(&self, pair: Pair) -> [Option<&'r Exchange>; 2] {
        [pair.a.and_then(|at| self.a.exchanges.get(at)), pair.b.and_then(|at| self.b.exchanges.get(at))]
    }

    /// Compares two exchanges, or says that one has no partner.
    fn pair(&mut self, pair: Pair) {
        let sides = self.sides(pair);
        let head = sides[0].or(sides[1]);
        let Some(head) = head else { return };
        // What a greeting or a list says stands elsewhere; how it ended is told as of any other.
        let told_elsewhere = head.is_greeting() || head.is_list();
        let changes = match sides {
            [Some(ours), Some(theirs)] => self.both(ours, theirs, told_elsewhere),
            // How often the lists were asked for is the client's doing.
            _ if told_elsewhere => return,
            [ours, _] => {
                let kind = if ours.is_some() { ChangeKind::Removed } else { ChangeKind::Added };
                let mut change = Change::new(Level::Content, kind);
                let value = Some(SideValue::of_text(&outcome_word(head)));
                let root = Some(String::new());
                if ours.is_some() {
                    (change.pointer.a, change.a) = (root, value);
                } else {
                    (change.pointer.b, change.b) = (root, value);
                }
                vec![change]
            }
        };
        let hard = changes.iter().any(|change| change.level != Level::Soft);
        if !told_elsewhere || hard {
            *(if hard { &mut self.report.changed } else { &mut self.report.same }) += 1;
        }
        if changes.is_empty() {
            return;
        }
        let at = self.report.pairs.len();
        let from_server = head.direction == Direction::ToClient;
        self.report.pairs.push(PairHead {
            a: sides[0].map(exchange_head),
            b: sides[1].map(exchange_head),
            from_server,
        });
        self.report.changes.extend(changes.into_iter().map(|change| Change { pair: Some(at), ..change }));
    }

    fn both(&mut self, ours: &Exchange, theirs: &Exchange, told_elsewhere: bool) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut add = |found: Vec<ValueChange>, prefix: &str| {
            changes.extend(found.into_iter().map(|change| from_value(change, Level::Content, prefix)));
        };
        if !told_elsewhere && ours.params != theirs.params {
            let empty: Box<[u8]> = Box::from(&b"{}"[..]);
            let (a, b) = (ours.params.as_ref().unwrap_or(&empty), theirs.params.as_ref().unwrap_or(&empty));
            let rules = self.rules.start(ours, Part::Params);
            add(self.ruled(Matter::Params, rules).texts(a, b), "/params");
        }
        let (before, after) = (outcome_word(ours), outcome_word(theirs));
        // The answers to the server's questions are the client's doing.
        if ours.direction == Direction::ToClient {
            return changes;
        }
        let answered = |exchange: &Exchange| exchange.outcome.is_some_and(|outcome| outcome != Outcome::GaveUp);
        if before == after {
            if told_elsewhere || !answered(ours) {
                return changes;
            }
            if let (Some(a), Some(b)) = (&ours.result, &theirs.result) {
                let rules = self.rules.start(ours, Part::Result);
                add(self.ruled(Matter::Result, rules).texts(a, b), "");
            } else if let (Some(a), Some(b)) = (&ours.error, &theirs.error) {
                let rules = self.rules.start(ours, Part::Error);
                add(self.ruled(Matter::Result, rules).texts(a, b), "/error");
            }
            return changes;
        }
        let results = ours.result.as_ref().zip(theirs.result.as_ref());
        if let Some((a, b)) = results.filter(|_| answered(ours) && answered(theirs) && !told_elsewhere) {
            let rules = self.rules.start(ours, Part::Result);
            add(self.ruled(Matter::Result, rules).texts(a, b), "");
        }
        let mut outcome = Change::new(Level::Outcome, ChangeKind::Outcome);
        (outcome.a, outcome.b) = (Some(SideValue::of_text(&before)), Some(SideValue::of_text(&after)));
        outcome.pointer = Pointers::both("");
        changes.insert(0, outcome);
        changes
    }

    /// Counts what the server said unasked.
    fn notifications(&mut self) {
        let names: std::collections::BTreeSet<&String> =
            self.a.notifications.keys().chain(self.b.notifications.keys()).collect();
        for name in names {
            let count = |recording: &Recording| recording.notifications.get(name).copied().unwrap_or(0);
            let (before, after) = (count(self.a), count(self.b));
            if before == after {
                continue;
            }
            let mut change = Change::new(Level::Soft, ChangeKind::Count);
            change.item = Some(super::report::Item { kind: "notification", name: name.clone() });
            (change.a, change.b) = (
                Some(SideValue::of_json(before.to_string().as_bytes())),
                Some(SideValue::of_json(after.to_string().as_bytes())),
            );
            change.pointer = Pointers::both("");
            self.report.changes.push(change);
        }
    }
}

fn from_value(change: ValueChange, level: Level, prefix: &str) -> Change {
    let ValueChange { kind, soft, pointer, inside, a, b, words } = change;
    let under = |pointer: Option<String>| pointer.map(|pointer| format!("{prefix}{pointer}"));
    let pointer = Pointers { a: under(pointer.a), b: under(pointer.b) };
    let level = if soft { Level::Soft } else { level };
    Change { pointer, inside, a, b, words, ..Change::new(level, kind) }
}

/// Returns how an exchange ended, as reports say it: `ok`, `rpc_error -32602`, `no_answer`.
fn outcome_word(exchange: &Exchange) -> String {
    match (exchange.outcome, exchange.error_code) {
        (Some(Outcome::RpcError), Some(code)) => format!("rpc_error {code}"),
        (Some(outcome), _) => outcome.as_str().to_owned(),
        (None, _) => "no_answer".to_owned(),
    }
}

fn exchange_head(exchange: &Exchange) -> ExchangeHead {
    let params = exchange.params.as_deref().and_then(|params| Tree::parse(params).ok());
    let arguments = params.as_ref().map(Tree::root).and_then(|params| match exchange.method.as_str() {
        "tools/call" | "prompts/get" => params.get("arguments"),
        "resources/read" => None,
        _ => Some(params),
    });
    let text = |node: Node<'_, '_>| {
        let raw = node.raw();
        String::from_utf8_lossy(raw.get(..ARGUMENTS).unwrap_or(raw)).into_owned()
    };
    let error = exchange.error.as_deref().and_then(|error| Tree::parse(error).ok());
    let message = error.as_ref().and_then(|error| error.root().get("message")?.as_text());
    ExchangeHead {
        place: exchange.place,
        answer: exchange.answer,
        method: exchange.method.clone(),
        name: exchange.name.clone(),
        arguments: arguments.map(text),
        outcome: exchange.outcome,
        error_code: exchange.error_code,
        error_message: message.map(std::borrow::Cow::into_owned),
        took_ns: exchange.took_ns,
        gave_up_after_ns: exchange.gave_up_after_ns,
    }
}
