//! Who answers whom, in which order, how often, and when.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Quirk, case, is_call};
use crate::sample::{
    server::{Request, Server},
    weather::{self, subscriptions},
    wire::{self, RpcError},
};

/// The cases.
pub(super) const CASES: &[Quirk] = &[
    case("string-ids", "returns number ids as strings")
        .id(|id| if id.starts_with('"') { id.to_owned() } else { format!("\"{id}\"") }),
    case("int-ids", "returns ids that are digits in a string as numbers").id(|id| {
        let bare = id.trim_matches('"');
        let digits = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit());
        if digits { bare.to_owned() } else { id.to_owned() }
    }),
    case("float-id", "returns id 1 as 1.0")
        .id(|id| if id.parse::<i64>().is_ok() { format!("{id}.0") } else { id.to_owned() }),
    case("null-id", "sends errors with id null and without id before it answers a call").answer(
        |server, request, id, result| {
            if is_call(request) {
                server.send(wire::error("null", &RpcError::new(-32700, "Parse error")));
                server.send(br#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"whose?"}}"#.to_vec());
            }
            server.send_answer(request, wire::result(id, result));
        },
    ),
    case("answer-twice", "answers every call twice").answer(|server, request, id, result| {
        for _ in 0..if is_call(request) { 2 } else { 1 } {
            server.send_answer(request, wire::result(id, result));
        }
    }),
    case("stray-answer", "answers what was never asked before it answers a call").answer(
        |server, request, id, result| {
            if is_call(request) {
                server.send(wire::result("4711", b"{}"));
            }
            server.send_answer(request, wire::result(id, result));
        },
    ),
    case("outoforder", "gathers the answers to calls for 600 ms and sends them in the reverse order")
        .answer(out_of_order),
    case("batch", "answers a batch with a batch, and a call with an array of notification and answer").answer(
        |server, request, id, result| {
            let mut answer = wire::result(id, result);
            if is_call(request) && request.batch.is_none() {
                let params = json!({"level": "info", "data": "in the same line"});
                let note = wire::notification("notifications/message", &params);
                answer = [b"[", note.as_slice(), b",", &answer, b"]"].concat();
            }
            server.send_answer(request, answer);
        },
    ),
    case("server-requests", "asks for roots, sampling and elicitation with ids 1, 2, 3, which are the client's too")
        .notification(|server, method, _| {
            if method == "notifications/initialized" {
                server.work(ask_everything);
            }
        })
        .result(|server, request, value| {
            if !is_call(request) {
                return value.to_string().into_bytes();
            }
            let got = server.wait_for(|state| {
                let complete = state.notes.got.len() == 3 || state.ended;
                complete.then(|| json!(state.notes.got))
            });
            weather::text(got.to_string()).to_string().into_bytes()
        }),
    case("progress", "behaves well; has a tool that reports progress with the client's token"),
    case("cancelled-silent", "behaves well; never answers a cancelled call"),
    case("cancelled", "answers a cancelled call with an error 400 ms after the cancellation").notification(
        |server, method, params| {
            if method == "notifications/cancelled" && !params["requestId"].is_null() {
                let id = params["requestId"].to_string();
                server.work(move |server| {
                    server.pause_firmly(400.0);
                    server.send(wire::error(&id, &RpcError::new(0, "Request cancelled")));
                });
            }
        },
    ),
    case("late-response", "answers a call after --n ms (default 2500), cancelled or not")
        .n(2500)
        .answers_cancelled()
        .result(|server, request, value| {
            if is_call(request) {
                server.pause_firmly(server.n as f64);
            }
            value.to_string().into_bytes()
        }),
    case("notif-flood", "sends --n notifications (default 20000) before it answers a call").n(20_000).result(
        |server, request, value| {
            for index in 0..if is_call(request) { server.n } else { 0 } {
                let params = json!({"level": "debug", "data": {"tile": index}});
                server.notify("notifications/message", &params);
            }
            value.to_string().into_bytes()
        },
    ),
    case("no-response", "never answers a call, but all else").request(|_, request| is_call(request)),
    case("silent", "answers nothing at all").request(|_, _| true),
    case("list-changed", "announces a changed list before it answers a call; `structured` is gone then").result(
        |server, request, value| {
            if is_call(request) {
                server.update(|state| state.notes.dropped = Some("structured"));
                subscriptions::list_changed(server, "tools");
            }
            value.to_string().into_bytes()
        },
    ),
    case("pagination", "lists its tools on three pages").result(|_, request, value| pages(request, value, &PAGES)),
    case("cursor-loop", "has a next page for ever, and it is the same").result(|_, request, value| {
        let mut value = value.clone();
        if request.method == "tools/list" {
            value["nextCursor"] = json!("same");
        }
        value.to_string().into_bytes()
    }),
    case("tasks", "makes a task of `slow`; it is done at the third poll").request(tasks),
    case("modern", "speaks 2026-07-28 only; announces a changed list at every call").modern_only().result(
        |server, request, value| {
            if is_call(request) {
                subscriptions::list_changed(server, "tools");
            }
            value.to_string().into_bytes()
        },
    ),
];

