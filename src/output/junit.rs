//! A test of session files as JUnit XML, which build servers read.

use super::render::diff::Look;
use super::render::test::{details, notes};
use super::ui::UTF8_SIGNS;
use crate::analysis::report::FailOn;
use crate::replay::tested::{Tested, Verdict, count};

/// How wide the details are.
const LOOK: Look = Look { width: 120, signs: UTF8_SIGNS };

/// Returns the report as a whole document: one case a file.
#[must_use]
pub fn document(files: &[Tested], fail_on: FailOn) -> String {
    let total: i64 = files.iter().map(|file| file.took_ns).sum();
    let numbers = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\"",
        files.len(),
        count(files, Verdict::Failed),
        count(files, Verdict::Error),
        count(files, Verdict::NotRun),
        seconds(total)
    );
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {numbers}>\n  <testsuite name=\"mcp-tap test\" {numbers}>\n"
    );
    for file in files {
        let name = escape(&file.file);
        let head = format!(
            "    <testcase classname=\"mcp-tap\" name=\"{name}\" file=\"{name}\" time=\"{}\"",
            seconds(file.took_ns)
        );
        let message = escape(&notes(file, fail_on));
        let said = anstream::adapter::strip_str(&details(file, LOOK)).to_string();
        let said = escape(&said).replace("&#10;", "\n");
        text.push_str(&match file.verdict {
            Verdict::Ok => format!("{head}/>\n"),
            Verdict::Failed => format!(
                "{head}>\n      <failure type=\"changed\" message=\"{message}\">{said}</failure>\n    </testcase>\n"
            ),
            Verdict::Error => {
                format!("{head}>\n      <error type=\"error\" message=\"{message}\">{said}</error>\n    </testcase>\n")
            }
            Verdict::NotRun => format!("{head}>\n      <skipped message=\"{message}\"/>\n    </testcase>\n"),
        });
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

fn seconds(ns: i64) -> String {
    format!("{:.3}", ns as f64 / 1e9)
}

/// Returns a text as it may stand in an attribute; what XML forbids is left out.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\n' | '\r' | '\t' => escaped.push_str(&format!("&#{};", character as u32)),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_forbids_is_not_there() {
        assert_eq!(escape("a<b>&\"'\u{1b}[0m\u{0}\u{fffe}é\n"), "a&lt;b&gt;&amp;&quot;&apos;[0mé&#10;");
    }

    #[test]
    fn one_case_a_file() {
        let mut file = Tested::new("a&b.jsonl".into());
        file.verdict = Verdict::Ok;
        file.took_ns = 402_000_000;
        let expected =
            "    <testcase classname=\"mcp-tap\" name=\"a&amp;b.jsonl\" file=\"a&amp;b.jsonl\" time=\"0.402\"/>\n";
        assert!(document(&[file], FailOn::Breaking).contains(expected));
    }
}
