//! From a frame to the messages in it.
//!
//! Each line is understood alone, but for JSON that somebody spread over lines: its lines are fragments, and the
//! message stands where the last of them does.

use super::frame::{Channel, FrameInfo};
use crate::protocol::envelope::{Envelope, EnvelopeScanner, Scan, Shape};
use crate::protocol::jsonrpc::{self, Flaw, Kind};

/// The most lines that are put together to one message.
const SPLIT_LINES: usize = 100_000;

/// The most bytes that are put together to one message.
const SPLIT_BYTES: u64 = 64 << 20;

/// A message as classified: its kind, flaws and members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classified {
    /// What it is.
    pub kind: Kind,
    /// What is odd about it.
    pub flaws: Vec<Flaw>,
    /// Its members; empty for what is no message.
    pub envelope: Envelope,
    /// The first line of a message that was split over lines.
    pub first_seq: Option<u64>,
}

impl Classified {
    fn plain(kind: Kind, flaws: Vec<Flaw>, length: u64) -> Self {
        Self { kind, flaws, envelope: Envelope::without_members(length), first_seq: None }
    }
}

/// Classifies the frames of one stream in their order.
#[derive(Debug, Default)]
pub struct Classifier {
    open: Option<Split>,
}

#[derive(Debug)]
struct Split {
    first_seq: u64,
    lines: usize,
    scanner: EnvelopeScanner,
    bytes: u64,
}

impl Classifier {
    /// Returns the messages of a frame: at least one, several for a batch.
    ///
    /// `text` are the frame's bytes if they are at hand; without them a split message is not put together.
    pub fn classify(&mut self, info: &FrameInfo, scan: Scan, text: Option<&[u8]>, terminated: bool) -> Vec<Classified> {
        if info.channel == Channel::Stderr {
            let blank = scan.shape == Shape::Blank;
            return vec![Classified::plain(if blank { Kind::Blank } else { Kind::Stray }, Vec::new(), info.length)];
        }
        let ends_early = info.channel == Channel::Stdio && !terminated;
        let (shape, clean) = (scan.shape, scan.not_json_at.is_none());
        let alone = alone(scan, info.length, ends_early);
        let well = alone.iter().any(|m| !matches!(m.kind, Kind::Invalid | Kind::Stray | Kind::Blank));
        if well {
            self.open = None;
            return alone;
        }
        if let Some(together) = self.continue_split(info, text, ends_early) {
            return together;
        }
        if shape == Shape::Unfinished
            && clean
            && !ends_early
            && let Some(text) = text
        {
            let mut scanner = EnvelopeScanner::new();
            scanner.push(text);
            self.open = Some(Split { first_seq: info.seq, lines: 1, scanner, bytes: info.length });
        }
        alone
    }

    /// Adds a line to a message that is split over lines, if one is open and the line fits.
    fn continue_split(&mut self, info: &FrameInfo, text: Option<&[u8]>, ends_early: bool) -> Option<Vec<Classified>> {
        let mut open = self.open.take()?;
        open.scanner.push(text?);
        open.lines += 1;
        open.bytes += info.length;
        match open.scanner.so_far() {
            Shape::Unfinished if open.lines < SPLIT_LINES && open.bytes < SPLIT_BYTES => {
                self.open = Some(open);
                let flaw = if ends_early { Flaw::Truncated } else { Flaw::Fragment };
                Some(vec![Classified::plain(Kind::Invalid, vec![flaw], info.length)])
            }
            Shape::Object | Shape::Array => {
                let first_seq = open.first_seq;
                let mut together = alone(open.scanner.finish(), info.length, ends_early);
                for message in &mut together {
                    message.flaws.push(Flaw::SplitOverLines);
                    message.first_seq = Some(first_seq);
                    // Its bytes are those of all its lines; here it takes its place and length from the last.
                    message.envelope.start = 0;
                    message.envelope.end = info.length;
                }
                Some(together)
            }
            _ => None,
        }
    }
}

