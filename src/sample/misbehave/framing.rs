//! What stdout looks like: banners, line ends, blank lines, pieces.

use std::sync::Arc;

use serde_json::json;

use super::{Quirk, case, is_call};
use crate::sample::{
    server::{Request, Server},
    wire,
};

/// The cases, after those that behave well and are driven by an awkward client.
pub(super) const CASES: &[Quirk] = &[
    case("ok", "behaves well"),
    case("ok-pipelined", "behaves well; for a client that does not wait for answers"),
    case("ok-oneshot", "behaves well; for a client that closes stdin before it reads"),
    case("ok-big-args", "behaves well; for a client that sends megabytes"),
    case("ok-ids", "behaves well; for a client with ids of every type and spelling"),
    case("ok-garbage-in", "behaves well; answers garbage with -32700 and id null"),
    case("banner", "draws a banner on stdout before the first message").start(|server| {
        server.output.write("┌─────────┐\n│ weather │\n└─────────┘\nready, waiting for a client\n".as_bytes());
        None
    }),
    case("banner-mid", "writes a log line on stdout before every message")
        .frame(|message| framed(b"11:02:33 DEBUG next message {\"almost\": json}\n", &message, b"\n")),
    case("ansi", "writes coloured log lines on stdout")
        .start(|server| {
            server.output.write(b"\x1b]0;weather\x07\x1b[?25l\x1b[1;33mwarning\x1b[0m no cache\n");
            None
        })
        .frame(|message| framed(b"\x1b[2K\x1b[36mtrace\x1b[0m writing\n", &message, b"\n")),
    case("noise", "writes stray lines of many kinds on stdout before every message").frame(|message| {
        let noise = b"npm WARN deprecated\n> weather@1.4.0 start\n{'python': 'dict'}\n\
                {\"jsonrpc\":\"2.0\",\n\xe2\x80\xae\xe2\x80\x8bhidden\n";
        framed(noise, &message, b"\n")
    }),
    case("crlf", "ends its lines with CR LF").frame(|message| framed(b"", &message, b"\r\n")),
    case("bom", "writes a byte order mark before the first message").start(|server| {
        server.output.write(b"\xef\xbb\xbf");
        None
    }),
    case("pretty", "spreads its JSON over many lines").frame(|message| {
        let value: Option<serde_json::Value> = serde_json::from_slice(&message).ok();
        let pretty = value.and_then(|value| serde_json::to_vec_pretty(&value).ok());
        framed(b"", &pretty.unwrap_or(message), b"\n")
    }),
    case("blank-lines", "writes empty and blank lines around its messages")
        .frame(|message| framed(b"\n  \n\t \r\n", &message, b"\n\n")),
    case("dribble", "writes every byte by itself").start(|server| {
        server.output.dribble();
        None
    }),
    case("burst", "writes 200 notifications and the answer in one write").answer(burst),
    case("torn", "writes a log line into the middle of every answer to a call").answer(
        |server, request, id, result| {
            let message = wire::result(id, result);
            let (head, tail) = message.split_at(if is_call(request) { message.len() / 2 } else { 0 });
            let log: &[u8] = if head.is_empty() { b"" } else { b"GET /tiles 200\n" };
            server.output.write(&[head, log, tail, b"\n"].concat());
        },
    ),
    case("slow-line", "takes --n ms over a line that answers a call (default 300)").n(300).answer(
        |server, request, id, result| {
            let message = framed(b"", &wire::result(id, result), b"\n");
            let cut = if is_call(request) { message.len() / 2 } else { message.len() };
            server.output.write(&message[..cut]);
            if cut < message.len() {
                server.pause_firmly(server.n as f64);
                server.output.write(&message[cut..]);
            }
        },
    ),
    case("no-newline-eof", "ends after an answer that has no newline").answer(|server, request, id, result| {
        let message = wire::result(id, result);
        if !is_call(request) {
            return server.send_answer(request, message);
        }
        server.output.write_last(&message);
        server.exit(0);
    }),
    case("half-line-eof", "ends with status 1 in the middle of an answer").answer(|server, request, id, result| {
        let message = wire::result(id, result);
        if !is_call(request) {
            return server.send_answer(request, message);
        }
        server.output.write_last(&message[..message.len() / 2]);
        server.exit(1);
    }),
];

fn framed(before: &[u8], message: &[u8], after: &[u8]) -> Vec<u8> {
    [before, message, after].concat()
}

fn burst(server: &Arc<Server>, _request: &Request, id: &str, result: &[u8]) {
    let mut lines = Vec::new();
    for index in 0..200 {
        let params = json!({"level": "info", "data": {"tile": index}});
        lines.extend(wire::notification("notifications/message", &params));
        lines.push(b'\n');
    }
    lines.extend(wire::result(id, result));
    lines.push(b'\n');
    server.output.write(&lines);
}
