//! Generated files: what a shell loads to complete our command line, and the manual pages.

use crate::latency::import_calls;
use crate::support::{TAP, TestEnv};
use std::path::Path;

/// The name of each shell with its file.
const FILES: [(&str, &str); 5] = [
    ("bash", "mcp-tap.bash"),
    ("zsh", "_mcp-tap"),
    ("fish", "mcp-tap.fish"),
    ("elvish", "mcp-tap.elv"),
    ("powershell", "_mcp-tap.ps1"),
];

#[test]
fn the_completion_files_are_what_the_program_prints() {
    let env = TestEnv::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("completions");
    let bless = std::env::var_os("MCP_TAP_BLESS").is_some_and(|value| value == "1");
    for (shell, file) in FILES {
        let printed = env.tap(&["completions", shell]).ok().text();
        assert!(printed.contains("MCP_TAP_COMPLETE"), "{printed}");
        let path = folder.join(file);
        if bless {
            std::fs::create_dir_all(&folder).expect("the folder is made");
            std::fs::write(&path, &printed).expect("the file is written");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(kept, printed, "{file} is old: MCP_TAP_BLESS=1 cargo test generated");
    }
    assert_eq!(env.tap(&["completions", "tcsh"]).code(), 2);
}

/// Asks as bash does.
fn offered(env: &TestEnv, words: &[&str]) -> Vec<String> {
    let mut command = env.command(&["--", "mcp-tap"]);
    command.args(words).env("MCP_TAP_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    command.env("_CLAP_IFS", "\n");
    let output = command.output().expect("the program runs");
    assert!(output.status.success());
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn sessions_and_tools_are_offered_and_the_store_is_left_alone() {
    let env = TestEnv::new();
    import_calls(&env, "klklklklklklklkl", "weather", 1_000, &[("get_forecast", 1), ("get_alerts", 1)]);
    import_calls(&env, "zxzxzxzxzxzxzxzx", "github", 2_000, &[("list_issues", 1)]);
    let folder = env.store().parent().expect("a folder").to_owned();
    let state = || {
        let mut files: Vec<(std::ffi::OsString, Vec<u8>)> = std::fs::read_dir(&folder)
            .expect("the folder")
            .flatten()
            .filter(|entry| entry.path().is_file())
            .map(|entry| (entry.file_name(), std::fs::read(entry.path()).expect("a file")))
            .collect();
        files.sort();
        files
    };
    let before = state();
    let inspect = offered(&env, &["inspect", ""]);
    for word in ["weather", "github", "latest", "klkl", "zxzx"] {
        assert!(inspect.iter().any(|offer| offer == word), "{word} in {inspect:?}");
    }
    assert_eq!(offered(&env, &["tail", "we"]), ["weather"]);
    assert_eq!(offered(&env, &["sessions", "delete", "kl"]), ["klkl"]);
    assert_eq!(offered(&env, &["diff", "we"]), ["weather"]);
    assert_eq!(offered(&env, &["mock", "we"]), ["weather"]);
    assert_eq!(offered(&env, &["diff", "weather", "git"]), ["github"]);
    assert!(offered(&env, &["sam"]).is_empty(), "hidden commands are offered");
    assert_eq!(offered(&env, &["latency", "--tool", "get_"]), ["get_forecast", "get_alerts"]);
    assert_eq!(offered(&env, &["inspect", "--tool", "li"]), ["list_issues"]);
    assert!(offered(&env, &["late"]).contains(&"latency".to_owned()));
    assert!(state() == before, "the store was touched");
    let store = env.store();
    let other = TestEnv::new();
    assert_eq!(offered(&other, &["--store", store.to_str().expect("a path"), "tail", "gi"]), ["github"]);
}

#[test]
fn a_live_session_is_offered() {
    let env = TestEnv::new();
    let mut client = env.recorded_sample(&["--name", "living"], &["--speed", "1000"]);
    client.initialize("2025-11-25");
    let tail = env.client(&["tail", "living"]);
    tail.expect("notifications/initialized");
    assert_eq!(offered(&env, &["tail", "liv"]), ["living"]);
    assert_eq!(client.end().code(), 0);
    let _ = tail.wait().ok();
}

#[test]
fn nothing_is_said_where_there_is_nothing_to_offer() {
    let env = TestEnv::new();
    assert!(offered(&env, &["tail", "x"]).is_empty());
    assert!(!env.store().parent().is_some_and(Path::exists), "a folder was made");
    let mut command = env.command(&["--", "mcp-tap", ""]);
    let unknown = command.env("MCP_TAP_COMPLETE", "tcsh").output().expect("the program runs");
    assert!(unknown.status.success() && unknown.stdout.is_empty() && unknown.stderr.is_empty());
}

#[test]
fn bash_completes_with_the_file() {
    let env = TestEnv::new();
    import_calls(&env, "klklklklklklklkl", "weather", 1_000, &[("get_forecast", 1)]);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("completions/mcp-tap.bash");
    let script = format!(
        "PATH={}:$PATH; source {}; COMP_WORDS=(mcp-tap tail w); COMP_CWORD=2; \
         _clap_complete_mcp_tap mcp-tap w tail 2>/dev/null; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        Path::new(TAP).parent().expect("a folder").display(),
        file.display()
    );
    let output = std::process::Command::new("bash")
        .args(["--norc", "-c", &script])
        .env_clear()
        .env("HOME", env.path())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .output()
        .expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "weather");
}

#[test]
fn there_is_a_page_for_every_command() {
    let env = TestEnv::new();
    let main = env.tap(&["man"]).ok().text();
    assert!(main.contains(".TH mcp-tap 1"), "{main}");
    assert!(main.contains("Exit codes:"));
    let _ = env.tap(&["man", "pages"]).ok();
    let pages = |name: &str| std::fs::read_to_string(env.path().join("pages").join(name));
    for name in ["mcp-tap.1", "mcp-tap-record.1", "mcp-tap-inspect.1", "mcp-tap-latency.1", "mcp-tap-sessions-prune.1"]
    {
        assert!(pages(name).is_ok_and(|page| page.contains(".TH")), "{name}");
    }
    assert!(pages("mcp-tap-sample-server.1").is_err(), "hidden commands have no page");
}
