//! Measures the cost of maps: how many patterns nginx tries for a subject.

use std::borrow::Cow;

use crate::first_match::{First, FirstMatch};
use crate::map_block::MapBlock;
use crate::map_machine::{Machine, Request};
use crate::maps::row::RowFacts;
use crate::maps::text::EmittedMap;
use crate::parallel;

/// The number of sample subjects.
const MOST_PROBES: usize = 2_000;

/// A beginning that no row has.
const JUNK: &[u8] = b"zqvx7/kwj9-0";

/// The variable that holds the subject.
const SUBJECT: &[u8] = b"nxo_subject";

/// The number of patterns tried for a subject. All but `hit` are for subjects that no row matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The number for a subject that begins like no row.
    pub far: usize,
    /// The median for subjects that begin like some row.
    pub near: usize,
    /// The maximum.
    pub worst: usize,
    /// The median for subjects that a row matches.
    pub hit: usize,
}

impl std::ops::Add for Cost {
    type Output = Cost;

    /// The cost of two maps that are looked up in turn.
    fn add(self, other: Cost) -> Cost {
        Cost {
            far: self.far + other.far,
            near: self.near + other.near,
            worst: self.worst + other.worst,
            hit: self.hit + other.hit,
        }
    }
}

impl Cost {
    /// The cost of a map that tries all its rows.
    pub fn of_rows(rows: usize) -> Cost {
        Cost { far: rows, near: rows, worst: rows, hit: rows.div_ceil(2) }
    }

    /// The cost of compiled maps and the default that leads to them, measured by running it on sample subjects. `others` are patterns that are tried
    /// beside the map; a subject that one of them matches does not count as a miss.
    pub fn of(
        (maps, default): (&[EmittedMap], &[u8]),
        rows: &[RowFacts],
        (first, others): (&FirstMatch, Option<&FirstMatch>),
        source: &[u8],
    ) -> Cost {
        let blocks: Vec<MapBlock> = maps.iter().map(|map| block(map, source)).collect();
        let machine = Machine::new(&blocks);
        let tried = |subject: &[u8]| {
            let mut request = Request::with(SUBJECT, subject);
            machine.value(&mut request, default);
            request.tried
        };
        let far = tried(&far(rows));
        let probes = probes(rows);
        let probe = |at: usize| {
            let subject = &probes[at];
            if first.first(subject, rows.len()) != First::None {
                return Some(Probe::Hit(tried(subject)));
            }
            let is_miss = others.is_none_or(|others| others.first(subject, usize::MAX) == First::None);
            is_miss.then(|| Probe::Miss(tried(subject)))
        };
        let (mut misses, mut hits) = (Vec::new(), Vec::new());
        for probe in parallel::collect(probes.len(), probe).into_iter().flatten() {
            match probe {
                Probe::Hit(count) => hits.push(count),
                Probe::Miss(count) => misses.push(count),
            }
        }
        misses.sort_unstable();
        hits.sort_unstable();
        let median = |counts: &[usize]| counts.get(counts.len() / 2).copied().unwrap_or(far);
        let worst = misses.last().copied().unwrap_or(far).max(far);
        Cost { far, near: median(&misses), worst, hit: median(&hits) }
    }
}

/// A sample subject: the number of patterns tried for it.
enum Probe {
    /// A row matches.
    Hit(usize),
    Miss(usize),
}

/// Reads a map, and replaces the source of the original by the variable of the sample subjects.
fn block<'m>(map: &'m EmittedMap, source: &[u8]) -> MapBlock<'m> {
    let mut block = map.block();
    if let Some(before) = map.source.strip_suffix(source) {
        block.source = Cow::Owned([before, b"$", SUBJECT].concat());
    }
    block
}

fn far(rows: &[RowFacts]) -> Vec<u8> {
    let slashes = rows.iter().filter(|row| row.sequences().iter().any(|sequence| sequence.bytes[0] == b'/')).count();
    let start: &[u8] = if 2 * slashes > rows.len() { b"/" } else { b"" };
    [start, JUNK].concat()
}

/// Sample subjects for evenly spaced rows: the beginning of a row followed by something else, or with another last
/// byte.
fn probes(rows: &[RowFacts]) -> Vec<Vec<u8>> {
    let step = rows.len().div_ceil(MOST_PROBES / 4).max(1);
    let mut probes = Vec::new();
    for row in rows.iter().step_by(step) {
        if let Some(sequence) = row.sequences().first() {
            let bytes = &*sequence.bytes;
            let fixed = sequence.sets.first().map_or(bytes, |(at, _)| &bytes[..*at]);
            probes.extend([[bytes, JUNK].concat(), [fixed, JUNK].concat(), bytes[..bytes.len() - 1].to_vec()]);
        } else if let Some(literal) = row.needs.first() {
            probes.extend([&**literal, &literal[..literal.len() - 1]].map(|bytes| [b"/", bytes, JUNK].concat()));
        }
        if let Some(string) = row.strings.iter().flatten().next() {
            probes.extend([string.clone(), string[..string.len().saturating_sub(1)].to_vec()]);
        }
    }
    probes
}

#[cfg(test)]
mod tests {
    use super::Cost;
    use crate::map_block::read_one;
    use crate::maps::{compile, read_patterns};

    /// Costs are counted by running the maps: one pattern finds the key, the next the key of a chunk.
    #[test]
    fn counted() {
        let cost = |rows: String| {
            let text = format!("map $uri $to {{ {rows} }}");
            let map = read_one(text.as_bytes()).unwrap();
            compile(&map, &read_patterns(&map), "nxo_1_").unwrap().cost
        };
        let few = cost((0..60).map(|number| format!("~^/page{number}/ {number};")).collect());
        assert_eq!((few.far, few.near, few.worst, few.hit), (1, 1, 1, 1));
        let exact = cost((0..60).map(|number| format!("~^/page{number}$ {number};")).collect());
        assert_eq!((exact.far, exact.near, exact.worst, exact.hit), (0, 0, 0, 1));
        let anywhere = cost(["googlebot", "bingbot", "slurp", "spider"].map(|bot| format!("~*{bot} {bot};")).concat());
        assert_eq!((anywhere.far, anywhere.near, anywhere.worst), (1, 1, 1));
        assert_eq!(Cost::of_rows(9).worst, 9);
    }
}
