//! Proves tables of families: rows that differ only in a literal, which one pattern captures.
//!
//! # Lemma
//!
//! Let T be `[^/A-Z\x0a]*`, and let the pattern of a map be `^(?<key>A)R` or `(?<key>A)R`, where A is k slashes, each
//! of them but the last followed by T, and the last maybe. Let a table of what is captured have the key K, which is k
//! slashes and what T allows between them, and a row of the original be K and R, behind a `^` if the pattern has one.
//! PCRE always answers on both. Let one of these hold:
//!
//! 1. The pattern has its `^`, and A ends with its last slash.
//! 2. R is `x1...xn$` of single bytes and sets, and xn is no newline.
//! 3. The pattern has its `^`, A ends with T, and what R matches begins with a slash, or is empty at the end of the
//!    subject.
//! 4. The pattern has its `^`, A ends with `[^/A-Z\x0a]*?`, R is `x1...xn` of single bytes and sets, and for each place
//!    p of K behind its last slash there is an i such that xi does not allow what is i places behind p, in K or in the
//!    R behind it.
//!
//! Then the table answers a subject with the value of K if and only if the row matches it.
//!
//! *Proof.* If the pattern matches and captures what the table finds under K, it is K, as neither has capital letters.
//! Then K stands at the start of the subject, or anywhere if there is no `^`, and R matches behind it: the row matches.
//!
//! Let the row match a subject u, with K at the start of u, or at a place v. Then the pattern matches with K captured,
//! too, and it is left to show that PCRE finds no other match before. In 1, 3 and 4 A begins where u does, and takes
//! the same segments up to its last slash, as T takes no slash. That is all in 1. In 3 what follows K in u is a slash,
//! a newline at the end, or nothing; so T, which takes as much as it can, ends there. In 4 T takes as little as it can,
//! and R matches at no place before. In 2 R ends at the end of u or before a newline that is the last byte of u, and
//! not at both, as neither xn nor T allows that newline; so any match captures what comes before the same place in u.
//! If there is a `^`, it is K. If there is none, PCRE finds the match that begins first: it does not begin before v, as
//! there would be more than k slashes.
//!
//! So the rows of a table have no subject in common, and if no earlier row of those that are left has one in common
//! with them, they may be tried first.

use std::collections::{HashMap, HashSet};

use crate::map_block::{MapBlock, PatternRow};
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::prover::{Place, Prover};
use crate::syntax::{self, Ast, ByteSet};

/// The pattern of a family.
pub struct Family {
    pub is_anchored: bool,
    /// The number of slashes in the literal.
    slashes: usize,
    last: Last,
    /// What follows the literal.
    pub rest: Vec<Ast>,
}

/// What a literal ends with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Last {
    Slash,
    Segment { greedy: bool },
}

impl<'b> Prover<'b> {
    /// Reads the map of the source of a table, if it captures the literal of a family.
    pub fn family(&self, literal: &'b MapBlock<'b>) -> Result<Option<Family>, MapRefutation> {
        let name = literal.variable.escape_ascii();
        let Some(family) = self.family_form(literal) else { return Ok(None) };
        self.own_pattern(&literal.patterns[0])?;
        if !literal.fallback().is_empty() {
            return refute(
                Obligation::Family,
                format!("${name} has a literal for subjects that its pattern does not match"),
            );
        }
        if !family.finds_the_end() {
            return refute(Obligation::Family, format!("the pattern of ${name} does not show where the literal ends"));
        }
        self.meet(literal);
        Ok(Some(family))
    }

    fn family_form(&self, literal: &MapBlock) -> Option<Family> {
        let [row] = literal.patterns.as_slice() else { return None };
        let has_form = self.is_of_source(literal) && literal.exact.is_empty() && !row.caseless;
        if has_form { Family::read(row) } else { None }
    }

    /// Whether a map captures the literal of a family, or a part of it.
    pub fn is_family_literal(&self, literal: &'b MapBlock<'b>) -> bool {
        self.family_form(literal).is_some() || self.probe_form(literal).is_some()
    }

    /// The table and the family to which a value leads, if it leads to one.
    pub fn family_at(&self, value: &[u8]) -> Result<Option<(&'b MapBlock<'b>, Family)>, MapRefutation> {
        let Some(table) = self.map_of(value) else { return Ok(None) };
        let Some(literal) = self.map_of(&table.source) else { return Ok(None) };
        Ok(self.family(literal)?.map(|family| (table, family)))
    }

    /// Whether a value leads to the table of a family or of a probe.
    pub fn is_family_table(&self, value: &[u8]) -> bool {
        let literal = self.map_of(value).and_then(|table| self.map_of(&table.source));
        literal.is_some_and(|literal| self.is_family_literal(literal))
    }

