//! The methods of all revisions, as a table.
//!
//! The names are the `method` constants of the five published schemas and of the tasks extension; unknown methods are
//! kept as they are.

/// Which side may send a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The client alone.
    Client,
    /// The server alone.
    Server,
    /// Both sides.
    Both,
}

/// A method of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// The name on the wire.
    pub name: &'static str,
    /// Who sends it.
    pub sender: Sender,
    /// True for a request, false for a notification.
    pub request: bool,
    /// The first revision that has it.
    pub since: &'static str,
    /// The last revision that has it, if it was removed.
    pub until: Option<&'static str>,
}

const fn method(
    name: &'static str,
    sender: Sender,
    request: bool,
    since: &'static str,
    until: Option<&'static str>,
) -> Method {
    Method { name, sender, request, since, until }
}

const V24: &str = "2024-11-05";
const V0618: &str = "2025-06-18";
const V1125: &str = "2025-11-25";
const V0728: &str = "2026-07-28";
const LEGACY: Option<&str> = Some(V1125);

/// Every known method.
pub const METHODS: [Method; 37] = [
    method("initialize", Sender::Client, true, V24, LEGACY),
    method("notifications/initialized", Sender::Client, false, V24, LEGACY),
    method("server/discover", Sender::Client, true, V0728, None),
    method("ping", Sender::Both, true, V24, LEGACY),
    method("tools/list", Sender::Client, true, V24, None),
    method("tools/call", Sender::Client, true, V24, None),
    method("resources/list", Sender::Client, true, V24, None),
    method("resources/templates/list", Sender::Client, true, V24, None),
    method("resources/read", Sender::Client, true, V24, None),
    method("resources/subscribe", Sender::Client, true, V24, LEGACY),
    method("resources/unsubscribe", Sender::Client, true, V24, LEGACY),
    method("prompts/list", Sender::Client, true, V24, None),
    method("prompts/get", Sender::Client, true, V24, None),
    method("completion/complete", Sender::Client, true, V24, None),
    method("logging/setLevel", Sender::Client, true, V24, LEGACY),
    method("subscriptions/listen", Sender::Client, true, V0728, None),
    method("tasks/get", Sender::Both, true, V1125, None),
    method("tasks/result", Sender::Both, true, V1125, LEGACY),
    method("tasks/cancel", Sender::Both, true, V1125, None),
    method("tasks/list", Sender::Both, true, V1125, LEGACY),
    method("tasks/update", Sender::Client, true, V0728, None),
    method("sampling/createMessage", Sender::Server, true, V24, LEGACY),
    method("roots/list", Sender::Server, true, V24, LEGACY),
    method("elicitation/create", Sender::Server, true, V0618, LEGACY),
    method("notifications/cancelled", Sender::Both, false, V24, None),
    method("notifications/progress", Sender::Both, false, V24, None),
    method("notifications/message", Sender::Server, false, V24, None),
    method("notifications/tools/list_changed", Sender::Server, false, V24, None),
    method("notifications/prompts/list_changed", Sender::Server, false, V24, None),
    method("notifications/resources/list_changed", Sender::Server, false, V24, None),
    method("notifications/resources/updated", Sender::Server, false, V24, None),
    method("notifications/roots/list_changed", Sender::Client, false, V24, LEGACY),
    method("notifications/elicitation/complete", Sender::Server, false, V1125, LEGACY),
    method("notifications/tasks/status", Sender::Both, false, V1125, LEGACY),
    method("notifications/tasks", Sender::Server, false, V0728, None),
    method("notifications/subscriptions/acknowledged", Sender::Server, false, V0728, None),
    // A spelling of TypeScript SDK 1.0 that no schema has.
    method("cancelled", Sender::Both, false, V24, Some(V24)),
];

/// Returns what is known of a method.
#[must_use]
pub fn known(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// Returns true for a request that stays open by design and whose answer may never come.
#[must_use]
pub fn is_long_lived(name: &str) -> bool {
    name == "subscriptions/listen"
}

/// Returns true for the notification that takes a request back; one old client library spells it without prefix.
#[must_use]
pub fn is_cancellation(name: &str) -> bool {
    matches!(name, "notifications/cancelled" | "cancelled")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for (at, method) in METHODS.iter().enumerate() {
            assert_eq!(METHODS.iter().position(|other| other.name == method.name), Some(at), "{}", method.name);
            assert_eq!(known(method.name), Some(method));
        }
        assert_eq!(known("acme/custom"), None);
    }

    // Counts of distinct methods in the five published schemas; `tasks/*` of 2026-07-28 is an extension, and its
    // `sampling/createMessage`, `roots/list` and `elicitation/create` are embedded in results, not sent.
    #[test]
    fn every_revision_has_as_many_methods_as_its_schema() {
        let count = |revision: &str| {
            METHODS
                .iter()
                .filter(|m| {
                    m.name != "cancelled" && m.since <= revision && m.until.is_none_or(|until| revision <= until)
                })
                .filter(|m| revision != "2026-07-28" || !m.name.contains("tasks"))
                .count()
        };
        assert_eq!(count("2024-11-05"), 24);
        assert_eq!(count("2025-03-26"), 24);
        assert_eq!(count("2025-06-18"), 25);
        assert_eq!(count("2025-11-25"), 31);
        assert_eq!(count("2026-07-28") + 3, 21);
    }
}
