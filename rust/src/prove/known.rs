//! What the comparison of the files needs to know.

use crate::prove::Facts;
use crate::prove::maps::Maps;
use crate::prove::names::Used;
use crate::prove::reruns::Reruns;
use crate::prove::trees::Trees;

/// The maps that were added, and what is known of the whole configuration.
pub struct Known<'t, 'f> {
    pub maps: &'t Maps<'t>,
    /// The maps that look up groups of rules.
    pub trees: &'f Trees<'t>,
    pub facts: &'f Facts,
    /// All variables of the original.
    pub used: &'f Used,
    /// Whether `$1` to `$9` may be read after rules.
    pub captures_matter: bool,
    /// What may run the script of a server again; `None` if that is not known.
    pub reruns: Option<Reruns>,
    /// Whether every block that adds no headers inherits those of the block around it, as far as it was read.
    pub headers_inherited: bool,
}
