//! Replay: against the same build the difference is empty, against a changed one it is the change.

use crate::support::{Client, Output, TAP, TestEnv, is_alive};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn session(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions").join(format!("{name}.jsonl")).display().to_string()
}

/// Replays against the sample server.
fn replayed(env: &TestEnv, words: &[&str], sample: &[&str]) -> Output {
    let mut args = vec!["replay"];
    args.extend(words);
    args.extend(["--", TAP, "sample-server"]);
    args.extend(sample);
    env.tap(&args)
}

/// Records what `say` says to the sample server.
fn recorded(env: &TestEnv, name: &str, sample: &[&str], say: impl FnOnce(&mut Client)) {
    let mut client = env.recorded_sample(&["--name", name], sample);
    say(&mut client);
    assert_eq!(client.end().code(), 0);
}

/// Returns the differences as `level kind name pointer`, soft ones and identity left out.
fn hard(report: &Value) -> Vec<String> {
    let changes = report["diff"]["changes"].as_array().expect("a list").iter();
    let hard = changes.filter(|change| change["level"] != "soft" && change["level"] != "identity");
    hard.map(|change| {
        let word = |key: &str| change[key].as_str().unwrap_or("").to_owned();
        let who = change["item"]["name"].as_str().or(change["exchange"]["name"].as_str()).unwrap_or("");
        format!("{} {} {who} {}", word("level"), word("kind"), word("pointer"))
    })
    .collect()
}

#[test]
fn every_recording_of_the_folder_gives_the_same_again() {
    const EXTRA: &[&str] = &["--speed", "20", "--extra-tools"];
    for (name, sample) in [
        ("batch", &["--speed", "20"][..]),
        ("crash", &["--speed", "20", "--case", "crash-mid-call"]),
        ("errors", EXTRA),
        ("modern", &["--noise", "--frame-bytes", "300", "--speed", "40"]),
        ("noise", &["--speed", "20", "--case", "noise"]),
        ("progress", EXTRA),
        ("questions", EXTRA),
        ("revision-2024-11-05", &["--speed", "20"]),
        ("revision-2025-03-26", &["--speed", "20"]),
        ("revision-2025-06-18", &["--speed", "20"]),
        ("revision-2025-11-25", &["--speed", "20"]),
        ("tasks", EXTRA),
        ("weather", &["--noise", "--frame-bytes", "300", "--speed", "20"]),
    ] {
        let env = TestEnv::new();
        let output = replayed(&env, &[&session(name)], sample);
        assert_eq!(output.code(), 0, "{name}: {}{}", output.text(), output.errors());
        assert!(output.text().starts_with("no difference: "), "{name}: {}", output.text());
        assert!(!output.text().contains("not sent"), "{name}: {}", output.text());
        assert_eq!(output.errors(), "", "{name}");
        let replay = env.session();
        assert_eq!((&replay["origin"], &replay["name"]), (&Value::from("replay"), &Value::Null), "{name}");
        assert!(replay["parent"].is_string(), "{name}: {replay}");
    }
}

#[test]
fn the_other_build_shows_its_changes() {
    let env = TestEnv::new();
    let sample = ["--noise", "--frame-bytes", "300", "--speed", "20", "--build", "1.5.0"];
    let output = replayed(&env, &[&session("weather"), "--json"], &sample);
    assert_eq!((output.code(), output.errors()), (1, String::new()));
    let found = hard(&output.json());
    for expected in [
        "content changed get_forecast /structuredContent/days/0/high",
        "outcome outcome get_alerts ",
        "content removed plan_trip /structuredContent/risk",
        "outcome outcome get_radar ",
    ] {
        assert!(found.contains(&expected.to_owned()), "{expected}: {found:#?}");
    }
    assert_eq!(output.json()["failed"], true);
}

