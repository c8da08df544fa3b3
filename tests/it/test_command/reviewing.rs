//! `review`: one change at a time.

use super::{NEXT, SAMPLE, content, file, tested, with};
use crate::support::{Output, TestEnv};

fn review(env: &TestEnv, answers: &str) -> Output {
    env.tap_with_input(&["review"], answers.as_bytes())
}

fn last_line(output: &Output) -> String {
    output.text().lines().last().unwrap_or_default().to_owned()
}

#[test]
fn there_may_be_nothing_to_review() {
    let env = with(&["batch"]);
    let nothing = "nothing to review: the last test in this folder left no change open\n";
    assert_eq!(review(&env, "").ok().text(), nothing);
    tested(&env, &[], &SAMPLE).ok();
    assert_eq!(review(&env, "").ok().text(), nothing);
}

#[test]
fn each_change_is_accepted_rejected_masked_or_left() {
    let env = with(&["revision-2025-11-25"]);
    let before = content(&env, "revision-2025-11-25");
    assert_eq!(tested(&env, &[], &NEXT).code(), 1);
    // The greeting, the tools, the forecast. A greeting cannot be masked, and what is no word is asked again.
    let output = review(&env, "m\na\nhm\nskip\nmask\n").ok();
    let text = output.text();
    assert!(text.contains("sessions/revision-2025-11-25.jsonl  1 of 3\n"), "{text}");
    assert!(text.contains("no mask hides what is there"), "{text}");
    assert!(text.contains("a word, or its first letter: accept, reject, mask, skip, quit"), "{text}");
    assert!(text.contains("  masked: get_forecast /structuredContent/days/0/high as random\n"), "{text}");
    assert_eq!(last_line(&output), "1 accepted, 0 rejected, 1 masked, 1 left open");
    let after = content(&env, "revision-2025-11-25");
    let changed: Vec<usize> =
        before.lines().zip(after.lines()).enumerate().filter(|(_, (a, b))| a != b).map(|(at, _)| at + 1).collect();
    assert_eq!(changed, [1, 4]);
    assert!(after.contains(r#"{"tool":"get_forecast","at":"/structuredContent/days/0/high","as":"random"}"#));
    // What was left open is asked again, what was decided is not.
    let output = review(&env, "accept\n").ok();
    assert!(output.text().contains("1 of 1\n") && output.text().contains("undecided   get_radar"), "{}", output.text());
    assert_eq!(last_line(&output), "1 accepted, 0 rejected, 0 masked, 0 left open");
    tested(&env, &[], &NEXT).ok();
    assert!(review(&env, "").ok().text().starts_with("nothing to review"));
}

#[test]
fn what_is_rejected_stays_and_is_not_asked_again() {
    let env = with(&["batch"]);
    let before = content(&env, "batch");
    assert_eq!(tested(&env, &[], &NEXT).code(), 1);
    let output = review(&env, "r\nr\n").ok();
    assert_eq!(last_line(&output), "0 accepted, 2 rejected, 0 masked, 0 left open");
    assert_eq!(content(&env, "batch"), before);
    assert!(review(&env, "").ok().text().starts_with("nothing to review"));
    assert_eq!(tested(&env, &[], &NEXT).code(), 1, "the server still answers differently");
    let output = review(&env, "quit\n").ok();
    assert_eq!(last_line(&output), "0 accepted, 0 rejected, 0 masked, 2 left open");
}

#[test]
fn a_file_that_has_changed_since_is_left_alone() {
    let env = with(&["batch"]);
    assert_eq!(tested(&env, &[], &NEXT).code(), 1);
    let other = content(&env, "batch").replacen("\"named\":true", "\"named\":false", 1);
    std::fs::write(file(&env, "batch"), &other).expect("written");
    let output = review(&env, "a\na\n");
    assert_eq!(output.code(), 3);
    assert!(output.errors().contains("`sessions/batch.jsonl` has changed since the test\nhint: mcp-tap test"));
    assert_eq!(content(&env, "batch"), other);
}
