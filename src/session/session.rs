//! A session: one recording by mcp-tap.

use super::mask::MaskRule;
use serde::{Deserialize, Serialize};

/// What made a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A client and a server that were recorded.
    Record,
    /// A replay of another session.
    Replay,
    /// A replay that a test made; `latest` passes over it.
    Test,
    /// A mock that asked a live server.
    Mock,
    /// A load that was driven.
    Bench,
    /// Read from a session file.
    Import,
}

impl Origin {
    /// Returns the name used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Replay => "replay",
            Self::Test => "test",
            Self::Mock => "mock",
            Self::Bench => "bench",
            Self::Import => "import",
        }
    }

    /// Returns the origin of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Record, Self::Replay, Self::Test, Self::Mock, Self::Bench, Self::Import]
            .into_iter()
            .find(|o| o.as_str() == name)
    }
}

/// A client or a server, as it names itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        match &self.version {
            Some(version) => write!(f, " {version}"),
            None => Ok(()),
        }
    }
}

/// How a server process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// It exited with this code.
    Code(i32),
    /// It was ended by this signal.
    Signal(i32),
}

/// How the server was launched. Secrets are masked, and values of variables are never kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The command and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// The URL of an upstream that is reached by HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The file that the command's name led to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The search path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The names of the variables that were set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
}

/// One recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The random id, written in the letters k–z.
    pub id: String,
    /// The name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// True if a person chose the name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// What made it.
    pub origin: Origin,
    /// The session that this one replays or probes for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The transport: `stdio` or `http`.
    pub transport: String,
    /// How the server was launched or reached.
    #[serde(default)]
    pub launch: Launch,
    /// The revisions seen, in the order of their appearance.
    #[serde(default)]
    pub revisions: Vec<String>,
    /// The client, as it names itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Peer>,
    /// The server, as it names itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Peer>,
    /// When it began, ns since 1970 UTC.
    pub started_at_ns: i64,
    /// When it ended, ns since it began; absent while it is open, or if it was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ns: Option<i64>,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_reason: Option<String>,
    /// How the server ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<ExitStatus>,
    /// How many frames are stored.
    pub frames: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many JSON-RPC messages are in them.
    pub messages: u64,
    /// How many of those are tool calls of the client.
    pub calls: u64,
    /// How many calls ended badly.
    pub bad: u64,
    /// How many lines are missing.
    #[serde(default)]
    pub lost_frames: u64,
    /// The redaction rules that were applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redaction: Vec<String>,
    /// What is volatile in it, for a comparison with another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masks: Vec<MaskRule>,
    /// The version of mcp-tap that recorded it.
    pub tap_version: String,
}

impl Session {
    /// Returns a session on stdio that begins now and of which nothing is known yet.
    #[must_use]
    pub fn begin(id: String, origin: Origin, launch: Launch, masked: bool, started_at_ns: i64) -> Self {
        Self {
            id,
            name: None,
            named: false,
            origin,
            parent: None,
            transport: "stdio".into(),
            launch,
            revisions: Vec::new(),
            client: None,
            server: None,
            started_at_ns,
            ended_ns: None,
            end_reason: None,
            exit_status: None,
            frames: 0,
            bytes: 0,
            messages: 0,
            calls: 0,
            bad: 0,
            lost_frames: 0,
            redaction: if masked { vec!["argv".into()] } else { Vec::new() },
            masks: Vec::new(),
            tap_version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// Returns true if the recording was cut off, or is still going on.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.ended_ns.is_none()
    }

    /// Returns the newest revision in force, which is the last that appeared.
    #[must_use]
    pub fn revision(&self) -> Option<&str> {
        self.revisions.last().map(String::as_str)
    }
}

/// The letters of session ids; none is a digit, so that a bare number is always a message.
pub const ID_LETTERS: &[u8; 16] = b"klmnopqrstuvwxyz";

/// Returns true if a text is a session id: 16 of [`ID_LETTERS`].
#[must_use]
pub fn is_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| ID_LETTERS.contains(&byte))
}

