//! Which recorded answer belongs to a question of the server: by method and content, then by order.

use crate::protocol::json::Tree;
use crate::session::message::Place;

/// A question of the server in the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Where it stands.
    pub place: Place,
    /// Its method.
    pub method: String,
    /// Its parameters, as JSON text.
    pub params: Vec<u8>,
    /// The text of its answer, if the client gave one.
    pub answer: Option<Vec<u8>>,
    /// The call during which it was asked.
    pub concerns: Option<Place>,
}

/// Returns the recorded question that a live one stands for; `is_taken` says which were asked already.
///
/// A question that comes once more than in the recording gets the same answer again, if it asks the same.
#[must_use]
pub fn find(questions: &[Question], method: &str, params: &[u8], is_taken: impl Fn(usize) -> bool) -> Option<usize> {
    let of_method = || questions.iter().enumerate().filter(|(_, question)| question.method == method);
    let same = |question: &Question| same_json(&question.params, params);
    let free = of_method().find(|(at, question)| !is_taken(*at) && same(question));
    let next = || of_method().find(|(at, _)| !is_taken(*at));
    let again = || of_method().find(|(_, question)| question.answer.is_some() && same(question));
    free.or_else(next).or_else(again).map(|(at, _)| at)
}

fn same_json(a: &[u8], b: &[u8]) -> bool {
    let empty = |text: &[u8]| text.is_empty() || text == b"{}";
    if a == b || empty(a) && empty(b) {
        return true;
    }
    match (Tree::parse(a), Tree::parse(b)) {
        (Ok(a), Ok(b)) => a.root().same_spelling(b.root()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(method: &str, params: &str) -> Question {
        Question {
            place: Place { seq: 0, index: 0 },
            method: method.into(),
            params: params.into(),
            answer: Some(Vec::new()),
            concerns: None,
        }
    }

    #[test]
    fn content_comes_before_order_and_order_before_nothing() {
        let all = [question("e", r#"{"m":1}"#), question("e", r#"{"m":2}"#), question("roots/list", "")];
        let none = |_| false;
        assert_eq!(find(&all, "e", br#"{ "m": 2 }"#, none), Some(1));
        assert_eq!(find(&all, "e", br#"{"m":3}"#, none), Some(0));
        assert_eq!(find(&all, "e", br#"{"m":3}"#, |at| at == 0), Some(1));
        assert_eq!(find(&all, "e", br#"{"m":3}"#, |_| true), None);
        assert_eq!(find(&all, "roots/list", b"{}", |_| true), Some(2));
        assert_eq!(find(&all, "sampling/createMessage", b"{}", none), None);
    }
}
