//! Which exchange of one session belongs to which of the other: first those that ask for the same, the first with
//! the first; then those of the same method and name; a request that is left has no partner.

use super::exchanges::Exchange;
use crate::session::frame::Direction;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// An exchange of each side, or of one, by its place in that side's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The first side's.
    pub a: Option<usize>,
    /// The second side's.
    pub b: Option<usize>,
}

/// Pairs the exchanges of two sessions, in the first one's order; what only the second has comes last.
#[must_use]
pub fn align(a: &[Exchange], b: &[Exchange]) -> Vec<Pair> {
    let asks = |side: &[Exchange]| side.iter().map(|exchange| exchange.asks).collect::<Vec<u64>>();
    align_asking((a, &asks(a)), (b, &asks(b)))
}

/// Pairs the exchanges of two sessions, given what each asks for.
#[must_use]
pub fn align_asking((a, asks_a): (&[Exchange], &[u64]), (b, asks_b): (&[Exchange], &[u64])) -> Vec<Pair> {
    let a: Vec<(&Exchange, u64)> = a.iter().zip(asks_a.iter().copied()).collect();
    let b: Vec<(&Exchange, u64)> = b.iter().zip(asks_b.iter().copied()).collect();
    let mut partner_of_a = vec![None; a.len()];
    let mut taken = vec![false; b.len()];
    pass(&a, &b, &mut partner_of_a, &mut taken, |(exchange, asks)| Some((exchange.direction, &exchange.method, asks)));
    pass(&a, &b, &mut partner_of_a, &mut taken, |(exchange, _)| {
        Some((exchange.direction, &exchange.method, exchange.name.as_deref()))
    });
    // Questions have no name; those about the same thing were paired above.
    pass(&a, &b, &mut partner_of_a, &mut taken, |(exchange, _)| {
        (exchange.direction == Direction::ToClient).then_some(&exchange.method)
    });
    let mut pairs: Vec<Pair> =
        partner_of_a.iter().enumerate().map(|(at, partner)| Pair { a: Some(at), b: *partner }).collect();
    pairs.extend(taken.iter().enumerate().filter(|(_, taken)| !**taken).map(|(at, _)| Pair { a: None, b: Some(at) }));
    pairs
}

/// Pairs what is still alone and has the same key, in order.
fn pass<'e, K: Hash + Eq>(
    a: &[(&'e Exchange, u64)],
    b: &[(&'e Exchange, u64)],
    partner_of_a: &mut [Option<usize>],
    taken: &mut [bool],
    key: impl Fn((&'e Exchange, u64)) -> Option<K>,
) {
    let mut waiting: HashMap<K, VecDeque<usize>> = HashMap::new();
    for (at, exchange) in b.iter().enumerate() {
        if let Some(key) = key(*exchange).filter(|_| taken.get(at) == Some(&false)) {
            waiting.entry(key).or_default().push_back(at);
        }
    }
    for (exchange, partner) in a.iter().zip(partner_of_a.iter_mut()).filter(|(_, partner)| partner.is_none()) {
        let found = key(*exchange).and_then(|key| waiting.get_mut(&key)?.pop_front());
        if let Some(slot) = found.and_then(|at| taken.get_mut(at)) {
            *slot = true;
            *partner = found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::message::Place;

    fn exchange(method: &str, name: &str, asks: u64) -> Exchange {
        Exchange {
            place: Place { seq: 0, index: 0 },
            direction: Direction::ToServer,
            method: method.into(),
            name: (!name.is_empty()).then(|| name.into()),
            outcome: None,
            error_code: None,
            answer: None,
            took_ns: None,
            gave_up_after_ns: None,
            params: None,
            result: None,
            error: None,
            pages: Vec::new(),
            asks,
        }
    }

    #[test]
    fn the_same_request_comes_before_the_same_tool() {
        let call = |asks| exchange("tools/call", "f", asks);
        let a = [call(1), call(2), exchange("tools/call", "g", 9)];
        let b = [call(2), call(3), exchange("tools/call", "h", 9)];
        let pair = |a, b| Pair { a, b };
        let expected = [pair(Some(0), Some(1)), pair(Some(1), Some(0)), pair(Some(2), Some(2))];
        // Equal numbers stand for equal requests, so what the name says does not matter to the first pass.
        assert_eq!(align(&a, &b), expected);
        assert_eq!(align(&a[..1], &[]), [pair(Some(0), None)]);
        assert_eq!(align(&[], &b[..1]), [pair(None, Some(0))]);
    }

    #[test]
    fn equal_requests_are_paired_in_order() {
        let a = [exchange("m", "", 1), exchange("m", "", 1), exchange("m", "", 1)];
        let b = [exchange("m", "", 1), exchange("m", "", 1)];
        let pairs = align(&a, &b);
        assert_eq!(
            pairs,
            [Pair { a: Some(0), b: Some(0) }, Pair { a: Some(1), b: Some(1) }, Pair { a: Some(2), b: None }]
        );
    }
}
