//! Groups of rules behind one lookup, for rules whose strings cannot be listed.
//!
//! A map with the patterns of the rules gives the group of the first rule that matches. nginx then tries only the rules
//! of that group, which are unchanged, so targets, captures and flags stay as they are. For long lists, the map gives
//! the rule itself, and rules of a kind share a rewrite ([`super::kinds`]). The map is compiled like any other map with
//! patterns ([`crate::maps`]).

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use crate::first_match::{First, FirstMatch, ReadPatterns};
use crate::map_block::{ExactRow, MapBlock, PatternRow};
use crate::maps::cost::Cost;
use crate::maps::text::{EmittedMap, Key};
use crate::maps::{self, Compiled};
use crate::rewrite::filter::FilterPattern;
use crate::rewrite::kinds::Kinds;
use crate::rewrite::look_up::{group_size, write_gated_look_up, write_look_up};
use crate::rewrite::stop::write_stop;
use crate::rewrite::text::{GroupNames, Names, UNKNOWN_STEM};

/// The fewest rules for groups. Fewer are faster to try in order.
const FEWEST: usize = 5;

/// From this many rules on, the maps of a lookup do not depend on the patterns beside the rules.
const MANY: usize = 1_000;

/// Rules behind a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The patterns of the rules, in their order.
    patterns: Vec<Vec<u8>>,
    form: Form,
    /// The number of patterns that the lookup tries for a URI that no rule matches.
    pub cost: Cost,
    /// The keys of each table of the lookup.
    pub tables: Vec<Vec<Vec<u8>>>,
    /// The maps with [`Names::unknown`], to be renamed. `None` if there are few rules: the patterns beside them may
    /// then decide which form costs less.
    unnamed: Option<Arc<[EmittedMap]>>,
}

/// What the lookup finds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// The group of the rule. All groups have `size` rules, except that the last one may have fewer. Only URIs that the
    /// `gate` matches are looked up.
    Groups { size: usize, statements: Vec<Vec<u8>>, gate: Option<FilterPattern> },
    /// The kind of the rule, and the text of its target.
    Kinds(Kinds),
}

impl Groups {
    /// Puts rules into groups, or divides them by `kinds`. `None` if the lookup costs more than trying the rules, or
    /// cannot be proved.
    ///
    /// `others` are the patterns of other rules that stay. `patterns` are the patterns of the rules, if they have been
    /// read already. `gate` finds a pattern that matches all URIs that a rule matches.
    pub fn of(
        rules: &[(&[u8], &[u8])],
        kinds: Option<Kinds>,
        gate: impl FnOnce() -> Option<FilterPattern>,
        others: &[&[u8]],
        patterns: Option<&ReadPatterns>,
    ) -> Option<Groups> {
        if rules.len() < FEWEST {
            return None;
        }
        let groups = || Form::Groups {
            size: group_size(rules.len()),
            statements: rules.iter().map(|(_, statement)| statement.to_vec()).collect(),
            gate: None,
        };
        let form = kinds.map_or_else(groups, Form::Kinds);
        let texts = rules.iter().map(|(pattern, _)| pattern.to_vec()).collect();
        let mut groups = Groups { patterns: texts, form, cost: Cost::default(), tables: Vec::new(), unnamed: None };
        let others = FirstMatch::new(others).ok()?;
        let (root, compiled) = groups.compile(&Names::unknown().of_groups(1), Some(&others), patterns)?;
        let mut tables = compiled.keys();
        tables.push(root.rows.iter().filter_map(|(key, _)| key.exact().cloned()).collect());
        let mut cost = compiled.cost;
        if !root.has_short_tokens() {
            return None;
        }
        if let Form::Groups { gate: chosen, .. } = &mut groups.form
            && let Some(gate) = gate().filter(|gate| rank(gate.before(cost)) < rank(cost))
        {
            cost = gate.before(cost);
            *chosen = Some(gate);
        }
        let is_plain = |text: &Vec<u8>| memchr::memmem::find(text, UNKNOWN_STEM.as_bytes()).is_none();
        let may_be_renamed = rules.len() >= MANY && groups.patterns.iter().all(is_plain);
        let unnamed = may_be_renamed.then(|| std::iter::once(root).chain(compiled.maps).collect());
        Some(Groups { cost, tables, unnamed, ..groups })
    }

