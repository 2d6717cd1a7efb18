//! The outcomes of a request that depend on which files exist: a tree, whose leaves are branches.

use serde::Serialize;

use crate::request::bytes::Bytes;
use crate::request::files::simple;
use crate::request::model::Model;
use crate::request::outcome::{Outcome, OutcomeKind, Question};
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

/// What becomes of a request, by what nginx asks for on the way, in its order.
#[derive(PartialEq, Eq)]
enum Tree {
    Known(Box<Outcome>),
    File(Box<AtPath>),
    Event(Box<Event>),
}

/// The trees for what may be at a path, which has no slash at its end.
#[derive(PartialEq, Eq)]
struct AtPath {
    path: Bytes,
    file: Tree,
    folder: Tree,
    nothing: Tree,
}

#[derive(PartialEq, Eq)]
struct Event {
    text: String,
    happens: Tree,
    fails: Tree,
}

/// What an outcome depends on first.
enum Asked {
    /// A path without repeated and final slashes.
    Path(Bytes),
    Event(String),
}

impl Model {
    /// Returns the branches of a request, in the order in which nginx asks for files and events, or none if its outcome
    /// does not depend on them, or on too many. A branch may have an unknown outcome.
    pub fn branches(&self, request: &Request, world: &World) -> Vec<Branch> {
        let outcome = self.answer(request, world, &mut Silent);
        if Asked::of(&outcome).is_none() {
            return Vec::new();
        }
        let mut branches = Vec::new();
        if let Some(tree) = self.tree(request, &mut world.clone(), outcome, 0) {
            tree.flatten(&Conditions::default(), &mut branches);
        }
        if branches.len() > BRANCHES { Vec::new() } else { branches }
    }

    /// `None` if it is too deep.
    fn tree(&self, request: &Request, world: &mut World, outcome: Outcome, depth: usize) -> Option<Tree> {
        match Asked::of(&outcome) {
            Some(_) if depth == DEPTH && !is_settled(&outcome, world) => None,
            Some(Asked::Path(path)) if !world.files.is_tried(&path) => self.at_path(request, world, path, depth),
            Some(Asked::Event(text)) => self.event(request, world, text, depth),
            _ => Some(self.known(outcome)),
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

    fn at_path(&self, request: &Request, world: &mut World, path: Bytes, depth: usize) -> Option<Tree> {
        let mut with = |found: Option<Found>| {
            world.files.tried.push((path.clone(), found));
            let outcome = self.answer(request, world, &mut Silent);
            let tree = self.tree(request, world, outcome, depth + 1);
            world.files.tried.pop();
            tree
        };
        let (file, folder, nothing) = (with(Some(Found::File))?, with(Some(Found::Folder))?, with(None)?);
        if file == nothing && folder == nothing {
            return Some(nothing);
        }
        Some(Tree::File(Box::new(AtPath { path, file, folder, nothing })))
    }

    fn event(&self, request: &Request, world: &mut World, text: String, depth: usize) -> Option<Tree> {
        let mut with = |happens: bool| {
            world.events.push((text.clone(), happens));
            let outcome = self.answer(request, world, &mut Silent);
            let tree = self.tree(request, world, outcome, depth + 1);
            world.events.pop();
            tree
        };
        let (happens, fails) = (with(true)?, with(false)?);
        if happens == fails {
            return Some(fails);
        }
        Some(Tree::Event(Box::new(Event { text, happens, fails })))
    }
}

/// Whether the branch has settled the path that an outcome depends on, and that does not tell enough.
fn is_settled(outcome: &Outcome, world: &World) -> bool {
    matches!(Asked::of(outcome), Some(Asked::Path(path)) if world.files.is_tried(&path))
}

impl Asked {
    fn of(outcome: &Outcome) -> Option<Asked> {
        match outcome.unknown.as_ref()?.question.as_ref()? {
            _ if outcome.kind != OutcomeKind::Unknown => None,
            Question::File { path } => Some(Asked::Path(Bytes(simple(path)))),
            Question::Event { text } => Some(Asked::Event(text.clone())),
            _ => None,
        }
    }
}

impl Tree {
    fn flatten(self, known: &Conditions, branches: &mut Vec<Branch>) {
        match self {
            Tree::Known(outcome) => branches.push(Branch { conditions: known.clone(), outcome: *outcome }),
            Tree::File(at) => at.flatten(known, branches),
            Tree::Event(event) => {
                let (mut happens, mut fails) = (known.clone(), known.clone());
                happens.happens.push(event.text.clone());
                fails.fails.push(event.text);
                event.happens.flatten(&happens, branches);
                event.fails.flatten(&fails, branches);
            }
        }
    }
}

impl AtPath {
    fn flatten(self, known: &Conditions, branches: &mut Vec<Branch>) {
        let file = self.path;
        let folder = if file.ends_with(b"/") { file.clone() } else { Bytes([&file[..], b"/"].concat()) };
        let (is_file_told, is_folder_told) = (self.file != self.nothing, self.folder != self.nothing);
        let mut rest = known.clone();
        if is_file_told {
            self.file.flatten(&known.with(&file), branches);
            rest.missing.push(file);
        }
        if is_folder_told {
            self.folder.flatten(&known.with(&folder), branches);
            rest.missing.push(folder);
        }
        self.nothing.flatten(&rest, branches);
    }
}

impl Conditions {
    fn with(&self, existing: &Bytes) -> Conditions {
        let mut with = self.clone();
        with.exists.push(existing.clone());
        with
    }
}