fn alone(scan: Scan, length: u64, ends_early: bool) -> Vec<Classified> {
    let mut shared = Vec::new();
    if scan.byte_order_mark {
        shared.push(Flaw::ByteOrderMark);
    }
    if let Some(at) = scan.not_utf8_at {
        shared.push(Flaw::NotUtf8(at));
    }
    if let Some(at) = scan.not_json_at {
        shared.push(Flaw::NotJson(at));
    }
    let whole = |kind, flaw: Option<Flaw>| {
        let mut flaws = shared.clone();
        flaws.extend(flaw);
        vec![Classified::plain(kind, flaws, length)]
    };
    match scan.shape {
        Shape::Blank => return whole(Kind::Blank, None),
        Shape::Broken => {
            // A message that breaks off in the middle is a message; a log line is not.
            let begun = scan
                .envelopes
                .first()
                .is_some_and(|envelope| envelope.text(crate::protocol::interest::Slot::Jsonrpc).is_some());
            return whole(if begun { Kind::Invalid } else { Kind::Stray }, None);
        }
        Shape::Unfinished => {
            return whole(Kind::Invalid, Some(if ends_early { Flaw::Truncated } else { Flaw::Fragment }));
        }
        Shape::Scalar => return whole(Kind::Invalid, Some(Flaw::NotAnObject)),
        Shape::Array if scan.envelopes.is_empty() => return whole(Kind::Invalid, Some(Flaw::EmptyBatch)),
        Shape::Object | Shape::Array => {}
    }
    if ends_early {
        shared.push(Flaw::NoNewline);
    }
    let batch = scan.shape == Shape::Array;
    scan.envelopes
        .into_iter()
        .map(|mut envelope| {
            let mut flaws = shared.clone();
            let kind = jsonrpc::judge(&envelope, &mut flaws);
            if !batch {
                // The message of a line is the line, blanks and terminator included.
                envelope.start = 0;
                envelope.end = length;
            }
            Classified { kind, flaws, envelope, first_seq: None }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::frame::Direction;
    use super::*;
    use crate::protocol::envelope::scan;

    fn classify(lines: &[&[u8]]) -> Vec<(Kind, String, Option<u64>)> {
        let mut classifier = Classifier::default();
        let mut all = Vec::new();
        for (seq, line) in lines.iter().enumerate() {
            let info = FrameInfo {
                seq: seq as u64,
                direction: Direction::ToClient,
                channel: Channel::Stdio,
                http: None,
                started_ns: None,
                received_ns: 0,
                forwarded_ns: 0,
                length: line.len() as u64,
                parts: 0,
                redacted: false,
            };
            for message in classifier.classify(&info, scan(line), Some(line), line.ends_with(b"\n")) {
                let flaws: Vec<String> = message.flaws.iter().map(ToString::to_string).collect();
                all.push((message.kind, flaws.join(","), message.first_seq));
            }
        }
        all
    }

    #[test]
    fn a_message_over_several_lines_stands_where_its_last_line_does() {
        let lines: [&[u8]; 7] = [
            b"{\n",
            b"  \"jsonrpc\": \"2.0\",\n",
            b"  \"id\": 1,\n",
            b"\n",
            b"  \"result\": {}\n",
            b"}\n",
            b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n",
        ];
        let fragment = (Kind::Invalid, "fragment".to_owned(), None);
        let mut expected = vec![fragment; 5];
        expected.push((Kind::Result, "split-over-lines".to_owned(), Some(0)));
        expected.push((Kind::Result, String::new(), None));
        assert_eq!(classify(&lines), expected);
    }

    #[test]
    fn an_unfinished_line_does_not_swallow_what_follows() {
        let lines: [&[u8]; 3] =
            [b"{\"jsonrpc\":\"2.0\",\"id\":1,\n", b"plain text\n", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"];
        let kinds: Vec<Kind> = classify(&lines).into_iter().map(|(kind, ..)| kind).collect();
        assert_eq!(kinds, [Kind::Invalid, Kind::Stray, Kind::Result]);
    }

    #[test]
    fn the_end_of_the_stream_is_told_from_the_end_of_a_line() {
        let whole: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";
        assert_eq!(classify(&[whole]), [(Kind::Result, "no-newline".to_owned(), None)]);
        assert_eq!(classify(&[&whole[..20]]), [(Kind::Invalid, "truncated".to_owned(), None)]);
    }

    #[test]
    fn lines_that_are_no_messages() {
        let cases: [(&[u8], Kind, &str); 8] = [
            (b"\n", Kind::Blank, ""),
            (b" \t\r\n", Kind::Blank, ""),
            (b"cache miss: Bergen\n", Kind::Stray, "not-json@0"),
            (b"\xff\xfe\n", Kind::Stray, "not-utf8@0,not-json@0"),
            (b"123\n", Kind::Invalid, "not-an-object"),
            (b"null\n", Kind::Invalid, "not-an-object"),
            (b"[]\n", Kind::Invalid, "empty-batch"),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":}}\n", Kind::Invalid, "not-json@38"),
        ];
        for (line, kind, flaws) in cases {
            assert_eq!(classify(&[line]), [(kind, flaws.to_owned(), None)], "{:?}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn a_batch_gives_a_message_for_each_member() {
        let line = b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"method\":\"n\"},7]\r\n";
        let kinds: Vec<Kind> = classify(&[line]).into_iter().map(|(kind, ..)| kind).collect();
        assert_eq!(kinds, [Kind::Request, Kind::Notification, Kind::Invalid]);
    }
}
