//! The maps that look up groups and kinds of rules: what they are, and that a tree of them finds the first rule that
//! matches.
//!
//! Patterns and targets of the rules do not matter here: the value of `$pattern` for each URI is proved like that of any
//! map with patterns ([`crate::prove_map`]), against a map whose rows are the rules' own patterns.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::first_match::{First, ReadPatterns};
use crate::hash::Sizes;
use crate::map_block::{self, MapBlock};
use crate::prove::{Discharged, Refutation, maps};
use crate::prove_map;
use crate::quote::quote;
use crate::unnamed::without_names;

/// The maps that look up the groups and kinds of rules.
#[derive(Default)]
pub struct Trees<'t> {
    text: &'t [u8],
    pub by_name: HashMap<Cow<'t, [u8]>, MapBlock<'t>>,
}

impl<'t> Trees<'t> {
    /// Reads the text of the maps.
    pub fn read(text: &'t [u8]) -> Discharged<Trees<'t>> {
        let blocks =
            map_block::read(text).map_err(|error| Refutation::new(format!("the groups do not parse: {error}")))?;
        let mut by_name = HashMap::new();
        for block in blocks {
            if let Some(earlier) = by_name.insert(block.variable.clone(), block) {
                return Err(Refutation::new(format!("two maps define ${}", earlier.variable.escape_ascii())));
            }
        }
        Ok(Trees { text, by_name })
    }

    /// The variables that the maps define, including named groups: all other variables in the values of patterns.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        let values = self.by_name.values().flat_map(|block| &block.patterns).flat_map(|row| variables(&row.value));
        let groups: HashSet<&[u8]> = values.filter(|name| !self.by_name.contains_key(*name)).collect();
        self.by_name.keys().map(|name| &**name).chain(groups)
    }

    /// Checks that nginx builds each table without a warning.
    pub fn fit(&self, sizes: Sizes) -> Discharged<()> {
        self.by_name.values().try_for_each(|block| maps::fits(&block.variable, &block.exact, |row| &row.key, sizes))
    }

    /// Checks that a tree of maps gives the value of the first rule that matches; `patterns` are those of the rules.
    pub fn check_tree<'r>(
        &self,
        rules: &[(&'r [u8], &'r [u8])],
        patterns: &ReadPatterns,
        root: &MapBlock<'t>,
    ) -> Discharged<()> {
        let may_give_up = || Refutation::new("a group contains a rule on which PCRE may give up");
        // The lookup sets no variables: only the rule that fires does.
        let unnamed = |(pattern, value): &(&'r [u8], &'r [u8])| Some((without_names(pattern)?, *value));
        let rules = rules.iter().map(unnamed).collect::<Option<Vec<_>>>().ok_or_else(may_give_up)?;
        let texts: Vec<&[u8]> = rules.iter().map(|(pattern, _)| &**pattern).collect();
        let mut own = None;
        let patterns = ReadPatterns::known_or([patterns], &texts, &mut own);
        // If PCRE gives up, a rule responds with 500, but a map gives its default.
        let always_answers = |rule| patterns.get(rule).is_some_and(|read| read.bounds.always_answers);
        if !(0..rules.len()).all(always_answers) {
            return Err(may_give_up());
        }
        let texts: HashSet<&[u8]> = texts.into_iter().collect();
        let (name, emitted) = self.of_uris(root, &texts);
        let original = original(&rules, patterns, &name)?;
        prove_map::prove(&original, &emitted, Some(patterns)).map(|_| ()).map_err(|refutation| Refutation {
            what: format!("the group of a URI: {}", refutation.what),
            counterexample: refutation.counterexample,
        })
    }

    /// Returns the name of a map of `$uri` that has the value of `root`, and the text of that map and all that it leads
    /// to. The map is `root` itself if it has keys or some of the patterns. Otherwise it is a new map with only the
    /// variable of `root` as its default.
    fn of_uris(&self, root: &MapBlock<'t>, patterns: &HashSet<&[u8]>) -> (Vec<u8>, Vec<u8>) {
        let mut text = self.text_of_reached(root);
        let has_rows = !root.exact.is_empty() || root.patterns.iter().any(|row| patterns.contains(&*row.pattern));
        if &*root.source == b"$uri" && has_rows {
            return (root.variable.to_vec(), text);
        }
        let mut name = [&*root.variable, b"_of_uri"].concat();
        while self.by_name.contains_key(name.as_slice()) {
            name.push(b'_');
        }
        text.extend_from_slice(&[b"map $uri $", &*name, b" { volatile; default $", &*root.variable, b"; }\n"].concat());
        (name, text)
    }

    /// Returns a map and all maps that it leads to.
    pub fn reached<'l>(&'l self, root: &'l MapBlock<'t>) -> Vec<&'l MapBlock<'t>> {
        let mut reached = vec![root];
        let mut seen = HashSet::from([root.variable.as_ref()]);
        let mut at = 0;
        while let Some(block) = reached.get(at).copied() {
            let maps = reads(block).filter_map(|name| self.by_name.get(name));
            reached.extend(maps.filter(|map| seen.insert(map.variable.as_ref())));
            at += 1;
        }
        reached
    }

    /// Returns the text of a map and of all maps that it leads to.
    fn text_of_reached(&self, root: &MapBlock<'t>) -> Vec<u8> {
        let spans = self.reached(root).into_iter().map(|block| block.span.clone());
        spans.flat_map(|span| [&self.text[span], b"\n"].concat()).collect()
    }
}

/// The names of the variables in the source and values of a map.
fn reads<'b>(block: &'b MapBlock) -> impl Iterator<Item = &'b [u8]> {
    let exact = block.exact.iter().map(|row| &*row.value);
    let values = exact.chain(block.patterns.iter().map(|row| &*row.value)).chain(block.default.as_deref());
    std::iter::once(&*block.source).chain(values).flat_map(variables)
}

/// The names after each `$` of a value.
fn variables(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    memchr::memchr_iter(b'$', value).map(|at| {
        let name = &value[at + 1..];
        let name = name.strip_prefix(b"{").unwrap_or(name);
        &name[..name.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(name.len())]
    })
}

/// Returns the text of the map that the lookup stands for: the patterns of the rules in order, each with its value.
/// The empty string, to which `try_files` may lead, is a key, because a map tries no pattern on it.
fn original(rules: &[(Cow<[u8]>, &[u8])], patterns: &ReadPatterns, variable: &[u8]) -> Discharged<Vec<u8>> {
    let mut text = [b"map $uri $", variable, b" { volatile; default \"\";\n"].concat();
    match patterns.first().map(|index| index.first(b"", rules.len())) {
        Some(First::None) => {}
        Some(First::Match(first)) => {
            text.extend_from_slice(b"\"\" ");
            quote(rules[first].1, &mut text);
            text.extend_from_slice(b";\n");
        }
        Some(First::Unknown(..)) | None => return Err(Refutation::on("the effect of the rules is unknown", b"")),
    }
    for (pattern, value) in rules {
        quote(&[b"~", &**pattern].concat(), &mut text);
        text.push(b' ');
        quote(value, &mut text);
        text.extend_from_slice(b";\n");
    }
    text.push(b'}');
    Ok(text)
}
