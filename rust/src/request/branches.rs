//! The outcomes of a request that depend on which files exist: a tree, whose leaves are branches.

use serde::Serialize;

use crate::request::bytes::Bytes;
use crate::request::files::simple;
use crate::request::model::Model;
use crate::request::outcome::{Event, Outcome, Question, Unknown};
use crate::request::record::Silent;
use crate::request::site::Kind;
use crate::request::world::{Found, Request, World};

/// The most branches of a request, and the most paths that one of them depends on.
const BRANCHES: usize = 8;
const DEPTH: usize = 6;

/// The outcome of a request if some files exist and others do not, and some events happen and others do not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Branch {
    #[serde(flatten)]
    pub conditions: Conditions,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Conditions {
    /// Files and, with a final slash, folders.
    pub exists: Vec<Bytes>,
    /// Files and, with a final slash, folders. What is not there as a file may be there as a folder, and vice versa.
    pub missing: Vec<Bytes>,
    /// Events, as clauses.
    pub happens: Vec<String>,
    pub fails: Vec<String>,
}

/// What becomes of a request, by what it depends on.
#[derive(PartialEq, Eq)]
enum Tree {
    Known(Box<Outcome>),
    Fork(Box<Fork>),
}

#[derive(PartialEq, Eq)]
struct Fork {
    condition: Condition,
    holds: Tree,
    fails: Tree,
}

#[derive(Clone, PartialEq, Eq)]
enum Condition {
    /// A path exists, and is no folder unless it has a slash at its end.
    Exists(Bytes),
    Event(Event),
}

/// What an outcome depends on first.
#[derive(PartialEq, Eq)]
pub enum Asked {
    /// A path without repeated and final slashes.
    Path(Bytes),
    Event(Event),
}

impl Model {
    /// Returns the branches of a request, or none if its outcome does not depend on files or events. The first whose
    /// conditions hold counts; they are about in the order in which nginx asks. A branch may have an unknown outcome,
    /// as has the last if there are too many: it stands for all others, and has no conditions.
    pub fn branches(&self, request: &Request, world: &World) -> Vec<Branch> {
        let outcome = self.answer(request, world, &mut Silent);
        if Asked::of(&outcome).is_none() {
            return Vec::new();
        }
        let mut branches = Vec::new();
        self.tree(request, &mut world.clone(), outcome.clone(), 0).flatten(&Conditions::default(), &mut branches);
        if branches.len() > BRANCHES {
            branches.truncate(BRANCHES - 1);
            let reason = "what else exists or happens".to_owned();
            let unknown = outcome.unknown.map(|unknown| Unknown { reason, question: None, ..unknown });
            branches.push(Branch { conditions: Conditions::default(), outcome: Outcome { unknown, ..outcome } });
        }
        branches
    }

    fn tree(&self, request: &Request, world: &mut World, outcome: Outcome, depth: usize) -> Tree {
        match Asked::of(&outcome) {
            Some(_) if depth == DEPTH => self.known(outcome),
            Some(Asked::Path(path)) if !world.files.is_tried(&path) => self.at_path(request, world, path, depth),
            Some(Asked::Event(event)) => self.event(request, world, event, depth),
            _ => self.known(outcome),
        }
    }

    /// A leaf. An `if` that is entered and says nothing makes no difference.
    fn known(&self, mut outcome: Outcome) -> Tree {
        let levels = &self.site.levels;
        while let Some(level) = outcome.level.filter(|level| levels[*level].kind == Kind::If) {
            outcome.level = levels[level].parent;
        }
        Tree::Known(Box::new(outcome))
    }

    /// The tree for what may be at a path without a slash at its end.
    fn at_path(&self, request: &Request, world: &mut World, path: Bytes, depth: usize) -> Tree {
        let mut with = |found: Option<Found>| {
            world.files.tried.push((path.clone(), found));
            let outcome = self.answer(request, world, &mut Silent);
            let tree = self.tree(request, world, outcome, depth + 1);
            world.files.tried.pop();
            tree
        };
        let (file, folder, nothing) = (with(Some(Found::File)), with(Some(Found::Folder)), with(None));
        let path_of_folder = if path.ends_with(b"/") { path.clone() } else { Bytes([&path[..], b"/"].concat()) };
        let is_file_told = file != nothing;
        let rest = Tree::late(Condition::Exists(path_of_folder), folder, nothing);
        if is_file_told { Tree::fork(Condition::Exists(path), file, rest) } else { rest }
    }

    fn event(&self, request: &Request, world: &mut World, event: Event, depth: usize) -> Tree {
        let mut with = |happens: bool| {
            world.events.push((event.clone(), happens));
            let outcome = self.answer(request, world, &mut Silent);
            let tree = self.tree(request, world, outcome, depth + 1);
            world.events.pop();
            tree
        };
        let (happens, fails) = (with(true), with(false));
        Tree::fork(Condition::Event(event), happens, fails)
    }
}

impl Asked {
    /// Returns what an outcome depends on, if its branches do.
    pub fn of(outcome: &Outcome) -> Option<Asked> {
        match outcome.asks()? {
            Question::File { path } => Some(Asked::Path(Bytes(simple(path)))),
            Question::Event(event) => Some(Asked::Event(event.clone())),
            _ => None,
        }
    }
}

impl Tree {
    /// The tree that asks for a condition first, if it makes a difference.
    fn fork(condition: Condition, holds: Tree, fails: Tree) -> Tree {
        if holds == fails { fails } else { Tree::Fork(Box::new(Fork { condition, holds, fails })) }
    }

    /// The tree that asks for a condition as late as possible: after the questions that both trees begin with.
    fn late(condition: Condition, holds: Tree, fails: Tree) -> Tree {
        match (holds, fails) {
            (Tree::Fork(one), Tree::Fork(other)) if one.condition == other.condition => Tree::fork(
                one.condition,
                Tree::late(condition.clone(), one.holds, other.holds),
                Tree::late(condition, one.fails, other.fails),
            ),
            (holds, fails) => Tree::fork(condition, holds, fails),
        }
    }

    fn flatten(self, known: &Conditions, branches: &mut Vec<Branch>) {
        match self {
            Tree::Known(outcome) => branches.push(Branch { conditions: known.clone(), outcome: *outcome }),
            Tree::Fork(fork) => {
                fork.holds.flatten(&known.with(&fork.condition, true), branches);
                fork.fails.flatten(&known.with(&fork.condition, false), branches);
            }
        }
    }
}

impl Conditions {
    fn with(&self, condition: &Condition, holds: bool) -> Conditions {
        let mut with = self.clone();
        match condition {
            Condition::Exists(path) if holds => {
                if let Some(file) = path.strip_suffix(b"/") {
                    with.missing.retain(|other| **other != *file); // the path exists, as a folder
                }
                with.exists.push(path.clone());
            }
            Condition::Exists(path) => with.missing.push(path.clone()),
            Condition::Event(event) if holds => with.happens.push(event.text.clone()),
            Condition::Event(event) => with.fails.push(event.text.clone()),
        }
        with
    }
}
