//! Checks where the maps are included, and the sizes of nginx's hash tables.
//!
//! nginx fixes `map_hash_max_size` and `map_hash_bucket_size` when it reads the first map. Setting them twice or after
//! a map is an error (`ngx_http_map_block`, `ngx_conf_set_num_slot`). The sizes of `variables_hash` take effect when
//! the http block ends. Directives of these names in `stream` belong to that module.

use std::collections::HashSet;

use crate::hash::{MAP_DEFAULTS, Sizes, VARIABLES_DEFAULTS};
use crate::prove::node::Node;
use crate::prove::{Discharged, Refutation};

const NAMES: [&[u8]; 4] =
    [b"map_hash_max_size", b"map_hash_bucket_size", b"variables_hash_max_size", b"variables_hash_bucket_size"];
/// How many of `NAMES` are sizes of maps. They come first.
const OF_MAPS: usize = 2;

/// The sizes that are set, in the order of `NAMES`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableSizes([Option<usize>; 4]);

impl TableSizes {
    /// The sizes that `files` set.
    pub fn of<'n>(files: impl Iterator<Item = &'n [Node<'n>]>) -> Discharged<TableSizes> {
        let mut set = TableSizes::default();
        for file in files {
            set.gather(file)?;
        }
        Ok(set)
    }

    fn gather(&mut self, nodes: &[Node]) -> Discharged<()> {
        for node in nodes {
            if is_size(node) {
                self.add(node.word(0), node.word(1))?;
            }
            if let Some(block) = node.block.as_ref().filter(|_| !matches!(node.word(0), b"stream" | b"mail")) {
                self.gather(block)?;
            }
        }
        Ok(())
    }

    /// Adds a directive, if it is one of the sizes.
    pub fn add(&mut self, name: &[u8], value: &[u8]) -> Discharged<()> {
        let refute = || Refutation::new("a hash table size is set twice or is not a plain number");
        let at =
            index(name).ok_or_else(|| Refutation::new("the maps file contains more than maps and hash table sizes"))?;
        let number = number(value).ok_or_else(refute)?;
        if self.0[at].replace(number).is_some() { Err(refute()) } else { Ok(()) }
    }

    /// These sizes together with others, set elsewhere.
    pub fn and(&self, others: &TableSizes) -> Discharged<TableSizes> {
        if self.0.iter().zip(&others.0).any(|(size, again)| size.is_some() && again.is_some()) {
            return Err(Refutation::new("a hash table size is set twice"));
        }
        Ok(TableSizes(std::array::from_fn(|at| self.0[at].or(others.0[at]))))
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// The sizes of maps; nginx's defaults where none is set.
    pub fn of_maps(&self) -> Sizes {
        Sizes { max: self.0[0].unwrap_or(MAP_DEFAULTS.max), bucket: self.0[1].unwrap_or(MAP_DEFAULTS.bucket) }
    }

    /// The sizes of variables; nginx's defaults where none is set.
    pub fn of_variables(&self) -> Sizes {
        let own = VARIABLES_DEFAULTS;
        Sizes { max: self.0[2].unwrap_or(own.max), bucket: self.0[3].unwrap_or(own.bucket) }
    }
}

/// A number as `ngx_atoi` reads it.
fn number(text: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    text.parse().ok().filter(|number| *number <= isize::MAX as usize)
}

fn index(name: &[u8]) -> Option<usize> {
    NAMES.iter().position(|size| *size == name)
}

fn is_size(node: &Node) -> bool {
    index(node.word(0)).is_some()
}

fn is_map_size(node: &Node) -> bool {
    NAMES[..OF_MAPS].contains(&node.word(0))
}

fn may_hold_map(node: &Node) -> bool {
    matches!(node.word(0), b"map" | b"include")
}

/// Whether a statement only raises a size, which changes no result of a lookup.
pub fn is_raised(before: &Node, after: &Node) -> bool {
    is_size(before)
        && before.word(0) == after.word(0)
        && before.words.len() == 2
        && after.words.len() == 2
        && matches!((number(before.word(1)), number(after.word(1))), (Some(size), Some(raised)) if size <= raised)
}

/// The statements that are new in the http block: the one that includes the maps, which must occur once, and sizes.
pub struct Include {
    words: Option<Vec<Vec<u8>>>,
    /// See [`super::Facts::may_set_sizes`].
    may_set_sizes: Option<HashSet<Vec<u8>>>,
    is_found: bool,
    /// The number of sizes of maps that the files set; all must come before the maps.
    sizes: usize,
    /// The sizes that the original does not set.
    added: [bool; 4],
}

/// What follows the examined statements in the http block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    Nothing,
    /// The statements are a file of the block; what follows its include is unknown.
    NotSeen,
}

