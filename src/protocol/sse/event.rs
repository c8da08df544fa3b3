//! What an event says: its fields, out of its exact bytes.

use std::borrow::Cow;

/// The longest id or type of an event that is kept, in bytes.
const FIELD_LIMIT: usize = 4096;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The fields of an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event<'a> {
    /// `id`, the last one; empty resets it.
    pub id: Option<&'a [u8]>,
    /// `event`, the last one.
    pub event: Option<&'a [u8]>,
    /// `data`, its lines joined; absent if there is no such line.
    pub data: Option<Cow<'a, [u8]>>,
}

impl<'a> Event<'a> {
    /// Reads the fields of an event from its bytes.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Self {
        let mut event = Self::default();
        // The mark stands at the beginning of a stream only; no field begins with it.
        let mut rest = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        while !rest.is_empty() {
            let end = memchr::memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
            let (line, after) = rest.split_at(end);
            rest = after.strip_prefix(b"\r\n").or_else(|| after.get(1..)).unwrap_or_default();
            let colon = memchr::memchr(b':', line).unwrap_or(line.len());
            let value = line.get(colon + 1..).unwrap_or_default();
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &line[..colon] {
                b"id" => event.id = Some(value),
                b"event" => event.event = Some(value),
                b"data" => {
                    event.data = Some(match event.data.take() {
                        None => Cow::Borrowed(value),
                        Some(earlier) => Cow::Owned([earlier.as_ref(), b"\n", value].concat()),
                    });
                }
                _ => {}
            }
        }
        event
    }
}

/// Returns what an event says: its data, or nothing.
#[must_use]
pub fn data_of(bytes: &[u8]) -> Cow<'_, [u8]> {
    Event::parse(bytes).data.unwrap_or_default()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Id,
    Event,
    Data,
    Other,
}

/// Reads the fields of an event that comes in parts; it holds no data.
#[derive(Debug, Default)]
pub struct EventReader {
    name: Vec<u8>,
    field: Option<Field>,
    at_value_start: bool,
    after_cr: bool,
    begun: bool,
    data_lines: u64,
    id: Option<Vec<u8>>,
    event: Option<Vec<u8>>,
}

impl EventReader {
    /// Takes the next bytes of the event and hands on what of them is data.
    pub fn push(&mut self, bytes: &[u8], mut data: impl FnMut(&[u8])) {
        let mut rest = bytes;
        if !std::mem::replace(&mut self.begun, true) {
            rest = rest.strip_prefix(BYTE_ORDER_MARK).unwrap_or(rest);
        }
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let Some(field) = self.field else {
                rest = self.read_name(rest, &mut data);
                continue;
            };
            if std::mem::take(&mut self.at_value_start) && *first == b' ' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let end = memchr::memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
            let (value, after) = rest.split_at(end);
            match field {
                Field::Data => data(value),
                Field::Id => keep(&mut self.id, value),
                Field::Event => keep(&mut self.event, value),
                Field::Other => {}
            }
            rest = self.end_line(after);
        }
    }

    /// Returns the event's id, once all of it was taken.
    #[must_use]
    pub fn id(&self) -> Option<&[u8]> {
        self.id.as_deref()
    }

    /// Reads a field's name up to its colon or the end of its line.
    fn read_name<'b>(&mut self, rest: &'b [u8], data: &mut impl FnMut(&[u8])) -> &'b [u8] {
        let end = memchr::memchr3(b'\r', b'\n', b':', rest).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let room = 8_usize.saturating_sub(self.name.len());
        self.name.extend_from_slice(name.get(..name.len().min(room)).unwrap_or_default());
        if after.is_empty() {
            return after;
        }
        let field = match self.name.as_slice() {
            b"id" => Field::Id,
            b"event" => Field::Event,
            b"data" => Field::Data,
            _ => Field::Other,
        };
        match field {
            Field::Data => {
                if self.data_lines > 0 {
                    data(b"\n");
                }
                self.data_lines += 1;
            }
            Field::Id => self.id = Some(Vec::new()),
            Field::Event => self.event = Some(Vec::new()),
            Field::Other => {}
        }
        self.name.clear();
        match after.strip_prefix(b":") {
            Some(value) => {
                self.field = Some(field);
                self.at_value_start = true;
                value
            }
            None => self.end_line(after),
        }
    }

    /// Passes over the end of a line, if it is there.
    fn end_line<'b>(&mut self, after: &'b [u8]) -> &'b [u8] {
        let Some(first) = after.first() else { return after };
        self.field = None;
        self.at_value_start = false;
        self.after_cr = *first == b'\r';
        after.get(1..).unwrap_or_default()
    }
}

fn keep(field: &mut Option<Vec<u8>>, value: &[u8]) {
    let kept = field.get_or_insert_default();
    let room = FIELD_LIMIT.saturating_sub(kept.len());
    kept.extend_from_slice(value.get(..value.len().min(room)).unwrap_or_default());
}
