//! The events that a session has seen, so that one that comes again is known.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many events are remembered: a stream that is open for hours must not grow.
const MOST: usize = 1 << 16;

/// The last events that had an id, as hashes of id and data: some servers number each stream from 0.
#[derive(Debug, Default)]
pub struct SeenEvents {
    order: VecDeque<u64>,
    seen: HashSet<u64>,
}

impl SeenEvents {
    /// Notes an event by its id and the hash of its data; returns false if it was there before.
    pub fn is_new(&mut self, id: &[u8], data: u64) -> bool {
        let mut hasher = DefaultHasher::new();
        (id, data).hash(&mut hasher);
        let hash = hasher.finish();
        if !self.seen.insert(hash) {
            return false;
        }
        self.order.push_back(hash);
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        true
    }
}
