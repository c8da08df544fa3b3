//! `sessions delete`: deletes recordings, one by one and by name.

use crate::commands::{Context, select};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::store::delete;

/// Which recordings are deleted.
#[derive(Debug, clap::Args)]
pub(super) struct DeleteArgs {
    /// Sessions: names, ids or their beginnings, `NAME~1`
    #[arg(required = true, add = clap_complete::engine::ArgValueCompleter::new(crate::commands::complete::stored_sessions))]
    sessions: Vec<String>,
}

pub(super) fn run(ctx: &mut Context, args: &DeleteArgs) -> Result<Code, CommandError> {
    let Some(reader) = ctx.reader()? else { return Err(ctx.no_sessions()) };
    delete::finish_interrupted(&reader)?;
    // All are found before the first is deleted: `a~1` means the same at the end as it did at the start.
    let found =
        args.sessions.iter().map(|text| select::stored(ctx, &reader, Some(text))).collect::<Result<Vec<_>, _>>()?;
    for stored in found {
        let id = select::short_id(&reader, &stored.session.id)?;
        delete::session(&reader, &stored)?;
        let name = stored.session.name.as_deref().map(crate::output::sanitize::line).unwrap_or_default();
        ctx.ui.say(format!("deleted {id} {name}").trim_end());
    }
    Ok(Code::Done)
}
