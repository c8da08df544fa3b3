use super::*;
use crate::analysis::volatile::Era;
use crate::session::message::Place;

const CALL: &str = "tools/call";

fn eye() -> Eye<'static> {
    Eye { era: Era::of(1_796_049_060_000_000_000, 0), strict: false, ..Eye::default() }
}

fn request(seq: u64, method: &str, name: Option<&str>, params: &str) -> Request {
    Request {
        place: Place { seq, index: 0 },
        method: method.into(),
        name: name.map(str::to_owned),
        id: seq.to_string(),
        params: params.into(),
        token: None,
        keys: keys(method, name, params.as_bytes(), eye(), &Rules::default()),
        cancel: None,
        waited_ns: 0,
    }
}

fn score(typed: &str, requests: Vec<Request>) -> Score {
    Score { typed: typed.into(), requests, ..Score::default() }
}

fn forecast(city: &str) -> String {
    format!(r#"{{"name":"f","arguments":{{"city":"{city}","days":7}}}}"#)
}

/// Asks, and returns the number of the recorded request, or why there is none.
fn ask(matcher: &mut Matcher<'_>, method: &str, name: Option<&str>, params: &str) -> Result<(u64, bool), String> {
    let keys = keys(method, name, params.as_bytes(), eye(), &Rules::default());
    let asked = Asked { method, name, params: params.as_bytes(), keys };
    let found = matcher.take(&asked).map_err(|miss| miss.why)?;
    let place = matcher.scores[found.spot.score].requests[found.spot.request].place;
    Ok((place.seq, found.again))
}

#[test]
fn the_same_is_answered_in_order_and_then_by_the_last() {
    let scores = [score("s", vec![request(1, CALL, Some("f"), &forecast("Oslo")); 1])];
    let mut two = scores[0].requests.clone();
    two.push(request(5, CALL, Some("f"), &forecast("Oslo")));
    let scores = [score("s", two)];
    let mut matcher = Matcher::new(&scores, Matching::Params);
    let same = r#"{"arguments":{"days":7.0,"city":"O\u0073lo"},"_meta":{"progressToken":9},"name":"f"}"#;
    assert_eq!(ask(&mut matcher, CALL, Some("f"), same), Ok((1, false)));
    assert_eq!(ask(&mut matcher, CALL, Some("f"), same), Ok((5, false)));
    assert_eq!(ask(&mut matcher, CALL, Some("f"), same), Ok((5, true)));
    assert!(matcher.unused().is_empty());
}

#[test]
fn volatile_values_fit_by_shape_but_the_same_value_comes_first() {
    let at = |time: &str| format!(r#"{{"name":"log","arguments":{{"at":"{time}"}}}}"#);
    let (one, two) = (at("2026-11-30T14:31:00Z"), at("2026-11-30T14:32:00Z"));
    let scores = [score("s", vec![request(1, CALL, Some("log"), &one), request(2, CALL, Some("log"), &two)])];
    let mut matcher = Matcher::new(&scores, Matching::Params);
    assert_eq!(ask(&mut matcher, CALL, Some("log"), &two), Ok((2, false)));
    assert_eq!(ask(&mut matcher, CALL, Some("log"), &at("2026-12-01T00:00:00Z")), Ok((1, false)));
    let answered = r#"{"name":"t","inputResponses":{"day":{"content":{"day":"2026-12-04"}}}}"#;
    let other = r#"{"name":"t","inputResponses":{"day":{"content":{"day":"tomorrow"}}}}"#;
    let first = r#"{"name":"t"}"#;
    let requests = vec![request(1, CALL, Some("t"), first), request(2, CALL, Some("t"), answered)];
    let scores = [score("s", requests)];
    let mut matcher = Matcher::new(&scores, Matching::Params);
    assert_eq!(ask(&mut matcher, CALL, Some("t"), other), Ok((2, false)));
}

#[test]
fn a_miss_names_the_nearest_and_what_differs() {
    let requests = vec![
        request(1, CALL, Some("f"), &forecast("Oslo")),
        request(2, CALL, Some("g"), r#"{"name":"g"}"#),
        request(3, "tools/list", None, ""),
    ];
    let scores = [score("s", requests)];
    let mut matcher = Matcher::new(&scores, Matching::Params);
    let why = |found: Result<(u64, bool), String>| found.unwrap_err();
    let nearest = |rest: &str| format!("the nearest is 1 tools/call f, {rest}");
    assert_eq!(
        why(ask(&mut matcher, CALL, Some("f"), &forecast("Bergen"))),
        nearest(r#"where /arguments/city is "Oslo", not "Bergen""#)
    );
    let fewer = r#"{"name":"f","arguments":{"city":"Oslo"}}"#;
    assert_eq!(
        why(ask(&mut matcher, CALL, Some("f"), fewer)),
        nearest("where /arguments/days is 7, and here it is missing")
    );
    let more = r#"{"name":"f","arguments":{"city":"Oslo","days":7,"unit":"F"}}"#;
    assert_eq!(
        why(ask(&mut matcher, CALL, Some("f"), more)),
        nearest(r#"which has no /arguments/unit, and here it is "F""#)
    );
    assert_eq!(
        why(ask(&mut matcher, CALL, Some("h"), r#"{"name":"h"}"#)),
        "no tools/call h is recorded, only `f` and `g`"
    );
    assert_eq!(why(ask(&mut matcher, "prompts/list", None, "")), "no prompts/list is recorded");
    assert_eq!(matcher.unused().len(), 3);
}

#[test]
fn a_sequence_is_strict() {
    let requests = vec![
        request(0, "initialize", None, "{}"),
        request(1, "ping", None, ""),
        request(2, "tools/list", None, "{}"),
        request(3, CALL, Some("f"), &forecast("Oslo")),
    ];
    let scores = [score("s", requests)];
    let mut matcher = Matcher::new(&scores, Matching::Sequence);
    assert_eq!(ask(&mut matcher, "initialize", None, r#"{"protocolVersion":"x"}"#), Ok((0, false)));
    let early = ask(&mut matcher, CALL, Some("f"), &forecast("Oslo"));
    assert_eq!(early, Err("the turn is 2 tools/list's".to_owned()));
    assert_eq!(ask(&mut matcher, "tools/list", None, ""), Ok((2, false)));
    assert_eq!(ask(&mut matcher, CALL, Some("f"), &forecast("Oslo")), Ok((3, false)));
    let late = ask(&mut matcher, CALL, Some("f"), &forecast("Oslo"));
    assert_eq!(late, Err("the recording has ended: all 4 requests were asked".to_owned()));
}

#[test]
fn the_greeting_of_the_clients_revision_wins_and_the_pool_is_one() {
    let greeting = |revision: &str| format!(r#"{{"protocolVersion":"{revision}"}}"#);
    let scores = [
        score("old", vec![request(0, "initialize", None, &greeting("2025-06-18"))]),
        score("new", vec![request(0, "initialize", None, &greeting("2025-11-25")), request(4, "tools/list", None, "")]),
    ];
    let mut matcher = Matcher::new(&scores, Matching::Params);
    assert_eq!(ask(&mut matcher, "initialize", None, &greeting("2025-11-25")), Ok((0, false)));
    assert_eq!(matcher.primary(), 1);
    assert_eq!(matcher.unused(), [Spot { score: 1, request: 1 }]);
    assert_eq!(matcher.called(Spot { score: 1, request: 1 }), "4 tools/list of new");
    let mut matcher = Matcher::new(&scores, Matching::Params);
    assert_eq!(ask(&mut matcher, "tools/list", None, "{}"), Ok((4, false)));
    assert_eq!(ask(&mut matcher, "initialize", None, &greeting("2024-11-05")), Ok((0, false)));
    assert_eq!(matcher.primary(), 0);
}
