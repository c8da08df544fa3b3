//! What every command has at hand.

use crate::error::CommandError;
use crate::output::ui::Ui;
use crate::store::retention::Retention;
use crate::store::{Location, Reader, StoreError};

/// The printer and the place of the store.
pub struct Context {
    /// The printer.
    pub ui: Ui,
    /// Where the store is.
    pub location: Location,
}

impl Context {
    /// Opens the store for reading; `None` if nothing was ever recorded there.
    ///
    /// # Errors
    /// What is wrong with the store.
    pub fn reader(&self) -> Result<Option<Reader>, CommandError> {
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
        use crate::store::location::NamedBy;
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
            "mcp-tap record -- SERVER…       in place of the command in your client".into(),
        ]
    }
}
