//! Proves probes: maps that look up the first segments of a subject to find the families that may match it.
//!
//! # Lemma
//!
//! Let a map have the patterns `(?<!\.)L` for some literals L, each with the value `*`, and `^(?<key>A)` behind them,
//! where A is n slashes, each of them but the last followed by `[^/A-Z\x0a]*`, and the last by `[^./A-Z\x0a]*`. Let a
//! table of this map lead to families one behind the other, to the first of them from `*`, and let one of these hold
//! for each of their rows, with its literal K and what follows it, R (see [`super::family`]):
//!
//! 1. K has a slash or a dot behind its n-th slash, the key k is K up to there, and the table leads from k to the table
//!    of the row or to one before it.
//! 2. K has neither; R is `$`, or what it matches begins with a slash, or is empty at the end of the subject; and the
//!    same holds of k = K.
//! 3. K has neither, R is a single byte or set followed by one of the literals L, and the same holds of k = K.
//!
//! Then a subject that a row matches gets to the table of the row, unless a table before it answers.
//!
//! *Proof.* Let a subject u begin with K, followed by what R matches. If it gets `*`, it gets to the first table. Else
//! the last pattern matches, as the segments of K have no capital letters and no newlines, and captures what comes
//! before the first slash or dot behind the n-th slash, a newline, or the end: in 1 that is k. In 2 what follows K is a
//! slash, a newline, or nothing, so that it is K. In 3 it is a byte b and then L. If b is no dot, `(?<!\.)L` matches,
//! and u gets `*`. So it is a dot, and what is captured is K.

use std::collections::{HashMap, HashSet};

use crate::map_block::{MapBlock, PatternRow};
use crate::pcre::Regex;
use crate::prove_map::family::{Family, Last, begins_with_slash, byte, slashes};
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::prover::{Place, Prover};
use crate::syntax::{self, Ast, ByteSet};

/// The most tables that follow one another.
const MOST_TABLES: usize = 40;

/// A probe, which captures the first segments of subjects, up to a dot.
pub struct Probe<'b> {
    segments: usize,
    /// Literals. A subject that has one of them, not directly after a dot, gets the key that leads to all families.
    unusual: Vec<Vec<u8>>,
    all: &'b [u8],
}

impl<'b> Prover<'b> {
    /// The table and the probe to which a value leads, if it leads to one.
    pub fn probe_at(&self, value: &[u8]) -> Result<Option<(&'b MapBlock<'b>, Probe<'b>)>, MapRefutation> {
        let Some(table) = self.map_of(value) else { return Ok(None) };
        let Some(literal) = self.map_of(&table.source) else { return Ok(None) };
        let Some(probe) = self.probe_form(literal) else { return Ok(None) };
        let name = literal.variable.escape_ascii();
        let (last, unusual) = literal.patterns.split_last().expect("a probe has patterns");
        self.own_pattern(last)?;
        if let Some(row) = unusual.iter().find(|row| Regex::new(&row.pattern).is_err()) {
            let pattern = row.pattern.escape_ascii();
            return refute(Obligation::Pattern, format!("PCRE2 does not take the pattern \"{pattern}\""));
        }
        if !literal.fallback().is_empty() {
            return refute(Obligation::Probe, format!("${name} has a key for subjects that its patterns do not match"));
        }
        self.meet(table);
        self.meet(literal);
        Ok(Some((table, probe)))
    }

    /// Proves the families to which the table of a probe leads. They end with the same value as that table.
    pub fn families_behind(
        &self,
        table: &'b MapBlock<'b>,
        probe: &Probe,
        place: &mut Place<'b>,
    ) -> Result<(), MapRefutation> {
        let name = table.variable.escape_ascii();
        let mut leads: HashMap<Vec<u8>, &'b [u8]> = HashMap::new();
        for key in &table.exact {
            if leads.insert(key.key.to_ascii_lowercase(), &key.value).is_some() {
                return refute(Obligation::Probe, format!("\"{}\" of ${name} is there twice", key.key.escape_ascii()));
            }
        }
        let end = table.fallback();
        let mut value = self.first_of_tables(&leads, end)?;
        let is_first = |lead: Option<&&[u8]>| lead == Some(&value);
        if !table.patterns.is_empty() || !probe.unusual.is_empty() && !is_first(leads.get(probe.all)) {
            return refute(
                Obligation::Probe,
                format!("${name} does not lead to all families where its key is that of all"),
            );
        }
        let mut seen: HashSet<&[u8]> = HashSet::new();
        while value != end {
            let Some((table, family)) = self.family_at(value)?.filter(|(_, family)| family.is_anchored) else {
                return refute(Obligation::Probe, format!("the families behind ${name} do not lead where it does"));
            };
            seen.insert(value);
            let gets_here = |key: &[u8]| leads.get(key).is_some_and(|lead| seen.contains(lead));
            for key in &table.exact {
                if !probe.captured(&family, &key.key).is_some_and(gets_here) {
                    let what = format!("subjects of \"{}\" do not get to it", key.key.escape_ascii());
                    return refute(Obligation::Probe, what);
                }
                self.proved.discharge(Obligation::Probe);
            }
            let rows = self.family_rows(table, &family, place)?;
            self.leave_family(&rows, &family, place)?;
            value = table.fallback();
        }
        if let Some((key, _)) = leads.iter().find(|(_, lead)| !seen.contains(*lead)) {
            return refute(Obligation::Probe, format!("\"{}\" of ${name} leads to no family", key.escape_ascii()));
        }
        Ok(())
    }

