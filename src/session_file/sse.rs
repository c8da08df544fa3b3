//! Events whose bytes follow from their message and a few fields: most servers write them in one of these spellings.

use crate::protocol::sse::Event;
use serde::{Deserialize, Serialize};

/// How an event is spelled: `event`, then `id`, then the data on one line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sse {
    /// Its type, if it says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Its id, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// True if its lines end with CR LF.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub crlf: bool,
}

impl Sse {
    /// Returns the spelling of an event with its message, if this spelling gives back its exact bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let event = Event::parse(bytes);
        let std::borrow::Cow::Borrowed(message) = event.data? else { return None };
        let text = |field: Option<&[u8]>| field.map(|field| std::str::from_utf8(field).map(str::to_owned)).transpose();
        let spelling =
            Self { event: text(event.event).ok()?, id: text(event.id).ok()?, crlf: bytes.ends_with(b"\r\n") };
        (spelling.spell(message) == bytes).then_some((spelling, message))
    }

    /// Returns the bytes of an event with this message.
    #[must_use]
    pub fn spell(&self, message: &[u8]) -> Vec<u8> {
        let end: &[u8] = if self.crlf { b"\r\n" } else { b"\n" };
        let mut bytes = Vec::with_capacity(message.len() + 64);
        let mut field = |name: &[u8], value: &[u8]| {
            bytes.extend_from_slice(name);
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(end);
        };
        if let Some(event) = &self.event {
            field(b"event", event.as_bytes());
        }
        if let Some(id) = &self.id {
            field(b"id", id.as_bytes());
        }
        field(b"data", message);
        bytes.extend_from_slice(end);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_spellings_are_told_and_others_are_not() {
        let cases: [(&[u8], bool); 7] = [
            (b"event: message\nid: 7\ndata: {}\n\n", true),
            (b"event: message\r\ndata: {}\r\n\r\n", true),
            (b"data: {}\n\n", true),
            (b"data:{}\n\n", false),
            (b"id: 7\nevent: message\ndata: {}\n\n", false),
            (b"data: {\ndata: }\n\n", false),
            (b": ping\n\n", false),
        ];
        for (bytes, told) in cases {
            let found = Sse::of(bytes);
            assert_eq!(found.is_some(), told, "{:?}", String::from_utf8_lossy(bytes));
            if let Some((spelling, message)) = found {
                assert_eq!((spelling.spell(message), message), (bytes.to_vec(), &b"{}"[..]));
            }
        }
    }
}
