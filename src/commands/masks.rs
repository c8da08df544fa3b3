//! The masks that hold for a comparison: the user's, the project's, and those of the sessions themselves.

use crate::analysis::rules::Rules;
use crate::config;
use crate::error::CommandError;
use crate::session::mask::MaskRule;
use crate::session::session::Session;
use std::path::Path;

/// Returns the masks that hold for these sessions, in the order in which they were written down.
///
/// # Errors
/// A configuration file cannot be used, or a session has a mask that cannot.
pub fn rules(sessions: &[&Session]) -> Result<Rules, CommandError> {
    let mut written: Vec<MaskRule> = config::user_masks(config::home().as_deref())?;
    if let Some(project) = config::project(Path::new("."))? {
        written.extend(project.masks);
    }
    for session in sessions {
        if let Err(error) = Rules::of(&session.masks) {
            let name = crate::output::sanitize::line(session.name.as_deref().unwrap_or(&session.id));
            let reason = crate::output::sanitize::line(&error.reason);
            return Err(CommandError::failed(format!("a mask of session `{name}` cannot be used: {reason}"))
                .hint("compare without masks: --strict"));
        }
        let new = session.masks.iter().filter(|rule| !written.contains(rule)).cloned().collect::<Vec<_>>();
        written.extend(new);
    }
    // All of them were checked where they stand.
    Rules::of(&written).map_err(|error| CommandError::failed(error.reason))
}
