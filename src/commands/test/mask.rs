//! Masks made of changes: the narrowest rules that excuse them, written into a session file's first line.

use super::accept::{Unit, unit};
use crate::analysis::report::{Change, ChangeKind, DiffReport, Level};
use crate::replay::edit;
use crate::session::mask::{MaskRule, MaskType};

/// Returns the rules that excuse a change.
///
/// # Errors
/// A sentence: why no mask can.
pub(crate) fn rules(report: &DiffReport, wanted: &Unit) -> Result<Vec<MaskRule>, String> {
    let never = || "no mask hides what is there, its type, its outcome, or what a server offers".to_owned();
    if !matches!(wanted, Unit::Exchange(_)) {
        return Err(never());
    }
    let mut rules = Vec::new();
    for change in report.changes.iter().filter(|change| unit(change, report).as_ref() == Some(wanted)) {
        let rule = rule(change, report).ok_or_else(never)?;
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    if rules.is_empty() { Err(never()) } else { Ok(rules) }
}

fn rule(change: &Change, report: &DiffReport) -> Option<MaskRule> {
    if change.level != Level::Content {
        return None;
    }
    let kind = match change.kind {
        ChangeKind::Changed | ChangeKind::Text | ChangeKind::Blob | ChangeKind::FloatNoise => MaskType::Random,
        ChangeKind::Reordered => MaskType::Order,
        _ => return None,
    };
    let head = change.pair.and_then(|at| report.pairs.get(at))?.a.as_ref()?;
    let inside = change.inside.as_ref().and_then(|pointers| pointers.a.as_deref()).unwrap_or_default();
    let at = format!("{}{inside}", change.pointer.a.as_deref()?);
    let of = |method: &str| head.name.clone().filter(|_| head.method == method);
    let (tool, resource) = (of("tools/call"), of("resources/read"));
    let method = (tool.is_none() && resource.is_none()).then(|| head.method.clone());
    Some(MaskRule { method, tool, resource, at: Some(at), text: None, kind, learned: false })
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
