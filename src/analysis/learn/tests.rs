use super::*;
use crate::analysis::exchanges::collect;
use crate::session_file::FileSource;

/// Makes a recording of calls of the tool `t`, each with the text or structure it answers.
fn recording(results: &[String]) -> Recording {
    let session = r#"{"id":"kkkkkkkkkkkkkkkk","origin":"record","transport":"stdio","started_at_ns":1796049060000000000,"frames":0,"bytes":0,"messages":0,"calls":0,"bad":0,"tap_version":"0"}"#;
    let mut text = format!(r#"{{"mcp_tap_file":1,"session":{session}}}"#);
    for (at, result) in results.iter().enumerate() {
        let ask = format!(
            r#"{{"jsonrpc":"2.0","id":{at},"method":"tools/call","params":{{"name":"t","arguments":{{"n":{at}}}}}}}"#
        );
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{at},"result":{result}}}"#);
        for (place, (line, dir)) in [(ask, "to_server"), (answer, "to_client")].into_iter().enumerate() {
            let seq = at * 2 + place;
            text.push_str(&format!(
                "\n{{\"seq\":{seq},\"at_ns\":{seq},\"fwd_ns\":{seq},\"dir\":\"{dir}\",\"message\":{line}}}"
            ));
        }
    }
    collect(&FileSource::read(text.into_bytes()).unwrap()).unwrap()
}

