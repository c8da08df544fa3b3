//! The command line as a whole: which commands there are, and how the program ends.

use crate::commands::{self, Context};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::ui::{Color, Ui, install_panic_line};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
{about}

{usage-heading} {usage}

Record:
  record       Run a server command and record what it and its client say
  tail         Follow what is being recorded
  sessions     List, show, rename, delete and prune recordings (alias: ls)

Look:
  inspect      Show the messages of a session, or one exchange
  latency      Show how long calls took: per tool and method, from recordings

Compare:
  diff         Show what differs between two sessions
  replay       Play a recorded client against a server and show what differs
  test         Replay session files against a server and tell which answers differ
  review       Go through what the last test found, one change at a time

Stand in:
  mock         Be the recorded server, for any client

Files:
  export       Write a session to a file
  import       Read a session file into the store

Other:
  demo         Play a recording and look at it: needs nothing else
  completions  Print the completions for a shell
  man          Write the manual pages
  help         Explain a command

Options:
{options}

Exit codes: 0 done; 1 the answer is \"no\"; 2 usage; 3 could not do it.
`record` ends as the server did, `mock` as the recorded one.
";

/// Record what an MCP client and its server say, and look at it
#[derive(Debug, Parser)]
#[command(name = "mcp-tap", version, help_template = HELP, disable_help_subcommand = false)]
pub struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

/// What every command takes.
#[derive(Debug, Args)]
pub struct GlobalArgs {
    /// Use this store (else MCP_TAP_STORE, the user's configuration, ~/.local/state/mcp-tap/store.db)
    #[arg(long, value_name = "FILE", global = true)]
    pub store: Option<PathBuf>,
    /// Colour the output
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", global = true)]
    pub color: Color,
    /// Say nothing but data and errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Record(commands::record::RecordArgs),
    Tail(commands::tail::TailArgs),
    #[command(alias = "ls")]
    Sessions(commands::sessions::SessionsArgs),
    Inspect(commands::inspect::InspectArgs),
    Latency(commands::latency::LatencyArgs),
    Diff(commands::diff::DiffArgs),
    Replay(commands::replay::ReplayArgs),
    Test(commands::test::TestArgs),
    Review(commands::review::ReviewArgs),
    Mock(commands::mock::MockArgs),
    Export(commands::export::ExportArgs),
    Import(commands::import::ImportArgs),
    Demo(commands::demo::DemoArgs),
    Completions(commands::completions::CompletionsArgs),
    Man(commands::man::ManArgs),
    #[command(hide = true, name = "sample-server")]
    SampleServer(crate::sample::SampleArgs),
    #[command(hide = true)]
    Show(Guess),
    #[command(hide = true)]
    Serve(Guess),
    #[command(hide = true)]
    Check(Guess),
    #[command(hide = true)]
    Verify(Guess),
}

/// Takes whatever was typed after a word that is no command of ours.
#[derive(Debug, Args)]
struct Guess {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<OsString>,
}

/// Runs the program.
#[must_use]
pub fn run() -> ExitCode {
    install_panic_line();
    if let Some(shell) = crate::config::completing_shell() {
        return complete(&shell);
    }
    let words = mark_command(std::env::args_os().collect());
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, &words),
    };
    match &cli.command {
        // These own stdout, or become something else: no printer is made for them.
        Some(Command::Record(args)) => return commands::record::run(&cli.global, args).into(),
        Some(Command::Mock(args)) => return commands::mock::run(&cli.global, args).into(),
        Some(Command::SampleServer(args)) => return crate::sample::serve(args).into(),
        _ => {}
    }
    let (location, config_error) = crate::config::location(cli.global.store.as_deref());
    let mut ctx = Context { ui: Ui::new(cli.global.color, cli.global.quiet), location };
    let done = match config_error {
        Some(error) => {
            Err(CommandError::failed(error.to_string()).hint("mend the file, or name the store with --store FILE"))
        }
        None => dispatch(&mut ctx, cli.command.as_ref()),
    };
    let done = done.and_then(|code| ctx.ui.flush().map(|()| code));
    match done {
        Ok(code) => u8::from(code).into(),
        Err(error) if error.broken_pipe => ExitCode::SUCCESS,
        Err(error) => {
            ctx.ui.error(&error);
            u8::from(error.code).into()
        }
    }
}

