//! What a test prints: for people, for programs, for build servers.

use super::TestArgs;
use super::one::Rules;
use crate::commands::file::cannot_write;
use crate::commands::play::Stage;
use crate::commands::{Context, select};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::render::diff::Look;
use crate::output::render::test;
use crate::output::{github, json, json_test, junit};
use crate::replay::tested::{Tested, Verdict};
use std::io::Write;

/// Prints the report, and writes those that were asked for.
///
/// # Errors
/// The reader went away, or a file cannot be written.
pub(super) fn show(
    ctx: &mut Context,
    args: &TestArgs,
    stage: &Stage,
    rules: &Rules,
    tested: &[Tested],
    code: Code,
) -> Result<(), CommandError> {
    let fail_on = rules.options.fail_on;
    let command = command(stage);
    let github = crate::config::github();
    if args.json {
        json::report(ctx.ui.out(), "test", json_test::TestBody::of(tested, fail_on, code.into()))?;
    } else {
        let look = Look { width: ctx.ui.width(), signs: ctx.ui.signs() };
        let mut text = format!("{}\n{}", test::heading(tested, &command), test::rows(tested, fail_on, look));
        let details = test::all_details(tested, look);
        if !details.is_empty() {
            text.push_str(&format!("\n{details}"));
        }
        text.push_str(&format!("\n{}{}", test::sum(tested), test::updates(tested)));
        // The runner takes lines that begin with `::` for commands, and a server could say one.
        let mark = github.as_ref().map(|_| format!("{:016x}", fastrand::u64(..)));
        if let Some(mark) = &mark {
            ctx.ui.print(&format!("::stop-commands::{mark}\n"))?;
        }
        ctx.ui.print(&text)?;
        if let Some(mark) = &mark {
            ctx.ui.print(&format!("::{mark}::\n"))?;
        }
    }
    if let Some(path) = &args.junit {
        std::fs::write(path, junit::document(tested, fail_on)).map_err(|error| cannot_write(path, &error))?;
    }
    if let Some(github) = &github {
        let here = std::env::current_dir().unwrap_or_default();
        let below = |file: &str| {
            let whole = here.join(file);
            let inside = github.workspace.as_ref().and_then(|root| whole.strip_prefix(root).ok());
            inside.map_or_else(|| file.to_owned(), |path| path.display().to_string())
        };
        let text = github::annotations(tested, fail_on, below);
        // Beside a report for programs they go to stderr, which the runner reads as well.
        if args.json {
            if !text.is_empty() {
                ctx.ui.say(text.trim_end());
            }
        } else {
            ctx.ui.data(&text)?;
        }
        if let Some(path) = &github.summary {
            let summary = github::summary(tested, fail_on, &command);
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            file.and_then(|mut file| file.write_all(summary.as_bytes())).map_err(|error| cannot_write(path, &error))?;
        }
    }
    if !args.json {
        next(ctx, args, tested)?;
    }
    Ok(())
}

/// Says what to type next.
fn next(ctx: &mut Context, args: &TestArgs, tested: &[Tested]) -> Result<(), CommandError> {
    let failed = tested.iter().find(|file| file.verdict == Verdict::Failed && file.made.is_some());
    let Some(made) = failed.and_then(|file| file.made.as_ref()).filter(|_| !args.update) else { return Ok(()) };
    let id = match ctx.reader()? {
        Some(reader) => select::short_id(&reader, &made.id)?,
        None => made.id.clone(),
    };
    let lines = [
        ctx.typed_for("review", "one change at a time: accept, reject, mask"),
        ctx.typed_for("test --update", "accept them all"),
        ctx.typed_for(&format!("inspect {id}"), "the first replay that failed"),
    ];
    ctx.ui.next(&lines.join("\n      "));
    Ok(())
}

/// Returns the server's command as it was typed, secrets masked.
fn command(stage: &Stage) -> String {
    let words: Vec<String> = stage.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    crate::capture::redact::argv(&words).0.join(" ")
}
