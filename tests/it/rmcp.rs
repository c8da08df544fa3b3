//! Recording real peers: a client and a server built on rmcp, neither of which knows of the tap.
#![allow(clippy::expect_used, reason = "what is not as expected fails the test, in helpers too")]

use crate::support::{TAP, TestEnv};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ClientRequest,
    Implementation, ProgressNotificationParam, ProtocolVersion, ServerCapabilities, ServerConfig,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RunningService, ServiceError};
use rmcp::transport::TokioChildProcess;
use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, Json, RoleClient, RoleServer, ServerHandler,
    ServiceExt, schemars, tool, tool_handler, tool_router,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// Tells this program that it is the server.
const SERVES: &str = "MCP_TAP_TEST_RMCP_SERVER";

/// The server: calculates, fails in both ways, and takes its time.
#[derive(Clone)]
struct Desk;

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Pair {
    left: i64,
    right: i64,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Product {
    product: i64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Walk {
    steps: u32,
    pause_ms: u64,
}

#[tool_router]
impl Desk {
    #[tool(description = "Multiply two integers")]
    async fn multiply(&self, Parameters(pair): Parameters<Pair>) -> Json<Product> {
        Json(Product { product: pair.left * pair.right })
    }

    #[tool(description = "Fail as a tool does")]
    async fn refuse(&self) -> Result<CallToolResult, ErrorData> {
        Ok(CallToolResult::error(vec![rmcp::model::ContentBlock::text("not today")]))
    }

    #[tool(description = "Fail as a server does")]
    async fn burn(&self) -> Result<String, ErrorData> {
        Err(ErrorData::internal_error("out of paper", Some(json!({"tray": 2}))))
    }

    #[tool(description = "Walk, and say how far it is")]
    async fn walk(
        &self,
        Parameters(walk): Parameters<Walk>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        let token = context.meta.get_progress_token();
        for step in 1..=walk.steps {
            tokio::select! {
                () = context.ct.cancelled() => return Err(ErrorData::internal_error("called back", None)),
                () = tokio::time::sleep(Duration::from_millis(walk.pause_ms)) => {}
            }
            if let Some(token) = &token {
                let progress = ProgressNotificationParam::new(token.clone(), f64::from(step));
                let told = context.peer.notify_progress(progress.with_total(f64::from(walk.steps))).await;
                told.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            }
        }
        Ok(format!("walked {} steps", walk.steps))
    }
}

#[tool_handler]
impl ServerHandler for Desk {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("desk", "7.1.0"))
    }
}

/// Is the server, in a process of its own: no test, but the one way into this program that needs no other target.
///
/// The harness writes to stdout, so the launcher keeps the pipe to the client as descriptor 3.
#[test]
#[ignore = "the server of the tests in this file"]
fn rmcp_server() {
    if std::env::var_os(SERVES).is_none() {
        return;
    }
    let harness = rustix::io::dup(rustix::stdio::stdout()).expect("a second stdout");
    let pipe = std::fs::OpenOptions::new().write(true).open("/dev/fd/3").expect("the pipe to the client");
    rustix::stdio::dup2_stdout(&pipe).expect("stdout is the pipe");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let service = Desk.serve(rmcp::transport::stdio()).await.expect("a client");
        service.waiting().await.expect("an end of the session");
    });
    rustix::stdio::dup2_stdout(&harness).expect("stdout is the harness's again");
}

/// Returns the words that start [`rmcp_server`] as a process.
fn desk_command() -> Vec<String> {
    let program = std::env::current_exe().expect("this program").display().to_string();
    let script = format!(r#"{SERVES}=1 exec "$0" --exact rmcp::rmcp_server --ignored --nocapture 3>&1 >/dev/null"#);
    vec!["sh".into(), "-c".into(), script, program]
}

/// How far a call is, and how far it goes.
type Progress = (f64, Option<f64>);

/// The client: keeps the progress that it is told.
#[derive(Clone, Default)]
struct Caller {
    progress: Arc<Mutex<Vec<Progress>>>,
}

impl ClientHandler for Caller {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("caller", "3.2.1"))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.lock().expect("not poisoned").push((told.progress, told.total));
    }
}

fn lifecycle(revision: &str) -> ClientLifecycleMode {
    match revision {
        HANDSHAKE => ClientLifecycleMode::Initialize,
        _ => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    }
}

