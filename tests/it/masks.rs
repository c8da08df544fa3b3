//! Masks by rule: in the project's file, in the user's, in a session file, and what is wrong with them.

use crate::support::pairs::{calls, conversation};
use crate::support::{Output, TestEnv};
use mcp_tap::analysis::diff::diff_masked;
use mcp_tap::analysis::exchanges::collect;
use mcp_tap::analysis::learn::learn;
use mcp_tap::analysis::report::Options;
use mcp_tap::analysis::rules::Rules;
use mcp_tap::session_file::FileSource;
use serde_json::{Value, json};

/// Writes two sessions of one call each, with these texts.
fn two_texts(env: &TestEnv, a: &str, b: &str) {
    for (name, text) in [("a", a), ("b", b)] {
        let result = json!({"content": [{"type": "text", "text": text}]}).to_string();
        conversation(env.path(), name, &calls(&[("{}", &result)]));
    }
}

/// Writes two sessions of one call each, with these structures.
fn two_structures(env: &TestEnv, a: &str, b: &str) {
    for (name, structure) in [("a", a), ("b", b)] {
        let result = format!(r#"{{"content":[],"structuredContent":{structure}}}"#);
        conversation(env.path(), name, &calls(&[("{}", &result)]));
    }
}

fn project(env: &TestEnv, text: &str) {
    std::fs::write(env.path().join("mcp-tap.toml"), text).unwrap();
}

fn compare(env: &TestEnv, more: &[&str]) -> Output {
    let mut args = vec!["diff", "./a.jsonl", "./b.jsonl"];
    args.extend(more);
    env.tap(&args)
}

/// Returns the exit code, how much was masked, and where the sides differ.
fn compared(env: &TestEnv, more: &[&str]) -> (i32, Value, Vec<String>) {
    let output = compare(env, &[&["--json"], more].concat());
    let diff = output.json()["diff"].clone();
    let changes = diff["changes"].as_array().expect("a list").iter();
    let places = changes.map(|change| change["pointer"].as_str().unwrap_or_default().to_owned());
    (output.code(), diff["masks"].clone(), places.collect())
}

#[test]
fn a_part_of_a_text() {
    let env = TestEnv::new();
    project(&env, "[[mask]]\ntool = 't'\nat = '/content/*/text'\ntext = 'took (\\d+) ms'\nas = 'duration'\n");
    two_texts(&env, "took 12 ms, zone UTC", "took 9 ms, zone UTC");
    let output = compare(&env, &[]).ok();
    assert_eq!(output.text(), "no difference: 1 exchange, 1 value masked (1 duration)\n");
    let strict = compared(&env, &["--strict"]);
    assert_eq!((strict.0, strict.1), (1, json!({})));
    // What stands beside it still counts.
    two_texts(&env, "took 12 ms, zone UTC", "took 9 ms, zone CET");
    assert_eq!(compared(&env, &[]).0, 1);
    two_texts(&env, "took 12 ms, zone UTC", "took long ms, zone UTC");
    assert_eq!(compared(&env, &[]).0, 1);
}

#[test]
fn values_by_place() {
    let env = TestEnv::new();
    project(
        &env,
        "[[mask]]\nat = '/structuredContent/**/hits'\nas = 'counter'\n\n[[mask]]\nmethod = 'tools/*'\nat = '/structuredContent/tags'\nas = 'order'\n",
    );
    two_structures(
        &env,
        r#"{"hits":1,"page":{"hits":5},"tags":["x","y"]}"#,
        r#"{"hits":2,"page":{"hits":6},"tags":["y","x"]}"#,
    );
    assert_eq!(compared(&env, &[]), (0, json!({"counter": 2, "order": 1}), vec![]));
    // Another type, and a value that one side lacks, are told.
    two_structures(&env, r#"{"hits":1,"page":{"hits":5}}"#, r#"{"hits":"1","page":{}}"#);
    let (code, masks, places) = compared(&env, &[]);
    assert_eq!((code, masks), (1, json!({})));
    assert_eq!(places, ["/structuredContent/hits", "/structuredContent/page/hits"]);
}

#[test]
fn json_inside_a_text() {
    let env = TestEnv::new();
    project(&env, "[[mask]]\nat = '/content/0/text/made'\nas = 'random'\n");
    two_texts(&env, r#"{"made":"x","n":1}"#, r#"{"made":"y","n":1}"#);
    assert_eq!(compared(&env, &[]).0, 0);
    two_texts(&env, r#"{"made":"x","n":1}"#, r#"{"made":"y","n":2}"#);
    assert_eq!(compared(&env, &[]).0, 1);
}

#[test]
fn arguments_that_vary_are_the_same_request() {
    let env = TestEnv::new();
    for (name, first, second) in [("a", "p1", "q1"), ("b", "q2", "p2")] {
        let one = format!(r#"{{"n":"{first}","k":1}}"#);
        let two = format!(r#"{{"n":"{second}","k":2}}"#);
        let lines = if name == "a" {
            calls(&[(&one, r#"{"content":[],"r":1}"#), (&two, r#"{"content":[],"r":2}"#)])
        } else {
            calls(&[(&two, r#"{"content":[],"r":2}"#), (&one, r#"{"content":[],"r":1}"#)])
        };
        conversation(env.path(), name, &lines);
    }
    assert_eq!(compared(&env, &[]).0, 1);
    project(&env, "[[mask]]\ntool = 't'\nat = '/params/arguments/n'\nas = 'token'\n");
    assert_eq!(compared(&env, &[]), (0, json!({"token": 2}), vec![]));
}

#[test]
fn the_user_and_the_session_file_have_masks_too() {
    let env = TestEnv::new();
    two_structures(&env, r#"{"m":1,"n":1}"#, r#"{"m":2,"n":2}"#);
    assert_eq!(compared(&env, &[]).2, ["/structuredContent/m", "/structuredContent/n"]);
    std::fs::create_dir_all(env.path().join(".config/mcp-tap")).unwrap();
    let user = "[[mask]]\nat = '/structuredContent/m'\nas = 'counter'\n";
    std::fs::write(env.path().join(".config/mcp-tap/config.toml"), user).unwrap();
    assert_eq!(compared(&env, &[]).2, ["/structuredContent/n"]);
    let path = env.path().join("b.jsonl");
    let with = |mask: &str| {
        let text = std::fs::read_to_string(&path).unwrap();
        let masked = text.replacen(r#""session":{"#, &format!(r#""session":{{"masks":[{mask}],"#), 1);
        std::fs::write(env.path().join("c.jsonl"), masked).unwrap();
        env.tap(&["diff", "./a.jsonl", "./c.jsonl"])
    };
    assert_eq!(with(r#"{"at":"/structuredContent/n","as":"counter","learned":true}"#).code(), 0);
    let wrong = with(r#"{"at":"n","as":"counter"}"#);
    assert_eq!(
        wrong.shown(),
        "[stderr]\nerror: a mask of session `b` cannot be used: `n` is no pointer: it begins with `/`\n\
         hint: compare without masks: --strict\n[exit 3]\n"
    );
}

#[test]
fn a_store_keeps_the_masks_of_a_session_file() {
    let env = TestEnv::new();
    two_structures(&env, r#"{"n":1}"#, r#"{"n":2}"#);
    let text = std::fs::read_to_string(env.path().join("a.jsonl")).unwrap();
    let mask = r#""masks":[{"tool":"t","at":"/structuredContent/n","as":"counter","learned":true}],"#;
    let masked = text.replacen(r#""tap_version""#, &format!(r#"{mask}"tap_version""#), 1);
    std::fs::write(env.path().join("a.jsonl"), masked).unwrap();
    assert_eq!(env.tap(&["import", "a.jsonl"]).code(), 0);
    let exported = env.tap(&["export", "a"]).ok().text();
    assert!(exported.lines().next().unwrap().contains(mask), "{exported}");
    assert_eq!(env.tap(&["diff", "a", "./b.jsonl"]).code(), 0);
}

/// Records calls of the sample server whose answers differ from run to run.
fn recorded(env: &TestEnv, name: &str) {
    let mut client = env.recorded_sample(&["--name", name], &["--extra-tools", "--speed", "1000"]);
    client.initialize("2025-11-25");
    for (id, tool) in ["now", "uuid", "counter", "proc", "structured"].iter().enumerate() {
        client.call(id as u64 + 1, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{{}}}}"#));
    }
    assert_eq!(client.end().code(), 0);
}

#[test]
fn runs_of_the_sample_server() {
    let env = TestEnv::new();
    recorded(&env, "one");
    recorded(&env, "two");
    assert_eq!(env.tap(&["diff", "one", "two"]).code(), 1);
    // Two processes have two numbers, as structure and in the text that repeats it.
    let mask = |key: &str| format!("[[mask]]\ntool = 'proc'\nat = '/**/{key}'\nas = 'random'\n");
    project(&env, &format!("{}\n{}", mask("pid"), mask("pgid")));
    let output = env.tap(&["diff", "one", "two"]).ok();
    assert!(output.text().contains("4 random values"), "{}", output.text());
    assert_eq!(env.tap(&["diff", "one", "two", "--strict"]).code(), 1);
}

#[test]
fn masks_are_learned_from_runs_of_the_sample_server() {
    let env = TestEnv::new();
    let recording = |name: &str| {
        recorded(&env, name);
        let file = env.tap(&["export", name]).ok().stdout;
        collect(&FileSource::read(file).expect("a session file")).expect("read")
    };
    let (base, runs, further) = (recording("base"), [recording("one"), recording("two")], recording("further"));
    let found = learn(&base, &runs, Options::default(), &Rules::default());
    assert_eq!(found.cannot, []);
    // What the built-in masks know is not learned again.
    assert!(found.rules.iter().all(|rule| rule.tool.as_deref() == Some("proc")), "{:?}", found.rules);
    let rules = Rules::of(&found.rules).expect("rules");
    assert!(diff_masked(&base, &further, Options::default(), &rules).is_equal(), "{:?}", found.rules);
}

#[test]
fn a_wrong_file_is_told_with_its_line() {
    let env = TestEnv::new();
    two_structures(&env, r#"{"n":1}"#, r#"{"n":2}"#);
    for (text, line, said, hint) in [
        ("[[mask]]\nat = 'n'\nas = 'uuid'\n", 2, "`n` is no pointer: it begins with `/`", None),
        (
            "[[mask]]\n\nat = '/n'\nas = 'counting'\n",
            4,
            "`counting` is no type of a mask",
            Some("did you mean `counter`?"),
        ),
        ("[[masks]]\n", 1, "unknown key `masks`", Some("did you mean `mask`?")),
        ("[[mask]]\nas = 'uuid'\ntext = '('\n", 3, "`text` is no regular expression: unclosed group", None),
    ] {
        project(&env, text);
        let path = env.path().join("mcp-tap.toml");
        let path = std::fs::canonicalize(path).unwrap();
        let hint = hint.map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
        let expected = format!("[stderr]\nerror: `{}`, line {line}: {said}\n{hint}[exit 3]\n", path.display());
        assert_eq!(compare(&env, &[]).shown(), expected, "{text}");
        // Without masks there is nothing wrong.
        assert_eq!(compare(&env, &["--strict"]).code(), 1);
    }
}

#[test]
fn a_replay_is_judged_under_the_masks() {
    let env = TestEnv::new();
    let server = env.path().join("server.sh");
    // A server whose only answer counts how often it was started.
    let script = r#"
count=$(cat count 2>/dev/null || echo 0); count=$((count + 1)); echo $count > count
while read -r line; do
  case $line in
  *'"initialize"'*) echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}' ;;
  *'"tools/call"'*) echo '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"start '$count' of many"}]}}' ;;
  esac
done
"#;
    std::fs::write(&server, script).unwrap();
    let mut client = env.client(&["record", "--name", "counted", "--", "sh", "server.sh"]);
    client.initialize("2025-11-25");
    client.call(1, "tools/call", r#"{"name":"starts","arguments":{}}"#);
    assert_eq!(client.end().code(), 0);
    let replay = |more: &[&str]| env.tap(&[&["replay", "counted"], more, &["--", "sh", "server.sh"]].concat());
    assert_eq!(replay(&[]).code(), 1);
    project(&env, "[[mask]]\ntool = 'starts'\ntext = '^start (\\d+) of'\nas = 'counter'\n");
    let output = replay(&[]).ok();
    assert!(output.text().contains("1 value masked (1 counter)"), "{}", output.text());
    assert_eq!(replay(&["--strict"]).code(), 1);
    project(&env, "[[mask]]\ntool = 'starts'\ntext = 'start'\nas = 'counter'\n");
    assert_eq!(replay(&[]).code(), 3);
}
