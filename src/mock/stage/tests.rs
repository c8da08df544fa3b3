use super::*;
use crate::mock::score::score;
use crate::replay::script::read_both;
use crate::session::source::SessionSource;
use crate::session_file::FileSource;

const MS: i64 = 1_000_000;

/// Makes a score of lines: `>` to the server, `<` to the client, `!` on stderr, one every 100 ms.
fn scored(lines: &[&str]) -> Score {
    let session = r#"{"id":"klklklklklklklkl","origin":"record","transport":"stdio","started_at_ns":1796049060000000000,"ended_ns":1,"frames":0,"bytes":0,"messages":0,"calls":0,"bad":0,"tap_version":"0"}"#;
    let mut file = format!("{{\"mcp_tap_file\":1,\"session\":{session}}}\n");
    for (seq, line) in lines.iter().enumerate() {
        let (sign, text) = line.split_at(2);
        let (dir, more) = match sign {
            "> " => ("to_server", ""),
            "! " => ("to_client", r#","ch":"stderr""#),
            _ => ("to_client", ""),
        };
        let at = seq as i64 * 100 * MS;
        let text = serde_json::to_string(&format!("{text}\n")).unwrap();
        file.push_str(&format!(r#"{{"seq":{seq},"at_ns":{at},"fwd_ns":{at},"dir":"{dir}"{more},"text":{text}}}"#));
        file.push('\n');
    }
    let source = FileSource::read(file.into_bytes()).unwrap();
    score(&read_both(&source).unwrap(), source.session(), "s")
}

fn request(id: u32, method: &str) -> String {
    format!(r#"> {{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
}

fn answer(id: u32) -> String {
    format!(r#"< {{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

fn settings(pace: Pace) -> Settings {
    Settings { pace, timeout: None }
}

/// Asks for the recorded request of that number, under an id.
fn ask(stage: &mut Stage<'_>, now: i64, number: usize, id: &str) {
    ask_again(stage, now, number, id, false);
}

fn ask_again(stage: &mut Stage<'_>, now: i64, number: usize, id: &str, again: bool) {
    let spot = Spot { score: 0, request: number };
    let made = Made { id: id.into(), token: None };
    let take = Take { spot, made, fault: None, again, at_ns: now, cancelled_ns: None, kept: false };
    stage.requests(now, vec![(take, Vec::new())]);
}

/// Returns what goes out, without line ends.
fn out(stage: &mut Stage<'_>, now: i64) -> Vec<String> {
    let said = stage.advance(now);
    said.into_iter().map(|emission| String::from_utf8(emission.bytes).unwrap().trim_end().to_owned()).collect()
}

fn result(id: u32) -> String {
    answer(id).split_off(2)
}

#[test]
fn what_stood_between_a_request_and_its_answer_goes_out_there() {
    let call = request(1, "m");
    let lines = ["! ready", "< noise", &call, "! log", "< {", "< ", &answer(1), "! after"];
    let scores = [scored(&lines)];
    let mut stage = Stage::new(&scores, settings(Pace::Fast));
    assert_eq!(out(&mut stage, 0), ["ready", "noise"]);
    assert_eq!(out(&mut stage, 5), Vec::<String>::new());
    ask(&mut stage, 10, 0, "1");
    assert_eq!(out(&mut stage, 10), ["log", "{", "", &result(1), "after"]);
    // Once more: what is the request's own alone.
    ask_again(&mut stage, 20, 0, "2", true);
    assert_eq!(out(&mut stage, 20), [result(2)]);
    assert!(stage.is_idle());
}

#[test]
fn an_answer_that_was_overtaken_waits_a_second_for_the_other_call() {
    let (one, two) = (request(1, "m"), request(2, "n"));
    let scores = [scored(&[&one, &two, &answer(2), &answer(1)])];
    let mut stage = Stage::new(&scores, settings(Pace::Fast));
    ask(&mut stage, 0, 0, "1");
    assert_eq!(out(&mut stage, 0), Vec::<String>::new());
    assert_eq!(stage.wake_ns(), 1000 * MS);
    ask(&mut stage, 5 * MS, 1, "2");
    assert_eq!(out(&mut stage, 5 * MS), [result(2), result(1)]);
    // A client that never asks for the other is answered all the same.
    let mut stage = Stage::new(&scores, settings(Pace::Fast));
    ask(&mut stage, 0, 0, "1");
    assert_eq!(out(&mut stage, 999 * MS), Vec::<String>::new());
    assert_eq!(out(&mut stage, 1000 * MS), [result(1)]);
    // One that has left is not waited for.
    let mut stage = Stage::new(&scores, settings(Pace::Fast));
    ask(&mut stage, 0, 0, "1");
    stage.end();
    assert_eq!(out(&mut stage, 0), [result(1)]);
}

#[test]
fn an_answer_waits_for_the_answer_of_the_client_and_not_for_ever() {
    let call = request(1, "m");
    let question = r#"< {"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let said = r#"> {"jsonrpc":"2.0","id":"q","result":{}}"#;
    let scores = [scored(&[&call, question, said, "! thanks", &answer(1)])];
    let mut stage = Stage::new(&scores, settings(Pace::Fast));
    ask(&mut stage, 0, 0, "1");
    assert_eq!(out(&mut stage, 0), [&question[2..]]);
    assert_eq!(stage.wake_ns(), 30_000 * MS);
    assert!(stage.answer(10 * MS, b"\"q\"") && !stage.answer(10 * MS, b"\"q\""));
    assert_eq!(out(&mut stage, 10 * MS), ["thanks", &result(1)]);
    let mut stage = Stage::new(&scores, settings(Pace::Fast));
    ask(&mut stage, 0, 0, "1");
    assert_eq!(out(&mut stage, 29_999 * MS).len(), 1);
    assert_eq!(out(&mut stage, 59_999 * MS), ["thanks", &result(1)]);
    assert_eq!(stage.notices(), ["1 roots/list: no answer of the client in 30 s, going on without it"]);
}

#[test]
fn the_pace_counts_from_what_the_client_said() {
    let call = request(1, "m");
    let scores = [scored(&["! ready", &call, "! log", &answer(1)])];
    let mut stage = Stage::new(&scores, settings(Pace::Times(2.0)));
    assert_eq!(out(&mut stage, 0), ["ready"]);
    ask(&mut stage, 7000 * MS, 0, "1");
    assert_eq!(out(&mut stage, 7000 * MS), Vec::<String>::new());
    assert_eq!(stage.wake_ns(), 7050 * MS);
    assert_eq!(out(&mut stage, 7050 * MS), ["log"]);
    assert_eq!(out(&mut stage, 7100 * MS), [result(1)]);
}

#[test]
fn a_call_that_is_given_up_is_answered_only_where_it_was_answered_too_late() {
    let call = request(1, "m");
    let cancel = r#"> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let scores = [scored(&[&call, &answer(1)])];
    let mut stage = Stage::new(&scores, settings(Pace::Times(1.0)));
    ask(&mut stage, 0, 0, "1");
    assert!(stage.cancel(10, b"1") && !stage.cancel(11, b"1"));
    assert_eq!(out(&mut stage, 1000 * MS), Vec::<String>::new());
    assert!(stage.is_idle());
    let scores = [scored(&[&call, cancel, &answer(1)])];
    let mut stage = Stage::new(&scores, settings(Pace::Fast));
    ask(&mut stage, 0, 0, "1");
    assert_eq!(out(&mut stage, 1000 * MS), Vec::<String>::new());
    assert!(stage.cancel(1000 * MS, b"1"));
    assert_eq!(out(&mut stage, 1000 * MS), [result(1)]);
    let mut stage = Stage::new(&scores, settings(Pace::Fast));
    ask(&mut stage, 0, 0, "1");
    assert_eq!(out(&mut stage, 30_000 * MS), [result(1)]);
    assert_eq!(stage.notices(), ["0 m: not given up by the client in 30 s, answering it"]);
}

#[test]
fn a_batch_is_one_line_only_for_those_who_asked_in_one() {
    let both = r#"> [{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","id":2,"method":"n"}]"#;
    let answers = r#"< [{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"#;
    let scores = [scored(&[both, answers])];
    let mut stage = Stage::new(&scores, settings(Pace::Fast));
    let take = |request, id: &str| {
        let (spot, made) = (Spot { score: 0, request }, Made { id: id.into(), token: None });
        (Take { spot, made, fault: None, again: false, at_ns: 0, cancelled_ns: None, kept: false }, Vec::new())
    };
    stage.requests(0, vec![take(0, "8"), take(1, "9")]);
    assert_eq!(out(&mut stage, 0), [answers[2..].replace("\"id\":1", "\"id\":8").replace("\"id\":2", "\"id\":9")]);
    let mut stage = Stage::new(&scores, settings(Pace::Fast));
    ask(&mut stage, 0, 1, "9");
    assert_eq!(out(&mut stage, 0), [result(9)]);
    ask(&mut stage, 0, 0, "8");
    assert_eq!(out(&mut stage, 0), [result(8)]);
}

#[test]
fn a_server_that_ended_by_itself_ends_there() {
    let call = request(1, "m");
    let mut score = scored(&[&call, "! Error", &request(2, "n"), &answer(1)]);
    let cause = score.requests.last().map(|request| request.place);
    let exit = Some(ExitStatus::Code(4));
    let channel = Channel::Stdio;
    score.cues.push(Cue { seq: 9, at_ns: 0, channel, bytes: Vec::new(), parts: Vec::new(), cause, exit });
    let scores = [score];
    let mut stage = Stage::new(&scores, settings(Pace::Fast));
    ask(&mut stage, 0, 0, "1");
    assert_eq!(stage.advance(0).len(), 2);
    ask(&mut stage, 0, 1, "2");
    let said = stage.advance(0);
    assert_eq!(said.iter().map(|emission| emission.end).collect::<Vec<_>>(), [exit]);
    assert!(stage.is_idle());
}
