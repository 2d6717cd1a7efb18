//! Maps for the tests of the planner.

use crate::map_block::{MapBlock, read_one};
use crate::maps::captures::CaptureNames;
use crate::maps::row::{self, RowFacts};

/// Runs `test` on the rows of a map; each is a key and its value, as they stand in a file.
pub fn with_rows<R>(rows: &[&str], folded: bool, test: impl FnOnce(&MapBlock, &[RowFacts]) -> R) -> R {
    let text = format!("map $uri $to {{ default none; {} }}", rows.join(" "));
    let map = read_one(text.as_bytes()).expect("a map");
    let patterns = row::read_patterns(&map);
    let rows = row::facts(&map, &patterns, &CaptureNames::of(&map), folded);
    test(&map, &rows)
}
