//! What a person types where a session belongs, and which session that is.

/// A session argument as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// The newest one.
    Latest,
    /// A path to a session file.
    File(std::path::PathBuf),
    /// A name or the beginning of an id, and how many recordings of that name to go back.
    Named {
        /// What was typed before the `~`.
        text: String,
        /// The number after it; 0 for the newest.
        back: usize,
    },
}

impl Selector {
    /// Reads an argument: it never fails, since what it means depends on what is stored.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if text == "latest" {
            return Self::Latest;
        }
        if text.contains('/') || text.ends_with(".jsonl") {
            return Self::File(text.into());
        }
        match text.rsplit_once('~').and_then(|(name, back)| Some((name, back.parse().ok()?))) {
            Some((name, back)) => Self::Named { text: name.to_owned(), back },
            None => Self::Named { text: text.to_owned(), back: 0 },
        }
    }
}

/// Returns why a text cannot be a session's name, or `None` if it can.
#[must_use]
pub fn name_problem(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("a name needs a character")
    } else if name == "latest" {
        Some("`latest` means the newest session")
    } else if name.bytes().all(|byte| byte == b'.') {
        Some("it means a folder")
    } else if name.bytes().all(|byte| byte.is_ascii_digit()) {
        Some("a number is always a message")
    } else if name.contains(['/', '\\', '~']) || name.ends_with(".jsonl") {
        Some("`/`, `\\`, `~` and `.jsonl` mean a file or an earlier recording")
    } else if name.chars().any(char::is_control) || name.starts_with('-') {
        Some("it begins with `-` or has a control character")
    } else if name.len() > 120 {
        Some("it is longer than 120 bytes")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_told_apart() {
        assert_eq!(Selector::parse("latest"), Selector::Latest);
        assert_eq!(Selector::parse("sessions/a.jsonl"), Selector::File("sessions/a.jsonl".into()));
        assert_eq!(Selector::parse("a.jsonl"), Selector::File("a.jsonl".into()));
        assert_eq!(Selector::parse("weather~2"), Selector::Named { text: "weather".into(), back: 2 });
        assert_eq!(Selector::parse("a~b"), Selector::Named { text: "a~b".into(), back: 0 });
        assert_eq!(Selector::parse("qw"), Selector::Named { text: "qw".into(), back: 0 });
    }

    #[test]
    fn names_that_would_mean_something_else_are_refused() {
        for name in ["", "latest", "42", "../x", "a~1", "a.jsonl", "-x", "a\u{1b}[2J"] {
            assert!(name_problem(name).is_some(), "{name:?}");
        }
        for name in ["weather", "load-1.5", "wetter-büro", "4x"] {
            assert_eq!(name_problem(name), None, "{name:?}");
        }
    }
}
