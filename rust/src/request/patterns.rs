//! Patterns as nginx compiles and matches them (`ngx_http_regex_compile`, `ngx_http_regex_exec`): those of names,
//! locations, maps, rewrites and conditions.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use crate::first_match::{Doubt, First, FirstMatch, Tries, TryCounter};
use crate::pcre::Regex;
use crate::request::bytes::Bytes;
use crate::request::outcome::Unknown;
use crate::request::refused::Refused;
use crate::request::site::Node;
use crate::request::variables;
use crate::syntax;

/// The most calls of PCRE2's `match()` for the groups of a pattern that is known to match.
const CALLS: u32 = 1_000_000;

/// A pattern as a directive states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub node: Node,
    pub text: Bytes,
    /// Whether it is compiled with PCRE's caseless option (`~*`).
    pub caseless: bool,
}

/// What a match captured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    /// The whole match first, then the groups; `None` for a group that took no part. Groups after the last that did are
    /// left out.
    pub groups: Vec<Option<Bytes>>,
    /// The variables that the match sets: the names of groups, as written, and their text.
    pub named: Vec<(Bytes, Bytes)>,
}

impl Captures {
    /// Of a pattern without groups that matches all of the subject, less a newline that ends it.
    pub fn whole(subject: &[u8]) -> Captures {
        let text = subject.strip_suffix(b"\n").unwrap_or(subject);
        Captures { groups: vec![Some(text.into())], named: Vec::new() }
    }
}

/// Patterns that are tried in their order.
pub struct Patterns {
    patterns: Vec<Pattern>,
    regexes: Vec<OnceLock<Regex>>,
    first: FirstMatch,
    tries: TryCounter,
}

impl Patterns {
    /// O(total length). The error is nginx's for the first pattern that PCRE2 does not compile.
    pub fn new(patterns: Vec<Pattern>) -> Result<Patterns, Refused> {
        let texts: Vec<Vec<u8>> = patterns.iter().map(Pattern::flagged).collect();
        let regexes = patterns.iter().zip(&texts).map(|(pattern, text)| pattern.checked(text));
        let regexes = regexes.collect::<Result<_, _>>()?;
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let node = patterns.first().map_or(0, |pattern| pattern.node);
        let first = FirstMatch::to_match(&texts).map_err(|error| Refused::new(node, error.to_string()))?;
        patterns.iter().try_for_each(Pattern::check_groups)?;
        let tries = TryCounter::new(patterns.len());
        Ok(Patterns { patterns, regexes, first, tries })
    }

    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The pattern of this index.
    pub fn get(&self, index: usize) -> &Pattern {
        &self.patterns[index]
    }

    /// The number of groups of the pattern of this index.
    pub fn group_count(&self, index: usize) -> u32 {
        self.regex(index).group_count()
    }

    /// The first pattern with an index in `range` that matches.
    pub fn first(&self, subject: &[u8], range: Range<usize>) -> Result<Option<usize>, Unknown> {
        match self.first.first_in(subject, range) {
            First::None => Ok(None),
            First::Match(index) => Ok(Some(index)),
            First::Unknown(index, doubt) => Err(self.unknown(index, doubt)),
        }
    }

    /// What PCRE does to find the first pattern with an index in `range` that matches: `first`, which is tried too.
    pub fn tries(&self, subject: &[u8], range: Range<usize>, first: Option<usize>) -> Tries {
        let tried = range.start..first.map_or(range.end, |first| first + 1);
        self.tries.count(subject, tried, first.is_some(), |index| Cow::Owned(self.patterns[index].flagged()))
    }

    /// What the pattern of this index, which matches, captures.
    pub fn captures(&self, index: usize, subject: &[u8]) -> Result<Captures, Unknown> {
        let regex = self.regex(index);
        let doubt = || self.unknown(index, Doubt::Effort);
        let ranges = regex.captures(subject, CALLS).map_err(|_| doubt())?.ok_or_else(doubt)?;
        let text = |range: &Range<usize>| Bytes(subject[range.clone()].to_vec());
        let groups: Vec<Option<Bytes>> = ranges.iter().map(|range| range.as_ref().map(text)).collect();
        let value = |group: usize| groups.get(group).cloned().flatten().unwrap_or_default();
        let named = regex.names().into_iter().map(|(name, group)| (Bytes(name), value(group))).collect();
        Ok(Captures { groups, named })
    }

    fn regex(&self, index: usize) -> &Regex {
        let compile = || self.patterns[index].compile().expect("a pattern that every PCRE compiles");
        self.regexes[index].get_or_init(compile)
    }

    fn unknown(&self, index: usize, doubt: Doubt) -> Unknown {
        let pattern = &self.patterns[index];
        let text = pattern.text.escape_ascii();
        let reason = match doubt {
            Doubt::Unportable => format!("versions of PCRE differ on {text}"),
            Doubt::Effort => format!("PCRE may give up on {text}"),
        };
        Unknown { reason, node: Some(pattern.node), question: None }
    }
}

impl Pattern {
    /// With its option as a flag, which says the same.
    fn flagged(&self) -> Vec<u8> {
        if self.caseless { [b"(?i)", &*self.text.0].concat() } else { self.text.0.clone() }
    }

    /// A named group sets a variable, which must not be one of nginx's that stays as it is (`ngx_http_add_variable`).
    fn check_groups(&self) -> Result<(), Refused> {
        let names = variables::group_names(&self.text);
        let fixed = names.iter().find(|name| variables::is_fixed(name));
        fixed.map_or(Ok(()), |name| Err(variables::duplicate(self.node, name)))
    }

    fn compile(&self) -> Result<Regex, Refused> {
        let regex = if self.caseless { Regex::caseless(&self.text) } else { Regex::new(&self.text) };
        regex.map_err(|error| {
            let text = self.text.escape_ascii();
            Refused::new(self.node, format!("pcre2_compile() failed: {error} in \"{text}\""))
        })
    }

    /// Compiled at once if it is not certain that PCRE2 compiles it.
    fn checked(&self, flagged: &[u8]) -> Result<OnceLock<Regex>, Refused> {
        let regex = OnceLock::new();
        if syntax::literal(flagged).is_none() && syntax::parse(flagged).is_err() {
            let _ = regex.set(self.compile()?);
        }
        Ok(regex)
    }
}
