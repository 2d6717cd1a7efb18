//! Simulates `ngx_hash_init` (src/core/ngx_hash.c), to find good sizes for nginx's hash tables.
//!
//! nginx uses the smallest number of buckets with which no bucket overflows. If there is none, it warns and uses the
//! largest number, and every lookup walks through long chains. If a key is longer than a bucket, it does not start.

use crate::work::spend;

const CACHE_LINE: usize = 64;
/// `ngx_hash_init` refuses buckets above 65,536 less a cache line.
const BUCKET_LIMIT: usize = 65_536 - CACHE_LINE;

/// The most simulated steps: buckets emptied and keys inserted. nginx takes about a second for this many.
const EFFORT: usize = 1 << 26;
/// The largest `max` that is tried. nginx allocates two bytes for each bucket of the largest table (`ngx_hash_init`),
/// which are half a gigabyte for this one.
pub const MAX_LIMIT: usize = 1 << 28;

/// The behaviour of nginx with given sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFit {
    /// A table without overflow, of this many buckets.
    Fits(usize),
    /// nginx starts, with the warning `could not build optimal map_hash`.
    Warns,
    /// nginx does not start: `could not build map_hash, you should increase map_hash_bucket_size`.
    Refused,
    /// nginx would search too long for a size, whatever the result.
    Slow,
}

/// Up to this many tables may have several buckets for each key.
const FEW_TABLES: usize = 8;
/// The most buckets of such a table. nginx takes eight bytes for each.
const ROOMY: usize = 65_536;

/// The two directives of a hash table: `map_hash_max_size` and `map_hash_bucket_size`, and those of `variables_hash`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub max: usize,
    pub bucket: usize,
}

/// The defaults of the map module on a processor with 64-byte cache lines
/// (`ngx_http_map_block`).
pub const MAP_DEFAULTS: Sizes = Sizes { max: 2048, bucket: CACHE_LINE };
/// The defaults of the core module (`ngx_http_core_init_main_conf`).
pub const VARIABLES_DEFAULTS: Sizes = Sizes { max: 1024, bucket: 64 };

/// The hash of a key, and the bytes that its element takes in a bucket.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    pub hash: u64,
    pub size: u32,
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

/// Returns what nginx does with these keys and sizes. O(table sizes tried x keys), within `EFFORT`.
pub fn simulate(elements: &[Element], sizes: Sizes) -> TableFit {
    let longest = elements.iter().map(|element| element.size as usize).max().unwrap_or(0);
    if sizes.max == 0 || sizes.bucket > BUCKET_LIMIT || sizes.bucket.next_multiple_of(CACHE_LINE) < longest + 8 {
        return TableFit::Refused;
    }
    if sizes.max > MAX_LIMIT {
        return TableFit::Slow;
    }
    if elements.is_empty() {
        return TableFit::Fits(1);
    }
    let room = (sizes.bucket.next_multiple_of(CACHE_LINE) - 8) as u32;
    search(elements, sizes.max, room)
}

/// Finds the first table in which no bucket overflows.
fn search(elements: &[Element], max: usize, room: u32) -> TableFit {
    let mut start = (elements.len() / (room as usize / 16)).max(1);
    if max > 10_000 && max / elements.len() < 100 {
        start = max - 1_000;
    }
    let mut filled = Vec::new();
    let mut effort = 0;
    for size in start..=max {
        filled.clear();
        filled.resize(size, 0u32);
        let overflows = elements.iter().position(|element| {
            let slot = &mut filled[(element.hash % size as u64) as usize];
            *slot += element.size;
            *slot > room
        });
        let Some(placed) = overflows else { return TableFit::Fits(size) };
        if size == start && equal_hashes(elements) > room as usize {
            return TableFit::Warns; // they are together in every table
        }
        spend(size / 16 + placed);
        effort += size / 16 + placed;
        if effort > EFFORT {
            return TableFit::Slow;
        }
    }
    TableFit::Warns
}

