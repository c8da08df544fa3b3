//! News for the client: by session in the older revisions, by `subscriptions/listen` in the newest.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{modern, prompts};
use crate::sample::{
    server::{Request, Server},
    wire::{self, RpcError},
};

const ID: &str = "io.modelcontextprotocol/subscriptionId";

/// What the client wants to hear of.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    /// Resources watched by `resources/subscribe`.
    pub(crate) watched: BTreeSet<String>,
    open: Vec<(Request, Value)>,
}

/// Opens a subscription; the answer comes when it ends. Returns an error at once for a bad filter.
pub(super) fn listen(server: &Server, request: &Request) -> Option<RpcError> {
    let wanted = &request.params["notifications"];
    if !wanted.is_object() {
        return Some(RpcError::new(-32602, "notifications is required"));
    }
    let mut honoured = json!({});
    for kind in ["toolsListChanged", "promptsListChanged", "resourcesListChanged"] {
        if server.has_extras() && wanted[kind] == true {
            honoured[kind] = json!(true);
        }
    }
    let list = |name: &str, keep: &dyn Fn(&str) -> bool| -> Vec<Value> {
        let wanted = wanted[name].as_array().into_iter().flatten();
        wanted.filter(|entry| entry.as_str().is_some_and(keep)).cloned().collect()
    };
    let resources = list("resourceSubscriptions", &prompts::exists);
    if !resources.is_empty() {
        honoured["resourceSubscriptions"] = json!(resources);
    }
    let tasks = list("taskIds", &|id| server.update(|state| state.tasks.exists(id)));
    if !tasks.is_empty() {
        honoured["taskIds"] = json!(tasks);
    }
    // Acknowledged before anything can be sent on it.
    let params = json!({"_meta": {ID: id_of(request)}, "notifications": honoured});
    server.notify("notifications/subscriptions/acknowledged", &params);
    server.update(|state| state.subscriptions.open.push((request.clone(), honoured)));
    None
}

fn id_of(request: &Request) -> Value {
    serde_json::from_str(&request.id).unwrap_or(Value::Null)
}

/// Tells everybody who wants to know that a list has changed; `kind` is `tools` or the like.
pub(crate) fn list_changed(server: &Server, kind: &str) {
    let method = format!("notifications/{kind}/list_changed");
    if server.update(|state| state.revision.is_some()) {
        server.notify(&method, &Value::Null);
    }
    let key = format!("{kind}ListChanged");
    publish(server, &method, &json!({}), |filter| filter[&key] == true);
}

/// Tells everybody who watches a resource that it has changed.
pub(super) fn updated(server: &Server, uri: &str) {
    let (method, params) = ("notifications/resources/updated", json!({"uri": uri}));
    if server.update(|state| state.subscriptions.watched.contains(uri)) {
        server.notify(method, &params);
    }
    publish(server, method, &params, |filter| names(filter, "resourceSubscriptions", uri));
}

/// Tells everybody who watches a task how it stands.
pub(super) fn task_changed(server: &Server, id: &str, task: &Value) {
    publish(server, "notifications/tasks", task, |filter| names(filter, "taskIds", id));
}

fn names(filter: &Value, list: &str, entry: &str) -> bool {
    filter[list].as_array().is_some_and(|entries| entries.iter().any(|known| known == entry))
}

fn publish(server: &Server, method: &str, params: &Value, wants: impl Fn(&Value) -> bool) {
    let ids: Vec<Value> = server.update(|state| {
        let open = state.subscriptions.open.iter();
        open.filter(|(_, filter)| wants(filter)).map(|(request, _)| id_of(request)).collect()
    });
    for id in ids {
        let mut params = params.clone();
        params["_meta"][ID] = id;
        server.notify(method, &params);
    }
}

impl Server {
    /// Ends the subscription that was opened by the request `id`, if there is one.
    pub(crate) fn end_subscription(&self, id: &str) {
        self.end_where(|request| request.id == id);
    }

    /// Ends all subscriptions.
    pub(crate) fn close_subscriptions(&self) {
        self.end_where(|_| true);
    }

    fn end_where(&self, ends: impl Fn(&Request) -> bool) {
        let ended: Vec<Request> = self.update(|state| {
            let open = std::mem::take(&mut state.subscriptions.open);
            let (ended, open) = open.into_iter().partition(|(request, _)| ends(request));
            state.subscriptions.open = open;
            ended.into_iter().map(|(request, _): (Request, Value)| request).collect()
        });
        for request in ended {
            let result = json!({"_meta": {ID: id_of(&request)}});
            let result = modern::finish(self, &request, result).to_string();
            self.send_answer(&request, wire::result(&request.id, result.as_bytes()));
        }
    }
}
