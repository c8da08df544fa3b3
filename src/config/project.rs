//! A project's own file, `mcp-tap.toml`: its servers, and the values that differ from run to run.

use super::table::{Entry, Source, members};
use super::{ConfigError, text_of, user_path};
use crate::session::mask::{MaskRule, MaskType};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name of the file.
pub const PROJECT_FILE: &str = "mcp-tap.toml";

/// What a project's file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFile {
    /// The file.
    pub path: PathBuf,
    /// Its servers, by name.
    pub servers: BTreeMap<String, ServerEntry>,
    /// Its masks, in their order.
    pub masks: Vec<MaskRule>,
}

/// A server, as a table `[servers.NAME]` describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerEntry {
    /// Its command and arguments.
    pub command: Vec<String>,
    /// The folder it is started in, if one is named; in the file, relative to where the file is.
    pub cwd: Option<PathBuf>,
    /// Variables that are set for it.
    pub env: BTreeMap<String, String>,
    /// What brings it back to a known state before it is started.
    pub before: Option<Before>,
    /// True if calls that say they are destructive may be sent to it.
    pub destructive: bool,
}

/// What is run before a server is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Before {
    /// A command and its arguments.
    Command(Vec<String>),
    /// A line of shell.
    Shell(String),
}

/// Reads the project's file, looked for in a folder and in those above it; `None` if there is none.
///
/// # Errors
/// Says which file, which line and what is wrong with it.
pub fn project(start: &Path) -> Result<Option<ProjectFile>, ConfigError> {
    let start = std::path::absolute(start).unwrap_or_else(|_| start.into());
    for folder in start.ancestors() {
        let path = folder.join(PROJECT_FILE);
        if path.is_file()
            && let Some(text) = text_of(&path)?
        {
            return read(&path, &text).map(Some);
        }
    }
    Ok(None)
}

/// Reads the masks of the user's own file; the rest of it is read where it is needed.
///
/// # Errors
/// Says which file, which line and what is wrong with it.
pub fn user_masks(home: Option<&Path>) -> Result<Vec<MaskRule>, ConfigError> {
    let Some(path) = user_path(home) else { return Ok(Vec::new()) };
    let Some(text) = text_of(&path)? else { return Ok(Vec::new()) };
    let source = Source { path: &path, text: &text };
    let table = source.parse()?;
    table.get("mask").map_or(Ok(Vec::new()), |value| masks(source.entry("mask", value)))
}

fn read(path: &Path, text: &str) -> Result<ProjectFile, ConfigError> {
    let source = Source { path, text };
    let table = source.parse()?;
    let mut file = ProjectFile { path: path.into(), ..ProjectFile::default() };
    for (key, entry) in members(source, &table, "", &["servers", "mask"])? {
        match key {
            "servers" => file.servers = servers(source, entry)?,
            _ => file.masks = masks(entry)?,
        }
    }
    Ok(file)
}

fn servers(source: Source<'_>, entry: Entry<'_, '_>) -> Result<BTreeMap<String, ServerEntry>, ConfigError> {
    let folder = source.path.parent().unwrap_or(Path::new(""));
    let mut servers = BTreeMap::new();
    for (name, value) in entry.table()? {
        let name = name.get_ref().as_ref();
        let place = format!("servers.{name}");
        let entry = source.entry(&place, value);
        servers.insert(name.to_owned(), server(source, entry, folder)?);
    }
    Ok(servers)
}

fn server(source: Source<'_>, entry: Entry<'_, '_>, folder: &Path) -> Result<ServerEntry, ConfigError> {
    let mut server = ServerEntry::default();
    for (key, value) in entry.members(&["command", "cwd", "env", "before", "destructive"])? {
        match key {
            "command" if value.is_string() => {
                let hint = Some("write one string for each word: command = [\"python3\", \"server.py\"]".into());
                return Err(ConfigError { hint, ..value.error("`command` is a list of strings, not a string") });
            }
            "command" => server.command = value.words()?,
            "cwd" => server.cwd = Some(folder.join(value.string()?)),
            "env" => {
                for (name, value) in value.table()? {
                    let name = name.get_ref().as_ref();
                    server.env.insert(name.to_owned(), source.entry(name, value).string()?);
                }
            }
            "before" if value.is_string() => server.before = Some(Before::Shell(value.string()?)),
            "before" => server.before = Some(Before::Command(value.words()?)),
            _ => server.destructive = value.boolean()?,
        }
    }
    if server.command.is_empty() {
        return Err(entry.error("a server has a `command`"));
    }
    Ok(server)
}