impl Include {
    pub fn new(
        words: Option<&[Vec<u8>]>,
        may_set_sizes: Option<&HashSet<Vec<u8>>>,
        before: TableSizes,
        after: TableSizes,
    ) -> Include {
        let sizes = after.0[..OF_MAPS].iter().flatten().count();
        let added = std::array::from_fn(|at| words.is_some() && before.0[at].is_none() && after.0[at].is_some());
        Include {
            words: words.map(<[_]>::to_vec),
            may_set_sizes: may_set_sizes.cloned(),
            is_found: false,
            sizes,
            added,
        }
    }

    pub fn is(&self, node: &Node) -> bool {
        node.block.is_none() && self.words.as_ref().is_some_and(|words| node.words().iter().eq(words.iter()))
    }

    /// Whether this sets a size that the original does not set, which is allowed in an http block.
    pub fn is_added(&self, node: &Node) -> bool {
        node.block.is_none() && node.words.len() == 2 && index(node.word(0)).is_some_and(|at| self.added[at])
    }

    /// Looks for the statement in an http block, and checks its place and that of new sizes.
    pub fn find(&mut self, block: &[Node], then: Behind) -> Discharged<()> {
        self.check_added(block)?;
        let mut places = (0..block.len()).filter(|at| self.is(&block[*at]));
        let Some(at) = places.next() else { return Ok(()) };
        if places.next().is_some() || self.is_found {
            return Err(Refutation::new("the maps are included twice"));
        }
        self.is_found = true;
        let behind = &block[at + 1..];
        // In a configuration that nginx accepts, sizes in other files come before every map, so also before the next
        // map here.
        let here = block.iter().filter(|node| is_map_size(node)).count();
        let next = behind.iter().find(|node| may_hold_map(node) || is_map_size(node));
        let is_map_next = next.is_some_and(|node| node.word(0) == b"map");
        let is_sure = is_map_next || (then == Behind::Nothing && self.none_leads_to_sizes(behind));
        if behind.iter().any(is_map_size) || !(here == self.sizes || is_sure) {
            return Err(Refutation::new("a map hash size may be set after the maps"));
        }
        if self.may_set_sizes.is_some() && !self.added[..OF_MAPS].contains(&true) && !is_sure {
            return Err(Refutation::new("a missing file may set a map hash size after the maps"));
        }
        Ok(())
    }

    /// Whether no include up to the next map can lead to a size of the map tables.
    fn none_leads_to_sizes(&self, behind: &[Node]) -> bool {
        let Some(names) = &self.may_set_sizes else { return false };
        let leads = |node: &Node| node.word(0) == b"include" && names.contains(node.word(1));
        !behind.iter().take_while(|node| node.word(0) != b"map").any(leads)
    }

    /// Checks that a new size of maps comes first, or after one that nginx accepts there.
    fn check_added(&self, block: &[Node]) -> Discharged<()> {
        let mut may_follow_map = false;
        for node in block {
            match is_map_size(node) {
                true if self.is_added(node) && may_follow_map => {
                    return Err(Refutation::new("a map may precede the map hash sizes"));
                }
                true => may_follow_map = false,
                false => may_follow_map |= may_hold_map(node),
            }
        }
        Ok(())
    }

    pub fn finish(&self) -> Discharged<()> {
        match self.words {
            Some(_) if !self.is_found => Err(Refutation::new("the maps are not included")),
            _ => Ok(()),
        }
    }
}
