//! What is well, what failed, and what could not be found out; and how the run ends.

use super::{NEXT, SAMPLE, content, file, recorded, tested, timeless, with};
use crate::support::{TAP, TestEnv, is_alive};

const TWO: [&str; 2] = ["batch", "revision-2025-11-25"];

#[test]
fn the_same_build_is_well() {
    let env = with(&TWO);
    let output = tested(&env, &[], &SAMPLE).ok();
    assert_eq!(
        timeless(&output.text()),
        "2 session files against weather 1.4.0, 2025-03-26, 2025-11-25\n\
         \n\
         ok sessions/batch.jsonl 2 exchanges\n\
         ok sessions/revision-2025-11-25.jsonl 4 exchanges 2 values masked\n\
         \n\
         2 ok\n"
    );
    assert_eq!(output.errors(), "");
}

#[test]
fn another_build_fails_with_the_places() {
    let env = with(&TWO);
    let output = tested(&env, &[], &NEXT);
    assert_eq!(output.code(), 1);
    assert_eq!(
        timeless(&output.text()),
        "2 session files against weather 1.5.0 (recorded from 1.4.0), 2025-03-26, 2025-11-25\n\
         \n\
         FAIL sessions/batch.jsonl 2 exchanges 1 changed\n\
         FAIL sessions/revision-2025-11-25.jsonl 4 exchanges 1 changed, 2 breaking, 1 undecided\n\
         \n\
         FAIL sessions/batch.jsonl\n\
         4.1 tools/call get_alerts {\"region\":\"NO-46\"}\n\
         outcome ok → tool error\n\
         /content/0/text [-none-]{+unknown region: NO-46+}\n\
         FAIL sessions/revision-2025-11-25.jsonl\n\
         breaking get_alerts /inputSchema/properties/region/enum `NO-46` is no longer accepted\n\
         breaking plan_trip /outputSchema/properties/risk removed, was required\n\
         undecided get_radar /inputSchema/properties/frames/maximum 24 → 48\n\
         wording get_forecast /description (the model reads this)\n\
         Forecast for a city{+; prefer over get_alerts+}\n\
         6 tools/call get_forecast {\"city\":\"Oslo\",\"days\":7}\n\
         /structuredContent/days/0/high 7.5 → 8.1\n\
         /structuredContent/days/0/text light [-rain-]{+sleet+} in the evening\n\
         /content/0/text the same two, as JSON in text\n\
         \n\
         0 ok, 2 failed\n"
    );
}

#[test]
fn what_breaks_nobody_passes_and_is_told() {
    let env = with(&["revision-2025-11-25"]);
    let output = tested(&env, &[], &["--speed", "20", "--mutate", "add-tool"]).ok();
    assert!(timeless(&output.text()).contains("4 exchanges 1 compatible, 2 values masked\n"), "{}", output.text());
    assert_eq!(tested(&env, &["--fail-on", "any"], &["--speed", "20", "--mutate", "add-tool"]).code(), 1);
}

#[test]
fn a_server_that_had_answered_and_hangs_or_dies_has_failed() {
    let env = with(&["revision-2025-11-25"]);
    let hangs = ["--speed", "20", "--case", "no-response"];
    let output = tested(&env, &["--timeout", "2s"], &hangs);
    assert_eq!(output.code(), 1, "{}", output.text());
    assert!(output.text().contains("stopped at 6"), "{}", output.text());
    assert!(output.text().contains("NO ANSWER  6  tools/call get_forecast: none within"), "{}", output.text());
    let output = tested(&env, &[], &["--speed", "20", "--case", "crash-mid-call"]);
    assert_eq!(output.code(), 1, "{}", output.text());
    assert!(output.text().contains("the server ended"), "{}", output.text());
    assert!(output.text().contains("STOPPED"), "{}", output.text());
}

