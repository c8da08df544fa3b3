use super::*;
use crate::analysis::normalize::MaskCounts;
use crate::analysis::report::Options;
use crate::analysis::value_diff::{Comparer, Matter};
use crate::session::frame::Direction;
use crate::session::message::Place;

fn rule(text: &str) -> MaskRule {
    serde_json::from_str(text).unwrap()
}

fn exchange(method: &str, name: Option<&str>) -> Exchange {
    Exchange {
        place: Place { seq: 0, index: 0 },
        direction: Direction::ToServer,
        method: method.into(),
        name: name.map(str::to_owned),
        outcome: None,
        error_code: None,
        answer: None,
        took_ns: None,
        gave_up_after_ns: None,
        params: None,
        result: None,
        error: None,
        pages: Vec::new(),
        asks: 0,
    }
}

/// Compares two results of the tool `now` under a rule; returns where they differ, and how many values were excused.
fn differences(written: &str, a: &str, b: &str, strict: bool) -> (Vec<String>, u64) {
    let rules = Rules::of([&rule(written)]).unwrap();
    let (mut masks, mut budget, mut left_out) = (MaskCounts::new(), 1_000_000, 0);
    let mut eyes = crate::analysis::normalize::Eyes::default();
    (eyes.a.strict, eyes.b.strict) = (strict, strict);
    let mut comparer = Comparer {
        matter: Matter::Result,
        eyes,
        rules: rules.start(&exchange("tools/call", Some("now")), Part::Result),
        options: Options { strict, ..Options::default() },
        masks: &mut masks,
        budget: &mut budget,
        left_out: &mut left_out,
    };
    let changes = comparer.texts(a.as_bytes(), b.as_bytes());
    let places = changes.iter().map(|change| {
        let inside = change.inside.as_ref().map(|inside| inside.shown().to_owned()).unwrap_or_default();
        format!("{}{inside}", change.pointer.shown())
    });
    (places.collect(), masks.values().sum())
}

fn check_all(cases: &[(&str, &str, &str, &[&str], u64)]) {
    for (written, a, b, expected, masked) in cases {
        for (a, b) in [(a, b), (b, a)] {
            let (places, count) = differences(written, a, b, false);
            assert_eq!(
                (places, count),
                (expected.iter().map(|s| (*s).to_owned()).collect(), *masked),
                "{written} {a} {b}"
            );
        }
        assert!(!differences(written, a, b, true).0.is_empty(), "{written}");
    }
}

