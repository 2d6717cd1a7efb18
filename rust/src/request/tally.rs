//! Answers many requests, and counts which directives take part and how the requests end.

use std::ops::Range;

use hashbrown::HashMap;

use crate::parallel;
use crate::request::bytes::Bytes;
use crate::request::model::Model;
use crate::request::outcome::{End, Outcome};
use crate::request::record::{Silent, Used};
use crate::request::settle::{Logged, Verdict};
use crate::request::site::Node;
use crate::request::world::{Request, World};

/// The targets of requests that differ only in their target, each with the number of times that it was requested.
pub type Targets<'a> = &'a [(&'a [u8], u64)];

/// The counts for some requests.
#[derive(Debug, Default)]
pub struct Tally {
    /// For each directive that took part, the number of requests.
    pub nodes: HashMap<Node, u64>,
    pub ends: HashMap<End, Ends>,
}

/// The requests that end in the same way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    pub count: u64,
    /// The index of one of them.
    pub example: usize,
}

impl Model {
    /// Tallies requests that are like `request`, except for their target, and that were answered with `status`, if that
    /// is known. Uses all processors.
    pub fn tally(&self, request: &Request, targets: Targets, status: Option<u16>, world: &World) -> Tally {
        let parts = parallel::ranges(targets.len(), |range| self.tally_part(request, targets, status, range, world));
        parts.into_iter().reduce(Tally::merge).unwrap_or_default()
    }

    fn tally_part(
        &self,
        request: &Request,
        targets: Targets,
        status: Option<u16>,
        range: Range<usize>,
        world: &World,
    ) -> Tally {
        let mut tally = Tally::default();
        let mut request = request.clone();
        let mut world = world.clone();
        let mut used = Used::default();
        for place in range {
            let (target, count) = targets[place];
            used.0.clear();
            let end = if status.is_some() {
                let logged = Logged { status, ..Logged::default() };
                let settled = self.settle::<false>(std::slice::from_mut(&mut request), target, logged, &mut world);
                used.0 = settled.nodes;
                match settled.verdict {
                    Verdict::Ambiguous => End::ambiguous(settled.end),
                    _ => settled.end,
                }
            } else {
                request.target = Bytes(target.to_vec());
                End::of(self.answer(&request, &world, &mut used))
            };
            for node in &used.0 {
                *tally.nodes.entry(*node).or_default() += count;
            }
            let ends = tally.ends.entry(end).or_insert(Ends { count: 0, example: place });
            ends.count += count;
        }
        tally
    }

    /// Returns the outcomes of requests that are like `request`, except for their target, in order, and how often each
    /// directive takes part. Uses all processors.
    pub fn answered(&self, request: &Request, targets: Targets, world: &World) -> (Vec<Outcome>, HashMap<Node, u64>) {
        let part = |range: Range<usize>| {
            let (mut request, mut used) = (request.clone(), Used::default());
            let mut nodes: HashMap<Node, u64> = HashMap::new();
            let answer = |place: usize| {
                let (target, count) = targets[place];
                request.target = Bytes(target.to_vec());
                used.0.clear();
                let outcome = self.answer(&request, world, &mut used);
                for node in &used.0 {
                    *nodes.entry(*node).or_default() += count;
                }
                outcome
            };
            (range.map(answer).collect::<Vec<_>>(), nodes)
        };
        let (mut outcomes, mut sums): (Vec<_>, HashMap<Node, u64>) = Default::default();
        for (some, nodes) in parallel::ranges(targets.len(), part) {
            outcomes.extend(some);
            for (node, count) in nodes {
                *sums.entry(node).or_default() += count;
            }
        }
        (outcomes, sums)
    }

    /// Returns the outcomes of requests that are like `request`, except for their target, in order. Uses all
    /// processors.
    pub fn of_targets(&self, request: &Request, targets: &[&[u8]], world: &World) -> Vec<Outcome> {
        let part = |range: Range<usize>| {
            let mut request = request.clone();
            let answer = |place: usize| {
                request.target = Bytes(targets[place].to_vec());
                self.answer(&request, world, &mut Silent)
            };
            range.map(answer).collect::<Vec<_>>()
        };
        parallel::ranges(targets.len(), part).into_iter().flatten().collect()
    }

    /// Returns the outcomes of requests, in order. Uses all processors.
    pub fn answers(&self, requests: &[Request], world: &World) -> Vec<Outcome> {
        let answer = |place: usize| self.answer(&requests[place], world, &mut Silent);
        parallel::ranges(requests.len(), |range| range.map(answer).collect::<Vec<_>>()).into_iter().flatten().collect()
    }
}

impl Tally {
    fn merge(mut self, other: Tally) -> Tally {
        for (node, count) in other.nodes {
            *self.nodes.entry(node).or_default() += count;
        }
        for (end, ends) in other.ends {
            self.ends.entry(end).or_insert(Ends { count: 0, example: ends.example }).count += ends.count;
        }
        self
    }
}
