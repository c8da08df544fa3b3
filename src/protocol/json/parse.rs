//! The one pass that fills the arena.

use super::{
    scan::{SyntaxError, error_at, scan_number, scan_string},
    tree::{Slot, Tree},
};

/// Where the key of a member stands, with its quotes.
#[derive(Clone, Copy, Default)]
struct KeySpan {
    start: u32,
    end: u32,
}

/// A container whose closing bracket has not come yet.
#[derive(Clone, Copy)]
struct Open {
    id: u32,
    is_object: bool,
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    slots: Vec<Slot>,
    open: Vec<Open>,
    depth: usize,
}

/// Reads exactly one JSON text.
pub(super) fn parse(bytes: &[u8]) -> Result<Tree<'_>, SyntaxError> {
    check_length(bytes.len())?;
    let mut parser = Parser {
        bytes,
        at: if bytes.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 },
        slots: Vec::new(),
        open: Vec::new(),
        depth: 0,
    };
    let mut next_value = Some(KeySpan::default());
    while let Some(key) = next_value {
        next_value = parser.value(key)?;
    }
    parser.skip_whitespace();
    if parser.at < bytes.len() {
        return Err(parser.error("something follows the JSON value"));
    }
    Ok(Tree { bytes, slots: parser.slots, depth: narrow(parser.depth) })
}

/// Refuses what 32-bit offsets cannot point into.
fn check_length(length: usize) -> Result<(), SyntaxError> {
    match u32::try_from(length) {
        Ok(_) => Ok(()),
        Err(_) => Err(SyntaxError { offset: u32::MAX as usize, what: "a text of 4 GiB or more is not read" }),
    }
}

/// Narrows an offset; `check_length` has made sure that it fits, and a node takes at least one
/// byte.
fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

