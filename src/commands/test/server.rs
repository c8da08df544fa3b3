//! The server of a test: the command that was typed, or one of the project's file.

use super::TestArgs;
use super::one::Rules;
use crate::commands::Context;
use crate::commands::play::{self, Stage};
use crate::config::{Before, PROJECT_FILE, ProjectFile, ServerEntry};
use crate::error::CommandError;
use crate::output::sanitize;
use crate::replay::driver::{Pace, Settings};
use crate::session::session::Origin;
use crate::transport::stdio::Surroundings;

/// Returns the server and what is sent to it.
///
/// # Errors
/// No server is named, or one that is not there.
pub(super) fn stage(
    ctx: &Context,
    args: &TestArgs,
    project: Option<&ProjectFile>,
) -> Result<(Stage, Rules), CommandError> {
    let entry = entry(args, project)?;
    let mut choice = args.choice.choice(None);
    let mut surroundings = Surroundings { apart: args.jobs > 1, ..args.server.surroundings()? };
    let mut before: Vec<String> = args.server.before.iter().cloned().collect();
    let mut command = args.command.clone();
    if let Some((project, entry)) = entry {
        if command.is_empty() {
            command = entry.command.iter().map(Into::into).collect();
        }
        // A file means what stands beside it, wherever the test is run.
        let folder = project.path.parent().map(std::path::Path::to_path_buf);
        surroundings.cwd = surroundings.cwd.or_else(|| entry.cwd.clone()).or(folder);
        let typed = std::mem::take(&mut surroundings.variables);
        surroundings.variables = entry.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        surroundings.variables.extend(typed);
        if before.is_empty() {
            before.extend(entry.before.as_ref().map(line));
        }
        choice.destructive |= entry.destructive;
    }
    // What is brought back can be destroyed.
    choice.destructive |= !before.is_empty();
    let stage = Stage {
        command,
        surroundings,
        before,
        settings: Settings {
            pace: Pace::Fast,
            timeout: args.server.timeout,
            limit: args.server.limit.unwrap_or(play::LIMIT),
        },
        store: ctx.location.path.clone(),
        retention: ctx.retention(),
        origin: Origin::Test,
    };
    Ok((stage, Rules { choice, options: args.compare.options() }))
}

fn line(before: &Before) -> String {
    match before {
        Before::Shell(line) => line.clone(),
        // Words with a NUL cannot be run at all, and say so then.
        Before::Command(words) => shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" ")),
    }
}

/// Returns the entry that is meant, with its file; none where a command was typed alone.
fn entry<'p>(
    args: &TestArgs,
    project: Option<&'p ProjectFile>,
) -> Result<Option<(&'p ProjectFile, &'p ServerEntry)>, CommandError> {
    let names = || {
        let servers = project.iter().flat_map(|project| project.servers.keys());
        servers.map(|name| sanitize::line(name)).collect::<Vec<_>>()
    };
    if let Some(name) = &args.server_name {
        if let Some(project) = project
            && let Some(entry) = project.servers.get(name)
        {
            return Ok(Some((project, entry)));
        }
        let name = sanitize::line(name);
        let error = CommandError::usage(format!("no server `{name}` in {PROJECT_FILE}"));
        return Err(match (project, names().as_slice()) {
            (None, _) => error.hint(format!("there is no {PROJECT_FILE} here or above")),
            (_, []) => error.hint(format!("[servers.{name}] command = [\"…\"] makes one")),
            (_, names) => error.hint(format!("it has {}", names.join(", "))),
        });
    }
    if !args.command.is_empty() {
        return Ok(None);
    }
    if let Some(project) = project
        && project.servers.len() == 1
    {
        return Ok(project.servers.values().next().map(|entry| (project, entry)));
    }
    let error = CommandError::usage("test plays the clients and needs a server to talk to")
        .hint("mcp-tap test -- SERVER…     the server's command stands after --");
    Err(match names().as_slice() {
        [] => error.hint(format!("or once and for all: [servers.NAME] command = [\"…\"] in {PROJECT_FILE}")),
        names => error.hint(format!("or one of {PROJECT_FILE}: --server {}", names.join(", "))),
    })
}
