//! Keeps credentials of HTTP out of the store: in headers, in paths, and in the bodies of token endpoints.
//!
//! What is masked is the value; a tag stands in its place, made with a salt of this store, so that equal values are
//! seen to be equal and nobody can find the value by trying.

use super::redact::{is_secret_parameter, is_telling};
use crate::protocol::json::Tree;
use crate::protocol::sse::Event;
use sha2::{Digest, Sha256};

/// Masks credentials, or leaves everything as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masker {
    salt: Vec<u8>,
    is_on: bool,
}

/// Headers whose whole value is a credential, or names one.
const HEADERS: [&str; 6] =
    ["mcp-session-id", "last-event-id", "dpop", "dpop-nonce", "proxy-authorization", "authentication-info"];

/// Members of the answers and requests of token endpoints that are credentials.
const MEMBERS: [&str; 16] = [
    "access_token",
    "refresh_token",
    "id_token",
    "client_secret",
    "registration_access_token",
    "registration_client_uri",
    "code",
    "code_verifier",
    "state",
    "client_assertion",
    "assertion",
    "subject_token",
    "actor_token",
    "password",
    "device_code",
    "user_code",
];

impl Masker {
    /// Returns a masker with the salt of a store.
    #[must_use]
    pub fn new(salt: Vec<u8>) -> Self {
        Self { salt, is_on: true }
    }

    /// Returns one that masks nothing.
    #[must_use]
    pub fn off() -> Self {
        Self { salt: Vec::new(), is_on: false }
    }

    /// Returns true if anything is masked at all.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Returns what stands in place of a value: equal values have equal tags.
    #[must_use]
    pub fn tag(&self, value: &str) -> String {
        if !self.is_on || value.is_empty() {
            return value.to_owned();
        }
        let hash = Sha256::new().chain_update(&self.salt).chain_update(value.as_bytes()).finalize();
        let digits: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("<masked:{digits}>")
    }

    /// Returns the value of a header as it is stored.
    #[must_use]
    pub fn header(&self, name: &str, value: &str) -> String {
        if !self.is_on {
            return value.to_owned();
        }
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "authorization" => match value.split_once(' ') {
                Some((scheme, credential)) => format!("{scheme} {}", self.tag(credential.trim())),
                None => self.tag(value),
            },
            "cookie" => value.split("; ").map(|pair| self.pair(pair)).collect::<Vec<_>>().join("; "),
            "set-cookie" => match value.split_once(';') {
                Some((pair, rest)) => format!("{};{rest}", self.pair(pair)),
                None => self.pair(value),
            },
            "www-authenticate" => self.nonce(value),
            "location" | "referer" | "content-location" => self.path(value),
            _ if HEADERS.contains(&name.as_str()) || name.starts_with("mcp-param-") || is_credential(&name) => {
                self.tag(value)
            }
            _ => value.to_owned(),
        }
    }

    /// Returns a path, or a URL, with the credentials in its query masked.
    #[must_use]
    pub fn path(&self, path: &str) -> String {
        let Some((before, query)) = path.split_once('?').filter(|_| self.is_on) else { return path.to_owned() };
        let parameters: Vec<String> = query.split('&').map(|parameter| self.parameter(parameter)).collect();
        format!("{before}?{}", parameters.join("&"))
    }

    /// Returns the body of a token endpoint with its credentials masked, or `None` if there are none in it.
    #[must_use]
    pub fn body(&self, body: &[u8]) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(body).ok().filter(|_| self.is_on)?;
        let masked = match Tree::parse(body) {
            Ok(tree) => self.json(text, &tree),
            Err(_) if text.contains('=') && !text.contains(['\n', '<', ' ']) => {
                text.split('&').map(|parameter| self.parameter(parameter)).collect::<Vec<_>>().join("&")
            }
            Err(_) => return None,
        };
        (masked != text).then(|| masked.into_bytes())
    }

    /// Returns an `endpoint` event with the session in its URL masked, or `None` for any other event.
    #[must_use]
    pub fn endpoint(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        // Seldom, and only at the beginning of a stream: nothing is understood of the many others.
        memchr::memmem::find(bytes.get(..bytes.len().min(512))?, b"endpoint")?;
        let event = Event::parse(bytes);
        let data = event.data.filter(|_| event.event == Some(b"endpoint"))?;
        let url = std::str::from_utf8(&data).ok()?;
        let masked = self.path(url);
        let at = memchr::memmem::find(bytes, &data).filter(|_| masked != url)?;
        Some([bytes.get(..at)?, masked.as_bytes(), bytes.get(at + data.len()..)?].concat())
    }

    fn json(&self, text: &str, tree: &Tree<'_>) -> String {
        let mut masked = text.to_owned();
        for (_, node) in tree.root().descendants() {
            let Some(key) = node.key().filter(|key| MEMBERS.contains(&key.as_ref())) else { continue };
            if let (Some(value), Ok(raw)) = (node.as_text(), std::str::from_utf8(node.raw()))
                && !(value.is_empty() || key == "state" && value.len() < 4)
            {
                masked = masked.replace(raw, &format!("\"{}\"", self.tag(&value)));
            }
        }
        masked
    }

    fn parameter(&self, parameter: &str) -> String {
        match parameter.split_once('=') {
            Some((name, value)) if is_secret_parameter(name, value) || is_session(name) || MEMBERS.contains(&name) => {
                format!("{name}={}", self.tag(value))
            }
            _ => parameter.to_owned(),
        }
    }

    fn pair(&self, pair: &str) -> String {
        match pair.split_once('=') {
            Some((name, value)) => format!("{name}={}", self.tag(value)),
            None => self.tag(pair),
        }
    }

    /// Masks the nonce of a challenge; the rest of it says where to go.
    fn nonce(&self, challenge: &str) -> String {
        let Some(at) = challenge.to_ascii_lowercase().find("nonce=\"") else { return challenge.to_owned() };
        let (before, rest) = challenge.split_at(at + 7);
        match rest.split_once('"') {
            Some((nonce, rest)) => format!("{before}{}\"{rest}", self.tag(nonce)),
            None => challenge.to_owned(),
        }
    }
}

