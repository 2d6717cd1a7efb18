//! Finds keys that would overload nginx's hash tables, because their hashes are equal, or equal modulo the size of an
//! internal table.
//!
//! While nginx reads a map, it keeps the keys in 10,007 lists and compares each new key with all keys of its list
//! (`ngx_hash_add_key`, `NGX_HASH_LARGE_HSIZE`): 30,000 keys in one list take half a minute. Keys with equal hashes are
//! in the same bucket, whatever the size of the table (`ngx_hash_init`): beyond 64 kB nginx warns, and a lookup walks
//! through all of them. Neither happens by chance.

use crate::hash::Element;

/// `NGX_HASH_LARGE_HSIZE`
const LISTS: usize = 10_007;
/// The most keys with equal hashes, and the most bytes of a bucket that they may fill.
const MOST_EQUAL: usize = 64;
const MOST_BYTES: usize = 32_768;
/// The most keys of one list: the first number, plus the second number times the average.
const MOST_IN_LIST: usize = 256;
const MOST_UNEVEN: usize = 8;

/// Returns the keys of a table that are too many for a list or a bucket, by their numbers. The first keys of each list
/// and bucket are not among them.
pub fn of_one_map(keys: &[(Element, u32)]) -> Vec<u32> {
    let mut crowded = of_one_list(keys);
    let mut keys = in_full_places(keys);
    keys.sort_unstable_by_key(|(element, at)| (element.hash, *at));
    for equal in keys.chunk_by(|(element, _), (next, _)| element.hash == next.hash) {
        let mut bytes = 0;
        for (number, (element, at)) in equal.iter().enumerate() {
            bytes += element.size as usize;
            if number >= MOST_EQUAL || (number > 0 && bytes > MOST_BYTES) {
                crowded.push(*at);
            }
        }
    }
    crowded
}

/// Returns the keys that may have too many equal hashes. This is a quick filter, by the places of a small table: nearly
/// no key is in a place that is full enough.
fn in_full_places(keys: &[(Element, u32)]) -> Vec<(Element, u32)> {
    const LEAST: usize = MOST_BYTES / MOST_EQUAL;
    let size = keys.len().next_power_of_two();
    let mut filled = vec![0; size];
    let place = |element: &Element| element.hash as usize & (size - 1);
    for (element, _) in keys {
        filled[place(element)] += LEAST.max(element.size as usize);
    }
    keys.iter().filter(|(element, _)| filled[place(element)] > MOST_BYTES).copied().collect()
}

fn of_one_list(keys: &[(Element, u32)]) -> Vec<u32> {
    let most = MOST_IN_LIST + MOST_UNEVEN * keys.len() / LISTS;
    let mut lists = vec![0; LISTS];
    let crowds = |(element, _): &&(Element, u32)| {
        let list: &mut usize = &mut lists[(element.hash % LISTS as u64) as usize];
        *list += 1;
        *list > most
    };
    keys.iter().filter(crowds).map(|(_, at)| *at).collect()
}

/// Whether the keys of a table are too many for a list or a bucket.
pub fn overload(keys: &[Vec<u8>]) -> bool {
    !of_one_map(&(0..).zip(keys).map(|(at, key)| (Element::new(key), at)).collect::<Vec<_>>()).is_empty()
}
