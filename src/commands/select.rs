//! Finds the session that an argument means.

use super::Context;
use crate::error::CommandError;
use crate::session::selector::Selector;
use crate::session::session::{Origin, Session};
use crate::session::source::SessionSource;
use crate::session_file::FileSource;
use crate::store::Reader;
use crate::store::reader::Stored;

/// A session that was found, with how to call it.
pub struct Found<'r> {
    /// Where it is read from.
    pub source: Box<dyn SessionSource + 'r>,
    /// The shortest id that names it alone, or the file's name.
    pub id: String,
    /// What a person types for it.
    pub typed: String,
}

/// Returns the session that `text` means; nothing typed means the newest.
///
/// # Errors
/// There is no such session, or several: the sentence names what is there.
pub fn find<'r>(ctx: &Context, reader: Option<&'r Reader>, text: Option<&str>) -> Result<Found<'r>, CommandError> {
    let selector = Selector::parse(text.unwrap_or("latest"));
    if let Selector::File(path) = &selector {
        let data = std::fs::read(path).map_err(|error| {
            CommandError::failed(format!("cannot read `{}`: {}", path.display(), crate::error::sentence(&error)))
                .hint("a text with `/` or `.jsonl` means a session file")
        })?;
        let source = FileSource::read(data).map_err(|error| {
            let error = CommandError::from(error);
            CommandError { message: format!("`{}`: {}", path.display(), error.message), ..error }
        })?;
        let id =
            path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        return Ok(Found { source: Box::new(source), id, typed: path.display().to_string() });
    }
    let Some(reader) = reader else { return Err(ctx.no_sessions()) };
    let stored = stored(ctx, reader, text)?;
    let id = short_id(reader, &stored.session.id)?;
    let typed = match &stored.session.name {
        Some(name) if reader.newer_of_name(name, stored.number)? == 0 => name.clone(),
        _ => id.clone(),
    };
    Ok(Found { source: Box::new(reader.source(stored)?), id, typed })
}

/// Returns the stored session that `text` means.
///
/// # Errors
/// There is no such session, or several.
pub fn stored(ctx: &Context, reader: &Reader, text: Option<&str>) -> Result<Stored, CommandError> {
    let (text, back) = match Selector::parse(text.unwrap_or("latest")) {
        Selector::Latest => {
            // What was read from a file, or made by a test, is not what somebody just did.
            let recorded = reader.newest(|stored| !stored.imported && stored.session.origin != Origin::Test)?;
            let newest = if recorded.is_some() { recorded } else { reader.newest(|_| true)? };
            return newest.ok_or_else(|| ctx.no_sessions());
        }
        Selector::File(path) => {
            return Err(CommandError::usage(format!(
                "`{}` is a file, and this needs a session of the store",
                path.display()
            ))
            .hint(ctx.typed(&format!("import {}", path.display()))));
        }
        Selector::Named { text, back } => (text, back),
    };
    if let Some(found) = reader.by_name(&text, back)? {
        return Ok(found);
    }
    let with_name = reader.count_by_name(&text)?;
    if with_name > 0 {
        let newest = crate::output::humanize::counted(with_name, "recording");
        return Err(CommandError::failed(format!("no session `{text}~{back}`: there is only {newest} of that name"))
            .hint(ctx.typed(&format!("inspect {text}"))));
    }
    let letters = !text.is_empty() && text.bytes().all(|byte| crate::session::session::ID_LETTERS.contains(&byte));
    if back == 0 && letters {
        let mut found = reader.by_prefix(&text)?;
        if found.len() > 1 {
            let mut error = CommandError::failed(format!("`{text}` begins several ids"));
            for stored in found.iter().take(5) {
                error = error.hint(describe(reader, &stored.session)?);
            }
            return Err(error);
        }
        if let Some(found) = found.pop() {
            return Ok(found);
        }
    }
    Err(no_session(ctx, reader, &text)?)
}

fn no_session(ctx: &Context, reader: &Reader, text: &str) -> Result<CommandError, CommandError> {
    let error = CommandError::failed(format!("no session `{}`", crate::output::sanitize::line(text)));
    let Some(latest) = reader.newest(|_| true)? else { return Ok(ctx.no_sessions()) };
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(error.hint(format!("a bare number is a message: {}", ctx.typed(&format!("inspect {text}")))));
    }
    if reader.is_name_in(&latest, text)? {
        return Ok(
            error.hint(format!("it is a tool in the latest session: {}", ctx.typed(&format!("inspect --tool {text}"))))
        );
    }
    let names = reader.names()?;
    if let Some(name) = crate::error::meant(text, names.iter().map(String::as_str)) {
        return Ok(error.hint(format!("did you mean `{}`?", crate::output::sanitize::line(name))));
    }
    Ok(error.hint(ctx.typed_for("sessions", "lists what is there")))
}

fn describe(reader: &Reader, session: &Session) -> Result<String, CommandError> {
    let id = short_id(reader, &session.id)?;
    let name = session.name.as_deref().unwrap_or("without a name");
    Ok(format!(
        "{id}  {}, {}",
        crate::output::sanitize::line(name),
        crate::output::humanize::moment(session.started_at_ns)
    ))
}

/// Returns the shortest beginning of an id, four letters at least, that names it alone.
///
/// # Errors
/// What kept the store from being read.
pub fn short_id(reader: &Reader, id: &str) -> Result<String, CommandError> {
    for length in 4..id.len() {
        let Some(prefix) = id.get(..length) else { break };
        if reader.by_prefix(prefix)?.len() <= 1 {
            return Ok(prefix.to_owned());
        }
    }
    Ok(id.to_owned())
}
