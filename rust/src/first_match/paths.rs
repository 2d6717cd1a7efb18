//! Bounds the calls of PCRE by counting the ways through a pattern. PCRE goes each way at most once.
//!
//! The bound of [`effort`](super::effort) multiplies the ways through the parts of a pattern, as if each part could
//! match everywhere. This module follows the ways byte by byte, for all subjects at once, and finds sharper bounds:
//! `^/(.*)/page/([a-z]+)/$` has few ways at each place of a subject, because a run of letters ends at the next slash.

use hashbrown::HashSet;

use crate::syntax::{Ast, ByteSet};

/// The most nodes of a graph, including the copies for repetitions.
const MOST_NODES: usize = 5_000;

/// The most visits of nodes, counted for each byte after each state. They take some milliseconds.
const MOST_VISITS: usize = 500_000;

/// The nodes that read a byte, ascending, with the ways to each of them.
type State = Vec<(usize, u32)>;

/// Returns the most calls at one place of a subject for an attempt from any place, if a search tries all ways. `None`
/// if there are more than `limit`, or the number is unknown.
pub(super) fn calls_at_a_place(ast: &Ast, limit: u32) -> Option<u32> {
    if ways_grow(behind_bytes(ast)) {
        return None;
    }
    let mut graph = Graph { nodes: vec![PatternNode::default()] };
    let start = graph.add_items(behind_bytes(ast), 0)?;
    let closures = graph.closures(start)?;
    let bytes = graph.distinct_bytes()?;
    let mut most = closures[start].calls;
    let first = merged(closures[start].reading.clone());
    let mut seen: HashSet<State> = [first.clone()].into_iter().collect();
    let mut left = vec![first];
    let mut visits = 0;
    while let Some(state) = left.pop() {
        for byte in graph.told_apart(&state, &bytes) {
            let (next, calls) = graph.step(&state, byte, &closures);
            most = most.max(calls);
            visits += state.len() + next.len();
            if most > limit || visits > MOST_VISITS {
                return None;
            }
            let next = merged(next);
            if !next.is_empty() && seen.insert(next.clone()) {
                left.push(next);
            }
        }
    }
    (most <= limit).then_some(most)
}

/// The items after the single bytes that a pattern begins with. There is only one way through these bytes.
fn behind_bytes(ast: &Ast) -> &[Ast] {
    let Ast::Concat(items) = ast else { return std::slice::from_ref(ast) };
    let is_byte = |item: &&Ast| matches!(item, Ast::Start | Ast::Byte(_) | Ast::Class(_));
    &items[items.iter().take_while(is_byte).count()..]
}

/// Whether an unbounded run of bytes follows another, and both can read all bytes between them. A subject with these
/// bytes n times then has n ways. Following the ways byte by byte would also find this, but only after long.
fn ways_grow(items: &[Ast]) -> bool {
    let mut last: Option<ByteSet> = None;
    let mut between = ByteSet::default();
    for item in items {
        match (item, unbounded_run(item)) {
            (Ast::Byte(byte), _) => between.insert(*byte),
            (_, Some(run)) => {
                let both = last.replace(run).map_or(ByteSet::default(), |last| last.intersection(&run));
                if !both.is_empty() && between.union(&both) == both {
                    return true;
                }
                between = ByteSet::default();
            }
            _ => last = None,
        }
    }
    false
}

/// The bytes that an item reads, if it is an unbounded run of bytes.
fn unbounded_run(item: &Ast) -> Option<ByteSet> {
    match item {
        Ast::Capture { sub, .. } => unbounded_run(sub),
        Ast::Repeat { max: None, sub, .. } => sub.byte_set(),
        _ => None,
    }
}

/// Joins equal nodes and adds up the ways to each.
fn merged(mut ways: State) -> State {
    ways.sort_unstable_by_key(|(node, _)| *node);
    ways.dedup_by(|(node, more), (kept, count)| {
        let is_same = node == kept;
        *count = if is_same { count.saturating_add(*more) } else { *count };
        is_same
    });
    ways
}

/// The nodes to which a node leads without reading a byte.
#[derive(Clone, Debug, Default)]
struct Closure {
    reading: State,
    /// The calls on the ways there.
    calls: u32,
}

/// A place in a pattern.
#[derive(Clone, Debug, Default)]
struct PatternNode {
    /// The calls that PCRE makes each time it gets here.
    calls: u32,
    /// The nodes that follow without reading a byte.
    empty: Vec<usize>,
    /// The node that follows after reading one of these bytes.
    reading: Option<(ByteSet, usize)>,
}

/// The places in a pattern; node 0 is its end.
struct Graph {
    nodes: Vec<PatternNode>,
}

impl Graph {
    fn add(&mut self, node: PatternNode) -> Option<usize> {
        self.nodes.push(node);
        (self.nodes.len() <= MOST_NODES).then_some(self.nodes.len() - 1)
    }

