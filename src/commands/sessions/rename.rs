//! `sessions rename`: gives a recording a name.

use crate::commands::{Context, select};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::session::selector::name_problem;
use crate::store::delete;

/// Which recording gets which name.
#[derive(Debug, clap::Args)]
pub(super) struct RenameArgs {
    /// Session: a name, an id or its beginning, `NAME~1`
    #[arg(add = clap_complete::engine::ArgValueCompleter::new(crate::commands::complete::stored_sessions))]
    session: String,
    /// Its new name
    name: String,
}

pub(super) fn run(ctx: &mut Context, args: &RenameArgs) -> Result<Code, CommandError> {
    if let Some(problem) = name_problem(&args.name) {
        let shown = crate::output::sanitize::line(&args.name);
        return Err(CommandError::usage(format!("`{shown}` cannot be a name: {problem}")));
    }
    let Some(reader) = ctx.reader()? else { return Err(ctx.no_sessions()) };
    let stored = select::stored(ctx, &reader, Some(&args.session))?;
    delete::rename(&reader, &stored, &args.name)?;
    let id = select::short_id(&reader, &stored.session.id)?;
    ctx.ui.say(&format!("{id} is now called {}", args.name));
    Ok(Code::Done)
}
