//! What the proof is given: the files, and what is known of the configuration around them.

use std::collections::HashSet;
use std::sync::Arc;

use crate::first_match::ReadPatterns;
use crate::syntax::Readings;

/// What is known of all files.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The declared differences.
    pub readings: Readings,
    /// The directives that add nothing to the script of the rewrite module. Rules before and after one form one run.
    pub transparent: HashSet<Vec<u8>>,
    /// The directives that read captures only in their text.
    pub harmless: HashSet<Vec<u8>>,
    /// The directives that may run the script of a server again with any URI.
    pub rerunning: HashSet<Vec<u8>>,
    /// The directives of a location that an `if` in it inherits, or that have no effect once the location is found.
    pub inherited: HashSet<Vec<u8>>,
    /// The arguments of includes whose files hold nothing that an `if` does not inherit, as far as they were read.
    pub quiet: HashSet<Vec<u8>>,
    /// Whether no file that requests depend on is missing.
    pub is_complete: bool,
    /// The words of the statement that includes the maps, if it belongs in an http block of these files.
    pub include: Option<Vec<Vec<u8>>>,
    /// If a file of the http block is missing: the paths of includes that may lead to sizes of the maps' tables.
    pub may_set_sizes: Option<HashSet<Vec<u8>>>,
    /// Patterns that have been read already. They are used for patterns with the same text.
    pub patterns: Vec<Arc<ReadPatterns>>,
}

/// One file, before and after, and where it stands.
#[derive(Clone, Debug, Default)]
pub struct Pair<'t> {
    pub before: &'t [u8],
    pub after: &'t [u8],
    /// Whether its top level may be inside a location, where `break` from an `if` differs.
    pub in_location: bool,
    /// Whether its top level is the http block's.
    pub in_http: bool,
    /// Whether its statements are the rows of a block such as `map`.
    pub holds_rows: bool,
    /// Whether its top level is that of a server or a location, where rules may stand, and an `if` in place of a rule.
    pub takes_rules: bool,
}

/// An unchanged file.
#[derive(Clone, Copy, Debug)]
pub struct Other<'t> {
    pub text: &'t [u8],
    /// Whether its statements are the rows of a block such as `map`.
    pub holds_rows: bool,
}
