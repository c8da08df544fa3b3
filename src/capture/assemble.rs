//! From chunks to rows: frames, messages, gaps. Pure.

use super::bodies::Bodies;
use super::redact_http::Masker;
use super::tap::{Item, Lane, Loss};
use crate::protocol::body::BodyFramer;
use crate::protocol::line::{LineFramer, Piece};
use crate::protocol::sse::SseFramer;
use crate::session::derive::{self, Content, Deriver, Facts};
use crate::session::frame::{Channel, FrameInfo, Gap};
use crate::session::http::HttpExchange;
use crate::store::rows::{Row, lane as lane_number};
use crate::store::writer::Totals;
use std::collections::HashMap;
use std::sync::Arc;

/// Cuts the bytes of a stream into its frames.
#[derive(Debug)]
enum Framer {
    Lines(LineFramer),
    Events(SseFramer),
    Body(BodyFramer),
}

impl Framer {
    fn of(channel: Channel) -> Self {
        match channel {
            Channel::Stdio | Channel::Stderr => Self::Lines(LineFramer::new()),
            Channel::Sse => Self::Events(SseFramer::new()),
            Channel::HttpBody => Self::Body(BodyFramer::default()),
        }
    }

    fn pending(&self) -> usize {
        match self {
            Self::Lines(framer) => framer.pending(),
            Self::Events(framer) => framer.pending(),
            Self::Body(framer) => framer.pending(),
        }
    }