fn masks(entry: Entry<'_, '_>) -> Result<Vec<MaskRule>, ConfigError> {
    entry.tables()?.into_iter().map(mask).collect()
}

fn mask(entry: Entry<'_, '_>) -> Result<MaskRule, ConfigError> {
    let (mut method, mut tool, mut resource, mut at, mut text, mut kind) = (None, None, None, None, None, None);
    let mut learned = false;
    let known = ["method", "tool", "resource", "at", "text", "as", "learned"];
    for (key, value) in entry.members(&known)? {
        match key {
            "method" => method = Some(value.string()?),
            "tool" => tool = Some(value.string()?),
            "resource" => resource = Some(value.string()?),
            "at" => at = Some(value.string()?),
            "text" => text = Some(value.string()?),
            "learned" => learned = value.boolean()?,
            _ => kind = Some(mask_type(value)?),
        }
    }
    let Some(kind) = kind else {
        let hint = Some(format!("as = \"timestamp\": one of {}", words()));
        return Err(ConfigError { hint, ..entry.error("a mask says with `as` what the value is") });
    };
    let rule = MaskRule { method, tool, resource, at, text, kind, learned };
    crate::analysis::rules::check(&rule).map_err(|error| {
        let members = entry.members(&known).unwrap_or_default();
        let place = members.into_iter().find(|(key, _)| *key == error.key).map_or(entry, |(_, value)| value);
        place.error(error.reason)
    })?;
    Ok(rule)
}

fn mask_type(value: Entry<'_, '_>) -> Result<MaskType, ConfigError> {
    let word = value.string()?;
    MaskType::from_name(&word).ok_or_else(|| {
        let meant = crate::error::meant(&word, MaskType::ALL.iter().map(|kind| kind.as_str()));
        let hint = meant.map_or_else(|| format!("one of {}", words()), |meant| format!("did you mean `{meant}`?"));
        ConfigError { hint: Some(hint), ..value.error(format!("`{word}` is no type of a mask")) }
    })
}

