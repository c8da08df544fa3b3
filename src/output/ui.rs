//! The printers: [`Ui`] for commands whose stdout is data, [`StatusUi`] for `record`, which has no stdout at all.
#![expect(clippy::disallowed_methods, reason = "prints, and asks the terminal how wide it is")]

use crate::error::CommandError;
use anstream::{AutoStream, ColorChoice};
use std::io::{BufWriter, IsTerminal, Write};

/// When to colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    fn choice(self, terminal: bool) -> ColorChoice {
        match self {
            Self::Always => ColorChoice::Always,
            Self::Auto if terminal && !crate::config::no_color() => ColorChoice::Always,
            Self::Auto | Self::Never => ColorChoice::Never,
        }
    }
}

/// The signs that depend on whether the terminal shows UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signs {
    /// To the server.
    pub right: &'static str,
    /// To the client.
    pub left: &'static str,
    /// Answers the row above.
    pub answers: &'static str,
    /// None, or cannot be said.
    pub none: &'static str,
    /// Something is missing here.
    pub cut: &'static str,
}

/// The signs of a terminal that shows UTF-8.
pub const UTF8_SIGNS: Signs = Signs { right: "→", left: "←", answers: "└", none: "–", cut: "…" };
/// The signs of one that does not.
pub const ASCII_SIGNS: Signs = Signs { right: ">", left: "<", answers: "\\", none: "-", cut: "..." };

/// Prints a command's data on stdout and its talk on stderr.
pub struct Ui {
    // Plain: data goes out as it is, byte for byte. Styled text is stripped on its way in where no colour is wanted.
    out: BufWriter<std::io::Stdout>,
    out_is_coloured: bool,
    err: Box<dyn Write>,
    width: usize,
    out_is_terminal: bool,
    err_is_terminal: bool,
    quiet: bool,
    signs: Signs,
}

impl Ui {
    /// Returns the printer of this process.
    #[must_use]
    pub fn new(color: Color, quiet: bool) -> Self {
        let out_is_terminal = std::io::stdout().is_terminal();
        let err_is_terminal = std::io::stderr().is_terminal();
        let err = AutoStream::new(std::io::stderr(), color.choice(err_is_terminal));
        Self {
            out: BufWriter::with_capacity(64 << 10, std::io::stdout()),
            out_is_coloured: color.choice(out_is_terminal) == ColorChoice::Always,
            err: Box::new(err),
            width: width(out_is_terminal),
            out_is_terminal,
            err_is_terminal,
            quiet,
            signs: if crate::config::is_utf8() { UTF8_SIGNS } else { ASCII_SIGNS },
        }
    }

    /// Returns where data goes, byte for byte.
    pub fn out(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// Prints data as it is.
    ///
    /// # Errors
    /// The reader went away, or the disk is full.
    pub fn data(&mut self, text: &str) -> Result<(), CommandError> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Prints text for people; its colours are left out where none are wanted.
    ///
    /// # Errors
    /// The reader went away, or the disk is full.
    pub fn print(&mut self, text: &str) -> Result<(), CommandError> {
        if self.out_is_coloured {
            return Ok(self.out.write_all(text.as_bytes())?);
        }
        Ok(write!(self.out, "{}", anstream::adapter::strip_str(text))?)
    }

    /// Prints a line.
    ///
    /// # Errors
    /// The reader went away, or the disk is full.
    pub fn line(&mut self, text: &str) -> Result<(), CommandError> {
        self.print(text)?;
        self.print("\n")
    }

    /// Passes on what was printed so far.
    ///
    /// # Errors
    /// The reader went away, or the disk is full.
    pub fn flush(&mut self) -> Result<(), CommandError> {
        Ok(self.out.flush()?)
    }

    /// Returns true if stdout is a pipe that nobody reads any more, so that waiting for something to print is in vain.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let stdout = std::io::stdout();
        let mut pipe = [PollFd::new(&stdout, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let asked = poll(&mut pipe, Some(&now));
        asked.is_ok_and(|ready| ready > 0) && pipe.iter().any(|fd| fd.revents().contains(PollFlags::ERR))
    }

    /// Says what to type next, on stderr and to a person only: a pipe never sees it.
    pub fn next(&mut self, text: &str) {
        if self.out_is_terminal && !self.quiet {
            let _ = self.out.flush();
            let _ = writeln!(self.err, "\n{}", super::styles::paint(super::styles::DIM, &format!("next: {text}")));
        }
    }

    /// Says something that is no data.
    pub fn say(&mut self, text: &str) {
        if !self.quiet {
            let _ = self.out.flush();
            let _ = writeln!(self.err, "{text}");
        }
    }

    /// Prints an error: the sentence, then what to do about it.
    pub fn error(&mut self, error: &CommandError) {
        let _ = self.out.flush();
        let _ = write!(self.err, "{}", describe(error));
    }

    /// Returns how many columns there are.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the signs to use.
    #[must_use]
    pub fn signs(&self) -> Signs {
        self.signs
    }

    /// Returns true if a person sees stdout.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.out_is_terminal
    }

    /// Returns true if progress may be drawn on stderr.
    #[must_use]
    pub fn shows_progress(&self) -> bool {
        self.err_is_terminal && !self.quiet
    }
}

/// Returns an error as text, with its hints.
#[must_use]
pub fn describe(error: &CommandError) -> String {
    use super::styles::{BAD, DIM, paint};
    let mut text = format!("{} {}\n", paint(BAD, "error:"), error.message);
    for hint in &error.hints {
        text.push_str(&format!("{} {hint}\n", paint(DIM, "hint:")));
    }
    text
}

fn width(terminal: bool) -> usize {
    if let Some(columns) = crate::config::columns() {
        return columns;
    }
    if terminal && let Ok(size) = rustix::termios::tcgetwinsize(std::io::stdout()) {
        return usize::from(size.ws_col).clamp(40, 1000);
    }
    80
}

/// Talks to a person during `record`. It has no stdout: that belongs to the protocol.
#[derive(Debug, Clone, Copy)]
pub struct StatusUi {
    terminal: bool,
}

impl Default for StatusUi {
    fn default() -> Self {
        Self::new()
    }
}

impl StatusUi {
    /// Returns the printer of this process.
    #[must_use]
    pub fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal() }
    }

    /// Returns true if a person sees it.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        self.terminal
    }

    /// Says a line of our own.
    pub fn say(self, text: &str) {
        // One write a line: the server's stderr passes through the same stream.
        let _ = std::io::stderr().write_all(format!("mcp-tap: {text}\n").as_bytes());
    }

    /// Says a line that is told with others of its kind.
    pub fn line(self, text: &str) {
        let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
    }

    /// Says what to do.
    pub fn hint(self, text: &str) {
        let _ = std::io::stderr().write_all(format!("hint: {text}\n").as_bytes());
    }

    /// Says a line of our own, to a person only.
    pub fn tell_person(self, text: &str) {
        if self.terminal {
            self.say(text);
        }
    }

    /// Prints lines as they are, to a person only.
    pub fn show_person(self, text: &str) {
        if self.terminal {
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }
}

/// Has a panic say one line of ours instead of a trace.
pub fn install_panic_line() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        StatusUi { terminal: false }.say(&format!("internal error{place}; please report it"));
    }));
}
