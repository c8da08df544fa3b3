//! What a test tells programs and build servers.

use super::{NEXT, SAMPLE, file, tested, with};
use crate::support::TestEnv;

#[test]
fn one_object_for_programs() {
    let env = with(&["batch", "revision-2025-11-25"]);
    std::fs::write(file(&env, "torn"), "{").expect("written");
    let output = tested(&env, &["--json"], &NEXT);
    assert_eq!(output.code(), 1);
    let report = output.json();
    assert_eq!((&report["mcp_tap_report"], &report["report"]), (&1.into(), &"test".into()));
    let count = |key: &str| report[key].as_u64().expect("a number");
    assert_eq!((count("ok"), count("failed"), count("errors"), count("not_run")), (0, 2, 1, 0));
    assert_eq!(report["exit_status"], 1);
    let forecast = &report["files"][1];
    assert_eq!(forecast["file"], "sessions/revision-2025-11-25.jsonl");
    assert_eq!(forecast["verdict"], "failed");
    assert_eq!(forecast["exchanges"], serde_json::json!([4, 4]));
    assert_eq!(forecast["changed"], 1);
    assert_eq!(forecast["masked"], 2);
    assert_eq!(forecast["line"], 9);
    assert_eq!(forecast["recorded_from"]["version"], "1.4.0");
    assert_eq!(forecast["session"]["server"]["version"], "1.5.0");
    let changes = forecast["changes"].as_array().expect("a list");
    let high = changes.iter().find(|change| change["pointer"] == "/structuredContent/days/0/high").expect("found");
    assert_eq!((&high["a"], &high["b"], &high["exchange"]["name"]), (&7.5.into(), &8.1.into(), &"get_forecast".into()));
    assert_eq!(report["files"][2]["verdict"], "error");
    assert_eq!(report["files"][2]["error"], "this is not a session file: its first line has no `mcp_tap_file`");
}

#[test]
fn a_document_for_build_servers() {
    let env = with(&["batch"]);
    std::fs::copy(file(&env, "batch"), file(&env, "a&b")).expect("copied");
    std::fs::write(file(&env, "torn"), "{").expect("written");
    let output = tested(&env, &["--junit", "junit.xml"], &NEXT);
    assert_eq!(output.code(), 1);
    let text = std::fs::read_to_string(env.path().join("junit.xml")).expect("written");
    assert!(text.starts_with(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"3\" failures=\"2\" errors=\"1\" skipped=\"0\""
    ));
    assert_eq!(elements(&text), "testsuites testsuite testcase failure testcase failure testcase error ");
    assert!(text.contains("name=\"sessions/a&amp;b.jsonl\""), "{text}");
    assert!(text.contains("<failure type=\"changed\" message=\"1 changed\">"), "{text}");
    assert!(text.contains("{&quot;region&quot;:&quot;NO-46&quot;}"), "{text}");
    let output = tested(&env, &["--junit", "no/where/junit.xml"], &SAMPLE);
    assert_eq!(output.code(), 3);
    assert!(output.errors().contains("cannot write `no/where/junit.xml`"), "{}", output.errors());
    let output = tested(&env, &["--junit", "no/where/junit.xml"], &NEXT);
    assert_eq!(output.code(), 1, "a failure wins");
    assert!(output.errors().contains("cannot write `no/where/junit.xml`"), "{}", output.errors());
}

/// Returns the names of the elements, after checking that they are closed in their order and that nothing is bare.
fn elements(text: &str) -> String {
    let (mut open, mut names) = (Vec::new(), String::new());
    let mut rest = text.split_once("?>").expect("a declaration").1;
    while let Some((before, tag)) = rest.split_once('<') {
        let bare = before.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "").replace("&quot;", "");
        assert!(!bare.replace("&apos;", "").contains(['&', '>']), "{before}");
        let (tag, after) = tag.split_once('>').expect("an end");
        rest = after;
        let name = tag.trim_start_matches('/').split([' ', '/']).next().expect("a name").to_owned();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            names.push_str(&format!("{name} "));
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
    }
    assert!(open.is_empty());
    names
}

fn on_github(env: TestEnv) -> TestEnv {
    let (summary, root) = (env.path().join("summary.md"), env.path().to_owned());
    env.with("GITHUB_ACTIONS", "true")
        .with("GITHUB_STEP_SUMMARY", summary.to_str().expect("a path"))
        .with("GITHUB_WORKSPACE", root.to_str().expect("a path"))
}

#[test]
fn annotations_and_a_summary_on_github() {
    let env = on_github(with(&["batch"]));
    let output = tested(&env, &[], &NEXT);
    let text = output.text();
    let mark = text.strip_prefix("::stop-commands::").expect("a mark").lines().next().expect("a line").to_owned();
    assert_eq!(mark.len(), 16);
    let (report, after) = text.split_once(&format!("\n::{mark}::\n")).expect("the mark again");
    assert!(report.ends_with("\n0 ok, 1 failed"), "{report}");
    let title = "::error file=sessions/batch.jsonl,line=7,title=mcp-tap%3A 1 changed::";
    assert!(after.starts_with(title), "{after}");
    assert_eq!(after.lines().count(), 1);
    assert!(after.contains("outcome          ok → tool error%0A"), "{after}");
    let summary = std::fs::read_to_string(env.path().join("summary.md")).expect("written");
    assert!(summary.contains("| failed | sessions/batch.jsonl | 1 changed |\n"), "{summary}");
    assert!(summary.contains("<pre>\n  4.1  tools/call get_alerts"), "{summary}");
    // A second step's is added, and a report for programs stays one.
    let output = tested(&env, &["--json"], &NEXT);
    assert_eq!(output.json()["failed"], 1);
    assert!(output.errors().starts_with(title), "{}", output.errors());
    let both = std::fs::read_to_string(env.path().join("summary.md")).expect("written");
    assert_eq!(both.matches("### mcp-tap test").count(), 2);
    let output = tested(&env, &[], &SAMPLE).ok();
    assert!(!output.text().contains("::error"), "{}", output.text());
}