fn ask(client: &mut Client) {
    client.initialize("2025-11-25");
    client.call(1, "tools/list", "{}");
    let call = |client: &mut Client, id, name: &str, arguments: &str| {
        client.call(id, "tools/call", &format!(r#"{{"name":"{name}","arguments":{arguments}}}"#));
    };
    call(client, 2, "search_locations", r#"{"query":"Ber"}"#);
    call(client, 3, "get_forecast", r#"{"city":"Oslo","days":7}"#);
    call(client, 4, "echo", r#"{"text":"hello there"}"#);
    call(client, 5, "add", r#"{"a":1,"b":2}"#);
    call(client, 6, "now", "{}");
    call(client, 7, "uuid", "{}");
}

#[test]
fn mutations_are_found_or_passed_over() {
    const SAMPLE: [&str; 3] = ["--extra-tools", "--speed", "1000"];
    let env = TestEnv::new();
    recorded(&env, "old", &SAMPLE, ask);
    for (mutation, code, expected) in [
        ("drop-tool", 1, "outcome outcome search_locations "),
        ("rename-arg", 1, "surface removed get_alerts /inputSchema/properties/region"),
        ("require-arg", 1, "surface added get_forecast /inputSchema/properties/unit"),
        ("change-value", 1, "content text echo /content/0/text"),
        ("type-change", 1, "content type add /structuredContent/sum"),
        ("add-tool", 0, ""),
        ("add-optional", 0, ""),
        ("desc-change", 0, ""),
        ("reorder-tools", 0, ""),
        ("reorder-keys", 0, ""),
        ("int-to-float", 0, ""),
        ("slower", 0, ""),
    ] {
        let mut sample = SAMPLE.to_vec();
        sample.extend(["--mutate", mutation]);
        let output = replayed(&env, &["old", "--json"], &sample);
        let found = hard(&output.json());
        assert_eq!(output.code(), code, "{mutation}: {found:#?}");
        assert!(expected.is_empty() || found.contains(&expected.to_owned()), "{mutation}: {found:#?}");
    }
    assert_eq!(replayed(&env, &["old"], &SAMPLE).ok().text().lines().count(), 1);
}

#[test]
fn mutations_of_a_kind_of_their_own_can_be_switched_off() {
    const SAMPLE: [&str; 3] = ["--extra-tools", "--speed", "1000"];
    let env = TestEnv::new();
    recorded(&env, "old", &SAMPLE, ask);
    for (mutation, kind, switch) in [
        ("reorder-array", "content reordered ", &["--ignore-order"][..]),
        ("float-noise", "content float_noise ", &["--float-tolerance", "1e-9"]),
    ] {
        let sample = [&SAMPLE[..], &["--mutate", mutation]].concat();
        let output = replayed(&env, &["old", "--json"], &sample);
        let found = hard(&output.json());
        let (own, other): (Vec<&String>, Vec<&String>) = found.iter().partition(|line| line.starts_with(kind));
        assert_eq!((output.code(), own.is_empty(), other.len()), (1, false, 0), "{mutation}: {found:#?}");
        let words = [&["old", "--json"], switch].concat();
        let output = replayed(&env, &words, &sample);
        assert_eq!((output.code(), hard(&output.json()).len()), (0, 0), "{mutation}");
    }
}

#[test]
fn the_recorded_pace_is_kept_and_can_be_hurried() {
    let env = TestEnv::new();
    recorded(&env, "paced", &["--speed", "1000"], |client| {
        client.initialize("2025-11-25");
        std::thread::sleep(std::time::Duration::from_millis(800));
        client.call(1, "ping", "{}");
    });
    // A later message is never sent earlier than it was; how much later, the machine decides.
    for (pace, at_least) in [("recorded", 800), ("4x", 200)] {
        replayed(&env, &["paced", "--pace", pace], &["--speed", "1000"]).ok();
        let sent = |method: &str| {
            let all = env.messages();
            let message = all.iter().find(|message| message["kind"] == "request" && message["method"] == method);
            message.and_then(|message| message["at_ns"].as_i64()).expect("a request")
        };
        let apart = (sent("ping") - sent("initialize")) / 1_000_000;
        assert!(apart >= at_least, "{pace}: {apart} ms");
    }
}

#[test]
fn pages_are_asked_for_as_this_server_cuts_them() {
    const SAMPLE: [&str; 2] = ["--extra-tools", "--page-size"];
    let env = TestEnv::new();
    recorded(&env, "paged", &[SAMPLE[0], SAMPLE[1], "9"], |client| {
        client.initialize("2025-11-25");
        client.call(1, "tools/list", "{}");
        let said = String::from_utf8(client.stdout.bytes()).expect("text");
        let cursor = said.split("\"nextCursor\":\"").nth(1).expect("a cursor").split('"').next().expect("an end");
        client.call(2, "tools/list", &format!("{{\"cursor\":\"{cursor}\"}}"));
        let said = String::from_utf8(client.stdout.bytes()).expect("text");
        let cursors: Vec<&str> = said.split("\"nextCursor\":\"").skip(1).collect();
        if let Some(last) = cursors.get(1) {
            let cursor = last.split('"').next().expect("an end");
            client.call(3, "tools/list", &format!("{{\"cursor\":\"{cursor}\"}}"));
        }
    });
    for size in ["9", "5", "100"] {
        let output = replayed(&env, &["paged"], &[SAMPLE[0], SAMPLE[1], size]);
        assert_eq!(output.code(), 0, "{size}: {}{}", output.text(), output.errors());
        assert!(output.text().starts_with("no difference: "), "{size}: {}", output.text());
    }
}

#[test]
fn a_handle_of_this_session_is_sent_back_and_explained() {
    let env = TestEnv::new();
    recorded(&env, "basket", &["--extra-tools"], |client| {
        client.initialize("2025-11-25");
        client.call(1, "tools/call", r#"{"name":"basket_new","arguments":{}}"#);
        let said = String::from_utf8(client.stdout.bytes()).expect("text");
        let handle = said.split("bsk_").nth(1).expect("a handle");
        let handle: String = handle.chars().take_while(char::is_ascii_alphanumeric).collect();
        let arguments = format!(r#"{{"basket":"bsk_{handle}","item":"apple"}}"#);
        client.call(2, "tools/call", &format!(r#"{{"name":"basket_add","arguments":{arguments}}}"#));
    });
    let output = replayed(&env, &["basket", "--json"], &["--extra-tools"]);
    assert_eq!(output.json()["replay"]["replaced"], 1, "{}", output.text());
    let answered = |message: &&Value| message["kind"] == "request" && message["outcome"] == "ok";
    let added = env.messages().iter().filter(answered).count();
    assert_eq!(added, 3, "the handle of this server was taken: {:#?}", env.messages());
    let plan = env.tap(&["replay", "basket", "--explain"]).ok().text();
    assert!(plan.contains("replaced: /params/arguments/basket"), "{plan}");
    assert!(plan.contains("distinctive, and from the server first"), "{plan}");
    assert!(plan.ends_with("4 steps; nothing was sent\n"), "{plan}");
    // Without the call that made it, the handle is missing; what was not sent is said and not judged.
    let output = replayed(&env, &["basket", "--skip", "basket_new"], &["--extra-tools"]);
    assert!(output.text().contains("tools/call basket_add: it needs 4, which is not sent"), "{}", output.text());
}

#[test]
fn eight_in_flight_stay_eight() {
    let env = TestEnv::new();
    recorded(&env, "eight", &["--extra-tools", "--speed", "2"], |client| {
        client.initialize("2025-11-25");
        for id in 1..=8 {
            let ms = 400 + id * 20;
            let arguments = format!(r#"{{"name":"sleep","arguments":{{"ms":{ms}}}}}"#);
            client.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{arguments}}}"#));
        }
        for id in 1..=8 {
            client.expect(&format!("\"id\":{id},"));
        }
    });
    replayed(&env, &["eight"], &["--extra-tools", "--speed", "2"]).ok();
    let (mut open, mut most) = (0_i64, 0);
    for message in env.messages() {
        match message["kind"].as_str() {
            Some("request") => open += 1,
            Some("result" | "error") => open -= 1,
            _ => {}
        }
        most = most.max(open);
    }
    assert_eq!((open, most), (0, 8));
}

#[test]
fn one_message_alone_with_other_arguments() {
    let env = TestEnv::new();
    let (weather, sample) = (session("weather"), ["--speed", "1000"]);
    let output = replayed(&env, &[&weather, "13"], &sample).ok();
    assert!(output.text().starts_with("no difference: 2 exchanges"), "{}", output.text());
    let output = replayed(&env, &[&weather, "13", "--set", "/city=\"Atlantis\"", "--json"], &sample);
    let found = hard(&output.json());
    assert_eq!(output.code(), 1);
    assert!(found.contains(&"outcome outcome get_forecast ".to_owned()), "{found:#?}");
    assert!(found.contains(&"content changed get_forecast /params/arguments/city".to_owned()), "{found:#?}");
    // The answer's number means the same exchange.
    assert_eq!(replayed(&env, &[&weather, "16"], &sample).code(), 0);
    for (words, said) in [
        (&["--set", "/city=Atlantis"][..], "`Atlantis` is not JSON"),
        (&["--set", "city"], "`city` is not POINTER=JSON"),
    ] {
        let mut all = vec![weather.as_str(), "13"];
        all.extend(words);
        let output = replayed(&env, &all, &sample);
        assert_eq!(output.code(), 2);
        assert!(output.errors().contains(said), "{}", output.errors());
    }
    assert_eq!(replayed(&env, &[&weather, "--set", "/city=1"], &sample).code(), 2);
    assert_eq!(replayed(&env, &[&weather, "999"], &sample).code(), 3);
}

#[test]
fn nothing_is_sent_that_was_not_asked_for() {
    let env = TestEnv::new();
    let weather = session("weather");
    let output = replayed(&env, &[&weather, "--only", "get_alerts"], &["--speed", "1000"]).ok();
    assert!(output.text().contains("not sent: 8  tools/call search_locations: not in --only"), "{}", output.text());
    let sent: Vec<Value> = env.messages().into_iter().filter(|message| message["kind"] == "request").collect();
    assert_eq!(sent.len(), 2, "{sent:#?}");
    let output = replayed(&env, &[&weather, "--read-only"], &["--speed", "1000"]).ok();
    assert!(output.text().contains("tools/call plan_trip: not read-only"), "{}", output.text());
}

#[test]
fn the_whole_run_has_a_limit() {
    let env = TestEnv::new();
    let sample = ["--speed", "20", "--case", "no-response"];
    let output = replayed(&env, &[&session("revision-2025-11-25"), "--limit", "1500ms"], &sample);
    assert_eq!(output.code(), 1, "{}", output.errors());
    assert!(output.text().contains("the whole run took longer than 1.5 s"), "{}", output.text());
    let reason = env.session()["end_reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason.starts_with("the whole run took longer than 1.5 s; "), "{reason}");
}

fn script(env: &TestEnv, text: &str) -> PathBuf {
    let path = env.path().join("server.sh");
    std::fs::write(&path, text).expect("a file");
    path
}

#[test]
fn a_server_that_hangs_is_left_with_the_reason() {
    let env = TestEnv::new();
    let output = replayed(
        &env,
        &[&session("revision-2025-11-25"), "--timeout", "300ms"],
        &["--speed", "20", "--case", "no-response"],
    );
    assert_eq!(output.code(), 1, "{}", output.text());
    assert!(output.text().contains("NO ANSWER"), "{}", output.text());
    assert!(output.text().contains("tools/call get_forecast: none within 3"), "{}", output.text());
    assert!(output.text().contains("last from the server"), "{}", output.text());
}

#[test]
fn a_server_that_dies_is_no_wait() {
    let env = TestEnv::new();
    let begun = Instant::now();
    let output = replayed(&env, &[&session("revision-2025-11-25")], &["--speed", "20", "--case", "crash-mid-call"]);
    assert!(begun.elapsed().as_secs() < 20);
    assert_eq!(output.code(), 1, "{}", output.text());
    assert!(output.text().contains("STOPPED"), "{}", output.text());
    assert!(output.text().contains("not reached: 1 message of the client, from "), "{}", output.text());
    assert!(output.text().contains("socket hang up") || output.text().contains("stderr: "), "{}", output.text());
}

#[test]
fn three_is_for_what_never_began() {
    let env = TestEnv::new();
    let weather = session("weather");
    let output = env.tap(&["replay", &weather, "--", "no-such-program-here"]);
    assert_eq!(output.code(), 3);
    assert!(output.errors().contains("cannot start `no-such-program-here`: not found"), "{}", output.errors());
    let mute = script(&env, "echo 'no such module' >&2\nexit 1\n").display().to_string();
    let output = env.tap(&["replay", &weather, "--", "sh", &mute]);
    assert_eq!(output.code(), 3);
    assert!(output.errors().contains("the server never answered; the server exited with 1"), "{}", output.errors());
    assert!(output.errors().contains("stderr: no such module"), "{}", output.errors());
    let silent = script(&env, "echo $$ > pid\nexec sleep 100\n").display().to_string();
    let output = env.tap(&["replay", &weather, "--timeout", "200ms", "--", "sh", &silent]);
    assert_eq!(output.code(), 3, "{}", output.text());
    let pid = std::fs::read_to_string(env.path().join("pid")).expect("it ran").trim().parse().expect("a number");
    assert!(!is_alive(pid), "nothing is left running");
}

#[test]
fn the_newest_recording_is_replayed_and_no_replay_of_it() {
    let env = TestEnv::new();
    replayed(&env, &[&session("batch")], &["--speed", "20"]).ok();
    let output = replayed(&env, &[], &[]);
    assert_eq!(output.code(), 3);
    assert!(output.errors().contains("no recording in"), "{}", output.errors());
    recorded(&env, "own", &["--speed", "20"], |client| client.initialize("2025-11-25"));
    let id = env.session()["id"].clone();
    for _ in 0..2 {
        replayed(&env, &[], &["--speed", "20"]).ok();
        assert_eq!(env.session()["parent"], id);
    }
}

#[test]
fn without_a_command_the_recorded_one_is_shown() {
    let env = TestEnv::new();
    let output = env.tap(&["replay", &session("questions")]);
    assert_eq!(output.code(), 2);
    let hint = "-- mcp-tap sample-server --speed 20 --extra-tools";
    assert!(output.errors().contains(hint), "{}", output.errors());
}

#[test]
fn the_server_runs_where_and_as_it_is_told() {
    let env = TestEnv::new();
    std::fs::create_dir(env.path().join("there")).expect("a folder");
    let server = script(&env, "pwd > seen; echo \"$COLOUR\" >> seen; cat before >> seen; exec \"$@\"\n");
    let server = server.display().to_string();
    let args =
        ["replay", &session("batch"), "--cwd", "there", "--env", "COLOUR=blue", "--before", "echo reset > before"];
    let mut all = args.to_vec();
    all.extend(["--", "sh", &server, TAP, "sample-server", "--speed", "20"]);
    let output = env.tap(&all);
    assert_eq!(output.code(), 0, "{}{}", output.text(), output.errors());
    let seen = std::fs::read_to_string(env.path().join("there/seen")).expect("it ran there");
    assert!(seen.ends_with("/there\nblue\nreset\n"), "{seen}");
    let failed = replayed(&env, &[&session("batch"), "--before", "exit 4"], &[]);
    assert_eq!(failed.code(), 3);
    assert!(failed.errors().contains("--before `exit 4` failed"), "{}", failed.errors());
}

#[test]
fn a_question_without_an_answer_is_an_error_and_a_line() {
    let env = TestEnv::new();
    const SAMPLE: [&str; 3] = ["--extra-tools", "--speed", "20"];
    recorded(&env, "quiet", &SAMPLE, |client| {
        client.initialize("2025-11-25");
        client.call(1, "tools/call", r#"{"name":"echo","arguments":{"text":"a"}}"#);
    });
    // The same session, as if the call had been another one that asks.
    let file = env.tap(&["export", "quiet"]).ok().text();
    let asking = file.replace(r#""name":"echo","arguments":{"text":"a"}"#, r#""name":"ask","arguments":{}"#);
    let asking = asking.replace(r#""capabilities":{}"#, r#""capabilities":{"roots":{},"sampling":{}}"#);
    let path = env.path().join("asking.jsonl");
    std::fs::write(&path, asking).expect("a file");
    let output = replayed(&env, &[&path.display().to_string()], &SAMPLE);
    assert_eq!(output.code(), 1, "{}{}", output.text(), output.errors());
    let said = "no answer in the recording to the question roots/list: answered with an error";
    assert!(output.text().contains(said), "{}", output.text());
}

#[test]
fn what_comes_after_an_unsent_write_is_not_judged() {
    let env = TestEnv::new();
    let text = std::fs::read_to_string(session("weather")).expect("the recording");
    let hint = r#""title":"Search locations","readOnlyHint":true,"#;
    assert!(text.contains(hint));
    let path = env.path().join("destructive.jsonl");
    std::fs::write(&path, text.replace(hint, r#""destructiveHint":true,"#)).expect("a file");
    let path = path.display().to_string();
    let sample = ["--noise", "--frame-bytes", "300", "--speed", "40", "--build", "1.5.0"];
    let output = replayed(&env, &[&path, "--json"], &sample).json();
    let not_sent = &output["replay"]["not_sent"][0];
    assert_eq!(not_sent["what"], "tools/call search_locations", "{output}");
    assert_eq!(not_sent["why"], "destructive (--destructive)");
    assert_eq!(output["replay"]["not_judged"], 4);
    assert!(hard(&output).iter().all(|line| line.starts_with("surface ")), "{:#?}", hard(&output));
    let output = replayed(&env, &[&path, "--destructive", "--json"], &sample).json();
    assert_eq!(
        (&output["replay"]["not_sent"], &output["replay"]["not_judged"]),
        (&Value::Array(Vec::new()), &Value::from(0))
    );
    assert!(hard(&output).contains(&"outcome outcome get_alerts ".to_owned()));
}