    /// Adds nodes that lead through a pattern to `next`, and returns the first. Anchors are assumed to hold.
    fn add_ast(&mut self, ast: &Ast, next: usize) -> Option<usize> {
        match ast {
            Ast::Empty | Ast::Start | Ast::Dollar | Ast::End | Ast::WordBoundary | Ast::NotWordBoundary => Some(next),
            Ast::Byte(byte) => {
                self.add(PatternNode { reading: Some((ByteSet::one(*byte), next)), ..Default::default() })
            }
            Ast::Class(set) => self.add(PatternNode { reading: Some((*set, next)), ..Default::default() }),
            Ast::Concat(items) => self.add_items(items, next),
            Ast::Alternation(branches) => {
                let empty = branches.iter().map(|branch| self.add_ast(branch, next)).collect::<Option<Vec<_>>>()?;
                self.add(PatternNode { calls: empty.len() as u32 + 1, empty, reading: None })
            }
            Ast::Repeat { min, max, sub, .. } => {
                let next = match max {
                    None => self.add_rounds(sub, next)?,
                    Some(max) => (*min..*max).try_fold(next, |behind, _| {
                        let round = self.add_ast(sub, behind)?;
                        self.add(PatternNode { calls: 2, empty: vec![round, next], reading: None })
                    })?,
                };
                (0..*min).try_fold(next, |next, _| self.add_ast(sub, next))
            }
            Ast::Capture { sub, .. } => {
                let inner = self.add_ast(sub, next)?;
                self.add(PatternNode { calls: 2, empty: vec![inner], reading: None })
            }
            // The inside of a look-around is not known.
            Ast::Superset { sub, .. } if **sub == Ast::Empty => None,
            Ast::Superset { sub, .. } => self.add_ast(sub, next),
        }
    }

    /// Adds nodes that lead through the items, one after the other.
    fn add_items(&mut self, items: &[Ast], next: usize) -> Option<usize> {
        items.iter().rev().try_fold(next, |next, item| self.add_ast(item, next))
    }

    /// Adds nodes that lead through any number of rounds.
    fn add_rounds(&mut self, sub: &Ast, next: usize) -> Option<usize> {
        let loops = self.add(PatternNode { calls: 2, empty: vec![next], reading: None })?;
        let round = self.add_ast(sub, loops)?;
        self.nodes[loops].empty.push(round);
        Some(loops)
    }

    /// Returns the nodes in an order in which each comes before those to which it leads without a byte. `None` if a
    /// node leads to itself.
    fn order(&self, start: usize) -> Option<Vec<usize>> {
        enum Visit {
            Enter(usize),
            Leave(usize),
        }
        let (mut entered, mut left) = (vec![false; self.nodes.len()], vec![false; self.nodes.len()]);
        let mut order = Vec::new();
        let starts = self.nodes.iter().filter_map(|node| Some(node.reading?.1)).chain([start]);
        let mut stack: Vec<Visit> = starts.map(Visit::Enter).collect();
        while let Some(visit) = stack.pop() {
            match visit {
                Visit::Enter(at) if left[at] => {}
                Visit::Enter(at) if entered[at] => return None,
                Visit::Enter(at) => {
                    entered[at] = true;
                    stack.push(Visit::Leave(at));
                    stack.extend(self.nodes[at].empty.iter().copied().filter(|to| !left[*to]).map(Visit::Enter));
                }
                Visit::Leave(at) => {
                    left[at] = true;
                    order.push(at);
                }
            }
        }
        order.reverse();
        Some(order)
    }

    /// Returns the closure of each node that can be reached from `start`. `None` if a node leads to itself, or to too
    /// many others.
    fn closures(&self, start: usize) -> Option<Vec<Closure>> {
        let mut closures = vec![Closure::default(); self.nodes.len()];
        let mut entries = 0;
        for at in self.order(start)?.into_iter().rev() {
            let node = &self.nodes[at];
            let mut closure = Closure { reading: Vec::new(), calls: node.calls };
            if node.reading.is_some() {
                closure.reading.push((at, 1));
            }
            for to in &node.empty {
                closure.reading.extend(&closures[*to].reading);
                closure.calls = closure.calls.saturating_add(closures[*to].calls);
            }
            closure.reading = merged(closure.reading);
            entries += closure.reading.len();
            if entries > MOST_VISITS {
                return None;
            }
            closures[at] = closure;
        }
        Some(closures)
    }

    /// Returns one byte for each class of bytes that the pattern does not distinguish. `None` if there are too many
    /// classes.
    fn distinct_bytes(&self) -> Option<Vec<u8>> {
        let sets: HashSet<ByteSet> = self.nodes.iter().filter_map(|node| Some(node.reading?.0)).collect();
        if sets.len() > u128::BITS as usize {
            return None;
        }
        let kind = |byte: u8| sets.iter().fold(0u128, |bits, set| bits << 1 | u128::from(set.contains(byte)));
        let mut seen = HashSet::new();
        Some((0..=u8::MAX).filter(|byte| seen.insert(kind(*byte))).collect())
    }

