//! Proves groups of rules behind a look-up: `set $group $pattern;` and one `if ($group = N) { rules }` for each group.
//!
//! # Lemma
//!
//! Let r1..rn be the rules of all groups in the order of the text, and let `$pattern` be, for each URI u, the number of
//! the group with the first rule that matches u, or empty if none does. Then the groups do with every u what the
//! sequence r1..rn does.
//!
//! *Proof.* PCRE answers for each rule on each URI, which is checked. If no rule matches u, no number equals the empty
//! string, and no `if` is entered. Else let r be the first that does. The numbers differ, so only the group of r is
//! entered; the rules before r in it do not match u; r fires, and ends the script as its flag says. A rule that matches
//! sets `$1` to `$9` and its named groups wherever it is; if none matches, the rules leave `$1` to `$9` empty, and so
//! does the statement after the groups.
//!
//! In a location, a true `if` does more than run its statements; [`surroundings`](super::surroundings) decides for
//! which rules this does not matter.
//!
//! So patterns and targets do not matter here: the value of `$pattern` for each URI is proved like that of any map with
//! patterns ([`crate::prove_map`]), against a map whose rows are the rules' own patterns.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::first_match::{First, ReadPatterns};
use crate::hash::Sizes;
use crate::map_block::{self, MapBlock};
use crate::phase::Entering;
use crate::prove::align::Known;
use crate::prove::kinds::KindLookUp;
use crate::prove::node::Node;
use crate::prove::{Discharged, Facts, Refutation, filters, maps, names, surroundings};
use crate::prove_map;
use crate::quote::quote;

/// The maps that look up the group of a URI.
#[derive(Default)]
pub struct Trees<'t> {
    text: &'t [u8],
    pub(super) by_name: HashMap<Cow<'t, [u8]>, MapBlock<'t>>,
}

/// What statements behind a look-up stand for: these rules, in order.
pub struct Replaced<'t> {
    pub rules: Vec<&'t Node<'t>>,
    /// The number of the statements.
    pub length: usize,
}

