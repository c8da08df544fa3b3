//! Masks made of changes: the narrowest rules that excuse them, written into a session file's first line.

use super::accept::Unit;
use crate::analysis::exchanges::Recording;
use crate::analysis::learn::learn;
use crate::analysis::report::Options;
use crate::commands::judge::Judged;
use crate::commands::masks;
use crate::replay::edit;
use crate::session::mask::MaskRule;
use crate::session::message::Place;
use std::collections::BTreeMap;

/// Returns the rules that excuse a change: those that two runs would teach that differ in it alone.
///
/// # Errors
/// A sentence: why no mask can.
pub(crate) fn rules(judged: &Judged, options: Options, wanted: &Unit) -> Result<Vec<MaskRule>, String> {
    let never = || "no mask hides what is there, its type, its outcome, or what a server offers".to_owned();
    let Unit::Exchange(place) = wanted else { return Err(never()) };
    let pairs = judged.differences.pairs.iter();
    let both = pairs.filter_map(|pair| Some((pair.a.as_ref()?.place, pair.b.as_ref()?.place)));
    let (a, b) = both.into_iter().find(|(a, _)| a == place).ok_or_else(never)?;
    let held = masks::rules(&[&judged.a.session, &judged.b.session]).map_err(|error| error.message)?;
    let runs = [alone(&judged.b, b)];
    let learned = learn(&alone(&judged.a, a), &runs, Options { strict: false, ..options }, &held);
    if learned.rules.is_empty() || !learned.cannot.is_empty() {
        return Err(never());
    }
    // A person has said so, and no repetition.
    Ok(learned.rules.into_iter().map(|rule| MaskRule { learned: false, ..rule }).collect())
}

/// Returns a recording with one exchange alone.
fn alone(recording: &Recording, place: Place) -> Recording {
    Recording {
        session: recording.session.clone(),
        exchanges: recording.exchanges.iter().filter(|exchange| exchange.place == place).cloned().collect(),
        notifications: BTreeMap::new(),
        era: recording.era,
        unread: 0,
    }
}

/// Returns a rule as a person reads it.
#[must_use]
pub(crate) fn shown(rule: &MaskRule) -> String {
    let of = rule.tool.as_deref().or(rule.resource.as_deref()).or(rule.method.as_deref()).unwrap_or("*");
    let at = rule.at.as_deref().unwrap_or("anywhere");
    let text = rule.text.as_deref().map(|text| format!(", in its text `{text}`")).unwrap_or_default();
    crate::output::sanitize::line(&format!("{of} {at}{text} as {}", rule.kind.as_str()))
}

/// Returns a session file with more masks in its first line; `None` if that cannot be read.
#[must_use]
pub(crate) fn with(data: &[u8], more: &[MaskRule]) -> Option<Vec<u8>> {
    let end = memchr::memchr(b'\n', data).unwrap_or(data.len());
    let line = data.get(..end)?;
    let header: serde_json::Value = serde_json::from_slice(line).ok()?;
    let mut masks: Vec<MaskRule> = match header.get("session").and_then(|session| session.get("masks")) {
        Some(masks) => serde_json::from_value(masks.clone()).ok()?,
        None => Vec::new(),
    };
    masks.extend(more.iter().filter(|rule| !masks.contains(rule)).cloned().collect::<Vec<_>>());
    let edit = edit::set(line, &["session"], "/masks", &serde_json::to_vec(&masks).ok()?).ok()?;
    let mut changed = edit::apply(line, vec![edit]);
    changed.extend_from_slice(data.get(end..)?);
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::mask::MaskType;

    #[test]
    fn masks_go_into_the_first_line_and_nowhere_else() {
        let rule = MaskRule {
            method: None,
            tool: Some("now".into()),
            resource: None,
            at: Some("/content/0/text".into()),
            text: None,
            kind: MaskType::Random,
            learned: false,
        };
        let data = b"{\"mcp_tap_file\":1,\"session\":{\"id\":\"x\"}}\n{\"seq\":0}\n";
        let once = with(data, std::slice::from_ref(&rule)).unwrap();
        let expected = "{\"mcp_tap_file\":1,\"session\":{\"masks\":[{\"tool\":\"now\",\"at\":\"/content/0/text\",\"as\":\"random\"}],\"id\":\"x\"}}\n{\"seq\":0}\n";
        assert_eq!(String::from_utf8_lossy(&once), expected);
        assert_eq!(with(&once, &[rule]).unwrap(), once);
    }
}
