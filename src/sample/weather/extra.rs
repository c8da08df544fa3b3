//! Tools that tell no story: small, and each for one kind of test.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{Reply, legacy, modern, progress, prompts, structured, subscriptions, text, tool_error};
use crate::sample::{
    clock, mutate,
    server::{Request, Server},
    spawn, wire,
    wire::RpcError,
};

/// Lists the tools.
pub(super) fn tools() -> Vec<Value> {
    let tool = |name: &str, description: &str, arguments: &[(&str, &str)], required: usize| {
        let properties: serde_json::Map<String, Value> =
            arguments.iter().map(|(name, kind)| ((*name).to_owned(), json!({"type": kind}))).collect();
        let required: Vec<&str> = arguments.iter().take(required).map(|(name, _)| *name).collect();
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        json!({
            "name": name, "description": description, "inputSchema": schema,
            "annotations": {"readOnlyHint": !matches!(name, "basket_new" | "basket_add" | "touch")},
        })
    };
    let mut tools = vec![
        tool("echo", "Return the text unchanged", &[("text", "string")], 1),
        tool("add", "Add two numbers", &[("a", "number"), ("b", "number")], 2),
        tool("now", "Tell the time", &[], 0),
        tool("uuid", "Make a fresh UUID", &[], 0),
        tool("structured", "Describe a city as structure", &[], 0),
        tool("counter", "Count the calls of this tool", &[], 0),
        tool("fail", "Fail: a JSON-RPC error, or with kind `tool` a tool error", &[("kind", "string")], 0),
        tool("ask", "Ask the client: roots, sampling, elicitation; else the first two", &[("kind", "string")], 0),
        tool("log", "Log to the client and to stderr", &[("text", "string"), ("level", "string")], 1),
        tool("big", "Return a text of that many bytes", &[("bytes", "integer")], 1),
        tool("sleep", "Answer after that many real milliseconds", &[("ms", "integer")], 1),
        tool("progress", "Report progress n times", &[("n", "integer")], 0),
        tool("basket_new", "Make a basket and return its handle", &[], 0),
        tool("basket_add", "Put an item into a basket", &[("basket", "string"), ("item", "string")], 2),
        tool("proc", "Describe the server's process", &[], 0),
        tool("secret", "Return credentials that open nothing", &[], 0),
        tool("rawline", "Return length and FNV-1a hash of the line of this request", &[], 0),
        tool(
            "touch",
            "Announce a change: tools, prompts, resources, or the resource of a uri",
            &[("what", "string")],
            1,
        ),
    ];
    tools[1]["outputSchema"] =
        json!({"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]});
    tools[4]["outputSchema"] = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "degrees": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["city", "degrees"],
    });
    tools[10]["execution"] = json!({"taskSupport": "optional"});
    tools
}

/// Tells whether a name is that of a tool in another test server, and works although it is not listed.
pub(super) fn is_alias(name: &str) -> bool {
    matches!(name, "slow" | "rpcerror" | "image")
}

/// Tells whether a call is answered in no time, so that answers keep the order of the requests.
pub(super) fn is_instant(name: &str) -> bool {
    !matches!(
        name,
        "sleep" | "slow" | "ask" | "search_locations" | "get_forecast" | "get_alerts" | "get_radar" | "plan_trip"
    )
}

