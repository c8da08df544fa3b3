//! JSON pointers (RFC 6901).

use super::node::{Kind, Node};
use std::borrow::Cow;

/// Returns what a pointer leads to; see [`Node::pointer`].
pub(super) fn follow<'t, 'a>(start: Node<'t, 'a>, pointer: &str) -> Option<Node<'t, 'a>> {
    if pointer.is_empty() {
        return Some(start);
    }
    let mut tokens = pointer.strip_prefix('/')?.split('/');
    tokens.try_fold(start, |node, token| match node.kind() {
        Kind::Object => node.get(&pointer_token(token)?),
        Kind::Array => node.at(pointer_index(token)?),
        _ => None,
    })
}

/// Resolves `~0` and `~1`; a `~` before anything else is malformed.
fn pointer_token(token: &str) -> Option<Cow<'_, str>> {
    let mut parts = token.split('~');
    let first = parts.next()?;
    let mut resolved = Cow::Borrowed(first);
    for part in parts {
        let (escaped, rest) = match part.as_bytes().first()? {
            b'0' => ('~', part.get(1..)?),
            b'1' => ('/', part.get(1..)?),
            _ => return None,
        };
        let owned = resolved.to_mut();
        owned.push(escaped);
        owned.push_str(rest);
    }
    Some(resolved)
}

/// Reads an array index, which has no sign and no leading zeros (RFC 6901 §4).
fn pointer_index(token: &str) -> Option<usize> {
    let canonical = token == "0" || !token.starts_with(['0', '+', '-']);
    canonical.then(|| token.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::json::Tree;

    const SAMPLE: &str = r#"{"n": 1, "list": [ 1, [2, 3], {"deep": {"x": []}} ], "n": 7, "b/c": 1, "~": 2, "": 3}"#;

    #[test]
    fn pointers_follow_rfc_6901() {
        let tree = Tree::parse(SAMPLE.as_bytes()).unwrap();
        let found = |pointer: &str| tree.root().pointer(pointer).map(Node::raw);
        assert_eq!(found("").unwrap().first(), Some(&b'{'));
        for (pointer, raw) in [
            ("/list/0", "1"),
            ("/list/1/1", "3"),
            ("/list/2/deep/x", "[]"),
            ("/b~1c", "1"),
            ("/~0", "2"),
            ("/", "3"),
            ("/n", "7"),
        ] {
            assert_eq!(found(pointer), Some(raw.as_bytes()), "{pointer}");
        }
        for pointer in [
            "list",
            "/list/01",
            "/list/-",
            "/list/+1",
            "/list/3",
            "/list/",
            "/~",
            "/~2",
            "/n/0",
            "/list/1/x",
            "/list/99999999999999999999999",
        ] {
            assert_eq!(found(pointer), None, "{pointer}");
        }
        assert_eq!(pointer_token("a~01~1b").unwrap(), "a~1/b");
    }
}