/// Starts a server behind `record`, as rmcp starts any server.
async fn connect(env: &TestEnv, revision: &str, server: &[&str]) -> RunningService<RoleClient, Caller> {
    let store = env.store().display().to_string();
    let words = [&["record", "--store", &store, "--"], server].concat();
    let command = tokio::process::Command::from(env.command(&words));
    let (process, _) =
        TokioChildProcess::builder(command).stderr(std::process::Stdio::null()).spawn().expect("the tap starts");
    let client = Caller::default().serve_with_lifecycle(process, lifecycle(revision));
    let client = tokio::time::timeout(Duration::from_secs(20), client).await.expect("an answer in time");
    client.expect("the server is understood")
}

fn call(name: &str, arguments: &Value) -> CallToolRequestParams {
    let arguments = arguments.as_object().expect("an object").clone();
    CallToolRequestParams::new(name.to_owned()).with_arguments(arguments)
}

/// Returns the code and the message of a JSON-RPC error.
fn refused(outcome: Result<CallToolResult, ServiceError>) -> (i32, String) {
    match outcome {
        Err(ServiceError::McpError(error)) => (error.code.0, error.message.into_owned()),
        other => panic!("no JSON-RPC error: {other:?}"),
    }
}

/// Returns each message in the words of the specification: who, what, how it went, in which revision.
fn spoken(messages: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let line = |message: &Value| {
        let fields = ["dir", "kind", "method", "name", "outcome", "revision"].map(|field| text(&message[field]));
        fields.join(" ")
    };
    messages.iter().map(line).collect()
}

/// Returns the lines that [`spoken`] has for requests with their answers.
fn asked(revision: &str, calls: &[(&str, &str, &str)]) -> Vec<String> {
    let both = |&(method, name, outcome): &(&str, &str, &str)| {
        let answer = if outcome == "rpc_error" { "error" } else { "result" };
        [("to_server", "request"), ("to_client", answer)]
            .map(|(dir, kind)| format!("{dir} {kind} {method} {name} {outcome} {revision}"))
    };
    calls.iter().flat_map(both).collect()
}

/// Returns the lines of a session's beginning.
fn opened(revision: &str) -> Vec<String> {
    if revision == STATELESS {
        return asked(revision, &[("server/discover", "-", "ok")]);
    }
    let mut lines = asked(revision, &[("initialize", "-", "ok")]);
    lines.push(format!("to_server notification notifications/initialized - - {revision}"));
    lines
}

/// Puts lines of progress before the last answer.
fn with_progress(mut lines: Vec<String>, revision: &str, count: usize) -> Vec<String> {
    let told = format!("to_client notification notifications/progress - - {revision}");
    let last = lines.len() - 1;
    lines.splice(last..last, std::iter::repeat_n(told, count));
    lines
}

/// Checks what must hold of every recording here: nothing odd, everything answered, links both ways.
fn check_links(messages: &[Value]) {
    for message in messages {
        assert_eq!(message["flaws"], json!([]), "{message}");
        if message["kind"] == "request" {
            let answer = messages.iter().find(|other| other["seq"] == message["answer"]["seq"]).expect("an answer");
            assert_eq!(answer["id"], message["id"]);
            assert_eq!(answer["answers"], json!({"seq": message["seq"], "index": message["index"]}));
            assert!(answer["at_ns"].as_i64() >= message["forwarded_ns"].as_i64(), "{message} {answer}");
        }
    }
}

/// Checks that the progress of a recording belongs to the call of this tool.
fn check_progress(messages: &[Value], tool: &str, count: usize) {
    let request = messages.iter().find(|m| m["kind"] == "request" && m["name"] == tool).expect("the call");
    let told: Vec<&Value> = messages.iter().filter(|m| m["method"] == "notifications/progress").collect();
    assert_eq!(told.len(), count);
    for one in told {
        assert_eq!(one["concerns"], json!({"seq": request["seq"], "index": request["index"]}));
    }
}

/// Checks what is known of a session as a whole.
fn check_session(env: &TestEnv, revision: &str, server: [&str; 2], counts: [usize; 3]) {
    let session = env.session();
    let known = ["name", "revisions", "client", "server", "exit_status", "incomplete", "lost_frames"];
    let known: Vec<&Value> = known.iter().map(|key| &session[*key]).collect();
    let [name, version] = server;
    assert_eq!(
        json!(known),
        json!([
            name,
            [revision],
            {"name": "caller", "version": "3.2.1"},
            {"name": name, "version": version},
            {"code": 0},
            false,
            0,
        ])
    );
    assert_eq!(json!([session["messages"], session["calls"], session["bad"]]), json!(counts));
}

