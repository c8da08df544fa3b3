//! `man`: the manual pages, from the same words as the help.

use super::Context;
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::humanize::counted;
use clap_mangen::Man;
use std::path::{Path, PathBuf};

/// Below the options of the main page.
const EXIT_CODES: &str = "Exit codes: 0 done; 1 the answer is \"no\"; 2 what was typed cannot be understood; 3 it could \
                          not be done. `record` ends as the server did.";

/// Write the manual pages
///
/// Into a folder, one page a command; without a folder the main page goes to stdout: mcp-tap man | man -l -
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// The folder, such as ~/.local/share/man/man1
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// The folder cannot be written.
pub fn run(ctx: &mut Context, args: &ManArgs) -> Result<Code, CommandError> {
    let mut command = crate::cli::command().disable_help_subcommand(true).after_help(EXIT_CODES);
    command.build();
    let Some(folder) = &args.folder else {
        ctx.ui.out().write_all(&page(&command)?)?;
        return Ok(Code::Done);
    };
    let cannot = |path: &Path, error: std::io::Error| {
        CommandError::failed(format!("cannot write `{}`: {}", path.display(), crate::error::sentence(&error)))
    };
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    let mut pages = Vec::new();
    collect(&command, &mut pages)?;
    for (name, page) in &pages {
        let path = folder.join(name);
        std::fs::write(&path, page).map_err(|error| cannot(&path, error))?;
    }
    ctx.ui.say(&format!("{} written to {}", counted(pages.len() as u64, "page"), folder.display()));
    Ok(Code::Done)
}

/// Collects the page of a command and those of its subcommands, with the names of their files.
fn collect(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<(), CommandError> {
    pages.push((Man::new(command.clone()).get_filename(), page(command)?));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        collect(below, pages)?;
    }
    Ok(())
}

fn page(command: &clap::Command) -> Result<Vec<u8>, CommandError> {
    let mut text = Vec::new();
    Man::new(command.clone()).manual("mcp-tap").render(&mut text)?;
    Ok(text)
}
