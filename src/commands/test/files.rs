//! The session files of a test: those that were named, and those below the folders that were.

use crate::error::CommandError;
use crate::output::sanitize;
use std::path::{Path, PathBuf};

/// The folder that is looked into if none is named.
pub(super) const DEFAULT: &str = "sessions";

/// How deep folders are looked into.
const DEEPEST: usize = 16;

/// Returns the session files, those of a folder in the order of their names; each once.
///
/// Without a name they are looked for here, else beside the project's file, whose folder `project` is.
///
/// # Errors
/// There are none, or a name is that of nothing.
pub(super) fn find(named: &[PathBuf], project: Option<&Path>) -> Result<Vec<PathBuf>, CommandError> {
    let here = PathBuf::from(DEFAULT);
    let beside = project.map(|folder| folder.join(DEFAULT)).filter(|beside| beside.is_dir() && !here.is_dir());
    let default = [beside.unwrap_or(here)];
    let places = if named.is_empty() { default.as_slice() } else { named };
    let mut found: Vec<PathBuf> = Vec::new();
    for place in places {
        if place.is_dir() {
            let mut inside = Vec::new();
            below(place, 0, &mut inside);
            inside.sort();
            if inside.is_empty() && !named.is_empty() {
                return Err(none(place));
            }
            found.extend(inside);
        } else if place.exists() || place.extension().is_some_and(|end| end == "jsonl") {
            // One that cannot be read is an error of that file, told beside the others.
            found.push(place.clone());
        } else if named.is_empty() {
            return Err(none(place));
        } else {
            let shown = sanitize::line(&place.display().to_string());
            let error = CommandError::usage(format!("`{shown}` is no session file and no folder of them"));
            return Err(error.hint("mcp-tap test FILE.jsonl -- SERVER…     the server's command stands after --"));
        }
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|file| seen.insert(file.clone()));
    if found.is_empty() { Err(none(Path::new(DEFAULT))) } else { Ok(found) }
}

fn none(place: &Path) -> CommandError {
    let shown = sanitize::line(&place.display().to_string());
    CommandError::usage(format!("no session files in `{shown}`"))
        .hint("mcp-tap test --add SESSION -- SERVER…     makes one of a recording")
        .hint("mcp-tap sessions                          lists the recordings")
}

fn below(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        // A link to a folder could lead round and round.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if hidden {
            continue;
        }
        if is_folder && depth < DEEPEST {
            below(&path, depth + 1, found);
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            found.push(path);
        }
    }
}