#[test]
fn whole_values() {
    check_all(&[
        (r#"{"at":"/n","as":"counter"}"#, r#"{"n":1}"#, r#"{"n":7}"#, &[], 1),
        (r#"{"at":"/n","as":"counter"}"#, r#"{"n":1}"#, r#"{"n":1.5}"#, &["/n"], 0),
        (r#"{"at":"/n","as":"random"}"#, r#"{"n":1}"#, r#"{"n":"1"}"#, &["/n"], 0),
        (r#"{"at":"/n","as":"random"}"#, r#"{"n":1}"#, r#"{}"#, &["/n"], 0),
        (r#"{"at":"/n","as":"random"}"#, r#"{"n":[1]}"#, r#"{"n":[2,3]}"#, &[], 1),
        (
            r#"{"at":"/*/n","as":"duration"}"#,
            r#"{"a":{"n":"3 ms"},"b":{"n":1}}"#,
            r#"{"a":{"n":"9 ms"},"b":{"n":2}}"#,
            &[],
            2,
        ),
        (r#"{"at":"/*/n","as":"random"}"#, r#"{"n":1}"#, r#"{"n":2}"#, &["/n"], 0),
        (
            r#"{"at":"/**/n","as":"random"}"#,
            r#"{"n":1,"a":[{"n":1,"m":1}]}"#,
            r#"{"n":2,"a":[{"n":3,"m":2}]}"#,
            &["/a/0/m"],
            2,
        ),
        (r#"{"at":"/t","as":"timestamp"}"#, r#"{"t":"14:31"}"#, r#"{"t":"15:02"}"#, &[], 1),
        (r#"{"at":"/t","as":"timestamp"}"#, r#"{"t":"14:31"}"#, r#"{"t":"never"}"#, &["/t"], 0),
        (r#"{"at":"/t","as":"token"}"#, r#"{"t":"a"}"#, r#"{"t":"a b"}"#, &["/t"], 0),
        (r#"{"tool":"no*","at":"/n","as":"random"}"#, r#"{"n":1}"#, r#"{"n":2}"#, &[], 1),
        (r#"{"tool":"then","at":"/n","as":"random"}"#, r#"{"n":1}"#, r#"{"n":2}"#, &["/n"], 0),
        (r#"{"at":"/params/n","as":"random"}"#, r#"{"n":1}"#, r#"{"n":2}"#, &["/n"], 0),
    ]);
}

#[test]
fn parts_of_texts() {
    check_all(&[
        (r#"{"text":"took (\\d+) ms","as":"duration"}"#, r#"["took 5 ms, n 1"]"#, r#"["took 17 ms, n 1"]"#, &[], 1),
        (r#"{"text":"took (\\d+) ms","as":"duration"}"#, r#"["took 5 ms, n 1"]"#, r#"["took 17 ms, n 2"]"#, &["/0"], 1),
        (r#"{"at":"/0","text":"took (.*)","as":"duration"}"#, r#"["took 5 ms"]"#, r#"["took long"]"#, &["/0"], 0),
        // A moment that needs no rule, beside one that does.
        (
            r##"{"text":"#(\\d+)","as":"counter"}"##,
            r##"["#7 at 2026-11-30T14:31:00Z"]"##,
            r##"["#12 at 2026-11-30T14:32:00Z"]"##,
            &[],
            2,
        ),
    ]);
}

#[test]
fn json_inside_text() {
    let (a, b) = (r#"{"text":"{\"n\":1,\"m\":1}"}"#, r#"{"text":"{\"n\":2,\"m\":2}"}"#);
    check_all(&[
        (r#"{"at":"/text/n","as":"counter"}"#, a, b, &["/text/m"], 1),
        (r#"{"at":"/text/**","as":"counter"}"#, a, b, &[], 2),
        (r#"{"at":"/**/m","as":"counter"}"#, a, b, &["/text/n"], 1),
    ]);
}

#[test]
fn arrays_without_order() {
    let rule = r#"{"at":"/a","as":"order"}"#;
    check_all(&[
        (rule, r#"{"a":[1,2,3]}"#, r#"{"a":[3,1,2]}"#, &[], 1),
        (rule, r#"{"a":[{"id":1},{"id":2}]}"#, r#"{"a":[{"id":2},{"id":1}]}"#, &[], 1),
    ]);
    // Another item is another item.
    assert_eq!(differences(rule, r#"{"a":[1,2,3]}"#, r#"{"a":[3,1,4]}"#, false).0, ["/a/1", "/a/2"]);
    assert_eq!(differences(rule, r#"{"a":[1,1,2]}"#, r#"{"a":[2,2,1]}"#, false).0.len(), 2);
}

#[test]
fn wrong_rules_say_why() {
    for (written, key, reason) in [
        (r#"{"at":"/a","as":"order","text":"(.)"}"#, "text", "`order` is for arrays, and `text` for a part of a text"),
        (r#"{"at":"a","as":"uuid"}"#, "at", "`a` is no pointer: it begins with `/`"),
        (r#"{"as":"uuid"}"#, "", "a mask says with `at` or `text` which values it is about"),
        (r#"{"as":"uuid","text":"a(b"}"#, "text", "`text` is no regular expression: unclosed group"),
    ] {
        let error = check(&rule(written)).unwrap_err();
        assert_eq!((error.key, error.reason.as_str()), (key, reason), "{written}");
    }
}
