//! What GitHub Actions shows of a test: an annotation a file, and a summary in Markdown.

use super::render::diff::Look;
use super::render::test::{details, heading, notes, sum};
use super::ui::UTF8_SIGNS;
use crate::analysis::report::FailOn;
use crate::replay::tested::{Tested, Verdict};

/// How wide the details are.
const LOOK: Look = Look { width: 100, signs: UTF8_SIGNS };

/// How many bytes of details a summary has; the runner refuses more than a megabyte.
const MOST: usize = 600 << 10;

/// Returns a line for each file that is not well; `path` gives a file's path below the repository.
#[must_use]
pub fn annotations(files: &[Tested], fail_on: FailOn, path: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    for file in files.iter().filter(|file| matches!(file.verdict, Verdict::Failed | Verdict::Error)) {
        let title = format!("mcp-tap: {}", notes(file, fail_on));
        let said = anstream::adapter::strip_str(&details(file, LOOK)).to_string();
        text.push_str(&format!(
            "::error file={},line={},title={}::{}\n",
            property(&path(&file.file)),
            file.line,
            property(&title),
            data(said.trim_end())
        ));
    }
    text
}

/// Returns the summary.
#[must_use]
pub fn summary(files: &[Tested], fail_on: FailOn, command: &str) -> String {
    let mut text = format!("### mcp-tap test\n\n{}\n", markdown(heading(files, command).trim_end()));
    text.push_str("\n| verdict | session file | |\n|---|---|---|\n");
    for file in files {
        let word = file.verdict.as_str().replace('_', " ");
        text.push_str(&format!("| {word} | {} | {} |\n", markdown(&file.file), markdown(&notes(file, fail_on))));
    }
    let mut room = MOST;
    for file in files {
        let said = html(&anstream::adapter::strip_str(&details(file, LOOK)).to_string());
        if !said.is_empty() && said.len() <= room {
            room -= said.len();
            let name = html(&super::sanitize::line(&file.file));
            let name = name.trim_end();
            text.push_str(&format!("\n<details><summary>{name}</summary>\n\n<pre>\n{said}</pre>\n\n</details>\n"));
        }
    }
    text.push_str(&format!("\n{}\n\n", markdown(sum(files).trim_end())));
    text
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

fn html(text: &str) -> String {
    // A blank line would end the block of HTML, and what follows would be Markdown.
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns a text in which nothing is Markdown or HTML.
fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in super::sanitize::line(text).chars() {
        if matches!(character, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '!' | '~' | '&' | '@') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::tested::Trouble;

    #[test]
    fn annotations_are_one_line_each() {
        let mut file = Tested::new("a,b.jsonl".into());
        file.verdict = Verdict::Error;
        file.trouble = Some(Trouble { message: "100 %: gone".into(), hints: vec!["stderr: x".into()] });
        let said = annotations(&[file], FailOn::Breaking, |path| format!("sub/{path}"));
        let expected =
            "::error file=sub/a%2Cb.jsonl,line=1,title=mcp-tap%3A 100 %25%3A gone::  100 %25: gone%0A  stderr: x\n";
        assert_eq!(said, expected);
    }

    #[test]
    fn a_summary_is_no_markup_of_the_server() {
        assert_eq!(markdown("a|b <b> `c`\n"), "a\\|b \\<b\\> \\`c\\`\\\\n");
        assert_eq!(html("<b>\n\n&"), "&lt;b&gt;\n&amp;\n");
    }
}