/// The statements of a script, with each group replaced by its rules.
pub struct Flat<'t> {
    pub statements: Vec<&'t Node<'t>>,
    /// The statements that were replaced.
    pub grouping: Vec<&'t Node<'t>>,
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

    /// The variables that the maps define, and the named groups that a value uses: any other value is the number of a
    /// group of rules.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        let values = self.by_name.values().flat_map(|block| &block.patterns).flat_map(|row| variables(&row.value));
        let groups: HashSet<&[u8]> = values.filter(|name| !self.by_name.contains_key(*name)).collect();
        self.by_name.keys().map(|name| &**name).chain(groups)
    }

    /// Checks that nginx builds each table without a warning.
    pub fn fit(&self, sizes: Sizes) -> Discharged<()> {
        self.by_name.values().try_for_each(|block| maps::fits(&block.variable, &block.exact, |row| &row.key, sizes))
    }

    /// Replaces look-ups of groups by the rules of the groups, those of kinds by the rules that these stand for, and
    /// filters by the rules behind them, which have to be rules that may stand in an `if`. Statements of the original
    /// are no filters.
    pub fn flatten(
        &self,
        script: &[&'t Node<'t>],
        known: &Known,
        entering: Entering,
        mut original: &[&'t Node<'t>],
    ) -> Discharged<Flat<'t>> {
        let filters: HashSet<&Node> =
            original.iter().copied().filter(|node| filters::pattern(node).is_some()).collect();
        let mut flat = Flat { statements: Vec::with_capacity(script.len()), grouping: Vec::new() };
        let mut rest = script;
        while let Some((first, behind)) = rest.split_first() {
            rest = behind;
            let filter = filters::pattern(first).filter(|_| !filters.contains(first));
            if let (Some(pattern), Some(rules)) = (filter, &first.block) {
                let leaves_empty = flat.statements.last().is_some_and(|before| before.is_rule());
                let keeps_captures = known.captures_matter && !(leaves_empty && filters::has_no_groups(pattern));
                filters::check(pattern, rules, entering, keeps_captures)?;
                flat.statements.extend(rules);
                flat.grouping.push(first);
                continue;
            }
            let Some((variable, root)) = self.look_up(first) else {
                flat.statements.push(first);
                continue;
            };
            self.check_variable(variable, known)?;
            let replaced = match KindLookUp::of(self, (variable, root), rest.first()) {
                Some(kinds) => kinds.replaced(rest, known, entering, &mut original)?,
                None => self.groups((variable, root), rest, known, entering)?,
            };
            flat.statements.extend(replaced.rules);
            flat.grouping.push(first);
            flat.grouping.extend(&rest[..replaced.length]);
            rest = &rest[replaced.length..];
            if known.captures_matter {
                let clear = rest.first().filter(|node| node.is_clear());
                let clear = clear.ok_or_else(|| {
                    Refutation::new("a URI that no rule matches keeps $1 to $9, which the original rules would clear")
                })?;
                flat.grouping.push(clear);
                rest = &rest[1..];
            }
        }
        Ok(flat)
    }

    /// The rules of the groups behind a look-up.
    fn groups(
        &self,
        (variable, root): (&'t [u8], &MapBlock<'t>),
        rest: &[&'t Node<'t>],
        known: &Known,
        entering: Entering,
    ) -> Discharged<Replaced<'t>> {
        let length = rest.iter().take_while(|node| number(node, variable).is_some()).count();
        let groups = &rest[..length];
        let rules: Vec<_> = groups.iter().flat_map(|group| group.block.iter().flatten()).collect();
        rules.iter().try_for_each(|rule| surroundings::check(entering, rule))?;
        self.check(groups, variable, root, known.facts)?;
        Ok(Replaced { rules, length })
    }

    /// Nothing else may set the variable that holds the group.
    pub(super) fn check_variable(&self, variable: &[u8], known: &Known) -> Discharged<()> {
        names::is_free(variable)?;
        known.used.leave(variable)?;
        if self.by_name.contains_key(variable) || known.maps.get(variable).is_some() {
            return Err(Refutation::new("a `set` assigns to the variable of a map"));
        }
        Ok(())
    }

    /// `set $group $pattern;` where `$pattern` is one of the maps.
    fn look_up(&self, node: &'t Node<'t>) -> Option<(&'t [u8], &MapBlock<'t>)> {
        let (variable, value) = node.sets()?;
        Some((variable, self.by_name.get(value.strip_prefix(b"$")?)?))
    }

    /// Checks that the look-up gives the group of the first rule that matches.
    fn check(&self, groups: &[&'t Node<'t>], variable: &[u8], root: &MapBlock<'t>, facts: &Facts) -> Discharged<()> {
        let mut rules: Vec<(&[u8], &[u8])> = Vec::new();
        let mut numbers = HashSet::new();
        for group in groups {
            let number = number(group, variable).unwrap_or_default();
            if !numbers.insert(number) {
                return Err(Refutation::new("two groups of rules have the same number"));
            }
            for rule in group.block.iter().flatten() {
                if !rule.is_rule() {
                    return Err(Refutation::new("a group contains something other than rules that end the script"));
                }
                rules.push((rule.word(1), number));
            }
        }
        let texts: Vec<&[u8]> = rules.iter().map(|(pattern, _)| *pattern).collect();
        let mut own = None;
        let patterns = ReadPatterns::known_or(facts.patterns.iter().map(Arc::as_ref), &texts, &mut own);
        patterns.rest();
        self.check_tree(&rules, patterns, root)
    }

    /// Checks that a tree of maps gives the number of the first rule that matches; `patterns` are those of the rules.
    pub(super) fn check_tree(
        &self,
        rules: &[(&[u8], &[u8])],
        patterns: &ReadPatterns,
        root: &MapBlock<'t>,
    ) -> Discharged<()> {
        // Otherwise a rule responds with 500, but a map gives its default.
        let always_answers = |rule| patterns.get(rule).is_some_and(|read| read.bounds.always_answers);
        if !(0..rules.len()).all(always_answers) {
            return Err(Refutation::new("a group contains a rule on which PCRE may give up"));
        }
        let original = original(rules, patterns, &root.variable)?;
        prove_map::prove(&original, &self.reached(root), Some(patterns)).map(|_| ()).map_err(|refutation| Refutation {
            what: format!("the group of a URI: {}", refutation.what),
            counterexample: refutation.counterexample,
        })
    }

    /// The text of a map and of all maps that it leads to.
    fn reached(&self, root: &MapBlock) -> Vec<u8> {
        let mut reached = vec![root.variable.as_ref()];
        let mut seen = HashSet::from([root.variable.as_ref()]);
        let mut text = Vec::new();
        let mut at = 0;
        while let Some(block) = reached.get(at).and_then(|name| self.by_name.get(*name)) {
            text.extend_from_slice(&self.text[block.span.clone()]);
            text.push(b'\n');
            let names = reads(block).filter_map(|name| self.by_name.get_key_value(name));
            reached.extend(names.map(|(name, _)| name.as_ref()).filter(|name| seen.insert(*name)));
            at += 1;
        }
        text
    }
}

/// The names of the variables that a map looks up, or leads to.
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

/// The number of a group or kind: `if ($group = 7) { ... }`.
pub(super) fn number<'t>(node: &'t Node<'t>, variable: &[u8]) -> Option<&'t [u8]> {
    let is_equality = node.block.is_some() && node.words().len() == 4 && node.word(0) == b"if" && node.word(2) == b"=";
    let name = node.word(1).strip_prefix(b"($").filter(|_| is_equality)?;
    let number = node.word(3).strip_suffix(b")")?;
    (name == variable && !number.is_empty() && number.iter().all(u8::is_ascii_digit)).then_some(number)
}

/// The text of the map that the groups replace: the rules' patterns in order. A map tries no pattern on the empty
/// string, to which `try_files` may lead, so that is a key.
fn original(rules: &[(&[u8], &[u8])], patterns: &ReadPatterns, variable: &[u8]) -> Discharged<Vec<u8>> {
    let mut text = [b"map $uri $", variable, b" { volatile; default \"\";\n"].concat();
    match patterns.first().map(|index| index.first(b"", rules.len())) {
        Some(First::None) => {}
        Some(First::Match(first)) => text.extend_from_slice(&[b"\"\" ", rules[first].1, b";\n"].concat()),
        Some(First::Unknown(..)) | None => return Err(Refutation::on("the effect of the rules is unknown", b"")),
    }
    for (pattern, number) in rules {
        quote(&[b"~", *pattern].concat(), &mut text);
        text.extend_from_slice(&[b" ", *number, b";\n"].concat());
    }
    text.push(b'}');
    Ok(text)
}