/// Returns a session id of 16 letters from 64 random bits.
#[must_use]
pub fn id_from_bits(bits: u64) -> String {
    (0..16).map(|at| char::from(ID_LETTERS[(bits >> (60 - at * 4) & 15) as usize])).collect()
}

/// Returns the last meaningful word of a command, as a name until the server tells its own.
///
/// Options and their values, interpreters and package runners say nothing: `npx -y @acme/server-x@1 /dir` is `server-x`.
#[must_use]
pub fn name_of_command(argv: &[String]) -> String {
    const RUNNERS: [&str; 17] = [
        "npx", "npm", "exec", "node", "uvx", "uv", "run", "python", "python3", "bunx", "bun", "deno", "docker", "sh",
        "bash", "env", "tool",
    ];
    let stem = |word: &str| {
        let word = word.trim_end_matches('/').rsplit('/').next().unwrap_or(word);
        let word = word.split('@').next().filter(|w| !w.is_empty()).unwrap_or(word);
        let stem = word.rsplit_once('.').map_or(word, |(stem, end)| {
            if matches!(end, "js" | "mjs" | "cjs" | "ts" | "py" | "sh" | "exe" | "jar") { stem } else { word }
        });
        if matches!(stem, "index" | "main" | "server" | "dist" | "build" | "src") {
            String::new()
        } else {
            stem.to_owned()
        }
    };
    let meaningful = |word: &&String| !word.starts_with('-') && !word.contains('=') && !word.is_empty();
    let is_runner = |word: &str| {
        let base = stem(word);
        RUNNERS.contains(&base.as_str()) || base.starts_with("python3")
    };
    // A script says nothing in one word.
    if let [shell, flag, ..] = argv
        && ["sh", "bash", "dash", "zsh"].contains(&stem(shell).as_str())
        && flag.starts_with('-')
        && flag.ends_with('c')
    {
        return stem(shell);
    }
    let mut words = argv.iter().filter(meaningful).skip_while(|word| is_runner(word));
    let name = words.next().map(|word| stem(word)).filter(|name| !name.is_empty()).or_else(|| {
        // `build/index.js` says nothing: the folder above may.
        argv.iter()
            .filter(meaningful)
            .filter(|word| !is_runner(word))
            .flat_map(|word| word.split('/').rev())
            .map(stem)
            .find(|part| !part.is_empty() && !part.starts_with('.'))
    });
    let name = name.or_else(|| argv.first().map(|first| stem(first))).unwrap_or_default();
    let clean: String = name.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.')).take(40).collect();
    if clean.is_empty() || clean.bytes().all(|b| b.is_ascii_digit()) { format!("server{clean}") } else { clean }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_letters() {
        assert_eq!(id_from_bits(0), "kkkkkkkkkkkkkkkk");
        assert_eq!(id_from_bits(0x0123_4567_89ab_cdef), "klmnopqrstuvwxyz");
    }

    #[test]
    fn names_of_commands() {
        let cases: [(&[&str], &str); 11] = [
            (&["/bin/sh", "-c", "trap 'echo x' INT; cat"], "sh"),
            (&["npx", "-y", "@modelcontextprotocol/server-everything"], "server-everything"),
            (&["npx", "-y", "@acme/server-x@1.2", "/srv/dir"], "server-x"),
            (&["node", "build/index.js"], "node"),
            (&["node", "/home/ana/weather/build/index.js"], "weather"),
            (&["uvx", "mcp-server-time", "--local-timezone", "UTC"], "mcp-server-time"),
            (&["python3.11", "fake_server.py", "--case", "ok"], "fake_server"),
            (&["/usr/local/bin/github-mcp"], "github-mcp"),
            (&["cat"], "cat"),
            (&["./42"], "server42"),
            (&[], "server"),
        ];
        for (argv, name) in cases {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(name_of_command(&argv), name, "{argv:?}");
        }
    }
}
