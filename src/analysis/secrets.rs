//! Finds in messages what has the shape of a secret, so that it is not committed by mistake. It says where, never what.
//!
//! A text is one if it holds a token of a known kind, a private key, or a URL with a password; or if it stands under a
//! telling name and looks like chance. What the protocol itself calls a token (a cursor, `progressToken`) is none.

use crate::protocol::json::{Kind, Tree, leaves};
use crate::session::secret::{SHAPES, is_token_byte};

/// The deepest message that is looked into.
const DEEPEST: usize = 128;

/// What has the shape of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where it stands, as a JSON pointer; with a second one for JSON inside a text.
    pub pointer: String,
    /// What it looks like.
    pub what: &'static str,
}

/// Returns what has the shape of a secret in a message, or in a line that is none.
#[must_use]
pub fn find(text: &[u8]) -> Vec<Finding> {
    let mut found = Vec::new();
    look(text, "", &mut found);
    found
}

fn look(text: &[u8], at: &str, found: &mut Vec<Finding>) {
    let Some(tree) = Tree::parse(text).ok().filter(|tree| tree.depth() <= DEEPEST) else {
        let what = in_text(&String::from_utf8_lossy(text));
        found.extend(what.map(|what| Finding { pointer: at.to_owned(), what }));
        return;
    };
    for (pointer, node) in leaves(tree.root()) {
        let key = node.key().map(std::borrow::Cow::into_owned);
        if node.kind() != Kind::String {
            continue;
        }
        let Some(value) = node.as_text() else { continue };
        let pointer = format!("{at}{pointer}");
        let inner = value.trim_start().starts_with(['{', '[']) && Tree::parse(value.as_bytes()).is_ok();
        if inner && at.is_empty() {
            look(value.as_bytes(), &format!("{pointer} "), found);
            continue;
        }
        // The items of an array stand under its name.
        let key = key.or_else(|| {
            let parent = pointer.rsplit_once('/').map(|(parent, _)| parent)?;
            Some(parent.rsplit_once('/').map_or(parent, |(_, last)| last).to_owned())
        });
        let what = in_text(&value).or_else(|| {
            let telling = key.as_deref().is_some_and(is_telling) && !pointer.contains("/_meta/");
            (telling && is_chance(&value)).then_some("a random value under a telling name")
        });
        found.extend(what.map(|what| Finding { pointer, what }));
    }
}

/// Returns what a text holds: a token, a key, a password in a URL.
fn in_text(text: &str) -> Option<&'static str> {
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----") {
        return Some("a private key");
    }
    for shape in SHAPES {
        for (at, _) in text.match_indices(shape.prefix) {
            let before = text.as_bytes().get(..at).and_then(<[u8]>::last);
            let inside = before.is_some_and(|byte| is_token_byte(*byte) && *byte != b'.');
            let rest = text.get(at..).unwrap_or_default();
            let length = rest.bytes().position(|byte| !is_token_byte(byte)).unwrap_or(rest.len());
            let word = rest.get(..length).unwrap_or_default().trim_end_matches('.');
            if !inside && word.len() >= shape.least && is_kind(shape.prefix, word) {
                return Some(shape.what);
            }
        }
    }
    if has_password(text) {
        return Some("a URL with a password");
    }
    let lower = text.to_ascii_lowercase();
    for scheme in ["bearer ", "basic "] {
        for (at, _) in lower.match_indices(scheme) {
            let word = text.get(at + scheme.len()..).unwrap_or_default().split_whitespace().next().unwrap_or_default();
            if word.len() >= 16 && is_chance(word.trim_end_matches(['"', '\'', ',', ';'])) {
                return Some("an authorization");
            }
        }
    }
    None
}

/// Returns true for a word that is what its beginning says.
fn is_kind(prefix: &str, word: &str) -> bool {
    let rest = word.get(prefix.len()..).unwrap_or_default();
    match prefix {
        "AKIA" | "ASIA" => word.len() == 20 && rest.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()),
        "eyJ" => {
            let parts: Vec<&str> = word.split('.').collect();
            parts.len() == 3
                && parts.iter().all(|part| part.len() >= 4)
                && parts.get(1).is_some_and(|p| p.starts_with("eyJ"))
        }
        // Many words begin so: a key is no words with hyphens between them.
        "sk-" => is_chance(rest) && rest.bytes().filter(u8::is_ascii_digit).count() >= 2,
        _ => is_chance(rest),
    }
}

fn has_password(text: &str) -> bool {
    text.match_indices("://").any(|(at, _)| {
        let rest = text.get(at + 3..).unwrap_or_default();
        let end = rest.find(|c: char| c.is_whitespace() || "/?#\"'<>`\\".contains(c)).unwrap_or(rest.len());
        let authority = rest.get(..end).unwrap_or_default();
        let Some((user, _)) = authority.rsplit_once('@') else { return false };
        user.split_once(':').is_some_and(|(_, password)| !is_placeholder(password))
    })
}

/// Returns true for what manuals write in the place of a password.
fn is_placeholder(text: &str) -> bool {
    const WORDS: [&str; 10] = ["", "password", "passwd", "pass", "pwd", "pw", "secret", "token", "changeme", "example"];
    let lower = text.to_ascii_lowercase();
    WORDS.contains(&lower.as_str())
        || lower.starts_with(['$', '{', '[', '%'])
        || lower.chars().all(|c| matches!(c, '*' | 'x' | '.'))
}

