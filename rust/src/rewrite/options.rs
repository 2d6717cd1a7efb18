//! What the planner is asked for.

use crate::syntax::Readings;

/// The phase of nginx in which a run is tried: a server's or a location's (`ngx_http_rewrite_handler`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Server,
    /// A location, or any of both: what is right in a location is right in a server.
    Location,
}

/// What the planner is told about a run.
#[derive(Clone, Debug)]
pub struct Options {
    pub phase: Phase,
    /// Whether `$1` to `$9` may be read after the run: what it leaves in them is then kept as it was.
    pub captures_matter: bool,
    pub readings: Readings,
    /// How many strings a rule may match to be moved.
    pub bound: usize,
    /// Whether rules that stay in a server are looked up in groups.
    pub groups: bool,
}
