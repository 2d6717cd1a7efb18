//! A location, as the search sees it.

use crate::request::site::{LevelId, Node};

/// A location among its siblings.
#[derive(Clone, Debug)]
pub struct Location {
    pub level: LevelId,
    pub node: Node,
    pub name: Vec<u8>,
    pub is_exact: bool,
    /// Whether patterns of the same level are not tried if it is chosen (`^~`).
    pub no_regex: bool,
    /// Whether nginx redirects to its name if the URI lacks only the final slash.
    pub redirects: bool,
}