fn dispatch(ctx: &mut Context, command: Option<&Command>) -> Result<Code, CommandError> {
    match command {
        None => commands::home::run(ctx),
        Some(Command::Sessions(args)) => commands::sessions::run(ctx, args),
        Some(Command::Inspect(args)) => commands::inspect::run(ctx, args),
        Some(Command::Tail(args)) => commands::tail::run(ctx, args),
        Some(Command::Latency(args)) => commands::latency::run(ctx, args),
        Some(Command::Completions(args)) => commands::completions::run(ctx, args),
        Some(Command::Man(args)) => commands::man::run(ctx, args),
        Some(Command::Diff(args)) => commands::diff::run(ctx, args),
        Some(Command::Replay(args)) => commands::replay::run(ctx, args),
        Some(Command::Test(args)) => commands::test::run(ctx, args),
        Some(Command::Review(args)) => commands::review::run(ctx, args),
        Some(Command::Export(args)) => commands::export::run(ctx, args),
        Some(Command::Import(args)) => commands::import::run(ctx, args),
        Some(Command::Demo(args)) => commands::demo::run(ctx, args),
        Some(Command::Show(_)) => Err(CommandError::usage("no command `show`")
            .hint(ctx.typed_for("inspect", "the messages of a session"))
            .hint(ctx.typed_for("sessions show", "all that is known of a recording"))),
        Some(Command::Serve(_)) => Err(CommandError::usage("no command `serve`")
            .hint(ctx.typed_for("mock SESSION", "is a recorded server, on stdio"))
            .hint(ctx.typed_for("record -- SERVER…", "runs a server on stdio, and records it"))),
        Some(Command::Check(_)) => Err(no_verdict(ctx, "check")),
        Some(Command::Verify(_)) => Err(no_verdict(ctx, "verify")),
        Some(Command::Record(_) | Command::Mock(_) | Command::SampleServer(_)) => Ok(Code::Done),
    }
}

fn no_verdict(ctx: &Context, word: &str) -> CommandError {
    CommandError::usage(format!("no command `{word}`"))
        .hint(ctx.typed_for("test -- SERVER…", "replays session files and tells which answers differ"))
}

/// Tells a shell what may come next; its command line stands after `--`.
fn complete(shell: &str) -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip_while(|word| word != "--").skip(1).collect();
    let answer = commands::complete::answer(shell, &Cli::command(), words);
    let mut ui = Ui::new(Color::Never, true);
    let printed = ui.print(&String::from_utf8_lossy(&answer)).and_then(|()| ui.flush());
    // A shell shows nothing and a person is not disturbed where this fails.
    u8::from(printed.map_or(Code::Failed, |()| Code::Done)).into()
}

/// Prints what clap has to say, in the words of the house.
fn usage(error: &clap::Error, words: &[OsString]) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let mut ui = Ui::new(Color::Auto, false);
        let text = error.render().ansi().to_string();
        let done = ui.print(&text).and_then(|()| ui.flush());
        return if done.is_err_and(|error| !error.broken_pipe) {
            u8::from(Code::Failed).into()
        } else {
            ExitCode::SUCCESS
        };
    }
    let text = error.render().to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.next().unwrap_or_default().trim_start_matches("error: ").replace('\'', "`");
    let mut said = CommandError::usage(message);
    for line in lines {
        let line = line.replace('\'', "`");
        if let Some(tip) = line.strip_prefix("tip: ") {
            said = said.hint(tip.to_owned());
        } else if let Some(usage) = line.strip_prefix("Usage: ") {
            said = said.hint(usage.to_owned());
        } else if !line.starts_with("For more information") {
            said.message.push_str(&format!(" {line}"));
        }
    }
    if let Some(command) = meant_show(error, words) {
        said.hints = vec![command];
    }
    Ui::new(Color::Auto, false).error(&said);
    u8::from(Code::Usage).into()
}