/// Returns true for a name whose value is a secret.
fn is_telling(key: &str) -> bool {
    let words = words(key);
    let has = |word: &str| words.iter().any(|other| other == word);
    let pair = |a: &str, b: &str| words.windows(2).any(|two| two[0] == a && two[1] == b);
    let place = ["next", "page", "progress", "continuation", "sync", "cursor"].iter().any(|word| has(word));
    let names = ["password", "passwd", "passphrase", "secret", "credential", "credentials", "authorization", "apikey"];
    names.iter().any(|word| has(word))
        || pair("api", "key")
        || pair("private", "key")
        || pair("access", "key")
        || has("token") && !place
}

/// Returns the words of a name, in lower case: `accessKey` and `access_key` have two.
fn words(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower_before = false;
    for character in key.chars() {
        if !character.is_alphanumeric() || character.is_uppercase() && lower_before {
            words.push(String::new());
        }
        lower_before = character.is_lowercase() || character.is_numeric();
        if character.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns true for a text that hardly a person wrote: long enough, without blanks, letters and digits well mixed.
fn is_chance(text: &str) -> bool {
    let plain = text.len() >= 12 && text.is_ascii() && !text.bytes().any(|byte| byte.is_ascii_whitespace());
    let mixed = text.bytes().any(|b| b.is_ascii_digit()) && text.bytes().any(|b| b.is_ascii_alphabetic());
    plain && mixed && !text.contains("://") && !text.starts_with('/') && entropy(text) >= 2.9
}

/// Returns the bits that a character of a text has on average (Shannon).
fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = text.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / total;
            -share * share.log2()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value without meaning; put together here, so that no scanner takes this file for a leak.
    fn chance(length: usize) -> String {
        "7gK2pQ9xZ4mB8vN1cR6tY3wL5jH0dF".chars().cycle().take(length).collect()
    }

    fn said(key: &str, value: &str) -> Vec<&'static str> {
        let text = serde_json::json!({"result": {key: value}}).to_string();
        let found = find(text.as_bytes());
        assert!(found.iter().all(|one| one.pointer == format!("/result/{key}")), "{found:?}");
        found.into_iter().map(|one| one.what).collect()
    }

    #[test]
    fn tokens_of_known_kinds_are_found_anywhere() {
        for (prefix, length, what) in [
            ("ghp_", 36, "a GitHub token"),
            ("github_pat_", 60, "a GitHub token"),
            ("xoxb-", 40, "a Slack token"),
            ("sk_live_", 24, "a Stripe key"),
            ("AIza", 35, "a Google key"),
            ("sk-", 48, "an API key"),
            ("sk-ant-api03-", 80, "an API key"),
            ("npm_", 36, "an npm token"),
            ("glpat-", 20, "a GitLab token"),
            ("pypi-", 60, "a PyPI token"),
        ] {
            let token = format!("{prefix}{}", chance(length));
            assert_eq!(said("text", &token), [what], "{prefix}");
            assert_eq!(said("text", &format!("see <{token}>.")), [what], "{prefix}");
        }
        let key = format!("AK{}", "IA7GK2PQ9XZ4MB8VN1");
        assert_eq!(said("text", &key), ["an AWS key"]);
        let token = format!("ey{0}.ey{0}.{1}", "JhbGciOiJIUzI1NiJ9", chance(20));
        assert_eq!(said("text", &token), ["a JSON Web Token"]);
        assert_eq!(said("text", &format!("-----BEGIN RSA {}-----\nx", "PRIVATE KEY")), ["a private key"]);
        assert_eq!(said("text", &format!("Authorization: Bearer {}", chance(24))), ["an authorization"]);
        assert_eq!(said("text", &format!("postgres://ana:{}@db/x", "hunter2")), ["a URL with a password"]);
    }

    #[test]
    fn what_looks_like_chance_under_a_telling_name_is_one() {
        for key in ["password", "api_key", "apiKey", "ACCESS_KEY", "clientSecret", "accessToken", "private-key"] {
            assert_eq!(said(key, &chance(20)), ["a random value under a telling name"], "{key}");
        }
        let inner = format!("{{\"token\":\"{}\"}}", chance(20));
        let text = serde_json::json!({"result": {"content": [{"text": inner}]}}).to_string();
        assert_eq!(find(text.as_bytes())[0].pointer, "/result/content/0/text /token");
        let text = serde_json::json!({"result": {"secrets": [], "tokens": 7, "credentials": [chance(20)]}}).to_string();
        assert_eq!(find(text.as_bytes())[0].pointer, "/result/credentials/0");
    }

    #[test]
    fn what_is_no_secret_is_left_alone() {
        for (key, value) in [
            ("nextCursor", chance(40).as_str()),
            ("progressToken", &chance(20)),
            ("nextPageToken", &chance(20)),
            ("tokenizer", "cl100k-base-2024"),
            ("id", &chance(30)),
            ("password", "the password of the user"),
            ("secret", "none"),
            ("text", "sk-learn-is-a-library-of-many-words"),
            ("text", "task-0123456789-abcdefghijklm"),
            ("text", "https://example.com/a?b=c@d:e"),
            ("text", "postgres://user:password@localhost/db"),
            ("text", "a Bearer token of a client"),
            ("authorizationEndpoint", "https://auth.example/authorize?id=123456"),
            ("author", &chance(20)),
        ] {
            assert_eq!(said(key, value), [""; 0], "{key} {value}");
        }
        assert!(find(b"plain words").is_empty());
        let meta = serde_json::json!({"params": {"_meta": {"token": chance(20)}}}).to_string();
        assert!(find(meta.as_bytes()).is_empty());
        assert_eq!(find(format!("token ghp_{}", chance(36)).as_bytes()).len(), 1);
    }
}
