//! Which steps are sent: what a person asked for, and what the server's own hints say is safe. Pure.

use super::plan::{Action, Plan};
use super::script::Script;
use crate::protocol::json::{Node, Tree};
use crate::session::message::{Kind, Place};
use std::collections::{HashMap, HashSet};

/// What a person asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Methods or names that alone are sent; empty for all.
    pub only: Vec<String>,
    /// Methods or names that are not sent.
    pub skip: Vec<String>,
    /// True if only tools that say they only read are called.
    pub read_only: bool,
    /// True if tools that say they are destructive are called.
    pub destructive: bool,
    /// The one frame whose exchange is replayed, with the handshake.
    pub one: Option<u64>,
}

/// What tools say of themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints {
    /// `readOnlyHint` is true.
    pub reads: bool,
    /// `destructiveHint` is true.
    pub destroys: bool,
}

/// Returns what the tools said of themselves in the recording.
#[must_use]
pub fn hints(script: &Script) -> HashMap<String, Hints> {
    let mut found = HashMap::new();
    let lists = script.messages.iter().filter(|m| m.kind == Kind::Result && m.method.as_deref() == Some("tools/list"));
    for message in lists {
        let Ok(tree) = Tree::parse(script.text(message.place)) else { continue };
        let Some(tools) = tree.root().pointer("/result/tools") else { continue };
        for tool in tools.children() {
            let Some(name) = tool.get("name").and_then(Node::as_text) else { continue };
            let hint = |key: &str| tool.pointer(&format!("/annotations/{key}")).and_then(Node::as_bool);
            let reads = hint("readOnlyHint") == Some(true);
            found.insert(name.into_owned(), Hints { reads, destroys: hint("destructiveHint") == Some(true) && !reads });
        }
    }
    found
}

/// Marks the steps that are not sent, with the reason, and returns the places that are not.
pub fn choose(plan: &mut Plan, script: &Script, choice: &Choice) {
    let hints = hints(script);
    let needed = choice.one.map(|seq| needed(plan, script, seq));
    for step in &mut plan.steps {
        if matches!(step.action, Action::Answer(_)) {
            continue;
        }
        step.unsent = step.members.iter().find_map(|member| {
            let named = |list: &[String]| {
                list.iter().any(|word| *word == member.method || member.name.as_deref() == Some(word.as_str()))
            };
            let greeting = is_greeting(&member.method);
            if let Some(needed) = &needed {
                return (!greeting && !needed.contains(&step.seq)).then(|| "not asked for".into());
            }
            if member.kind == Kind::Request && !greeting {
                if !choice.only.is_empty() && !named(&choice.only) {
                    return Some("not in --only".into());
                }
                if named(&choice.skip) {
                    return Some("--skip".into());
                }
            }
            if member.kind != Kind::Request || member.method != "tools/call" {
                return None;
            }
            let hint = member.name.as_deref().and_then(|name| hints.get(name)).copied().unwrap_or_default();
            if hint.destroys && !choice.destructive {
                return Some("destructive (--destructive)".into());
            }
            (choice.read_only && !hint.reads).then(|| "not read-only".into())
        });
    }
    // What takes back a call that is not sent, or asks about its task, is not sent either.
    let unsent: HashSet<Place> = plan
        .steps
        .iter()
        .filter(|step| step.unsent.is_some())
        .flat_map(|step| step.members.iter().map(|member| member.place))
        .collect();
    for step in plan.steps.iter_mut().filter(|step| step.unsent.is_none()) {
        let cancels = step.members.iter().filter_map(|member| script.message(member.place)?.concerns);
        let uses = step.members.iter().flat_map(|member| member.bindings.iter().map(|binding| binding.source.request));
        let missing = cancels.chain(uses).find(|place| unsent.contains(place));
        if let Some(place) = missing {
            step.unsent = Some(format!("it needs {place}, which is not sent"));
        }
    }
}

/// Returns true for what opens a session.
#[must_use]
pub fn is_greeting(method: &str) -> bool {
    matches!(method, "initialize" | "notifications/initialized" | "server/discover")
}

/// Returns the frames of one exchange, with those whose values it uses.
fn needed(plan: &Plan, script: &Script, seq: u64) -> HashSet<u64> {
    let opened = script.messages.iter().filter(|message| message.place.seq == seq);
    let asked = opened.filter_map(crate::session::exchange::request_of).map(|place| place.seq);
    let mut needed: HashSet<u64> = asked.collect();
    for step in plan.steps.iter().rev() {
        let members = step.members.iter();
        let cancels = members.clone().filter_map(|member| script.message(member.place)?.concerns);
        if cancels.into_iter().any(|place| needed.contains(&place.seq)) {
            needed.insert(step.seq);
        }
        if needed.contains(&step.seq) {
            let uses = members.flat_map(|member| member.bindings.iter());
            needed.extend(uses.map(|binding| binding.source.request.seq));
        }
    }
    needed
}

/// Returns the first unsent call that may have changed something, so that what differs after it cannot be judged.
#[must_use]
pub fn first_unsent_write(plan: &Plan, script: &Script) -> Option<Place> {
    let hints = hints(script);
    let writes = |member: &&super::plan::Member| {
        let hint = member.name.as_deref().and_then(|name| hints.get(name)).copied().unwrap_or_default();
        member.method == "tools/call" && !hint.reads
    };
    let unsent = plan.steps.iter().filter(|step| step.unsent.is_some());
    unsent.flat_map(|step| step.members.iter()).find(writes).map(|member| member.place)
}