    /// Proves tables of families that are tried one after the other, before all other rows. Returns the value that
    /// follows them.
    pub fn families(&self, mut value: &'b [u8], place: &mut Place<'b>) -> Result<&'b [u8], MapRefutation> {
        loop {
            if let Some((table, probe)) = self.probe_at(value)? {
                self.families_behind(table, &probe, place)?;
                value = table.fallback();
            } else if let Some((table, family)) = self.family_at(value)? {
                let rows = self.family_rows(table, &family, place)?;
                self.leave_family(&rows, &family, place)?;
                value = table.fallback();
            } else {
                return Ok(value);
            }
        }
    }

    /// Removes rows of a family, which are tried before all others, and checks that this is allowed.
    pub fn leave_family(&self, rows: &[usize], family: &Family, place: &mut Place<'b>) -> Result<(), MapRefutation> {
        rows.iter().for_each(|row| place.live[*row] = false);
        if family.is_anchored {
            return self.check_none_earlier(rows, place);
        }
        let left: Vec<usize> = (0..place.live.len()).filter(|row| place.live[*row]).collect();
        self.check_ends(rows, &left)
    }

    /// Reads the rows of `map $literal $table { "key" value; ... default NEXT; }`.
    pub fn family_rows(
        &self,
        table: &'b MapBlock<'b>,
        family: &Family,
        place: &Place<'b>,
    ) -> Result<Vec<usize>, MapRefutation> {
        let name = table.variable.escape_ascii();
        self.meet(table);
        if !table.patterns.is_empty() {
            return refute(Obligation::Family, format!("${name} has a pattern among its keys"));
        }
        let by_literal = self.rows_by_literal(family, place);
        let mut rows = Vec::with_capacity(table.exact.len());
        let mut keys = HashSet::new();
        for key in &table.exact {
            let escaped = key.key.escape_ascii();
            if !keys.insert(&*key.key) {
                return refute(Obligation::Family, format!("\"{escaped}\" of ${name} is there twice"));
            }
            if !family.may_capture(&key.key) {
                return refute(Obligation::Family, format!("the pattern of ${name} does not capture \"{escaped}\""));
            }
            let Some(&row) = by_literal.get(&*key.key) else {
                return refute(
                    Obligation::Family,
                    format!("no row of the original is that of \"{escaped}\" in ${name}"),
                );
            };
            self.check_moves(row)?;
            if self.may_give_up(row, place) {
                let what = format!("PCRE may give up on {}, which stands without its pattern", self.name(row));
                return refute(Obligation::Effort, what);
            }
            if !self.says(row, &key.value, place) {
                return refute(Obligation::Family, format!("\"{escaped}\" has another value than {}", self.name(row)));
            }
            rows.push(row);
            self.proved.discharge(Obligation::Family);
        }
        Ok(rows)
    }

    /// The rows of a family that are live, or all of whose subjects filters have let pass, by their literals.
    fn rows_by_literal(&self, family: &Family, place: &Place) -> HashMap<Vec<u8>, usize> {
        let mut rows = HashMap::new();
        for (number, row) in
            self.rows.list.iter().enumerate().filter(|(number, _)| place.live[*number] || place.passed[*number])
        {
            let language = row.language.filter(|language| language.translation.exact);
            if let Some(literal) = language.and_then(|language| family.literal(&language.pattern.ast)) {
                rows.entry(literal).or_insert(number);
            }
        }
        rows
    }
}

impl Family {
    fn read(row: &PatternRow) -> Option<Family> {
        let group = row.value.strip_prefix(b"$")?;
        let pattern = syntax::parse(&row.pattern).ok()?;
        let Ast::Concat(items) = pattern.ast else { return None };
        let (is_anchored, items) = match items.as_slice() {
            [Ast::Start, items @ ..] => (true, items),
            items => (false, items),
        };
        let [Ast::Capture { name: Some(name), sub, .. }, rest @ ..] = items else { return None };
        let Ast::Concat(literal) = &**sub else { return None };
        let (slashes, last) = slashes(literal)?;
        let has_name = name.as_bytes() == group && !rest.iter().any(names_a_group);
        has_name.then(|| Family { is_anchored, slashes, last, rest: rest.to_vec() })
    }

    /// Whether it is certain where PCRE ends the literal, as far as this does not depend on the literal itself.
    fn finds_the_end(&self) -> bool {
        match self.last {
            Last::Slash => self.is_anchored,
            Last::Segment { greedy: true } => {
                ends_in_one_place(&self.rest) || self.is_anchored && begins_with_slash(&self.rest)
            }
            Last::Segment { greedy: false } => {
                self.is_anchored && !self.rest.is_empty() && self.rest.iter().all(|item| item.byte_set().is_some())
            }
        }
    }

