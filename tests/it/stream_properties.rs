//! What holds for every stream, however it is cut: framer, envelope scan, correlator, assembler.

use mcp_tap::capture::assemble::Assembler;
use mcp_tap::capture::tap::{Item, Lane, Loss};
use mcp_tap::protocol::envelope::{EnvelopeScanner, Shape, scan};
use mcp_tap::protocol::line::{LineFramer, Piece};
use mcp_tap::session::correlate::{Correlator, OpenRequest};
use mcp_tap::session::derive::Derived;
use mcp_tap::session::frame::Direction;
use mcp_tap::session::message::Place;
use mcp_tap::store::rows::Row;
use proptest::prelude::*;

/// Bytes with many line ends and pieces of JSON in them.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}".to_vec()),
        Just(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}".to_vec()),
        Just(b"{\n\"a\":\n1}".to_vec()),
        prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Cuts bytes at arbitrary places.
fn cuts(bytes: &[u8], places: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut at: Vec<usize> = places.iter().map(|place| place.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect()
}

/// JSON, damaged JSON, and text made of JSON's own characters.
fn json_like() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".into()),
        Just("-0.5e+3".into()),
        Just("01".into()),
        Just("1.".into()),
        Just("\"a\\u00e9\\n\"".into()),
        Just("\"\\x\"".into()),
        Just("NaN".into()),
        Just("\"tab\there\"".into()),
        Just("12".into()),
    ];
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((prop_oneof![Just("id"), Just("method"), Just("x")], inner), 0..4).prop_map(
                |members| format!(
                    "{{{}}}",
                    members.iter().map(|(k, v)| format!("\"{k}\" : {v}")).collect::<Vec<_>>().join(",")
                )
            ),
        ]
    });
    prop_oneof![3 => value, 1 => "[\\[\\]{}:,\"0-9a-z \\\\.-]{0,24}"]
}

proptest! {
    #[test]
    fn lines_are_the_stream_under_every_chunking(bytes in stream(), places in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let mut framer = LineFramer::new();
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let mut take = |piece: Piece<'_>| if let Piece::Whole(line) = piece { lines.push(line.to_vec()) };
        for chunk in cuts(&bytes, &places) {
            framer.push(&chunk, &mut take);
        }
        framer.finish(&mut take);
        let expected: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        prop_assert_eq!(lines, expected);
    }

    #[test]
    fn the_scan_accepts_what_an_outside_judge_accepts(text in json_like()) {
        let found = scan(text.as_bytes());
        let accepted = found.not_json_at.is_none() && matches!(found.shape, Shape::Object | Shape::Array | Shape::Scalar);
        prop_assert_eq!(accepted, serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(), "{}", text);
    }

    #[test]
    fn the_scan_is_the_same_under_every_chunking(
        bytes in prop_oneof![json_like().prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..40)],
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut scanner = EnvelopeScanner::new();
        for piece in cuts(&bytes, &places) {
            scanner.push(&piece);
        }
        prop_assert_eq!(scanner.finish(), scan(&bytes));
    }

    #[test]
    fn the_correlator_does_what_a_list_would(steps in prop::collection::vec((0..3_u8, any::<bool>(), 0..4_usize), 0..60)) {
        // Spellings of two ids in two types: 1 = 1.0, and "1" is another.
        const IDS: [&str; 4] = ["1", "1.0", "\"1\"", "2"];
        let same = |a: usize, b: usize| a == b || a + b == 1;
        let mut correlator = Correlator::default();
        // (place, sent by the client, id, given up), in the order of opening.
        let mut open: Vec<(u64, bool, usize, bool)> = Vec::new();
        for (seq, (step, client, id)) in steps.into_iter().enumerate() {
            let sent = if client { Direction::ToServer } else { Direction::ToClient };
            match step {
                0 => {
                    let free = !open.iter().any(|o| o.1 == client && same(o.2, id) && !o.3);
                    let request = OpenRequest {
                        place: Place { seq: seq as u64, index: 0 }, method: "m".into(), name: None, revision: None, token: None, gave_up_ns: None,
                    };
                    prop_assert_eq!(correlator.open(sent, IDS[id], request), free);
                    open.push((seq as u64, client, id, false));
                }
                1 => {
                    // Answered: the first that is not given up, else the first; another type only if there is none.
                    let find = |fits: &dyn Fn(usize) -> bool| {
                        let of = |gave_up: bool| open.iter().position(|o| o.1 != client && fits(o.2) && o.3 == gave_up);
                        of(false).or_else(|| of(true))
                    };
                    let exact = find(&|other| same(other, id));
                    let loose = find(&|other| !same(other, id) && other != 3 && id != 3);
                    let expected = exact.or(loose).map(|at| (open[at].0, exact.is_none()));
                    let found = correlator.answer(sent, IDS[id]).map(|m| (m.request.place.seq, m.type_changed));
                    prop_assert_eq!(found, expected);
                    if let Some(at) = exact.or(loose) {
                        open.remove(at);
                    }
                }
                _ => {
                    let at = open.iter().position(|o| o.1 == client && same(o.2, id) && !o.3);
                    let found = correlator.give_up(sent, IDS[id], 7).map(|request| request.place.seq);
                    prop_assert_eq!(found, at.map(|at| open[at].0));
                    if let Some(at) = at {
                        open[at].3 = true;
                    }
                }
            }
        }
    }

    #[test]
    fn frames_of_each_stream_are_that_stream_in_one_order(
        streams in prop::array::uniform3(stream()),
        places in prop::array::uniform3(prop::collection::vec(any::<prop::sample::Index>(), 0..6)),
        order in prop::collection::vec(0..3_usize, 0..40),
    ) {
        let lanes = [Lane::Stdin, Lane::Stdout, Lane::Stderr];
        let mut waiting: Vec<std::collections::VecDeque<Vec<u8>>> =
            streams.iter().zip(&places).map(|(bytes, places)| cuts(bytes, places).into()).collect();
        let mut assembler = Assembler::new();
        let rest: Vec<usize> = (0..3).flat_map(|lane| std::iter::repeat_n(lane, waiting[lane].len())).collect();
        let mut now = 0;
        for lane in order.into_iter().chain(rest) {
            let Some(bytes) = waiting[lane].pop_front() else { continue };
            now += 10;
            assembler.item(&Item::Chunk { lane: lanes[lane], received_ns: now, forwarded_ns: now + 1, lost_before: Loss::default(), bytes: bytes.as_slice().into() }, "");
        }
        lanes.into_iter().for_each(|lane| assembler.end(lane));
        let mut seen = [Vec::new(), Vec::new(), Vec::new()];
        let mut next = 0;
        let mut asked = std::collections::HashSet::new();
        for row in assembler.take_rows() {
            match row {
                Row::Frame { info, lane, bytes, .. } => {
                    prop_assert_eq!(info.seq, next);
                    next += 1;
                    prop_assert!(info.forwarded_ns >= info.received_ns && info.started_ns.is_none_or(|s| s < info.received_ns));
                    seen[usize::from(lane)].extend(bytes);
                }
                Row::Derived(Derived::Message(message)) => {
                    prop_assert_eq!(message.place.seq, next - 1);
                    if let Some(request) = message.answers {
                        prop_assert!(asked.contains(&request), "an answer before its question");
                    }
                    asked.insert(message.place);
                }
                _ => {}
            }
        }
        prop_assert_eq!(seen.to_vec(), streams.to_vec());
    }
}
