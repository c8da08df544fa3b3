//! `--update`: the files take what the server answers now, and nothing else in them changes.

use super::{NEXT, SAMPLE, call, content, file, recorded, tested, timeless, with};
use crate::support::{TAP, TestEnv};
use serde_json::Value;

/// Returns the numbers of the lines that differ, from 1.
fn changed_lines(before: &str, after: &str) -> Vec<usize> {
    assert_eq!(before.lines().count(), after.lines().count());
    let lines = before.lines().zip(after.lines()).enumerate();
    lines.filter(|(_, (a, b))| a != b).map(|(at, _)| at + 1).collect()
}

fn line(text: &str, number: usize) -> Value {
    serde_json::from_str(text.lines().nth(number - 1).expect("a line")).expect("JSON")
}

#[test]
fn only_the_frames_that_changed_are_others_afterwards() {
    let env = with(&["revision-2025-11-25"]);
    let before = content(&env, "revision-2025-11-25");
    let output = tested(&env, &["--update"], &NEXT);
    assert_eq!(output.code(), 0, "{}{}", output.text(), output.errors());
    assert!(
        output.text().ends_with("updated      sessions/revision-2025-11-25.jsonl  3 frames\n"),
        "{}",
        output.text()
    );
    assert!(output.text().contains("/structuredContent/days/0/high  7.5 → 8.1"), "it is shown: {}", output.text());
    let after = content(&env, "revision-2025-11-25");
    // The first line, the greeting, the list of tools, the forecast.
    assert_eq!(changed_lines(&before, &after), [1, 4, 7, 9]);
    let (old, new) = (line(&before, 1), line(&after, 1));
    assert_eq!(new["session"]["server"]["version"], "1.5.0");
    assert_eq!((&old["session"]["id"], &old["session"]["launch"]), (&new["session"]["id"], &new["session"]["launch"]));
    let (mut old, new) = (line(&before, 9), line(&after, 9));
    // What differs by nature is as it was recorded, and so are the times and the id.
    let days = &mut old["message"]["result"]["structuredContent"]["days"][0];
    days["high"] = 8.1.into();
    days["text"] = "light sleet in the evening".into();
    old["message"]["result"]["content"] = new["message"]["result"]["content"].clone();
    assert_eq!(old, new);
    let output = tested(&env, &[], &NEXT).ok();
    assert!(timeless(&output.text()).starts_with("1 session file against weather 1.5.0, 2025-11-25\n"));
    assert_eq!(tested(&env, &[], &SAMPLE).code(), 1, "and the old build is what fails now");
}

#[test]
fn whatever_was_accepted_is_right_afterwards() {
    const EXTRA: &[&str] = &["--extra-tools"];
    for (name, more, frames) in [
        ("tasks", EXTRA, "1 frame"),
        ("questions", EXTRA, "2 frames"),
        ("errors", EXTRA, "2 frames"),
        ("noise", &["--case", "noise"], "2 frames"),
    ] {
        let env = with(&[name]);
        let sample = [&NEXT, more].concat();
        let output = tested(&env, &["--update"], &sample).ok();
        let said = format!("updated      sessions/{name}.jsonl  {frames}\n");
        assert!(output.text().ends_with(&said), "{}", output.text());
        tested(&env, &[], &sample).ok();
    }
}

#[test]
fn where_the_exchanges_are_others_the_new_recording_is_taken() {
    let env = with(&["weather"]);
    let sample = ["--noise", "--frame-bytes", "300", "--speed", "40", "--build", "1.5.0"];
    let output = tested(&env, &["--update"], &sample);
    assert_eq!(output.code(), 0, "{}{}", output.text(), output.errors());
    let said = "updated      sessions/weather.jsonl  as a whole: the exchanges themselves are others now\n";
    assert!(output.text().ends_with(said), "{}", output.text());
    let header = line(&content(&env, "weather"), 1);
    assert_eq!(header["session"]["id"], "wvtvpuyktrouwtmt");
    assert_eq!(header["session"]["name"], "weather");
    tested(&env, &[], &sample).ok();
}

#[test]
fn what_did_not_run_to_its_end_is_never_written() {
    let env = with(&["revision-2025-11-25"]);
    let before = content(&env, "revision-2025-11-25");
    for case in ["no-response", "crash-mid-call"] {
        let output = tested(&env, &["--update", "--timeout", "2s"], &["--speed", "20", "--case", case]);
        assert_eq!(output.code(), 1, "{case}: {}", output.text());
        assert!(
            output
                .text()
                .contains("not updated  sessions/revision-2025-11-25.jsonl  the replay did not run to its end")
        );
        assert_eq!(content(&env, "revision-2025-11-25"), before, "{case}");
    }
}

#[test]
fn what_is_well_is_not_touched() {
    let env = with(&["batch"]);
    let (before, time) = (content(&env, "batch"), modified(&env));
    tested(&env, &["--update"], &SAMPLE).ok();
    assert_eq!((content(&env, "batch"), modified(&env)), (before, time));
}

fn modified(env: &TestEnv) -> std::time::SystemTime {
    std::fs::metadata(file(env, "batch")).and_then(|data| data.modified()).expect("a time")
}

#[test]
fn a_handle_that_the_client_sends_back_stays_the_recorded_one() {
    let env = with(&[]);
    recorded(&env, "basket", &["--extra-tools"], |client| {
        client.initialize("2025-11-25");
        call(client, 1, "basket_new", "{}");
        let said = String::from_utf8(client.stdout.bytes()).expect("text");
        let handle = said.split("bsk_").nth(1).expect("a handle");
        let handle: String = handle.chars().take_while(char::is_ascii_alphanumeric).collect();
        call(client, 2, "basket_add", &format!(r#"{{"basket":"bsk_{handle}","item":"apple"}}"#));
        call(client, 3, "echo", r#"{"text":"hello there"}"#);
    });
    env.tap(&["export", "basket", "-o", "sessions/basket.jsonl"]).ok();
    // As if the server had said another word beside the handle.
    let text = content(&env, "basket");
    let other = text.replacen(
        "\"content\":[{\"type\":\"text\",\"text\":\"",
        "\"content\":[{\"type\":\"text\",\"text\":\"new ",
        1,
    );
    assert_ne!(text, other);
    std::fs::write(file(&env, "basket"), other).expect("written");
    let sample = ["--extra-tools"];
    assert_eq!(tested(&env, &[], &sample).code(), 1);
    let output = tested(&env, &["--update"], &sample).ok();
    assert!(output.text().ends_with("updated      sessions/basket.jsonl  1 frame\n"), "{}", output.text());
    let lines = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines(&content(&env, "basket")), lines(&text), "the handle is the recorded one");
    tested(&env, &[], &sample).ok();
}

#[test]
fn calls_that_were_not_sent_are_not_lost() {
    let env = with(&["weather"]);
    let before = content(&env, "weather");
    let sample = ["--noise", "--frame-bytes", "300", "--speed", "40", "--build", "1.5.0"];
    let output = tested(&env, &["--update", "--skip", "get_alerts"], &sample);
    assert_eq!(output.code(), 1, "{}", output.text());
    assert!(output.text().contains("calls that were not sent would be lost"), "{}", output.text());
    assert_eq!(content(&env, "weather"), before);
    assert!(TAP.ends_with("mcp-tap"));
}