async fn client_and_sample_server(revision: &str) {
    let env = TestEnv::new();
    let heard = env.path().join("heard");
    let heard_path = heard.display().to_string();
    let server = [TAP, "sample-server", "--extra-tools", "--speed", "1000", "--seed", "1", "--tee-in", &heard_path];
    let client = connect(&env, revision, &server).await;
    let info = client.peer().peer_info().expect("the server introduced itself");
    assert_eq!(info.protocol_version.as_str(), revision);
    let tools = client.list_all_tools().await.expect("tools");
    assert!(tools.iter().any(|tool| tool.name == "get_forecast"), "{tools:?}");

    let sum = client.call_tool(call("add", &json!({"a": 2, "b": 40}))).await.expect("a result");
    assert_eq!(sum.structured_content, Some(json!({"sum": 42})));
    let unknown = client.call_tool(call("get_forecast", &json!({"city": "Atlantis"}))).await.expect("a result");
    assert_eq!(unknown.is_error, Some(true));
    let boom = refused(client.call_tool(call("fail", &json!({}))).await);
    assert_eq!(boom, (-32603, "boom".to_owned()));
    client.call_tool(call("progress", &json!({"n": 3}))).await.expect("a result");
    let progress = Arc::clone(&client.service().progress);
    client.cancel().await.expect("the client ends");
    assert_eq!(*progress.lock().expect("not poisoned"), [(1.0, Some(3.0)), (2.0, Some(3.0)), (3.0, Some(3.0))]);

    let messages = env.messages();
    let calls = [
        ("tools/list", "-", "ok"),
        ("tools/call", "add", "ok"),
        ("tools/call", "get_forecast", "tool_error"),
        ("tools/call", "fail", "rpc_error"),
        ("tools/call", "progress", "ok"),
    ];
    let expected = [opened(revision), with_progress(asked(revision, &calls), revision, 3)].concat();
    assert_eq!(spoken(&messages), expected);
    check_links(&messages);
    check_progress(&messages, "progress", 3);
    let failed = messages.iter().find(|m| m["kind"] == "request" && m["name"] == "fail").expect("the call");
    assert_eq!(failed["error_code"], -32603);
    check_session(&env, revision, ["weather", "1.4.0"], [expected.len(), 4, 2]);
    assert_eq!(env.stream("to_server", "stdio"), std::fs::read(&heard).expect("what the server read"));
}

#[tokio::test]
async fn rmcp_client_and_sample_server_with_a_handshake() {
    client_and_sample_server(HANDSHAKE).await;
}

#[tokio::test]
async fn rmcp_client_and_sample_server_without_a_handshake() {
    client_and_sample_server(STATELESS).await;
}

/// Asks for everything that the desk offers, and checks what it says.
async fn talk(client: RunningService<RoleClient, Caller>, revision: &str) {
    let info = client.peer().peer_info().expect("the server introduced itself");
    assert_eq!(info.protocol_version.as_str(), revision);
    let mut tools: Vec<_> = client.list_all_tools().await.expect("tools").into_iter().map(|tool| tool.name).collect();
    tools.sort();
    assert_eq!(tools, ["burn", "multiply", "refuse", "walk"]);

    let product = client.call_tool(call("multiply", &json!({"left": 6, "right": 7}))).await.expect("a result");
    assert_eq!(product.structured_content, Some(json!({"product": 42})));
    let refusal = client.call_tool(CallToolRequestParams::new("refuse")).await.expect("a result");
    assert_eq!(refusal.is_error, Some(true));
    let burnt = refused(client.call_tool(CallToolRequestParams::new("burn")).await);
    assert_eq!(burnt, (-32603, "out of paper".to_owned()));
    let unknown = refused(client.call_tool(CallToolRequestParams::new("no_such_tool")).await);
    assert_eq!(unknown.0, -32602);
    let walked = client.call_tool(call("walk", &json!({"steps": 4, "pause_ms": 1}))).await.expect("a result");
    assert_eq!(walked.content[0].as_text().map(|text| text.text.as_str()), Some("walked 4 steps"));
    let progress = Arc::clone(&client.service().progress);
    client.cancel().await.expect("the client ends");
    assert_eq!(progress.lock().expect("not poisoned").len(), 4);
}

