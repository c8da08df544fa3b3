//! Makes a server's text safe to show: nothing in it can move the cursor, hide text or turn it around.

use unicode_width::UnicodeWidthChar;

/// Returns the text with control, bidirectional and zero-width characters written as escapes.
#[must_use]
pub fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            '\u{1b}' => shown.push_str("\\e"),
            c if is_hostile(c) && (c as u32) < 0x100 => shown.push_str(&format!("\\x{:02x}", c as u32)),
            c if is_hostile(c) => shown.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => shown.push(c),
        }
    }
    shown
}

/// Returns bytes as a safe line; what is not UTF-8 is written as escapes of its bytes.
#[must_use]
pub fn bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown.push_str(&line(chunk.valid()));
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02x}"));
        }
    }
    shown
}

/// Returns true for a character that can move, hide or turn around what is shown.
#[must_use]
pub fn is_hostile(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns how many columns a text takes.
#[must_use]
pub fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// Returns the text cut to so many columns, with `…` (or `...` without UTF-8) where something is missing.
#[must_use]
pub fn cut(text: &str, columns: usize, ellipsis: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(width(ellipsis));
    let mut used = 0;
    let mut shown = String::new();
    for character in text.chars() {
        let wide = character.width().unwrap_or(0);
        if used + wide > room {
            break;
        }
        used += wide;
        shown.push(character);
    }
    shown.push_str(ellipsis);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_can_act_on_a_terminal() {
        assert_eq!(line("a\u{1b}[2Jb\u{7}\u{9b}x"), "a\\e[2Jb\\x07\\x9bx");
        assert_eq!(line("abc\u{202e}txt.exe\u{200b}"), "abc\\u{202e}txt.exe\\u{200b}");
        assert_eq!(line("two\nlines\t\r"), "two\\nlines\\t\\r");
        assert_eq!(line("grün 😀 日本"), "grün 😀 日本");
        assert_eq!(bytes(b"caf\xe9 \xff\xfe"), "caf\\xe9 \\xff\\xfe");
    }

    #[test]
    fn cutting_counts_columns() {
        assert_eq!(cut("abcdef", 6, "…"), "abcdef");
        assert_eq!(cut("abcdefg", 6, "…"), "abcde…");
        assert_eq!(cut("日本語の", 5, "…"), "日本…");
        assert_eq!(cut("abc", 0, "…"), "…");
    }
}
