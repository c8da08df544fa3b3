//! The envelope scan: what a message is, found in one pass without building a tree.
//!
//! The scan is a push parser over the whole JSON grammar (RFC 8259): bytes come in any cut, memory stays flat at any
//! depth and length, numbers are never evaluated, and nothing recurses. Where the text is not JSON it says where, and
//! goes on if what is meant is plain (`NaN`, a raw control character, a bad escape), since peers differ in what they
//! accept and the message still has to find its partner.

use super::interest::{self, Interest, Place, Slot};
use super::utf8::Utf8Checker;

/// The longest text kept of one member, in bytes.
pub const MEMBER_LIMIT: usize = 4 << 10;

/// The deepest nesting that is followed; the stack takes one bit a level.
const DEPTH_LIMIT: usize = 64 << 20;

/// The byte order mark in UTF-8.
const MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// Longer keys are of no interest.
const KEY_LIMIT: usize = 64;

/// The outer form of a scanned text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Nothing but white space.
    Blank,
    /// One object.
    Object,
    /// An array: a batch, if its members are messages.
    Array,
    /// A string, number or literal alone.
    Scalar,
    /// The text ended inside an object or array that was well so far.
    Unfinished,
    /// Not JSON.
    Broken,
}

/// What the scan found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The outer form.
    pub shape: Shape,
    /// The messages: one for an object, one a member for an array.
    pub envelopes: Vec<Envelope>,
    /// The offset of the first byte that is not JSON, though the scan may have gone on.
    pub not_json_at: Option<u64>,
    /// The offset of the first byte that is not UTF-8.
    pub not_utf8_at: Option<u64>,
    /// True if the text begins with a byte order mark.
    pub byte_order_mark: bool,
    /// The deepest nesting seen; a scalar has depth 0.
    pub depth: usize,
    /// The length of the text in bytes.
    pub length: u64,
}

/// The members of one message that recording needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Envelope {
    members: Vec<(Slot, String)>,
    /// True if `params` is there.
    pub has_params: bool,
    /// True if `result` is there.
    pub has_result: bool,
    /// True if `error` is there.
    pub has_error: bool,
    /// True if `result.task` is there: a task was made (2025-11-25).
    pub made_task: bool,
    /// True if a member that decides the kind stands twice.
    pub duplicate_member: bool,
    /// True if this member of a batch is no object.
    pub not_an_object: bool,
    /// Where the message begins in the text, in bytes.
    pub start: u64,
    /// Where the message ends in the text, in bytes.
    pub end: u64,
}

impl Envelope {
    /// Returns the envelope of a text of that length that has no members.
    #[must_use]
    pub fn without_members(length: u64) -> Self {
        Self { end: length, ..Self::default() }
    }

    /// Returns the exact JSON text of a member (at most [`MEMBER_LIMIT`] bytes); of duplicates the last.
    #[must_use]
    pub fn text(&self, slot: Slot) -> Option<&str> {
        self.members.iter().rev().find(|(of, _)| *of == slot).map(|(_, text)| text.as_str())
    }

    /// Returns the content of a member that is a string.
    #[must_use]
    pub fn string(&self, slot: Slot) -> Option<String> {
        let text = self.text(slot)?;
        text.starts_with('"').then(|| super::json::unescape(text.as_bytes()).into_owned())
    }
}

