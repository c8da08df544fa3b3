//! Properties of learned masks, over generated texts: what varies by itself is excused, and nothing else.

use crate::support::pairs::{calls, conversation};
use mcp_tap::analysis::diff::diff_masked;
use mcp_tap::analysis::exchanges::{Recording, collect};
use mcp_tap::analysis::learn::{Learned, learn};
use mcp_tap::analysis::report::Options;
use mcp_tap::analysis::rules::Rules;
use mcp_tap::session_file::FileSource;
use proptest::prelude::*;
use serde_json::json;

/// A word of a generated text.
#[derive(Debug, Clone)]
enum Part {
    /// The same in every run.
    Constant(&'static str),
    /// A number with a unit.
    Time(u32),
    /// A number that rises.
    Counter(u32),
    /// Letters and digits.
    Token(u32),
    /// A stretch of words, of another length each time.
    Words(u32),
}

impl Part {
    fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(_))
    }

    /// Returns the word as a run says it; no two runs say the same.
    fn said(&self, run: u32) -> String {
        match self {
            Self::Constant(word) => (*word).to_owned(),
            Self::Time(seed) => format!("({}ms)", seed * 31 + (run * 7) % 11),
            Self::Counter(seed) => format!("#{}", seed * 17 + run),
            Self::Token(seed) => format!("x{seed}{}", ["k", "mm", "q7", "zz9", "b", "f0"][run as usize % 6]),
            Self::Words(seed) => {
                let word = format!("W{}", ["A", "BB", "C", "DDD", "E", "F"][run as usize % 6]);
                vec![word; 1 + (seed + run) as usize % 3].join(" ")
            }
        }
    }
}

fn part() -> impl Strategy<Value = Part> {
    let words = vec!["in", "zone", "UTC,", "build", "7", "7", "took", "of:", "a.b", "(x)", "*", "ms", "é"];
    prop_oneof![
        3 => prop::sample::select(words).prop_map(Part::Constant),
        1 => (0..50_u32).prop_map(Part::Time),
        1 => (0..50_u32).prop_map(Part::Counter),
        1 => (0..50_u32).prop_map(Part::Token),
    ]
}

fn text(parts: &[Part], run: u32) -> String {
    parts.iter().map(|part| part.said(run)).collect::<Vec<_>>().join(" ")
}

fn recording(text: &str) -> Recording {
    let folder = tempfile::tempdir().expect("a folder");
    let result = json!({"content": [{"type": "text", "text": text}], "structuredContent": {"n": 1}}).to_string();
    let path = conversation(folder.path(), "x", &calls(&[("{}", &result)]));
    collect(&FileSource::read(std::fs::read(path).expect("it is there")).expect("a session file")).expect("read")
}

fn learned(parts: &[Part]) -> Learned {
    let runs: Vec<Recording> = (1..4).map(|run| recording(&text(parts, run))).collect();
    learn(&recording(&text(parts, 0)), &runs, Options::default(), &Rules::default())
}

fn is_equal(found: &Learned, a: &str, b: &str) -> bool {
    let rules = Rules::of(&found.rules).expect("what is learned can be used");
    diff_masked(&recording(a), &recording(b), Options::default(), &rules).is_equal()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_varies_is_excused_and_no_constant_is(
        parts in prop::collection::vec(part(), 1..9),
        at in any::<prop::sample::Index>(),
    ) {
        let found = learned(&parts);
        prop_assert!(found.cannot.is_empty(), "{found:?} {}", text(&parts, 0));
        prop_assert!(found.rules.iter().all(|rule| rule.learned));
        prop_assert!(is_equal(&found, &text(&parts, 0), &text(&parts, 5)), "{found:?} {}", text(&parts, 5));
        let constants: Vec<usize> = (0..parts.len()).filter(|at| parts[*at].is_constant()).collect();
        // A text without a word that stays is masked as a whole.
        let telling = parts.iter().any(|part| matches!(part, Part::Constant(word) if *word != "*") || matches!(part, Part::Time(_)));
        if !constants.is_empty() && telling {
            let mut changed = parts.clone();
            changed[constants[at.index(constants.len())]] = Part::Constant("other");
            prop_assert!(!is_equal(&found, &text(&parts, 0), &text(&changed, 4)), "{found:?} {}", text(&changed, 4));
        }
    }

    #[test]
    fn stretches_of_words_between_constants(before in "[a-z]{1,5}", behind in "[a-z]{1,5}", seed in 0..50_u32) {
        let parts = |behind| vec![Part::Constant("from"), Part::Words(seed), Part::Constant(behind)];
        let texts = |run| format!("{before} {} {behind}", text(&parts("to"), run));
        let runs: Vec<Recording> = (1..4).map(|run| recording(&texts(run))).collect();
        let found = learn(&recording(&texts(0)), &runs, Options::default(), &Rules::default());
        prop_assert!(found.cannot.is_empty(), "{found:?}");
        prop_assert!(is_equal(&found, &texts(0), &texts(5)), "{found:?}");
        let changed = format!("{before} {} {behind}", text(&parts("into"), 5));
        prop_assert!(!is_equal(&found, &texts(0), &changed), "{found:?}");
    }
}