    /// Whether the pattern captures this literal in every subject that a row with the literal matches.
    fn may_capture(&self, literal: &[u8]) -> bool {
        let has_slashes = literal.iter().filter(|byte| **byte == b'/').count() == self.slashes;
        let has_form = has_slashes
            && literal.starts_with(b"/")
            && !literal.iter().any(|byte| byte.is_ascii_uppercase() || *byte == b'\n');
        has_form
            && match self.last {
                Last::Slash => literal.ends_with(b"/"),
                Last::Segment { greedy: true } => true,
                Last::Segment { greedy: false } => self.is_found_first(literal),
            }
    }

    /// Whether what follows the literal matches at no place between its last slash and its end.
    fn is_found_first(&self, literal: &[u8]) -> bool {
        let Some(sets) = self.rest.iter().map(Ast::byte_set).collect::<Option<Vec<ByteSet>>>() else { return false };
        let whole: Vec<ByteSet> = literal.iter().map(|byte| ByteSet::one(*byte)).chain(sets.iter().copied()).collect();
        let segment = literal.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        (segment..literal.len()).all(|place| {
            let mut both = sets.iter().zip(&whole[place..]);
            both.any(|(set, other)| set.intersection(other).is_empty())
        })
    }

    /// The literal of a row of the family.
    fn literal(&self, ast: &Ast) -> Option<Vec<u8>> {
        let Ast::Concat(items) = ast else { return None };
        let items = if self.is_anchored { items.strip_prefix(&[Ast::Start])? } else { items.as_slice() };
        let (literal, rest) = items.split_at_checked(items.len().checked_sub(self.rest.len())?)?;
        let is_own = rest.iter().zip(&self.rest).all(|(own, other)| are_alike(own, other));
        if is_own { literal.iter().map(byte).collect() } else { None }
    }
}

/// The number of slashes of `/T/T/` or `/T/T`, with at least one T, and what comes last.
pub fn slashes(items: &[Ast]) -> Option<(usize, Last)> {
    let segment = ByteSet::of(|byte| !matches!(byte, b'/' | b'\n' | b'A'..=b'Z'));
    let mut last = None;
    for (at, item) in items.iter().enumerate() {
        last = Some(match item {
            Ast::Byte(b'/') if at % 2 == 0 => Last::Slash,
            Ast::Repeat { min: 0, max: None, greedy, sub }
                if at % 2 == 1 && **sub == Ast::Class(segment) && (*greedy || at + 1 == items.len()) =>
            {
                Last::Segment { greedy: *greedy }
            }
            _ => return None,
        });
    }
    (items.len() > 1).then_some((items.len().div_ceil(2), last?))
}

pub fn byte(item: &Ast) -> Option<u8> {
    if let Ast::Byte(byte) = item { Some(*byte) } else { None }
}

/// Whether items are single bytes and sets before a `$`, so that they end in only one place of a subject.
fn ends_in_one_place(items: &[Ast]) -> bool {
    let [items @ .., Ast::Dollar] = items else { return false };
    let sets: Option<Vec<ByteSet>> = items.iter().map(Ast::byte_set).collect();
    sets.is_some_and(|sets| sets.last().is_none_or(|last| !last.contains(b'\n')))
}

/// Whether what items match begins with a slash, or is empty at the end of the subject.
pub fn begins_with_slash(items: &[Ast]) -> bool {
    fn begins(item: &Ast) -> bool {
        match item {
            Ast::Byte(byte) => *byte == b'/',
            Ast::Capture { sub, .. } => begins(sub),
            Ast::Concat(items) => items.first().is_some_and(begins),
            _ => false,
        }
    }
    match items {
        [Ast::Repeat { min: 0, max: Some(1), sub, .. }, Ast::Dollar] => begins(sub),
        [first, ..] => begins(first),
        [] => false,
    }
}

/// Whether two items are the same, except for the numbers of their groups.
fn are_alike(one: &Ast, other: &Ast) -> bool {
    let all_alike = |one: &[Ast], other: &[Ast]| {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| are_alike(one, other))
    };
    match (one, other) {
        (Ast::Concat(one), Ast::Concat(other)) | (Ast::Alternation(one), Ast::Alternation(other)) => {
            all_alike(one, other)
        }
        (Ast::Capture { sub: one, .. }, Ast::Capture { sub: other, .. }) => are_alike(one, other),
        (
            Ast::Repeat { min, max, greedy, sub },
            Ast::Repeat { min: other_min, max: other_max, greedy: other_greedy, sub: other_sub },
        ) => (min, max, greedy) == (other_min, other_max, other_greedy) && are_alike(sub, other_sub),
        (one, other) => one == other,
    }
}

fn names_a_group(item: &Ast) -> bool {
    match item {
        Ast::Capture { name, sub, .. } => name.is_some() || names_a_group(sub),
        Ast::Concat(items) | Ast::Alternation(items) => items.iter().any(names_a_group),
        Ast::Repeat { sub, .. } | Ast::Superset { sub, .. } => names_a_group(sub),
        _ => false,
    }
}