/// Returns the most bytes that keys with equal hashes take. No table puts such keys into different buckets.
fn equal_hashes(elements: &[Element]) -> usize {
    let mut sorted: Vec<&Element> = elements.iter().collect();
    sorted.sort_unstable_by_key(|element| element.hash);
    let bytes = |equal: &[&Element]| equal.iter().map(|element| element.size as usize).sum();
    sorted.chunk_by(|element, next| element.hash == next.hash).map(bytes).max().unwrap_or(0)
}

/// Returns sizes, `least` or more, with which nginx builds each of `tables` without a warning. `None` if there are
/// none.
///
/// `max` is at least half the number of keys, so that chains stay short. In a large table it is at most that number,
/// because each bucket takes whole cache lines. If there are few tables, they get four buckets for each key, up to
/// [`ROOMY`]: keys that differ only in their last digits have neighbouring hashes, and comparing a key with others in
/// its bucket cost a hit up to 2,000 instructions. `max` is never so much larger than the number of keys that nginx
/// searches for long when it starts. `bucket` has at least a cache line and is doubled until the simulation fits.
pub fn sizes(tables: &[Vec<Element>], least: Sizes) -> Option<Sizes> {
    let keys = tables.iter().map(Vec::len).max().unwrap_or(0);
    let roomy = if tables.len() <= FEW_TABLES { (4 * keys).next_power_of_two().min(ROOMY) } else { 0 };
    let longest = tables.iter().flatten().map(|element| element.size as usize).max().unwrap_or(0);
    let max = (keys / 2).next_power_of_two().max(16_384).max(roomy).max(least.max);
    let first = (longest + 8).max(if keys > max { room_for_many(tables) } else { 512 }).max(least.bucket);
    let doubled = std::iter::successors(Some(first), |bucket| bucket.checked_mul(2));
    let buckets =
        doubled.take_while(|bucket| *bucket <= BUCKET_LIMIT).map(|bucket| bucket.next_multiple_of(CACHE_LINE));
    let mut tried = buckets.chain([BUCKET_LIMIT.max(least.bucket)]).map(|bucket| Sizes { max, bucket });
    tried.find(|sizes| fit(tables, *sizes))
}

/// Returns the size of a bucket with room for 16 keys of average size. With two keys per bucket on average, hardly any
/// bucket gets so many, and nginx finds a table at once.
fn room_for_many(tables: &[Vec<Element>]) -> usize {
    let (mut count, mut bytes) = (1, 0);
    for element in tables.iter().flatten() {
        (count, bytes) = (count + 1, bytes + element.size as usize);
    }
    (16 * bytes / count).next_power_of_two().clamp(512, BUCKET_LIMIT)
}

/// Whether nginx builds all of `tables` without a warning and without a long search.
pub fn fit(tables: &[Vec<Element>], sizes: Sizes) -> bool {
    tables.iter().all(|table| matches!(simulate(table, sizes), TableFit::Fits(_)))
}

/// Whether an element has room in a bucket. If one does not, nginx does not start.
pub fn has_room(element: &Element, sizes: Sizes) -> bool {
    element.size as usize + 8 <= sizes.bucket.next_multiple_of(CACHE_LINE)
}

/// Returns sizes, `least` or more, for the hash of these variables. `ngx_http_variables_init_vars` puts all of them
/// into one table. `may_be` are names that may be variables; those without room in a bucket are not.
pub fn sizes_of_variables(names: &[Element], may_be: &[Element], least: Sizes) -> Option<Sizes> {
    let mut sizes = least;
    loop {
        let all: Vec<Element> = may_be.iter().filter(|name| has_room(name, sizes)).chain(names).copied().collect();
        let larger = variable_sizes(&all, sizes)?;
        if larger == sizes {
            return Some(sizes);
        }
        sizes = larger;
    }
}

