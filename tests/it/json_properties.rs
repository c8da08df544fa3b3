//! Properties of the lossless tree and of exact numbers, over generated texts.

use mcp_tap::output::render::pretty::{Limit, one_line, pretty};
use mcp_tap::protocol::json::{Kind, Node, Tree, unescape, unescape_bytes};
use mcp_tap::protocol::number::{Decimal, same_value};
use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// What the outside judge says, to whom the byte order mark is not JSON.
fn judged_json(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

fn whitespace() -> impl Strategy<Value = String> {
    prop_oneof![4 => Just(String::new()), 1 => "[ \t\r\n]{1,3}"]
}

fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z~/ .é😀\u{7f}\u{fffd}]{0,4}",
        r#"\\["\\/bfnrt]"#,
        r"\\u[0-9a-fA-F]{4}",
        r"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}",
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn number() -> impl Strategy<Value = String> {
    r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,25})?"
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![string(), number(), prop::sample::select(vec!["true", "false", "null"]).prop_map(str::to_owned)]
}

fn json() -> impl Strategy<Value = String> {
    scalar().prop_recursive(6, 48, 6, |inner| {
        let spaced = (whitespace(), inner, whitespace()).prop_map(|(a, v, b)| format!("{a}{v}{b}")).boxed();
        let member = (whitespace(), string(), whitespace(), spaced.clone())
            .prop_map(|(a, key, b, value)| format!("{a}{key}{b}:{value}"));
        prop_oneof![
            prop::collection::vec(spaced, 0..6).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(member, 0..6).prop_map(|items| format!("{{{}}}", items.join(","))),
        ]
    })
}

/// Valid JSON after up to three small accidents.
fn damaged_json() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop::sample::select(b"{}[]:,\"\\ \t\n\x00\x1f\x0b0123456789-+.eEtrufalsn/u".to_vec());
    let accidents = prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8, byte), 0..4);
    (json(), accidents).prop_map(|(text, accidents)| {
        let mut bytes = text.into_bytes();
        for (place, accident, byte) in accidents {
            let at = place.index(bytes.len() + 1);
            match accident {
                0 => bytes.insert(at, byte),
                1 => bytes.truncate(at),
                _ if at == bytes.len() => bytes.push(byte),
                2 => {
                    bytes.remove(at);
                }
                _ => bytes.splice(at..=at, [byte]).for_each(drop),
            }
        }
        bytes
    })
}

/// Everything that is asked of a tree, so that a panic anywhere shows.
fn ask_everything(tree: &Tree<'_>) {
    for (depth, node) in tree.root().descendants() {
        assert!(depth <= tree.depth());
        let _ = (node.as_text(), node.as_number(), node.as_bool(), node.key());
        let _ = (node.has_duplicate_keys(), node.get("a"), node.at(1), node.pointer("/a/0"));
        assert_eq!(node.children().count(), node.len());
        assert_eq!(tree.node(node.id()).map(Node::raw), Some(node.raw()));
    }
    for width in [0, 20, 80] {
        pretty(tree.root(), width, Limit::short());
        pretty(tree.root(), width, Limit::full());
        assert!(one_line(tree.root(), width).chars().count() <= width);
    }
}

/// Writes the tree from its parts, without whitespace.
fn compact(node: Node<'_, '_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut closers = Vec::new();
    for (depth, value) in node.descendants() {
        while closers.len() > depth {
            out.extend(closers.pop());
        }
        if !matches!(out.last(), None | Some(b'[' | b'{')) {
            out.push(b',');
        }
        if let Some(key) = value.key_raw() {
            out.extend_from_slice(key);
            out.push(b':');
        }
        match value.kind() {
            Kind::Array => (out.push(b'['), closers.push(b']')).0,
            Kind::Object => (out.push(b'{'), closers.push(b'}')).0,
            _ => out.extend_from_slice(value.raw()),
        }
        if value.is_container() && value.is_empty() {
            out.extend(closers.pop());
        }
    }
    out.extend(closers.into_iter().rev());
    out
}