/// Leads to the second and the third page; the scripts of the field cases send the same.
const PAGES: [&str; 2] = ["b2Zmc2V0OjY=", "b2Zmc2V0OjEy"];

fn pages(request: &Request, value: &Value, cursors: &[&str]) -> Vec<u8> {
    let mut value = value.clone();
    if request.method == "tools/list"
        && let Some(tools) = value["tools"].as_array_mut()
    {
        let sent = request.params["cursor"].as_str();
        let page = cursors.iter().position(|cursor| sent == Some(cursor)).map_or(0, |place| place + 1);
        let size = tools.len().div_ceil(cursors.len() + 1);
        *tools = std::mem::take(tools).into_iter().skip(page * size).take(size).collect();
        if let Some(next) = cursors.get(page) {
            value["nextCursor"] = json!(next);
        }
    }
    value.to_string().into_bytes()
}

fn out_of_order(server: &Arc<Server>, request: &Request, id: &str, result: &[u8]) {
    let answer = wire::result(id, result);
    if !is_call(request) {
        return server.send_answer(request, answer);
    }
    let first = server.update(|state| {
        state.notes.held.push((request.clone(), answer));
        state.notes.held.len() == 1
    });
    if first {
        server.work(|server| {
            server.pause_firmly(600.0);
            let mut held = server.update(|state| std::mem::take(&mut state.notes.held));
            held.sort_by(|(one, _), (other, _)| other.id.cmp(&one.id));
            for (request, answer) in held {
                server.send_answer(&request, answer);
            }
        });
    }
}

fn ask_everything(server: &Arc<Server>) {
    for kind in ["roots", "sampling", "elicitation"] {
        let Some((method, params)) = weather::question(kind) else {
            continue;
        };
        let answer = server.ask(None, method, &params).unwrap_or(Value::Null);
        server.update(|state| state.notes.got.push(answer));
    }
}

fn tasks(server: &Arc<Server>, request: &Request) -> bool {
    let task = |polls: u64| {
        let status = if polls < 3 { "working" } else { "completed" };
        json!({
            "taskId": "task-1", "status": status, "createdAt": "2026-11-30T13:02:00Z",
            "lastUpdatedAt": format!("2026-11-30T13:02:{polls:02}Z"),
            "ttl": 60_000, "pollInterval": 100,
        })
    };
    let reply = match request.method.as_str() {
        "tools/call" if matches!(request.name(), "slow" | "sleep") => {
            server.update(|state| state.notes.polls = 0);
            json!({"task": task(0)})
        }
        "tasks/get" => task(server.update(|state| {
            state.notes.polls += 1;
            state.notes.polls
        })),
        "tasks/result" => {
            let mut result = weather::text("slept");
            result["_meta"] = json!({"io.modelcontextprotocol/related-task": {"taskId": "task-1"}});
            result
        }
        _ => return false,
    };
    server.deliver(request, Ok(reply));
    true
}
