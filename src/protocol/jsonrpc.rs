//! From an envelope to a kind of message, by the rules of JSON-RPC 2.0 as MCP narrows them.
//!
//! Judging never fails: what breaks a rule is [`Kind::Invalid`] or gets a [`Flaw`], and its members are kept.

use super::envelope::Envelope;
use super::interest::Slot;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It wants an answer.
    Request,
    /// It wants none.
    Notification,
    /// An answer with a result.
    Result,
    /// An answer with an error.
    Error,
    /// A line of white space.
    Blank,
    /// Text that is no JSON: log lines, banners, and what came on stderr.
    Stray,
    /// JSON that is no message, or a message that breaks a rule so that nobody can take it for one.
    Invalid,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::Request, Self::Notification, Self::Result, Self::Error, Self::Blank, Self::Stray, Self::Invalid];

    /// Returns the name used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Notification => "notification",
            Self::Result => "result",
            Self::Error => "error",
            Self::Blank => "blank",
            Self::Stray => "stray",
            Self::Invalid => "invalid",
        }
    }

    /// Returns true for an answer.
    #[must_use]
    pub fn is_answer(self) -> bool {
        matches!(self, Self::Result | Self::Error)
    }
}

/// A rule that a message breaks, or an oddity worth seeing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Not JSON from this offset on.
    NotJson(u64),
    /// Not UTF-8 at this offset.
    NotUtf8(u64),
    /// A byte order mark stands before it.
    ByteOrderMark,
    /// JSON, but neither an object nor an array of objects.
    NotAnObject,
    /// An array without members.
    EmptyBatch,
    /// `jsonrpc` is missing or is not "2.0".
    Version,
    /// A member that decides the kind stands twice.
    DuplicateMember,
    /// The id of a request is null.
    NullId,
    /// The id is neither a string nor a number.
    IdType,
    /// The id is a number with a fraction.
    FractionalId,
    /// An answer without an id.
    NoId,
    /// `method` is not a string.
    MethodType,
    /// `method` stands beside `result` or `error`.
    MethodAndAnswer,
    /// `result` stands beside `error`.
    ResultAndError,
    /// Neither `method` nor `result` nor `error`.
    NoMethod,
    /// An error without an integer code and a text.
    ErrorShape,
    /// The line has no terminator: the stream ended.
    NoNewline,
    /// The stream ended inside the message.
    Truncated,
    /// A line of a message that was split over lines.
    Fragment,
    /// The message was split over lines.
    SplitOverLines,
    /// The nesting is too deep to be followed.
    TooDeep,
    /// An answer to an id that was not asked, or was answered before.
    UnknownAnswer,
    /// An answer whose id has another type than the question's.
    IdTypeChanged,
    /// A request whose id is still in use.
    IdInUse,
    /// An event that came before: a stream that was cut was taken up again.
    Redelivered,
}

impl Flaw {
    /// Returns the name used in reports, without the offset.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotJson(_) => "not-json",
            Self::NotUtf8(_) => "not-utf8",
            Self::ByteOrderMark => "byte-order-mark",
            Self::NotAnObject => "not-an-object",
            Self::EmptyBatch => "empty-batch",
            Self::Version => "jsonrpc-version",
            Self::DuplicateMember => "duplicate-member",
            Self::NullId => "null-id",
            Self::IdType => "id-type",
            Self::FractionalId => "fractional-id",
            Self::NoId => "no-id",
            Self::MethodType => "method-type",
            Self::MethodAndAnswer => "method-and-answer",
            Self::ResultAndError => "result-and-error",
            Self::NoMethod => "no-method",
            Self::ErrorShape => "error-shape",
            Self::NoNewline => "no-newline",
            Self::Truncated => "truncated",
            Self::Fragment => "fragment",
            Self::SplitOverLines => "split-over-lines",
            Self::TooDeep => "too-deep",
            Self::UnknownAnswer => "unknown-answer",
            Self::IdTypeChanged => "id-type-changed",
            Self::IdInUse => "id-in-use",
            Self::Redelivered => "redelivered",
        }
    }
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotJson(at) | Self::NotUtf8(at) => write!(f, "{}@{at}", self.name()),
            _ => f.write_str(self.name()),
        }
    }
}

/// Returns the kind of a message and adds the rules it breaks.
#[must_use]
pub fn judge(envelope: &Envelope, flaws: &mut Vec<Flaw>) -> Kind {
    if envelope.not_an_object {
        flaws.push(Flaw::NotAnObject);
        return Kind::Invalid;
    }
    if envelope.duplicate_member {
        flaws.push(Flaw::DuplicateMember);
    }
    let before = flaws.len();
    let kind = shape_of(envelope, flaws);
    if envelope.text(Slot::Jsonrpc) != Some("\"2.0\"") {
        flaws.push(Flaw::Version);
        return Kind::Invalid;
    }
    if flaws.get(before..).is_some_and(|new| new.iter().any(|flaw| is_fatal(*flaw))) { Kind::Invalid } else { kind }
}

