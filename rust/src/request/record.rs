//! Records how a request is answered: the steps, for people, or the directives that took part, for tables, or nothing.

use crate::first_match::Tries;
use crate::request::outcome::Step;
use crate::request::site::Node;

/// Records decisions as they are made.
pub trait Recorder {
    /// Whether steps are kept. If not, none need be made.
    const STEPS: bool;

    /// Records that a directive takes part: a server or location that is chosen, a rewrite that matches, a `return`
    /// that answers.
    fn uses(&mut self, node: Node);

    /// Whether tries of patterns are counted. If not, none need be.
    const TRIES: bool = false;

    /// Counts tries of a list of patterns, which is that of a directive: of its first rewrite or location, or its map.
    /// Call it only with [`Recorder::TRIES`].
    fn tries(&mut self, _: Node, _: Tries) {}

    /// Keeps a step. Call it only with [`Recorder::STEPS`].
    fn keep(&mut self, step: Step);
}

/// Keeps nothing.
#[derive(Debug, Default)]
pub struct Silent;

impl Recorder for Silent {
    const STEPS: bool = false;

    fn uses(&mut self, _: Node) {}

    fn keep(&mut self, _: Step) {}
}

/// Keeps the steps.
#[derive(Debug, Default)]
pub struct Steps(pub Vec<Step>);

impl Recorder for Steps {
    const STEPS: bool = true;

    fn uses(&mut self, _: Node) {}

    fn keep(&mut self, step: Step) {
        self.0.push(step);
    }
}

/// Keeps the directives that took part, each once.
#[derive(Debug, Default)]
pub struct Used(pub Vec<Node>);

impl Recorder for Used {
    const STEPS: bool = false;

    fn uses(&mut self, node: Node) {
        if !self.0.contains(&node) {
            self.0.push(node);
        }
    }

    fn keep(&mut self, _: Step) {}
}

/// Keeps the directives that took part, and counts tries if `TRIES`.
#[derive(Debug, Default)]
pub struct Worked<const TRIES: bool> {
    pub used: Used,
    /// The tries, by the directive that has the patterns.
    pub tries: Vec<(Node, Tries)>,
}

impl<const TRIES: bool> Recorder for Worked<TRIES> {
    const STEPS: bool = false;
    const TRIES: bool = TRIES;

    fn uses(&mut self, node: Node) {
        self.used.uses(node);
    }

    fn tries(&mut self, node: Node, tries: Tries) {
        match self.tries.iter_mut().find(|(other, _)| *other == node) {
            Some((_, sum)) => sum.add(&tries, 1),
            None => self.tries.push((node, tries)),
        }
    }

    fn keep(&mut self, _: Step) {}
}
