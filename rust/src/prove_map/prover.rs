//! What a proof works with, and chains: rows one after the other, from map to map.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::first_match::Bounds;
use crate::map_block::{MapBlock, PatternRow};
use crate::pcre::Regex;
use crate::prove_map::ask::{self, Covers};
use crate::prove_map::guard;
use crate::prove_map::obligation::{Obligation, Proved, Refutation, refute};
use crate::prove_map::row::{Heads, Language, Rows, as_text, group_names, is_anchored};
use crate::syntax::{Ast, Hir};

pub struct Prover<'b> {
    pub original: &'b MapBlock<'b>,
    pub own: &'b MapBlock<'b>,
    pub maps: HashMap<&'b [u8], &'b MapBlock<'b>>,
    pub rows: Rows<'b>,
    pub proved: &'b Proved,
    pub covers: Covers,
    /// The maps that were met where they belong.
    pub used: RefCell<HashSet<&'b [u8]>>,
}

/// Where in the maps the proof is: what is known of all subjects that come here.
#[derive(Clone)]
pub struct Place<'b> {
    /// The rows that may be the first to match, or to make PCRE give up.
    pub live: Vec<bool>,
    /// What is said where no row matches.
    pub end: &'b [u8],
    /// Subjects that do not come here.
    pub left_out: Option<Rc<Hir>>,
    /// If values have the number of their row in front, counted from 0.
    pub numbers: Option<Numbers>,
}

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    pub digits: usize,
}

/// Rows in the order in which they are tried, and what is said if none matches.
#[derive(Clone, Debug)]
pub struct Chain<'b> {
    pub rows: Vec<usize>,
    pub end: &'b [u8],
}

impl<'b> Prover<'b> {
    /// The map of a value that is nothing but an emitted variable.
    pub fn map_of(&self, value: &[u8]) -> Option<&'b MapBlock<'b>> {
        value.strip_prefix(b"$").and_then(|name| self.maps.get(name)).copied()
    }

    /// No map is left that the proof did not come to.
    pub fn check_used(&self) -> Result<(), Refutation> {
        let used = self.used.borrow();
        if let Some(name) = self.maps.keys().filter(|name| !used.contains(*name)).min() {
            return refute(Obligation::KnownMap, format!("${} is of no use", name.escape_ascii()));
        }
        self.proved.discharge(Obligation::KnownMap);
        Ok(())
    }

    pub fn is_of_source(&self, block: &MapBlock) -> bool {
        block.source == self.original.source
    }

    pub fn meet(&self, block: &'b MapBlock<'b>) {
        self.used.borrow_mut().insert(&block.variable);
    }

