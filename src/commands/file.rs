//! Writing files that are whole or not there.

use crate::error::CommandError;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Returns why a file cannot be written.
pub(super) fn cannot_write(path: &Path, error: &std::io::Error) -> CommandError {
    let path = crate::output::sanitize::line(&path.display().to_string());
    CommandError::failed(format!("cannot write `{path}`: {}", crate::error::sentence(error)))
}

/// Writes a file beside its place and then moves it there: one that was there stays whole until the new one is.
///
/// # Errors
/// What `write` said, or why the file cannot be written.
pub(super) fn write(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let cannot = |error: std::io::Error| cannot_write(path, &error);
    let beside = path.with_file_name(format!(".{}.part", path.file_name().unwrap_or_default().to_string_lossy()));
    // One that was left behind may be readable by others, or be a link.
    let _ = std::fs::remove_file(&beside);
    let file = std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(&beside).map_err(cannot)?;
    let mut out = std::io::BufWriter::new(file);
    let written = write(&mut out)
        .and_then(|()| out.flush().map_err(cannot))
        .and_then(|()| std::fs::rename(&beside, path).map_err(cannot));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// Writes a file anew that is there; who may read it stays as it is.
///
/// # Errors
/// Why it cannot be written.
pub(super) fn rewrite(path: &Path, data: &[u8]) -> Result<(), CommandError> {
    let there = std::fs::metadata(path).map_err(|error| cannot_write(path, &error))?;
    write(path, |out| Ok(out.write_all(data)?))?;
    std::fs::set_permissions(path, there.permissions()).map_err(|error| cannot_write(path, &error))
}