    /// Returns the statements that look up the rule. If no rule fires, the pattern that reads the map does not match,
    /// and leaves `$1` to `$9` empty. `is_last`: they are the last of the script of a server.
    pub fn statements(&self, names: &GroupNames, is_last: bool) -> Vec<u8> {
        let mut text = Vec::new();
        match &self.form {
            Form::Groups { size, statements, gate } => {
                write_groups(names, gate.as_ref(), statements.chunks(*size), is_last, &mut text);
            }
            Form::Kinds(kinds) => kinds.write(names, is_last, &mut text),
        }
        text
    }

    /// The variables that the statements set.
    pub fn variables(&self, names: &GroupNames) -> Vec<String> {
        match &self.form {
            Form::Groups { .. } => vec![names.rules.clone()],
            Form::Kinds(_) => vec![names.kind.clone(), names.target.clone()],
        }
    }

    /// Returns the maps of the lookup. The statements read the first.
    pub fn maps(&self, names: &GroupNames) -> Option<Vec<EmittedMap>> {
        if let (Some(maps), Some(stem)) = (&self.unnamed, names.usual_stem()) {
            return Some(maps.iter().map(|map| map.with_names(UNKNOWN_STEM, stem)).collect());
        }
        let (root, compiled) = self.compile(names, None, None)?;
        Some(std::iter::once(root).chain(compiled.maps).collect())
    }

    /// Compiles the map that the statements read, and the maps that it leads to. `None` if they cannot be compiled, or
    /// do not cost less.
    fn compile(
        &self,
        names: &GroupNames,
        others: Option<&FirstMatch>,
        patterns: Option<&ReadPatterns>,
    ) -> Option<(EmittedMap, Compiled)> {
        let block = self.block(names.map.clone())?;
        let texts: Vec<&[u8]> = self.patterns.iter().map(Vec::as_slice).collect();
        let mut own = None;
        let patterns = ReadPatterns::known_or(patterns, &texts, &mut own);
        patterns.rest();
        let compiled = others.map_or_else(
            || maps::compile(&block, patterns, &names.tree),
            |others| maps::compile_beside(&block, patterns, &names.tree, others),
        );
        let mut compiled = compiled.ok()?;
        let exact = block.exact.iter().map(|row| (Key::Exact(row.key.to_vec()), row.value.to_vec()));
        let mut rows: Vec<(Key, Vec<u8>)> = exact.collect();
        if let Some(guard) = compiled.guard.take() {
            let pattern = |row: &PatternRow| Key::Pattern { pattern: row.pattern.to_vec(), caseless: false };
            rows.push(guard);
            rows.extend(block.patterns.iter().map(|row| (pattern(row), row.value.to_vec())));
        }
        let (source, name, default) = (block.source.to_vec(), block.variable.to_vec(), compiled.default.clone());
        // The last map has the answer, and no other map reads it, so it can be merged into this one.
        let has_answer = |map: &mut EmittedMap| rows.is_empty() && default.strip_prefix(b"$") == Some(&map.name);
        if let Some(last) = compiled.maps.pop_if(has_answer) {
            return Some((EmittedMap { name, ..last }, compiled));
        }
        Some((EmittedMap { source, name, volatile: true, hostnames: false, rows, default }, compiled))
    }

    /// The value of a rule in the map.
    fn value(&self, rule: usize) -> Vec<u8> {
        match &self.form {
            Form::Groups { size, .. } => (rule / size + 1).to_string().into_bytes(),
            Form::Kinds(kinds) => kinds.value(rule),
        }
    }

