//! Consecutive rewrites, with a fast search for the first that matches a URI.

use std::borrow::Cow;

use hashbrown::HashMap;

use crate::first_match::{Tries, TryCounter};
use crate::request::outcome::Unknown;
use crate::request::patterns::{Captures, Pattern, Patterns};
use crate::request::refused::Refused;
use crate::request::rules::rewrite::Rewrite;
use crate::syntax;

/// Rewrites in their order.
pub struct Run {
    rewrites: Vec<Rewrite>,
    /// For each string that literal patterns match, the rules with these patterns, ascending.
    literals: HashMap<Vec<u8>, Vec<u32>>,
    /// The rules whose patterns are not literals, and these patterns.
    others: Vec<usize>,
    patterns: Patterns,
    tries: TryCounter,
}

/// A rule that matches a URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Its place in [`Run::rewrites`].
    pub rule: usize,
    pub captures: Captures,
}

impl Run {
    /// Prepares the search. O(total length). Fails with the message of nginx for the first pattern that PCRE2 does not
    /// compile.
    pub fn new(rewrites: Vec<Rewrite>) -> Result<Run, Refused> {
        let mut literals: HashMap<Vec<u8>, Vec<u32>> = HashMap::new();
        let (mut others, mut patterns) = (Vec::new(), Vec::new());
        for (number, rule) in rewrites.iter().enumerate() {
            match syntax::literal(&rule.pattern) {
                Some(literal) => {
                    for string in literal.strings() {
                        literals.entry(string).or_default().push(number as u32);
                    }
                }
                None => {
                    others.push(number);
                    patterns.push(Pattern { node: rule.node, text: rule.pattern.clone(), caseless: false });
                }
            }
        }
        let tries = TryCounter::new(rewrites.len());
        Ok(Run { rewrites, literals, others, patterns: Patterns::new(patterns)?, tries })
    }

    pub fn rewrites(&self) -> &[Rewrite] {
        &self.rewrites
    }

    /// Finds the first rule from `from` on that matches `uri`. O(length of the URI) for most rules.
    pub fn first(&self, uri: &[u8], from: usize) -> Result<Option<Hit>, Unknown> {
        let literal = self.literal(uri, from);
        let place = |rule: usize| self.others.partition_point(|other| *other < rule);
        let range = place(from)..literal.map_or(self.others.len(), place);
        if let Some(index) = self.patterns.first(uri, range)? {
            let captures = self.patterns.captures(index, uri)?;
            return Ok(Some(Hit { rule: self.others[index], captures }));
        }
        let hit = |rule| Hit { rule, captures: Captures::whole(uri) };
        Ok(literal.map(hit))
    }

    /// What PCRE does to find the first rule from `from` on: `hit`, which is tried too.
    pub fn tries(&self, uri: &[u8], from: usize, hit: Option<usize>) -> Tries {
        let tried = from..hit.map_or(self.rewrites.len(), |hit| hit + 1);
        self.tries.count(uri, tried, hit.is_some(), |rule| Cow::Borrowed(&self.rewrites[rule].pattern))
    }

    fn literal(&self, uri: &[u8], from: usize) -> Option<usize> {
        let rules = self.literals.get(uri)?;
        let at = rules.partition_point(|rule| (*rule as usize) < from);
        rules.get(at).map(|rule| *rule as usize)
    }
}