fn words() -> String {
    MaskType::ALL.map(MaskType::as_str).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
[servers.weather]
command = ["python3", "server.py"]
cwd = "srv"
env = { MODE = "test" }
before = ["git", "checkout", "data"]
destructive = true

[servers.other]
command = ["other"]
before = "rm -rf state && mkdir state"

[[mask]]
tool = "now*"
at = "/content/*/text"
text = 'took (\d+) ms'
as = "duration"

[[mask]]
method = "resources/read"
at = "/contents/0/text/generated_at"
as = "timestamp"
"#;

    fn said(text: &str) -> (String, Option<String>) {
        let error = read(Path::new("/p/mcp-tap.toml"), text).unwrap_err();
        (error.to_string(), error.hint)
    }

    #[test]
    fn a_whole_file() {
        let file = read(Path::new("/p/mcp-tap.toml"), WHOLE).unwrap();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let weather = &file.servers["weather"];
        assert_eq!(weather.command, words(&["python3", "server.py"]));
        assert_eq!(weather.cwd, Some("/p/srv".into()));
        assert_eq!(weather.env, BTreeMap::from([("MODE".to_owned(), "test".to_owned())]));
        assert_eq!(weather.before, Some(Before::Command(words(&["git", "checkout", "data"]))));
        assert!(weather.destructive);
        let other = &file.servers["other"];
        assert_eq!(other.before, Some(Before::Shell("rm -rf state && mkdir state".into())));
        assert_eq!((other.cwd.clone(), other.destructive), (None, false));
        assert_eq!(file.masks.len(), 2);
        assert_eq!(file.masks[0].tool.as_deref(), Some("now*"));
        assert_eq!(file.masks[0].text.as_deref(), Some(r"took (\d+) ms"));
        assert_eq!((file.masks[0].kind, file.masks[1].kind), (MaskType::Duration, MaskType::Timestamp));
    }

    #[test]
    fn errors_say_where_and_what_was_meant() {
        for (text, sentence, hint) in [
            ("\n[server.x]\n", "line 2: unknown key `server`", "did you mean `servers`?"),
            ("x = 1\n", "line 1: unknown key `x`", "known keys: servers, mask"),
            (
                "[servers.x]\ncommand = ['a']\nbefor = 'b'",
                "line 3: unknown key `befor` in `servers.x`",
                "did you mean `before`?",
            ),
            ("[[mask]]\nas = 'timestam'", "line 2: `timestam` is no type of a mask", "did you mean `timestamp`?"),
            (
                "[[mask]]\nas = 'x'",
                "line 2: `x` is no type of a mask",
                "one of timestamp, uuid, duration, counter, random, order, token",
            ),
            (
                "[[mask]]\ntool = 'x'",
                "line 1: a mask says with `as` what the value is",
                "as = \"timestamp\": one of timestamp, uuid, duration, counter, random, order, token",
            ),
            (
                "[servers.x]\ncommand = 'a b'",
                "line 2: `command` is a list of strings, not a string",
                "write one string for each word: command = [\"python3\", \"server.py\"]",
            ),
        ] {
            let expected = (format!("`/p/mcp-tap.toml`, {sentence}"), Some(hint.to_owned()));
            assert_eq!(said(text), expected, "{text}");
        }
        for (text, sentence) in [
            ("servers = 1", "line 1: `servers` is a table, not an integer"),
            ("[mask]\nas = 'uuid'", "line 1: `mask` is a list of tables: write [[mask]]"),
            ("[servers.x]\ncwd = '.'", "line 1: a server has a `command`"),
            ("[servers.x]\ncommand = []", "line 2: `command` is empty"),
            ("[servers.x]\ncommand = ['a', 1]", "line 2: `command` is a list of strings; one is an integer"),
            (
                "[servers.x]\ncommand = ['a']\ndestructive = 'yes'",
                "line 3: `destructive` is true or false, not a string",
            ),
            ("[servers.x]\ncommand = ['a']\nenv = { A = 1 }", "line 3: `A` is a string, not an integer"),
            ("[[mask]]\nas = 'uuid'", "line 1: a mask says with `at` or `text` which values it is about"),
            ("[[mask]]\nas = 'uuid'\nat = 'a/b'", "line 3: `a/b` is no pointer: it begins with `/`"),
            ("[[mask]]\nas = 'uuid'\ntext = 'id (.'", "line 3: `text` is no regular expression: unclosed group"),
            ("[[mask]]\nas = 'uuid'\ntext = 'id'", "line 3: `text` has no group: put the part that varies in ( )"),
            (
                "[[mask]]\nas = 'uuid'\nat = '/a'\ntool = 'a'\nmethod = 'b'",
                "line 1: a mask names a `method`, a `tool` or a `resource`, and no two of them",
            ),
            ("[servers", "line 1: unclosed table, expected `]`"),
        ] {
            assert_eq!(said(text), (format!("`/p/mcp-tap.toml`, {sentence}"), None), "{text}");
        }
    }

    #[test]
    fn it_is_looked_for_upwards() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(folder.path().join(PROJECT_FILE), "[servers.x]\ncommand = ['x']").unwrap();
        let found = project(&deep).unwrap().unwrap();
        assert_eq!(found.path, folder.path().join(PROJECT_FILE));
        assert!(found.servers.contains_key("x"));
        std::fs::write(deep.join(PROJECT_FILE), "").unwrap();
        assert_eq!(project(&deep).unwrap().unwrap().path, deep.join(PROJECT_FILE));
    }

    #[test]
    fn the_user_may_have_masks_too() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(user_masks(Some(home.path())), Ok(Vec::new()));
        std::fs::create_dir_all(home.path().join(".config/mcp-tap")).unwrap();
        let path = home.path().join(".config/mcp-tap/config.toml");
        std::fs::write(&path, "store = 'x'\n[[mask]]\nmethod = '*'\nat = '/id'\nas = 'uuid'").unwrap();
        assert_eq!(user_masks(Some(home.path())).unwrap()[0].method.as_deref(), Some("*"));
        std::fs::write(&path, "[[mask]]\nmethod = 1\nas = 'uuid'").unwrap();
        let error = user_masks(Some(home.path())).unwrap_err();
        assert_eq!(error.line, Some(2));
    }
}
