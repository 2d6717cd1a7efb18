//! The compiled form of a run: tiers of maps, and the directives that read them.
//!
//! Each tier of a run has up to one map of each kind, all keyed by `$uri`, or by the URI without a final newline:
//!
//! - *key* is the key itself, so that `if ($key = $uri)` is exact although nginx folds the case of map keys;
//! - *class* is the number of the directive that fires, if a tier has several;
//! - *to* is the part of the target that is not constant text in the directive;
//! - *args* are the rule's own arguments.
//!
//! Where no key has a capital letter, *to* itself is the guard, as it has a text for each key: `if ($to)`. The pattern of
//! the directive then excludes other spellings. This saves the largest map, and two lookups on a hit.
//!
//! That is the form for a server. In a location, a true `if` replaces the configuration by its own
//! (`ngx_http_script_if_code`): directives of earlier `if`s, and those that an `if` does not inherit, are lost. So in a
//! location there is no guard; the pattern of the directive lists the keys, and *key* and *class* are not needed.
//!
//! [`crate::rewrite::emit`] builds the tiers of a plan, and [`crate::rewrite::text`] writes them.

use crate::hash::Element;
use crate::rewrite::lines::Lines;
use crate::rewrite::target::Action;

/// The properties of a directive that are fixed in the text of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    pub action: Action,
    pub own_args: bool,
    pub drop_args: bool,
    /// Whether patterns run on a hit, the rules' own or ones that capture the same, so that `$1` to `$9` are as before.
    pub sets_captures: bool,
}

/// The rules of a class in a tier, behind one guard.
#[derive(Clone, Debug)]
pub struct Block {
    pub class: Class,
    /// The constant start of the target.
    pub head: Vec<u8>,
    /// Whether the *to* map has the rest.
    pub has_rest: bool,
    pub args: Args,
    /// The patterns to run. If the class sets captures, these are the patterns of the rules, or fewer patterns that
    /// capture the same (see `shared_pattern`). Without a guard, they list the keys. Otherwise there is only `^`.
    pub patterns: Vec<Vec<u8>>,
}

/// The arguments that the rules of a block add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Args {
    None,
    /// The same for every rule.
    Constant(Vec<u8>),
    /// Given by the *args* map.
    Mapped,
}

/// A map: its lines as text, and its keys as nginx hashes them.
pub struct TierMap {
    pub lines: Lines,
    pub elements: Vec<Element>,
}

/// How a tier excludes all URIs that are not its keys.
pub enum Guard {
    /// `if ($key = $uri)`.
    Key(TierMap),
    /// `if ($to)`, where the pattern of the only block excludes other spellings of the keys.
    Target,
    /// As [`Guard::Target`], but the `if` captures the text of *to* in a variable. It costs a miss a pattern that does
    /// not match, which leaves `$1` to `$9` empty, and saves a hit two lookups.
    CapturedTarget,
    /// The patterns of the only block.
    Patterns,
}

/// The maps and blocks of a tier. Maps without lines are `None`.
pub struct Tier {
    /// Whether its maps look up the URI without a final newline, so that one key stands for a string and its twin.
    pub strips_newline: bool,
    pub guard: Guard,
    /// Whether nginx may keep the values of *to* and *args* for the request: no other URI has one in the same request.
    pub keeps_values: bool,
    pub class: Option<TierMap>,
    /// The block of the keys without a line in *class*.
    pub default: usize,
    pub to: Option<TierMap>,
    pub args: Option<TierMap>,
    pub blocks: Vec<Block>,
}

/// The kind of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    Key,
    Class,
    To,
    /// As [`MapKind::To`], for keys that patterns list: its name distinguishes emitted rules from those written by
    /// hand.
    ListedTo,
    Args,
}

impl Tier {
    /// The maps of the tier.
    pub fn maps(&self) -> impl Iterator<Item = (MapKind, &TierMap)> {
        let to = self.to_kind();
        let key = if let Guard::Key(key) = &self.guard { Some(key) } else { None };
        let maps = [
            (MapKind::Key, key),
            (MapKind::Class, self.class.as_ref()),
            (to, self.to.as_ref()),
            (MapKind::Args, self.args.as_ref()),
        ];
        maps.into_iter().filter_map(|(kind, map)| Some((kind, map?)))
    }

    /// The kind of the map of targets.
    pub fn to_kind(&self) -> MapKind {
        if self.is_listed() { MapKind::ListedTo } else { MapKind::To }
    }

    /// Whether nginx has to look up a map of the tier anew at each use.
    pub fn is_volatile(&self, kind: MapKind) -> bool {
        !(self.keeps_values && matches!(kind, MapKind::To | MapKind::Args))
    }

    /// Whether patterns list the keys.
    pub fn is_listed(&self) -> bool {
        matches!(self.guard, Guard::Patterns)
    }

    /// Whether the statements of the tier leave `$1` to `$9` empty if no rule fires.
    pub fn clears_captures(&self) -> bool {
        self.strips_newline || matches!(self.guard, Guard::CapturedTarget)
    }
}