fn is_fatal(flaw: Flaw) -> bool {
    !matches!(flaw, Flaw::FractionalId | Flaw::ErrorShape | Flaw::DuplicateMember)
}

fn shape_of(envelope: &Envelope, flaws: &mut Vec<Flaw>) -> Kind {
    let id = envelope.text(Slot::Id);
    if let Some(method) = envelope.text(Slot::Method) {
        if envelope.has_result || envelope.has_error {
            flaws.push(Flaw::MethodAndAnswer);
        }
        if !method.starts_with('"') {
            flaws.push(Flaw::MethodType);
        }
        let Some(id) = id else { return Kind::Notification };
        judge_id(id, Flaw::NullId, flaws);
        return Kind::Request;
    }
    if envelope.has_result && envelope.has_error {
        flaws.push(Flaw::ResultAndError);
        return Kind::Invalid;
    }
    if envelope.has_error {
        let code = envelope.text(Slot::ErrorCode).is_some_and(|code| code.parse::<i64>().is_ok());
        if !code || envelope.string(Slot::ErrorMessage).is_none() {
            flaws.push(Flaw::ErrorShape);
        }
        // An error with a null id, or without one, answers something that could not be read.
        if let Some(id) = id.filter(|id| *id != "null") {
            judge_id(id, Flaw::NullId, flaws);
        }
        return Kind::Error;
    }
    if envelope.has_result {
        match id {
            None => flaws.push(Flaw::NoId),
            Some(id) => judge_id(id, Flaw::NullId, flaws),
        }
        return Kind::Result;
    }
    flaws.push(Flaw::NoMethod);
    Kind::Invalid
}

fn judge_id(id: &str, null: Flaw, flaws: &mut Vec<Flaw>) {
    match id.as_bytes().first() {
        Some(b'"') => {}
        Some(b'-' | b'0'..=b'9') => {
            if !super::number::Decimal::parse(id).is_some_and(|value| value.is_integer()) {
                flaws.push(Flaw::FractionalId);
            }
        }
        Some(b'n') => flaws.push(null),
        _ => flaws.push(Flaw::IdType),
    }
}

#[cfg(test)]
mod tests {
    use super::super::envelope::scan;
    use super::*;

    fn judged(text: &str) -> (Kind, Vec<&'static str>) {
        let mut flaws = Vec::new();
        let kind = judge(&scan(text.as_bytes()).envelopes[0], &mut flaws);
        (kind, flaws.into_iter().map(Flaw::name).collect())
    }

    #[test]
    fn kinds_and_broken_rules() {
        let cases: [(&str, Kind, &[&str]); 21] = [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Kind::Request, &[]),
            (r#"{"jsonrpc":"2.0","id":"","method":"ping"}"#, Kind::Request, &[]),
            (r#"{"jsonrpc":"2.0","id":-0,"method":"ping"}"#, Kind::Request, &[]),
            (r#"{"jsonrpc":"2.0","id":1e2,"method":"ping"}"#, Kind::Request, &[]),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Kind::Request, &["fractional-id"]),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Kind::Invalid, &["null-id"]),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, Kind::Invalid, &["id-type"]),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, Kind::Notification, &[]),
            (r#"{"jsonrpc":"2.0","method":7}"#, Kind::Invalid, &["method-type"]),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Kind::Result, &[]),
            (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, Kind::Result, &[]),
            (r#"{"jsonrpc":"2.0","result":{}}"#, Kind::Invalid, &["no-id"]),
            (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}"#, Kind::Error, &[]),
            (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#, Kind::Error, &[]),
            (r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#, Kind::Error, &[]),
            (r#"{"jsonrpc":"2.0","id":1,"error":"bad"}"#, Kind::Error, &["error-shape"]),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#,
                Kind::Invalid,
                &["result-and-error"],
            ),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#, Kind::Invalid, &["method-and-answer"]),
            (r#"{"jsonrpc":"1.0","id":1,"result":{}}"#, Kind::Invalid, &["jsonrpc-version"]),
            (r#"{"type":"heartbeat"}"#, Kind::Invalid, &["no-method", "jsonrpc-version"]),
            (r#"{"jsonrpc":"2.0","id":1}"#, Kind::Invalid, &["no-method"]),
        ];
        for (text, kind, flaws) in cases {
            assert_eq!(judged(text), (kind, flaws.to_vec()), "{text}");
        }
    }
}
