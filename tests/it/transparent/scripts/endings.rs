//! Scripts that have to do with how a server lives and ends.

use super::{REVISION, X};
use crate::transparent::peer::Peer;
use rustix::process::Signal;
use std::time::Duration;

/// The server ends by itself, during the first call at the latest.
pub(in crate::transparent) fn until_the_end(peer: &mut Peer) {
    peer.handshake(REVISION);
    peer.call("1", "echo", X);
    peer.stdout_ends();
}

/// The server ends before it reads anything.
pub(in crate::transparent) fn greet_the_dead(peer: &mut Peer) {
    peer.greet("0", REVISION);
    peer.stdout_ends();
}

/// Closes stdin while a call is running.
pub(in crate::transparent) fn half_close(peer: &mut Peer) {
    peer.handshake(REVISION);
    peer.call("1", "echo", X);
    peer.close();
    peer.stdout_ends();
}

/// The server does not care about the end of stdin: its client sends TERM, as clients do.
pub(in crate::transparent) fn end_by_signal(peer: &mut Peer) {
    one_call_and_close(peer);
    peer.signal(Signal::TERM);
    assert!(peer.ends_within(Duration::from_secs(20)), "TERM did not end it");
}

/// It does not care about TERM either.
pub(in crate::transparent) fn end_by_force(peer: &mut Peer) {
    one_call_and_close(peer);
    peer.signal(Signal::TERM);
    // The tap climbs the ladder by itself; without it the client has to.
    let by_itself = peer.ends_within(Duration::from_millis(if peer.tapped { 20_000 } else { 300 }));
    assert_eq!(by_itself, peer.tapped);
    if !by_itself {
        peer.signal(Signal::KILL);
    }
}

fn one_call_and_close(peer: &mut Peer) {
    peer.handshake(REVISION);
    peer.call("1", "echo", X);
    peer.answer("1");
    peer.close();
}

pub(in crate::transparent) fn stdout_ends_first(peer: &mut Peer) {
    peer.handshake(REVISION);
    peer.call("1", "echo", X);
    peer.answer("1");
    peer.stdout_ends();
}

/// The server reads nothing while 2 MB are written to it; what it says must keep coming.
pub(in crate::transparent) fn write_against_a_wall(peer: &mut Peer) {
    peer.handshake(REVISION);
    peer.big("1", "echo", 2_000_000);
    peer.until(r#""data":19}"#);
    peer.answer("1");
}

/// Eight requests of 1 MB without waiting, answered at once with 1 MB each.
pub(in crate::transparent) fn megabytes_both_ways(peer: &mut Peer) {
    peer.handshake(REVISION);
    for id in 1..=8 {
        peer.big(&id.to_string(), "echo", 1_000_000);
    }
    peer.answer("8");
}
