//! A bridge: a client on our stdin and stdout, a server over HTTP.
//!
//! What is recorded is the session as its client sees it, on stdio, so that it compares with one of a server on stdio.

mod client;
mod message;

use super::recorder::{Ending, Notify, Plan, Recorder};
use super::signals;
use super::tap::{Item, Lane, Tap};
use crate::clock::Stopwatch;
use crate::protocol::line::{LineFramer, Piece};
use crate::transport::http_client::{ClientError, HttpClient, Options};
use crate::transport::streams;
use client::Client;
use hyper::Uri;
use hyper::header::{HeaderName, HeaderValue};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How many lines may wait for their turn, in each direction.
const LINES: usize = 64;

/// How long the last commit may take.
const LAST_COMMIT: Duration = Duration::from_millis(1500);

/// How long calls may still be answered after the client has closed its end.
const LAST_ANSWERS: Duration = Duration::from_secs(60);

/// How long the last lines may take to be written.
const LAST_LINES: Duration = Duration::from_secs(1);

/// What stands behind the bridge.
#[derive(Debug, Clone)]
pub struct BridgePlan {
    /// The server's URL.
    pub upstream: Uri,
    /// How it is reached.
    pub options: Options,
    /// Headers that every request gets.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What is recorded, and where.
    pub recording: Plan,
}

/// Why there is no bridge, as a sentence.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// There is no way to the server.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The system gives no threads.
    #[error("{0}")]
    Runtime(std::io::Error),
}

/// Tells a person what befell a message that nobody waits for.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// Carries messages until the client ends or a signal comes.
///
/// # Errors
/// Nothing was carried then.
pub fn run(plan: BridgePlan, notify: Notify, say: Say) -> Result<(), BridgeError> {
    let http = HttpClient::new(&plan.upstream, &plan.options)?;
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_io().enable_time().build().map_err(BridgeError::Runtime)?;
    let clock = Stopwatch::start();
    let tap = Arc::new(Tap::new(clock));
    let (stop, mut stopped) = mpsc::channel(1);
    if let Ok(caught) = signals::catch() {
        background("signals", move || {
            use signal_hook::consts::{SIGCONT, SIGUSR1, SIGUSR2};
            signals::each(caught, |signal, _| {
                if ![SIGCONT, SIGUSR1, SIGUSR2].contains(&signal) {
                    let _ = stop.try_send(signal);
                }
            });
        });
    }
    let (lines, mut said) = mpsc::channel(LINES);
    let in_tap = Arc::clone(&tap);
    background("stdin", move || read_lines(&in_tap, &lines));
    let (out, to_write) = mpsc::channel(LINES);
    let (written, all_written) = std::sync::mpsc::channel();
    let out_tap = Arc::clone(&tap);
    background("stdout", move || {
        write_lines(&out_tap, to_write);
        let _ = written.send(());
    });
    let recorder = Recorder::start(plan.recording, Arc::clone(&tap), notify);
    let client = Arc::new(Client::new(http, plan.upstream, plan.headers, out, say));
    let reason = runtime.block_on(async {
        let reason = tokio::select! {
            () = client.carry(&mut said, LAST_ANSWERS) => "ended by the client".to_owned(),
            signal = stopped.recv() => format!("ended by signal {}", signal.unwrap_or(0)),
        };
        client.leave().await;
        reason
    });
    // With its tasks the last senders of lines go, and the writer ends.
    drop(client);
    runtime.shutdown_timeout(LAST_LINES);
    let _ = all_written.recv_timeout(LAST_LINES);
    let _ = recorder.finish(Ending { at_ns: clock.elapsed_ns(), reason, exit_status: None }, LAST_COMMIT);
    Ok(())
}

fn background(name: &str, work: impl FnOnce() + Send + 'static) {
    let _ = std::thread::Builder::new().name(name.into()).spawn(work);
}

/// Reads our stdin to its end, and hands on its lines.
fn read_lines(tap: &Tap, lines: &mpsc::Sender<Vec<u8>>) {
    let mut framer = LineFramer::new();
    let mut long = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    let mut hand_on = |piece: Piece<'_>| match piece {
        Piece::Whole(line) => drop(lines.blocking_send(line.to_vec())),
        Piece::Part { bytes, last } => {
            long.extend_from_slice(bytes);
            if last {
                let _ = lines.blocking_send(std::mem::take(&mut long));
            }
        }
    };
    while let Ok(length @ 1..) = streams::read(streams::stdin(), &mut buffer) {
        let bytes = buffer.get(..length).unwrap_or_default();
        let now = tap.clock().elapsed_ns();
        tap.chunk(Lane::Stdin, now, now, bytes);
        framer.push(bytes, &mut hand_on);
    }
    framer.finish(&mut hand_on);
    tap.tell(Item::End(Lane::Stdin));
}

/// Writes lines to our stdout until there are no more, or nobody reads them.
fn write_lines(tap: &Tap, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.blocking_recv() {
        let now = tap.clock().elapsed_ns();
        tap.chunk(Lane::Stdout, now, now, &line);
        if streams::write_all(streams::stdout(), &line).is_err() {
            break;
        }
    }
    tap.tell(Item::End(Lane::Stdout));
}
