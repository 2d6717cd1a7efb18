//! Which rules of a run a map can answer, and which stay.
//!
//! A rule is *moved* when the strings it matches are few enough to list; each string becomes a key, owned by the first
//! rule that matches it. A string that an earlier kept rule matches is left out of the map: the kept rule answers it.
//! Rules that differ by letter case alone go to different *tiers* of maps, because nginx folds the case of map keys.

use std::collections::HashMap;

use crate::parallel;
use crate::rewrite::candidate::{self, Extra, Movable};
use crate::rewrite::claims::Claims;
use crate::rewrite::program::Run;
use crate::rewrite::reason::Reason;
use crate::syntax::Readings;

/// A rule judged by itself.
pub type Candidate<'a> = Result<Movable<'a>, Reason>;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Server,
    Location,
    /// Not known: only what is right at both levels is done.
    Either,
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

/// How many rules may differ by case alone: each tier costs every request another look-up.
pub const MAX_TIERS: usize = 4;

/// What becomes of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its strings are keys.
    Moved,
    /// It stays in its place.
    Kept(Reason),
    /// It can never be the first to match: `by` is the rule that takes `witness`. Both are `None` for a pattern that
    /// matches nothing at all.
    Dead { by: Option<usize>, witness: Option<Vec<u8>> },
    /// It says again what rule `of` says.
    Duplicate { of: usize },
}

/// A key of the maps.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub(super) start: u32,
    pub(super) length: u16,
    /// The tier of maps it stands in.
    pub tier: u8,
    /// It answers every spelling of its letters.
    pub any_case: bool,
    /// The rule that owns it.
    pub rule: u32,
    /// The next entry whose key differs from this one's by case alone, or `NONE`.
    pub(super) next: u32,
}

pub(super) const NONE: u32 = u32::MAX;

/// The division of a run.
#[derive(Debug, Default)]
pub struct Plan {
    pub fates: Vec<Fate>,
    pub entries: Vec<Entry>,
    /// By rule, what moving it takes beside its keys.
    pub extras: HashMap<usize, Extra>,
    pub(super) keys: Vec<u8>,
}

impl Plan {
    /// The bytes of an entry's key.
    pub fn key(&self, entry: &Entry) -> &[u8] {
        &self.keys[entry.start as usize..entry.start as usize + usize::from(entry.length)]
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

/// Divides a run. Linear in the rules but for PCRE2 on strings that kept rules may match.
pub fn plan(run: &Run, options: &Options) -> Result<Plan, BadPattern> {
    let judge = |index: usize| {
        candidate::judge(&run.rules[index], options).map_err(|message| BadPattern { rule: index, message })
    };
    let parts = parallel::ranges(run.rules.len(), |places| places.map(judge).collect::<Result<Vec<_>, _>>());
    let mut candidates: Vec<Candidate> = Vec::with_capacity(run.rules.len());
    for part in parts {
        candidates.extend(part?);
    }
    // A rule that an earlier kept rule gets in the way of is kept itself, and everything is asked again.
    loop {
        let claims = Claims::make(run, &candidates)?;
        if claims.demoted.is_empty() {
            return Ok(claims.into_plan(run, candidates));
        }
        for (rule, reason) in claims.demoted {
            candidates[rule] = Err(reason);
        }
    }
}