/// Runs a tool.
pub(super) fn perform(server: &Arc<Server>, request: &Request) -> Reply {
    let number = |name: &str, other: u64| request.argument(name).as_u64().unwrap_or(other);
    let word = |name: &str| request.argument(name).as_str();
    let mutation = server.args.mutate;
    Ok(match request.name() {
        "echo" => match word("text") {
            Some(echo) => text(mutate::echo(mutation, echo)),
            None => tool_error("text is required"),
        },
        "add" => {
            let [a, b] = ["a", "b"].map(|name| request.argument(name));
            let sum = match (a.as_i64(), b.as_i64()) {
                (Some(a), Some(b)) => json!(a.saturating_add(b)),
                _ => json!(a.as_f64().unwrap_or(0.0) + b.as_f64().unwrap_or(0.0)),
            };
            structured(request.revision, json!({"sum": mutate::number(mutation, sum)}))
        }
        "now" => {
            let mut result = text(server.values.now());
            if request.revision >= crate::sample::revision::Revision::June2025 {
                result["structuredContent"] = json!({"epoch_ms": server.values.now_ms()});
            }
            result
        }
        "uuid" => text(server.values.uuid(&format!("uuid:{}", request.id))),
        "structured" => {
            let mut city = json!({"city": "Łódź", "degrees": 21.5, "tags": ["river", "mill"]});
            mutate::reorder(mutation, &mut city["tags"]);
            structured(request.revision, city)
        }
        "counter" => text(server.update(|state| {
            state.counter += 1;
            state.counter.to_string()
        })),
        "fail" if word("kind") == Some("tool") => tool_error("it failed"),
        "fail" | "rpcerror" => return Err(RpcError::new(-32603, "boom")),
        "ask" => return ask(server, request),
        "log" => {
            let said = word("text").unwrap_or("");
            wire::complain(&format!("[log] {said}\n[log] end\n"));
            legacy::log(server, request, word("level").unwrap_or("info"), &json!(said));
            text("logged")
        }
        "big" => text("x".repeat(number("bytes", 1000).min(1 << 31) as usize)),
        "sleep" | "slow" => {
            let ms = number("ms", 100).min(600_000);
            // Real time: whoever names milliseconds wants these, whatever the speed of the story.
            let factor = mutate::delay_factor(mutation) * server.args.speed.max(0.001);
            server.pause(request, ms as f64 * factor);
            text(format!("slept {ms} ms"))
        }
        "progress" => {
            let steps = number("n", 3).min(1_000_000);
            for step in 1..=steps {
                progress(server, request, step, steps, &format!("step {step}"));
            }
            text(format!("done {steps}"))
        }
        "image" => {
            let bytes = vec![0; number("bytes", 1000).min(1 << 30) as usize];
            let data = crate::sample::values::base64(&bytes);
            json!({"content": [{"type": "image", "data": data, "mimeType": "image/png"}]})
        }
        "basket_new" => basket_new(server, request),
        "basket_add" => {
            let (basket, item) = (word("basket").unwrap_or(""), word("item").unwrap_or(""));
            let items = server.update(|state| {
                let items = state.baskets.get_mut(basket)?;
                items.push(item.to_owned());
                Some(items.clone())
            });
            match items {
                Some(items) => structured(request.revision, json!({"basket": basket, "items": items})),
                None => tool_error(format!("no such basket: {basket}")),
            }
        }
        "proc" => structured(request.revision, spawn::facts()),
        "secret" => text("key sk-sample-0123456789abcdefghij, Authorization: Bearer sample.token.value"),
        "rawline" => {
            let hash = request
                .line
                .iter()
                .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
            text(format!("{} bytes, {hash:016x}", request.line.len()))
        }
        "touch" => match word("what").unwrap_or("") {
            kind @ ("tools" | "prompts" | "resources") => {
                subscriptions::list_changed(server, kind);
                text("announced")
            }
            uri if prompts::exists(uri) => {
                subscriptions::updated(server, uri);
                text("announced")
            }
            other => tool_error(format!("nothing to announce: {other}")),
        },
        "get_tides" if mutation == Some(mutate::Mutation::AddTool) => text("high tide at noon"),
        name => return Err(RpcError::new(-32602, format!("Unknown tool: {name}"))),
    })
}

fn basket_new(server: &Server, request: &Request) -> Value {
    let count = server.update(|state| state.baskets.len());
    let basket = format!("bsk_{}", server.values.token(&format!("basket:{count}")));
    server.update(|state| state.baskets.insert(basket.clone(), Vec::new()));
    structured(request.revision, json!({"basket": basket}))
}

/// Returns the capability, method and parameters of a question.
pub(crate) fn question(kind: &str) -> Option<(&'static str, Value)> {
    let text = json!({"type": "text", "text": "Name a colour."});
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    Some(match kind {
        "roots" => ("roots/list", json!({})),
        "sampling" => {
            let messages = json!([{"role": "user", "content": text}]);
            ("sampling/createMessage", json!({"messages": messages, "maxTokens": 16}))
        }
        "elicitation" => ("elicitation/create", json!({"message": "Who are you?", "requestedSchema": schema})),
        _ => return None,
    })
}

fn ask(server: &Server, request: &Request) -> Reply {
    let kinds: &[&str] = match request.argument("kind").as_str() {
        Some(kind) => &[kind],
        None => &["roots", "sampling"],
    };
    if !request.params["inputResponses"].is_null() {
        return Ok(text(request.params["inputResponses"].to_string()));
    }
    let mut answers = json!({});
    for kind in kinds {
        let Some((method, params)) = question(kind) else {
            return Ok(tool_error(format!("cannot ask for {kind}")));
        };
        let can = legacy::client_can(server, request, kind);
        if request.revision.is_modern() {
            if !can {
                return Err(modern::needs(kind));
            }
            answers[kind] = json!({"method": method, "params": params});
        } else if can || server.args.case.is_some() {
            answers[kind] = server.ask(Some(request), method, &params).unwrap_or(Value::Null);
        } else {
            return Ok(tool_error(format!("the client did not declare {kind}")));
        }
    }
    if request.revision.is_modern() {
        return Ok(json!({"resultType": "input_required", "inputRequests": answers}));
    }
    // The questions of one call are told apart from those of the next.
    clock::sleep(Duration::from_millis(1));
    Ok(text(answers.to_string()))
}