fn said(text: &str) -> Recording {
    let text = serde_json::Value::String(text.to_owned());
    recording(&[format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#)])
}

fn structure(json: &str) -> Recording {
    recording(&[format!(r#"{{"content":[],"structuredContent":{json}}}"#)])
}

fn learned(base: &Recording, runs: &[Recording]) -> Learned {
    learn(base, runs, Options::default(), &Rules::default())
}

fn shown(learned: &Learned) -> Vec<(String, String, &'static str)> {
    let row = |rule: &MaskRule| {
        (rule.at.clone().unwrap_or_default(), rule.text.clone().unwrap_or_default(), rule.kind.as_str())
    };
    learned.rules.iter().map(row).collect()
}

fn rows(expected: &[(&str, &str, &'static str)]) -> Vec<(String, String, &'static str)> {
    expected.iter().map(|(at, text, kind)| ((*at).to_owned(), (*text).to_owned(), *kind)).collect()
}

fn equal_under(learned: &Learned, a: &Recording, b: &Recording) -> bool {
    diff_masked(a, b, Options::default(), &Rules::of(&learned.rules).unwrap()).is_equal()
}

#[test]
fn parts_of_texts_between_their_neighbours() {
    const AT: &str = "/content/0/text";
    for (texts, expected, equal, changed) in [
        (
            ["took 12 ms in zone UTC, build 7", "took 15 ms in zone UTC, build 7", "took 9 ms in zone UTC, build 7"],
            vec![(AT, r"^took (\d+) ms\b", "duration")],
            "took 130 ms in zone UTC, build 7",
            ["took 12 ms in zone CET, build 7", "took 12 ms in zone UTC, build 8"],
        ),
        (
            ["call 1 of many", "call 2 of many", "call 3 of many"],
            vec![(AT, r"^call (\d+) of\b", "counter")],
            "call 91 of many",
            ["call 1 of few", "run 1 of many"],
        ),
        (
            ["req a8f2 done (0.51s)", "req 77bc done (0.49s)", "req 9d10 done (1.2s)"],
            vec![(AT, r"^req ([0-9A-Za-z]+) done\b", "token"), (AT, r" \((\d+(?:\.\d+)?)s\)$", "duration")],
            "req 0000 done (2s)",
            ["req a8f2 gone (0.51s)", "req a8f2 done (0.51m)"],
        ),
        (
            [
                "now is 2026-11-30T14:31:00Z, 3 left",
                "now is 2026-11-30T14:31:09Z, 8 left",
                "now is 2026-11-30T14:32:00Z, 5 left",
            ],
            vec![(AT, r", (\d+) left$", "random")],
            "now is 2026-12-01T01:00:00Z, 71 left",
            ["now is 2026-11-30T14:31:00Z, 3 gone", "now was 2026-11-30T14:31:00Z, 3 left"],
        ),
    ] {
        let runs: Vec<Recording> = texts.iter().skip(1).map(|text| said(text)).collect();
        let found = learned(&said(texts[0]), &runs);
        assert_eq!((shown(&found), &found.cannot), (rows(&expected), &vec![]), "{}", texts[0]);
        assert!(equal_under(&found, &said(texts[0]), &said(equal)), "{equal}");
        for other in changed {
            assert!(!equal_under(&found, &said(texts[0]), &said(other)), "{other}");
        }
    }
}

#[test]
fn whole_values_by_their_key() {
    let base = structure(r#"{"took_ms":12,"hits":1,"items":[{"id":"x7","n":1},{"id":"q4","n":2}],"on":true,"k":5}"#);
    let one = structure(r#"{"took_ms":15,"hits":2,"items":[{"id":"p1","n":1},{"id":"m9","n":2}],"on":true,"k":5}"#);
    let two = structure(r#"{"took_ms":11,"hits":5,"items":[{"id":"a3","n":1},{"id":"z2","n":2}],"on":true,"k":5}"#);
    let found = learned(&base, &[one, two]);
    let expected = rows(&[
        ("/structuredContent/hits", "", "counter"),
        ("/structuredContent/items/*/id", "", "token"),
        ("/structuredContent/took_ms", "", "duration"),
    ]);
    assert_eq!((shown(&found), &found.cannot), (expected, &vec![]));
    let more = structure(r#"{"took_ms":1,"hits":9,"items":[{"id":"b","n":1},{"id":"c","n":2}],"on":true,"k":5}"#);
    assert!(equal_under(&found, &base, &more));
    let changed = structure(r#"{"took_ms":1,"hits":9,"items":[{"id":"b","n":1},{"id":"c","n":2}],"on":true,"k":6}"#);
    assert!(!equal_under(&found, &base, &changed));
}

#[test]
fn one_item_that_varies_is_the_only_one_masked() {
    let (base, run) = (structure("[[1,5],[2,6]]"), structure("[[1,5],[2,9]]"));
    assert_eq!(shown(&learned(&base, &[run])), rows(&[("/structuredContent/1/1", "", "counter")]));
}

#[test]
fn json_inside_text_and_order() {
    let (base, run) = (said(r#"{"n":1,"k":[1,2]}"#), said(r#"{"n":4,"k":[2,1]}"#));
    let found = learned(&base, &[run]);
    let expected = rows(&[("/content/0/text/k", "", "order"), ("/content/0/text/n", "", "counter")]);
    assert_eq!((shown(&found), &found.cannot), (expected, &vec![]));
}

#[test]
fn presence_type_and_outcome_cannot_be_masked() {
    let base = structure(r#"{"a":1,"b":1,"c":1}"#);
    let found = learned(&base, &[structure(r#"{"a":2,"b":"1"}"#)]);
    assert_eq!(shown(&found), rows(&[("/structuredContent/a", "", "counter")]));
    let left: Vec<(&str, ChangeKind)> = found.cannot.iter().map(|one| (one.pointer.as_str(), one.kind)).collect();
    assert_eq!(left, [("/structuredContent/b", ChangeKind::Type), ("/structuredContent/c", ChangeKind::Removed)]);
    let failed = recording(&[r#"{"content":[],"structuredContent":{},"isError":true}"#.into()]);
    let found = learned(&structure("{}"), &[failed]);
    assert_eq!(found.cannot.iter().map(|one| one.kind).collect::<Vec<_>>(), [ChangeKind::Outcome]);
    assert_eq!(learned(&base, std::slice::from_ref(&base)), Learned::default());
}