    /// The table that is followed by the most others, up to an end.
    fn first_of_tables(&self, leads: &HashMap<Vec<u8>, &'b [u8]>, end: &[u8]) -> Result<&'b [u8], MapRefutation> {
        let length = |lead: &&'b [u8]| {
            let next = |value: &&'b [u8]| self.map_of(value).map(|table| table.fallback()).filter(|next| *next != end);
            std::iter::successors(Some(*lead), next).take(MOST_TABLES).count()
        };
        let values: HashSet<&'b [u8]> = leads.values().copied().collect();
        match values.into_iter().max_by_key(length) {
            Some(first) if length(&first) < MOST_TABLES => Ok(first),
            _ => refute(Obligation::Probe, "a probe leads to no family, or to too many"),
        }
    }

    /// Reads `map SRC $literal { "~(?<!\.)html" "*"; "~^(?<key>/[^./A-Z\x0a]*)" $key; }`.
    pub fn probe_form(&self, literal: &'b MapBlock<'b>) -> Option<Probe<'b>> {
        let (last, unusual) = literal.patterns.split_last()?;
        let has_form = self.is_of_source(literal) && literal.exact.is_empty();
        let is_sensitive = literal.patterns.iter().all(|row| !row.caseless);
        let all = unusual.first().map_or(&b""[..], |row| &row.value);
        let has_one_key =
            unusual.iter().all(|row| *row.value == *all) && !all.contains(&b'$') && !all.starts_with(b"/");
        let unusual = unusual.iter().map(|row| behind_no_dot(&row.pattern)).collect::<Option<Vec<_>>>()?;
        let segments = probed_segments(last)?;
        (has_form && is_sensitive && has_one_key && (unusual.is_empty() || !all.is_empty())).then_some(Probe {
            segments,
            unusual,
            all,
        })
    }
}

impl Probe<'_> {
    /// What the probe captures of every subject that the row of a family with this literal matches, except of subjects
    /// that get the key of all families.
    fn captured<'k>(&self, family: &Family, literal: &'k [u8]) -> Option<&'k [u8]> {
        let slash = memchr::memchr_iter(b'/', literal).nth(self.segments - 1)?;
        match memchr::memchr2(b'/', b'.', &literal[slash + 1..]) {
            Some(at) => Some(&literal[..slash + 1 + at]),
            None => self.ends_with(&family.rest).then_some(literal),
        }
    }

    /// Whether the captured segment ends with the literal in every subject that does not get the key of all families.
    fn ends_with(&self, rest: &[Ast]) -> bool {
        let is_unusual = |literal: &Vec<u8>, items: &[Ast]| {
            literal.len() <= items.len() && literal.iter().zip(items).all(|(byte, item)| *item == Ast::Byte(*byte))
        };
        match rest {
            [Ast::Dollar] => true,
            rest if begins_with_slash(rest) => true,
            [Ast::Byte(_) | Ast::Class(_), items @ ..] => self.unusual.iter().any(|literal| is_unusual(literal, items)),
            _ => false,
        }
    }
}

/// The literal of `(?<!\.)literal`.
fn behind_no_dot(pattern: &[u8]) -> Option<Vec<u8>> {
    let parsed = syntax::parse(pattern.strip_prefix(br"(?<!\.)")?).ok()?;
    let literal: Vec<u8> = match &parsed.ast {
        Ast::Concat(items) => items.iter().map(byte).collect::<Option<_>>()?,
        item => vec![byte(item)?],
    };
    Some(literal)
}

/// The number of segments of `^(?<key>/T/U)`, where U allows no dot.
fn probed_segments(row: &PatternRow) -> Option<usize> {
    let group = row.value.strip_prefix(b"$")?;
    let parsed = syntax::parse(&row.pattern).ok()?;
    let Ast::Concat(items) = &parsed.ast else { return None };
    let [Ast::Start, Ast::Capture { name: Some(name), sub, .. }] = items.as_slice() else { return None };
    let Ast::Concat(items) = &**sub else { return None };
    let [items @ .., Ast::Repeat { min: 0, max: None, greedy: true, sub }] = items.as_slice() else { return None };
    let without_dot = ByteSet::of(|byte| !matches!(byte, b'.' | b'/' | b'\n' | b'A'..=b'Z'));
    let has_form = name.as_bytes() == group && **sub == Ast::Class(without_dot);
    match items {
        [Ast::Byte(b'/')] => has_form.then_some(1),
        items => slashes(items).filter(|(_, last)| has_form && *last == Last::Slash).map(|(slashes, _)| slashes),
    }
}