impl Parser<'_> {
    /// Reads a scalar or the start of a container; returns the key of the value that follows,
    /// `None` after the root.
    fn value(&mut self, key: KeySpan) -> Result<Option<KeySpan>, SyntaxError> {
        self.skip_whitespace();
        let start = self.at;
        match self.peek() {
            Some(b'{') => {
                self.open_container(key, true);
                if self.peek() == Some(b'}') {
                    self.close_container();
                } else {
                    return self.key().map(Some);
                }
            }
            Some(b'[') => {
                self.open_container(key, false);
                if self.peek() == Some(b']') {
                    self.close_container();
                } else {
                    return Ok(Some(KeySpan::default()));
                }
            }
            Some(b'"') => {
                self.at = scan_string(self.bytes, start)?;
                self.push(key, start);
            }
            Some(b'-' | b'0'..=b'9') => {
                self.at = scan_number(self.bytes, start)?;
                self.push(key, start);
            }
            Some(b't') => self.literal(key, b"true")?,
            Some(b'f') => self.literal(key, b"false")?,
            Some(b'n') => self.literal(key, b"null")?,
            _ => return Err(self.error("a value was expected")),
        }
        self.after_value()
    }

    /// Reads closing brackets up to the comma that announces another value; returns that value's
    /// key.
    fn after_value(&mut self) -> Result<Option<KeySpan>, SyntaxError> {
        loop {
            let Some(parent) = self.open.last().copied() else {
                return Ok(None);
            };
            self.skip_whitespace();
            match (self.peek(), parent.is_object) {
                (Some(b','), true) => {
                    self.at += 1;
                    self.skip_whitespace();
                    return self.key().map(Some);
                }
                (Some(b','), false) => {
                    self.at += 1;
                    return Ok(Some(KeySpan::default()));
                }
                (Some(b'}'), true) | (Some(b']'), false) => self.close_container(),
                (_, true) => return Err(self.error("`,` or `}` was expected")),
                (_, false) => return Err(self.error("`,` or `]` was expected")),
            }
        }
    }

    /// Reads a key and its colon.
    fn key(&mut self) -> Result<KeySpan, SyntaxError> {
        if self.peek() != Some(b'"') {
            return Err(self.error("a key in double quotes was expected"));
        }
        let start = self.at;
        self.at = scan_string(self.bytes, start)?;
        let key = KeySpan { start: narrow(start), end: narrow(self.at) };
        self.skip_whitespace();
        if self.peek() != Some(b':') {
            return Err(self.error("`:` was expected"));
        }
        self.at += 1;
        Ok(key)
    }

    fn literal(&mut self, key: KeySpan, word: &'static [u8]) -> Result<(), SyntaxError> {
        let start = self.at;
        for expected in word {
            if self.peek() != Some(*expected) {
                return Err(self.error("`true`, `false` or `null` was expected"));
            }
            self.at += 1;
        }
        self.push(key, start);
        Ok(())
    }

    /// Adds the value from `start` to here, as a child of the innermost open container.
    fn push(&mut self, key: KeySpan, start: usize) {
        if let Some(parent) = self.open.last()
            && let Some(slot) = self.slots.get_mut(parent.id as usize)
        {
            slot.child_count += 1;
        }
        self.slots.push(Slot {
            start: narrow(start),
            end: narrow(self.at),
            key_start: key.start,
            key_end: key.end,
            subtree_end: narrow(self.slots.len() + 1),
            child_count: 0,
        });
    }

    fn open_container(&mut self, key: KeySpan, is_object: bool) {
        let id = narrow(self.slots.len());
        self.push(key, self.at);
        self.open.push(Open { id, is_object });
        self.depth = self.depth.max(self.open.len());
        self.at += 1;
        self.skip_whitespace();
    }

    fn close_container(&mut self) {
        self.at += 1;
        let subtree_end = narrow(self.slots.len());
        if let Some(closed) = self.open.pop()
            && let Some(slot) = self.slots.get_mut(closed.id as usize)
        {
            slot.end = narrow(self.at);
            slot.subtree_end = subtree_end;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn error(&self, what: &'static str) -> SyntaxError {
        error_at(self.bytes, self.at, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_the_grammar_and_no_more() {
        for good in [
            "0",
            "-0",
            "1.50",
            "1E+2",
            "\"\"",
            "true",
            " null\r\n\t",
            "[1 , 2]",
            "{ \"a\" : 1 }",
            "[[],{}]",
            "\"\\ud800\"",
            "\"\\/\\u00e9\"",
            "\u{feff}1",
            "1e999999999999",
            "\"\u{7f}\"",
        ] {
            assert!(Tree::parse(good.as_bytes()).is_ok(), "{good}");
        }
        for (bad, offset) in [
            ("", 0),
            (" ", 1),
            ("01", 1),
            ("-", 1),
            ("1.", 2),
            (".5", 0),
            ("+1", 0),
            ("1e", 2),
            ("1e+", 3),
            ("[1,]", 3),
            ("[,1]", 1),
            ("[1 2]", 3),
            ("[1", 2),
            ("{\"a\"}", 4),
            ("{\"a\":}", 5),
            ("{\"a\":1,}", 7),
            ("{a:1}", 1),
            ("[1}", 2),
            ("{\"a\":1]", 6),
            ("]", 0),
            ("1 2", 2),
            ("nul", 3),
            ("nulL", 3),
            ("True", 0),
            ("\"a", 2),
            ("\"\\x\"", 2),
            ("\"\\u12g4\"", 5),
            ("\"\\u12", 5),
            ("\"a\tb\"", 2),
            ("'a'", 0),
            ("NaN", 0),
            ("\u{feff}\u{feff}1", 3),
            ("/**/1", 0),
            ("\"\\", 2),
            ("1\u{feff}", 1),
        ] {
            assert_eq!(Tree::parse(bad.as_bytes()).unwrap_err().offset, offset, "{bad}");
        }
    }

    #[test]
    fn errors_read_as_a_fragment() {
        let ended = Tree::parse(b"[1,").unwrap_err();
        assert_eq!(ended.to_string(), "the text ends too early at byte 3");
        let wrong = Tree::parse(b"[1;2]").unwrap_err();
        assert_eq!(wrong.to_string(), "`,` or `]` was expected at byte 2");
    }

    #[test]
    fn a_control_character_is_found_beyond_the_first_block() {
        let mut text = vec![b'"'];
        text.extend([b'x'; 200]);
        text.extend(b"\n\"");
        assert_eq!(Tree::parse(&text).unwrap_err().offset, 201);
    }

    #[test]
    fn invalid_utf8_is_evidence_inside_strings_only() {
        let tree = Tree::parse(b"\"a\xff\xc3\"").unwrap();
        assert_eq!(tree.root().raw(), b"\"a\xff\xc3\"");
        assert_eq!(Tree::parse(b"[\xff]").unwrap_err().offset, 1);
    }

    #[test]
    fn four_gibibytes_are_refused() {
        assert!(check_length(u32::MAX as usize).is_ok());
        if let Some(length) = (u32::MAX as usize).checked_add(1) {
            assert!(check_length(length).is_err());
        }
    }
}
