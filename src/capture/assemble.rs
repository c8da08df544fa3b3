//! From chunks to rows: frames, messages, gaps. Pure.

use super::tap::{Item, Lane, Loss};
use crate::protocol::envelope::{EnvelopeScanner, scan};
use crate::protocol::line::{LineFramer, Piece};
use crate::session::derive::{Deriver, Facts, is_terminated};
use crate::session::frame::{Channel, Direction, FrameInfo, Gap};
use crate::store::rows::Row;
use crate::store::writer::Totals;

#[derive(Debug)]
struct Stream {
    direction: Direction,
    channel: Channel,
    framer: LineFramer,
    // When the open line began, if it began in an earlier chunk.
    open_since: Option<i64>,
    long: Option<LongLine>,
    gap: Option<Gap>,
}

#[derive(Debug)]
struct LongLine {
    first_part: u64,
    parts: u32,
    length: u64,
    scanner: EnvelopeScanner,
}

/// Makes rows of what the tap hands over.
#[derive(Debug)]
pub struct Assembler {
    streams: [Stream; 3],
    deriver: Deriver,
    next_seq: u64,
    next_part: u64,
    totals: Totals,
    rows: Vec<Row>,
}

impl Default for Assembler {
    fn default() -> Self {
        Self::new()
    }
}

impl Assembler {
    /// Returns an assembler at the beginning of a session.
    #[must_use]
    pub fn new() -> Self {
        let stream = |direction, channel| Stream {
            direction,
            channel,
            framer: LineFramer::new(),
            open_since: None,
            long: None,
            gap: None,
        };
        Self {
            streams: [
                stream(Direction::ToServer, Channel::Stdio),
                stream(Direction::ToClient, Channel::Stdio),
                stream(Direction::ToClient, Channel::Stderr),
            ],
            deriver: Deriver::new(),
            next_seq: 0,
            next_part: 0,
            totals: Totals::default(),
            rows: Vec::new(),
        }
    }

