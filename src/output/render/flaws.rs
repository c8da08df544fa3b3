//! Flaws of messages in words: their names are for machines.

/// Returns what is wrong with a message, as a sentence's part; `flaws` are their names, with commas between.
#[must_use]
pub fn words(flaws: &str) -> String {
    flaws.split(',').filter(|flaw| !flaw.is_empty()).map(word).collect::<Vec<_>>().join(", ")
}

/// Returns one flaw in words, with the place in the message where it has one.
fn word(flaw: &str) -> String {
    let (name, at) = flaw.split_once('@').map_or((flaw, None), |(name, at)| (name, Some(at)));
    let said = match name {
        "not-json" => return at.map_or_else(|| "no JSON".into(), |at| format!("no JSON from byte {at} on")),
        "not-utf8" => return at.map_or_else(|| "no UTF-8".into(), |at| format!("no UTF-8 at byte {at}")),
        "byte-order-mark" => "a byte order mark before it",
        "not-an-object" => "no object",
        "empty-batch" => "an empty batch",
        "jsonrpc-version" => "`jsonrpc` is not \"2.0\"",
        "duplicate-member" => "a member stands twice",
        "null-id" => "the id is null",
        "id-type" => "the id is neither a text nor a number",
        "fractional-id" => "the id has a fraction",
        "no-id" => "an answer without an id",
        "method-type" => "`method` is no text",
        "method-and-answer" => "`method` beside an answer",
        "result-and-error" => "`result` beside `error`",
        "no-method" => "neither `method` nor `result` nor `error`",
        "error-shape" => "an error without a code and a text",
        "no-newline" => "no end of line",
        "truncated" => "broken off",
        "fragment" => "a part of a message",
        "split-over-lines" => "split over lines",
        "too-deep" => "nested too deep",
        "unknown-answer" => "answers nothing that was asked",
        "id-type-changed" => "the id came back in another type",
        "id-in-use" => "the id is still in use",
        // One of a later version, out of a file.
        other => return crate::output::sanitize::line(other),
    };
    said.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::jsonrpc::Flaw;

    #[test]
    fn every_flaw_has_words() {
        let all = [
            Flaw::NotJson(118),
            Flaw::NotUtf8(4),
            Flaw::ByteOrderMark,
            Flaw::NotAnObject,
            Flaw::EmptyBatch,
            Flaw::Version,
            Flaw::DuplicateMember,
            Flaw::NullId,
            Flaw::IdType,
            Flaw::FractionalId,
            Flaw::NoId,
            Flaw::MethodType,
            Flaw::MethodAndAnswer,
            Flaw::ResultAndError,
            Flaw::NoMethod,
            Flaw::ErrorShape,
            Flaw::NoNewline,
            Flaw::Truncated,
            Flaw::Fragment,
            Flaw::SplitOverLines,
            Flaw::TooDeep,
            Flaw::UnknownAnswer,
            Flaw::IdTypeChanged,
            Flaw::IdInUse,
        ];
        for flaw in all {
            let said = words(&flaw.to_string());
            assert!(!said.contains(flaw.name()) || flaw == Flaw::Truncated, "{said}");
            assert!(said.contains(' '), "{said}");
        }
        assert_eq!(words("not-json@118"), "no JSON from byte 118 on");
        assert_eq!(
            words("no-method,jsonrpc-version"),
            "neither `method` nor `result` nor `error`, `jsonrpc` is not \"2.0\""
        );
        assert_eq!(words(""), "");
    }
}
