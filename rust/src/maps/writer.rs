//! Writes the parts that the maps of a compilation share: names, flags, values.

use std::cell::OnceCell;

use hashbrown::HashSet;

use crate::map_block::MapBlock;
use crate::maps::large::LargeForms;
use crate::maps::parts::{FloatingOrder, Parts};
use crate::maps::row::RowFacts;
use crate::maps::text::{EmittedMap, Key};

/// The digits of a number in front of a value: fixed, so that numbers compare like texts.
pub const DIGITS: usize = 6;

/// The most pairs of states of automata for all exact guards of a compilation: some 20 ms.
const MOST_STATES: usize = 20_000;

/// Collects the maps of a compilation.
pub struct Writer<'m> {
    pub map: &'m MapBlock<'m>,
    pub rows: &'m [RowFacts<'m>],
    /// The start of the names of all variables.
    pub stem: &'m str,
    /// Whether beginnings are in lower case and stand for all spellings.
    pub folded: bool,
    /// Whether each value has the number of its row in front, and "no match" is the empty string.
    pub is_numbered: bool,
    /// Whether subjects have no inner newline.
    pub in_lines: bool,
    pub large: LargeForms,
    pub maps: Vec<EmittedMap>,
    /// The work that is left to show that exact guards let all rows pass.
    pub states_left: usize,
    /// See [`Writer::is_row`].
    patterns: OnceCell<HashSet<(&'m [u8], bool)>>,
}

impl<'m> Writer<'m> {
    pub fn new(
        map: &'m MapBlock<'m>,
        rows: &'m [RowFacts<'m>],
        stem: &'m str,
        folded: bool,
        (parts, large): (&Parts, LargeForms),
    ) -> Writer<'m> {
        let is_numbered = parts.order == FloatingOrder::Picked;
        Writer {
            map,
            rows,
            stem,
            folded,
            is_numbered,
            in_lines: parts.in_lines,
            large,
            maps: Vec::new(),
            states_left: MOST_STATES,
            patterns: OnceCell::new(),
        }
    }

    /// The name of a variable.
    pub fn name(&self, what: &str) -> Vec<u8> {
        format!("{}{what}", self.stem).into_bytes()
    }

    /// A variable, as a value.
    pub fn variable(&self, what: &str) -> Vec<u8> {
        format!("${}{what}", self.stem).into_bytes()
    }

    /// The value of a row.
    pub fn value(&self, row: usize) -> Vec<u8> {
        let value = &self.rows[row].row.value;
        if self.is_numbered { [format!("{row:0DIGITS$}|").as_bytes(), value].concat() } else { value.to_vec() }
    }

    /// The value where no row matches.
    pub fn fallback(&self) -> Vec<u8> {
        if self.is_numbered { Vec::new() } else { self.map.fallback().to_vec() }
    }

    /// A map with the source of the original map.
    pub fn of_source(&self, what: &str) -> EmittedMap {
        let (volatile, hostnames) = (self.map.volatile, self.map.hostnames);
        let source = self.map.source.to_vec();
        EmittedMap { source, name: self.name(what), volatile, hostnames, ..EmittedMap::default() }
    }

    /// A map of another variable of the compilation.
    pub fn of(&self, variable: &str, what: &str) -> EmittedMap {
        self.of_value(self.variable(variable), what)
    }

    /// A map of a value made of variables of the compilation.
    pub fn of_value(&self, source: Vec<u8>, what: &str) -> EmittedMap {
        EmittedMap { source, name: self.name(what), volatile: self.map.volatile, ..EmittedMap::default() }
    }

    /// Adds a map, and returns its variable.
    pub fn add(&mut self, map: EmittedMap) -> Vec<u8> {
        let variable = [b"$", &*map.name].concat();
        self.maps.push(map);
        variable
    }

    /// Whether PCRE never gives up on a row.
    pub fn is_certain(&self, row: usize) -> bool {
        self.rows[row].is_certain_here(self.in_lines)
    }

    /// Whether a row has exactly this pattern.
    pub fn is_row(&self, pattern: &[u8], caseless: bool) -> bool {
        let of = |facts: &'m RowFacts<'m>| (&*facts.row.pattern, facts.row.caseless);
        self.patterns.get_or_init(|| self.rows.iter().map(of).collect()).contains(&(pattern, caseless))
    }

    /// The row as in the original.
    pub fn verbatim(&self, row: usize) -> (Key, Vec<u8>) {
        let pattern = &self.rows[row].row;
        (Key::Pattern { pattern: pattern.pattern.to_vec(), caseless: pattern.caseless }, self.value(row))
    }
}
