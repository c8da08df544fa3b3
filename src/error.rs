//! Errors as a person sees them: what, why, and what to type next.

use crate::exit_code::Code;
use crate::session::source::SourceError;
use crate::session_file::decode::DecodeError;
use crate::store::StoreError;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub struct CommandError {
    /// The exit code.
    pub code: Code,
    /// What went wrong: a fragment in lower case, values in backticks.
    pub message: String,
    /// What to do about it, one line each.
    pub hints: Vec<String>,
    /// True if whoever read our output went away: not an error to anybody.
    pub broken_pipe: bool,
}

impl CommandError {
    /// Returns an error of the kind "could not be done".
    pub fn failed(message: impl Into<String>) -> Self {
        Self { code: Code::Failed, message: message.into(), hints: Vec::new(), broken_pipe: false }
    }

    /// Returns an error of the kind "cannot be understood".
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: Code::Usage, ..Self::failed(message) }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        let hints: &[&str] = match &error {
            StoreError::Newer { .. } => &["update mcp-tap, or name another store with --store FILE"],
            StoreError::NotAStore { .. } => &["name a store of mcp-tap with --store FILE"],
            StoreError::Corrupt { .. } => &[
                "move the file away: the next recording makes a new one",
                "what can still be read: sqlite3 FILE .recover | sqlite3 NEW",
            ],
            StoreError::Missing { .. } => &[
                "mcp-tap record -- SERVER…       makes one",
                "mcp-tap demo                    a tour that needs nothing else",
            ],
            StoreError::Live { .. } => &["end the client that uses it first"],
            _ if error.is_busy() => &["another process holds the store: try again"],
            _ => &[],
        };
        hints.iter().fold(Self::failed(message), |error, hint| error.hint(*hint))
    }
}

impl From<SourceError> for CommandError {
    fn from(error: SourceError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<DecodeError> for CommandError {
    fn from(error: DecodeError) -> Self {
        let newer = matches!(error, DecodeError::Newer { .. });
        let failed = Self::failed(error.to_string());
        if newer { failed.hint("update mcp-tap") } else { failed }
    }
}

/// Returns what the system said of a file, in lower case and without its number.
#[must_use]
pub fn sentence(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// Returns which word was probably meant by a wrong one: less than half of it is typed wrong.
#[must_use]
pub fn meant<'w>(wrong: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let near = |far: usize, word: &str| far <= 3 && far * 2 < word.chars().count().max(wrong.chars().count());
    let found = words.map(|word| (distance(word, wrong), word)).filter(|(far, word)| near(*far, word)).min();
    found.map(|(_, word)| word)
}

/// Returns how many letters must change to get from one word to the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let kept = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = kept.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        Self { broken_pipe: error.kind() == std::io::ErrorKind::BrokenPipe, ..Self::failed(sentence(&error)) }
    }
}

impl From<serde_json::Error> for CommandError {
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(kind) => std::io::Error::from(kind).into(),
            None => Self::failed(error.to_string()),
        }
    }
}
