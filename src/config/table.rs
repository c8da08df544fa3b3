//! A table of a configuration file, read key by key, so that an error says where it stands and what was meant.

use super::{ConfigError, line_of};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A configuration file's text.
#[derive(Clone, Copy)]
pub(super) struct Source<'s> {
    pub(super) path: &'s Path,
    pub(super) text: &'s str,
}

impl<'s> Source<'s> {
    /// Returns an error about what stands at a byte of the text.
    pub(super) fn error(self, at: usize, reason: impl Into<String>) -> ConfigError {
        let line = Some(line_of(self.text, at));
        ConfigError { path: self.path.into(), line, reason: reason.into(), hint: None }
    }

    /// Reads the text as a table.
    pub(super) fn parse(self) -> Result<DeTable<'s>, ConfigError> {
        let parsed = DeTable::parse(self.text);
        parsed.map(Spanned::into_inner).map_err(|error| ConfigError::of_toml(self.path, self.text, &error))
    }

    /// Returns a value with where it stands and what it is called.
    pub(super) fn entry<'v>(self, name: &'v str, value: &'v Spanned<DeValue<'s>>) -> Entry<'v, 's> {
        Entry { source: self, name, at: value.span().start, value: value.get_ref() }
    }
}

/// A value, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Entry<'v, 's> {
    source: Source<'s>,
    name: &'v str,
    at: usize,
    value: &'v DeValue<'s>,
}

impl<'v, 's> Entry<'v, 's> {
    /// Returns an error about this value.
    pub(super) fn error(self, reason: impl Into<String>) -> ConfigError {
        self.source.error(self.at, reason)
    }

    fn wanted(self, what: &str) -> ConfigError {
        self.error(format!("`{}` is {what}, not {}", self.name, with_article(self.value.type_str())))
    }

    pub(super) fn string(self) -> Result<String, ConfigError> {
        self.value.as_str().map(str::to_owned).ok_or_else(|| self.wanted("a string"))
    }

    pub(super) fn is_string(self) -> bool {
        self.value.is_str()
    }

    pub(super) fn boolean(self) -> Result<bool, ConfigError> {
        self.value.as_bool().ok_or_else(|| self.wanted("true or false"))
    }

    /// Returns a list of strings that is not empty, such as a command with its arguments.
    pub(super) fn words(self) -> Result<Vec<String>, ConfigError> {
        let array = self.value.as_array().ok_or_else(|| self.wanted("a list of strings"))?;
        let words: Result<Vec<String>, ConfigError> =
            array.iter().map(|item| self.source.entry(self.name, item).item()).collect();
        words.and_then(
            |words| if words.is_empty() { Err(self.error(format!("`{}` is empty", self.name))) } else { Ok(words) },
        )
    }

    fn item(self) -> Result<String, ConfigError> {
        let wrong = || {
            self.error(format!("`{}` is a list of strings; one is {}", self.name, with_article(self.value.type_str())))
        };
        self.value.as_str().map(str::to_owned).ok_or_else(wrong)
    }

    pub(super) fn table(self) -> Result<&'v DeTable<'s>, ConfigError> {
        self.value.as_table().ok_or_else(|| self.wanted("a table"))
    }

    /// Returns the tables of `[[name]]`, each with where it stands.
    pub(super) fn tables(self) -> Result<Vec<Entry<'v, 's>>, ConfigError> {
        let wrong = || self.error(format!("`{}` is a list of tables: write [[{}]]", self.name, self.name));
        let array = self.value.as_array().ok_or_else(wrong)?;
        Ok(array.iter().map(|item| self.source.entry(self.name, item)).collect())
    }

    /// Returns the members of this table, which may have these keys.
    pub(super) fn members(self, known: &[&str]) -> Result<Vec<(&'v str, Entry<'v, 's>)>, ConfigError> {
        members(self.source, self.table()?, self.name, known)
    }
}

/// Returns the members of a table, which may have these keys.
pub(super) fn members<'v, 's>(
    source: Source<'s>,
    table: &'v DeTable<'s>,
    name: &str,
    known: &[&str],
) -> Result<Vec<(&'v str, Entry<'v, 's>)>, ConfigError> {
    let mut found = Vec::new();
    for (key, value) in table {
        let word = key.get_ref().as_ref();
        if !known.contains(&word) {
            let place = if name.is_empty() { String::new() } else { format!(" in `{name}`") };
            let error = source.error(key.span().start, format!("unknown key `{word}`{place}"));
            let meant = crate::error::meant(word, known.iter().copied());
            let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
            return Err(ConfigError {
                hint: hint.or_else(|| Some(format!("known keys: {}", known.join(", ")))),
                ..error
            });
        }
        found.push((word, source.entry(word, value)));
    }
    // A table is sorted by its keys; people read from the top.
    found.sort_by_key(|(_, entry)| entry.at);
    Ok(found)
}

fn with_article(kind: &str) -> String {
    let vowel = kind.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {kind}", if vowel { "an" } else { "a" })
}
