//! With and without the tap: each case of the sample server is run twice by the same scripted client.
//!
//! - `peer`: the client; `scripts`: what it does, case by case
//! - `compare`: one run beside the other, and both beside the store
//! - `recording`: a case as it was recorded; `framing`, `content`, `correlation`, `endings`: what the recording says

mod compare;
mod content;
mod correlation;
mod endings;
mod framing;
mod peer;
mod recording;
mod scripts;

use peer::Peer;

/// A case of the sample server, the client that goes with it, and what may differ.
struct Case {
    name: &'static str,
    /// More arguments for the server.
    args: &'static [&'static str],
    script: fn(&mut Peer),
    /// Concurrent answers may come in another order.
    any_order: bool,
}

/// Makes the table of cases and a test of each.
macro_rules! cases {
    ($($test:ident: $name:literal $([$($arg:literal),*])?, $script:ident $(, $any_order:ident)?;)*) => {
        const CASES: &[Case] = &[$(Case {
            name: $name,
            args: &[$($($arg),*)?],
            script: scripts::$script,
            any_order: false $(|| stringify!($any_order).len() == "any_order".len())?,
        }),*];

        /// One test a case: the same bytes, the same end, nothing left, everything stored.
        mod same {
            $(#[test]
            fn $test() {
                super::compare::with_and_without_the_tap(super::case($name));
            })*
        }
    };
}

cases! {
    ok: "ok", plain;
    ok_pipelined: "ok-pipelined", pipelined, any_order;
    ok_oneshot: "ok-oneshot", oneshot, any_order;
    ok_big_args: "ok-big-args", big_arguments;
    ok_ids: "ok-ids", ids;
    ok_garbage_in: "ok-garbage-in", garbage;
    banner: "banner", calls;
    banner_mid: "banner-mid", calls;
    ansi: "ansi", calls;
    noise: "noise", calls;
    crlf: "crlf", plain;
    bom: "bom", calls;
    pretty: "pretty", calls;
    blank_lines: "blank-lines", calls;
    dribble: "dribble", calls;
    burst: "burst", calls;
    torn: "torn", calls;
    slow_line: "slow-line", calls;
    no_newline_eof: "no-newline-eof", until_the_end;
    half_line_eof: "half-line-eof", until_the_end;
    invalid_utf8: "invalid-utf8", calls;
    u2028: "u2028", calls;
    nul: "nul", calls;
    surrogates: "surrogates", calls;
    controls: "controls", calls;
    bigint: "bigint", calls;
    floats: "floats", calls;
    nan: "nan", calls;
    dup_keys: "dup-keys", calls;
    deep: "deep" ["--n", "100000"], calls;
    bigline: "bigline" ["--n", "4300000"], calls;
    odd_envelopes: "odd-envelopes", calls;
    output_mismatch: "output-mismatch", plain;
    schema_ref: "schema-ref", plain;
    keyorder: "keyorder", plain;
    string_ids: "string-ids", ids_come_back_as_strings;
    int_ids: "int-ids", ids_come_back_as_numbers;
    float_id: "float-id", ids_come_back_with_a_fraction;
    null_id: "null-id", calls;
    answer_twice: "answer-twice", answered_twice;
    stray_answer: "stray-answer", calls;
    outoforder: "outoforder", three_at_once, any_order;
    batch: "batch", batches;
    server_requests: "server-requests", questions, any_order;
    progress: "progress", progress;
    cancelled_silent: "cancelled-silent", cancel;
    cancelled: "cancelled", cancel_and_hear, any_order;
    late_response: "late-response" ["--n", "1000"], too_late, any_order;
    notif_flood: "notif-flood" ["--n", "3000"], calls;
    no_response: "no-response", unanswered;
    silent: "silent", nothing_comes;
    list_changed: "list-changed", lists_before_and_after;
    pagination: "pagination", pages;
    cursor_loop: "cursor-loop", pages_for_ever;
    tasks: "tasks", tasks;
    modern: "modern", modern;
    slow: "slow" ["--n", "300"], calls;
    crash_mid_call: "crash-mid-call", until_the_end;
    exit_code_7: "exit-code-7", calls;
    exit_now_3: "exit-now-3", greet_the_dead;
    die_9: "die-9", until_the_end;
    die_11: "die-11", until_the_end;
    drain_on_eof: "drain-on-eof" ["--speed", "7"], half_close;
    drop_on_eof: "drop-on-eof", half_close;
    hang_on_eof: "hang-on-eof", end_by_signal;
    ignore_sigterm: "ignore-sigterm", end_by_force;
    wrapper: "wrapper", end_by_signal;
    spawn_grandchild: "spawn-grandchild", calls;
    close_stdout: "close-stdout", stdout_ends_first;
    stop_reading: "stop-reading" ["--speed", "5"], write_against_a_wall;
    duplex: "duplex", megabytes_both_ways;
    stderr_flood: "stderr-flood" ["--n", "1000000"], calls;
    stderr_nonewline: "stderr-nonewline", calls;
    stderr_binary: "stderr-binary", calls;
    stderr_close: "stderr-close", calls;
}

fn case(name: &str) -> &'static Case {
    CASES.iter().find(|case| case.name == name).expect("a case of the table")
}

#[test]
fn every_case_of_the_sample_server_has_a_script() {
    let listing = crate::support::TestEnv::new().tap(&["sample-server", "--list-cases"]).ok().text();
    let listed: Vec<&str> = listing.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let here: Vec<&str> = CASES.iter().map(|case| case.name).collect();
    assert_eq!(listed, here);
}
