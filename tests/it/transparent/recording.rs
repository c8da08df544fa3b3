//! A case as it was recorded, with questions to ask of it.

use super::{case, compare};
use crate::support::TestEnv;
use serde_json::{Value, json};

/// The recording of one case.
pub(super) struct Recording {
    pub(super) env: TestEnv,
    /// All messages, without stderr.
    pub(super) messages: Vec<Value>,
}

/// Records a case.
pub(super) fn recorded(name: &str) -> Recording {
    recorded_with(name, case(name).args)
}

/// Records a case with other arguments for the server.
pub(super) fn recorded_with(name: &str, args: &[&str]) -> Recording {
    let env = TestEnv::new();
    let _ = compare::run(&env, case(name), args, true);
    let messages = env.messages();
    Recording { env, messages }
}

/// Returns the rules that a message breaks.
pub(super) fn flaws(message: &Value) -> Vec<&str> {
    message["flaws"].as_array().expect("a list").iter().map(|flaw| flaw.as_str().expect("a name")).collect()
}

/// Returns where a message stands, as links to it do.
pub(super) fn place(message: &Value) -> Value {
    json!({"seq": message["seq"], "index": message["index"]})
}

impl Recording {
    /// Returns what was said in one direction.
    pub(super) fn to(&self, direction: &str) -> Vec<&Value> {
        self.messages.iter().filter(|message| message["dir"] == direction).collect()
    }

    /// Returns the messages of a kind that went to the client.
    pub(super) fn heard(&self, kind: &str) -> Vec<&Value> {
        self.to("to_client").into_iter().filter(|message| message["kind"] == kind).collect()
    }

    /// Returns kinds and flaws of what went to the client.
    pub(super) fn heard_kinds(&self) -> Vec<(&str, Vec<&str>)> {
        self.to("to_client").into_iter().map(|m| (m["kind"].as_str().expect("a kind"), flaws(m))).collect()
    }

    /// Returns the client's request with that id, given as JSON.
    pub(super) fn request(&self, id: &str) -> &Value {
        let id: Value = serde_json::from_str(id).expect("an id");
        let found = self.to("to_server").into_iter().find(|m| m["kind"] == "request" && m["id"] == id);
        found.unwrap_or_else(|| panic!("no request {id} in {:#?}", self.messages))
    }

    /// Returns the message at a place.
    pub(super) fn at(&self, at: &Value) -> &Value {
        let found = self.messages.iter().find(|message| place(message) == *at);
        found.unwrap_or_else(|| panic!("nothing at {at} in {:#?}", self.messages))
    }

    /// Returns the answer of a request, which must be linked both ways.
    pub(super) fn answer(&self, request: &Value) -> &Value {
        let answer = self.at(&request["answer"]);
        assert_eq!(answer["answers"], place(request));
        answer
    }

    /// Returns the answer to the client's request with that id, after a look at how it ended.
    pub(super) fn answered(&self, id: &str, outcome: &str) -> &Value {
        let request = self.request(id);
        assert_eq!(request["outcome"], outcome, "{request}");
        self.answer(request)
    }

    /// Fails the test unless the request was never answered.
    pub(super) fn is_unanswered(&self, id: &str) {
        let request = self.request(id);
        assert_eq!((&request["outcome"], &request["answer"]), (&Value::Null, &Value::Null), "{request}");
    }

    /// Returns the exact bytes of a message.
    pub(super) fn raw(&self, message: &Value) -> Vec<u8> {
        let at = format!("{}.{}", message["seq"], message["index"]);
        self.env.tap(&["inspect", &at, "--raw"]).ok().stdout
    }
}