    /// The map that has the value of the first rule that matches `$uri`; `None` if it is unknown which rule matches the
    /// empty URI, on which a map tries no pattern.
    fn block(&self, variable: String) -> Option<MapBlock<'_>> {
        let patterns: Vec<&[u8]> = self.patterns.iter().map(Vec::as_slice).collect();
        let of_empty: Vec<usize> = (0..patterns.len()).filter(|rule| !begins_with_slash(patterns[*rule])).collect();
        let asked: Vec<&[u8]> = of_empty.iter().map(|rule| patterns[*rule]).collect();
        let exact = match FirstMatch::new(&asked).ok()?.first(b"", asked.len()) {
            First::None => Vec::new(),
            First::Match(place) => {
                let value = Cow::Owned(self.value(of_empty[place]));
                vec![ExactRow { key: Cow::Borrowed(b""), value, is_hostname: false, span: 0..0 }]
            }
            First::Unknown(..) => return None,
        };
        let row = |(rule, pattern)| PatternRow {
            pattern: Cow::Borrowed(pattern),
            caseless: false,
            value: Cow::Owned(self.value(rule)),
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

/// The cost as one number, for comparisons. Most requests match no rule.
fn rank(Cost { far, near, worst, hit }: Cost) -> usize {
    2 * far + 2 * near + worst + hit
}

/// Writes groups of statements, each in an `if` that compares the number of the group.
fn write_groups<'g>(
    names: &GroupNames,
    gate: Option<&FilterPattern>,
    groups: impl ExactSizeIterator<Item = &'g [Vec<u8>]>,
    is_last: bool,
    text: &mut Vec<u8>,
) {
    match gate {
        Some(gate) => write_gated_look_up(&names.map, &names.rules, &gate.opener(), text),
        None => write_look_up(&names.map, &names.rules, &format!("^(?<{}>[0-9]+)", names.rules), text),
    }
    if is_last {
        write_stop(&names.rules, groups.len(), text);
    }
    for (number, statements) in (1..).zip(groups) {
        writeln!(text, "if (${} = {number}) {{", names.rules).expect("a vector takes all that is written");
        for statement in statements {
            text.extend_from_slice(&[b"    ", &statement[..], b"\n"].concat());
        }
        text.extend_from_slice(b"}\n");
    }
}

/// Whether each match of a pattern begins with a slash, so that PCRE answers "no match" at once on the empty subject.
fn begins_with_slash(pattern: &[u8]) -> bool {
    let Some(rest) = pattern.strip_prefix(b"^/") else { return false };
    !matches!(rest.first(), Some(b'*' | b'?' | b'{')) && !rest.contains(&b'|')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The maps of many rules are the same whether they are renamed or compiled with their names.
    #[test]
    fn renamed() {
        let rules: Vec<(String, String)> = (0..MANY)
            .map(|number| (format!("^/of/{number}/(.*)$"), format!("rewrite ^/of/{number}/(.*)$ /to/$1 last;")))
            .collect();
        let rules: Vec<(&[u8], &[u8])> = rules.iter().map(|(one, other)| (one.as_bytes(), other.as_bytes())).collect();
        let groups = Groups::of(&rules, None, || None, &[], None).unwrap();
        assert!(groups.unnamed.is_some());
        let compiled = Groups { unnamed: None, ..groups.clone() };
        for stem in ["nxo_123abc", "other", "nxo_123abc_2"] {
            let names = Names { stem: stem.to_owned(), group: String::new(), tree: format!("{stem}_p") };
            for number in [1, 2] {
                assert_eq!(groups.maps(&names.of_groups(number)), compiled.maps(&names.of_groups(number)));
            }
        }
    }

    /// Patterns with the placeholder of names in them are not renamed.
    #[test]
    fn placeholder() {
        let patterns: Vec<String> = (0..MANY).map(|number| format!("^/{UNKNOWN_STEM}/{number}/")).collect();
        let rules: Vec<(&[u8], &[u8])> = patterns.iter().map(|pattern| (pattern.as_bytes(), &b"x;"[..])).collect();
        assert!(Groups::of(&rules, None, || None, &[], None).unwrap().unnamed.is_none());
    }

    /// For the empty subject, only patterns that certainly begin with a slash are left out.
    #[test]
    fn slash() {
        assert!(begins_with_slash(b"^/") && begins_with_slash(b"^/(a/?)*$"));
        for pattern in [&b"/"[..], b"^/?", b"^/*a", b"^/{0}", b"^/a|^$", b"^(/)", b"(?i)^/"] {
            assert!(!begins_with_slash(pattern));
        }
    }
}
