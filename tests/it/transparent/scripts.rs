//! What the client does, case by case. Each ends with everything said; stdin is closed afterwards if it still is open.

mod endings;

use super::peer::Peer;
use std::time::Duration;

pub(super) use endings::*;

const REVISION: &str = "2025-11-25";
const X: &str = r#"{"text":"x"}"#;

/// Handshake, list, the plain tools, one after the other.
pub(super) fn plain(peer: &mut Peer) {
    peer.handshake(REVISION);
    peer.request("1", "tools/list", "{}");
    peer.answer("1");
    let calls = [
        ("2", "echo", r#"{"text":"hello é 😀"}"#),
        (r#""s3""#, "add", r#"{"a":1,"b":2}"#),
        ("4", "now", "{}"),
        ("5", "uuid", "{}"),
        ("6", "fail", r#"{"kind":"tool"}"#),
        ("7", "rpcerror", "{}"),
    ];
    for (id, tool, arguments) in calls {
        peer.call(id, tool, arguments);
        peer.answer(id);
    }
    peer.request("8", "ping", "{}");
    peer.answer("8");
}

pub(super) fn calls(peer: &mut Peer) {
    peer.handshake(REVISION);
    for id in ["1", "2"] {
        peer.call(id, "echo", X);
        peer.answer(id);
    }
}

pub(super) fn pipelined(peer: &mut Peer) {
    peer.handshake(REVISION);
    peer.call("10", "sleep", r#"{"ms":200}"#);
    peer.call("11", "echo", r#"{"text":"a"}"#);
    peer.call(r#""12""#, "echo", r#"{"text":"b"}"#);
    peer.call("13", "sleep", r#"{"ms":50}"#);
    peer.call("14", "counter", "{}");
    for id in ["10", "11", r#""12""#, "13", "14"] {
        peer.answer(id);
    }
}

/// Writes everything, closes stdin at once, then reads: every answer must still come.
pub(super) fn oneshot(peer: &mut Peer) {
    peer.greet("0", REVISION);
    peer.notify("notifications/initialized", "{}");
    peer.call("1", "sleep", r#"{"ms":300}"#);
    peer.call("2", "echo", X);
    peer.close();
    peer.stdout_ends();
    for id in ["0", "1", "2"] {
        peer.answer(id);
    }
}

pub(super) fn big_arguments(peer: &mut Peer) {
    peer.handshake(REVISION);
    peer.big("1", "echo", 5_000_000);
    peer.answer("1");
    peer.big("2", "rawline", 70_000);
    peer.answer("2");
}

/// Ids as a client may spell them; the server answers with the same bytes.
pub(super) fn ids(peer: &mut Peer) {
    peer.handshake(REVISION);
    for id in ["-0", r#""""#, r#""0""#, "1.0", "1e2", "1180591620717411303424", r#""😀 \" \\ \u0000""#] {
        peer.request(id, "ping", "{}");
    }
    peer.send(r#"{"id":7,"params":{"id":8,"nested":{"id":9,"method":"x"}},"method":"ping","jsonrpc":"2.0"}"#);
    peer.send(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#);
    peer.answer("7");
}

/// Rubbish from the client: forwarded as it is, and the session goes on.
pub(super) fn garbage(peer: &mut Peer) {
    peer.handshake(REVISION);
    peer.send("this is not json");
    peer.raw(b"\xff\xfe\n");
    peer.raw(b"\r\n");
    peer.raw(b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n");
    peer.answer("1");
    peer.send(r#"{"jsonrpc":"2.0","id":2,"method":"#);
    peer.send(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}{"jsonrpc":"2.0","id":4,"method":"ping"}"#);
    peer.send(r#"{"jsonrpc":"2.0","id":5,"method":"ping","params":{"t":"\ud83d"}}"#);
    peer.answer("5");
    // In two writes, with time for the first to arrive alone.
    peer.raw(br#"{"jsonrpc":"2.0","id":6,"me"#);
    std::thread::sleep(Duration::from_millis(50));
    peer.raw(b"thod\":\"ping\"}\n");
    peer.answer("6");
    // The last request has no newline before stdin ends.
    peer.raw(br#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#);
    peer.close();
    peer.answer("9");
}

pub(super) fn ids_come_back_as_strings(peer: &mut Peer) {
    spelled_otherwise(peer, ["0", "1", "2"], [r#""0""#, r#""1""#, r#""2""#]);
}

pub(super) fn ids_come_back_as_numbers(peer: &mut Peer) {
    spelled_otherwise(peer, [r#""0""#, r#""1""#, r#""x""#], ["0", "1", r#""x""#]);
}

pub(super) fn ids_come_back_with_a_fraction(peer: &mut Peer) {
    spelled_otherwise(peer, ["0", "1", r#""2""#], ["0.0", "1.0", r#""2""#]);
}

fn spelled_otherwise(peer: &mut Peer, asked: [&str; 3], answered: [&str; 3]) {
    peer.greet(asked[0], REVISION);
    peer.answer(answered[0]);
    peer.notify("notifications/initialized", "{}");
    for (asked, answered) in asked.into_iter().zip(answered).skip(1) {
        peer.call(asked, "echo", X);
        peer.answer(answered);
    }
}

pub(super) fn answered_twice(peer: &mut Peer) {
    peer.handshake(REVISION);
    peer.call("1", "echo", X);
    peer.times(2, "\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}}\n");
}

pub(super) fn three_at_once(peer: &mut Peer) {
    peer.handshake(REVISION);
    for id in ["10", "11", "12"] {
        peer.call(id, "echo", X);
    }
    for id in ["10", "11", "12"] {
        peer.answer(id);
    }
}

pub(super) fn batches(peer: &mut Peer) {
    peer.handshake("2025-03-26");
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let call = r#"{"jsonrpc":"2.0","id":"2","method":"tools/call","params":{"name":"echo","arguments":{"text":"b"}}}"#;
    peer.send(&format!("[{ping},{note},{call}]"));
    peer.answer(r#""2""#);
    peer.call("3", "echo", X);
    peer.answer("3");
    peer.send("[]");
    peer.until("-32600");
}

/// The server asks with ids 1, 2 and 3, which are ours too.
pub(super) fn questions(peer: &mut Peer) {
    peer.handshake(REVISION);
    for id in ["1", "2", "3"] {
        peer.request(id, "ping", "{}");
    }
    peer.until(r#""id":1,"method":"roots/list""#);
    peer.reply("1", r#"{"roots":[{"uri":"file:///w","name":"w"}]}"#);
    peer.until(r#""id":2,"method":"sampling/createMessage""#);
    peer.reply("2", r#"{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}"#);
    peer.until(r#""id":3,"method":"elicitation/create""#);
    peer.reply("3", r#"{"action":"accept","content":{"name":"Ada"}}"#);
    for id in ["1", "2", "3"] {
        peer.answer(id);
    }
    peer.call("4", "echo", X);
    peer.answer("4");
}

pub(super) fn progress(peer: &mut Peer) {
    peer.handshake(REVISION);
    for (id, token) in
        [("1", r#","_meta":{"progressToken":"tok"}"#), ("2", r#","_meta":{"progressToken":2}"#), ("3", "")]
    {
        peer.request(id, "tools/call", &format!(r#"{{"name":"progress","arguments":{{"n":3}}{token}}}"#));
        peer.answer(id);
    }
}

fn give_up_a_call(peer: &mut Peer) {
    peer.handshake(REVISION);
    peer.call("1", "sleep", r#"{"ms":60000}"#);
    peer.notify("notifications/cancelled", r#"{"requestId":1,"reason":"probe"}"#);
}

pub(super) fn cancel(peer: &mut Peer) {
    give_up_a_call(peer);
    peer.call("2", "echo", X);
    peer.answer("2");
}

pub(super) fn cancel_and_hear(peer: &mut Peer) {
    cancel(peer);
    peer.until("Request cancelled");
}

pub(super) fn too_late(peer: &mut Peer) {
    peer.handshake(REVISION);
    peer.call("1", "echo", X);
    peer.notify("notifications/cancelled", r#"{"requestId":1,"reason":"timeout"}"#);
    peer.request("2", "ping", "{}");
    peer.answer("2");
    peer.answer("1");
}

pub(super) fn unanswered(peer: &mut Peer) {
    peer.handshake(REVISION);
    peer.call("1", "echo", X);
    peer.request("2", "ping", "{}");
    peer.answer("2");
}

pub(super) fn nothing_comes(peer: &mut Peer) {
    peer.greet("0", REVISION);
}

pub(super) fn lists_before_and_after(peer: &mut Peer) {
    peer.handshake(REVISION);
    for (list, call) in [("1", "2"), ("3", "4")] {
        peer.request(list, "tools/list", "{}");
        peer.answer(list);
        peer.call(call, "structured", "{}");
        peer.answer(call);
    }
}

pub(super) fn pages(peer: &mut Peer) {
    list_from(peer, &["{}", r#"{"cursor":"b2Zmc2V0OjY="}"#, r#"{"cursor":"b2Zmc2V0OjEy"}"#]);
}

pub(super) fn pages_for_ever(peer: &mut Peer) {
    list_from(peer, &["{}", r#"{"cursor":"same"}"#, r#"{"cursor":"same"}"#]);
}

fn list_from(peer: &mut Peer, params: &[&str]) {
    peer.handshake(REVISION);
    for (id, params) in ["1", "2", "3"].into_iter().zip(params) {
        peer.request(id, "tools/list", params);
        peer.answer(id);
    }
}

pub(super) fn tasks(peer: &mut Peer) {
    peer.handshake(REVISION);
    peer.request("1", "tools/call", r#"{"name":"slow","arguments":{"ms":10},"task":{"ttl":60000}}"#);
    peer.answer("1");
    for id in ["2", "3", "4"] {
        peer.request(id, "tasks/get", r#"{"taskId":"task-1"}"#);
        peer.answer(id);
    }
    peer.request("5", "tasks/result", r#"{"taskId":"task-1"}"#);
    peer.answer("5");
}

/// 2026-07-28 on stdio: no handshake, metadata in every request.
pub(super) fn modern(peer: &mut Peer) {
    let meta = |revision: &str| {
        let name = "io.modelcontextprotocol";
        format!(r#""_meta":{{"{name}/protocolVersion":"{revision}","{name}/clientCapabilities":{{}}}}"#)
    };
    let now = meta("2026-07-28");
    peer.request(r#""d""#, "server/discover", &format!("{{{now}}}"));
    peer.answer(r#""d""#);
    let wanted = r#""notifications":{"toolsListChanged":true}"#;
    peer.request("1", "subscriptions/listen", &format!("{{{now},{wanted}}}"));
    peer.until("notifications/subscriptions/acknowledged");
    peer.request("2", "tools/list", &format!("{{{now}}}"));
    peer.answer("2");
    peer.request("3", "tools/call", &format!(r#"{{{now},"name":"echo","arguments":{X}}}"#));
    peer.answer("3");
    peer.request("4", "tools/list", &format!("{{{}}}", meta("2031-01-01")));
    peer.answer("4");
    peer.request("5", "initialize", "{}");
    peer.answer("5");
    peer.notify("notifications/cancelled", r#"{"requestId":1}"#);
    peer.answer("1");
}
