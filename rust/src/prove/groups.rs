//! Proves groups of rules behind a lookup: `set $group ""; if ($pattern ~ "^(?<group>[0-9]+)") { }` and one
//! `if ($group = N) { rules }` for each group.
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
use crate::prove::maps::LONGEST_GROUP;
use crate::prove::node::Node;
use crate::prove::places::{Item, Segments};
use crate::prove::{Discharged, Facts, Refutation, filters, maps, names, surroundings};
use crate::prove_map;
use crate::quote::quote;

/// The maps that look up the groups and kinds of rules.
#[derive(Default)]
pub struct Trees<'t> {
    text: &'t [u8],
    pub(super) by_name: HashMap<Cow<'t, [u8]>, MapBlock<'t>>,
}

/// A lookup of the first rule that matches.
enum LookUp<'l, 't> {
    /// It finds the group of the rule, which a variable holds.
    Group {
        group: &'t [u8],
        root: &'l MapBlock<'t>,
    },
    Kind(KindLookUp<'l, 't>),
}

impl<'t> LookUp<'_, 't> {
    /// The variables that the lookup sets.
    fn variables(&self) -> Vec<&'t [u8]> {
        match self {
            LookUp::Group { group, .. } => vec![group],
            LookUp::Kind(kinds) => vec![kinds.kind, kinds.target],
        }
    }
}

