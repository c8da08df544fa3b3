//! Whatever a client asks, and in whatever order: every question of it has one answer, and nothing hangs.

use mcp_tap::mock::rewrite::Made;
use mcp_tap::mock::score::{Score, score};
use mcp_tap::mock::stage::{Settings, Stage, Take};
use mcp_tap::replay::driver::Pace;
use mcp_tap::replay::script::read_both;
use mcp_tap::session::source::SessionSource;
use mcp_tap::session_file::FileSource;
use proptest::prelude::*;

const MS: i64 = 1_000_000;

/// What happened, one thing after the other.
#[derive(Debug, Clone)]
enum Step {
    Asks,
    Answers(prop::sample::Index),
    Questions,
    Noise,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Asks),
        3 => any::<prop::sample::Index>().prop_map(Step::Answers),
        1 => Just(Step::Questions),
        1 => Just(Step::Noise),
    ];
    prop::collection::vec(step, 1..24)
}

/// Makes a recording of the steps; questions are answered at once. Returns it with the numbers of answered requests and
/// its lines, each with whether the client wrote it.
fn recording(steps: &[Step]) -> (Score, Vec<usize>, Vec<(bool, String)>) {
    let session = r#"{"id":"klklklklklklklkl","origin":"record","transport":"stdio","started_at_ns":1796049060000000000,"ended_ns":1,"frames":0,"bytes":0,"messages":0,"calls":0,"bad":0,"tap_version":"0"}"#;
    let mut lines: Vec<(bool, String)> = Vec::new();
    let (mut asked, mut open, mut answered) = (0, Vec::new(), Vec::new());
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Asks => {
                lines.push((true, format!(r#"{{"jsonrpc":"2.0","id":{asked},"method":"m{asked}"}}"#)));
                open.push(asked);
                asked += 1;
            }
            Step::Answers(which) if !open.is_empty() => {
                let id = open.remove(which.index(open.len()));
                lines.push((false, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)));
                answered.push(id);
            }
            Step::Questions if !open.is_empty() => {
                lines.push((false, format!(r#"{{"jsonrpc":"2.0","id":"q{at}","method":"roots/list"}}"#)));
                lines.push((true, format!(r#"{{"jsonrpc":"2.0","id":"q{at}","result":{{}}}}"#)));
            }
            _ => lines.push((false, format!("noise {at}"))),
        }
    }
    let mut file = format!("{{\"mcp_tap_file\":1,\"session\":{session}}}\n");
    for (seq, (to_server, line)) in lines.iter().enumerate() {
        let dir = if *to_server { "to_server" } else { "to_client" };
        let text = serde_json::to_string(&format!("{line}\n")).unwrap();
        file.push_str(&format!(
            "{{\"seq\":{seq},\"at_ns\":{seq},\"fwd_ns\":{seq},\"dir\":\"{dir}\",\"text\":{text}}}\n"
        ));
    }
    let source = FileSource::read(file.into_bytes()).unwrap();
    (score(&read_both(&source).unwrap(), source.session(), "s"), answered, lines)
}

fn take(request: usize, id: &str, now: i64) -> (Take, Vec<u8>) {
    let spot = mcp_tap::mock::matcher::Spot { score: 0, request };
    let made = Made { id: id.as_bytes().to_vec(), token: None };
    (Take { spot, made, fault: None, again: false, at_ns: now, cancelled_ns: None, kept: false }, Vec::new())
}

proptest! {
    #[test]
    fn the_recorded_client_hears_the_recorded_stream(steps in steps()) {
        let (score, _, lines) = recording(&steps);
        let scores = [score];
        let mut stage = Stage::new(&scores, Settings { pace: Pace::Fast, timeout: None });
        let (mut said, mut expected, mut asked) = (String::new(), String::new(), 0);
        let listen = |stage: &mut Stage<'_>, said: &mut String| {
            stage.advance(0).iter().for_each(|emission| said.push_str(std::str::from_utf8(&emission.bytes).unwrap()));
        };
        listen(&mut stage, &mut said);
        for (to_server, line) in &lines {
            if !to_server {
                expected.push_str(line);
                expected.push('\n');
                prop_assert!(said.starts_with(&expected), "{} before {}", said, line);
            } else if line.contains("method") {
                stage.requests(0, vec![take(asked, &asked.to_string(), 0)]);
                asked += 1;
            } else {
                let id = line.split("\"id\":").nth(1).unwrap().split(',').next().unwrap();
                prop_assert!(stage.answer(0, id.as_bytes()));
            }
            listen(&mut stage, &mut said);
        }
        prop_assert_eq!(said, expected);
    }

    #[test]
    fn every_request_has_its_answer_once_in_any_order(
        steps in steps(),
        order in any::<prop::sample::Index>(),
        turns in prop::collection::vec((any::<prop::sample::Index>(), 0_i64..2000), 0..12),
        replies in any::<bool>(),
        leaves in any::<bool>(),
    ) {
        let (score, answered, _) = recording(&steps);
        let scores = [score];
        let count = scores[0].requests.len();
        let mut numbers: Vec<usize> = (0..count).collect();
        if count > 0 {
            numbers.rotate_left(order.index(count));
            for (which, _) in &turns {
                let at = which.index(count);
                numbers.swap(0, at);
            }
        }
        let mut stage = Stage::new(&scores, Settings { pace: Pace::Fast, timeout: None });
        let mut said = String::new();
        let mut now = 0;
        let listen = |stage: &mut Stage<'_>, now: i64, said: &mut String| {
            for emission in stage.advance(now) {
                let text = String::from_utf8(emission.bytes).unwrap();
                if replies && text.contains("roots/list") {
                    let id = text.split("\"id\":").nth(1).unwrap().split(',').next().unwrap();
                    assert!(stage.answer(now, id.as_bytes()));
                }
                said.push_str(&text);
            }
        };
        for (at, number) in numbers.iter().enumerate() {
            stage.requests(now, vec![take(*number, &format!("\"live-{number}\""), now)]);
            now += turns.get(at).map_or(0, |(_, ms)| ms * MS);
            listen(&mut stage, now, &mut said);
        }
        // One that has left can answer no question.
        if leaves && !steps.iter().any(|step| matches!(step, Step::Questions)) {
            stage.end();
        }
        // A minute for each question that nobody answers is more than enough.
        for _ in 0..count + steps.len() + 2 {
            listen(&mut stage, now, &mut said);
            now += 60_000 * MS;
        }
        prop_assert!(stage.is_idle(), "{scores:#?} {said}");
        for number in answered {
            let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"live-{number}\",\"result\":{{}}}}");
            prop_assert_eq!(said.matches(&answer).count(), 1, "{} in {}", answer, said);
        }
    }
}
