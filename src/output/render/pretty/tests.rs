//! Expected layouts, by hand.

use super::{
    shorten::{human_size, whole_units},
    *,
};
use crate::protocol::json::Tree;

fn lines(text: &str, width: usize, limit: Limit) -> Vec<String> {
    pretty(Tree::parse(text.as_bytes()).unwrap().root(), width, limit)
}

fn flat(text: &str, max_chars: usize) -> String {
    one_line(Tree::parse(text.as_bytes()).unwrap().root(), max_chars)
}

const TRIP: &str = r#"{"route":"RV7","leave":"2026-12-04T08:00:00+01:00","risk":"low",
    "legs":[{"to":"Geilo","km":"241"},{"to":"Gol","km":"51"},{"to":"Oslo","km":"190"}]}"#;

#[test]
fn what_fits_is_one_line() {
    let text = r#"{"from":"Bergen","to":"Oslo"}"#;
    let spaced = r#"{"from": "Bergen", "to": "Oslo"}"#;
    assert_eq!(spaced.chars().count(), 32);
    for limit in [Limit::short(), Limit::full()] {
        assert_eq!(lines(text, 32, limit), [spaced]);
        assert_eq!(lines(text, 31, limit), ["{", r#"  "from": "Bergen","#, r#"  "to": "Oslo""#, "}"]);
        assert_eq!(lines(" 1.50e+2 ", 3, limit), ["1.50e+2"]);
        assert_eq!(lines("[ ]", 0, limit), ["[]"]);
        assert_eq!(lines("[[],{}]", 10, limit), ["[[], {}]"]);
    }
}

#[test]
fn the_sketch_of_inspect() {
    assert_eq!(
        lines(TRIP, 65, Limit::short()),
        [
            "{",
            r#"  "route": "RV7","#,
            r#"  "leave": "2026-12-04T08:00:00+01:00","#,
            r#"  "risk": "low","#,
            r#"  "legs": [ {"to": "Geilo", "km": "241"}, … 2 more (--full) ]"#,
            "}",
        ]
    );
    assert_eq!(
        lines(TRIP, 65, Limit::full()),
        [
            "{",
            r#"  "route": "RV7","#,
            r#"  "leave": "2026-12-04T08:00:00+01:00","#,
            r#"  "risk": "low","#,
            r#"  "legs": ["#,
            r#"    {"to": "Geilo", "km": "241"},"#,
            r#"    {"to": "Gol", "km": "51"},"#,
            r#"    {"to": "Oslo", "km": "190"}"#,
            "  ]",
            "}",
        ]
    );
}

#[test]
fn a_shortened_array_shows_what_there_is_room_for() {
    let text = "[1000,2000,3000,4000,5000,6000,7000,8000]";
    let shown = lines(text, 40, Limit::short());
    assert_eq!(shown, ["[ 1000, 2000, 3000, … 5 more (--full) ]"]);
    assert!(shown.iter().all(|line| line.chars().count() <= 40));
}

#[test]
fn many_children_are_left_out_by_the_limit() {
    let limit = Limit { children: 2, ..Limit::short() };
    let object = r#"{"a":1,"b":[2],"c":3,"d":4}"#;
    assert_eq!(
        lines(object, 10, limit),
        ["{", r#"  "a": 1,"#, r#"  "b": ["#, "    2", "  ],", "  … 2 more (--full)", "}"]
    );
    let one_too_many = r#"{"a":1,"b":2,"c":3}"#;
    assert_eq!(lines(one_too_many, 10, limit).len(), 5);
    let array = r#"["aaaaaaaaaa","bbbbbbbbbb","cccccccccc","dddddddddd"]"#;
    assert_eq!(lines(array, 20, limit), ["[", r#"  "aaaaaaaaaa","#, r#"  "bbbbbbbbbb","#, "  … 2 more (--full)", "]"]);
}

#[test]
fn long_strings_are_cut_and_their_size_is_said() {
    let image = format!(r#"{{"type":"image","data":"{}"}}"#, "iVBORw0KGgo".repeat(170_000));
    let shown = lines(&image, 50, Limit::short());
    assert_eq!(shown, ["{", r#"  "type": "image","#, r#"  "data": "iVBORw0KGgoiVBORw0KGgoiVBORw…" (1.9 MB)"#, "}"]);
    assert!(shown.iter().all(|line| line.chars().count() <= 50));
    assert_eq!(lines(&image, 50, Limit::full()).concat().len(), image.len() + 2 + 2 + 2 + 2 - 2);
    let wide = lines(&image, 400, Limit::short());
    assert_eq!(wide.len(), 1);
    assert!(wide.concat().ends_with("…\" (1.9 MB)}"));
}

#[test]
fn a_cut_does_not_split_an_escape() {
    let raw = br#""aaaaaaaaaaaa\u00e9\nbbbbbbbbbbbbbbbbbbbbbbb""#;
    assert_eq!(shortened(raw, 24), r#""aaaaaaaaaaaa…" (43 B)"#);
    assert_eq!(shortened(raw, 29), r#""aaaaaaaaaaaa\u00e9…" (43 B)"#);
    assert_eq!(shortened(raw, 30), r#""aaaaaaaaaaaa\u00e9\n…" (43 B)"#);
    assert_eq!(shortened(raw, 45), String::from_utf8_lossy(raw));
    assert_eq!(shortened(b"123456789012345678901234567890", 1), "1234567890123456… (30 B)");
    assert_eq!(whole_units(r"\", 5), r"\");
    assert_eq!(whole_units(r"ab\u12", 7), "ab");
}

#[test]
fn invalid_utf8_is_shown_as_a_replacement() {
    let tree = Tree::parse(b"[\"\xff\xe2\x82\"]").unwrap();
    assert_eq!(pretty(tree.root(), 80, Limit::full()), ["[\"\u{fffd}\u{fffd}\"]"]);
    assert_eq!(one_line(tree.root(), 80), "[\"\u{fffd}\u{fffd}\"]");
}

#[test]
fn sizes_are_rounded_to_one_decimal() {
    for (bytes, shown) in [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KB"),
        (4_449, "4.4 KB"),
        (999_949, "999.9 KB"),
        (999_950, "1.0 MB"),
        (1_900_000, "1.9 MB"),
        (1_949_999, "1.9 MB"),
        (5_000_000_000, "5.0 GB"),
    ] {
        assert_eq!(human_size(bytes), shown);
    }
}

#[test]
fn what_lies_too_deep_is_counted() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    // 65 containers: the innermost, at level 64, is empty and is shown.
    assert_eq!(lines(&nested(65), 200, Limit::full()), [nested(65)]);
    let deep = lines(&nested(66), 200, Limit::full());
    assert_eq!(deep.len(), 64 + 1 + 64);
    assert_eq!(deep.get(64).unwrap().trim_start(), "… 2 levels deeper (--raw)");
    let number = format!("{}7{}", "[".repeat(65), "]".repeat(65));
    let deep = lines(&number, 200, Limit::full());
    assert_eq!(deep.get(64).unwrap().trim_start(), "… 1 level deeper (--raw)");
    for limit in [Limit::short(), Limit::full()] {
        let deep = lines(&nested(1_000_000), 80, limit);
        assert_eq!(deep.get(64).unwrap().trim_start(), "… 999936 levels deeper (--raw)");
        assert_eq!(deep.last().unwrap(), "]");
    }
    let objects = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
    let deep = lines(&objects, 80, Limit::short());
    assert_eq!(deep.get(64).unwrap().trim_start(), r#""a": … 36 levels deeper (--raw)"#);
}

#[test]
fn the_compact_line_is_cut() {
    let text = " { \"a b\" : [ 1 , \"x  y\" , { } , [ ] , null ] , \"c\" : { \"d\" : true } } ";
    let compact = r#"{"a b":[1,"x  y",{},[],null],"c":{"d":true}}"#;
    assert_eq!(flat(text, 1000), compact);
    assert_eq!(flat(text, compact.len()), compact);
    assert_eq!(flat(text, compact.len() - 1), r#"{"a b":[1,"x  y",{},[],null],"c":{"d":true…"#);
    assert_eq!(flat(text, 8), r#"{"a b":…"#);
    assert_eq!((flat(text, 1), flat(text, 0)), ("…".to_owned(), String::new()));
    assert_eq!(flat(r#""æøå""#, 4), "\"æø…");
    assert_eq!(flat(&"[".repeat(500_000).chars().chain("]".repeat(500_000).chars()).collect::<String>(), 5), "[[[[…");
}

#[test]
fn the_compact_line_costs_its_length_and_not_the_document() {
    let text = format!("[\"{}\"]", "x".repeat(50_000_000));
    let tree = Tree::parse(text.as_bytes()).unwrap();
    for _ in 0..1000 {
        assert_eq!(one_line(tree.root(), 10), "[\"xxxxxxx…");
        assert_eq!(pretty(tree.root(), 80, Limit::short()).len(), 3);
    }
}
