//! The bodies of open HTTP exchanges: compressed ones are decoded, those of token endpoints masked. Pure.

use super::decode::Decoder;
use super::redact_http::{Masker, is_token_path};
use super::tap::Lane;
use crate::session::frame::{Channel, Direction};
use crate::session::http::{HttpEnding, HttpExchange, WireBody};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What is known of the bodies of exchanges that have not ended.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    open: BTreeMap<u64, HttpExchange>,
    // With each, whether its bodies are those of an authorization server.
    masks: HashMap<u64, (Arc<Masker>, bool)>,
    coded: HashMap<(u64, Direction), Coded>,
}

/// A compressed body.
#[derive(Debug)]
pub(super) struct Coded {
    coding: String,
    decoder: Option<Decoder>,
    length: u64,
    hash: Sha256,
    is_broken: bool,
    is_finished: bool,
}

impl Bodies {
    /// Brings an exchange up to date; returns it with what is known of its bodies.
    pub(super) fn exchange(&mut self, exchange: &HttpExchange, mask: Option<&Arc<Masker>>) -> HttpExchange {
        let n = exchange.n;
        if let Some(mask) = mask {
            self.masks.insert(n, (Arc::clone(mask), is_token_path(&exchange.path)));
        }
        for direction in [Direction::ToServer, Direction::ToClient] {
            let coding = match direction {
                Direction::ToServer => exchange.request_header("content-encoding"),
                Direction::ToClient => exchange.response_header("content-encoding"),
            };
            if let Some(coding) = coding.filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity"))
            {
                self.coded.entry((n, direction)).or_insert_with(|| Coded::new(coding));
            }
        }
        let mut known = exchange.clone();
        known.request_body = self.wire_body(n, Direction::ToServer);
        known.response_body = self.wire_body(n, Direction::ToClient);
        if known.ended_ns.is_some() {
            self.open.remove(&n);
            self.masks.remove(&n);
            self.coded.remove(&(n, Direction::ToServer));
            self.coded.remove(&(n, Direction::ToClient));
        } else {
            self.open.insert(n, known.clone());
        }
        known
    }

    /// Returns the exchanges that are open when the recording ends.
    pub(super) fn cut_off(&mut self) -> Vec<HttpExchange> {
        let open = std::mem::take(&mut self.open);
        open.into_values()
            .map(|exchange| HttpExchange {
                request_body: self.wire_body(exchange.n, Direction::ToServer),
                response_body: self.wire_body(exchange.n, Direction::ToClient),
                ending: Some(HttpEnding::CutOff),
                ..exchange
            })
            .collect()
    }

    fn wire_body(&self, n: u64, direction: Direction) -> Option<WireBody> {
        let coded = self.coded.get(&(n, direction)).filter(|coded| coded.is_finished)?;
        let digits = coded.hash.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(WireBody { coding: coded.coding.clone(), length: coded.length, sha256: digits, broken: coded.is_broken })
    }

    /// Takes the compressed body of a stream out, to be given more bytes; `None` if it is not compressed.
    pub(super) fn take_coded(&mut self, lane: Lane) -> Option<Coded> {
        self.coded.remove(&(lane.exchange()?, lane.direction()))
    }

    /// Puts it back.
    pub(super) fn put_back(&mut self, lane: Lane, coded: Coded) {
        if let Some(exchange) = lane.exchange() {
            self.coded.insert((exchange, lane.direction()), coded);
        }
    }

    /// Notes that bytes of a body are missing: what follows cannot be decoded.
    pub(super) fn lost(&mut self, lane: Lane) {
        let coded = lane.exchange().and_then(|exchange| self.coded.get_mut(&(exchange, lane.direction())));
        if let Some(coded) = coded {
            coded.decoder = None;
            coded.is_broken = true;
        }
    }

    /// Returns a frame with its credentials masked, or `None` if it stays as it is.
    ///
    /// Only two kinds of frames are looked at: bodies of an authorization server, and the event that gives the client of
    /// 2024-11-05 its session.
    pub(super) fn masked(&self, lane: Lane, bytes: &[u8]) -> Option<Vec<u8>> {
        let (masker, is_token_body) = self.masks.get(&lane.exchange()?)?;
        match lane.channel() {
            Channel::Sse => masker.endpoint(bytes),
            _ if *is_token_body => masker.body(bytes),
            _ => None,
        }
    }
}

impl Coded {
    fn new(coding: &str) -> Self {
        let decoder = Decoder::of(coding);
        Self {
            coding: coding.to_owned(),
            is_broken: decoder.is_none(),
            decoder,
            length: 0,
            hash: Sha256::new(),
            is_finished: false,
        }
    }

    /// Takes the next bytes of the wire; returns them if they cannot be decoded.
    pub(super) fn push<'b>(&mut self, wire: &'b [u8], emit: impl FnMut(&[u8])) -> Option<&'b [u8]> {
        self.length += wire.len() as u64;
        self.hash.update(wire);
        let Some(decoder) = &mut self.decoder else { return Some(wire) };
        if decoder.push(wire, emit).is_ok() {
            return None;
        }
        self.decoder = None;
        self.is_broken = true;
        Some(wire)
    }

    /// Ends the body.
    pub(super) fn finish(&mut self, emit: impl FnMut(&[u8])) {
        if let Some(decoder) = &mut self.decoder {
            decoder.finish(emit);
        }
        self.is_finished = true;
    }
}