/// Returns what to type where a session stands behind `sessions` or `sessions list`, which take none.
fn meant_show(error: &clap::Error, words: &[OsString]) -> Option<String> {
    use clap::error::{ContextKind, ContextValue};
    let is_list = |word: &&OsString| *word == "sessions" || *word == "ls" || *word == "list";
    let (kind, similar) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        _ => return None,
    };
    let Some(ContextValue::String(word)) = error.get(kind) else { return None };
    let at = words.iter().position(|other| other.to_str() == Some(word))?;
    let before = words.get(at.checked_sub(1)?)?;
    if error.get(similar).is_some() || word.starts_with('-') || !is_list(&before) {
        return None;
    }
    let store = commands::complete::named_store(words);
    let (location, _) = crate::config::location(store.as_deref());
    let word = crate::output::sanitize::line(word);
    Some(commands::context::typed(&location, &format!("sessions show {word}")))
}

/// Flags of `record` that take a value.
const VALUED: [&str; 11] = [
    "--store",
    "--color",
    "--name",
    "--url",
    "--upstream",
    "--listen",
    "--header",
    "--header-env",
    "--ca-file",
    "--client-cert",
    "--client-key",
];

/// Puts `--` before the server's command of `record`, where it is not there: several clients take it out.
///
/// Everything from the command on is the server's own, to the letter; a word that begins with `-` is never taken for
/// a command, so that a mistyped flag of ours is an error.
fn mark_command(mut words: Vec<OsString>) -> Vec<OsString> {
    let flag_with_value = |word: &OsStr| VALUED.iter().any(|flag| word == *flag);
    let mut at = 1;
    let mut in_record = false;
    while let Some(word) = words.get(at) {
        if word == "--" {
            return words;
        }
        let is_flag = word.as_encoded_bytes().starts_with(b"-");
        if flag_with_value(word) {
            at += 2;
        } else if is_flag {
            at += 1;
        } else if !in_record {
            if word != "record" {
                return words;
            }
            in_record = true;
            at += 1;
        } else {
            words.insert(at, "--".into());
            return words;
        }
    }
    words
}

/// Returns the command line, for what is generated from it.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(words: &[&str]) -> Vec<String> {
        let words = words.iter().map(OsString::from).collect();
        mark_command(words).into_iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_servers_command_is_marked_and_left_alone() {
        let cases: [(&[&str], &[&str]); 7] = [
            (&["t", "record", "srv", "--db", "x"], &["t", "record", "--", "srv", "--db", "x"]),
            (
                &["t", "record", "--name", "n", "srv", "--", "-y"],
                &["t", "record", "--name", "n", "--", "srv", "--", "-y"],
            ),
            (
                &["t", "--store", "s", "record", "--name=n", "srv"],
                &["t", "--store", "s", "record", "--name=n", "--", "srv"],
            ),
            (&["t", "record", "--", "srv", "--", ""], &["t", "record", "--", "srv", "--", ""]),
            (&["t", "record", "--nmae", "x"], &["t", "record", "--nmae", "--", "x"]),
            (&["t", "inspect", "record", "x"], &["t", "inspect", "record", "x"]),
            (&["t", "record"], &["t", "record"]),
        ];
        for (words, expected) in cases {
            assert_eq!(marked(words), expected, "{words:?}");
        }
    }

    #[test]
    fn every_command_is_in_the_help_and_every_one_in_the_help_is_there() {
        Cli::command().debug_assert();
        let help = Cli::command().render_help().to_string();
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let line = format!("  {:<11}  {about}", command.get_name());
            assert!(help.contains(line.trim_end()), "{line}");
        }
    }
}