fn variable_sizes(names: &[Element], least: Sizes) -> Option<Sizes> {
    let mut sizes = least;
    while sizes.bucket <= BUCKET_LIMIT && sizes.max <= MAX_LIMIT {
        match simulate(names, sizes) {
            TableFit::Fits(_) => return Some(sizes),
            _ if sizes.max < 2 * names.len() => sizes.max = (2 * names.len()).next_power_of_two().max(sizes.max),
            _ => sizes.bucket = (2 * sizes.bucket).max(1).next_multiple_of(CACHE_LINE),
        }
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
        assert_eq!(simulate(&elements(&[&fits]), sizes), TableFit::Fits(1));
        assert_eq!(simulate(&elements(&[&too_long]), sizes), TableFit::Refused);
    }

    /// Keys that differ only in case have the same hash, and many of them overflow any bucket of 64.
    #[test]
    fn equal_hashes_overflow() {
        let keys = ["/aboutus-aboutus", "/ABOUTUS-aboutus", "/Aboutus-aboutus", "/aBoutus-aboutus"];
        assert_eq!(simulate(&elements(&keys), Sizes { max: 20, bucket: 64 }), TableFit::Warns);
    }

    /// The chosen sizes fit, whatever the keys.
    #[test]
    fn chosen_sizes_fit() {
        for count in [1, 819, 20_000] {
            let keys: Vec<Element> =
                (0..count).map(|n| Element::new(format!("/some/page-{n}.html").as_bytes())).collect();
            let sizes = sizes(std::slice::from_ref(&keys), MAP_DEFAULTS).unwrap();
            assert!(matches!(simulate(&keys, sizes), TableFit::Fits(_)));
            assert!(sizes.max >= count / 2);
        }
        assert_eq!(sizes(&[], MAP_DEFAULTS), Some(Sizes { max: 16_384, bucket: 512 }));
        let keys: Vec<Element> = (0..60_000).map(|n| Element::new(format!("/some/page-{n}.html").as_bytes())).collect();
        let chosen = sizes(std::slice::from_ref(&keys), MAP_DEFAULTS).unwrap();
        assert_eq!(chosen, Sizes { max: 65_536, bucket: 512 });
        assert_eq!(simulate(&keys, chosen), TableFit::Fits(64_536));
        let many = vec![keys; FEW_TABLES + 1];
        assert_eq!(sizes(&many, MAP_DEFAULTS), Some(Sizes { max: 32_768, bucket: 512 }));
    }

    /// No size panics, however large. For some of them nginx could not allocate the memory.
    #[test]
    fn any_size() {
        let keys = elements(&["/a", "/b"]);
        for max in [0, 1, 2, usize::MAX / 2, usize::MAX] {
            for bucket in [0, 1, 64, BUCKET_LIMIT, BUCKET_LIMIT + 1, usize::MAX] {
                simulate(&keys, Sizes { max, bucket });
                simulate(&[], Sizes { max, bucket });
                sizes(std::slice::from_ref(&keys), Sizes { max, bucket });
                variable_sizes(&keys, Sizes { max, bucket });
            }
        }
        assert_eq!(simulate(&keys, Sizes { max: 0, bucket: 64 }), TableFit::Refused);
        assert_eq!(simulate(&keys, Sizes { max: usize::MAX, bucket: 64 }), TableFit::Slow);
    }

    /// Names that are too many or too long for the table of variables get a larger one.
    #[test]
    fn names_of_variables() {
        let many: Vec<String> = (0..1100).map(|number| format!("nxo_123456_{number}_key")).collect();
        let names: Vec<Element> = many.iter().map(|name| Element::new(name.as_bytes())).collect();
        assert_eq!(simulate(&names, VARIABLES_DEFAULTS), TableFit::Warns);
        assert!(variable_sizes(&names, VARIABLES_DEFAULTS).is_some_and(|sizes| sizes.bucket <= 256));
        let long = elements(&["a_name_of_more_than_the_forty_six_bytes_of_one_bucket"]);
        assert_eq!(simulate(&long, VARIABLES_DEFAULTS), TableFit::Refused);
        assert_eq!(variable_sizes(&long, VARIABLES_DEFAULTS), Some(Sizes { max: 1024, bucket: 128 }));
        assert_eq!(variable_sizes(&elements(&["a"]), VARIABLES_DEFAULTS), Some(VARIABLES_DEFAULTS));
    }
}
