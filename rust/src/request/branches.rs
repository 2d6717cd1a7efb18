//! The outcomes of a request that depend on which files exist: a tree, whose leaves are branches.

use serde::Serialize;

use crate::request::bytes::Bytes;
use crate::request::files::{Found, simple};
use crate::request::model::Model;
use crate::request::outcome::{Outcome, OutcomeKind, Question};
use crate::request::record::Silent;
use crate::request::world::{Request, World};

/// The most branches of a request, and the most paths that one of them depends on.
const BRANCHES: usize = 8;
const DEPTH: usize = 6;

/// The outcome of a request if some files exist and others do not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// Files and, with a final slash, folders.
    pub exists: Vec<Bytes>,
    /// Files and, with a final slash, folders. What is not there as a file may be there as a folder, and vice versa.
    pub missing: Vec<Bytes>,
    pub outcome: Outcome,
}

/// What becomes of a request, by what is at the paths that nginx looks at, in its order.
#[derive(PartialEq, Eq)]
enum Tree {
    Known(Box<Outcome>),
    Asked(Box<Asked>),
}

#[derive(PartialEq, Eq)]
struct Asked {
    /// Without a slash at its end.
    path: Bytes,
    file: Tree,
    folder: Tree,
    nothing: Tree,
}

impl Model {
    /// Returns the branches of a request, in the order in which nginx asks for files, or none if its outcome does not
    /// depend on files, or on too many. A branch may have an unknown outcome.
    pub fn branches(&self, request: &Request, world: &World) -> Vec<Branch> {
        let outcome = self.answer(request, world, &mut Silent);
        if asked(&outcome).is_none() {
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
        let Some(path) = asked(&outcome).filter(|path| !world.files.is_tried(path)) else {
            return Some(Tree::Known(Box::new(outcome)));
        };
        if depth == DEPTH {
            return None;
        }
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
        Some(Tree::Asked(Box::new(Asked { path, file, folder, nothing })))
    }
}

/// The path that an outcome depends on, without repeated and final slashes.
fn asked(outcome: &Outcome) -> Option<Bytes> {
    match outcome.unknown.as_ref()?.question.as_ref()? {
        Question::File { path } if outcome.kind == OutcomeKind::Unknown => Some(Bytes(simple(path))),
        _ => None,
    }
}

#[derive(Clone, Default)]
struct Conditions {
    exists: Vec<Bytes>,
    missing: Vec<Bytes>,
}

impl Tree {
    fn flatten(self, known: &Conditions, branches: &mut Vec<Branch>) {
        let asked = match self {
            Tree::Known(outcome) => {
                let Conditions { exists, missing } = known.clone();
                branches.push(Branch { exists, missing, outcome: *outcome });
                return;
            }
            Tree::Asked(asked) => *asked,
        };
        let file = asked.path;
        let folder = if file.ends_with(b"/") { file.clone() } else { Bytes([&file[..], b"/"].concat()) };
        let (is_file_told, is_folder_told) = (asked.file != asked.nothing, asked.folder != asked.nothing);
        let mut rest = known.clone();
        if is_file_told {
            asked.file.flatten(&known.with(&file), branches);
            rest.missing.push(file);
        }
        if is_folder_told {
            asked.folder.flatten(&known.with(&folder), branches);
            rest.missing.push(folder);
        }
        asked.nothing.flatten(&rest, branches);
    }
}

impl Conditions {
    fn with(&self, existing: &Bytes) -> Conditions {
        let mut with = self.clone();
        with.exists.push(existing.clone());
        with
    }
}
