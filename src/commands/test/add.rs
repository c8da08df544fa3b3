//! `test --add`: from a recording to a session file that can be committed.

use super::one::{self, Rules};
use super::{TestArgs, files, learn};
use crate::analysis::learn::Learned;
use crate::analysis::secrets;
use crate::commands::play::Stage;
use crate::commands::{Context, file, select};
use crate::error::CommandError;
use crate::exit_code::Code;
use crate::output::humanize::counted;
use crate::output::render::diff::Look;
use crate::output::render::test::{details, notes};
use crate::output::sanitize;
use crate::replay::script;
use crate::replay::tested::Verdict;
use crate::session::frame::{FrameInfo, Gap};
use crate::session::message::{Kind, Message, Place};
use crate::session::session::{Launch, Session};
use crate::session::source::{EachPiece, SessionSource, SourceError};
use crate::session_file::encode;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

/// How many places of what looks like a secret are shown.
const SHOWN: usize = 20;

/// Makes the file, and tests it.
///
/// # Errors
/// There is no such session, the file is there already or cannot be written, or the server did not start.
pub(super) fn run(
    ctx: &mut Context,
    args: &TestArgs,
    session: &str,
    stage: &Stage,
    rules: &Rules,
) -> Result<Code, CommandError> {
    let reader = match session {
        text if text.contains('/') || text.ends_with(".jsonl") => None,
        _ => ctx.reader()?,
    };
    let found = select::find(ctx, reader.as_ref(), Some(session))?;
    if found.source.is_live() {
        return Err(CommandError::failed(format!("`{}` is still being recorded", found.typed)));
    }
    let path = args.output.clone().unwrap_or_else(|| default_path(found.source.session(), &found.id));
    let shown = sanitize::line(&path.display().to_string());
    if path.exists() {
        return Err(CommandError::failed(format!("`{shown}` is there already"))
            .hint("-o FILE names another one")
            .hint(ctx.typed_for(&format!("test --update {shown} -- SERVER…"), "brings it up to date")));
    }
    let quiet = Quiet::of(&*found.source);
    let mut data = Vec::new();
    encode::session(&quiet, &mut data, &mut |_| {})?;
    one::of_data(data.clone(), &rules.choice)?;
    let secrets = secrets(&quiet)?;
    if !secrets.is_empty() && !args.allow_secret {
        tell_secrets(ctx, &found.typed, &secrets)?;
        return Ok(Code::No);
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| file::cannot_write(folder, &error))?;
    }
    file::write(&path, |out| Ok(out.write_all(&data)?))?;
    match learn::learn_file(ctx, &path, args.runs, stage, rules) {
        Ok(learned) if learned == Learned::default() => {}
        Ok(learned) => learn::tell(ctx, &shown, &learned)?,
        // What went wrong is told better by the test below.
        Err(error) if error.code == Code::No => {}
        Err(error) => return Err(not_added(&path, &shown, error)),
    }
    let tested = one::test(&path, &shown, stage, rules);
    let exchanges = counted(tested.differences.exchanges[0] as u64, "exchange");
    match (tested.verdict, &tested.trouble) {
        (Verdict::Ok, _) => {
            let notes = notes(&tested, rules.options.fail_on);
            let notes = if notes.is_empty() { notes } else { format!(", {notes}") };
            ctx.ui.line(&format!("ready  {shown}  {exchanges}{notes}"))?;
            let next = ctx.typed_for("test -- SERVER…", "replays all of them");
            ctx.ui.next(&next);
            Ok(Code::Done)
        }
        (_, Some(trouble)) => {
            let error = CommandError::failed(trouble.message.clone());
            Err(not_added(&path, &shown, trouble.hints.iter().fold(error, |error, hint| error.hint(hint.clone()))))
        }
        _ => {
            let look = Look { width: ctx.ui.width(), signs: ctx.ui.signs() };
            ctx.ui.print(&format!("not ready  {shown}  what is answered is not what was recorded\n"))?;
            ctx.ui.print(&details(&tested, look))?;
            Ok(Code::No)
        }
    }
}

