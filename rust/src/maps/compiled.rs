//! The result of compiling a map.

use std::cmp::Reverse;

use hashbrown::HashMap;

use crate::maps::cost::Cost;
use crate::maps::text::{EmittedMap, Key};
use crate::quote;

/// The maps that replace the patterns of a map.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// The new maps. Each refers only to earlier ones.
    pub maps: Vec<EmittedMap>,
    /// The new default of the map.
    pub default: Vec<u8>,
    /// A guard to put before the regex rows, which then stay where they are.
    pub guard: Option<(Key, Vec<u8>)>,
    pub shape: Shape,
    /// Patterns tried for a subject that no row matches.
    pub cost: Cost,
}

/// How the rows were divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    pub rows: usize,
    pub exact: usize,
    pub in_tree: usize,
    pub floating: usize,
    pub buckets: usize,
    pub leaves: usize,
    /// Whether subjects with a newline inside have a map of their own.
    pub lines: bool,
    /// Whether numbers in values decide which of two rows comes first.
    pub pick: bool,
}

impl Compiled {
    /// Returns the text of the new maps, longest first: nginx reuses the memory it needed to read one map (the
    /// temporary pool of `ngx_http_map_block`) for those that follow.
    pub fn text(&self) -> Vec<u8> {
        let write = |map: &EmittedMap| {
            let mut text = Vec::new();
            map.write(&mut text);
            text
        };
        let mut texts: Vec<Vec<u8>> = self.maps.iter().map(write).collect();
        texts.sort_by_key(|text| Reverse(text.len()));
        texts.concat()
    }

    /// The variables that the new maps define, including named groups.
    pub fn variables(&self) -> Vec<&[u8]> {
        let groups = self.maps.iter().flat_map(EmittedMap::groups);
        let mut names: Vec<&[u8]> = self.maps.iter().map(|map| &*map.name).chain(groups).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The keys of the table of each new map that has one.
    pub fn keys(&self) -> Vec<Vec<Vec<u8>>> {
        let keys = self.maps.iter().map(|map| map.rows.iter().filter_map(|(key, _)| key.exact().cloned()).collect());
        keys.filter(|keys: &Vec<Vec<u8>>| !keys.is_empty()).collect()
    }

    /// Returns the text of the `default` row of the map, which is empty if the default is.
    pub fn default_row(&self) -> Vec<u8> {
        let mut text = Vec::new();
        if !self.default.is_empty() {
            text.extend_from_slice(b"default ");
            quote::quote(&self.default, &mut text);
            text.push(b';');
        }
        text
    }

    /// The guard, as text.
    pub fn guard_row(&self) -> Option<Vec<u8>> {
        let (key, value) = self.guard.as_ref()?;
        let mut text = Vec::new();
        key.write(&mut text);
        text.push(b' ');
        quote::quote(value, &mut text);
        text.push(b';');
        Some(text)
    }

    /// If a single new map has all the rows, drops it and keeps only its guard, so that the rows stay in the original
    /// map. `fallback` is the default of the original.
    pub fn with_guard_in_place(mut self, fallback: &[u8]) -> Compiled {
        if let [map] = self.maps.as_mut_slice()
            && map.rows.len() == self.shape.rows + 1
        {
            self.guard = Some(map.rows.remove(0));
            self.maps.clear();
            self.default = fallback.to_vec();
        }
        self
    }

    /// The greatest depth of nested evaluations of the new maps.
    pub fn depth(&self) -> usize {
        let mut depths: HashMap<&[u8], usize> = HashMap::new();
        for map in &self.maps {
            let values = map.rows.iter().map(|(_, value)| value).chain([&map.default, &map.source]);
            let depth = values.flat_map(|value| variables(value)).filter_map(|name| depths.get(name)).max();
            let depth = 1 + depth.copied().unwrap_or(0);
            depths.insert(&map.name, depth);
        }
        depths.into_values().max().unwrap_or(0)
    }
}

/// The names after the dollar signs of a value.
fn variables(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b'$').skip(1).map(|text| {
        let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        &text[..text.iter().position(|byte| !is_of_name(byte)).unwrap_or(text.len())]
    })
}
