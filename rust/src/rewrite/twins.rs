//! Pairs strings that differ only in a final newline. `$` also matches before a final newline, so most rules match
//! both.

use std::collections::HashMap;

use crate::rewrite::plan::{KeyEntry, Plan};

/// From this many strings with a twin on, a statement removes the final newline of the URI, and the maps list no twins.
///
/// This costs each request 380 instructions and halves the keys: at 100,000 rules, 57 MB and 0.17 s of `nginx -t`
/// instead of 116 MB and 0.42 s (the rules themselves: 107 MB and 0.24 s).
const MANY: usize = 500;

/// The relation of an entry to the same string with or without a final newline.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Twin {
    HasNone,
    /// The entry also stands for its string with a final newline.
    Has,
    /// The entry for the string without the final newline stands for this one.
    Is,
}

/// Pairs the entries of each rule in the tiers that have enough twins.
pub fn twins(plan: &Plan, allowed: bool) -> Vec<Twin> {
    let mut twins = vec![Twin::HasNone; plan.entries.len()];
    if !allowed {
        return twins;
    }
    let mut pairs = HashMap::new();
    let mut start = 0;
    for group in plan.entries.chunk_by(|entry, next| entry.rule == next.rule) {
        let marks = &mut twins[start..start + group.len()];
        start += group.len();
        if plan.extras.get(&(group[0].rule as usize)).is_some_and(|extra| extra.folded.is_some()) {
            continue; // its target differs from string to string
        }
        // A string that ends in a newline would lose it, too.
        let pairs_up = |entry: &KeyEntry| !entry.any_case && !plan.key(entry).ends_with(b"\n");
        for (at, entry) in group.iter().enumerate().filter(|(_, entry)| pairs_up(entry)) {
            let is_twin = |longer: &KeyEntry| {
                longer.tier == entry.tier && plan.key(longer).strip_suffix(b"\n") == Some(plan.key(entry))
            };
            if let Some(twin) = group.iter().position(is_twin) {
                (marks[at], marks[twin]) = (Twin::Has, Twin::Is);
                *pairs.entry(entry.tier).or_insert(0) += 1;
            }
        }
    }
    for (entry, twin) in plan.entries.iter().zip(&mut twins) {
        if pairs.get(&entry.tier).is_none_or(|pairs| *pairs < MANY) {
            *twin = Twin::HasNone;
        }
    }
    twins
}
