//! Replacing spans of a JSON text: everything else stays as it was written.

use crate::protocol::json::{Kind, Node, Tree};

/// A span that is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Its first byte.
    pub from: usize,
    /// One past its last byte.
    pub to: usize,
    /// What stands there instead.
    pub with: Vec<u8>,
}

/// Returns the text with its spans replaced; of spans that overlap the first counts.
#[must_use]
pub fn apply(text: &[u8], mut edits: Vec<Edit>) -> Vec<u8> {
    if edits.is_empty() {
        return text.to_vec();
    }
    edits.sort_by_key(|edit| (edit.from, edit.to));
    let mut edited = Vec::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        if edit.from < at || edit.to < edit.from || edit.to > text.len() {
            continue;
        }
        edited.extend_from_slice(text.get(at..edit.from).unwrap_or_default());
        edited.extend_from_slice(&edit.with);
        at = edit.to;
    }
    edited.extend_from_slice(text.get(at..).unwrap_or_default());
    edited
}

/// Returns where a piece of a text stands in it.
#[must_use]
pub fn span(text: &[u8], piece: &[u8]) -> (usize, usize) {
    let from = (piece.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    (from, from + piece.len())
}

/// Returns the edit that puts a value at a pointer below `under`: in the place of the old one, or as a new member.
///
/// # Errors
/// A sentence: why it cannot be put there.
pub fn set(text: &[u8], under: &[&str], pointer: &str, value: &[u8]) -> Result<Edit, String> {
    let tree = Tree::parse(text).map_err(|error| error.to_string())?;
    let full: String = under.iter().map(|key| format!("/{key}")).collect::<String>() + pointer;
    if let Some(node) = tree.root().pointer(&full) {
        let (from, to) = span(text, node.raw());
        return Ok(Edit { from, to, with: value.to_vec() });
    }
    let Some((parent, key)) = full.rsplit_once('/') else { return Err("the message has no such value".into()) };
    let key = key.replace("~1", "/").replace("~0", "~");
    let member = |value: &[u8]| [&quoted(&key), b":".as_slice(), value].concat();
    match tree.root().pointer(parent) {
        Some(node) if node.kind() == Kind::Object => Ok(insert(text, node, member(value))),
        // Arguments that were left out are none.
        None if parent == format!("/{}", under.join("/")) => {
            let (above, last) = parent.rsplit_once('/').unwrap_or(("", parent));
            let inner = [b"{".as_slice(), &member(value), b"}"].concat();
            match tree.root().pointer(above) {
                Some(node) if node.kind() == Kind::Object => {
                    Ok(insert(text, node, [&quoted(last), b":".as_slice(), &inner].concat()))
                }
                _ => Err(format!("nothing stands at `{above}`")),
            }
        }
        Some(_) => Err(format!("`{parent}` is no object, so nothing can be added to it")),
        None => Err(format!("nothing stands at `{parent}`")),
    }
}

/// Returns the edit that adds a member to an object, before the others.
#[must_use]
pub fn insert(text: &[u8], object: Node<'_, '_>, mut member: Vec<u8>) -> Edit {
    let (from, _) = span(text, object.raw());
    if !object.is_empty() {
        member.push(b',');
    }
    Edit { from: from + 1, to: from + 1, with: member }
}

/// Returns a text as a JSON string.
#[must_use]
pub fn quoted(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).unwrap_or_else(|_| b"\"\"".to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_replaced_stays() {
        let text = br#" { "a" : 1.0 , "b":{"c":"\u0041"} } "#;
        let changed = |under: &[&str], pointer: &str| {
            set(text, under, pointer, b"7").map(|edit| String::from_utf8(apply(text, vec![edit])).unwrap())
        };
        assert_eq!(changed(&[], "/a").unwrap(), r#" { "a" : 7 , "b":{"c":"\u0041"} } "#);
        assert_eq!(changed(&["b"], "/c").unwrap(), r#" { "a" : 1.0 , "b":{"c":7} } "#);
        assert_eq!(changed(&["b"], "/d~1e").unwrap(), r#" { "a" : 1.0 , "b":{"d/e":7,"c":"\u0041"} } "#);
        assert_eq!(changed(&["x"], "/d").unwrap(), r#" {"x":{"d":7}, "a" : 1.0 , "b":{"c":"\u0041"} } "#);
        assert!(changed(&[], "/a/b").is_err());
        assert!(changed(&[], "/x/y/z").is_err());
    }
}
