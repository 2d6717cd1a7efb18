//! Collects the maps of a compilation, and writes what they share: names, flags and values.

use std::cell::OnceCell;

use hashbrown::HashSet;

use crate::map_block::MapBlock;
use crate::maps::large::LargeForms;
use crate::maps::row::RowFacts;
use crate::maps::text::{EmittedMap, Key};

/// The number of digits of a row number at the start of a value. It is fixed, so that numbers compare like texts.
pub const DIGITS: usize = 6;

/// The most pairs of states of automata to visit for all exact guards of a compilation, which takes about 20 ms.
const MOST_STATES: usize = 20_000;

/// How values show which of two rows comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    None,
    /// Each new value begins with the number of its row, and "no match" is the empty string.
    Added,
    /// The values of the original already begin with such numbers, followed by a space.
    Own,
}

/// What holds for all maps of a compilation.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Whether beginnings are in lower case and stand for both cases.
    pub folded: bool,
    /// Whether subjects have no inner newline.
    pub in_lines: bool,
    /// Whether numbers in values decide which of two rows comes first.
    pub is_picked: bool,
    pub large: LargeForms,
}

/// Collects the maps of a compilation.
pub struct Writer<'m> {
    pub map: &'m MapBlock<'m>,
    pub rows: &'m [RowFacts<'m>],
    /// The start of the names of all new variables.
    pub stem: &'m str,
    /// Whether beginnings are in lower case and stand for both cases.
    pub folded: bool,
    pub numbers: Numbers,
    /// Whether subjects have no inner newline.
    pub in_lines: bool,
    pub large: LargeForms,
    pub maps: Vec<EmittedMap>,
    /// How many more pairs of states may be visited for exact guards.
    pub states_left: usize,
    /// See [`Writer::is_row`].
    patterns: OnceCell<HashSet<(&'m [u8], bool)>>,
}

impl<'m> Writer<'m> {
    pub fn new(map: &'m MapBlock<'m>, rows: &'m [RowFacts<'m>], stem: &'m str, form: Form) -> Writer<'m> {
        let Form { folded, in_lines, large, .. } = form;
        let numbers = match form.is_picked {
            true if have_own_numbers(map) => Numbers::Own,
            true => Numbers::Added,
            false => Numbers::None,
        };
        Writer {
            map,
            rows,
            stem,
            folded,
            numbers,
            in_lines,
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
        match self.numbers {
            Numbers::Added => [format!("{row:0DIGITS$}|").as_bytes(), value].concat(),
            Numbers::None | Numbers::Own => value.to_vec(),
        }
    }

    /// The value if no row matches.
    pub fn fallback(&self) -> Vec<u8> {
        if self.numbers == Numbers::Added { Vec::new() } else { self.map.fallback().to_vec() }
    }

    /// A map with the source of the original map.
    pub fn of_source(&self, what: &str) -> EmittedMap {
        let (volatile, hostnames) = (self.map.volatile, self.map.hostnames);
        let source = self.map.source.to_vec();
        EmittedMap { source, name: self.name(what), volatile, hostnames, ..EmittedMap::default() }
    }

    /// A map whose source is another variable of the compilation.
    pub fn of(&self, variable: &str, what: &str) -> EmittedMap {
        self.of_value(self.variable(variable), what)
    }

    /// A map whose source is a value made of variables of the compilation.
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

/// Whether all values begin with numbers that increase from row to row, and the default is empty.
fn have_own_numbers(map: &MapBlock) -> bool {
    let number = |value: &[u8]| -> Option<usize> {
        let (digits, rest) = value.split_at_checked(DIGITS)?;
        let is_number = rest.starts_with(b" ") && digits.iter().all(u8::is_ascii_digit);
        std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
    };
    let numbers = map.patterns.iter().map(|row| number(&row.value)).collect::<Option<Vec<usize>>>();
    map.fallback().is_empty() && numbers.is_some_and(|numbers| numbers.is_sorted_by(|one, next| one < next))
}
