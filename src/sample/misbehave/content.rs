//! What a message holds: bytes, numbers, depth, size, schemas.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Quirk, case, is_call};
use crate::sample::{
    server::{Request, Server},
    wire,
};

/// The cases.
pub(super) const CASES: &[Quirk] = &[
    case("invalid-utf8", "writes bytes that are not UTF-8, as a line and in a text")
        .body(|_| text_of(b"Troms\xf8, \xe2\x28\xa1, \xf0\x9f\x98 cut", b""))
        .answer(|server, request, id, result| {
            stray(server, request, b"\xff\xfe\n");
            server.send_answer(request, wire::result(id, result));
        }),
    case("u2028", "has U+2028, U+2029, U+0085, VT and FF in a text, which end no line")
        .body(|_| text_of("a\u{2028}b\u{2029}c\u{85}d\\u000be\\u000cf".as_bytes(), b"")),
    case("nul", "writes a NUL byte between messages, and an escaped one in a text")
        .body(|_| text_of(b"before\\u0000after", b""))
        .answer(|server, request, id, result| {
            stray(server, request, b"\0\n");
            server.send_answer(request, wire::result(id, result));
        }),
    case("surrogates", "has lone surrogates, as escapes, in a text")
        .body(|_| text_of(br"high \ud83d low \ude00 pair \ud83d\ude00", b"")),
    case("controls", "has terminal escapes, bidi and zero-width characters in a text").body(|_| {
        let escapes = "\\u001b[31mred\\u001b[0m \\u0007\\u009b2J";
        let marks = "\u{202e}reversed\u{202c} zero\u{200b}width";
        text_of(format!("{escapes} {marks}").as_bytes(), b"")
    }),
    case("bigint", "returns whole numbers beyond 2^53, 2^63, 2^64 and 2^127")
        .body(|_| structure(BIG_NUMBERS.as_bytes())),
    case("floats", "spells numbers in every way: 1.0, -0, 1E+2, 1e400, 25 digits")
        .body(|_| structure(NUMBERS.as_bytes())),
    case("nan", "returns NaN and the infinities as bare words")
        .body(|_| structure(br#"{"x":NaN,"y":Infinity,"z":-Infinity}"#)),
    case("dup-keys", "has the same key twice in a result")
        .body(|_| structure(br#"{"city":"Bergen","city":"Oslo","n":{"k":1,"k":2}}"#)),
    case("deep", "nests a result --n levels deep (default 5000)").n(5000).body(|server| {
        let n = server.n.min(10_000_000) as usize;
        let (open, close) = ("[".repeat(n), "]".repeat(n));
        structure(format!(r#"{{"d":{open}{close}}}"#).as_bytes())
    }),
    case("bigline", "answers in one line of --n bytes (default 16 MiB)")
        .n(16 << 20)
        .body(|server| text_of(&vec![b'x'; server.n as usize], b"")),
    case("odd-envelopes", "writes JSON that is no message before it answers a call").answer(
        |server, request, id, result| {
            stray(server, request, format!("{{\"id\":{id}}}\n{ODD_ENVELOPES}").as_bytes());
            server.send_answer(request, wire::result(id, result));
        },
    ),
    case("output-mismatch", "returns structure that does not fit the outputSchema")
        .body(|_| structure(br#"{"sum":"five","city":5,"places":"Bergen"}"#)),
    case("schema-ref", "lists a tool whose schema refers to itself and to another host").result(schema_ref),
    case("keyorder", "returns tools, keys and arrays in another order each time").result(|server, request, value| {
        let mut value = value.clone();
        shuffle(server, &mut value, &request.id);
        value.to_string().into_bytes()
    }),
];

const BIG_NUMBERS: &str = concat!(
    r#"{"p53":9007199254740993,"p63":9223372036854775808,"p64":18446744073709551617,"#,
    r#""m63":-9223372036854775809,"p127":170141183460469231731687303715884105729}"#,
);

const NUMBERS: &str = concat!(
    r#"{"a":1.0,"b":1,"c":-0,"d":-0.0,"e":1e400,"f":1E+2,"g":100,"#,
    r#""h":0.1000000000000000055511151,"i":5e-324,"j":1e-400}"#,
);

const ODD_ENVELOPES: &str = r#"123
"hello"
null
true
[]
{}
{"type":"heartbeat","at":1}
{"jsonrpc":"1.0","id":990,"result":{}}
{"id":991,"result":{}}
{"jsonrpc":"2.0","id":992,"result":{},"error":{"code":1,"message":"both"}}
{"jsonrpc":"2.0","id":993}
{"jsonrpc":"2.0","method":"notifications/message","id":994,"result":{}}
{"jsonrpc":"2.0","method":7}
{"jsonrpc":"2.0","id":[1],"result":{}}
"#;

fn stray(server: &Server, request: &Request, bytes: &[u8]) {
    if is_call(request) {
        server.output.write(bytes);
    }
}

fn text_of(text: &[u8], more: &[u8]) -> Vec<u8> {
    [br#"{"content":[{"type":"text","text":""#, text, br#""}]"#, more, b"}"].concat()
}

fn structure(json: &[u8]) -> Vec<u8> {
    text_of(b"see structuredContent", &[br#","structuredContent":"#, json].concat())
}

fn schema_ref(_: &Arc<Server>, request: &Request, value: &Value) -> Vec<u8> {
    let mut value = value.clone();
    if request.method == "tools/list" {
        let node = json!({"$ref": "#/$defs/node"});
        let either = json!([{"type": "string"}, {"type": "array", "items": node}]);
        value["tools"][0]["inputSchema"] = json!({
            "type": "object",
            "properties": {"query": node, "far": {"$ref": "https://schema.invalid/far.json"}},
            "$defs": {"node": {"anyOf": either}},
        });
    }
    value.to_string().into_bytes()
}

/// Shuffles keys and arrays at every depth, by numbers that belong to the run and the place.
fn shuffle(server: &Server, value: &mut Value, place: &str) {
    let number = |index: &str| server.values.number(&format!("order:{place}:{index}"));
    match value {
        Value::Object(fields) => {
            let mut entries: Vec<(String, Value)> = std::mem::take(fields).into_iter().collect();
            entries.sort_by_key(|(name, _)| number(name));
            for (name, mut field) in entries {
                shuffle(server, &mut field, &format!("{place}/{name}"));
                fields.insert(name, field);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                shuffle(server, item, &format!("{place}/{index}"));
            }
            items.sort_by_cached_key(|item| number(&item.to_string()));
        }
        _ => {}
    }
}
