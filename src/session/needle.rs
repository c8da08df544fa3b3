//! A text that is looked for, in every spelling in which JSON may carry it.
//!
//! What people see is unescaped: `Hønefoss` may stand as `H\u00f8nefoss` on the wire, and a quote inside JSON inside a
//! text as `\\\"`. Whoever searches types what was seen.

/// Returns the text as it is, as part of a JSON string, and as part of JSON in a JSON string; each also with its
/// characters beyond ASCII escaped, in both cases of the hexadecimal digits.
#[must_use]
pub fn spellings(text: &str) -> Vec<Vec<u8>> {
    let mut found = vec![text.to_owned()];
    let mut level = vec![text.to_owned()];
    for _ in 0..2 {
        let next: Vec<String> = level
            .iter()
            .flat_map(|text| [Escape::None, Escape::Lower, Escape::Upper].map(|escape| in_string(text, escape)))
            .collect();
        found.extend(next.iter().cloned());
        level = next;
        level.sort();
        level.dedup();
    }
    found.sort();
    found.dedup();
    found.into_iter().map(String::into_bytes).collect()
}

/// What is done with characters beyond ASCII.
#[derive(Clone, Copy)]
enum Escape {
    None,
    Lower,
    Upper,
}

/// Returns how a text stands inside a JSON string, without the quotes around it.
fn in_string(text: &str, escape: Escape) -> String {
    let mut spelled = String::with_capacity(text.len());
    for character in text.chars() {
        match (character, escape) {
            ('"', _) => spelled.push_str("\\\""),
            ('\\', _) => spelled.push_str("\\\\"),
            ('\n', _) => spelled.push_str("\\n"),
            ('\t', _) => spelled.push_str("\\t"),
            (c, Escape::Lower) if !c.is_ascii() => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| spelled.push_str(&format!("\\u{unit:04x}")));
            }
            (c, Escape::Upper) if !c.is_ascii() => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| spelled.push_str(&format!("\\u{unit:04X}")));
            }
            (c, _) => spelled.push(c),
        }
    }
    spelled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> Vec<String> {
        spellings(text).into_iter().map(|bytes| String::from_utf8(bytes).unwrap()).collect()
    }

    #[test]
    fn plain_text_has_one_spelling() {
        assert_eq!(spelled("Bergen 7"), ["Bergen 7"]);
    }

    #[test]
    fn quotes_and_letters_are_found_at_two_depths() {
        let found = spelled("\"ø\"");
        for text in [
            "\"ø\"",
            "\\\"ø\\\"",
            "\\\"\\u00f8\\\"",
            "\\\"\\u00F8\\\"",
            "\\\\\\\"ø\\\\\\\"",
            "\\\\\\\"\\\\u00f8\\\\\\\"",
        ] {
            assert!(found.contains(&text.to_owned()), "{text} is not in {found:?}");
        }
    }
}
