//! The house rules that a machine can check: layers, file lengths, tables of contents, words that do not belong here.

use std::path::{Path, PathBuf};

/// Which rooms a room may use; `commands` and `cli` may use all.
const MAY_USE: [(&str, &[&str]); 13] = [
    ("protocol", &[]),
    ("session", &["protocol"]),
    ("analysis", &["protocol", "session"]),
    ("store", &["protocol", "session", "clock"]),
    ("session_file", &["protocol", "session"]),
    ("transport", &["session", "clock"]),
    ("capture", &["protocol", "session", "store", "transport", "clock"]),
    ("replay", &["protocol", "session", "analysis", "transport", "capture", "clock"]),
    ("mock", &["protocol", "session", "analysis", "transport", "replay", "clock"]),
    ("output", &["protocol", "session", "analysis", "replay", "mock", "error", "config"]),
    ("sample", &[]),
    ("exit_code", &[]),
    ("error", &["exit_code", "session", "session_file", "store"]),
];

/// Outside crates that belong to certain rooms only.
const CRATES: [(&str, &[&str]); 11] = [
    ("rusqlite", &["store"]),
    ("rustix", &["transport", "capture", "replay", "output", "sample"]),
    ("signal_hook", &["capture", "replay"]),
    ("clap", &["cli", "commands", "output", "sample"]),
    ("comfy_table", &["output"]),
    ("indicatif", &["output"]),
    ("anstream", &["output"]),
    ("base64", &["session_file", "analysis"]),
    ("toml", &["config"]),
    ("regex", &["analysis"]),
    ("jiff", &["output", "commands"]),
];

fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty());
    found
}

/// Returns the room a file is in: the folder, or the file, right below `src`.
fn room(path: &Path) -> String {
    let inside = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    inside.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

/// Returns the lines that are neither comments nor tests.
fn code(path: &Path) -> Vec<String> {
    if path.file_name().is_some_and(|name| name == "tests.rs") {
        return Vec::new();
    }
    let text = std::fs::read_to_string(path).unwrap();
    let product = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    product.lines().map(str::trim).filter(|line| !line.starts_with("//")).map(str::to_owned).collect()
}

fn is_word_before(line: &str, at: usize) -> bool {
    line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
}

#[test]
fn rooms_use_only_the_rooms_below_them() {
    for path in sources("src") {
        let room = room(&path);
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == room) else { continue };
        for line in code(&path) {
            for (at, _) in line.match_indices("crate::") {
                let rest = &line[at + 7..];
                let used: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let fine = used == room || used.is_empty() || allowed.contains(&used.as_str());
                assert!(fine, "{} uses `{used}`, which `{room}` may not: {line}", path.display());
            }
        }
    }
}

#[test]
fn crates_stay_in_their_rooms() {
    for path in sources("src") {
        let room = room(&path);
        for line in code(&path) {
            for (name, rooms) in CRATES {
                let uses = line.match_indices(&format!("{name}::")).any(|(at, _)| !is_word_before(&line, at));
                assert!(!uses || rooms.contains(&room.as_str()), "{} uses the crate `{name}`: {line}", path.display());
            }
        }
    }
}

#[test]
fn only_the_store_speaks_sql_and_all_of_it_stands_in_one_list() {
    let words = ["SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM "];
    for path in sources("src") {
        let in_list = path.ends_with("store/queries.rs");
        for line in code(&path).iter().filter(|line| !line.starts_with("#[")) {
            let sql = words.iter().any(|word| line.contains(&format!("\"{word}")));
            // Asking SQLite about itself is no query of the data.
            let about_itself = line.contains("sqlite_schema");
            assert!(!sql || in_list || about_itself, "SQL outside the list in {}: {line}", path.display());
        }
    }
}

#[test]
fn files_are_rooms_of_a_size_to_be_read() {
    let all = sources("src").into_iter().chain(sources("tests"));
    for path in all {
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= 800, "{} has {lines} lines", path.display());
    }
}

#[test]
fn tables_of_contents_have_no_logic() {
    // A folder of commands is an enum and a match; the others only say what is inside.
    let plain = [
        "protocol",
        "session",
        "store",
        "transport",
        "capture",
        "output",
        "session_file",
        "analysis",
        "replay",
        "mock",
    ];
    for path in sources("src").into_iter().filter(|path| path.ends_with("mod.rs")) {
        let folder = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        if plain.contains(&folder) {
            assert!(!code(&path).iter().any(|line| line.contains("fn ")), "{} has a function", path.display());
        }
    }
}

#[test]
fn every_source_file_belongs_to_the_crate() {
    let all = sources("src");
    for path in &all {
        let name = path.file_stem().unwrap().to_str().unwrap();
        if ["lib", "main", "mod"].contains(&name) {
            continue;
        }
        let declared = format!("mod {name};");
        let folder = path.parent().unwrap();
        let mut parents = vec![folder.join("mod.rs"), folder.join("lib.rs"), folder.with_extension("rs")];
        parents.retain(|parent| parent.exists());
        let found = parents.iter().any(|parent| std::fs::read_to_string(parent).unwrap().contains(&declared));
        assert!(found, "{} is in no `mod`", path.display());
    }
}

#[test]
fn dependencies_are_argued() {
    let manifest = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let mut in_dependencies = false;
    let mut argued = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            in_dependencies = line.ends_with("dependencies]");
        } else if in_dependencies && line.starts_with('#') {
            argued = true;
        } else if in_dependencies && line.contains('=') {
            // Two crates of one family may share a line: serde beside serde_json, anstyle beside anstream.
            let family = ["serde_json", "anstyle", "tokio"].iter().any(|name| line.starts_with(name));
            assert!(argued || family, "no reason is given for: {line}");
            argued = false;
        }
    }
}
