//! Comparing two sessions, seen from the shell.

use crate::support::pairs::{calls, capture, conversation};
use crate::support::{Client, TestEnv};
use serde_json::{Value, json};

/// Records the journey of the mutations: the lists, then calls whose answers they change.
fn recorded(env: &TestEnv, name: &str, sample: &[&str]) {
    let mut args = vec!["--extra-tools", "--speed", "1000"];
    args.extend(sample);
    let mut client = env.recorded_sample(&["--name", name], &args);
    client.initialize("2025-11-25");
    ask(&mut client);
    assert_eq!(client.end().code(), 0);
}

fn ask(client: &mut Client) {
    client.call(1, "tools/list", "{}");
    client.call(2, "resources/list", "{}");
    let mut id = 2;
    let mut call = |tool: &str, arguments: &str| {
        id += 1;
        client.call(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#));
    };
    call("search_locations", r#"{"query":"Ber"}"#);
    call("get_forecast", r#"{"city":"Oslo","days":7}"#);
    call("get_alerts", r#"{"region":"NO-46"}"#);
    call("plan_trip", r#"{"from":"Bergen","to":"Oslo","days":2}"#);
    call("echo", r#"{"text":"hello there"}"#);
    call("add", r#"{"a":1,"b":2}"#);
    call("structured", "{}");
    call("now", "{}");
    call("uuid", "{}");
}

/// Compares as JSON; returns the exit status with the report's `diff`.
fn compared(env: &TestEnv, words: &[&str]) -> (i32, Value) {
    let mut args = vec!["diff", "--json"];
    args.extend(words);
    let output = env.tap(&args);
    assert_eq!(output.errors(), "");
    (output.code(), output.json()["diff"].clone())
}

/// Returns the changes as `level kind pointer`, soft ones left out, each once.
fn hard(diff: &Value) -> Vec<String> {
    let mut found: Vec<String> = diff["changes"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|change| change["level"] != "soft" && change["level"] != "identity")
        .map(|change| {
            let who = change["item"]["name"].as_str().or(change["exchange"]["name"].as_str()).unwrap_or("");
            let word = |key: &str| change[key].as_str().unwrap_or("").to_owned();
            let inside = change["inside"].as_str().map(|inside| format!(":{inside}")).unwrap_or_default();
            let meant = change["impact"].as_str().unwrap_or(change["level"].as_str().unwrap_or(""));
            format!("{meant} {} {who}{}{inside}", word("kind"), word("pointer"))
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Compares the sample server with a build that has one change.
fn mutated(mutation: &str, more: &[&str]) -> (i32, Value) {
    let env = TestEnv::new();
    recorded(&env, "old", &[]);
    recorded(&env, "new", &["--mutate", mutation]);
    let mut words = vec!["old", "new"];
    words.extend(more);
    compared(&env, &words)
}

#[test]
fn two_recordings_of_one_build_do_not_differ() {
    let env = TestEnv::new();
    recorded(&env, "old", &[]);
    recorded(&env, "new", &[]);
    let output = env.tap(&["diff", "old", "new"]).ok();
    // Issued and planned twice each (structure and text), now in both spellings, the resource's last change; the ids
    // of the trip (twice) and of uuid.
    assert_eq!(output.text(), "no difference: 12 exchanges, 10 values masked (7 timestamps, 3 ids)\n");
    let (code, diff) = compared(&env, &["old", "new"]);
    assert_eq!((code, &diff["equal"], &diff["masked"]), (0, &json!(true), &json!(10)));
    assert_eq!(diff["masks"], json!({"timestamp": 7, "id": 3}));
    assert_eq!(diff["changes"], json!([]));
    let (code, diff) = compared(&env, &["old", "new", "--strict"]);
    assert_eq!((code, &diff["equal"], &diff["masked"]), (1, &json!(false), &json!(0)));
    assert_eq!(env.tap(&["diff", "old", "old"]).ok().text(), "no difference: 12 exchanges\n");
}

#[test]
fn mutations_that_fail() {
    for (mutation, expected) in [
        ("drop-tool", vec!["breaking removed search_locations", "outcome outcome search_locations"]),
        (
            "rename-arg",
            vec![
                "breaking added get_alerts/inputSchema/properties/area",
                "breaking removed get_alerts/inputSchema/properties/region",
            ],
        ),
        ("require-arg", vec!["breaking added get_forecast/inputSchema/properties/unit"]),
    ] {
        let (code, diff) = mutated(mutation, &[]);
        assert_eq!((code, hard(&diff)), (1, expected.iter().map(|&text| text.to_owned()).collect()), "{mutation}");
    }
    let (code, diff) = mutated("change-value", &[]);
    let found = hard(&diff);
    assert_eq!(code, 1);
    assert_eq!(found.len(), 7 * 2 + 2 + 1, "{found:#?}");
    assert!(found.contains(&"content text echo/content/0/text".to_owned()));
    assert!(found.contains(&"content changed add/structuredContent/sum".to_owned()));
    let (code, diff) = mutated("type-change", &[]);
    let found = hard(&diff);
    assert_eq!((code, found.len()), (1, 7 * 2 + 2));
    assert!(found.iter().all(|line| line.starts_with("content type ")), "{found:#?}");
}

#[test]
fn mutations_that_pass_and_are_told() {
    for (mutation, expected) in [
        ("add-tool", "compatible added get_tides"),
        ("add-optional", "compatible added get_forecast/inputSchema/properties/language"),
        ("desc-change", "wording text get_alerts/description"),
    ] {
        let (code, diff) = mutated(mutation, &[]);
        assert_eq!((code, hard(&diff)), (0, vec![expected.to_owned()]), "{mutation}");
        assert_eq!((&diff["equal"], &diff["failed"]), (&json!(false), &json!(false)));
    }
    assert_eq!(mutated("add-tool", &["--fail-on", "any"]).0, 1);
    assert_eq!(mutated("require-arg", &["--fail-on", "none"]).0, 0);
}

#[test]
fn mutations_that_are_no_difference() {
    for mutation in ["reorder-tools", "reorder-keys", "slower"] {
        let (code, diff) = mutated(mutation, &[]);
        assert_eq!((code, &diff["equal"], &diff["changes"]), (0, &json!(true), &json!([])), "{mutation}");
    }
}

#[test]
fn mutations_of_a_kind_of_their_own() {
    let (code, diff) = mutated("reorder-array", &[]);
    let expected = [
        "content reordered search_locations/content/0/text:/places",
        "content reordered search_locations/structuredContent/places",
        "content reordered structured/content/0/text:/tags",
        "content reordered structured/structuredContent/tags",
    ];
    assert_eq!((code, hard(&diff)), (1, expected.map(str::to_owned).to_vec()));
    let (code, diff) = mutated("reorder-array", &["--ignore-order"]);
    assert_eq!((code, hard(&diff).len(), diff["changes"].as_array().map(Vec::len)), (0, 0, Some(4)));

    let (code, diff) = mutated("int-to-float", &[]);
    let kinds: Vec<&Value> = diff["changes"].as_array().expect("a list").iter().map(|change| &change["kind"]).collect();
    assert_eq!((code, &diff["equal"], kinds), (0, &json!(true), vec![&json!("spelling"); 7 * 2 + 2]));

    let (code, diff) = mutated("float-noise", &[]);
    assert_eq!((code, hard(&diff).len()), (1, 7 * 2 + 2));
    assert!(hard(&diff).iter().all(|line| line.starts_with("content float_noise ")));
    let (code, diff) = mutated("float-noise", &["--float-tolerance", "1e-9"]);
    assert_eq!((code, hard(&diff).len()), (0, 0));
}

#[test]
fn the_story_of_two_builds() {
    let env = TestEnv::new();
    for (name, build) in [("old", "1.4.0"), ("new", "1.5.0")] {
        let mut client = env.recorded_sample(&["--name", name], &["--speed", "1000", "--seed", "1", "--build", build]);
        client.initialize("2025-11-25");
        client.call(1, "tools/list", "{}");
        client.call(2, "tools/call", r#"{"name":"get_forecast","arguments":{"city":"Oslo","days":7}}"#);
        client.call(3, "tools/call", r#"{"name":"get_alerts","arguments":{"region":"NO-46"}}"#);
        client.call(4, "tools/call", r#"{"name":"plan_trip","arguments":{"from":"Bergen","to":"Oslo","days":2}}"#);
        assert_eq!(client.end().code(), 0);
    }
    let output = env.tap(&["diff", "old", "new"]);
    assert_eq!(output.code(), 1);
    let text = output.text();
    // Whether the server's line on stderr comes before or after its answer is not the server's to say.
    let body = text.split_once("\n\n").expect("the two sides stand above").1;
    let body = body.replace(" 11 has it", " 12 has it");
    snapbox::assert_data_eq!(body, snapbox::file!["../snapshots/diff/builds.txt"].raw());
    for columns in ["80", "140"] {
        let env_of_width = env.command(&["diff", "old", "new"]);
        let mut command = env_of_width;
        let wide = command.env("COLUMNS", columns).output().expect("the program runs").stdout;
        let widest = String::from_utf8_lossy(&wide).lines().map(|line| line.chars().count()).max();
        assert!(widest <= columns.parse().ok(), "{columns}: {widest:?}");
    }
}

#[test]
fn real_versions_of_git() {
    let env = TestEnv::new();
    let (a, b) = (capture(env.path(), "git--2025.7.1"), capture(env.path(), "git--2026.10.19"));
    let (code, diff) = compared(&env, &[&a.to_string_lossy(), &b.to_string_lossy()]);
    assert_eq!(code, 1);
    let found = hard(&diff);
    let with =
        |start: &str, end: &str| found.iter().filter(|line| line.starts_with(start) && line.ends_with(end)).count();
    assert_eq!(with("breaking removed git_init", ""), 1);
    assert_eq!(with("compatible added git_log/", "_timestamp"), 2);
    assert_eq!(with("undecided added git_add/inputSchema/properties/files/minItems", ""), 1);
    assert_eq!((with("cosmetic added", "/annotations"), with("wording changed", "/inputSchema/title")), (12, 12));
    assert_eq!(with("wording text git_show/description", ""), 1);
    assert_eq!(with("content text", "/content/0/text"), 4);
    let capabilities = ["breaking removed /experimental", "undecided added /prompts", "undecided added /resources"];
    assert!(capabilities.iter().all(|line| found.contains(&(*line).to_owned())), "{found:#?}");
    assert_eq!(found.len(), 1 + 2 + 1 + 12 + 12 + 1 + 4 + 3, "{found:#?}");
    assert_eq!((&diff["same"], &diff["changed"]), (&json!(5), &json!(5)));
}

#[test]
fn real_versions_of_time() {
    let env = TestEnv::new();
    let (a, b) = (capture(env.path(), "time--2025.8.4"), capture(env.path(), "time--2026.10.19"));
    let (code, diff) = compared(&env, &[&a.to_string_lossy(), &b.to_string_lossy()]);
    let results: Vec<String> =
        hard(&diff).into_iter().filter(|line| line.starts_with("content") || line.starts_with("outcome")).collect();
    let expected = [
        "content added convert_time/content/0/text:/source/day_of_week",
        "content added convert_time/content/0/text:/target/day_of_week",
        "content added convert_time/structuredContent",
        "content added get_current_time/content/0/text:/day_of_week",
        "content added get_current_time/structuredContent",
        "content text convert_time/content/0/text",
        "content text get_current_time/content/0/text",
        "outcome outcome no_such_tool",
    ];
    assert_eq!((code, results), (1, expected.map(str::to_owned).to_vec()));
    assert_eq!(diff["masks"], json!({"timestamp": 1}));
}

/// Returns how many lines begin and end so.
fn count(found: &[String], start: &str, end: &str) -> usize {
    found.iter().filter(|line| line.starts_with(start) && line.ends_with(end)).count()
}

#[test]
fn real_versions_of_filesystem() {
    let env = TestEnv::new();
    let (a, b) = (capture(env.path(), "filesystem--2025.8.21"), capture(env.path(), "filesystem--2026.8.31"));
    let (code, diff) = compared(&env, &[&a.to_string_lossy(), &b.to_string_lossy()]);
    let found = hard(&diff);
    assert_eq!(code, 1);
    // 14 tools in both: each gains these four.
    assert_eq!(count(&found, "wording added", "/title"), 14);
    assert_eq!(count(&found, "cosmetic added", "/annotations"), 14);
    assert_eq!(count(&found, "undecided added", "/execution"), 14);
    assert_eq!(count(&found, "undecided added", "/outputSchema"), 14);
    let described = ["read_media_file", "search_files"].map(|tool| format!("wording text {tool}/description"));
    assert!(described.iter().all(|line| found.contains(line)), "{found:#?}");
    assert_eq!(count(&found, "wording text", "/description"), 2);
    assert!(found.contains(&"undecided added /tools/listChanged".to_owned()), "{found:#?}");
    assert_eq!(count(&found, "", "directory_tree/inputSchema/properties/excludePatterns"), 1);
    assert_eq!(count(&found, "breaking", ""), 0, "{found:#?}");
}

#[test]
fn real_dependencies_of_filesystem() {
    let env = TestEnv::new();
    let (a, b) = (capture(env.path(), "filesystem--2025.8.21"), capture(env.path(), "filesystem--2025.8.21-drift"));
    let (code, diff) = compared(&env, &[&a.to_string_lossy(), &b.to_string_lossy()]);
    let found = hard(&diff);
    assert_eq!(code, 1);
    // The same server, but its 13 tools with parameters lost their schemas.
    for lost in ["type", "properties", "required", "additionalProperties"] {
        assert_eq!(count(&found, "undecided removed", &format!("/inputSchema/{lost}")), 13, "{lost}");
    }
    // Two results differ, because the capture has the race between calls and the answer to `roots/list`.
    let rest: Vec<&String> = found.iter().filter(|line| !line.starts_with("undecided removed")).collect();
    let expected = [
        "content text directory_tree/content/0/text",
        "content text list_allowed_directories/content/0/text",
        "outcome outcome directory_tree",
    ];
    assert_eq!(rest, expected);
}

#[test]
fn real_versions_of_memory() {
    let env = TestEnv::new();
    let (a, b) = (capture(env.path(), "memory--2025.8.4"), capture(env.path(), "memory--2026.8.31"));
    let (code, diff) = compared(&env, &[&a.to_string_lossy(), &b.to_string_lossy()]);
    let found = hard(&diff);
    assert_eq!(code, 1);
    for (start, end) in
        [("wording added", "/title"), ("cosmetic added", "/annotations"), ("undecided added", "/outputSchema")]
    {
        assert_eq!(count(&found, start, end), 9, "{start} {end}");
    }
    assert!(found.contains(&"undecided added /resources".to_owned()), "{found:#?}");
    // The texts lose a field, results gain structure, and two protocol errors became results.
    assert_eq!(count(&found, "content removed read_graph/content/0/text:/entities/", "/type"), 2);
    assert_eq!(count(&found, "content removed search_nodes/content/0/text:/entities/", "/type"), 1);
    assert_eq!(count(&found, "content added", "/structuredContent"), 6);
    assert_eq!(count(&found, "outcome outcome", ""), 3);
}

#[test]
fn files_need_no_store_and_leave_none_behind() {
    let env = TestEnv::new();
    let a = conversation(env.path(), "a", &calls(&[("{}", r#"{"content":[]}"#)]));
    let a = a.to_string_lossy();
    assert_eq!(env.tap(&["diff", &a, &a]).ok().text(), "no difference: 1 exchange\n");
    assert!(!env.store().exists());
    // A store that cannot be read is nobody's business here.
    let broken = env.path().join("broken.db");
    std::fs::write(&broken, "no store").expect("it can be written");
    let store = broken.to_string_lossy();
    assert_eq!(env.tap(&["--store", &store, "diff", &a, &a]).ok().errors(), "");
    assert_eq!(env.tap(&["--store", &store, "diff", &a, "latest"]).code(), 3);
    assert_eq!(env.tap(&["diff", &a, "./none.jsonl"]).code(), 3);
    assert_eq!(env.tap(&["diff", &a]).code(), 2);
    assert_eq!(env.tap(&["diff", &a, &a, "--float-tolerance", "2"]).code(), 2);
}

#[test]
fn a_changed_argument_is_a_changed_pair() {
    let env = TestEnv::new();
    let result = r#"{"content":[{"type":"text","text":"x"}]}"#;
    let a = conversation(env.path(), "a", &calls(&[(r#"{"n":1}"#, result), (r#"{"n":2}"#, result)]));
    let b = conversation(env.path(), "b", &calls(&[(r#"{"n":2}"#, result), (r#"{"n":3}"#, result)]));
    let (code, diff) = compared(&env, &[&a.to_string_lossy(), &b.to_string_lossy()]);
    assert_eq!(code, 1);
    let changes = diff["changes"].as_array().expect("a list");
    assert_eq!(changes.len(), 1, "{changes:#?}");
    let change = &changes[0];
    assert_eq!(
        (&change["kind"], &change["level"], &change["pointer"]),
        (&json!("changed"), &json!("content"), &json!("/params/arguments/n"))
    );
    assert_eq!((&change["a"], &change["b"]), (&json!(1), &json!(3)));
    assert_eq!(change["exchange"]["a"], json!({"seq": 0, "index": 0}));
    assert_eq!(change["exchange"]["b"], json!({"seq": 2, "index": 0}));
    assert_eq!((&change["exchange"]["method"], &change["exchange"]["name"]), (&json!("tools/call"), &json!("t")));
    let c = conversation(env.path(), "c", &calls(&[(r#"{"n":1}"#, result)]));
    let (code, diff) = compared(&env, &[&a.to_string_lossy(), &c.to_string_lossy()]);
    assert_eq!((code, hard(&diff)), (1, vec!["content removed t".to_owned()]));
}

#[test]
fn missing_and_null_are_told_apart() {
    let env = TestEnv::new();
    let of = |name: &str, value: &str| {
        let result = format!(r#"{{"structuredContent":{{{value}}}}}"#);
        conversation(env.path(), name, &calls(&[("{}", &result)])).to_string_lossy().into_owned()
    };
    let (null, gone, number) = (of("null", r#""x":null"#), of("gone", ""), of("number", r#""x":9007199254740993"#));
    let change = |a: &str, b: &str| compared(&env, &[a, b]).1["changes"][0].clone();
    let change_to_gone = change(&null, &gone);
    assert_eq!(change_to_gone.get("a"), Some(&Value::Null));
    assert_eq!(change_to_gone.get("b"), None);
    assert_eq!(change(&null, &number)["kind"], "type");
    let text = env.tap(&["diff", "--json", &gone, &number]).text();
    assert!(text.contains(r#""b": 9007199254740993"#), "{text}");
}

#[test]
fn hostile_text_cannot_act_on_the_terminal() {
    let env = TestEnv::new();
    let of = |name: &str, text: &str| {
        let value = json!({"content": [{"type": "text", "text": text}], "structuredContent": {text: text}});
        conversation(env.path(), name, &calls(&[("{}", &value.to_string())])).to_string_lossy().into_owned()
    };
    let a = of("a", "one \u{1b}[2J two \u{202e} three");
    let b = of("b", "one \u{1b}]0;x\u{7} two \u{200b} drei\r\n");
    let text = env.tap(&["diff", &a, &b]).text();
    let odd = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{200b}' | '\u{202e}');
    assert!(!text.contains(odd), "{text:?}");
    assert!(text.contains("\\e[2J") && text.contains("RESULTS  0 same, 1 changed"), "{text}");
    let coloured = env.tap(&["diff", "--color", "always", &a, &b]).text();
    assert!(anstream::adapter::strip_str(&coloured).to_string() == text);
}

#[test]
fn deep_values_are_compared() {
    let env = TestEnv::new();
    let of = |name: &str, value: &str| {
        let deep = format!("{}{value}{}", "[".repeat(50_000), "]".repeat(50_000));
        let result = format!(r#"{{"structuredContent":{deep}}}"#);
        conversation(env.path(), name, &calls(&[("{}", &result)])).to_string_lossy().into_owned()
    };
    let (code, diff) = compared(&env, &[&of("a", "1"), &of("b", "2")]);
    let change = &diff["changes"][0];
    assert_eq!((code, &change["a"], &change["b"]), (1, &json!(1), &json!(2)));
    assert_eq!(change["pointer"].as_str().map(str::len), Some("/structuredContent".len() + 100_000));
}

#[test]
fn pages_of_a_list_are_one_list() {
    let env = TestEnv::new();
    for (name, size) in [("whole", "100"), ("pages", "2")] {
        let mut client = env.recorded_sample(&["--name", name], &["--page-size", size]);
        client.initialize("2025-11-25");
        let mut cursor = Value::Null;
        for id in 1.. {
            let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
            client.call(id, "tools/list", &params.to_string());
            let said = String::from_utf8(client.stdout.bytes()).expect("text");
            let answer: Value = serde_json::from_str(said.lines().last().expect("a line")).expect("JSON");
            cursor = answer["result"]["nextCursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!(client.end().code(), 0);
    }
    assert_eq!(env.tap(&["diff", "whole", "pages"]).ok().text(), "no difference: 2 exchanges\n");
}
