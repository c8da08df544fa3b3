//! Exchanges: a request with its answer and all that belongs to it.

use super::message::{Message, Place};

/// Returns the place of the request that a message opens, answers or belongs to.
#[must_use]
pub fn request_of(message: &Message) -> Option<Place> {
    use super::message::Kind;
    match message.kind {
        // A question of the server belongs to the call during which it was asked.
        Kind::Request => Some(message.concerns.unwrap_or(message.place)),
        _ => message.answers.or(message.concerns),
    }
}

/// Returns the members of the exchange of the request at `request`, in the order of the session.
///
/// They are the request, what answers or concerns it, and the answers to questions that concern it; stderr lines
/// belong to it when they came while it was open.
#[must_use]
pub fn members(messages: &[Message], request: Place) -> Vec<&Message> {
    let Some(opened) = messages.iter().find(|message| message.place == request) else { return Vec::new() };
    let until = opened
        .answer
        .map(|answer| answer.place)
        .or_else(|| messages.iter().rev().find(|m| m.concerns == Some(request)).map(|m| m.place));
    let questions: Vec<Place> =
        messages.iter().filter(|m| m.concerns == Some(request)).map(|message| message.place).collect();
    messages
        .iter()
        .filter(|message| {
            message.place == request
                || message.answers == Some(request)
                || message.concerns == Some(request)
                || message.answers.is_some_and(|answered| questions.contains(&answered))
                || message.channel == super::frame::Channel::Stderr
                    && message.place > request
                    && until.is_some_and(|until| message.place < until)
        })
        .collect()
}