/// Scans a text that is there as a whole.
#[must_use]
pub fn scan(text: &[u8]) -> Scan {
    let mut scanner = EnvelopeScanner::new();
    scanner.push(text);
    scanner.finish()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    KeyOrEnd,
    Key,
    Colon,
    CommaOrEnd,
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Between,
    Text { is_key: bool, escape: Escape },
    Number(Number),
    Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    No,
    Backslash,
    Hex(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Integer,
    Dot,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
    Bad,
}

/// Takes a text in pieces and finds its envelopes.
#[derive(Debug)]
pub struct EnvelopeScanner {
    offset: u64,
    utf8: Utf8Checker,
    mark: usize,
    begun: bool,
    byte_order_mark: bool,
    not_json_at: Option<u64>,
    broken: bool,
    expect: Expect,
    token: Token,
    word: Vec<u8>,
    word_minus: bool,
    // One bit a level: set for an object.
    stack: Vec<u64>,
    depth: usize,
    deepest: usize,
    places: Vec<Place>,
    key: Vec<u8>,
    key_escaped: bool,
    member: Interest,
    keeping: Option<(Slot, usize, Vec<u8>)>,
    keep_from: usize,
    envelopes: Vec<Envelope>,
    top: Option<Shape>,
}

impl Default for EnvelopeScanner {
    fn default() -> Self {
        Self::new()
    }
}

impl EnvelopeScanner {
    /// Returns a scanner at the beginning of a text.
    #[must_use]
    pub fn new() -> Self {
        Self {
            offset: 0,
            utf8: Utf8Checker::default(),
            mark: 0,
            begun: false,
            byte_order_mark: false,
            not_json_at: None,
            broken: false,
            expect: Expect::Value,
            token: Token::Between,
            word: Vec::new(),
            word_minus: false,
            stack: Vec::new(),
            depth: 0,
            deepest: 0,
            places: Vec::new(),
            key: Vec::new(),
            key_escaped: false,
            member: Interest::Skip,
            keeping: None,
            keep_from: 0,
            envelopes: Vec::new(),
            top: None,
        }
    }

    /// Takes the next piece of the text.
    pub fn push(&mut self, bytes: &[u8]) {
        self.utf8.push(bytes);
        let mut at = 0;
        // A byte order mark is looked for byte by byte, since the first piece may be one byte long.
        while !self.begun {
            let Some(&byte) = bytes.get(at) else {
                self.offset += bytes.len() as u64;
                return;
            };
            if byte == MARK[self.mark] {
                self.mark += 1;
                at += 1;
                self.byte_order_mark = self.mark == MARK.len();
                self.begun = self.byte_order_mark;
            } else {
                self.begun = true;
                if self.mark > 0 {
                    self.flaw(0);
                    self.broken = true;
                }
            }
        }
        self.keep_from = at;
        while at < bytes.len() && !self.broken {
            at = match self.token {
                Token::Between => self.between(bytes, at),
                Token::Text { is_key, escape } => self.text(bytes, at, is_key, escape),
                Token::Number(state) => self.number(bytes, at, state),
                Token::Word => self.word(bytes, at),
            };
        }
        self.keep_up_to(bytes, bytes.len());
        self.offset += bytes.len() as u64;
    }

    /// Returns the outer form as far as the text has come.
    #[must_use]
    pub fn so_far(&self) -> Shape {
        match self.top {
            _ if self.broken => Shape::Broken,
            None => Shape::Blank,
            Some(_) if self.expect != Expect::Nothing || self.token != Token::Between => Shape::Unfinished,
            Some(shape) => shape,
        }
    }

    /// Ends the text and returns what was found.
    #[must_use]
    pub fn finish(mut self) -> Scan {
        if !self.begun && self.mark > 0 {
            self.flaw(0);
        }
        if !self.broken {
            match self.token {
                Token::Number(state) => self.end_number(state, self.offset),
                Token::Word => self.end_word(self.offset),
                _ => {}
            }
            if matches!(self.token, Token::Number(_) | Token::Word) {
                self.token = Token::Between;
                self.end_value(&[], 0);
            }
        }
        let shape = match self.so_far() {
            Shape::Blank if self.mark > 0 && !self.byte_order_mark => Shape::Broken,
            shape => shape,
        };
        let length = self.offset;
        if let Some(open) = self.envelopes.last_mut()
            && open.end == 0
        {
            open.end = length;
        }
        Scan {
            shape,
            envelopes: self.envelopes,
            not_json_at: self.not_json_at,
            not_utf8_at: self.utf8.finish(),
            byte_order_mark: self.byte_order_mark,
            depth: self.deepest,
            length,
        }
    }

    /// Notes the first place where the text is not JSON.
    fn flaw(&mut self, at: u64) {
        self.not_json_at.get_or_insert(at);
    }

    fn break_off(&mut self, at: usize) -> usize {
        self.flaw(self.offset + at as u64);
        self.broken = true;
        at
    }

    fn in_object(&self) -> bool {
        let level = self.depth - 1;
        self.stack.get(level / 64).is_some_and(|bits| bits >> (level % 64) & 1 == 1)
    }

    /// Returns the place of the open container, if its members are looked at.
    fn place(&self) -> Option<Place> {
        (self.places.len() == self.depth).then(|| self.places.last().copied()).flatten()
    }

    fn between(&mut self, bytes: &[u8], at: usize) -> usize {
        let byte = bytes[at];
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => return at + 1,
            _ => {}
        }
        match (self.expect, byte) {
            (Expect::Value | Expect::ValueOrEnd, b'{') => self.open(bytes, at, true),
            (Expect::Value | Expect::ValueOrEnd, b'[') => self.open(bytes, at, false),
            (Expect::Value | Expect::ValueOrEnd, b'"') => {
                self.begin_value(at, Shape::Scalar);
                self.token = Token::Text { is_key: false, escape: Escape::No };
                at + 1
            }
            (Expect::Value | Expect::ValueOrEnd, b'-' | b'0'..=b'9') => {
                self.begin_value(at, Shape::Scalar);
                self.token = Token::Number(match byte {
                    b'-' => Number::Minus,
                    b'0' => Number::Zero,
                    _ => Number::Integer,
                });
                at + 1
            }
            (Expect::Value | Expect::ValueOrEnd, b'a'..=b'z' | b'A'..=b'Z') => {
                self.begin_value(at, Shape::Scalar);
                self.token = Token::Word;
                self.word.clear();
                self.word_minus = false;
                at
            }
            (Expect::ValueOrEnd | Expect::CommaOrEnd, b']') if self.depth > 0 && !self.in_object() => {
                self.close(bytes, at)
            }
            (Expect::KeyOrEnd | Expect::CommaOrEnd, b'}') if self.depth > 0 && self.in_object() => {
                self.close(bytes, at)
            }
            (Expect::KeyOrEnd | Expect::Key, b'"') => {
                self.key.clear();
                self.key_escaped = false;
                self.token = Token::Text { is_key: true, escape: Escape::No };
                at + 1
            }
            (Expect::Colon, b':') => {
                self.expect = Expect::Value;
                at + 1
            }
            (Expect::CommaOrEnd, b',') => {
                self.expect = if self.in_object() { Expect::Key } else { Expect::Value };
                at + 1
            }
            _ => self.break_off(at),
        }
    }

    /// A value begins: it may be a message, or a member that is kept.
    fn begin_value(&mut self, at: usize, shape: Shape) {
        let start = self.offset + at as u64;
        if self.depth == 0 {
            self.top = Some(shape);
            self.member = match shape {
                Shape::Object => Interest::Enter(Place::Root),
                Shape::Array => Interest::Enter(Place::Batch),
                _ => Interest::Skip,
            };
            if shape == Shape::Object {
                self.envelopes.push(Envelope { start, ..Envelope::default() });
            }
        } else if self.depth == 1 && self.place() == Some(Place::Batch) {
            let object = shape == Shape::Object;
            self.member = if object { Interest::Enter(Place::Root) } else { Interest::Skip };
            self.envelopes.push(Envelope { start, not_an_object: !object, ..Envelope::default() });
        } else if self.place().is_none() || !self.in_object() {
            self.member = Interest::Skip;
        }
        if let Interest::Keep(slot) = self.member
            && self.keeping.is_none()
        {
            self.keeping = Some((slot, self.depth, Vec::new()));
            self.keep_from = at;
        }
    }

    fn open(&mut self, _bytes: &[u8], at: usize, object: bool) -> usize {
        if self.depth >= DEPTH_LIMIT {
            return self.break_off(at);
        }
        let tracked = self.places.len() == self.depth;
        self.begin_value(at, if object { Shape::Object } else { Shape::Array });
        let level = self.depth;
        if level / 64 >= self.stack.len() {
            self.stack.push(0);
        }
        if let Some(bits) = self.stack.get_mut(level / 64) {
            *bits = *bits & !(1 << (level % 64)) | u64::from(object) << (level % 64);
        }
        if let (true, Interest::Enter(place)) = (tracked, self.member)
            && (object || place == Place::Batch)
        {
            self.places.push(place);
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        self.expect = if object { Expect::KeyOrEnd } else { Expect::ValueOrEnd };
        at + 1
    }

    fn close(&mut self, bytes: &[u8], at: usize) -> usize {
        if self.places.len() == self.depth {
            self.places.pop();
        }
        self.depth -= 1;
        self.end_value(bytes, at + 1);
        at + 1
    }

    /// A value has ended just before `bytes[end]`.
    fn end_value(&mut self, bytes: &[u8], end: usize) {
        if let Some((_, depth, _)) = self.keeping
            && depth == self.depth
        {
            self.keep_up_to(bytes, end);
            if let (Some((slot, _, text)), Some(envelope)) = (self.keeping.take(), self.envelopes.last_mut()) {
                envelope.members.push((slot, String::from_utf8_lossy(&text).into_owned()));
            }
        }
        self.expect = if self.depth == 0 { Expect::Nothing } else { Expect::CommaOrEnd };
        if (self.depth == 0 || self.depth == 1 && self.place() == Some(Place::Batch))
            && let Some(envelope) = self.envelopes.last_mut()
            && envelope.end == 0
        {
            envelope.end = self.offset + end as u64;
        }
    }

    /// Copies what is kept, up to `bytes[end]`.
    fn keep_up_to(&mut self, bytes: &[u8], end: usize) {
        if let Some((_, _, text)) = &mut self.keeping {
            let room = MEMBER_LIMIT - text.len();
            let new = bytes.get(self.keep_from..end).unwrap_or_default();
            text.extend_from_slice(&new[..new.len().min(room)]);
        }
        self.keep_from = 0;
    }

    fn text(&mut self, bytes: &[u8], at: usize, is_key: bool, escape: Escape) -> usize {
        let byte = bytes[at];
        match escape {
            Escape::Backslash => {
                let next = match byte {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Escape::No,
                    b'u' => Escape::Hex(0),
                    _ => {
                        self.flaw(self.offset + at as u64);
                        Escape::No
                    }
                };
                self.take_key(is_key, &bytes[at..=at]);
                self.token = Token::Text { is_key, escape: next };
                at + 1
            }
            Escape::Hex(digits) => {
                if !byte.is_ascii_hexdigit() {
                    self.flaw(self.offset + at as u64);
                    self.token = Token::Text { is_key, escape: Escape::No };
                    return at;
                }
                self.take_key(is_key, &bytes[at..=at]);
                self.token =
                    Token::Text { is_key, escape: if digits == 3 { Escape::No } else { Escape::Hex(digits + 1) } };
                at + 1
            }
            Escape::No => {
                let rest = &bytes[at..];
                let length = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                let plain = &rest[..length];
                // The smallest byte tells whether a control character is there at all; the loop is vectorised.
                if plain.iter().fold(0xFF, |low: u8, &b| low.min(b)) < 0x20
                    && let Some(control) = plain.iter().position(|&b| b < 0x20)
                {
                    self.flaw(self.offset + (at + control) as u64);
                }
                self.take_key(is_key, plain);
                let end = at + length;
                match rest.get(length) {
                    None => end,
                    Some(b'\\') => {
                        self.take_key(is_key, b"\\");
                        self.key_escaped |= is_key;
                        self.token = Token::Text { is_key, escape: Escape::Backslash };
                        end + 1
                    }
                    Some(_) => {
                        self.token = Token::Between;
                        if is_key {
                            self.end_key();
                        } else {
                            self.end_value(bytes, end + 1);
                        }
                        end + 1
                    }
                }
            }
        }
    }

    fn take_key(&mut self, is_key: bool, bytes: &[u8]) {
        if is_key && self.key.len() <= KEY_LIMIT {
            self.key.extend_from_slice(&bytes[..bytes.len().min(KEY_LIMIT + 1)]);
        }
    }

    fn end_key(&mut self) {
        self.expect = Expect::Colon;
        self.member = Interest::Skip;
        let Some(place) = self.place() else { return };
        if self.key.len() > KEY_LIMIT {
            return;
        }
        self.member = if self.key_escaped {
            let mut quoted = Vec::with_capacity(self.key.len() + 2);
            quoted.push(b'"');
            quoted.extend_from_slice(&self.key);
            quoted.push(b'"');
            interest::of_member(place, super::json::unescape(&quoted).as_bytes())
        } else {
            interest::of_member(place, &self.key)
        };
        let Some(envelope) = self.envelopes.last_mut() else { return };
        match self.member {
            Interest::Enter(Place::Params) => {
                envelope.duplicate_member |= std::mem::replace(&mut envelope.has_params, true);
            }
            Interest::Enter(Place::Result) => {
                envelope.duplicate_member |= std::mem::replace(&mut envelope.has_result, true);
            }
            Interest::Enter(Place::Error) => {
                envelope.duplicate_member |= std::mem::replace(&mut envelope.has_error, true);
            }
            Interest::Enter(Place::ResultTask) => envelope.made_task = true,
            Interest::Keep(slot @ (Slot::Jsonrpc | Slot::Id | Slot::Method)) => {
                envelope.duplicate_member |= envelope.members.iter().any(|(of, _)| *of == slot);
            }
            _ => {}
        }
    }

    fn number(&mut self, bytes: &[u8], at: usize, state: Number) -> usize {
        let byte = bytes[at];
        let next = match (state, byte) {
            (Number::Minus, b'I') => {
                // `-Infinity`: what it means is plain, though it is not JSON.
                self.flaw((self.offset + at as u64).saturating_sub(1));
                self.word.clear();
                self.word_minus = true;
                self.token = Token::Word;
                return at;
            }
            (Number::Minus, b'0') => Number::Zero,
            (Number::Minus | Number::Integer, b'0'..=b'9') => Number::Integer,
            (Number::Zero | Number::Integer, b'.') => Number::Dot,
            (Number::Zero | Number::Integer | Number::Fraction, b'e' | b'E') => Number::Exponent,
            (Number::Dot | Number::Fraction, b'0'..=b'9') => Number::Fraction,
            (Number::Exponent, b'+' | b'-') => Number::ExponentSign,
            (Number::Exponent | Number::ExponentSign | Number::ExponentDigits, b'0'..=b'9') => Number::ExponentDigits,
            (_, b'0'..=b'9' | b'.' | b'+' | b'-' | b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
                self.flaw(self.offset + at as u64);
                Number::Bad
            }
            _ => {
                self.end_number(state, self.offset + at as u64);
                self.token = Token::Between;
                self.end_value(bytes, at);
                return at;
            }
        };
        self.token = Token::Number(next);
        at + 1
    }

    fn end_number(&mut self, state: Number, at: u64) {
        if !matches!(state, Number::Zero | Number::Integer | Number::Fraction | Number::ExponentDigits) {
            self.flaw(at);
        }
    }

    fn word(&mut self, bytes: &[u8], at: usize) -> usize {
        let byte = bytes[at];
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            if self.word.len() < 16 {
                self.word.push(byte);
            }
            return at + 1;
        }
        self.end_word(self.offset + at as u64);
        if self.broken {
            return at;
        }
        self.token = Token::Between;
        self.end_value(bytes, at);
        at
    }

    fn end_word(&mut self, at: u64) {
        match self.word.as_slice() {
            b"true" | b"false" | b"null" if !self.word_minus => {}
            b"NaN" | b"Infinity" | b"undefined" | b"True" | b"False" | b"None" if self.depth > 0 => {
                self.flaw(at.saturating_sub(self.word.len() as u64));
            }
            _ => {
                self.flaw(at.saturating_sub(self.word.len() as u64));
                self.broken = true;
            }
        }
    }
}

#[cfg(test)]
mod tests;