    /// Returns what is known of the session so far.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        self.deriver.facts()
    }

    /// Returns what was counted so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns how many calls of the client wait for an answer.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.deriver.waiting()
    }

    /// Returns how many rows wait to be taken.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the rows made since the last time.
    #[must_use]
    pub fn take_rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.rows)
    }

    /// Takes the next item.
    pub fn item(&mut self, item: &Item, lost_reason: &str) {
        match item {
            Item::Chunk { lane, received_ns, forwarded_ns, lost_before, bytes } => {
                if *lost_before != Loss::default() {
                    self.lost(*lane, *lost_before, lost_reason);
                }
                self.chunk(*lane, *received_ns, *forwarded_ns, bytes);
            }
            Item::End(lane) => self.end(*lane),
            Item::Event { at_ns, what, value } => {
                self.rows.push(Row::Event { at_ns: *at_ns, what, value: *value });
            }
        }
    }

    fn chunk(&mut self, lane: Lane, received_ns: i64, forwarded_ns: i64, bytes: &[u8]) {
        let at = lane.index();
        let mut framer = std::mem::take(&mut self.streams[at].framer);
        let mut started = self.streams[at].open_since.take();
        let before = self.next_seq;
        let skipped = framer.push(bytes, |piece| {
            self.close_gap(at, 0);
            self.piece(at, piece, started.take(), received_ns, forwarded_ns);
        });
        if skipped > 0 {
            self.add_to_gap(at, bytes.get(..skipped).unwrap_or_default());
        }
        let stream = &mut self.streams[at];
        if framer.pending() > 0 || stream.long.is_some() {
            // An open line began with this chunk, or, if nothing ended in it, earlier.
            stream.open_since = if self.next_seq == before { started.or(Some(received_ns)) } else { Some(received_ns) };
        }
        stream.framer = framer;
    }

    /// Ends a stream: what is there of an open line is its last frame.
    pub fn end(&mut self, lane: Lane) {
        let at = lane.index();
        let mut framer = std::mem::take(&mut self.streams[at].framer);
        let started = self.streams[at].open_since.take();
        framer.finish(|piece| self.piece(at, piece, None, started.unwrap_or(0), started.unwrap_or(0)));
        self.close_gap(at, 0);
    }

    /// Notes that copies were dropped.
    pub fn lost(&mut self, lane: Lane, loss: Loss, reason: &str) {
        let at = lane.index();
        let mut framer = std::mem::take(&mut self.streams[at].framer);
        let started = self.streams[at].open_since.take();
        framer.lost(|piece| self.piece(at, piece, None, started.unwrap_or(0), started.unwrap_or(0)));
        let after = self.next_seq.checked_sub(1);
        let stream = &mut self.streams[at];
        stream.framer = framer;
        let gap = stream.gap.get_or_insert(Gap {
            dir: stream.direction,
            ch: stream.channel,
            after,
            bytes: 0,
            lines: 0,
            reason: reason.to_owned(),
        });
        gap.bytes += loss.bytes;
        gap.lines += loss.lines;
        self.totals.lost_frames += loss.lines;
    }

    fn add_to_gap(&mut self, at: usize, bytes: &[u8]) {
        let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
        if let Some(gap) = &mut self.streams[at].gap {
            gap.bytes += bytes.len() as u64;
            gap.lines += lines;
        } else if let Some(Row::Gap(gap)) = self.rows.iter_mut().rev().find(|row| matches!(row, Row::Gap(_))) {
            // The gap was closed by the first whole line of this very chunk.
            gap.bytes += bytes.len() as u64;
            gap.lines += lines;
        }
        self.totals.lost_frames += lines;
    }

    fn close_gap(&mut self, at: usize, _lines: u64) {
        if let Some(gap) = self.streams[at].gap.take() {
            self.rows.push(Row::Gap(gap));
        }
    }

    fn piece(&mut self, at: usize, piece: Piece<'_>, started_ns: Option<i64>, received_ns: i64, forwarded_ns: i64) {
        match piece {
            Piece::Whole(bytes) => {
                let info = self.info(at, started_ns, received_ns, forwarded_ns, bytes.len() as u64, 0);
                self.rows.push(Row::Frame {
                    info: info.clone(),
                    parts_from: None,
                    lane: at as u8,
                    bytes: bytes.to_vec(),
                });
                let terminated = is_terminated(info.channel, bytes);
                // What comes on stderr is text: nobody asks whether it is JSON.
                let found = if info.channel == Channel::Stderr { blank_or_text(bytes) } else { scan(bytes) };
                self.derive(&info, found, Some(bytes), terminated);
            }
            Piece::Part { bytes, last } => {
                let number = self.next_part;
                self.next_part += 1;
                self.rows.push(Row::Part { number, lane: at as u8, bytes: bytes.to_vec() });
                let long = self.streams[at].long.get_or_insert_with(|| LongLine {
                    first_part: number,
                    parts: 0,
                    length: 0,
                    scanner: EnvelopeScanner::new(),
                });
                long.parts += 1;
                long.length += bytes.len() as u64;
                long.scanner.push(bytes);
                if !last {
                    return;
                }
                let Some(long) = self.streams[at].long.take() else { return };
                let info = self.info(at, started_ns, received_ns, forwarded_ns, long.length, long.parts);
                self.rows.push(Row::Frame {
                    info: info.clone(),
                    parts_from: Some(long.first_part),
                    lane: at as u8,
                    bytes: Vec::new(),
                });
                let terminated = is_terminated(info.channel, bytes);
                self.derive(&info, long.scanner.finish(), None, terminated);
            }
        }
    }

    fn info(
        &mut self,
        at: usize,
        started_ns: Option<i64>,
        received_ns: i64,
        forwarded_ns: i64,
        length: u64,
        parts: u32,
    ) -> FrameInfo {
        let seq = self.next_seq;
        self.next_seq += 1;
        self.totals.frames += 1;
        self.totals.bytes += length;
        let stream = &self.streams[at];
        FrameInfo {
            seq,
            direction: stream.direction,
            channel: stream.channel,
            started_ns: started_ns.filter(|started| *started != received_ns),
            received_ns,
            forwarded_ns,
            length,
            parts,
            redacted: false,
        }
    }

    fn derive(
        &mut self,
        info: &FrameInfo,
        found: crate::protocol::envelope::Scan,
        text: Option<&[u8]>,
        terminated: bool,
    ) {
        let rows = &mut self.rows;
        self.deriver.frame(info, found, text, terminated, |derived| {
            rows.push(Row::Derived(derived));
        });
    }
}

