//! Keeps secrets of the launch out of the store: in arguments and in URLs.
//!
//! What is masked is the value; the name of the option or parameter stays, so that a person sees what was there.

use crate::session::secret::is_token;

/// What stands in place of a secret.
pub const MASK: &str = "<masked>";

/// Parts of names whose value is a secret.
const TELLING: [&str; 13] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "api-key",
    "api_key",
    "apikey",
    "auth",
    "credential",
    "private-key",
    "private_key",
    "access-key",
];

/// Returns a command line with its secrets masked, and whether there were any.
#[must_use]
pub fn argv(argv: &[String]) -> (Vec<String>, bool) {
    let mut masked = Vec::with_capacity(argv.len());
    let mut any = false;
    let mut value_is_secret = false;
    for word in argv {
        let shown = if value_is_secret && !(word.starts_with("--") && word.len() > 2) {
            MASK.to_owned()
        } else {
            mask_word(word)
        };
        value_is_secret = is_telling_option(word);
        any |= shown != *word;
        masked.push(shown);
    }
    (masked, any)
}

fn is_telling_option(word: &str) -> bool {
    word.starts_with('-') && !word.contains('=') && is_telling(word.trim_start_matches('-'))
        || matches!(word, "-H" | "--header")
}

/// Names that say it as a whole; as a part of another they say nothing.
const TELLING_ALONE: [&str; 9] = ["key", "pat", "bearer", "pass", "pwd", "jwt", "cookie", "license-key", "licence-key"];

/// Returns true if a name says that its value is a secret.
pub(super) fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if TELLING_ALONE.contains(&name.as_str()) {
        return true;
    }
    TELLING.iter().any(|part| name.contains(part)) && !name.contains("author")
}

fn mask_word(word: &str) -> String {
    if word.trim_start().starts_with(['{', '[']) {
        return mask_json(word);
    }
    if let Some((scheme, rest)) = word.split_once("://") {
        if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')) {
            return url_rest(scheme, rest);
        }
        if let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.contains("://")) {
            return if is_telling(name.trim_start_matches('-')) {
                format!("{name}={MASK}")
            } else {
                format!("{name}={}", mask_word(value))
            };
        }
    }
    if let Some((name, value)) = word.split_once('=') {
        if is_telling(name.trim_start_matches('-')) && !value.is_empty() {
            // In a script the value ends at the blank; the value of an option does not.
            return match value.split_once(' ').filter(|_| !name.starts_with('-')) {
                Some((_, rest)) => format!("{name}={MASK} {}", mask_word(rest)),
                None => format!("{name}={MASK}"),
            };
        }
        return format!("{name}={}", mask_word(value));
    }
    if let Some((name, value)) = word.split_once(": ")
        && (is_telling(name) || name.eq_ignore_ascii_case("cookie") || is_token(value))
    {
        return format!("{name}: {MASK}");
    }
    if let Some((scheme, token)) = word.split_once(' ')
        && ["bearer", "basic"].contains(&scheme.to_ascii_lowercase().as_str())
        && !token.is_empty()
    {
        return format!("{scheme} {MASK}");
    }
    if word.contains(' ') {
        // A script, or a command line in one word.
        return word.split(' ').map(mask_word).collect::<Vec<_>>().join(" ");
    }
    if is_token(word) { MASK.to_owned() } else { word.to_owned() }
}

/// Masks the texts of telling members of a configuration that is given as JSON.
fn mask_json(word: &str) -> String {
    let Ok(tree) = crate::protocol::json::Tree::parse(word.as_bytes()) else { return word.to_owned() };
    let mut masked = word.to_owned();
    for (_, node) in tree.root().descendants() {
        let telling = node.key().is_some_and(|key| is_telling(&key));
        let secret = node.as_text().is_some_and(|text| !text.is_empty() && (telling || is_token(&text)));
        if secret && let Ok(raw) = std::str::from_utf8(node.raw()) {
            masked = masked.replace(raw, &format!("\"{MASK}\""));
        }
    }
    masked
}

