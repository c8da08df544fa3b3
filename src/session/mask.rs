//! A mask as it is written down: in a configuration file, or in the first line of a session file.

use serde::{Deserialize, Serialize};

/// What a masked value is, and so what it must look like on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaskType {
    /// A moment in time: a text that has one, or a number.
    Timestamp,
    /// A UUID.
    Uuid,
    /// How long something took: a number.
    Duration,
    /// A number that rises.
    Counter,
    /// Any value of the same type.
    Random,
    /// An array whose items come in any order.
    Order,
    /// A text without blanks.
    Token,
}

impl MaskType {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Timestamp, Self::Uuid, Self::Duration, Self::Counter, Self::Random, Self::Order, Self::Token];

    /// Returns the word that stands in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timestamp => "timestamp",
            Self::Uuid => "uuid",
            Self::Duration => "duration",
            Self::Counter => "counter",
            Self::Random => "random",
            Self::Order => "order",
            Self::Token => "token",
        }
    }

    /// Returns the type of that word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A rule that excuses values that differ from run to run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MaskRule {
    /// Exchanges of these methods, as a glob; of all of them if neither method, tool nor resource is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Calls of these tools, as a glob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Reads of these resources, as a glob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Where, as a JSON pointer with `*` for one token and `**` for any number of them; anywhere in the
    /// result if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Which part of a text, as a regular expression whose group 1 it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What the value is.
    #[serde(rename = "as")]
    pub kind: MaskType,
    /// True if it was learned from repeated runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub learned: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_written_as_it_is_read() {
        let text = r#"{"tool":"now","at":"/content/*/text","text":"took (\\d+) ms","as":"duration","learned":true}"#;
        let rule: MaskRule = serde_json::from_str(text).unwrap();
        assert_eq!(rule.kind, MaskType::Duration);
        assert_eq!(serde_json::to_string(&rule).unwrap(), text);
        for kind in MaskType::ALL {
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{}\"", kind.as_str()));
            assert_eq!(MaskType::from_name(kind.as_str()), Some(kind));
        }
        assert_eq!(MaskType::from_name("date"), None);
    }
}
