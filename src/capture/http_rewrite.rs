//! The few places where an answer would lead a client around the tap. Pure.
//!
//! Only URLs of the upstream's own origin are changed, only in these places, and each change is told in the session.

use crate::protocol::json::{Node, Tree};
use crate::protocol::sse::{Event, SseFramer};

/// The longest first event that may be held back to be rewritten, in bytes.
const LONGEST_EVENT: usize = 16 << 10;

/// The upstream's origin, and the one under which the client reaches the tap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origins {
    /// Such as `https://host`.
    pub upstream: String,
    /// Such as `http://127.0.0.1:4000`.
    pub tap: String,
}

impl Origins {
    /// Returns the URL that leads through the tap, or `None` if a URL does not lead to the upstream.
    #[must_use]
    pub fn through_tap(&self, url: &str) -> Option<String> {
        let (origin, rest) = split(url)?;
        (canonical(origin)? == canonical(&self.upstream)?).then(|| format!("{}{rest}", self.tap))
    }

    /// Returns a challenge whose `resource_metadata` leads through the tap, or `None` if it stays as it is.
    #[must_use]
    pub fn challenge(&self, value: &str) -> Option<String> {
        let at = value.find("resource_metadata=\"")? + "resource_metadata=\"".len();
        let (before, rest) = value.split_at(at);
        let (url, after) = rest.split_once('"')?;
        Some(format!("{before}{}\"{after}", self.through_tap(url)?))
    }

    /// Returns protected-resource metadata whose `resource` is the tap's, or `None` if it stays as it is.
    ///
    /// A client refuses metadata of another resource than the one it talks to (RFC 9728, 3.3).
    #[must_use]
    pub fn metadata(&self, body: &[u8]) -> Option<Vec<u8>> {
        let tree = Tree::parse(body).ok()?;
        let resource = tree.root().get("resource")?;
        let new = self.through_tap(&Node::as_text(resource)?)?;
        let raw = resource.raw();
        let at = (raw.as_ptr() as usize).checked_sub(body.as_ptr() as usize)?;
        let quoted = serde_json::to_string(&new).ok()?;
        Some([body.get(..at)?, quoted.as_bytes(), body.get(at + raw.len()..)?].concat())
    }
}

/// Returns the origin of an absolute URL and what follows it.
fn split(url: &str) -> Option<(&str, &str)> {
    let from = url.find("://")? + 3;
    let end = url.get(from..)?.find(['/', '?', '#']).map_or(url.len(), |at| from + at);
    Some(url.split_at(end))
}

fn canonical(origin: &str) -> Option<String> {
    let origin = origin.to_ascii_lowercase();
    let (scheme, authority) = origin.split_once("://")?;
    let default = if scheme == "https" { ":443" } else { ":80" };
    Some(format!("{scheme}://{}", authority.strip_suffix(default).unwrap_or(authority)))
}

/// Looks for the `endpoint` event at the beginning of a stream (2024-11-05), and has it lead through the tap.
#[derive(Debug, Default)]
pub struct EndpointFinder {
    held: Vec<u8>,
    framer: SseFramer,
    done: bool,
}

/// What became of the bytes that were given to an [`EndpointFinder`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// What is to be written on now.
    pub bytes: Vec<u8>,
    /// The endpoint, as the upstream said it.
    pub endpoint: Option<String>,
    /// What it was changed to.
    pub changed_to: Option<String>,
}

impl EndpointFinder {
    /// Returns true once the beginning of the stream has passed.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8], origins: &Origins) -> Found {
        let mut first = None;
        self.held.extend_from_slice(bytes);
        self.framer.push(bytes, |piece| {
            if let crate::protocol::line::Piece::Whole(event) = piece {
                let says_something = Event::parse(event).data.is_some();
                if says_something && first.is_none() {
                    first = Some(event.to_vec());
                }
            }
        });
        let Some(event) = first else {
            // Comments may come first; a client that waits for them must not wait for us.
            let waits = self.is_endpoint_perhaps() && self.held.len() <= LONGEST_EVENT;
            return if waits { Found::default() } else { self.let_go(None, None) };
        };
        let parsed = Event::parse(&event);
        let data = parsed.data.unwrap_or_default();
        let endpoint = (parsed.event == Some(b"endpoint")).then(|| String::from_utf8_lossy(&data).into_owned());
        let changed = endpoint.as_deref().and_then(|url| origins.through_tap(url));
        if let (Some(old), Some(new)) = (&endpoint, &changed)
            && let Some(at) = memchr::memmem::find(&self.held, old.as_bytes())
        {
            self.held.splice(at..at + old.len(), new.bytes());
        }
        self.let_go(endpoint, changed)
    }

    /// Returns what is held back when the stream ends.
    pub fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    fn let_go(&mut self, endpoint: Option<String>, changed_to: Option<String>) -> Found {
        // Blocks without data before the first event change nothing: the next may still be the endpoint.
        self.done = endpoint.is_some() || !self.is_endpoint_perhaps() && !only_comments(&self.held);
        Found { bytes: std::mem::take(&mut self.held), endpoint, changed_to }
    }

    /// Returns true if what is held ends inside an event that may be the endpoint.
    fn is_endpoint_perhaps(&self) -> bool {
        let open = self.held.get(self.held.len().saturating_sub(self.framer.pending())..).unwrap_or_default();
        !open.is_empty()
            && memchr::memmem::find(b"event: endpoint", open.get(..open.len().min(15)).unwrap_or(open)).is_some()
            || memchr::memmem::find(open, b"endpoint").is_some()
    }
}