/// Takes the file away again, so that the same can be typed once more.
fn not_added(path: &Path, shown: &str, error: CommandError) -> CommandError {
    let _ = std::fs::remove_file(path);
    CommandError { message: format!("`{shown}` was not added: {}", error.message), ..error }
}

/// Returns where a recording goes: into the folder of tests, under its name.
fn default_path(session: &Session, id: &str) -> PathBuf {
    let name = session.name.as_deref().unwrap_or(id).trim_end_matches(".jsonl");
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    Path::new(files::DEFAULT).join(format!("{}.jsonl", name.trim_start_matches('.')))
}

/// Something that looks like a secret, and where.
struct Secret {
    place: Place,
    finding: secrets::Finding,
}

fn secrets(source: &dyn SessionSource) -> Result<Vec<Secret>, SourceError> {
    let script = script::read(source)?;
    let mut found = Vec::new();
    let texts =
        script.messages.iter().filter(|message| !matches!(message.kind, Kind::Blank | Kind::Stray | Kind::Invalid));
    for message in texts {
        let findings = secrets::find(script.text(message.place)).into_iter();
        found.extend(findings.map(|finding| Secret { place: message.place, finding }));
    }
    // Lines that are no messages, and what the server wrote for people.
    let strays = script.messages.iter().filter(|message| matches!(message.kind, Kind::Stray | Kind::Invalid));
    let strays: std::collections::HashSet<u64> = strays.map(|message| message.place.seq).collect();
    source.frames(0..u64::MAX, crate::session::source::LOOK_LIMIT, &mut |info, _, bytes| {
        if info.channel == crate::session::frame::Channel::Stderr || strays.contains(&info.seq) {
            let place = Place { seq: info.seq, index: 0 };
            found.extend(secrets::find(bytes).into_iter().map(|finding| Secret { place, finding }));
        }
        Ok(())
    })?;
    found.sort_by_key(|secret| secret.place);
    Ok(found)
}

fn tell_secrets(ctx: &mut Context, typed: &str, secrets: &[Secret]) -> Result<(), CommandError> {
    let count = counted(secrets.len() as u64, "value");
    ctx.ui.line(&format!("not added: {count} of `{typed}` with the look of a secret"))?;
    let wide = secrets.iter().map(|secret| secret.place.to_string().len()).max().unwrap_or(1);
    for Secret { place, finding } in secrets.iter().take(SHOWN) {
        let pointer = sanitize::line(&finding.pointer);
        ctx.ui.line(format!("  {:>wide$}  {pointer}  {}", place.to_string(), finding.what).trim_end())?;
    }
    if secrets.len() > SHOWN {
        ctx.ui.line(&format!("  and {} more", secrets.len() - SHOWN))?;
    }
    ctx.ui.say("hint: --allow-secret adds it all the same");
    Ok(())
}

/// A recording without what it tells of the machine that it was made on: that belongs into no repository.
struct Quiet<'s> {
    inner: &'s dyn SessionSource,
    session: Session,
}

impl<'s> Quiet<'s> {
    fn of(inner: &'s dyn SessionSource) -> Self {
        let session = inner.session().clone();
        let launch = Launch { argv: session.launch.argv.clone(), url: session.launch.url.clone(), ..Launch::default() };
        Self { inner, session: Session { launch, ..session } }
    }
}

impl SessionSource for Quiet<'_> {
    fn session(&self) -> &Session {
        &self.session
    }

    fn is_live(&self) -> bool {
        self.inner.is_live()
    }

    fn messages(
        &self,
        frames: Range<u64>,
        each: &mut dyn FnMut(Message) -> ControlFlow<()>,
    ) -> Result<(), SourceError> {
        self.inner.messages(frames, each)
    }

    fn frames(&self, frames: Range<u64>, longest: u64, each: EachPiece<'_>) -> Result<(), SourceError> {
        self.inner.frames(frames, longest, &mut |info: &FrameInfo, part, bytes| each(info, part, bytes))
    }

    fn gaps(&self) -> Result<Vec<Gap>, SourceError> {
        self.inner.gaps()
    }
}
