//! The rules of a server that no list of strings replaces, in groups behind one look-up.
//!
//! A map with patterns tells which group holds the first rule that matches; only that group's rules are tried, as they are
//! written, so that targets, captures and flags need no thought. The map is compiled as any other with patterns is
//! ([`crate::maps`]).

use std::borrow::Cow;
use std::ops::Range;

use crate::first_match::{First, FirstMatch};
use crate::map_block::{ExactRow, MapBlock, PatternRow};
use crate::rewrite::plan::Plan;
use crate::rewrite::runs::Run;

/// Fewer rules than this are sooner tried.
const FEWEST: usize = 5;

/// The rules of the smallest group: a request compares its group with the number of each.
const SMALLEST: usize = 8;

/// The rules that stay, by their places in a run, and where each group ends among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    pub rules: Vec<usize>,
    size: usize,
}

impl Groups {
    /// The rules that a plan leaves in their place, if they are enough to look up.
    ///
    /// As many groups as rules in each: a miss compares numbers, at 150 instructions each, a hit tries the rules of one
    /// group.
    pub fn of(plan: &Plan) -> Option<Groups> {
        let rules: Vec<usize> = plan.kept().map(|(rule, _)| rule).collect();
        let size = SMALLEST.max((rules.len() as f64).sqrt().ceil() as usize);
        (rules.len() >= FEWEST).then_some(Groups { rules, size })
    }

    /// The groups, each as the places of its rules in the run.
    pub fn all(&self) -> impl Iterator<Item = &[usize]> {
        self.rules.chunks(self.size)
    }

    /// The number of the group of the rule at a place among those that stay.
    fn number(&self, at: usize) -> Vec<u8> {
        (at / self.size + 1).to_string().into_bytes()
    }

    /// The map that tells the number of the group which holds the first rule that matches `$uri`; `None` if it is not known
    /// which matches the empty URI, on which a map tries no pattern.
    pub fn map<'r>(&self, run: &'r Run, variable: String) -> Option<MapBlock<'r>> {
        let patterns: Vec<&[u8]> = self.rules.iter().map(|rule| &*run.rules[*rule].pattern).collect();
        let exact = match FirstMatch::new(&patterns).ok()?.first(b"", patterns.len()) {
            First::None => Vec::new(),
            First::Match(at) => vec![ExactRow {
                key: Cow::Borrowed(b""),
                value: Cow::Owned(self.number(at)),
                is_hostname: false,
                span: 0..0,
            }],
            First::Unknown(..) => return None,
        };
        let row = |(at, pattern): (usize, &'r [u8])| PatternRow {
            pattern: Cow::Borrowed(pattern),
            caseless: false,
            value: Cow::Owned(self.number(at)),
            span: 0..0,
        };
        Some(MapBlock {
            source: Cow::Borrowed(b"$uri"),
            variable: Cow::Owned(variable.into_bytes()),
            volatile: true,
            exact,
            patterns: patterns.into_iter().enumerate().map(row).collect(),
            default: Some(Cow::Borrowed(b"")),
            ..MapBlock::default()
        })
    }
}
