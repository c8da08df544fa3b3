//! Options that several commands share: what is compared and how, what is sent, and how the server is started.

use crate::analysis::report::{FailOn, Options};
use crate::error::CommandError;
use crate::output::sanitize;
use crate::replay::choice::Choice;
use crate::transport::stdio::Surroundings;
use std::path::PathBuf;
use std::time::Duration;

/// Which surface changes fail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Surface {
    /// Those that break a client, or may
    #[default]
    Breaking,
    /// All
    Any,
    /// None
    None,
}

#[derive(Debug, Clone, Default, clap::Args)]
#[expect(missing_docs, reason = "a sentence here would take the place of the command's own help")]
pub struct CompareArgs {
    /// Compare timestamps, ids, tokens, cursors and what masks name by value, not by shape
    #[arg(long)]
    pub strict: bool,
    /// Take two numbers, not both whole, for the same up to this part of the larger, such as 1e-6
    #[arg(long, value_name = "X", value_parser = parse_tolerance)]
    pub float_tolerance: Option<f64>,
    /// Report another order of an array, but do not fail for it
    #[arg(long)]
    pub ignore_order: bool,
    /// Surface changes that end with 1
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    pub fail_on: Surface,
}

impl CompareArgs {
    /// Returns what is compared, and how.
    #[must_use]
    pub fn options(&self) -> Options {
        Options {
            strict: self.strict,
            float_tolerance: self.float_tolerance,
            ignore_order: self.ignore_order,
            fail_on: match self.fail_on {
                Surface::Breaking => FailOn::Breaking,
                Surface::Any => FailOn::Any,
                Surface::None => FailOn::None,
            },
        }
    }
}

#[derive(Debug, Clone, Default, clap::Args)]
#[expect(missing_docs, reason = "a sentence here would take the place of the command's own help")]
pub struct ChoiceArgs {
    /// Send only requests of this method or name
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    /// Send no requests of this method or name
    #[arg(long, value_name = "NAME")]
    pub skip: Vec<String>,
    /// Call only tools that say they only read
    #[arg(long)]
    pub read_only: bool,
    /// Call tools that say they are destructive, too
    #[arg(long)]
    pub destructive: bool,
}

impl ChoiceArgs {
    /// Returns what is sent; `one` is the only message that was asked for.
    #[must_use]
    pub fn choice(&self, one: Option<u64>) -> Choice {
        Choice {
            only: self.only.clone(),
            skip: self.skip.clone(),
            read_only: self.read_only,
            destructive: self.destructive,
            one,
        }
    }
}

#[derive(Debug, Clone, Default, clap::Args)]
#[expect(missing_docs, reason = "a sentence here would take the place of the command's own help")]
pub struct ServerArgs {
    /// Wait so long for an answer [default: 30s, or ten times what it took]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub timeout: Option<Duration>,
    /// Take so long for the whole replay [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub limit: Option<Duration>,
    /// Start the server in this folder
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Set a variable for the server
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Run this line of shell before the server starts, to bring it back to a known state
    #[arg(long, value_name = "CMD")]
    pub before: Option<String>,
}

impl ServerArgs {
    /// Returns where the server runs.
    ///
    /// # Errors
    /// A variable is not written as one.
    pub fn surroundings(&self) -> Result<Surroundings, CommandError> {
        let mut variables = Vec::new();
        for pair in &self.env {
            match pair.split_once('=').filter(|(name, _)| !name.is_empty()) {
                Some((name, value)) => variables.push((name.into(), value.into())),
                None => return Err(CommandError::usage(format!("`{}` is not NAME=VALUE", sanitize::line(pair)))),
            }
        }
        Ok(Surroundings { cwd: self.cwd.clone(), variables, apart: false })
    }
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..1.0).contains(&value) => Ok(value),
        _ => Err("a tolerance is a number from 0 to less than 1".into()),
    }
}

pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    crate::mock::fault::time(text).ok_or_else(|| "a time is a number with ms, s or m, such as 30s".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_are_parts() {
        assert_eq!(parse_tolerance("1e-6"), Ok(1e-6));
        assert_eq!(parse_tolerance("0"), Ok(0.0));
        for text in ["1", "-0.1", "x", "NaN", "inf"] {
            assert!(parse_tolerance(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_a_unit() {
        assert_eq!(parse_time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_time("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_time("3"), Ok(Duration::from_secs(3)));
        assert!(parse_time("0s").is_err() && parse_time("1h").is_err() && parse_time("").is_err());
    }
}
