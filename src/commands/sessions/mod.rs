//! `sessions`: what is stored.

mod delete;
mod list;
mod prune;
mod rename;
mod show;

pub use list::{ListArgs, list};

use super::Context;
use crate::error::CommandError;
use crate::exit_code::Code;

/// List, show, rename, delete and prune recordings
#[derive(Debug, clap::Args)]
pub struct SessionsArgs {
    #[command(subcommand)]
    command: Option<SessionsCommand>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, clap::Subcommand)]
enum SessionsCommand {
    /// List recordings, newest first
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Show all that is known of a recording
    Show(show::ShowArgs),
    /// Give a recording a name
    Rename(rename::RenameArgs),
    /// Delete recordings
    #[command(visible_alias = "rm")]
    Delete(delete::DeleteArgs),
    /// Delete old recordings; without options, what `[retention]` in the user's configuration says
    Prune(prune::PruneArgs),
}

/// Runs the command.
///
/// # Errors
/// What the subcommand says.
pub fn run(ctx: &mut Context, args: &SessionsArgs) -> Result<Code, CommandError> {
    match &args.command {
        None => list(ctx, &args.list),
        Some(SessionsCommand::List(args)) => list(ctx, args),
        Some(SessionsCommand::Show(args)) => show::run(ctx, args),
        Some(SessionsCommand::Rename(args)) => rename::run(ctx, args),
        Some(SessionsCommand::Delete(args)) => delete::run(ctx, args),
        Some(SessionsCommand::Prune(args)) => prune::run(ctx, args),
    }
}