    /// Follows a value from map to map as long as these hold rows, up to `stop` if that comes.
    pub fn chain(&self, value: &'b [u8], place: &Place<'b>, stop: Option<&[u8]>) -> Result<Chain<'b>, Refutation> {
        let mut chain = Chain { rows: Vec::new(), end: value };
        let mut maps = 0;
        while stop != Some(chain.end)
            && let Some(block) = self.map_of(chain.end).filter(|block| self.is_link(block))
        {
            self.meet(block);
            let link = self.link(block, place, chain.rows.last().copied())?;
            chain.rows.extend(link.rows);
            chain.end = link.end;
            maps += 1;
            if maps > self.maps.len() {
                return refute(Obligation::Depth, "maps lead to themselves");
            }
        }
        self.check_order(&chain.rows)?;
        Ok(chain)
    }

    pub fn check_order(&self, rows: &[usize]) -> Result<(), Refutation> {
        let Some(pair) = rows.windows(2).find(|pair| pair[0] >= pair[1]) else {
            self.proved.discharge(Obligation::Order);
            return Ok(());
        };
        let what = format!("{} comes before {}", self.name(pair[0]), self.name(pair[1]));
        Err(Refutation { obligation: Obligation::Order, what, counterexample: self.common(pair[0], pair[1]) })
    }

    /// A subject that two rows match, as far as their languages tell.
    pub fn common(&self, one: usize, other: usize) -> Option<Vec<u8>> {
        let [one, other] = [one, other].map(|row| self.rows.list[row].language.as_ref());
        ask::common(&one?.translation.hir, &other?.translation.hir)
    }

    /// Whether a map holds rows, as far as its form goes.
    fn is_link(&self, block: &'b MapBlock<'b>) -> bool {
        let is_filter = || self.filter(block).is_some_and(|(inside, _)| self.is_link_inside(inside, block));
        self.is_of_source(block)
            && block.exact.is_empty()
            && !self.is_trie(block)
            && (!self.is_split(block) || is_filter())
    }

    /// Whether a map captures something of its source, as far as its form goes.
    fn is_trie(&self, block: &MapBlock) -> bool {
        let captures = |row: &PatternRow| {
            let group = row.value.strip_prefix(b"$");
            group.is_some_and(|group| group_names(&row.pattern).contains(&group))
                && self.rows.with_text(row.caseless, &row.pattern).is_empty()
        };
        let row = block.patterns.first().filter(|_| block.patterns.len() == 1);
        block.exact.is_empty() && self.is_of_source(block) && row.is_some_and(captures)
    }

    /// Whether a map holds keys, of one trie or of chunks.
    pub fn has_keys(&self, block: &MapBlock) -> bool {
        self.is_trie(block)
            || block.patterns.is_empty() && self.map_of(&block.source).is_some_and(|inner| self.has_keys(inner))
    }

    /// Where a map of rows goes on: by a last row that any subject matches, or by its default.
    fn going_on<'v>(&self, block: &'v MapBlock<'_>) -> &'v [u8] {
        match block.patterns.last() {
            Some(last) if self.goes_on_by_row(block) => &last.value,
            _ => block.fallback(),
        }
    }

    /// Whether the last row is `"~^" NEXT`, which leaves the default to the subjects that PCRE gives up on.
    fn goes_on_by_row(&self, block: &MapBlock) -> bool {
        let is_next = |row: &PatternRow| {
            *row.pattern == *b"^" && !row.caseless && self.rows.find(false, b"^", &row.value, None).is_none()
        };
        block.patterns.last().is_some_and(is_next)
    }

    /// Whether a filter's inside goes on where its outside does.
    fn is_link_inside(&self, inside: &MapBlock, block: &MapBlock) -> bool {
        self.is_of_source(inside) && self.going_on(inside) == block.fallback()
    }

    /// Whether a map sends some subjects to one map and others to another.
    pub fn is_split(&self, block: &'b MapBlock<'b>) -> bool {
        self.filter(block).is_some()
    }

    /// The map inside a filter, and its pattern.
    pub fn filter(&self, block: &'b MapBlock<'b>) -> Option<(&'b MapBlock<'b>, &'b PatternRow<'b>)> {
        match block.patterns.as_slice() {
            [row] if *row.pattern != *b"^" => {
                let inside = self.map_of(&row.value)?;
                self.rows.with_text(row.caseless, &row.pattern).is_empty().then_some((inside, row))
            }
            _ => None,
        }
    }

    /// One map of a chain; the rows stand behind another.
    pub fn link(
        &self,
        block: &'b MapBlock<'b>,
        place: &Place<'b>,
        behind: Option<usize>,
    ) -> Result<Chain<'b>, Refutation> {
        if let Some((inside, filter)) = self.filter(block) {
            return self.filtered(block, inside, filter, place, behind);
        }
        let name = block.variable.escape_ascii().to_string();
        let end = self.going_on(block);
        let mut patterns = block.patterns.as_slice();
        if self.goes_on_by_row(block) {
            patterns = &patterns[..patterns.len() - 1];
            if block.fallback() != place.end {
                return refute(Obligation::End, format!("${name} does not say the default where PCRE gives up"));
            }
        }
        let guard = match patterns {
            [first, rest @ ..] if self.is_guard(first, behind, place) => {
                patterns = rest;
                Some(first)
            }
            _ => None,
        };
        let mut rows = Vec::with_capacity(patterns.len());
        for row in patterns {
            let found = self.row(row, rows.last().copied().or(behind), place)?;
            rows.push(found);
        }
        if let Some(guard) = guard {
            if *guard.value != *end {
                return refute(Obligation::Guard, format!("the guard of ${name} does not lead where its rows do"));
            }
            self.check_guard(guard, &rows)?;
        }
        if block.fallback() != place.end && rows.iter().any(|&row| self.rows.list[row].may_give_up) {
            let what = format!("${name} has a row on which PCRE may give up, and does not say the default then");
            return refute(Obligation::Effort, what);
        }
        Ok(Chain { rows, end })
    }

    /// The row of the original that an emitted row is.
    fn row(&self, row: &'b PatternRow<'b>, behind: Option<usize>, place: &Place<'b>) -> Result<usize, Refutation> {
        let found = match place.numbers {
            Some(numbers) => self.numbered(row, numbers)?,
            None => self.rows.find(row.caseless, &row.pattern, &row.value, behind),
        };
        let Some(found) = found else {
            let pattern = row.pattern.escape_ascii();
            let what = format!("the row \"{pattern}\" is not one of the original, or has another value");
            return refute(Obligation::Row, what);
        };
        self.proved.discharge(Obligation::Row);
        Ok(found)
    }

    /// The row that the number in front of a value says.
    fn numbered(&self, row: &PatternRow, numbers: Numbers) -> Result<Option<usize>, Refutation> {
        let Some((number, value)) = numbers.split(&row.value) else {
            return refute(Obligation::Number, format!("a value has no number: \"{}\"", row.value.escape_ascii()));
        };
        let equal = self.rows.with_text(row.caseless, &row.pattern);
        if !equal.is_empty() && !equal.contains(&number) {
            let pattern = row.pattern.escape_ascii();
            return refute(Obligation::Number, format!("the row \"{pattern}\" has the number of another"));
        }
        self.proved.discharge(Obligation::Number);
        Ok(equal.contains(&number).then_some(number).filter(|&number| self.rows.list[number].value == value))
    }

    /// Whether a row is not the original's but skips others.
    fn is_guard(&self, row: &PatternRow, behind: Option<usize>, place: &Place) -> bool {
        let value = place.numbers.and_then(|numbers| Some(numbers.split(&row.value)?.1)).unwrap_or(&row.value);
        row.pattern.starts_with(b"^(?!")
            && row.pattern.ends_with(b")")
            && self.rows.find(row.caseless, &row.pattern, value, behind).is_none()
    }

    /// `^(?!GUARD)` skips no row that could match.
    fn check_guard(&self, row: &PatternRow, rows: &[usize]) -> Result<(), Refutation> {
        let inside = row.pattern.strip_prefix(b"^(?!").and_then(|rest| rest.strip_suffix(b")")).unwrap_or_default();
        let text = as_text(&[b"^(?:", inside, b")"].concat(), row.caseless);
        self.check_implied(&text, row, rows)
    }

    /// All rows imply the pattern of a guard or a filter.
    fn check_implied(&self, text: &[u8], row: &PatternRow, rows: &[usize]) -> Result<(), Refutation> {
        let language = self.own_pattern(text, &row.pattern, row.caseless)?;
        for &place in rows {
            if !self.implies(place, &language, row.caseless) {
                let what = format!("a guard skips {} where it may match", self.name(place));
                let skipped = self.rows.list[place].language.as_ref();
                let counterexample =
                    skipped.and_then(|row| ask::outside(&row.translation.hir, &language.translation.hir));
                return Err(Refutation { obligation: Obligation::Guard, what, counterexample });
            }
            self.proved.discharge(Obligation::Guard);
        }
        Ok(())
    }

    /// Whether nothing happens to a row on subjects that the guard does not match.
    fn implies(&self, place: usize, guard: &Language, caseless: bool) -> bool {
        let row = &self.rows.list[place];
        let behind_anchor = match &guard.pattern.ast {
            Ast::Concat(items) => items.split_first().filter(|(first, _)| **first == Ast::Start),
            _ => None,
        };
        if let Some((_, guard)) = behind_anchor {
            let guard = Ast::Concat(guard.to_vec());
            let by_heads = match row.heads(caseless) {
                Heads::Exact(heads) => heads.iter().all(|head| guard::bytes_imply(head, &guard, caseless)),
                Heads::AnyCase(head) => guard::bytes_imply(&head, &guard, true),
            };
            let by_items = || {
                let events = row.events().filter(|events| is_anchored(&events.translation));
                events.is_some_and(|events| guard::implies(&events.pattern.ast, &guard, false))
            };
            if by_heads || by_items() {
                return true;
            }
        }
        row.events().is_some_and(|events| ask::is_included(&events.translation.hir, &[&guard.translation.hir]))
    }

    /// A pattern of ours: known exactly, and PCRE takes it and never gives up on it.
    pub fn own_pattern(&self, text: &[u8], written: &[u8], caseless: bool) -> Result<Language, Refutation> {
        let escaped = written.escape_ascii();
        let Some(language) = Language::of(text).filter(|language| language.translation.exact) else {
            return refute(Obligation::Pattern, format!("the pattern \"{escaped}\" is not understood"));
        };
        if Regex::new(&as_text(written, caseless)).is_err() {
            return refute(Obligation::Pattern, format!("PCRE2 does not take the pattern \"{escaped}\""));
        }
        if !Bounds::of(&language.pattern, &language.translation.hir).always_answers {
            return refute(Obligation::Effort, format!("PCRE may give up on the pattern \"{escaped}\""));
        }
        self.proved.discharge(Obligation::Pattern);
        Ok(language)
    }

    /// `map SRC $x { "~FILTER" $rows; default NEXT; }`, where the rows go on to NEXT as well.
    fn filtered(
        &self,
        block: &'b MapBlock<'b>,
        inside: &'b MapBlock<'b>,
        filter: &'b PatternRow<'b>,
        place: &Place<'b>,
        behind: Option<usize>,
    ) -> Result<Chain<'b>, Refutation> {
        self.meet(inside);
        if self.is_split(inside) || !inside.exact.is_empty() {
            return refute(Obligation::KnownMap, format!("${} is no map of rows", inside.variable.escape_ascii()));
        }
        let chain = self.link(inside, place, behind)?;
        let end = self.going_on(block);
        if chain.end != end {
            return refute(Obligation::End, format!("a filter of ${} ends elsewhere", block.variable.escape_ascii()));
        }
        self.check_implied(&as_text(&filter.pattern, filter.caseless), filter, &chain.rows)?;
        Ok(chain)
    }

    /// A row as a reader finds it.
    pub fn name(&self, row: usize) -> String {
        format!("row {} \"{}\"", row + 1, self.rows.list[row].pattern.escape_ascii())
    }

    /// The value of a row as it is written here.
    pub fn says(&self, row: usize, value: &[u8], place: &Place) -> bool {
        match place.numbers {
            None => value == self.rows.list[row].value,
            Some(numbers) => numbers.split(value) == Some((row, self.rows.list[row].value)),
        }
    }

    /// Whether a row's value may stand where its own pattern does not.
    pub fn check_moves(&self, row: usize) -> Result<(), Refutation> {
        let Some(what) = self.why_bound(row) else {
            self.proved.discharge(Obligation::Captures);
            return Ok(());
        };
        refute(Obligation::Captures, format!("{} {what}, but stands without its pattern", self.name(row)))
    }

    pub fn why_bound(&self, row: usize) -> Option<&'static str> {
        let row = &self.rows.list[row];
        match () {
            () if row.has_captures => Some("has captures in its value"),
            () if row.is_named => Some("sets a variable by name"),
            () => None,
        }
    }
}

impl Numbers {
    /// The row that the number of a value says, and the value.
    pub fn split<'v>(&self, value: &'v [u8]) -> Option<(usize, &'v [u8])> {
        let number = value.get(..self.digits).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        let number: usize = std::str::from_utf8(number).ok()?.parse().ok()?;
        Some((number, value[self.digits..].strip_prefix(b"|")?))
    }
}
