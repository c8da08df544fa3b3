//! `export`: a session as a file.

use super::{Context, select};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::progress::Progress;
use crate::session_file::encode;
use std::io::Write;
use std::path::PathBuf;

/// Write a session to a file
///
/// One frame a line: it can be read in a pull request, committed, looked at where it is, and imported elsewhere.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// Session: a name, an id or its beginning, `NAME~1` (default: the newest)
    #[arg(add = clap_complete::engine::ArgValueCompleter::new(super::complete::sessions))]
    pub session: Option<String>,
    /// The file; without it, or with `-`, stdout
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// There is no such session, or the file cannot be written.
pub fn run(ctx: &mut Context, args: &ExportArgs) -> Result<Code, CommandError> {
    let reader = ctx.reader()?;
    let found = select::find(ctx, reader.as_ref(), args.session.as_deref())?;
    let output = args.output.as_ref().filter(|path| path.as_os_str() != "-");
    let progress =
        Progress::bytes(ctx.ui.shows_progress() && output.is_some(), "exporting", found.source.session().bytes);
    let Some(path) = output else {
        let mut failed = None;
        let mut out = Watched { inner: ctx.ui.out(), failed: &mut failed };
        let done = encode::session(&*found.source, &mut out, &mut |_| {});
        return match (done, failed) {
            (_, Some(error)) => Err(error.into()),
            (Err(error), None) => Err(error.into()),
            (Ok(()), None) => Ok(Code::Done),
        };
    };
    super::file::write(path, |out| {
        encode::session(&*found.source, out, &mut |bytes| progress.add(bytes)).map_err(CommandError::from)
    })?;
    drop(progress);
    ctx.ui.say(&format!("{} written to {}", found.typed, path.display()));
    Ok(Code::Done)
}

/// Keeps the error of a write, so that a reader that went away is told from a full disk.
struct Watched<'a> {
    inner: &'a mut dyn Write,
    failed: &'a mut Option<std::io::Error>,
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.inner.write(bytes).map_err(|error| {
            let kind = error.kind();
            *self.failed = Some(error);
            kind.into()
        })
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}
