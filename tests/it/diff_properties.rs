//! Properties of the comparison, over generated values.

use mcp_tap::analysis::diff::{diff, diff_masked};
use mcp_tap::analysis::exchanges::collect;
use mcp_tap::analysis::normalize::{Eye, Eyes, MaskCounts};
use mcp_tap::analysis::report::{Change, DiffReport, Options};
use mcp_tap::analysis::rules::{Rules, Start};
use mcp_tap::analysis::text_diff::{self, PieceKind};
use mcp_tap::analysis::value_diff::{Comparer, Matter, ValueChange};
use mcp_tap::analysis::volatile::{Era, spans};
use mcp_tap::session::mask::MaskRule;
use mcp_tap::session_file::FileSource;
use proptest::prelude::*;

fn scalar() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "null",
        "true",
        "1",
        "1.0",
        "2",
        "0.30000000000000004",
        "0.3",
        "1796049060",
        "1796049061",
        "\"a\"",
        "\"b\"",
        "\"a b\"",
        "\"b a c\"",
        "\"550e8400-e29b-41d4-a716-446655440000\"",
        "\"650e8400-e29b-41d4-a716-446655440000\"",
        "\"at 2026-11-30T14:31:00Z\"",
        "\"at 2026-11-30T14:32:00Z or so\"",
        "\"{\\\"k\\\":1}\"",
        "\"{\\\"k\\\":[1,2]}\"",
        "\"\\ud800\"",
    ]);
    words.prop_map(str::to_owned)
}

