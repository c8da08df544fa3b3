//! Which rules meet which values of a tree.

use super::{Rule, Token};
use crate::analysis::volatile::Span;
use crate::protocol::json::{Kind, Node, NodeId, Tree};
use crate::session::mask::MaskType;
use std::collections::HashMap;
use std::rc::Rc;

/// A rule and how many tokens of its pointer are behind us.
type State = (u32, u32);

/// Rules, and how far their pointers have come at the root of a tree.
#[derive(Debug, Clone, Default)]
pub struct Start<'r> {
    rules: Vec<&'r Rule>,
    states: Rc<[State]>,
}

impl<'r> Start<'r> {
    /// Returns rules at their beginning.
    pub(super) fn of(rules: Vec<&'r Rule>) -> Self {
        let count = u32::try_from(rules.len()).unwrap_or(u32::MAX);
        let mut start = Self { rules, states: Rc::default() };
        start.states = start.closed((0..count).map(|rule| (rule, 0)).collect());
        start
    }

    /// Returns true if no rule can meet anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Returns the rules one token further; nothing but a wildcard fits the empty one.
    #[must_use]
    pub fn under(&self, token: &str) -> Self {
        Self { rules: self.rules.clone(), states: self.step(&self.states, token) }
    }

    fn token(&self, (rule, at): State) -> Option<&Token> {
        self.rules.get(rule as usize)?.at.get(at as usize)
    }

    /// Adds what a `**` can stand for without a token.
    fn closed(&self, mut states: Vec<State>) -> Rc<[State]> {
        let mut next = 0;
        while let Some(state) = states.get(next).copied() {
            next += 1;
            if self.token(state) == Some(&Token::Any) && !states.contains(&(state.0, state.1 + 1)) {
                states.push((state.0, state.1 + 1));
            }
        }
        states.into()
    }

    fn step(&self, states: &[State], token: &str) -> Rc<[State]> {
        let mut after = Vec::new();
        for state in states {
            let next = match self.token(*state) {
                Some(Token::Any) => *state,
                Some(Token::One) => (state.0, state.1 + 1),
                Some(Token::Key(key)) if key == token => (state.0, state.1 + 1),
                _ => continue,
            };
            if !after.contains(&next) {
                after.push(next);
            }
        }
        self.closed(after)
    }
}

/// What the rules meet in one tree.
#[derive(Debug, Clone, Default)]
pub struct Hits<'r> {
    start: Start<'r>,
    met: HashMap<usize, Vec<u32>>,
    // Texts that a pointer may go on into.
    open: HashMap<usize, Rc<[State]>>,
}

impl<'r> Hits<'r> {
    /// Finds what the rules meet in a tree.
    #[must_use]
    pub fn of(tree: &Tree<'_>, start: &Start<'r>) -> Self {
        let mut hits = Self { start: start.clone(), ..Self::default() };
        if start.is_empty() {
            return hits;
        }
        let mut open: Vec<(Node<'_, '_>, Rc<[State]>)> = vec![(tree.root(), Rc::clone(&start.states))];
        while let Some((node, states)) = open.pop() {
            hits.meet(node, &states);
            match node.kind() {
                Kind::Object => {
                    for (key, child) in node.members() {
                        let next = start.step(&states, &key);
                        if !next.is_empty() {
                            open.push((child, next));
                        }
                    }
                }
                Kind::Array => {
                    for (index, child) in node.children().enumerate() {
                        let next = start.step(&states, &index.to_string());
                        if !next.is_empty() {
                            open.push((child, next));
                        }
                    }
                }
                Kind::String => {
                    hits.open.insert(node.id().index(), states);
                }
                _ => {}
            }
        }
        hits
    }

    /// Returns the same for a tree whose texts are not opened.
    #[must_use]
    pub fn closed(mut self) -> Self {
        self.open.clear();
        self
    }

    fn meet(&mut self, node: Node<'_, '_>, states: &[State]) {
        let whole = |state: &&State| self.start.token(**state).is_none();
        let mut met: Vec<u32> = states.iter().filter(whole).map(|state| state.0).collect();
        // Whichever side is looked at first, the same rule is named.
        met.sort_unstable();
        if !met.is_empty() {
            self.met.insert(node.id().index(), met);
        }
    }

    fn rules(&self, id: NodeId) -> impl Iterator<Item = (u32, &'r Rule)> {
        let met = self.met.get(&id.index()).map(Vec::as_slice).unwrap_or_default();
        met.iter().filter_map(|number| Some((*number, *self.start.rules.get(*number as usize)?)))
    }

    /// Returns the first rule that excuses a whole value that looks like this one, with its number.
    #[must_use]
    pub fn whole(&self, node: Node<'_, '_>) -> Option<(u32, &'r Rule)> {
        let whole = |rule: &Rule| rule.text.is_none() && rule.kind != MaskType::Order && rule.fits(node);
        self.rules(node.id()).find(|(_, rule)| whole(rule))
    }

    /// Returns a rule that excuses whole values and that both sides' values look like.
    #[must_use]
    pub fn common(&self, a: Node<'_, '_>, other: &Self, b: Node<'_, '_>) -> Option<&'r Rule> {
        let whole = |rule: &Rule| rule.text.is_none() && rule.kind != MaskType::Order && rule.fits(a) && rule.fits(b);
        let found =
            self.rules(a.id()).find(|(number, rule)| whole(rule) && other.rules(b.id()).any(|(n, _)| n == *number));
        found.map(|(_, rule)| rule)
    }

    /// Tells whether the order of an array does not matter.
    #[must_use]
    pub fn unordered(&self, id: NodeId) -> bool {
        self.rules(id).any(|(_, rule)| rule.kind == MaskType::Order)
    }

    /// Returns the stretches of a text that rules excuse, from left to right.
    #[must_use]
    pub fn spans(&self, id: NodeId, text: &str) -> Vec<Span> {
        let mut found = Vec::new();
        for (number, rule) in self.rules(id) {
            rule.spans(text, number, &mut found);
        }
        found.sort_by_key(|span| (span.start, span.end));
        let mut end = 0;
        found.retain(|span| {
            let apart = span.start >= end;
            end = if apart { span.end } else { end };
            apart
        });
        found
    }

    /// Returns the rules that go on into the JSON that a text holds.
    #[must_use]
    pub fn inside(&self, id: NodeId) -> Start<'r> {
        let states = self.open.get(&id.index()).cloned().unwrap_or_default();
        Start { rules: self.start.rules.clone(), states }
    }
}
