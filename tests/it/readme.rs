//! The README tells the truth: every command in it is run, and its output compared to the letter.
//!
//! `MCP_TAP_BLESS=1` writes the real output into the page.

use crate::support::{Output, TestEnv};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// A piece of the page: text, or a console block as (command, output) pairs.
enum Piece {
    Text(String),
    Console(Vec<(String, String)>),
}

fn pieces(page: &str) -> Vec<Piece> {
    let mut found = vec![Piece::Text(String::new())];
    let mut console: Option<Vec<(String, String)>> = None;
    for line in page.split_inclusive('\n') {
        match (&mut console, line) {
            (None, "```console\n") => console = Some(Vec::new()),
            (Some(_), "```\n") => {
                found.push(Piece::Console(console.take().unwrap()));
                found.push(Piece::Text(String::new()));
            }
            (Some(steps), line) => match line.strip_prefix("$ ") {
                Some(command) => steps.push((command.trim_end().to_owned(), String::new())),
                None => steps.last_mut().expect("output follows a command").1.push_str(line),
            },
            (None, line) => match found.last_mut() {
                Some(Piece::Text(text)) => text.push_str(line),
                _ => unreachable!("text follows a block"),
            },
        }
    }
    found
}

fn run(env: &TestEnv, command: &str) -> Output {
    let words = shlex::split(command).expect("a command line");
    assert_eq!(words[0], "mcp-tap", "{command}");
    env.tap(&words[1..].iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn every_command_of_the_readme_does_what_it_says() {
    let page = std::fs::read_to_string(root().join("README.md")).unwrap();
    let gate = std::fs::read_to_string(root().join(".ci/run")).unwrap();
    let env = TestEnv::new();
    // The page's own server, `node build/index.js`, is played by the one that was recorded.
    let bin = env.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let sample =
        format!("#!/bin/sh\nexec {} sample-server --noise --frame-bytes 300 --speed 20\n", crate::support::TAP);
    std::fs::write(bin.join("node"), sample).unwrap();
    std::fs::set_permissions(bin.join("node"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let env = env.with("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    std::fs::create_dir(env.path().join("sessions")).unwrap();
    for entry in std::fs::read_dir(root().join("sessions")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, env.path().join("sessions").join(path.file_name().unwrap())).unwrap();
    }
    let mut real = String::new();
    let mut run_at_all = 0;
    for piece in pieces(&page) {
        let steps = match piece {
            Piece::Text(text) => {
                real.push_str(&text);
                continue;
            }
            Piece::Console(steps) => steps,
        };
        real.push_str("```console\n");
        for (command, output) in steps {
            real.push_str(&format!("$ {command}\n"));
            if command.starts_with("mcp-tap ") || command == "mcp-tap" {
                run_at_all += 1;
                let output = run(&env, &command);
                // A comparison says no by its status.
                let expected = i32::from(command.starts_with("mcp-tap diff "));
                assert_eq!(output.code(), expected, "{command}: {}", output.errors());
                // As a terminal shows it: what was said stands below what was printed.
                real.push_str(&output.text());
                real.push_str(&output.errors());
            } else {
                // What builds the program is run by the gate: the same words stand there.
                let built = ["cargo install --locked --path .", "cargo run --release --locked -- demo", "bash .ci/run"];
                assert!(gate.contains(&command) || built.contains(&command.as_str()), "nobody runs `{command}`");
                real.push_str(&output);
            }
        }
        real.push_str("```\n");
    }
    assert!(run_at_all >= 8, "the tour has become short");
    if std::env::var_os("MCP_TAP_BLESS").is_some() {
        std::fs::write(root().join("README.md"), &real).unwrap();
    }
    snapbox::assert_data_eq!(page, snapbox::Data::text(real).raw());
}