fn json() -> impl Strategy<Value = String> {
    scalar().prop_recursive(4, 40, 6, |inner| {
        let key =
            prop::sample::select(vec!["name", "id", "uri", "k", "text", "data", "_meta", "isError", "nextCursor"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((key, inner), 0..5).prop_map(|members| {
                let members: Vec<String> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// Rules about places that generated values have.
const RULES: [&str; 6] = [
    r#"{"at":"/**/k","as":"random"}"#,
    r#"{"at":"/structuredContent/**/id","as":"counter"}"#,
    r#"{"at":"/*/name/**","as":"token"}"#,
    r#"{"text":"(?:^|b )(a)","as":"random"}"#,
    r#"{"at":"/**/text/k","as":"order"}"#,
    r#"{"at":"/params/arguments/n","as":"random"}"#,
];

fn rules(chosen: u8) -> Rules {
    let written: Vec<MaskRule> = RULES
        .iter()
        .enumerate()
        .filter(|(at, _)| chosen & (1 << at) != 0)
        .map(|(_, text)| serde_json::from_str(text).expect("a rule"))
        .collect();
    Rules::of(&written).expect("rules")
}

fn compare(a: &str, b: &str, strict: bool) -> (Vec<ValueChange>, MaskCounts) {
    let eye = Eye { era: Era::of(1_796_049_060_000_000_000, 0), strict, ruled: &[] };
    let (mut masks, mut budget, mut left_out) = (MaskCounts::new(), 10_000_000, 0);
    let mut comparer = Comparer {
        matter: Matter::Result,
        eyes: Eyes { a: eye, b: eye },
        options: Options::default(),
        rules: Start::default(),
        masks: &mut masks,
        budget: &mut budget,
        left_out: &mut left_out,
    };
    let changes = comparer.texts(a.as_bytes(), b.as_bytes());
    (changes, masks)
}

/// Returns what a change says, in a form that can be sorted.
fn said(change: &ValueChange, swapped: bool) -> String {
    use mcp_tap::analysis::report::ChangeKind::{Added, Removed};
    let kind = match (change.kind, swapped) {
        (Added, true) => Removed,
        (Removed, true) => Added,
        (kind, _) => kind,
    };
    let mut sides = [
        (change.pointer.a.clone(), change.inside.clone().map(|i| i.a), change.a.clone()),
        (change.pointer.b.clone(), change.inside.clone().map(|i| i.b), change.b.clone()),
    ];
    if swapped {
        sides.reverse();
    }
    format!("{kind:?} {} {sides:?}", change.soft)
}

fn sorted(changes: &[ValueChange], swapped: bool) -> Vec<String> {
    let mut all: Vec<String> = changes.iter().map(|change| said(change, swapped)).collect();
    all.sort();
    all
}

/// Writes calls with these results as a session file, and reads it back.
fn session(results: &[(u8, String)]) -> FileSource {
    let mut text = String::from(
        r#"{"mcp_tap_file":1,"session":{"id":"kkkkkkkkkkkkkkkk","origin":"record","transport":"stdio","started_at_ns":1796049060000000000,"frames":0,"bytes":0,"messages":0,"calls":0,"bad":0,"tap_version":"0"}}"#,
    );
    for (at, (argument, result)) in results.iter().enumerate() {
        let ask = format!(
            r#"{{"jsonrpc":"2.0","id":{at},"method":"tools/call","params":{{"name":"t","arguments":{{"n":{argument}}}}}}}"#
        );
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{at},"result":{{"content":[],"structuredContent":{result}}}}}"#);
        for (line, dir) in [(ask, "to_server"), (answer, "to_client")] {
            let seq = text.lines().count() - 1;
            text.push_str(&format!(
                "\n{{\"seq\":{seq},\"at_ns\":{seq},\"fwd_ns\":{seq},\"dir\":\"{dir}\",\"message\":{line}}}"
            ));
        }
    }
    FileSource::read(text.into_bytes()).expect("it is a session file")
}

fn report(a: &[(u8, String)], b: &[(u8, String)], chosen: u8) -> DiffReport {
    let (a, b) = (collect(&session(a)).expect("a"), collect(&session(b)).expect("b"));
    if chosen == 0 { diff(&a, &b, Options::default()) } else { diff_masked(&a, &b, Options::default(), &rules(chosen)) }
}

fn all_said(changes: impl Iterator<Item = Change>) -> Vec<String> {
    let mut all: Vec<String> = changes
        .map(|c| format!("{:?} {:?} {:?} {:?} {:?} {:?}", c.level, c.kind, c.pointer, c.inside, c.a, c.b))
        .collect();
    all.sort();
    all
}

proptest! {
    #[test]
    fn a_value_does_not_differ_from_itself(a in json(), strict: bool) {
        let (changes, masks) = compare(&a, &a, strict);
        prop_assert!(changes.is_empty() && masks.is_empty(), "{changes:?}");
        // Nor from itself spelled with blanks.
        let spaced = a.replace(',', " , ").replace(':', " : ");
        if !a.contains("2026") && !a.contains('\\') {
            prop_assert!(compare(&a, &spaced, strict).0.is_empty());
        }
    }

    #[test]
    fn sides_can_change_places(a in json(), b in json(), strict: bool) {
        let ((there, masks), (back, masks_back)) = (compare(&a, &b, strict), compare(&b, &a, strict));
        prop_assert_eq!(sorted(&there, false), sorted(&back, true));
        prop_assert_eq!(masks, masks_back);
    }

    #[test]
    fn what_differs_strictly_is_a_change(a in json(), b in json()) {
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        let top = |text: &str| text.contains("isError") || text.contains("\\ud800") || text.contains("1.0");
        if let (Some(x), Some(y)) = (value(&a), value(&b)) && !top(&a) && !top(&b) && x != y {
            prop_assert!(!compare(&a, &b, true).0.is_empty());
        }
    }

    #[test]
    fn the_words_of_a_text_give_both_sides_back(a in "[a-c ,.é\n]{0,30}", b in "[a-c ,.é\n]{0,30}") {
        let diff = text_diff::compare(&a, &b, Eyes::default(), &mut 10_000_000);
        let side = |other: PieceKind| -> String {
            diff.pieces.iter().filter(|piece| piece.kind != other).map(|piece| piece.text.as_str()).collect()
        };
        prop_assert_eq!(side(PieceKind::New), a);
        prop_assert_eq!(side(PieceKind::Old), b);
    }

    #[test]
    fn spans_are_in_order_and_between_characters(text in "\\PC{0,60}|[0-9a-fTZ:. -]{0,60}") {
        let mut from = 0;
        for span in spans(&text, Era::of(1_796_049_060_000_000_000, 0)) {
            prop_assert!(span.start >= from && span.end > span.start);
            prop_assert!(text.get(span.start..span.end).is_some());
            from = span.end;
        }
    }

    #[test]
    fn sessions_can_change_places(
        a in prop::collection::vec((0..3_u8, json()), 0..6),
        b in prop::collection::vec((0..3_u8, json()), 0..6),
        chosen in prop_oneof![Just(0), 1_u8..64],
    ) {
        prop_assert!(report(&a, &a, chosen).changes.is_empty());
        let (there, back) = (report(&a, &b, chosen), report(&b, &a, chosen));
        prop_assert_eq!(
            all_said(there.changes.clone().into_iter()),
            all_said(back.changes.clone().into_iter().map(Change::swapped))
        );
        prop_assert_eq!((there.same, there.changed, there.masks), (back.same, back.changed, back.masks));
    }
}