fn only_comments(bytes: &[u8]) -> bool {
    bytes.split(|byte| *byte == b'\n').all(|line| matches!(line.first(), None | Some(b':' | b'\r')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origins() -> Origins {
        Origins { upstream: "https://Host.example".into(), tap: "http://127.0.0.1:4000".into() }
    }

    #[test]
    fn only_urls_of_the_upstream_lead_through_the_tap() {
        let cases = [
            ("https://host.example/mcp/", Some("http://127.0.0.1:4000/mcp/")),
            ("https://HOST.example:443?x", Some("http://127.0.0.1:4000?x")),
            ("https://host.example", Some("http://127.0.0.1:4000")),
            ("http://host.example/mcp", None),
            ("https://host.example.evil/mcp", None),
            ("/mcp/", None),
        ];
        for (url, expected) in cases {
            assert_eq!(origins().through_tap(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn challenges_and_metadata_name_the_tap() {
        let challenge = r#"Bearer resource_metadata="https://host.example/.well-known/x", scope="a b""#;
        let expected = r#"Bearer resource_metadata="http://127.0.0.1:4000/.well-known/x", scope="a b""#;
        assert_eq!(origins().challenge(challenge).as_deref(), Some(expected));
        assert_eq!(origins().challenge("Bearer realm=\"x\""), None);
        let body =
            br#"{ "resource": "https://host.example/mcp", "authorization_servers": ["https://host.example/as"] }"#;
        let expected =
            r#"{ "resource": "http://127.0.0.1:4000/mcp", "authorization_servers": ["https://host.example/as"] }"#;
        assert_eq!(origins().metadata(body).map(|b| String::from_utf8(b).unwrap()).as_deref(), Some(expected));
        assert_eq!(origins().metadata(b"{}"), None);
    }

    #[test]
    fn an_absolute_endpoint_is_led_through_the_tap_under_every_cut() {
        let stream = b": hi\n\nevent: endpoint\ndata: https://host.example/m?s=1\n\nevent: message\ndata: {}\n\n";
        let expected = b": hi\n\nevent: endpoint\ndata: http://127.0.0.1:4000/m?s=1\n\nevent: message\ndata: {}\n\n";
        for at in 0..stream.len() {
            let mut finder = EndpointFinder::default();
            let mut out = Vec::new();
            let mut endpoint = None;
            for part in [&stream[..at], &stream[at..]] {
                if finder.is_done() {
                    out.extend_from_slice(part);
                    continue;
                }
                let found = finder.push(part, &origins());
                out.extend_from_slice(&found.bytes);
                endpoint = endpoint.or(found.endpoint);
            }
            out.extend(finder.rest());
            assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(expected), "cut at {at}");
            assert_eq!(endpoint.as_deref(), Some("https://host.example/m?s=1"));
        }
    }

    #[test]
    fn other_streams_are_not_held_back() {
        for start in [&b"data: {\"a\""[..], b": tick 0\n", b"id: 1\ndata:", b"event: message\nda"] {
            let mut finder = EndpointFinder::default();
            let found = finder.push(start, &origins());
            assert_eq!(found, Found { bytes: start.to_vec(), ..Found::default() });
        }
        let mut finder = EndpointFinder::default();
        let relative = b"event: endpoint\r\ndata: /messages?s=1\r\n\r\n";
        let found = finder.push(relative, &origins());
        assert_eq!((found.bytes, found.endpoint.as_deref()), (relative.to_vec(), Some("/messages?s=1")));
        assert_eq!((found.changed_to, finder.is_done()), (None, true));
    }
}
