//! The compiled form of a run: tiers of maps with the directives that read them.
//!
//! Each tier of a run has up to one map of each kind, all keyed by `$uri`, or by the URI without a final newline:
//!
//! - *key* gives the key back, so that `if ($key = $uri)` is exact where nginx folds the case of map keys;
//! - *class* says which directive fires, where a tier has several;
//! - *to* is what the target has beyond the constant text in the directive;
//! - *args* are the arguments of the rule's own.
//!
//! That is the form for a server. In a location a true `if` swaps the configuration, for that of the location with what
//! the `if` says itself (`ngx_http_script_if_code`): all that an `if` before said, and what no `if` inherits, is lost. So
//! there the guard is the pattern of the directive, which lists the keys, and *key* and *class* are not needed.
//!
//! [`crate::rewrite::emit`] makes tiers of a plan, and [`crate::rewrite::text`] writes them down.

use crate::hash::Element;
use crate::rewrite::target::Action;

/// What a directive settles by itself, when nginx reads the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    pub action: Action,
    pub own_args: bool,
    pub drop_args: bool,
    /// The rules' own patterns are run on a hit, so that `$1` to `$9` are what they were.
    pub sets_captures: bool,
}

/// What one guard lets through: the rules of a class in a tier.
#[derive(Clone, Debug)]
pub struct Block {
    pub class: Class,
    /// The constant start of the target.
    pub head: Vec<u8>,
    /// Whether the *to* map holds the rest.
    pub has_rest: bool,
    pub args: Args,
    /// The patterns to run: those of the rules where the class sets captures, or those that list the keys. Behind a guard,
    /// `^` does for the others.
    pub patterns: Vec<Vec<u8>>,
}

/// The own arguments of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Args {
    None,
    /// The same for every rule.
    Constant(Vec<u8>),
    /// In the *args* map.
    Mapped,
}

/// A map: its lines as text, and its keys as nginx will hash them.
#[derive(Clone, Debug, Default)]
pub struct TierMap {
    pub lines: Vec<u8>,
    pub elements: Vec<Element>,
}

/// The maps and blocks of a tier. A map without a line is not there.
#[derive(Clone, Debug)]
pub struct Tier {
    /// Its maps are keyed by the URI without a final newline, so that one key stands for a string and its twin.
    pub strips_newline: bool,
    /// The guard; none where the patterns of the only block are.
    pub key: Option<TierMap>,
    pub class: Option<TierMap>,
    /// The block of the keys that have no line in *class*.
    pub default: usize,
    pub to: Option<TierMap>,
    pub args: Option<TierMap>,
    pub blocks: Vec<Block>,
}

/// What a map holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    Key,
    Class,
    To,
    /// As [`MapKind::To`], of keys that patterns list: its name tells what was emitted from what somebody wrote.
    ListedTo,
    Args,
}

impl Tier {
    /// The maps that there are.
    pub fn maps(&self) -> impl Iterator<Item = (MapKind, &TierMap)> {
        let to = self.to_kind();
        let maps =
            [(MapKind::Key, &self.key), (MapKind::Class, &self.class), (to, &self.to), (MapKind::Args, &self.args)];
        maps.into_iter().filter_map(|(kind, map)| Some((kind, map.as_ref()?)))
    }

    /// The kind of the map of targets.
    pub fn to_kind(&self) -> MapKind {
        if self.key.is_some() { MapKind::To } else { MapKind::ListedTo }
    }
}