#[test]
fn an_answer_that_comes_in_time_is_one() {
    let env = with(&[]);
    recorded(&env, "slow", &["--extra-tools"], |client| {
        client.initialize("2025-11-25");
        super::call(client, 1, "sleep", r#"{"ms":1500}"#);
        super::call(client, 2, "echo", r#"{"text":"after"}"#);
    });
    env.tap(&["export", "slow", "-o", "sessions/slow.jsonl"]).ok();
    tested(&env, &["--timeout", "15s"], &["--extra-tools"]).ok();
    let output = tested(&env, &["--timeout", "600ms"], &["--extra-tools"]);
    assert_eq!(output.code(), 1, "{}", output.text());
    assert!(output.text().contains("NO ANSWER") && output.text().contains("tools/call sleep"), "{}", output.text());
}

#[test]
fn three_is_for_what_could_not_be_found_out() {
    let env = with(&["batch"]);
    let output = env.tap(&["test", "--", "no-such-program-here"]);
    assert_eq!(output.code(), 3);
    let line = "ERROR  sessions/batch.jsonl  cannot start `no-such-program-here`: not found\n";
    assert!(output.text().contains(line), "{}", output.text());
    assert!(output.text().ends_with("0 ok, 1 error\n"), "{}", output.text());
    assert_eq!(env.tap(&["test", "--bisect", "--", "no-such-program-here"]).code(), 125);
    let silent = ["test", "--timeout", "200ms", "--", "sh", "-c", "echo $$ > pid; exec sleep 100"];
    let output = env.tap(&silent);
    assert_eq!(output.code(), 3, "{}", output.text());
    assert!(output.text().contains("the server never answered"), "{}", output.text());
    let pid = std::fs::read_to_string(env.path().join("pid")).expect("it ran").trim().parse().expect("a number");
    assert!(!is_alive(pid), "nothing is left running");
}

#[test]
fn a_file_that_cannot_be_played_is_an_error_of_its_own_and_a_failure_wins() {
    let env = with(&["batch"]);
    let over_http = content(&env, "batch").replacen(r#""transport":"stdio""#, r#""transport":"http""#, 1);
    let header = content(&env, "batch").lines().next().expect("a line").to_owned();
    for (name, text) in [("http", over_http.as_str()), ("mute", &header), ("torn", "{\"mcp_tap"), ("young", "")] {
        std::fs::write(file(&env, name), text).expect("written");
    }
    let output = tested(&env, &["sessions", "sessions/gone.jsonl"], &SAMPLE);
    let text = output.text();
    assert_eq!(output.code(), 3, "{text}");
    for line in [
        "ok     sessions/batch.jsonl",
        "ERROR  sessions/http.jsonl",
        "it was recorded over HTTP, and that cannot be replayed yet",
        "nothing to replay: its client said nothing",
        "ERROR  sessions/torn.jsonl",
        "this is not a session file",
        "ERROR  sessions/gone.jsonl",
        "cannot be read: no such file or directory",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.ends_with("1 ok, 5 errors\n"), "{text}");
    assert_eq!(tested(&env, &["--bisect"], &SAMPLE).code(), 125);
    assert_eq!(tested(&env, &[], &NEXT).code(), 1, "a failure wins");
    assert_eq!(tested(&env, &["--bisect"], &NEXT).code(), 1);
}

#[test]
fn without_files_nothing_is_tested() {
    let env = TestEnv::new();
    let output = tested(&env, &[], &SAMPLE);
    assert_eq!(output.code(), 2);
    assert!(output.errors().starts_with("error: no session files in `sessions`\nhint: mcp-tap test --add SESSION"));
    assert_eq!(tested(&env, &["--bisect"], &SAMPLE).code(), 125);
    let output = tested(&env, &["nowhere"], &SAMPLE);
    assert_eq!(output.code(), 2);
    assert!(output.errors().contains("`nowhere` is no session file and no folder of them"), "{}", output.errors());
}

#[test]
fn what_was_not_sent_is_told_with_its_reason() {
    let env = with(&["revision-2025-11-25"]);
    let output = tested(&env, &["--skip", "get_forecast"], &NEXT);
    assert!(output.text().ends_with("0 ok, 1 failed; not sent: get_forecast (--skip)\n"), "{}", output.text());
    let output = tested(&env, &["--only", "get_forecast", "--only", "tools/list"], &SAMPLE).ok();
    let unsent = "1 ok; not sent: resources/read weather://stations (not in --only)\n";
    assert!(output.text().ends_with(unsent), "{}", output.text());
}

#[test]
fn nothing_is_begun_after_a_failure_if_so_wanted() {
    let env = with(&TWO);
    let output = tested(&env, &["--fail-fast"], &NEXT);
    assert_eq!(output.code(), 1);
    assert!(output.text().contains("sessions/revision-2025-11-25.jsonl  not run\n"), "{}", output.text());
    assert!(output.text().ends_with("0 ok, 1 failed, 1 not run\n"), "{}", output.text());
}

#[test]
fn several_at_once_stay_apart() {
    let env = with(&["batch"]);
    let text = content(&env, "batch");
    for at in 0..7 {
        std::fs::write(file(&env, &format!("copy-{at}")), &text).expect("written");
    }
    let output = tested(&env, &["--jobs", "4"], &SAMPLE).ok();
    let rows: Vec<String> = timeless(&output.text()).lines().skip(2).take(8).map(str::to_owned).collect();
    let expected = |name: &str| format!("ok sessions/{name}.jsonl 2 exchanges");
    let copies = (0..7).map(|at| expected(&format!("copy-{at}")));
    assert_eq!(rows, std::iter::once(expected("batch")).chain(copies).collect::<Vec<_>>());
    let report = env.tap(&["sessions", "--all", "--json"]).ok().json();
    assert_eq!(report["total"], 8);
    assert!(report["sessions"].as_array().expect("a list").iter().all(|one| one["origin"] == "test"));
    assert_eq!(tested(&env, &["--jobs", "0"], &SAMPLE).code(), 2);
}

#[test]
fn the_latest_session_is_none_that_a_test_made() {
    let env = with(&["batch"]);
    recorded(&env, "own", &SAMPLE, |client| client.initialize("2025-11-25"));
    let id = env.session()["id"].clone();
    tested(&env, &[], &SAMPLE).ok();
    assert_eq!(env.tap(&["inspect", "--json"]).ok().json()["session"]["id"], id);
    let listed = env.tap(&["sessions"]).ok().text();
    assert!(listed.contains("\n1 session, 1 replay of a test not shown (--all); "), "{listed}");
    let made = env.tap(&["sessions", "--all", "--json"]).ok().json()["sessions"][0].clone();
    assert_eq!((made["origin"].as_str(), made["parent"].as_str()), (Some("test"), Some("vuqkztvnmrusmzuo")));
}

#[test]
fn a_person_who_ends_it_is_obeyed() {
    let env = with(&["batch"]);
    std::fs::write(file(&env, "other"), content(&env, "batch")).expect("written");
    let args = ["test", "--", "sh", "-c", "echo $$ > pid; echo on >&2; exec sleep 100"];
    let client = env.client(&args);
    let pid = env.path().join("pid");
    let mut waited = 0;
    while std::fs::read_to_string(&pid).map_or(0, |text| text.len()) < 2 && waited < 2000 {
        std::thread::sleep(std::time::Duration::from_millis(10));
        waited += 1;
    }
    client.signal(rustix::process::Signal::INT);
    let output = client.wait();
    assert_eq!(output.code(), 3, "{}", output.text());
    assert!(output.text().contains("interrupted"), "{}", output.text());
    assert!(output.text().ends_with("0 ok, 1 error, 1 not run\n"), "{}", output.text());
    let pid = std::fs::read_to_string(pid).expect("it ran").trim().parse().expect("a number");
    assert!(!is_alive(pid), "nothing is left running by {TAP}");
}
