//! Whether some spelling of a string is matched by a kept rule: asked of rules that answer every spelling.

use regex_automata::meta::{Config, Regex};
use regex_automata::{Anchored, Input, MatchKind, PatternSet};
use regex_syntax::hir::Hir;

use crate::syntax;

/// The kept rules' patterns, their letters read in any case; built when first asked.
pub struct Overlap<'a> {
    patterns: &'a [&'a [u8]],
    built: Option<Built>,
}

struct Built {
    regex: Option<Regex>,
    /// The first pattern of which nothing is known.
    unknown_from: usize,
}

impl<'a> Overlap<'a> {
    pub fn new(patterns: &'a [&'a [u8]]) -> Overlap<'a> {
        Overlap { patterns, built: None }
    }

    /// `false` only if none of the first `limit` patterns matches any spelling of `string`.
    pub fn may_match_some_case(&mut self, string: &[u8], limit: usize) -> bool {
        if limit == 0 {
            return false;
        }
        let built = self.built.get_or_insert_with(|| Built::new(self.patterns));
        if limit > built.unknown_from {
            return true;
        }
        let Some(regex) = &built.regex else {
            return true;
        };
        let mut matching = PatternSet::new(regex.pattern_len());
        let input = Input::new(string).anchored(Anchored::No);
        regex.which_overlapping_matches(&input, &mut matching);
        matching.iter().any(|pattern| pattern.as_usize() < limit)
    }
}

impl Built {
    fn new(patterns: &[&[u8]]) -> Built {
        let known: Vec<Hir> = patterns
            .iter()
            .map_while(|pattern| syntax::parse(pattern).ok())
            .map(|pattern| pattern.translate_folded().hir)
            .collect();
        let config = Config::new().match_kind(MatchKind::All).utf8_empty(false);
        Built { regex: Regex::builder().configure(config).build_many_from_hir(&known).ok(), unknown_from: known.len() }
    }
}
