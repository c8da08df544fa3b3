//! The few colours of the house; each repeats a word or a sign, so that nothing is lost without them.

use anstyle::{AnsiColor, Style};

/// Headers and what matters less.
pub const DIM: Style = Style::new().dimmed();
/// What a line is about.
pub const BOLD: Style = Style::new().bold();
/// What went wrong.
pub const BAD: Style = AnsiColor::Red.on_default();
/// What wants attention.
pub const WARN: Style = AnsiColor::Yellow.on_default();
/// What is well.
pub const GOOD: Style = AnsiColor::Green.on_default();

/// Returns a text in a style.
#[must_use]
pub fn paint(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{style}{text}{style:#}") }
}
