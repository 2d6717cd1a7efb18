//! What the planner is asked for.

use crate::syntax::Readings;

/// The phase of nginx in which a run is tried: a server's or a location's (`ngx_http_rewrite_handler`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Server,
    /// A location, or any of both: what is right in a location is right in a server.
    Location,
}

/// Which rules may stand in an `if` that certainly ends the script. In a server all may, as a true `if` changes nothing there;
/// in a location, one replaces the location's configuration by its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entering {
    Nothing,
    /// The location has `try_files`, which an `if` does not inherit.
    AllButBreak,
    All,
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
    /// Which of the rules that stay are looked up in groups.
    pub entering: Entering,
}
