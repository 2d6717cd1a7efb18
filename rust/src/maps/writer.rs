//! What all the maps of a compilation share: names, flags, values.

use crate::map_block::MapBlock;
use crate::maps::row::Row;
use crate::maps::text::{Key, Map};

/// How a number is written in front of a value: fixed, so that numbers compare as texts do.
pub const DIGITS: usize = 6;

/// Collects the maps of a compilation.
pub struct Writer<'m> {
    pub map: &'m MapBlock<'m>,
    pub rows: &'m [Row<'m>],
    /// What the names of all variables start with.
    pub stem: &'m str,
    /// Whether beginnings are in small letters and stand for all spellings.
    pub folded: bool,
    /// Whether each value has the number of its row in front, and nothing is the empty string.
    pub is_numbered: bool,
    pub maps: Vec<Map>,
}

impl<'m> Writer<'m> {
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

    /// A map of what the original map looks up.
    pub fn of_source(&self, what: &str) -> Map {
        let (volatile, hostnames) = (self.map.volatile, self.map.hostnames);
        let source = self.map.source.to_vec();
        Map { source, name: self.name(what), volatile, hostnames, ..Map::default() }
    }

    /// A map of another variable of the compilation.
    pub fn of(&self, variable: &str, what: &str) -> Map {
        self.of_value(self.variable(variable), what)
    }

    /// A map of a value made of variables of the compilation.
    pub fn of_value(&self, source: Vec<u8>, what: &str) -> Map {
        Map { source, name: self.name(what), volatile: self.map.volatile, ..Map::default() }
    }

    /// Adds a map, and returns its variable.
    pub fn add(&mut self, map: Map) -> Vec<u8> {
        let variable = [b"$", &*map.name].concat();
        self.maps.push(map);
        variable
    }

    /// The row as it was.
    pub fn verbatim(&self, row: usize) -> (Key, Vec<u8>) {
        let pattern = &self.rows[row].row;
        (Key::Pattern { pattern: pattern.pattern.to_vec(), caseless: pattern.caseless }, self.value(row))
    }
}
