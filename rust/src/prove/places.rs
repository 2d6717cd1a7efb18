//! Finds for which rules of the original each lookup of kinds stands, by the statements around it.
//!
//! Equal rules may stand in several places, so that a statement alone does not tell which of them it is. Nothing in the
//! proof depends on the places found here: the lemma of [`super::kinds`] is checked for these rules, and the script in
//! which they stand in place of the lookup is compared with the original.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use crate::prove::gone;
use crate::prove::kinds::KindStatements;
use crate::prove::known::Known;
use crate::prove::node::Node;
use crate::prove::residual::Residual;
use crate::prove::{Discharged, Refutation};

/// A part of an emitted script.
pub enum Item<'l, 't> {
    Statement(&'t Node<'t>),
    Kinds(KindStatements<'l, 't>),
}

/// A sequence of rules of the original, and the part of the emitted script for it: both up to a statement that is no
/// rule of the original, or to the end.
pub struct Segment<'o, 'l, 't> {
    sequence: &'o [&'t Node<'t>],
    items: Vec<Item<'l, 't>>,
}

/// An emitted script, divided as the original is.
pub struct Segments<'o, 'l, 't> {
    segments: Vec<Segment<'o, 'l, 't>>,
    /// The original from the end of the current sequence on.
    rest: &'o [&'t Node<'t>],
    /// Whether `$1` to `$9` may be read after rules.
    captures_matter: bool,
}

impl<'o, 'l, 't> Segments<'o, 'l, 't> {
    pub fn new(original: &'o [&'t Node<'t>], captures_matter: bool) -> Self {
        let mut segments = Segments { segments: Vec::new(), rest: original, captures_matter };
        segments.open();
        segments
    }

    fn open(&mut self) {
        let length = self.rest.iter().take_while(|node| node.is_rule()).count();
        let (sequence, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.segments.push(Segment { sequence, items: Vec::new() });
    }

    /// Whether a statement is the one that ends the current sequence of the original.
    pub fn is_end(&self, node: &Node<'t>) -> bool {
        // A rule that never matches also stands behind guards.
        let is_of_guards = self.captures_matter && node.is_clear() && self.ends_with_guards();
        !is_of_guards && self.rest.first().is_some_and(|end| *end == node)
    }

    fn ends_with_guards(&self) -> bool {
        matches!(self.last(), Some(Item::Statement(last)) if !last.is_rule())
    }

    /// Whether rules come last, as statements or behind a lookup.
    pub fn ends_with_rules(&self) -> bool {
        match self.last() {
            Some(Item::Statement(last)) => last.is_rule(),
            Some(Item::Kinds(_)) => true,
            None => false,
        }
    }

    fn last(&self) -> Option<&Item<'l, 't>> {
        self.segments.last()?.items.last()
    }

    pub fn push(&mut self, item: Item<'l, 't>) {
        let is_end = matches!(&item, Item::Statement(node) if self.is_end(node));
        if let Some(current) = self.segments.last_mut() {
            current.items.push(item);
        }
        if is_end {
            self.rest = &self.rest[1..];
            self.open();
        }
    }

    /// Returns the statements of the script, with the rules in place of each lookup.
    pub fn flat(&self, known: &Known) -> Discharged<Vec<&'t Node<'t>>> {
        let mut statements = Vec::new();
        for segment in &self.segments {
            segment.flat(known, &mut statements)?;
        }
        Ok(statements)
    }
}

impl<'t> Segment<'_, '_, 't> {
    fn flat(&self, known: &Known, statements: &mut Vec<&'t Node<'t>>) -> Discharged<()> {
        let (ranges, staying) = self.places(known)?;
        let mut ranges = ranges.into_iter();
        for item in &self.items {
            match item {
                Item::Statement(node) => statements.push(node),
                Item::Kinds(kinds) => {
                    let places = ranges.next().unwrap_or_default();
                    statements.extend(kinds.rules(self.sequence, places, &staying, known)?);
                }
            }
        }
        Ok(())
    }

    /// Returns the places in the sequence that each lookup may stand for, and those of all rules that stay.
    ///
    /// A lookup stands for what is between the statements around it. Of equal rules, a statement is the first that comes
    /// after all that is before it.
    fn places(&self, known: &Known) -> Discharged<(Vec<Range<usize>>, HashSet<usize>)> {
        let mut of: HashMap<&Node, VecDeque<usize>> = HashMap::new();
        self.sequence.iter().enumerate().for_each(|(place, node)| of.entry(node).or_default().push_back(place));
        let (mut ranges, mut staying): (Vec<Range<usize>>, HashSet<usize>) = Default::default();
        let (mut at, mut is_open) = (0, false);
        for item in &self.items {
            match item {
                Item::Statement(node) => {
                    let Some(place) = of.get_mut(node).and_then(|places| first_from(at, places)) else { continue };
                    staying.insert(place);
                    at = place + 1;
                    if let Some(last) = ranges.last_mut().filter(|_| is_open) {
                        last.end = place;
                    }
                    is_open = false;
                }
                Item::Kinds(kinds) => {
                    let told =
                        kinds.told_places().ok_or_else(|| Refutation::new("a lookup tells no kind of a rule"))?;
                    staying.extend(kinds.places());
                    if let Some(last) = ranges.last_mut().filter(|_| is_open) {
                        at =
                            (at..told.start).find(|place| self.may_be_key(*place, known)).unwrap_or(at.max(told.start));
                        last.end = at;
                    }
                    ranges.push(at..self.sequence.len());
                    at = at.max(told.end);
                    is_open = true;
                }
            }
        }
        Ok((ranges, staying))
    }

    /// Whether statements for keys, which may stand between two lookups, may replace a rule.
    fn may_be_key(&self, place: usize, known: &Known) -> bool {
        let pattern = self.sequence.get(place).map(|node| node.word(1));
        pattern.is_some_and(|text| gone::may_be_replaced(text, &known.facts.readings, place, &Residual::default()))
    }
}

/// Takes the first of ascending places that is at least `at`.
fn first_from(at: usize, places: &mut VecDeque<usize>) -> Option<usize> {
    while let Some(place) = places.pop_front() {
        if place >= at {
            return Some(place);
        }
    }
    None
}