/// Returns a URL without its user information and with the values of telling parameters masked.
#[must_use]
pub fn url(text: &str) -> String {
    match text.split_once("://") {
        Some((scheme, rest)) => url_rest(scheme, rest),
        None => text.to_owned(),
    }
}

fn url_rest(scheme: &str, rest: &str) -> String {
    let (rest, fragment) = rest.split_once('#').map_or((rest, None), |(rest, fragment)| (rest, Some(fragment)));
    let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
    let (authority, path) = path.split_at(path.find('/').unwrap_or(path.len()));
    let host = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{MASK}@{host}"),
        None => authority.to_owned(),
    };
    let mut shown = format!("{scheme}://{host}{path}");
    if let Some(query) = query {
        let parameters: Vec<String> = query.split('&').map(mask_parameter).collect();
        shown.push('?');
        shown.push_str(&parameters.join("&"));
    }
    if let Some(fragment) = fragment {
        shown.push('#');
        shown.push_str(&mask_parameter(fragment));
    }
    shown
}

fn mask_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, value)) if is_secret_parameter(name, value) => format!("{name}={MASK}"),
        _ => parameter.to_owned(),
    }
}

/// Returns true if the value of a parameter in a query is a secret.
pub(super) fn is_secret_parameter(name: &str, value: &str) -> bool {
    const EXACT: [&str; 9] =
        ["key", "code", "code_verifier", "state", "assertion", "client_assertion", "sig", "signature", "pwd"];
    is_telling(name) || EXACT.contains(&name.to_ascii_lowercase().as_str()) || is_token(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(words: &[&str]) -> Vec<String> {
        argv(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).0
    }

    #[test]
    fn secrets_in_arguments_are_masked_and_nothing_else() {
        let cases: [(&[&str], &[&str]); 15] = [
            (&["srv", "--key", "aaa", "--pat", "bbb"], &["srv", "--key", MASK, "--pat", MASK]),
            (
                &["srv", "--config", r#"{"apiKey":"s3cr3t","n":{"url":"x"}}"#],
                &["srv", "--config", r#"{"apiKey":"<masked>","n":{"url":"x"}}"#],
            ),
            (&["srv", "--config={\"token\":\"s\"}"], &["srv", "--config={\"token\":\"<masked>\"}"]),
            (&["sh", "-c", "PASS=foo node x --keyboard de"], &["sh", "-c", "PASS=<masked> node x --keyboard de"]),
            (&["srv", "--key-file", "/k"], &["srv", "--key-file", "/k"]),
            (&["srv", "--token", "abc", "--port", "80"], &["srv", "--token", MASK, "--port", "80"]),
            (&["srv", "--api-key=abc"], &["srv", "--api-key=<masked>"]),
            (&["env", "GITHUB_TOKEN=abc", "srv"], &["env", "GITHUB_TOKEN=<masked>", "srv"]),
            (&["srv", "--key", "sk-abcdefghijklmnopqrst"], &["srv", "--key", MASK]),
            (
                &["npx", "mcp-remote", "https://h/mcp", "--header", "Authorization: Bearer x"],
                &["npx", "mcp-remote", "https://h/mcp", "--header", MASK],
            ),
            (&["srv", "postgres://ana:pw@db/x?sslmode=on"], &["srv", "postgres://<masked>@db/x?sslmode=on"]),
            (&["srv", "--url=https://h/p?api_key=abc&q=1"], &["srv", "--url=https://h/p?api_key=<masked>&q=1"]),
            (&["srv", "--author", "ana"], &["srv", "--author", "ana"]),
            (&["srv", "--db", "x", "--", "-y", "a b", ""], &["srv", "--db", "x", "--", "-y", "a b", ""]),
            (&["srv", "--password", "--verbose"], &["srv", "--password", "--verbose"]),
        ];
        for (words, expected) in cases {
            assert_eq!(masked(words), expected, "{words:?}");
        }
    }

    #[test]
    fn urls_lose_their_credentials() {
        assert_eq!(url("https://u:p@h:1/a?access_token=x&b=2#c"), "https://<masked>@h:1/a?access_token=<masked>&b=2#c");
        assert_eq!(url("http://h/mcp"), "http://h/mcp");
    }
}
