//! `ngx_hash_init` (src/core/ngx_hash.c): which table nginx builds for a map, simulated to size it well.
//!
//! nginx takes the smallest number of buckets in which no bucket overflows. Where it finds none it warns, takes the
//! largest, and every look-up walks long chains; where a key is longer than a bucket it does not start at all.

const CACHE_LINE: usize = 64;
/// `ngx_hash_init` refuses buckets above 65,536 less a cache line.
const BUCKET_LIMIT: usize = 65_536 - CACHE_LINE;

/// What nginx does with given sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A table without overflow, of this many buckets.
    Fits(usize),
    /// `could not build optimal map_hash`: it starts, with a warning.
    Warns,
    /// `could not build map_hash, you should increase map_hash_bucket_size`: it does not start.
    Refused,
}

/// The two directives of the map module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// `map_hash_max_size`
    pub max: usize,
    /// `map_hash_bucket_size`
    pub bucket: usize,
}

/// One key as the table sees it: its hash and the bytes its element takes in a bucket.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    hash: u64,
    size: u32,
}

impl Element {
    /// `ngx_hash_key_lc` and `NGX_HASH_ELT_SIZE` of a key.
    pub fn new(key: &[u8]) -> Element {
        let hash = key
            .iter()
            .fold(0u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte.to_ascii_lowercase())));
        Element { hash, size: (8 + (key.len() + 2).next_multiple_of(8)) as u32 }
    }
}

/// What nginx does with these keys under these sizes. Time is the number of table sizes tried x keys.
pub fn simulate(elements: &[Element], sizes: Sizes) -> Outcome {
    let bucket = sizes.bucket.next_multiple_of(CACHE_LINE);
    let longest = elements.iter().map(|element| element.size as usize).max().unwrap_or(0);
    if bucket > BUCKET_LIMIT || bucket < longest + 8 {
        return Outcome::Refused;
    }
    let room = (bucket - 8) as u32;
    let mut start = (elements.len() / (room as usize / 16)).max(1);
    if sizes.max > 10_000 && !elements.is_empty() && sizes.max / elements.len() < 100 {
        start = sizes.max - 1_000;
    }
    let mut filled = vec![0u32; sizes.max];
    for size in start..=sizes.max {
        filled[..size].fill(0);
        let overflows = elements.iter().any(|element| {
            let slot = &mut filled[(element.hash % size as u64) as usize];
            *slot += element.size;
            *slot > room
        });
        if !overflows {
            return Outcome::Fits(size);
        }
    }
    Outcome::Warns
}

/// Sizes under which every one of `tables` is built without a warning, or `None` where there are none.
///
/// `max` is twice the keys or more, so that chains stay short, and is never so much larger than them that nginx searches
/// for long at start; `bucket` holds a cache line or more of keys and is doubled until the simulation fits.
pub fn sizes(tables: &[Vec<Element>]) -> Option<Sizes> {
    let keys = tables.iter().map(Vec::len).max().unwrap_or(0);
    let longest = tables.iter().flatten().map(|element| element.size as usize).max().unwrap_or(0);
    let max = (2 * keys).next_power_of_two().max(16_384);
    let mut bucket = (longest + 8).max(512).next_multiple_of(CACHE_LINE);
    while bucket <= BUCKET_LIMIT {
        let sizes = Sizes { max, bucket };
        if tables.iter().all(|table| matches!(simulate(table, sizes), Outcome::Fits(_))) {
            return Some(sizes);
        }
        bucket *= 2;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(keys: &[&str]) -> Vec<Element> {
        keys.iter().map(|key| Element::new(key.as_bytes())).collect()
    }

    /// A key of 46 bytes does not fit the default bucket of 64; one of 45 does (`8 + align8(L + 2) + 8`).
    #[test]
    fn longest_key_of_a_bucket() {
        let fits = "k".repeat(46);
        let too_long = "k".repeat(47);
        let sizes = Sizes { max: 2048, bucket: 64 };
        assert_eq!(simulate(&elements(&[&fits]), sizes), Outcome::Fits(1));
        assert_eq!(simulate(&elements(&[&too_long]), sizes), Outcome::Refused);
    }

    /// Keys that differ by case alone have one hash, and many of them overflow any bucket of 64.
    #[test]
    fn equal_hashes_overflow() {
        let keys = ["/aboutus-aboutus", "/ABOUTUS-aboutus", "/Aboutus-aboutus", "/aBoutus-aboutus"];
        assert_eq!(simulate(&elements(&keys), Sizes { max: 20, bucket: 64 }), Outcome::Warns);
    }

    /// The sizes chosen fit, whatever the keys.
    #[test]
    fn chosen_sizes_fit() {
        for count in [1, 819, 20_000] {
            let keys: Vec<Element> =
                (0..count).map(|n| Element::new(format!("/some/page-{n}.html").as_bytes())).collect();
            let sizes = sizes(std::slice::from_ref(&keys)).unwrap();
            assert!(matches!(simulate(&keys, sizes), Outcome::Fits(_)));
            assert!(sizes.max >= count);
        }
        assert_eq!(sizes(&[]), Some(Sizes { max: 16_384, bucket: 512 }));
    }
}
