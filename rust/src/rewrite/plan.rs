//! The plan for a run: the fate of each rule, and the keys of the maps.

use std::collections::HashMap;

use crate::first_match::ReadPatterns;
use crate::phase::Phase;
use crate::rewrite::candidate::Extra;
use crate::rewrite::options::Options;
use crate::rewrite::reason::Reason;

/// The most strings that differ only in case. Each needs a tier, and tiers are numbered in a byte.
pub const MAX_TIERS: usize = 255;

/// The fate of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its strings become keys.
    Moved,
    /// It stays in its place.
    Kept(Reason),
    /// It can never be the first to match: `by` is the rule that takes `witness`. Both are `None` for a pattern that
    /// matches nothing at all.
    Dead { by: Option<usize>, witness: Option<Vec<u8>> },
    /// It repeats rule `of`.
    Duplicate { of: usize },
}

/// A key of the maps.
#[derive(Clone, Copy, Debug)]
pub struct KeyEntry {
    pub(super) start: u32,
    pub(super) length: u16,
    /// The tier of maps it stands in.
    pub tier: u8,
    /// It answers every spelling of its letters.
    pub any_case: bool,
    /// The rule that owns it.
    pub rule: u32,
    /// The next entry whose key differs from this one's only in case, or `NONE`.
    pub(super) next: u32,
}

pub(super) const NONE: u32 = u32::MAX;

/// The plan for a run.
#[derive(Debug, Default)]
pub struct Plan {
    pub fates: Vec<Fate>,
    pub entries: Vec<KeyEntry>,
    /// What moving a rule requires besides its keys, by rule.
    pub extras: HashMap<usize, Extra>,
    pub(super) keys: Vec<u8>,
    /// The patterns of the rules that were judged to stay. Other rules may stay as well.
    pub patterns: Option<ReadPatterns>,
}

impl Plan {
    /// The bytes of an entry's key.
    pub fn key(&self, entry: &KeyEntry) -> &[u8] {
        &self.keys[entry.start as usize..entry.start as usize + usize::from(entry.length)]
    }

    /// Whether the first rule of the run stays.
    pub fn stays_first(&self) -> bool {
        matches!(self.fates.first(), Some(Fate::Kept(_)))
    }

    /// The rule before which the compiled form is placed. The patterns of that form empty `$1` to `$9` if they do not
    /// match. If the first rule stays, it may fail and leave their former values, so where captures matter, it comes
    /// before the compiled form.
    pub fn stands_before(&self, options: &Options) -> usize {
        if options.phase == Phase::Server || !options.captures_matter {
            return 0;
        }
        self.fates.iter().position(|fate| !matches!(fate, Fate::Kept(_))).unwrap_or(0)
    }

    /// The rules that stay, in order.
    pub fn kept(&self) -> impl Iterator<Item = (usize, Reason)> + '_ {
        self.fates.iter().enumerate().filter_map(|(rule, fate)| match fate {
            Fate::Kept(reason) => Some((rule, *reason)),
            _ => None,
        })
    }
}

/// A pattern that PCRE2 does not compile; nginx would not start with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPattern {
    /// The rule's place in its run.
    pub rule: usize,
    pub message: String,
}
