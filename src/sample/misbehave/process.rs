//! How a process lives, and how it ends.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use super::{Quirk, case, is_call};
use crate::sample::{
    clock,
    server::{Request, Server},
    spawn, weather, wire,
};

/// What `ignore-sigterm` turns into: a process that was born deaf.
pub(super) const DEAF: Quirk = case("ignore-sigterm-deaf", "ignores the end of stdin").end(|_| sleep_for_ever());

/// The cases.
pub(super) const CASES: &[Quirk] = &[
    case("slow", "reads nothing for --n ms (default 3000)").n(3000).start(|server| {
        server.pause_firmly(server.n as f64);
        None
    }),
    case("crash-mid-call", "writes a traceback to stderr and exits with 1 in place of an answer to a call").request(
        |server, request| {
            if is_call(request) {
                wire::complain("Error: socket hang up\n    at Socket.onend (tiles.js:12:9)\n");
                server.output.write_last(b"");
                // The main loop itself cannot be told by the main loop.
                server.work(|server| server.exit(1));
            }
            is_call(request)
        },
    ),
    case("exit-code-7", "exits with that status when stdin ends").n(7).end(|server| {
        server.join_workers();
        Some(status(server))
    }),
    case("exit-now-3", "writes an error to stderr and exits with that status at once").n(3).start(|server| {
        wire::complain("fatal: cannot open the tile cache\n");
        Some(status(server))
    }),
    die("die-9", 9),
    die("die-11", 11),
    case("drain-on-eof", "answers a call only 700 ms after stdin has ended").result(wait_for_end),
    case("drop-on-eof", "exits when stdin ends, without the answers that are due")
        .result(wait_for_end)
        .end(|_| Some(0)),
    case("hang-on-eof", "does not exit when stdin ends, but on SIGTERM").end(|server| {
        server.join_workers();
        sleep_for_ever()
    }),
    case("ignore-sigterm", "ignores the end of stdin, SIGTERM, SIGINT and SIGHUP").start(|_| {
        let error = spawn::become_deaf(DEAF.name);
        wire::complain(&format!("sample-server: {error}\n"));
        Some(1)
    }),
    case("wrapper", "only starts the real server (hang-on-eof) and waits for it, as npx does").start(|server| {
        let file = server.args.pid_file.as_deref();
        let run = spawn::run_as_wrapper("hang-on-eof", |pid| {
            spawn::note_pid(file, "grandchild", pid);
        });
        Some(run.unwrap_or(1))
    }),
    case("spawn-grandchild", "starts a helper that would outlive the session").start(|server| {
        if let Some(pid) = spawn::start_sleeper() {
            spawn::note_pid(server.args.pid_file.as_deref(), "grandchild", pid);
        }
        None
    }),
    case("close-stdout", "closes stdout after the answer to the first call, and lives on").answer(
        |server, request, id, result| {
            server.send_answer(request, wire::result(id, result));
            if is_call(request) {
                server.output.close();
            }
        },
    ),
    case("stop-reading", "stops reading for three seconds after the handshake, and goes on writing")
        .notification(stop_reading),
    case("duplex", "echoes every call at once and reads on only when that is written").request(|server, request| {
        if is_call(request) {
            let echo = request.argument("text").as_str().unwrap_or("");
            server.deliver(request, Ok(weather::text(echo)));
        }
        is_call(request)
    }),
    case("stderr-flood", "writes --n bytes (default 4 MiB) to stderr before it answers a call").n(4 << 20).result(
        |server, request, value| {
            let line = [[b'E'; 99].as_slice(), b"\n"].concat();
            for _ in 0..if is_call(request) { server.n / 100 } else { 0 } {
                wire::complain_bytes(&line);
            }
            value.to_string().into_bytes()
        },
    ),
    case("stderr-nonewline", "writes 1 MiB without a newline to stderr, as progress bars do, before it answers a call")
        .result(|_, request, value| {
            for step in 0..if is_call(request) { 1024 } else { 0 } {
                wire::complain(&format!("\r{:3} %{}", step % 101, "#".repeat(1018)));
            }
            value.to_string().into_bytes()
        }),
    case("stderr-binary", "writes bytes that are not UTF-8 to stderr before it answers a call").result(
        |_, request, value| {
            if is_call(request) {
                wire::complain_bytes(b"caf\xe9\n\x00\xff\xfe half");
            }
            value.to_string().into_bytes()
        },
    ),
    case("stderr-close", "closes stderr at start").start(|_| {
        wire::close_stderr();
        None
    }),
];

const fn die(name: &'static str, n: u64) -> Quirk {
    case(name, "kills itself with that signal in place of an answer to a call").n(n).request(|server, request| {
        if is_call(request) {
            spawn::die_of(i32::try_from(server.n).unwrap_or(9));
        }
        false
    })
}

fn status(server: &Server) -> u8 {
    u8::try_from(server.n & 0xff).unwrap_or(1)
}

fn sleep_for_ever() -> Option<u8> {
    loop {
        clock::sleep(Duration::from_secs(60));
    }
}

fn wait_for_end(server: &Arc<Server>, request: &Request, value: &Value) -> Vec<u8> {
    if is_call(request) {
        server.wait_for(|state| state.ended.then_some(()));
        server.pause_firmly(700.0);
    }
    value.to_string().into_bytes()
}

fn stop_reading(server: &Arc<Server>, method: &str, _params: &Value) {
    if method == "notifications/initialized" {
        // On the main loop, so that nothing is taken from stdin meanwhile.
        for index in 0..20 {
            let params = serde_json::json!({"level": "info", "data": index});
            server.notify("notifications/message", &params);
            server.pause_firmly(100.0);
        }
        server.pause_firmly(1000.0);
    }
}
