//! Under a terminal: several servers at once in its foreground, and a person who reviews.

use super::{content, file, with};
use crate::process_life::terminal::Terminal;
use crate::support::TAP;

const SCRIPT: &str = "exec \"$0\" \"$@\"";

#[test]
fn servers_that_run_at_once_do_not_end_each_other() {
    let env = with(&["batch", "revision-2025-11-25"]);
    for at in 0..4 {
        std::fs::write(file(&env, &format!("copy-{at}")), content(&env, "revision-2025-11-25")).expect("written");
    }
    let mut terminal =
        Terminal::start(&env, SCRIPT, &["test", "--jobs", "3", "--", TAP, "sample-server", "--speed", "20"]);
    terminal.shows("6 ok");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn a_person_is_told_what_to_type_and_answers_with_keys() {
    let env = with(&["batch"]);
    let words = ["test", "--", TAP, "sample-server", "--speed", "20", "--build", "1.5.0"];
    let mut terminal = Terminal::start(&env, SCRIPT, &words);
    terminal.shows("next: mcp-tap review                  one change at a time: accept, reject, mask");
    terminal.shows("mcp-tap test --update           accept them all");
    terminal.shows("the first replay that failed");
    assert_eq!(terminal.ends(), 1);
    let mut terminal = Terminal::start(&env, SCRIPT, &["review"]);
    terminal.shows("1 of 2");
    terminal.press("a\n");
    terminal.shows("2 of 2");
    terminal.press("accept\n");
    terminal.shows("2 accepted, 0 rejected, 0 masked, 0 left open");
    assert_eq!(terminal.ends(), 0);
    let mut terminal = Terminal::start(&env, SCRIPT, &words);
    terminal.shows("1 ok");
    assert_eq!(terminal.ends(), 0);
}