fn blank_or_text(bytes: &[u8]) -> crate::protocol::envelope::Scan {
    if bytes.iter().all(u8::is_ascii_whitespace) { scan(b"") } else { scan(b"x") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::message::Kind;

    fn chunk(lane: Lane, at: i64, bytes: &[u8]) -> Item {
        Item::Chunk { lane, received_ns: at, forwarded_ns: at + 1, lost_before: Loss::default(), bytes: bytes.into() }
    }

    fn frames(rows: &[Row]) -> Vec<(u64, String, Option<i64>, i64)> {
        rows.iter()
            .filter_map(|row| match row {
                Row::Frame { info, bytes, .. } => {
                    Some((info.seq, String::from_utf8_lossy(bytes).into_owned(), info.started_ns, info.received_ns))
                }
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_frame_stands_where_the_chunk_that_ended_it_does() {
        let mut assembler = Assembler::new();
        for item in [
            chunk(Lane::Stdout, 10, b"half"),
            chunk(Lane::Stdin, 20, b"whole\n"),
            chunk(Lane::Stdout, 30, b" line\nnext\nta"),
            Item::End(Lane::Stdout),
        ] {
            assembler.item(&item, "");
        }
        let expected = [
            (0, "whole\n".to_owned(), None, 20),
            (1, "half line\n".to_owned(), Some(10), 30),
            (2, "next\n".to_owned(), None, 30),
            (3, "ta".to_owned(), None, 30),
        ];
        assert_eq!(frames(&assembler.take_rows()), expected);
    }

    #[test]
    fn a_loss_is_a_gap_up_to_the_next_line_end() {
        let mut assembler = Assembler::new();
        assembler.item(&chunk(Lane::Stdout, 1, b"one\ntw"), "");
        let lost = Item::Chunk {
            lane: Lane::Stdout,
            received_ns: 5,
            forwarded_ns: 6,
            lost_before: Loss { bytes: 100, lines: 7 },
            bytes: b"rest\nfour\n"[..].into(),
        };
        assembler.item(&lost, "full");
        let rows = assembler.take_rows();
        let texts: Vec<String> = frames(&rows).into_iter().map(|(_, text, ..)| text).collect();
        assert_eq!(texts, ["one\n", "tw", "four\n"]);
        let gap = rows.iter().find_map(|row| if let Row::Gap(gap) = row { Some(gap.clone()) } else { None });
        let expected = Gap {
            dir: Direction::ToClient,
            ch: Channel::Stdio,
            after: Some(1),
            bytes: 105,
            lines: 8,
            reason: "full".into(),
        };
        assert_eq!(gap, Some(expected));
        assert_eq!(assembler.totals().lost_frames, 8);
    }

    #[test]
    fn a_long_line_is_parts_and_then_a_frame_with_its_message() {
        let mut assembler = Assembler::new();
        let mut line = br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":""#.to_vec();
        line.extend(std::iter::repeat_n(b'x', 2 << 20));
        line.extend_from_slice(b"\"}}\n");
        for piece in line.chunks(65536) {
            assembler.item(&chunk(Lane::Stdin, 9, piece), "");
        }
        let rows = assembler.take_rows();
        let parts: Vec<u8> = rows
            .iter()
            .filter_map(|row| if let Row::Part { bytes, .. } = row { Some(bytes.clone()) } else { None })
            .flatten()
            .collect();
        assert_eq!(parts, line);
        let Some(Row::Derived(crate::session::derive::Derived::Message(message))) = rows.last() else {
            panic!("no message")
        };
        assert_eq!((message.kind, message.length), (Kind::Notification, line.len() as u64));
    }
}