async fn client_and_server(revision: &str) {
    let env = TestEnv::new();
    let command = desk_command();
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let client = connect(&env, revision, &words).await;
    talk(client, revision).await;

    let messages = env.messages();
    let calls = [
        ("tools/list", "-", "ok"),
        ("tools/call", "multiply", "ok"),
        ("tools/call", "refuse", "tool_error"),
        ("tools/call", "burn", "rpc_error"),
        ("tools/call", "no_such_tool", "rpc_error"),
        ("tools/call", "walk", "ok"),
    ];
    let expected = [opened(revision), with_progress(asked(revision, &calls), revision, 4)].concat();
    assert_eq!(spoken(&messages), expected);
    check_links(&messages);
    check_progress(&messages, "walk", 4);
    check_session(&env, revision, ["desk", "7.1.0"], [expected.len(), 5, 3]);

    // Played against the same server, the recorded client hears the same.
    let replay = [&["replay", "desk", "--destructive", "--json", "--"], words.as_slice()].concat();
    let replayed = env.tap(&replay).ok().json();
    assert_eq!(replayed["diff"]["equal"], true, "{replayed}");

    // The same client talks to the recording, and notices nothing.
    let client = connect(&env, revision, &[TAP, "mock", "desk"]).await;
    talk(client, revision).await;
    assert_eq!(spoken(&env.messages()), expected);
    let differences = env.tap(&["diff", "desk~1", "desk", "--strict"]).ok().text();
    assert!(differences.starts_with("no difference: "), "{differences}");
}

#[tokio::test]
async fn rmcp_client_and_rmcp_server_with_a_handshake() {
    client_and_server(HANDSHAKE).await;
}

#[tokio::test]
async fn rmcp_client_and_rmcp_server_without_a_handshake() {
    client_and_server(STATELESS).await;
}

async fn a_call_is_cancelled(revision: &str) {
    let env = TestEnv::new();
    let command = desk_command();
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let client = connect(&env, revision, &words).await;
    let long = call("walk", &json!({"steps": 1, "pause_ms": 600_000}));
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(long));
    let handle = client.peer().send_cancellable_request(request, PeerRequestOptions::no_options());
    handle.await.expect("it is sent").cancel(Some("changed my mind".into())).await.expect("it is cancelled");
    client.call_tool(call("multiply", &json!({"left": 1, "right": 1}))).await.expect("the server goes on");
    client.cancel().await.expect("the client ends");

    let messages = env.messages();
    let mut expected = opened(revision);
    expected.push(format!("to_server request tools/call walk gave_up {revision}"));
    expected.push(format!("to_server notification notifications/cancelled - - {revision}"));
    expected.extend(asked(revision, &[("tools/call", "multiply", "ok")]));
    assert_eq!(spoken(&messages), expected);
    let at = |method: &str| messages.iter().find(|m| m["method"] == method).expect("the message");
    let (walk, cancelled) = (at("tools/call"), at("notifications/cancelled"));
    assert_eq!(walk["answer"], Value::Null);
    assert_eq!(walk["gave_up_ns"], cancelled["at_ns"]);
    assert_eq!(cancelled["concerns"], json!({"seq": walk["seq"], "index": 0}));
    check_session(&env, revision, ["desk", "7.1.0"], [expected.len(), 2, 1]);
}

#[tokio::test]
async fn rmcp_cancels_a_call_with_a_handshake() {
    a_call_is_cancelled(HANDSHAKE).await;
}

#[tokio::test]
async fn rmcp_cancels_a_call_without_a_handshake() {
    a_call_is_cancelled(STATELESS).await;
}

#[tokio::test]
async fn a_session_that_begins_slowly_is_no_probe_of_its_neighbour() {
    let env = TestEnv::new();
    let server = [TAP, "sample-server", "--speed", "1000"];
    let slow = connect(&env, STATELESS, &server).await;
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while env.tap(&["sessions", "--all", "--json"]).ok().json()["sessions"][0]["messages"] != 2 {
        assert!(std::time::Instant::now() < until, "the discovery is never stored");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The same program starts the same server again before the first session has said more than hello.
    let quick = connect(&env, STATELESS, &server).await;
    quick.list_all_tools().await.expect("tools");
    quick.cancel().await.expect("the second session ends");
    slow.list_all_tools().await.expect("tools");
    slow.cancel().await.expect("the first session ends");

    let listed = env.tap(&["sessions", "--json"]).ok().json();
    let sessions = listed["sessions"].as_array().expect("a list");
    let seen: Vec<Value> = sessions.iter().map(|one| json!([one["probe"], one["parent"], one["messages"]])).collect();
    assert_eq!(json!(seen), json!([[false, null, 4], [false, null, 4]]));
}
