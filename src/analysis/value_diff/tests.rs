//! Differences by hand.

use super::*;
use crate::analysis::normalize::Eye;
use crate::analysis::rules::Start;

fn changes_of(matter: Matter, options: Options, a: &str, b: &str) -> (Vec<ValueChange>, MaskCounts) {
    let (mut masks, mut budget, mut left_out) = (MaskCounts::new(), 1_000_000, 0);
    let eye = Eye { era: None, strict: options.strict, ruled: &[] };
    let mut comparer = Comparer {
        matter,
        eyes: Eyes { a: eye, b: eye },
        options,
        rules: Start::default(),
        masks: &mut masks,
        budget: &mut budget,
        left_out: &mut left_out,
    };
    let changes = comparer.texts(a.as_bytes(), b.as_bytes());
    (changes, masks)
}

fn shown(a: &str, b: &str) -> Vec<String> {
    shown_with(Matter::Result, Options::default(), a, b)
}

fn shown_with(matter: Matter, options: Options, a: &str, b: &str) -> Vec<String> {
    let side = |value: &Option<SideValue>| value.as_ref().map_or("gone".to_owned(), |value| value.json.clone());
    changes_of(matter, options, a, b)
        .0
        .iter()
        .map(|change| {
            let inside = change.inside.as_ref().map(|inside| format!(" {}", inside.shown())).unwrap_or_default();
            let soft = if change.soft { " soft" } else { "" };
            let pointer = change.pointer.shown();
            format!("{pointer}{inside} {:?} {} {}{soft}", change.kind, side(&change.a), side(&change.b))
        })
        .collect()
}

