//! Where the maps are included, and the sizes of their tables.
//!
//! nginx fixes `map_hash_max_size` and `map_hash_bucket_size` at the first map it reads; set twice, or behind a map, they
//! are an error (`ngx_http_map_block`, `ngx_conf_set_num_slot`).

use crate::prove::node::Node;
use crate::prove::{Proof, Refutation};

/// `map_hash_max_size` and `map_hash_bucket_size`, where they are set.
pub type Set = (Option<usize>, Option<usize>);

pub fn is_size(node: &Node) -> bool {
    matches!(node.word(0), b"map_hash_max_size" | b"map_hash_bucket_size")
}

fn may_hold_map(node: &Node) -> bool {
    matches!(node.word(0), b"map" | b"include")
}

/// The sizes that `files` set.
pub fn set<'n>(files: impl Iterator<Item = &'n [Node<'n>]>) -> Proof<Set> {
    let mut sizes = (None, None);
    for file in files {
        gather(file, &mut sizes)?;
    }
    Ok(sizes)
}

fn gather(nodes: &[Node], sizes: &mut Set) -> Proof<()> {
    for node in nodes {
        if is_size(node) {
            let size = if node.word(0) == b"map_hash_max_size" { &mut sizes.0 } else { &mut sizes.1 };
            let number = std::str::from_utf8(node.word(1)).ok().and_then(|number| number.parse().ok());
            if number.is_none() || std::mem::replace(size, number).is_some() {
                return Err(Refutation::new("a size of the map tables is set twice, or not in a plain number"));
            }
        }
        if let Some(block) = &node.block {
            gather(block, sizes)?;
        }
    }
    Ok(())
}

/// The statement that includes the maps: it has to be found once.
pub struct Include {
    words: Option<Vec<Vec<u8>>>,
    found: bool,
    /// How many sizes the files set, all of which have to stand before the maps.
    sizes: usize,
    /// Whether the maps' own file sets a size, before which no map may stand.
    sets_sizes: bool,
}

impl Include {
    pub fn new(words: Option<&[Vec<u8>]>, sizes: Set, sets_sizes: bool) -> Include {
        let sizes = usize::from(sizes.0.is_some()) + usize::from(sizes.1.is_some());
        Include { words: words.map(<[_]>::to_vec), found: false, sizes, sets_sizes }
    }

    pub fn is(&self, node: &Node) -> bool {
        node.block.is_none() && self.words.as_ref().is_some_and(|words| node.words().iter().eq(words.iter()))
    }

    /// Looks for it in a http block, and checks its place there.
    pub fn find(&mut self, block: &[Node]) -> Proof<()> {
        let mut places = (0..block.len()).filter(|at| self.is(&block[*at]));
        let Some(at) = places.next() else { return Ok(()) };
        if places.next().is_some() || self.found {
            return Err(Refutation::new("the maps are included twice"));
        }
        self.found = true;
        let (before, behind) = (&block[..at], &block[at + 1..]);
        // Sizes of other files stand before every map of a configuration that nginx takes, so before the next one here.
        let here = block.iter().filter(|node| is_size(node)).count();
        let next = behind.iter().find(|node| may_hold_map(node) || is_size(node));
        let others_before = here == self.sizes || next.is_some_and(|node| node.word(0) == b"map");
        if behind.iter().any(is_size) || !others_before {
            return Err(Refutation::new("a size of the map tables may be set behind the maps"));
        }
        let last_size = before.iter().rposition(is_size).map_or(0, |at| at + 1);
        if self.sets_sizes && before[last_size..].iter().any(may_hold_map) {
            return Err(Refutation::new("a map may stand before the sizes of the map tables"));
        }
        Ok(())
    }

    pub fn finish(&self) -> Proof<()> {
        match self.words {
            Some(_) if !self.found => Err(Refutation::new("the include of the maps is missing")),
            _ => Ok(()),
        }
    }
}