fn is_credential(name: &str) -> bool {
    is_telling(name) && name != "www-authenticate" && !name.starts_with("access-control-")
}

/// Names by which the transport of 2024-11-05 puts its session into a path.
fn is_session(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    matches!(plain.to_ascii_lowercase().as_str(), "sessionid" | "session" | "sid")
}

/// Returns true if the bodies of a path are those of an authorization server.
#[must_use]
pub fn is_token_path(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default().to_ascii_lowercase();
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    matches!(last, "token" | "register" | "authorize" | "revoke" | "introspect" | "device_authorization" | "par")
        || path.contains("/oauth")
        || path.contains("/.well-known/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masker() -> Masker {
        Masker::new(b"salt".to_vec())
    }

    #[test]
    fn equal_values_have_equal_tags_and_other_salts_have_others() {
        let tag = masker().tag("secret");
        assert_eq!(tag.len(), "<masked:01234567>".len());
        assert_eq!(masker().tag("secret"), tag);
        assert_ne!(masker().tag("secret2"), tag);
        assert_ne!(Masker::new(b"other".to_vec()).tag("secret"), tag);
        assert_eq!(Masker::off().header("Authorization", "Bearer secret"), "Bearer secret");
    }

    #[test]
    fn credentials_in_headers_are_masked_and_nothing_else() {
        let masker = masker();
        let tag = |value: &str| masker.tag(value);
        let cases = [
            ("Authorization", "Bearer abc", format!("Bearer {}", tag("abc"))),
            ("MCP-SESSION-ID", "s-1", tag("s-1")),
            ("Last-Event-ID", "s1-0", tag("s1-0")),
            ("Cookie", "a=1; b=2", format!("a={}; b={}", tag("1"), tag("2"))),
            ("Set-Cookie", "a=1; Path=/; Secure", format!("a={}; Path=/; Secure", tag("1"))),
            ("X-Api-Key", "k", tag("k")),
            ("X-Gitlab-Token", "t", tag("t")),
            ("Mcp-Param-Patient", "Ann", tag("Ann")),
            ("Location", "/cb?code=x&page=2", format!("/cb?code={}&page=2", tag("x"))),
            (
                "WWW-Authenticate",
                "Bearer resource_metadata=\"http://h/m\", scope=\"a\"",
                "Bearer resource_metadata=\"http://h/m\", scope=\"a\"".into(),
            ),
            ("WWW-Authenticate", "DPoP nonce=\"n\", x=\"y\"", format!("DPoP nonce=\"{}\", x=\"y\"", tag("n"))),
            ("Content-Type", "application/json", "application/json".into()),
            ("Mcp-Protocol-Version", "2025-11-25", "2025-11-25".into()),
            ("Mcp-Name", "get_weather", "get_weather".into()),
        ];
        for (name, value, expected) in cases {
            assert_eq!(masker.header(name, value), expected, "{name}");
        }
    }

    #[test]
    fn paths_and_bodies_of_token_endpoints_lose_their_credentials() {
        let masker = masker();
        assert_eq!(
            masker.path("/messages?session_id=L1&x=1"),
            format!("/messages?session_id={}&x=1", masker.tag("L1"))
        );
        let body = masker.body(br#"{"access_token":"abc","expires_in":60}"#).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&body),
            format!(r#"{{"access_token":"{}","expires_in":60}}"#, masker.tag("abc"))
        );
        let form = masker.body(b"grant_type=authorization_code&code=xyz").unwrap();
        assert_eq!(String::from_utf8_lossy(&form), format!("grant_type=authorization_code&code={}", masker.tag("xyz")));
        assert_eq!(masker.body(br#"{"issuer":"https://as"}"#), None);
        let event = masker.endpoint(b"event: endpoint\r\ndata: /m?sessionId=s1\r\n\r\n").unwrap();
        let expected = format!("event: endpoint\r\ndata: /m?sessionId={}\r\n\r\n", masker.tag("s1"));
        assert_eq!(String::from_utf8_lossy(&event), expected);
        assert_eq!(masker.endpoint(b"data: endpoint?sessionId=s1\n\n"), None);
        assert!(is_token_path("/token") && is_token_path("/a/oauth2/x?y") && !is_token_path("/mcp"));
    }
}
