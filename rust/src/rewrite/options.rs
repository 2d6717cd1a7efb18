//! The options of the planner.

use crate::phase::{Entering, Phase};
use crate::rewrite::reruns::Reruns;
use crate::syntax::Readings;

/// How a run is compiled, and what is known of it.
#[derive(Clone, Debug)]
pub struct Options {
    pub phase: Phase,
    /// Whether `$1` to `$9` may be read after the run, so that their values must be kept.
    pub captures_matter: bool,
    /// What may run the rules again in one request; `None` if that is not known.
    pub reruns: Option<Reruns>,
    pub readings: Readings,
    /// The most strings that a moved rule may match.
    pub bound: usize,
    /// Which rules may stand in an `if`, so that they can be in groups and behind filters.
    pub entering: Entering,
}
