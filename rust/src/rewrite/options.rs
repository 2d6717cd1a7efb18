//! What the planner is asked for.

use crate::syntax::Readings;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Server,
    /// A location, or any of both: what is right in a location is right in a server.
    Location,
}

/// What the planner is told about a run.
#[derive(Clone, Debug)]
pub struct Options {
    pub level: Level,
    /// Whether `$1` to `$9` may be read after the run: what it leaves in them is then kept as it was.
    pub captures_matter: bool,
    pub readings: Readings,
    /// How many strings a rule may match to be moved.
    pub bound: usize,
}
