//! Bare `mcp-tap`: the newest sessions, and what to type next.

use super::Context;
use super::sessions::{ListArgs, list};
use crate::error::CommandError;
use crate::exit_code::Code;

/// Runs it.
///
/// # Errors
/// What kept the store from being read.
pub fn run(ctx: &mut Context) -> Result<Code, CommandError> {
    list(ctx, &ListArgs { limit: 5, ..ListArgs::default() })?;
    ctx.ui.say("\nmcp-tap --help    all commands");
    Ok(Code::Done)
}
