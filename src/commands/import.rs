//! `import`: a session file into the store.

use super::{Context, select};
use crate::capture::recorder::wait_for_lock;
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::progress::Progress;
use crate::session::derive::PieceDeriver;
use crate::session::source::{SessionSource, SourceError};
use crate::session_file::{FileSource, encode};
use crate::store::liveness::LiveLock;
use crate::store::rows::Row;
use crate::store::writer::Totals;
use crate::store::{Writer, delete, reader::lane_of};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// Read a session file into the store
#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// The file that `export` wrote; `-` is stdin
    pub file: PathBuf,
}

/// How many bytes of rows make a transaction.
const BATCH: usize = 4 << 20;

/// Runs the command.
///
/// # Errors
/// The file cannot be read, or another recording has its id.
pub fn run(ctx: &mut Context, args: &ImportArgs) -> Result<Code, CommandError> {
    let stdin = args.file.as_os_str() == "-";
    let shown = if stdin { "stdin".into() } else { args.file.display().to_string() };
    let mut data = Vec::new();
    let read = if stdin {
        std::io::stdin().lock().read_to_end(&mut data)
    } else {
        File::open(&args.file).and_then(|mut file| file.read_to_end(&mut data))
    };
    read.map_err(|error| CommandError::failed(format!("cannot read `{shown}`: {}", crate::error::sentence(&error))))?;
    let source = FileSource::read(data).map_err(|error| {
        let error = CommandError::from(error);
        CommandError { message: format!("`{shown}`: {}", error.message), ..error }
    })?;
    let id = source.session().id.clone();
    if let Some(reader) = ctx.reader()? {
        // What an import left that was cut off is in the way of the next.
        delete::finish_interrupted(&reader)?;
    }
    if let Some(reader) = ctx.reader()?
        && let Some(known) = reader.by_id(&id)?
    {
        let mut exported = Vec::new();
        encode::session(&reader.source(known)?, &mut exported, &mut |_| {})?;
        let short = select::short_id(&reader, &id)?;
        if exported == source.content() {
            ctx.ui.say(&format!("{short} is in the store already, byte for byte"));
            return Ok(Code::Done);
        }
        return Err(CommandError::failed(format!("a session `{short}` is in the store and differs from `{shown}`"))
            .hint(format!("delete it first: {}", ctx.typed(&format!("sessions delete {short}"))))
            .hint(format!("or read the file where it is: mcp-tap inspect {shown}")));
    }
    store(ctx, &source)?;
    let Some(reader) = ctx.reader()? else { return Err(ctx.no_sessions()) };
    let short = select::short_id(&reader, &id)?;
    ctx.ui.say(&format!("{short} imported from {shown}"));
    let next = ctx.typed(&format!("inspect {short}"));
    ctx.ui.next(&next);
    Ok(Code::Done)
}

/// Writes a whole file into the store.
fn store(ctx: &Context, source: &FileSource) -> Result<(), CommandError> {
    let session = source.session();
    let name = session.name.as_deref();
    if let Some(name) = name
        && let Some(problem) = crate::session::selector::name_problem(name)
    {
        let shown = crate::output::sanitize::line(name);
        return Err(CommandError::failed(format!("`{shown}` cannot be a session's name: {problem}")));
    }
    let progress = Progress::bytes(ctx.ui.shows_progress(), "importing", session.bytes);
    // Held until all of it is there: what is left of an import that was cut off is swept away, a living one is not.
    let _lock = LiveLock::take(&ctx.location.path, &session.id)?;
    let mut writer = Writer::begin_import(&ctx.location.path, session, wait_for_lock)?;
    let mut deriver = PieceDeriver::default();
    let exchanges = source.exchanges()?;
    let mut rows: Vec<Row> = source.gaps()?.into_iter().map(Row::Gap).collect();
    rows.extend(exchanges.iter().cloned().map(|exchange| Row::Http(Box::new(exchange))));
    let mut weight = 0;
    let mut next_part = 0;
    let mut parts_from = 0;
    let totals = Totals { frames: session.frames, bytes: session.bytes, lost_frames: session.lost_frames };
    let facts = crate::session::derive::Facts {
        client: session.client.clone(),
        server: session.server.clone(),
        revisions: session.revisions.clone(),
        messages: session.messages,
        calls: session.calls,
        bad: session.bad,
    };
    source.frames(0..u64::MAX, u64::MAX, &mut |info, part, bytes| {
        progress.add(bytes.len() as u64);
        let lane = lane_of(info);
        let whole = info.parts == 0;
        if !whole {
            if part == 0 {
                parts_from = next_part;
            }
            rows.push(Row::Part { number: next_part, lane, bytes: bytes.to_vec() });
            next_part += 1;
        }
        if whole || part + 1 == info.parts {
            let bytes = if whole { bytes.to_vec() } else { Vec::new() };
            rows.push(Row::Frame { info: info.clone(), parts_from: (!whole).then_some(parts_from), lane, bytes });
        }
        deriver.piece(info, part, bytes, |derived| {
            rows.push(Row::Derived(derived));
        });
        weight += bytes.len() + 400;
        if weight > BATCH {
            weight = 0;
            writer.append(&std::mem::take(&mut rows), totals, &facts, name).map_err(SourceError::of)?;
        }
        Ok(())
    })?;
    deriver.exchanges(&exchanges, |derived| rows.push(Row::Derived(derived)));
    writer.append(&rows, totals, &facts, name)?;
    if let Some(ended) = session.ended_ns {
        writer.end(&session.id, ended, session.end_reason.as_deref().unwrap_or_default(), session.exit_status)?;
    }
    writer.finish_import()?;
    Ok(())
}
