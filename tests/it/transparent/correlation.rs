//! Who answers whom, as the recording sees it.

use super::recording::{flaws, place, recorded};
use serde_json::{Value, json};

#[test]
fn an_id_that_changed_its_type_is_said() {
    let it = recorded("string-ids");
    for id in ["0", "1", "2"] {
        let answer = it.answered(id, "ok");
        assert_eq!((&answer["id"], flaws(answer)), (&json!(id), vec!["id-type-changed"]));
    }
    let it = recorded("int-ids");
    for (id, back) in [(r#""0""#, 0), (r#""1""#, 1)] {
        let answer = it.answered(id, "ok");
        assert_eq!((&answer["id"], flaws(answer)), (&json!(back), vec!["id-type-changed"]));
    }
    assert_eq!(flaws(it.answered(r#""x""#, "ok")), Vec::<&str>::new());
}

#[test]
fn one_and_one_point_zero_are_the_same_number() {
    let it = recorded("float-id");
    assert_eq!(flaws(it.answered("1", "ok")), Vec::<&str>::new());
    let lines = it.env.tap(&["inspect", "--jsonl"]).ok().text();
    // As it was spelled.
    assert_eq!(lines.lines().filter(|line| line.contains(r#""id":1.0,"#)).count(), 1, "{lines}");
    assert_eq!(lines.lines().count(), it.messages.len());
}

#[test]
fn ids_of_every_spelling_find_their_answers() {
    let it = recorded("ok-ids");
    let lines = it.env.tap(&["inspect", "--jsonl"]).ok().text();
    for id in ["-0", r#""""#, r#""0""#, "1.0", "1e2", "1180591620717411303424", r#""😀 \" \\ \u0000""#, "7"] {
        let id = format!(r#""id":{id},"#);
        let found: Vec<Value> = lines
            .lines()
            .filter(|line| line.contains(&id) && line.contains(r#""method":"ping""#))
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(found.len(), 2, "{id}: {lines}");
        assert_eq!((&found[0]["kind"], &found[0]["outcome"]), (&json!("request"), &json!("ok")), "{id}");
        assert_eq!((&found[1]["kind"], &found[1]["answers"]), (&json!("result"), &place(&found[0])), "{id}");
    }
    // A request with the id null is neither a notification nor a call that waits.
    let null = it.to("to_server").into_iter().find(|m| m["kind"] == "invalid").expect("the null id");
    assert_eq!((flaws(null), &null["outcome"]), (vec!["null-id"], &Value::Null));
}

#[test]
fn errors_without_an_id_answer_nobody() {
    let it = recorded("null-id");
    let errors = it.heard("error");
    assert_eq!(errors.len(), 4);
    for (error, code) in errors.iter().zip([-32700, -32600, -32700, -32600]) {
        let expected = (&json!(code), &Value::Null, &Value::Null, Vec::<&str>::new());
        assert_eq!((&error["error_code"], &error["id"], &error["answers"], flaws(error)), expected);
    }
    it.answered("1", "ok");
    it.answered("2", "ok");
}

#[test]
fn what_was_not_asked_is_said() {
    let it = recorded("answer-twice");
    let answers: Vec<_> = it.heard("result").into_iter().filter(|m| m["id"] == 1).collect();
    assert_eq!(answers.len(), 2);
    assert_eq!(place(it.answered("1", "ok")), place(answers[0]));
    assert_eq!((flaws(answers[1]), &answers[1]["answers"]), (vec!["unknown-answer"], &Value::Null));
    let it = recorded("stray-answer");
    let stray: Vec<_> = it.heard("result").into_iter().filter(|m| m["id"] == 4711).collect();
    assert_eq!(stray.len(), 2);
    assert_eq!((flaws(stray[0]), &stray[0]["answers"]), (vec!["unknown-answer"], &Value::Null));
    assert_eq!(flaws(it.answered("1", "ok")), Vec::<&str>::new());
}

#[test]
fn answers_out_of_order_find_their_questions() {
    let it = recorded("outoforder");
    let mut order = ["10", "11", "12"].map(|id| (it.answered(id, "ok")["seq"].as_u64().expect("a number"), id));
    order.sort_unstable();
    assert_eq!(order.map(|(_, id)| id), ["12", "11", "10"]);
    let it = recorded("ok-pipelined");
    for id in ["10", "11", r#""12""#, "13", "14"] {
        assert_eq!(flaws(it.answered(id, "ok")), Vec::<&str>::new());
    }
}

#[test]
fn members_of_a_batch_are_messages_of_one_frame() {
    let it = recorded("batch");
    let ping = it.request("1");
    let call = it.request(r#""2""#);
    let seq = &ping["seq"];
    assert_eq!((&ping["index"], &call["index"], &call["seq"]), (&json!(0), &json!(2), seq));
    let note = it.at(&json!({"seq": seq, "index": 1}));
    assert_eq!((&note["kind"], &note["method"]), (&json!("notification"), &json!("notifications/x")));
    assert_eq!(it.raw(note), br#"{"jsonrpc":"2.0","method":"notifications/x"}"#);

    let (first, second) = (it.answered("1", "ok"), it.answered(r#""2""#, "ok"));
    assert_eq!((&first["index"], &second["index"], &second["seq"]), (&json!(0), &json!(1), &first["seq"]));

    let third = it.answered("3", "ok");
    assert_eq!(third["index"], 1);
    let note = it.at(&json!({"seq": third["seq"], "index": 0}));
    assert_eq!((&note["kind"], &note["method"]), (&json!("notification"), &json!("notifications/message")));
    let empty = it.to("to_server").into_iter().find(|m| m["kind"] == "invalid").expect("the empty batch");
    assert_eq!(flaws(empty), ["empty-batch"]);
    assert_eq!(it.env.session()["revisions"], json!(["2025-03-26"]));
}

#[test]
fn both_sides_have_ids_of_their_own() {
    let it = recorded("server-requests");
    let questions = it.heard("request");
    for (question, (id, method)) in
        questions.iter().zip([(1, "roots/list"), (2, "sampling/createMessage"), (3, "elicitation/create")])
    {
        assert_eq!(
            (&question["id"], &question["method"], &question["outcome"]),
            (&json!(id), &json!(method), &json!("ok"))
        );
        let answer = it.answer(question);
        assert_eq!(
            (&answer["dir"], &answer["kind"], &answer["method"]),
            (&json!("to_server"), &json!("result"), &json!(method))
        );
    }
    assert_eq!(questions.len(), 3);
    for id in ["1", "2", "3"] {
        let answer = it.answered(id, "ok");
        assert_eq!((&answer["dir"], &answer["method"], flaws(answer)), (&json!("to_client"), &json!("ping"), vec![]));
    }
    it.answered("4", "ok");
}

#[test]
fn progress_belongs_to_its_call() {
    let it = recorded("progress");
    let concerns: Vec<Value> = it
        .heard("notification")
        .into_iter()
        .filter(|m| m["method"] == "notifications/progress")
        .map(|m| m["concerns"].clone())
        .collect();
    let (one, two) = (place(it.request("1")), place(it.request("2")));
    assert_eq!(concerns, [&one, &one, &one, &two, &two, &two].map(Value::clone));
    it.answered("3", "ok");
}

#[test]
fn a_call_that_was_given_up_says_so() {
    for (name, late) in [("cancelled-silent", None), ("cancelled", Some("error")), ("late-response", Some("result"))] {
        let it = recorded(name);
        let call = it.request("1");
        assert_eq!(call["outcome"], "gave_up", "{name}");
        let cancelled = it.to("to_server").into_iter().find(|m| m["method"] == "notifications/cancelled").expect("it");
        assert_eq!((&cancelled["concerns"], &cancelled["at_ns"]), (&place(call), &call["gave_up_ns"]), "{name}");
        match late {
            None => assert_eq!(call["answer"], Value::Null),
            Some(kind) => {
                let answer = it.answer(call);
                assert_eq!((&answer["kind"], flaws(answer)), (&json!(kind), vec![]), "{name}");
                assert!(answer["at_ns"].as_i64() > call["gave_up_ns"].as_i64(), "{name}");
            }
        }
        it.answered("2", "ok");
        assert_eq!(it.env.session()["bad"], 1, "{name}");
    }
}

#[test]
fn a_call_that_was_never_answered_has_no_outcome() {
    let it = recorded("no-response");
    it.is_unanswered("1");
    it.answered("2", "ok");
    let it = recorded("silent");
    it.is_unanswered("0");
    assert_eq!(it.to("to_client").len(), 0);
    let it = recorded("drop-on-eof");
    it.is_unanswered("1");
}

#[test]
fn many_notifications_are_many_messages() {
    let it = recorded("notif-flood");
    assert_eq!(it.heard("notification").len(), 6000);
    let seqs: Vec<u64> = it.messages.iter().map(|m| m["seq"].as_u64().expect("a number")).collect();
    assert_eq!(seqs, (0..6007).collect::<Vec<u64>>());
    // The one call that is being worked on.
    let first = it.heard("notification")[0];
    assert_eq!(first["concerns"], place(it.request("1")));
    it.answered("2", "ok");
}

#[test]
fn a_list_that_changed_is_a_notification() {
    let it = recorded("list-changed");
    let methods: Vec<_> = it.heard("notification").into_iter().map(|m| m["method"].clone()).collect();
    // The second call is of the tool that is gone.
    assert_eq!(methods, ["notifications/tools/list_changed"]);
    it.answered("3", "ok");
    assert_eq!(it.answered("4", "rpc_error")["error_code"], -32602);
}

#[test]
fn pages_are_answers_like_any_other() {
    for name in ["pagination", "cursor-loop"] {
        let it = recorded(name);
        for id in ["1", "2", "3"] {
            assert_eq!(flaws(it.answered(id, "ok")), Vec::<&str>::new(), "{name}");
        }
    }
}

#[test]
fn polls_of_a_task_are_calls_like_any_other() {
    let it = recorded("tasks");
    for id in ["1", "2", "3", "4", "5"] {
        assert_eq!(flaws(it.answered(id, "ok")), Vec::<&str>::new());
    }
    assert_eq!(it.request("4")["method"], "tasks/get");
}

#[test]
fn the_newest_revision_is_in_force_per_message() {
    let it = recorded("modern");
    let modern = json!("2026-07-28");
    for id in [r#""d""#, "2", "3"] {
        let answer = it.answered(id, "ok");
        assert_eq!((&it.request(id)["revision"], &answer["revision"]), (&modern, &modern), "{id}");
    }
    let other = it.answered("4", "rpc_error");
    assert_eq!((&other["error_code"], &other["revision"]), (&json!(-32022), &json!("2031-01-01")));
    assert_eq!(it.answered("5", "rpc_error")["error_code"], -32601);

    let listen = it.request("1");
    assert_eq!((&listen["method"], &listen["revision"]), (&json!("subscriptions/listen"), &modern));
    let news: Vec<_> = it.heard("notification");
    assert_eq!(
        news.iter().map(|m| m["method"].as_str().expect("a method")).collect::<Vec<_>>(),
        ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed"]
    );
    for message in news {
        assert_eq!((&message["concerns"], &message["revision"]), (&place(listen), &modern));
    }
    // Ending it is no giving up: that is how a subscription ends, and the server has said its last word.
    assert_eq!((&listen["outcome"], &it.answer(listen)["kind"]), (&json!("ok"), &json!("result")));
    let session = it.env.session();
    assert_eq!((&session["revisions"][0], &session["server"]["name"]), (&modern, &json!("weather")));
}