    fn push(&mut self, bytes: &[u8], emit: impl FnMut(Piece<'_>)) -> usize {
        match self {
            Self::Lines(framer) => framer.push(bytes, emit),
            Self::Events(framer) => framer.push(bytes, emit),
            Self::Body(framer) => {
                framer.push(bytes, emit);
                0
            }
        }
    }

    fn finish(&mut self, emit: impl FnMut(Piece<'_>)) {
        match self {
            Self::Lines(framer) => framer.finish(emit),
            Self::Events(framer) => framer.finish(emit),
            Self::Body(framer) => framer.finish(emit),
        }
    }

    fn lost(&mut self, emit: impl FnMut(Piece<'_>)) {
        match self {
            Self::Lines(framer) => framer.lost(emit),
            Self::Events(framer) => framer.lost(emit),
            // What comes of a body after a loss is a frame of its own.
            Self::Body(framer) => framer.finish(emit),
        }
    }
}

#[derive(Debug)]
struct Stream {
    lane: Lane,
    framer: Framer,
    // When the open frame began, if it began in an earlier chunk.
    open_since: Option<i64>,
    // When the last chunk came, and was about to be written on.
    last: (i64, i64),
    long: Option<LongFrame>,
    gap: Option<Gap>,
}

impl Stream {
    fn new(lane: Lane) -> Self {
        let framer = Framer::of(lane.channel());
        Self { lane, framer, open_since: None, last: (0, 0), long: None, gap: None }
    }

    /// Returns the times of a frame that the end of its stream ends.
    fn times_at_end(&self, started: Option<i64>) -> (Option<i64>, i64, i64) {
        match self.lane {
            Lane::Http { .. } => (started, self.last.0, self.last.1),
            _ => (None, started.unwrap_or(0), started.unwrap_or(0)),
        }
    }
}

#[derive(Debug, Default)]
struct LongFrame {
    first_part: u64,
    parts: u32,
    length: u64,
    content: Content,
}

/// Makes rows of what the tap hands over.
#[derive(Debug, Default)]
pub struct Assembler {
    streams: HashMap<Lane, Stream>,
    bodies: Bodies,
    deriver: Deriver,
    next_seq: u64,
    next_part: u64,
    totals: Totals,
    rows: Vec<Row>,
}

impl Assembler {
    /// Returns an assembler at the beginning of a session.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
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
                    self.bodies.lost(*lane);
                    self.lost(*lane, *lost_before, lost_reason);
                }
                self.wire(*lane, *received_ns, *forwarded_ns, bytes);
            }
            Item::End(lane) => self.end(*lane),
            Item::Http { exchange, mask } => self.exchange(exchange, mask.as_ref()),
            Item::Event { at_ns, what, value } => {
                self.rows.push(Row::Event { at_ns: *at_ns, what, value: *value });
            }
        }
    }

    /// Takes bytes as they were on the wire, compressed perhaps.
    fn wire(&mut self, lane: Lane, received_ns: i64, forwarded_ns: i64, bytes: &[u8]) {
        let Some(mut coded) = self.bodies.take_coded(lane) else {
            self.chunk(lane, received_ns, forwarded_ns, bytes);
            return;
        };
        let undecoded = coded.push(bytes, |decoded| self.chunk(lane, received_ns, forwarded_ns, decoded));
        if let Some(wire) = undecoded {
            // What cannot be decoded is kept as it was on the wire.
            self.chunk(lane, received_ns, forwarded_ns, wire);
        }
        self.bodies.put_back(lane, coded);
    }

    fn exchange(&mut self, exchange: &HttpExchange, mask: Option<&Arc<Masker>>) {
        let exchange = self.bodies.exchange(exchange, mask);
        let rows = &mut self.rows;
        self.deriver.exchange_ended(&exchange, |derived| rows.push(Row::Derived(derived)));
        self.rows.push(Row::Http(Box::new(exchange)));
    }

    fn stream(&mut self, lane: Lane) -> Stream {
        self.streams.remove(&lane).unwrap_or_else(|| Stream::new(lane))
    }

    fn chunk(&mut self, lane: Lane, received_ns: i64, forwarded_ns: i64, bytes: &[u8]) {
        let mut stream = self.stream(lane);
        stream.last = (received_ns, forwarded_ns);
        let mut framer = std::mem::replace(&mut stream.framer, Framer::Body(BodyFramer::default()));
        let mut started = stream.open_since.take();
        let before = self.next_seq;
        let skipped = framer.push(bytes, |piece| {
            self.close_gap(&mut stream);
            self.piece(&mut stream, piece, started.take(), received_ns, forwarded_ns);
        });
        if skipped > 0 {
            self.add_to_gap(&mut stream, bytes.get(..skipped).unwrap_or_default());
        }
        if framer.pending() > 0 || stream.long.is_some() {
            // An open frame began with this chunk, or, if nothing ended in it, earlier.
            stream.open_since = if self.next_seq == before { started.or(Some(received_ns)) } else { Some(received_ns) };
        }
        stream.framer = framer;
        self.streams.insert(lane, stream);
    }

    /// Ends a stream: what is there of an open frame is its last.
    pub fn end(&mut self, lane: Lane) {
        if let Some(mut coded) = self.bodies.take_coded(lane) {
            let times = self.streams.get(&lane).map_or((0, 0), |stream| stream.last);
            coded.finish(|decoded| self.chunk(lane, times.0, times.1, decoded));
            self.bodies.put_back(lane, coded);
        }
        let Some(mut stream) = self.streams.remove(&lane) else { return };
        let mut framer = std::mem::replace(&mut stream.framer, Framer::Body(BodyFramer::default()));
        let started = stream.open_since.take();
        let (started, received, forwarded) = stream.times_at_end(started);
        framer.finish(|piece| self.piece(&mut stream, piece, started, received, forwarded));
        self.close_gap(&mut stream);
    }

    /// Ends every stream.
    pub fn end_all(&mut self) {
        let mut lanes: Vec<Lane> = self.streams.keys().copied().collect();
        lanes.sort_by_key(|lane| lane_number(lane.direction(), lane.channel(), lane.exchange()));
        for lane in lanes {
            self.end(lane);
        }
        self.rows.extend(self.bodies.cut_off().into_iter().map(|exchange| Row::Http(Box::new(exchange))));
    }

    /// Notes that copies were dropped.
    pub fn lost(&mut self, lane: Lane, loss: Loss, reason: &str) {
        let mut stream = self.stream(lane);
        let mut framer = std::mem::replace(&mut stream.framer, Framer::Body(BodyFramer::default()));
        let started = stream.open_since.take();
        let (started, received, forwarded) = stream.times_at_end(started);
        framer.lost(|piece| self.piece(&mut stream, piece, started, received, forwarded));
        let after = self.next_seq.checked_sub(1);
        stream.framer = framer;
        let gap = stream.gap.get_or_insert(Gap {
            dir: lane.direction(),
            ch: lane.channel(),
            after,
            bytes: 0,
            lines: 0,
            reason: reason.to_owned(),
        });
        gap.bytes += loss.bytes;
        gap.lines += loss.lines;
        self.totals.lost_frames += loss.lines;
        self.streams.insert(lane, stream);
    }

    fn add_to_gap(&mut self, stream: &mut Stream, bytes: &[u8]) {
        let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
        if let Some(gap) = &mut stream.gap {
            gap.bytes += bytes.len() as u64;
            gap.lines += lines;
        } else if let Some(Row::Gap(gap)) = self.rows.iter_mut().rev().find(|row| matches!(row, Row::Gap(_))) {
            // The gap was closed by the first whole frame of this very chunk.
            gap.bytes += bytes.len() as u64;
            gap.lines += lines;
        }
        self.totals.lost_frames += lines;
    }

    fn close_gap(&mut self, stream: &mut Stream) {
        if let Some(gap) = stream.gap.take() {
            self.rows.push(Row::Gap(gap));
        }
    }

    fn piece(
        &mut self,
        stream: &mut Stream,
        piece: Piece<'_>,
        started_ns: Option<i64>,
        received_ns: i64,
        forwarded_ns: i64,
    ) {
        let number = lane_number(stream.lane.direction(), stream.lane.channel(), stream.lane.exchange());
        let times = (started_ns, received_ns, forwarded_ns);
        match piece {
            Piece::Whole(bytes) => {
                let masked = self.bodies.masked(stream.lane, bytes);
                let bytes = masked.as_deref().unwrap_or(bytes);
                let info = FrameInfo { redacted: masked.is_some(), ..self.info(stream, times, bytes.len() as u64, 0) };
                self.rows.push(Row::Frame {
                    info: info.clone(),
                    parts_from: None,
                    lane: number,
                    bytes: bytes.to_vec(),
                });
                let rows = &mut self.rows;
                derive::whole(&info, bytes, &mut self.deriver, |derived| rows.push(Row::Derived(derived)));
            }
            Piece::Part { bytes, last } => {
                let part = self.next_part;
                self.next_part += 1;
                self.rows.push(Row::Part { number: part, lane: number, bytes: bytes.to_vec() });
                let long = stream.long.get_or_insert_with(|| LongFrame { first_part: part, ..LongFrame::default() });
                long.parts += 1;
                long.length += bytes.len() as u64;
                long.content.part(stream.lane.channel(), bytes);
                if !last {
                    return;
                }
                let Some(long) = stream.long.take() else { return };
                let info = self.info(stream, times, long.length, long.parts);
                self.rows.push(Row::Frame {
                    info: info.clone(),
                    parts_from: Some(long.first_part),
                    lane: number,
                    bytes: Vec::new(),
                });
                let rows = &mut self.rows;
                long.content.finish(&info, &mut self.deriver, |derived| rows.push(Row::Derived(derived)));
            }
        }
    }

    fn info(&mut self, stream: &Stream, times: (Option<i64>, i64, i64), length: u64, parts: u32) -> FrameInfo {
        let (started_ns, received_ns, forwarded_ns) = times;
        let seq = self.next_seq;
        self.next_seq += 1;
        self.totals.frames += 1;
        self.totals.bytes += length;
        FrameInfo {
            seq,
            direction: stream.lane.direction(),
            channel: stream.lane.channel(),
            http: stream.lane.exchange(),
            started_ns: started_ns.filter(|started| *started != received_ns),
            received_ns,
            forwarded_ns,
            length,
            parts,
            redacted: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::frame::Direction;
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
