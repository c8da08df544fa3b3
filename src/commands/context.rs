//! What every command has at hand.

use crate::error::CommandError;
use crate::output::ui::Ui;
use crate::store::location::NamedBy;
use crate::store::retention::Retention;
use crate::store::{Location, Reader, StoreError};

/// The printer and the place of the store.
pub struct Context {
    /// The printer.
    pub ui: Ui,
    /// Where the store is.
    pub location: Location,
}

/// Returns a command as it is to be typed: of a store that was named by `--store` only with that.
///
/// `words` begin with the subcommand.
#[must_use]
pub fn typed(location: &Location, words: &str) -> String {
    if location.named_by != NamedBy::Flag {
        return format!("mcp-tap {words}");
    }
    let shown = crate::store::location::shorten(&location.path, location.home.as_deref());
    // A shell puts the home in for a `~` only where nothing is quoted.
    let bare = shown.strip_prefix("~/").unwrap_or(&shown);
    let file = match shlex::try_quote(bare) {
        Ok(quoted) if quoted == bare => shown,
        _ => {
            let path = location.path.display().to_string();
            shlex::try_quote(&path).map(std::borrow::Cow::into_owned).unwrap_or(path)
        }
    };
    let file = crate::output::sanitize::line(&file);
    match words.split_once(' ') {
        Some((command, rest)) => format!("mcp-tap {command} --store {file} {rest}"),
        None => format!("mcp-tap {words} --store {file}"),
    }
}

impl Context {
    /// Returns a command on this store as it is to be typed; `words` begin with the subcommand.
    #[must_use]
    pub fn typed(&self, words: &str) -> String {
        typed(&self.location, words)
    }

    /// Returns a command as it is to be typed, and what it does in a column beside it.
    #[must_use]
    pub fn typed_for(&self, words: &str, what: &str) -> String {
        format!("{:<30}  {what}", self.typed(words))
    }

    /// Opens the store for reading; `None` if nothing was ever recorded there.
    ///
    /// # Errors
    /// What is wrong with the store.
    pub fn reader(&self) -> Result<Option<Reader>, CommandError> {
        if self.location.path.is_dir() {
            let folder = crate::output::sanitize::line(&self.location.path.display().to_string());
            return Err(CommandError::failed(format!("`{folder}` is a folder, and a store is a file"))
                .hint(format!("--store {}/store.db", folder.trim_end_matches('/'))));
        }
        match Reader::open(&self.location.path) {
            Ok(reader) => Ok(Some(reader)),
            Err(StoreError::Missing { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns what is kept of old recordings.
    #[must_use]
    pub fn retention(&self) -> Retention {
        crate::config::retention()
    }

    /// Returns the error of a store without sessions, with what to do about it.
    #[must_use]
    pub fn no_sessions(&self) -> CommandError {
        let error = CommandError::failed(format!("no sessions in {}", self.location.shown()));
        self.no_sessions_hints().into_iter().fold(error, CommandError::hint)
    }

    /// Returns what to do when there are no sessions.
    #[must_use]
    pub fn no_sessions_hints(&self) -> Vec<String> {
        if self.location.named_by == NamedBy::Variable
            && let Some(default) = crate::config::default_store()
            && let Ok(reader) = Reader::open(&default)
        {
            let mut count = 0_u64;
            let counted = reader.sessions(|_| {
                count += 1;
                std::ops::ControlFlow::Continue(())
            });
            if counted.is_ok() && count > 0 {
                return vec![format!("the default store has {count}: most clients do not pass MCP_TAP_STORE on")];
            }
        }
        vec![
            "mcp-tap demo                    a tour that needs nothing else".into(),
            self.typed_for("record -- SERVER…", "in place of the command in your client"),
        ]
    }
}
