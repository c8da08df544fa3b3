//! Names with `*` for any letters and `?` for one.

/// A pattern of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob {
    pattern: Vec<char>,
}

impl Glob {
    pub(super) fn new(pattern: &str) -> Self {
        Self { pattern: pattern.chars().collect() }
    }

    /// Tells whether a whole name fits.
    pub(super) fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut at, mut in_name) = (0, 0);
        // Where the last star stands, and how much of the name it has taken.
        let mut star: Option<(usize, usize)> = None;
        while in_name < name.len() {
            match self.pattern.get(at) {
                Some('*') => {
                    star = Some((at, in_name));
                    at += 1;
                    continue;
                }
                Some(wanted) if *wanted == '?' || name.get(in_name) == Some(wanted) => {
                    at += 1;
                    in_name += 1;
                    continue;
                }
                _ => {}
            }
            let Some((place, taken)) = star else { return false };
            (at, in_name) = (place + 1, taken + 1);
            star = Some((place, taken + 1));
        }
        self.pattern.iter().skip(at).all(|rest| *rest == '*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit() {
        for (pattern, name, fits) in [
            ("now", "now", true),
            ("now", "nowhere", false),
            ("now*", "nowhere", true),
            ("*", "", true),
            ("*", "tools/call", true),
            ("get_*_id", "get_a_b_id", true),
            ("get_*_id", "get_a_ids", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a**b", "ab", true),
            ("", "a", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), fits, "{pattern} {name}");
        }
    }
}