/// The rules of the groups after a lookup, in order.
struct Replaced<'t> {
    rules: Vec<&'t Node<'t>>,
    /// The number of the statements.
    length: usize,
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

    /// Replaces lookups of groups by the rules of the groups, lookups of kinds by the rules that these stand for, and
    /// filters by the rules behind them. These rules must be allowed in an `if`. Statements of the original are not
    /// taken for filters.
    pub fn flatten(
        &self,
        script: &[&'t Node<'t>],
        known: &Known,
        entering: Entering,
        original: &[&'t Node<'t>],
    ) -> Discharged<Flat<'t>> {
        let mut segments = Segments::new(original, known.captures_matter);
        let mut grouping = Vec::new();
        let mut rest = script;
        while let Some((first, behind)) = rest.split_first() {
            rest = behind;
            let filter = filters::pattern(first).filter(|_| !segments.is_end(first));
            if let (Some(pattern), Some(rules)) = (filter, &first.block) {
                let leaves_empty = segments.ends_with_rules() && filters::has_no_groups(pattern);
                filters::check(pattern, rules, entering, known.captures_matter && !leaves_empty)?;
                rules.iter().for_each(|rule| segments.push(Item::Statement(rule)));
                grouping.push(*first);
                continue;
            }
            let Some((look_up, node)) = rest.first().and_then(|next| Some((self.look_up(first, next)?, *next))) else {
                if self.reads_a_map(first) {
                    return Err(Refutation::new("a lookup is read in another way than into an empty variable"));
                }
                segments.push(Item::Statement(first));
                continue;
            };
            grouping.extend([first, node]);
            rest = &rest[1..];
            self.check_variables(&look_up, known)?;
            let length = match look_up {
                LookUp::Kind(kinds) => {
                    let statements = kinds.statements(rest, entering)?;
                    let length = statements.length();
                    segments.push(Item::Kinds(statements));
                    length
                }
                LookUp::Group { group, root } => {
                    let Replaced { rules, length } = self.groups((group, root), rest, known, entering)?;
                    rules.into_iter().for_each(|rule| segments.push(Item::Statement(rule)));
                    length
                }
            };
            grouping.extend(&rest[..length]);
            rest = &rest[length..];
            if known.captures_matter {
                let clear = rest.first().filter(|node| node.is_clear());
                let clear = clear.ok_or_else(|| {
                    Refutation::new("a URI that no rule matches keeps $1 to $9, which the original rules would clear")
                })?;
                grouping.push(*clear);
                rest = &rest[1..];
            }
        }
        Ok(Flat { statements: segments.flat(known)?, grouping })
    }

    /// Reads the rules of the groups after a lookup.
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

    /// Checks that nothing else sets the variables of a lookup: neither the configuration, nor a named group in a map,
    /// which would set a variable even if no rule matches (`ngx_http_regex_exec`).
    fn check_variables(&self, look_up: &LookUp, known: &Known) -> Discharged<()> {
        let variables = look_up.variables();
        for variable in &variables {
            names::is_free(variable)?;
            known.used.leave(variable)?;
            if self.by_name.contains_key(*variable) || known.maps.get(variable).is_some() {
                return Err(Refutation::new("a `set` assigns to the variable of a map"));
            }
        }
        let patterns = self.by_name.values().flat_map(|block| &block.patterns);
        let mut groups = patterns.flat_map(|row| names::of_groups(&row.pattern));
        if groups.any(|group| variables.iter().any(|name| group.eq_ignore_ascii_case(name))) {
            return Err(Refutation::new("a group in a map has the name of a variable of a lookup"));
        }
        Ok(())
    }

    /// Reads `set $group ""; if ($pattern ~ "...") { }`, where `$pattern` is one of the maps.
    fn look_up<'l>(&'l self, set: &'t Node<'t>, read: &'t Node<'t>) -> Option<LookUp<'l, 't>> {
        let (variable, value) = set.sets()?;
        let [b"if", source, b"~", _, b")"] = read.words()[..] else { return None };
        let root = self.by_name.get(source.strip_prefix(b"($")?)?;
        if !value.is_empty() || variable.len() > LONGEST_GROUP || !read.block.as_ref().is_some_and(Vec::is_empty) {
            return None;
        }
        let behind = read.word(3).strip_prefix(b"^(?<").and_then(|behind| behind.strip_prefix(variable));
        if behind == Some(b">[0-9]+)") {
            return Some(LookUp::Group { group: variable, root });
        }
        let behind = read.word(3).strip_prefix(b"(?s)^[0-9]+ (?<")?.strip_prefix(variable)?;
        let target = behind.strip_prefix(b">[0-9]+) (?<")?.strip_suffix(br">.*)\z")?;
        let kinds = KindLookUp { trees: self, root, kind: variable, target };
        (target.len() <= LONGEST_GROUP).then_some(LookUp::Kind(kinds))
    }

    /// Whether an `if` tests the value of one of the maps.
    fn reads_a_map(&self, node: &Node) -> bool {
        node.block.is_some() && node.word(1).strip_prefix(b"($").is_some_and(|name| self.by_name.contains_key(name))
    }

    /// Checks that the lookup gives the group of the first rule that matches.
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

    /// Checks that a tree of maps gives the value of the first rule that matches; `patterns` are those of the rules.
    pub(super) fn check_tree(
        &self,
        rules: &[(&[u8], &[u8])],
        patterns: &ReadPatterns,
        root: &MapBlock<'t>,
    ) -> Discharged<()> {
        // If PCRE gives up, a rule responds with 500, but a map gives its default.
        let always_answers = |rule| patterns.get(rule).is_some_and(|read| read.bounds.always_answers);
        if !(0..rules.len()).all(always_answers) {
            return Err(Refutation::new("a group contains a rule on which PCRE may give up"));
        }
        let texts: HashSet<&[u8]> = rules.iter().map(|(pattern, _)| *pattern).collect();
        let (name, emitted) = self.of_uris(root, &texts);
        let original = original(rules, patterns, &name)?;
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
    pub(super) fn reached<'l>(&'l self, root: &'l MapBlock<'t>) -> Vec<&'l MapBlock<'t>> {
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

/// The number of a group or kind: `if ($group = 7) { ... }`.
pub(super) fn number<'t>(node: &'t Node<'t>, variable: &[u8]) -> Option<&'t [u8]> {
    let is_equality = node.block.is_some() && node.words().len() == 4 && node.word(0) == b"if" && node.word(2) == b"=";
    let name = node.word(1).strip_prefix(b"($").filter(|_| is_equality)?;
    let number = node.word(3).strip_suffix(b")")?;
    (name == variable && !number.is_empty() && number.iter().all(u8::is_ascii_digit)).then_some(number)
}

/// Returns the text of the map that the lookup stands for: the patterns of the rules in order, each with its value.
/// The empty string, to which `try_files` may lead, is a key, because a map tries no pattern on it.
fn original(rules: &[(&[u8], &[u8])], patterns: &ReadPatterns, variable: &[u8]) -> Discharged<Vec<u8>> {
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
        quote(&[b"~", *pattern].concat(), &mut text);
        text.push(b' ');
        quote(value, &mut text);
        text.extend_from_slice(b";\n");
    }
    text.push(b'}');
    Ok(text)
}
