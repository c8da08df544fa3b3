//! Tasks, in the way of 2025-11-25 and in that of the extension to 2026-07-28.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Reply, modern, pages, perform, subscriptions};
use crate::sample::{
    revision::Revision,
    server::{Request, Server},
    wire::RpcError,
};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// The tasks, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Vec<Task>);

#[derive(Debug, Clone)]
struct Task {
    id: String,
    modern: bool,
    cancelled: bool,
    created: String,
    updated: String,
    reply: Option<Reply>,
}

impl Tasks {
    /// Tells whether there is a task with this id.
    pub(crate) fn exists(&self, id: &str) -> bool {
        self.0.iter().any(|task| task.id == id)
    }

    fn get(&mut self, id: &str) -> Option<&mut Task> {
        self.0.iter_mut().find(|task| task.id == id)
    }
}

impl Task {
    fn status(&self) -> &'static str {
        match &self.reply {
            _ if self.cancelled => "cancelled",
            None => "working",
            // A tool error is a failed task in the older way only.
            Some(Ok(result)) if result["isError"] == true && !self.modern => "failed",
            Some(Ok(_)) => "completed",
            Some(Err(_)) => "failed",
        }
    }

    /// Describes the task in the members of its revision.
    fn describe(&self, server: &Server) -> Value {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small, positive")]
        let poll = (15_000.0 / server.args.speed.max(0.001)).clamp(10.0, 60_000.0) as u64;
        let (ttl, interval) = match self.modern {
            true => ("ttlMs", "pollIntervalMs"),
            false => ("ttl", "pollInterval"),
        };
        json!({
            "taskId": self.id, "status": self.status(), "createdAt": self.created,
            "lastUpdatedAt": self.updated, ttl: 600_000, interval: poll,
        })
    }

    /// Describes the task with its outcome inside, as the extension does.
    fn describe_fully(&self, server: &Server) -> Value {
        let mut task = self.describe(server);
        match &self.reply {
            _ if self.cancelled => {}
            Some(Ok(result)) => task["result"] = result.clone(),
            Some(Err(error)) => {
                task["error"] = json!({"code": error.code, "message": error.message});
            }
            None => {}
        }
        task
    }
}

/// Tells whether a call becomes a task: the client asks for it, or in the newest revision allows it.
pub(super) fn wanted(server: &Server, request: &Request) -> bool {
    let possible = matches!(request.name(), "get_radar" | "sleep");
    match request.revision {
        Revision::July2026 => possible && declared(request),
        Revision::November2025 => possible && server.has_extras() && request.params["task"].is_object(),
        _ => false,
    }
}

fn declared(request: &Request) -> bool {
    let capabilities = request.meta("io.modelcontextprotocol/clientCapabilities");
    capabilities["extensions"][EXTENSION].is_object()
}

/// Starts a task and returns what stands for it.
pub(super) fn create(server: &Arc<Server>, request: &Request) -> Value {
    let count = server.update(|state| state.tasks.0.len());
    let id = server.values.uuid(&format!("task:{}:{count}", request.id));
    let modern = request.revision.is_modern();
    let (created, updated) = (server.values.now(), server.values.now());
    let task = Task { id: id.clone(), modern, cancelled: false, created, updated, reply: None };
    let description = task.describe(server);
    server.update(|state| state.tasks.0.push(task));

    // The work has an id of its own: cancelling the finished request must not touch it.
    let mut work = request.clone();
    work.id = work_id(&id);
    server.work(move |server| {
        let mut reply = perform(server, &work);
        if modern {
            reply = reply.map(|result| modern::finish(server, &work, result));
        }
        change(server, &id, |task| task.reply = Some(reply));
    });
    if modern {
        let mut created = json!({"resultType": "task"});
        if let (Some(created), Value::Object(members)) = (created.as_object_mut(), description) {
            created.extend(members);
        }
        return created;
    }
    json!({"task": description})
}

fn work_id(task: &str) -> String {
    json!(format!("task {task}")).to_string()
}

/// Changes a task that has not ended, and tells who watches it.
fn change(server: &Server, id: &str, change: impl FnOnce(&mut Task)) -> bool {
    let now = server.values.now();
    let changed = server.update(|state| {
        let task = state.tasks.get(id).filter(|task| task.status() == "working")?;
        change(task);
        task.updated = now;
        Some(task.clone())
    });
    match &changed {
        Some(task) if task.modern => {
            subscriptions::task_changed(server, id, &task.describe_fully(server));
        }
        Some(task) => server.notify("notifications/tasks/status", &task.describe(server)),
        None => {}
    }
    changed.is_some()
}

/// Answers `tasks/*`.
pub(super) fn reply(server: &Server, request: &Request) -> Reply {
    let modern = request.revision.is_modern();
    if modern && !declared(request) {
        let required = json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}});
        return Err(RpcError::new(-32021, "Missing required client capability").with(required));
    }
    if !modern && (request.revision != Revision::November2025 || !server.has_extras()) {
        return Err(super::no_method(&request.method));
    }
    if request.method == "tasks/list" {
        let tasks = server.update(|state| state.tasks.0.clone());
        let tasks = tasks.iter().map(|task| task.describe(server)).collect();
        return pages::cut(server, request, "tasks", tasks);
    }
    let id = request.params["taskId"].as_str().unwrap_or("");
    let task =
        server.update(|state| state.tasks.get(id).cloned()).ok_or_else(|| RpcError::new(-32602, "Unknown task"))?;
    match request.method.as_str() {
        "tasks/get" if modern => Ok(task.describe_fully(server)),
        "tasks/get" => Ok(task.describe(server)),
        "tasks/update" if modern => Ok(json!({})),
        "tasks/result" => outcome(server, id),
        "tasks/cancel" => {
            if !change(server, id, |task| task.cancelled = true) && !modern {
                return Err(RpcError::new(-32602, "The task has ended already"));
            }
            server.update(|state| state.cancelled.insert(work_id(id)));
            let task = server.update(|state| state.tasks.get(id).cloned());
            Ok(match task {
                Some(task) if !modern => task.describe(server),
                _ => json!({}),
            })
        }
        method => Err(super::no_method(method)),
    }
}

/// Waits for the end of a task and returns its outcome, marked as belonging to it.
fn outcome(server: &Server, id: &str) -> Reply {
    let task =
        server.wait_for(|state| state.tasks.get(id).filter(|task| task.status() != "working").map(|task| task.clone()));
    match task.reply {
        Some(reply) if !task.cancelled => reply.map(|mut result| {
            result["_meta"][RELATED] = json!({"taskId": id});
            result
        }),
        _ => Err(RpcError::new(-32603, "The task was cancelled")),
    }
}