#[test]
fn values_by_pointer() {
    for (a, b, expected) in [
        (r#"{"x":{"h":7.5}}"#, r#"{"x":{"h":8.1}}"#, vec!["/x/h Changed 7.5 8.1"]),
        (r#"{"x":1}"#, r#"{"x":"1"}"#, vec![r#"/x Type 1 "1""#]),
        (r#"{"x":null}"#, "{}", vec!["/x Removed null gone"]),
        (r#"{"x":1}"#, r#"{"x":null}"#, vec!["/x Type 1 null"]),
        (r#"{"x":true}"#, r#"{"x":false}"#, vec!["/x Changed true false"]),
        (r#"{"a/b":1,"c~":2}"#, r#"{"a/b":3,"c~":4}"#, vec!["/a~1b Changed 1 3", "/c~0 Changed 2 4"]),
        (r#"{"k":1,"k":2}"#, r#"{"k":2}"#, vec!["/k Removed 1 gone"]),
        ("[1,2,3]", "[1,9,2,3]", vec!["/1 Added gone 9"]),
        ("[1,2,3]", "[3,2,1]", vec![" Reordered [1,2,3] [3,2,1]"]),
        (r#"{"s":"low"}"#, r#"{"s":"high"}"#, vec![r#"/s Changed "low" "high""#]),
        (r#"{"s":"a b"}"#, r#"{"s":"a c"}"#, vec![r#"/s Text "a b" "a c""#]),
        (r#"{"s":"\u0061"}"#, r#"{"s":"a"}"#, vec![]),
        (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, vec![]),
        (r#"{"s":"\ud800"}"#, r#"{"s":"\ud801"}"#, vec!["/s Changed \"\\ud800\" \"\\ud801\""]),
    ] {
        assert_eq!(shown(a, b), expected, "{a} {b}");
    }
}

#[test]
fn numbers_by_exact_value() {
    assert_eq!(shown("9007199254740992", "9007199254740993"), [" Changed 9007199254740992 9007199254740993"]);
    assert_eq!(shown("1.0", "1"), [" Spelling 1.0 1 soft"]);
    assert_eq!(shown("1e400", "1e401"), [" Changed 1e400 1e401"]);
    assert_eq!(shown("1e400", "10e399"), [" Spelling 1e400 10e399 soft"]);
    assert_eq!(shown("3.0000000000001", "3"), [" FloatNoise 3.0000000000001 3"]);
    let tolerant = Options { float_tolerance: Some(0.01), ..Options::default() };
    assert_eq!(shown_with(Matter::Result, tolerant, "7.5", "7.51"), [" FloatNoise 7.5 7.51 soft"]);
    assert_eq!(shown_with(Matter::Result, tolerant, "750", "751"), [" Changed 750 751"]);
    assert_eq!(shown_with(Matter::Result, tolerant, "7.5", "8.1"), [" Changed 7.5 8.1"]);
}

#[test]
fn a_text_that_is_a_number() {
    assert_eq!(shown(r#"{"text":"3"}"#, r#"{"text":"3.0"}"#), [r#"/text Spelling "3" "3.0" soft"#]);
    assert_eq!(
        shown(r#"{"text":"3"}"#, r#"{"text":"3.0000000000001"}"#),
        [r#"/text FloatNoise "3" "3.0000000000001""#]
    );
    assert_eq!(shown(r#"{"text":"3"}"#, r#"{"text":"4"}"#), [r#"/text Changed "3" "4""#]);
    assert_eq!(shown(r#"{"version":"3"}"#, r#"{"version":"3.0"}"#), [r#"/version Changed "3" "3.0""#]);
}

#[test]
fn json_inside_text_is_json() {
    let a = r#"{"content":[{"type":"text","text":"{\"high\": 7.5, \"low\": 1}"}]}"#;
    let b = r#"{"content":[{"type":"text","text":"{\"low\":1,\"high\":8.1}"}]}"#;
    assert_eq!(shown(a, b), ["/content/0/text /high Changed 7.5 8.1"]);
}

#[test]
fn masks_need_the_shape_on_both_sides() {
    let uuid = ["550e8400-e29b-41d4-a716-446655440000", "650e8400-e29b-41d4-a716-446655440000"];
    let (a, b) = (format!(r#"{{"id":"{}"}}"#, uuid[0]), format!(r#"{{"id":"{}"}}"#, uuid[1]));
    let (changes, masks) = changes_of(Matter::Result, Options::default(), &a, &b);
    assert_eq!((changes.len(), masks.get(&Mask::Id)), (0, Some(&1)));
    let (changes, masks) = changes_of(Matter::Result, Options { strict: true, ..Options::default() }, &a, &b);
    assert_eq!((changes.len(), masks.len()), (1, 0));
    for other in [r#"{"id":null}"#, r#"{"id":7}"#, r#"{"id":"none"}"#, "{}"] {
        assert_eq!(changes_of(Matter::Result, Options::default(), &a, other).0.len(), 1, "{other}");
    }
    assert!(shown(r#"{"nextCursor":"a"}"#, r#"{"nextCursor":"b"}"#).is_empty());
    assert_eq!(shown(r#"{"nextCursor":"a"}"#, r#"{"nextCursor":null}"#).len(), 1);
    assert_eq!(shown(r#"{"data":{"nextCursor":"a"}}"#, r#"{"data":{"nextCursor":"b"}}"#).len(), 1);
}

#[test]
fn hints_are_soft_and_what_the_outcome_says_is_not_said_twice() {
    assert_eq!(shown(r#"{"ttlMs":1}"#, r#"{"ttlMs":2}"#), ["/ttlMs Changed 1 2 soft"]);
    assert_eq!(shown(r#"{"_meta":{"a":{"b":1}}}"#, r#"{"_meta":{"a":{"b":2}}}"#), ["/_meta/a/b Changed 1 2 soft"]);
    assert_eq!(shown("{}", r#"{"_meta":{}}"#), ["/_meta Added gone {} soft"]);
    assert!(shown(r#"{"isError":false}"#, "{}").is_empty());
    assert_eq!(shown(r#"{"x":{"ttlMs":1}}"#, r#"{"x":{"ttlMs":2}}"#), ["/x/ttlMs Changed 1 2"]);
}

#[test]
fn blobs_by_size_and_hash_and_text_in_them_as_text() {
    // "created at …" in base64, and the PNG signature with one byte more.
    let (a, b) = (r#"{"blob":"YXQgNjo0OTozMCBQTQ=="}"#, r#"{"blob":"YXQgNzo0OTozMCBQTQ=="}"#);
    let (changes, masks) = changes_of(Matter::Result, Options::default(), a, b);
    assert_eq!((changes.len(), masks.get(&Mask::Timestamp)), (0, Some(&1)));
    let found = shown(r#"{"content":[{"data":"iVBORw0KGgo="}]}"#, r#"{"content":[{"data":"iVBORw0KGgoA"}]}"#);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with(r#"/content/0/data Blob {"bytes":8,"sha256":"4c4b6a3be1314ab8"#), "{}", found[0]);
}

#[test]
fn lists_of_schemas_are_sets() {
    let (a, b) = (r#"{"enum":["a","b","c"]}"#, r#"{"enum":["c","d","a"]}"#);
    let found = shown_with(Matter::Surface, Options::default(), a, b);
    assert_eq!(found, [r#"/enum/1 Removed "b" gone"#, r#"/enum/1 Added gone "d""#]);
}

#[test]
fn depth_costs_what_length_costs() {
    let deep = |value: &str| format!("{}{value}{}", "[".repeat(100_000), "]".repeat(100_000));
    let found = changes_of(Matter::Result, Options::default(), &deep("1"), &deep("2")).0;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].pointer.shown().len(), 200_000);
    let wide =
        |value: &str| format!("{}{}", format!("[{value},").repeat(100_000), "1".to_owned() + &"]".repeat(100_000));
    assert!(!changes_of(Matter::Result, Options::default(), &wide("1"), &wide("2")).0.is_empty());
    let objects = |value: &str| format!("{}{value}{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
    assert_eq!(changes_of(Matter::Result, Options::default(), &objects("1"), &objects("2")).0.len(), 1);
}

#[test]
fn what_is_no_json_is_text() {
    assert_eq!(shown("{", "{}"), [r#" Changed "{" "{}""#]);
}
