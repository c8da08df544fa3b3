use super::*;

fn only(text: &str) -> Envelope {
    let found = scan(text.as_bytes());
    assert_eq!(found.envelopes.len(), 1, "{text}: {found:?}");
    found.envelopes[0].clone()
}

#[test]
fn a_request_gives_its_members_wherever_they_stand() {
    for text in [
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"name":"x"},"_meta":{"progressToken":"t"}}}"#,
        r#"{"params":{"_meta":{"x":{"progressToken":1},"progressToken":"t"},"arguments":{"name":"x"},"name":"echo"},"method":"tools/call","id":7,"jsonrpc":"2.0"}"#,
    ] {
        let found = only(text);
        assert_eq!(found.text(Slot::Id), Some("7"));
        assert_eq!(found.string(Slot::Method).as_deref(), Some("tools/call"));
        assert_eq!(found.string(Slot::Name).as_deref(), Some("echo"));
        assert_eq!(found.text(Slot::ProgressToken), Some("\"t\""));
        assert!(found.has_params && !found.has_result && !found.has_error);
    }
}

#[test]
fn members_of_inner_objects_are_not_taken_for_the_messages_own() {
    let found = only(
        r#"{"id":1,"result":{"id":2,"method":"x","content":[{"isError":true,"name":"n"}],"structuredContent":{"error":{"code":1}}}}"#,
    );
    assert_eq!(found.text(Slot::Id), Some("1"));
    assert_eq!(found.text(Slot::Method), None);
    assert_eq!(found.text(Slot::IsError), None);
    assert_eq!(found.text(Slot::ErrorCode), None);
}

#[test]
fn escaped_keys_are_read() {
    assert_eq!(only(r#"{"\u0069d":5,"m\u0065thod":"ping"}"#).text(Slot::Id), Some("5"));
}

#[test]
fn of_duplicates_the_last_counts_and_it_is_said() {
    let found = only(r#"{"id":1,"method":"a","id":2}"#);
    assert_eq!(found.text(Slot::Id), Some("2"));
    assert!(found.duplicate_member);
}

#[test]
fn ids_keep_their_spelling() {
    for id in
        ["1", "\"1\"", "1.0", "1e2", "-0", "1180591620717411303424", "\"\\ud83d\\ude00\\u0000\"", "null", "[1, 2]"]
    {
        assert_eq!(only(&format!("{{\"id\": {id} ,\"method\":\"m\"}}")).text(Slot::Id), Some(id));
    }
}

#[test]
fn a_batch_gives_its_members_with_their_places() {
    let text = r#" [{"id":1,"method":"a"}, 5 ,{"method":"b"}]"#;
    let found = scan(text.as_bytes());
    assert_eq!(found.shape, Shape::Array);
    let spans: Vec<&str> = found.envelopes.iter().map(|e| &text[e.start as usize..e.end as usize]).collect();
    assert_eq!(spans, [r#"{"id":1,"method":"a"}"#, "5", r#"{"method":"b"}"#]);
    assert!(found.envelopes[1].not_an_object);
    assert_eq!(scan(b"[]").envelopes.len(), 0);
}

#[test]
fn what_is_not_json_is_placed_and_passed_when_plain() {
    let found = scan(br#"{"jsonrpc":"2.0","id":2,"result":{"x":NaN,"y":-Infinity}}"#);
    assert_eq!((found.shape, found.not_json_at), (Shape::Object, Some(38)));
    assert_eq!(found.envelopes[0].text(Slot::Id), Some("2"));
    let raw_tab = scan(b"{\"id\":1,\"method\":\"a\tb\"}");
    assert_eq!((raw_tab.shape, raw_tab.not_json_at), (Shape::Object, Some(19)));
    let zeros = scan(br#"{"a":01,"id":1}"#);
    assert_eq!((zeros.shape, zeros.not_json_at), (Shape::Object, Some(6)));
}

#[test]
fn shapes_are_told_apart() {
    let cases: [(&[u8], Shape); 14] = [
        (b"", Shape::Blank),
        (b" \t\r\n", Shape::Blank),
        (b"{}", Shape::Object),
        (b"[1]", Shape::Array),
        (b"123", Shape::Scalar),
        (b"null\n", Shape::Scalar),
        (b"\"a\"", Shape::Scalar),
        (b"{\"a\":", Shape::Unfinished),
        (b"{", Shape::Unfinished),
        (b"server ready", Shape::Broken),
        (b"\x1b[33mwarn", Shape::Broken),
        (b"{not json}", Shape::Broken),
        (b"{\"id\":1} x", Shape::Broken),
        (b"\xff\xfe\n", Shape::Broken),
    ];
    for (text, shape) in cases {
        assert_eq!(scan(text).shape, shape, "{:?}", String::from_utf8_lossy(text));
    }
}

#[test]
fn a_byte_order_mark_is_passed_over_and_said() {
    let text = b"\xef\xbb\xbf{\"id\":1,\"method\":\"ping\"}";
    for size in 1..text.len() {
        let mut scanner = EnvelopeScanner::new();
        text.chunks(size).for_each(|piece| scanner.push(piece));
        let found = scanner.finish();
        assert!(found.byte_order_mark);
        assert_eq!((found.shape, found.not_json_at), (Shape::Object, None), "in pieces of {size}");
        assert_eq!(found.envelopes[0].text(Slot::Id), Some("1"));
    }
    assert_eq!(scan(b"\xef\xbb").shape, Shape::Broken);
    assert_eq!(scan(b"\xef\xbbx").shape, Shape::Broken);
}

#[test]
fn depth_of_a_million_costs_a_bit_a_level() {
    let mut text = br#"{"id":1,"result":"#.to_vec();
    text.extend(std::iter::repeat_n(b'[', 1_000_000));
    text.extend(std::iter::repeat_n(b']', 1_000_000));
    text.extend_from_slice(br#","jsonrpc":"2.0"}"#);
    let found = scan(&text);
    assert_eq!((found.shape, found.depth), (Shape::Object, 1_000_001));
    assert_eq!(found.envelopes[0].text(Slot::Jsonrpc), Some("\"2.0\""));
}

#[test]
fn a_long_member_is_capped() {
    let text = format!(r#"{{"method":"{}","id":3}}"#, "m".repeat(10_000));
    let found = only(&text);
    assert_eq!(found.text(Slot::Method).map(str::len), Some(MEMBER_LIMIT));
    assert_eq!(found.text(Slot::Id), Some("3"));
}

#[test]
fn pieces_of_any_size_give_the_same_scan() {
    let texts: [&[u8]; 7] = [
        br#"{"jsonrpc":"2.0","id":"a\u00e9\"","method":"tools/call","params":{"name":"n\\","uri":-1.5e+3}}"#,
        br#"[{"id":1,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"x"}}},{"id":2,"error":{"code":-32601,"message":"no"}}]"#,
        b"{\"a\":NaN , \"id\":-Infinity}",
        b"-12.5E-3 ",
        b"not json",
        b"{\"caf\xe9\":1,\"id\":2}",
        b"tru",
    ];
    for text in texts {
        let whole = scan(text);
        for size in 1..=text.len() {
            let mut scanner = EnvelopeScanner::new();
            text.chunks(size).for_each(|piece| scanner.push(piece));
            assert_eq!(scanner.finish(), whole, "{:?} in pieces of {size}", String::from_utf8_lossy(text));
        }
    }
}