    /// Returns one of `bytes` for each class of them that the nodes of a state do not distinguish, or all bytes if
    /// there are many nodes. Bytes that no node reads lead nowhere, and are left out.
    fn told_apart(&self, state: &State, bytes: &[u8]) -> Vec<u8> {
        if state.len() > u64::BITS as usize {
            return bytes.to_vec();
        }
        let reads = |at: usize, byte| self.nodes[at].reading.as_ref().is_some_and(|(set, _)| set.contains(byte));
        let readers = |byte| state.iter().fold(0u64, |bits, (at, _)| bits << 1 | u64::from(reads(*at, byte)));
        let (mut told_apart, mut seen) = (Vec::new(), vec![0]);
        for &byte in bytes {
            let readers = readers(byte);
            if !seen.contains(&readers) {
                seen.push(readers);
                told_apart.push(byte);
            }
        }
        told_apart
    }

    /// The ways after one more byte, and the calls on them.
    fn step(&self, state: &State, byte: u8, closures: &[Closure]) -> (State, u32) {
        let (mut next, mut calls) = (State::new(), 0u32);
        for (at, ways) in state {
            if let Some((set, to)) = &self.nodes[*at].reading
                && set.contains(byte)
            {
                let closure = &closures[*to];
                calls = calls.saturating_add(closure.calls.saturating_mul(*ways));
                next.extend(closure.reading.iter().map(|(to, more)| (*to, ways.saturating_mul(*more))));
            }
        }
        (next, calls)
    }
}

#[cfg(test)]
mod tests {
    use super::calls_at_a_place;
    use crate::pcre::{MatchOutcome, Regex};
    use crate::syntax::parse;

    fn calls(pattern: &str) -> Option<u32> {
        calls_at_a_place(&parse(pattern.as_bytes()).unwrap().ast, 38)
    }

    /// Patterns with few ways at each place of any subject, and calls that PCRE2 makes on the worst of them.
    #[test]
    fn few_ways() {
        for pattern in [
            r"^/(.*)/page/([A-Za-z0-9_\-]+)/?[!?]",
            r"^/(.*)/image/(thumb|[0-9]{1,4})/([^/\\]+)[!?]",
            r"^/page/search/(.*)/([0-9]+)/?[!?]",
            r"^/([0-9])(\-[_a-zA-Z0-9-]*)?(-[0-9]+)?/.+\.jpg[!?]",
            r"^/c/([0-9]+)(\-[\.*_a-zA-Z0-9-]*)(-[0-9]+)?/.+\.jpg[!?]",
            r"/apps/([^/]*)/(.*\.(css|php))[!?]",
            "(.*)a[!?]",
            "^/(?:a|b)*c[!?]",
        ] {
            let most = calls(pattern).unwrap_or_else(|| panic!("{pattern}"));
            let regex = Regex::new(pattern.as_bytes()).unwrap();
            for unit in ["/", "a", "/page/", "/image/1/", "/1", "-1", "/1-1", "-", ".jpg", "/1-1-1/.jpg", "b"] {
                let subject = format!("/{}", unit.repeat(60_000 / unit.len()));
                let limit = most * (subject.len() as u32 + 1) + 10;
                if !pattern.contains(")*") {
                    assert_eq!(regex.is_match(subject.as_bytes(), limit), MatchOutcome::No, "{pattern} {unit}");
                }
            }
        }
    }

    /// Two runs that can both read what is between them have more ways in longer subjects; others do not.
    #[test]
    fn growing_ways() {
        let grows = |pattern: &str| match parse(pattern.as_bytes()).unwrap().ast {
            crate::syntax::Ast::Concat(items) => super::ways_grow(&items),
            _ => false,
        };
        for pattern in ["^/(.*)/(.*)x", "^/.*.*", "^/[^/]+a[a-z]*$", "^/[^/]+[0-9]+/", "^/(?:a)*a*b"] {
            assert!(grows(pattern) && calls(pattern).is_none(), "{pattern}");
        }
        for pattern in ["^/[^/]*/.*x", "^/a*b*c", "^/.*a[0-9]+", "^/.*(?:a|b).*", "^/(a|b)*x.*", "^/.*a{2}"] {
            assert!(!grows(pattern), "{pattern}");
        }
    }

    /// Patterns with more ways in longer subjects, and patterns that are not fully known.
    #[test]
    fn many_ways() {
        for pattern in [
            "^/(.*)/(.*)x",
            "^/[^/]+[0-9]+/.*$",
            "^/(a+)+$",
            "^/(a|a)*$",
            "^/(a*)*b",
            "^/a(?!b)",
            "^/(a?){30}b",
            "a{5001}",
        ] {
            assert_eq!(calls(pattern), None, "{pattern}");
        }
    }
}