/// Drops whitespace outside strings, the plain way.
fn without_whitespace(text: &[u8]) -> Vec<u8> {
    let (mut inside, mut escaped) = (false, false);
    let kept = text.iter().copied().filter(|byte| {
        let blank = !inside && b" \t\r\n".contains(byte);
        if *byte == b'"' && !escaped {
            inside = !inside;
        }
        escaped = inside && *byte == b'\\' && !escaped;
        !blank
    });
    kept.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn valid_json_is_read_whole(before in whitespace(), text in json(), after in whitespace()) {
        let whole = format!("{before}{text}{after}");
        prop_assert!(judged_json(whole.as_bytes()));
        let tree = Tree::parse(whole.as_bytes()).unwrap();
        prop_assert_eq!(tree.root().raw(), text.as_bytes());
        let squeezed = without_whitespace(text.as_bytes());
        prop_assert_eq!(compact(tree.root()), squeezed.clone());
        prop_assert_eq!(one_line(tree.root(), usize::MAX).into_bytes(), squeezed.clone());
        prop_assert_eq!(without_whitespace(pretty(tree.root(), 30, Limit::full()).concat().as_bytes()), squeezed.clone());
        let other = Tree::parse(&squeezed).unwrap();
        prop_assert!(tree.root().same_spelling(other.root()));
        ask_everything(&tree);
    }

    #[test]
    fn the_same_texts_are_accepted_as_elsewhere(bytes in damaged_json()) {
        let tree = Tree::parse(&bytes);
        prop_assert_eq!(tree.is_ok(), judged_json(&bytes), "{}", String::from_utf8_lossy(&bytes));
        match tree {
            Ok(tree) => ask_everything(&tree),
            Err(error) => prop_assert!(error.offset <= bytes.len()),
        }
    }

    #[test]
    fn token_soup_is_judged_the_same(
        tokens in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", ":", ",", "\"a\"", "\"", "\\", "\\u12", "0", "1", "-", ".", "e", "true", "nul", " ", "\n",
            "\u{feff}", "é",
        ]), 0..9)
    ) {
        let text = tokens.concat();
        prop_assert_eq!(Tree::parse(text.as_bytes()).is_ok(), judged_json(text.as_bytes()), "{}", text);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), quoted in any::<bool>()) {
        let mut bytes = bytes;
        if quoted {
            bytes.retain(|byte| *byte >= 0x20 && *byte != b'"' && *byte != b'\\');
            bytes.insert(0, b'"');
            bytes.push(b'"');
        }
        let _ = (unescape(&bytes), unescape_bytes(&bytes));
        let tree = Tree::parse(&bytes);
        prop_assert!(tree.is_ok() || !quoted);
        if let Ok(tree) = tree {
            ask_everything(&tree);
        }
    }

    #[test]
    fn spans_are_those_of_raw_value(text in json()) {
        let tree = Tree::parse(text.as_bytes()).unwrap();
        if tree.root().kind() == Kind::Array {
            let items: Vec<&RawValue> = serde_json::from_str(&text).unwrap();
            let theirs: Vec<_> = items.iter().map(|item| item.get().as_bytes()).collect();
            let ours: Vec<_> = tree.root().children().map(Node::raw).collect();
            prop_assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn strings_are_unescaped_as_elsewhere(raw in string()) {
        if let Ok(theirs) = serde_json::from_str::<String>(&raw) {
            prop_assert_eq!(unescape_bytes(raw.as_bytes()).into_owned(), theirs.as_bytes());
            prop_assert_eq!(unescape(raw.as_bytes()), theirs);
        } else {
            prop_assert!(unescape(raw.as_bytes()).contains(char::REPLACEMENT_CHARACTER));
        }
    }

    #[test]
    fn canonical_numbers_are_numbers_of_the_same_value(spelling in number()) {
        let value = Decimal::parse(&spelling).unwrap();
        let canonical = value.canonical();
        let again = Decimal::parse(&canonical).unwrap();
        prop_assert_eq!(&again, &value);
        prop_assert_eq!(again.canonical(), canonical.clone());
        prop_assert!(same_value(&spelling, &canonical));
        prop_assert!(canonical.len() <= spelling.len() + 22);
    }

    #[test]
    fn small_numbers_are_ordered_like_integers(a in -99_999_i64..99_999, b in -99_999_i64..99_999, zeros in 0..4_usize) {
        // The same power of ten, once in the exponent and once as digits.
        let left = Decimal::parse(&format!("{a}e-2")).unwrap();
        let right = Decimal::parse(&format!("{b}{}e-{}", "0".repeat(zeros), 2 + zeros)).unwrap();
        prop_assert_eq!(left.cmp(&right), a.cmp(&b));
        prop_assert_eq!(left == right, a == b);
    }

    #[test]
    fn only_json_numbers_are_decimals(text in "[-+0-9.eE]{0,8}") {
        let is_number = judged_json(text.as_bytes());
        prop_assert_eq!(Decimal::parse(&text).is_some(), is_number, "{}", text);
    }
}

#[test]
fn a_million_levels_are_read_walked_compared_and_dropped() {
    const LEVELS: usize = 1_000_000;
    let arrays = format!("{}{}", "[".repeat(LEVELS), "]".repeat(LEVELS));
    let objects = format!("{}1{}", "{\"a\": ".repeat(LEVELS), "}".repeat(LEVELS));
    for (text, nodes) in [(arrays, LEVELS), (objects, LEVELS + 1)] {
        let tree = Tree::parse(text.as_bytes()).unwrap();
        assert_eq!((tree.depth(), tree.len()), (LEVELS, nodes));
        let deepest = tree.root().descendants().map(|(depth, _)| depth).max();
        assert_eq!(deepest, Some(nodes - 1));
        let mut node = tree.root();
        let mut steps = 0;
        while let Some(child) = node.children().next() {
            node = child;
            steps += 1;
        }
        assert_eq!(steps, nodes - 1);
        let squeezed = one_line(tree.root(), usize::MAX);
        let other = Tree::parse(squeezed.as_bytes()).unwrap();
        assert!(tree.root().same_spelling(other.root()));
        assert_eq!(pretty(tree.root(), 80, Limit::short()).len(), 129);
        drop((other, tree));
    }
}

#[test]
fn a_wide_document_is_linear() {
    let text = format!("[{}0]", "{\"a\":[1,2],\"b\":\"c\"},".repeat(250_000));
    let tree = Tree::parse(text.as_bytes()).unwrap();
    assert_eq!(tree.len(), 250_000 * 5 + 2);
    assert_eq!(tree.root().children().filter(|child| child.get("b").is_some()).count(), 250_000);
    assert_eq!(pretty(tree.root(), 80, Limit::full()).len(), 250_003);
}
