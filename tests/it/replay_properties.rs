//! The plan of a replay: whatever the latencies are, what depended on something is sent after it.

use mcp_tap::replay::plan::{Plan, Wait, plan};
use mcp_tap::replay::script;
use mcp_tap::session::message::Place;
use mcp_tap::session_file::FileSource;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

/// A call: how many of the earlier calls it waited for (by place among them), and how long it takes.
#[derive(Debug, Clone)]
struct Call {
    needs: Vec<usize>,
    took: u64,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    prop::collection::vec((prop::collection::vec(0_usize..64, 0..3), 1_u64..1000), 1..40).prop_map(|drawn| {
        let make = |(at, (needs, took)): (usize, (Vec<usize>, u64))| {
            let needs = needs.into_iter().filter(|_| at > 0).map(|need| need % at.max(1)).collect();
            Call { needs, took }
        };
        drawn.into_iter().enumerate().map(make).collect()
    })
}

/// Plays a client that keeps the order of its calls; returns the events in their order: (is an answer, call).
fn events(calls: &[Call], waits: impl Fn(usize) -> Vec<usize>, took: impl Fn(usize) -> u64) -> Vec<(bool, usize)> {
    let mut open: BTreeMap<(u64, usize), usize> = BTreeMap::new();
    let mut found = Vec::new();
    let mut answered = HashSet::new();
    let mut now = 0;
    for at in 0..calls.len() {
        let needed = waits(at);
        while !needed.iter().all(|need| answered.contains(need)) {
            let ((time, _), call) = open.pop_first().expect("what is waited for was sent");
            now = time;
            answered.insert(call);
            found.push((true, call));
        }
        found.push((false, at));
        open.insert((now + took(at), at), at);
    }
    found.extend(open.into_values().map(|call| (true, call)));
    found
}

fn file_of(events: &[(bool, usize)]) -> Vec<u8> {
    let head = r#"{"mcp_tap_file":1,"session":{"id":"klmnopqrstuvwxyz","origin":"record","transport":"stdio","started_at_ns":1,"ended_ns":100000,"frames":0,"bytes":0,"messages":0,"calls":0,"bad":0,"tap_version":"0"}}"#;
    let mut text = format!("{head}\n");
    for (seq, (is_answer, call)) in events.iter().enumerate() {
        let (dir, rest) = if *is_answer {
            ("to_client", r#""result":{"content":[]}"#)
        } else {
            ("to_server", r#""method":"tools/call","params":{"name":"t"}"#)
        };
        let at = seq * 10;
        writeln!(
            text,
            r#"{{"seq":{seq},"at_ns":{at},"fwd_ns":{at},"dir":"{dir}","message":{{"jsonrpc":"2.0","id":{call},{rest}}}}}"#
        )
        .expect("a string takes text");
    }
    text.into_bytes()
}

/// Returns the plan of a recording, and which call stands at a place.
fn planned(events: &[(bool, usize)]) -> (Plan, HashMap<Place, usize>) {
    let source = FileSource::read(file_of(events)).expect("a session file");
    let at = events.iter().enumerate().filter(|(_, (is_answer, _))| !is_answer);
    let places = at.map(|(seq, (_, call))| (Place { seq: seq as u64, index: 0 }, *call)).collect();
    (plan(&script::read(&source).expect("it is read")), places)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn causes_come_first_and_overlap_stays(calls in calls(), other in prop::collection::vec(1_u64..1000, 40)) {
        let recorded = events(&calls, |at| calls[at].needs.clone(), |at| calls[at].took);
        let (plan, call_at) = planned(&recorded);
        prop_assert_eq!(plan.steps.len(), calls.len());
        let waits: Vec<Vec<usize>> = plan.steps.iter().map(|step| {
            step.waits.iter().filter_map(|wait| match wait {
                Wait::Answer(place) => call_at.get(place).copied(),
                _ => None,
            }).collect()
        }).collect();
        // Played with other latencies: in the recorded order, and nothing before its causes.
        let live = events(&calls, |at| waits[at].clone(), |at| other[at]);
        let sent: Vec<usize> = live.iter().filter(|(is_answer, _)| !is_answer).map(|(_, call)| *call).collect();
        prop_assert_eq!(sent, (0..calls.len()).collect::<Vec<_>>());
        let position = |event: (bool, usize)| live.iter().position(|other| *other == event).expect("it happened");
        for (at, call) in calls.iter().enumerate() {
            for need in &call.needs {
                prop_assert!(position((true, *need)) < position((false, at)));
            }
        }
        // Played with the recorded latencies: just the recording.
        let same = events(&calls, |at| waits[at].clone(), |at| calls[at].took);
        prop_assert_eq!(same, recorded);
    }

    #[test]
    fn calls_without_causes_wait_for_nothing(count in 1_usize..30) {
        let calls = vec![Call { needs: Vec::new(), took: 5 }; count];
        let (plan, _) = planned(&events(&calls, |_| Vec::new(), |_| 5));
        prop_assert!(plan.steps.iter().all(|step| step.waits.is_empty()));
        prop_assert_eq!(plan.at_the_end.len(), count);
    }
}
