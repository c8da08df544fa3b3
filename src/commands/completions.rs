//! `completions`: the script that has a shell ask this program what may come next.

use super::Context;
use crate::error::CommandError;
use crate::exit_code::Code;
use clap_complete::env::Shells;

/// The variable by which a shell asks; not `COMPLETE`, which might reach a server's client by accident.
pub const VARIABLE: &str = "MCP_TAP_COMPLETE";

/// Print the completions for a shell
///
/// They complete commands, options, names and ids of sessions and names of tools, by asking this program.
///
///   bash        mcp-tap completions bash > ~/.local/share/bash-completion/completions/mcp-tap
///
///   zsh         mcp-tap completions zsh > ~/.zfunc/_mcp-tap
///
///   fish        mcp-tap completions fish > ~/.config/fish/completions/mcp-tap.fish
///
///   elvish      eval (mcp-tap completions elvish | slurp)
///
///   powershell  mcp-tap completions powershell | Out-String | Invoke-Expression
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// A shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Shell {
    /// GNU Bash
    Bash,
    /// Zsh
    Zsh,
    /// fish
    Fish,
    /// Elvish
    Elvish,
    /// PowerShell
    #[value(name = "powershell")]
    PowerShell,
}

impl Shell {
    fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
            Self::Elvish => "elvish",
            Self::PowerShell => "powershell",
        }
    }
}

/// Runs the command.
///
/// # Errors
/// The reader went away.
pub fn run(ctx: &mut Context, args: &CompletionsArgs) -> Result<Code, CommandError> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(args.shell.name()) else {
        return Err(CommandError::failed(format!("no completions for {}", args.shell.name())));
    };
    shell.write_registration(VARIABLE, "mcp-tap", "mcp-tap", "mcp-tap", &mut script)?;
    let text = String::from_utf8_lossy(&script);
    ctx.ui.line(text.trim())?;
    Ok(Code::Done)
}
