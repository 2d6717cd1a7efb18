//! Finds rows by the roots of a [`front`](crate::maps::front): the beginnings that its first pattern captures.
//!
//! A front leaves few other rows. For most subjects its first pattern has already captured a root, so a table from
//! roots to those rows replaces the patterns of a tree.

use crate::maps::bucket::MOST_COPIES;
use crate::maps::front::Front;
use crate::maps::row::RowFacts;
use crate::maps::sequence::Sequence;
use crate::maps::text::{EmittedMap, Key};
use crate::maps::tree::{LARGEST_LEAF, Leaves};
use crate::maps::writer::Writer;
use crate::work::spend;

/// The most rows of a root. A tree divides more rows.
const MOST_ROWS: usize = 2 * LARGEST_LEAF;

/// Rows that are found by their root.
pub struct Rooted {
    roots: Vec<Root>,
}

/// A root, and the rows that may match a subject that begins with it, ascending.
struct Root {
    path: Vec<u8>,
    rows: Vec<usize>,
}

/// The rows by where they are tried.
pub struct Placed {
    pub rooted: Rooted,
    /// The rows that may also match subjects without a root, or with a root that has too many rows.
    pub others: Vec<usize>,
    /// The rows that belong to too many roots.
    pub scattered: Vec<usize>,
}

impl Rooted {
    /// Places rows under their roots. The rows of a root with too many of them become `others`.
    pub fn place(facts: &[RowFacts], rows: &[usize], front: &Front) -> Placed {
        let mut roots: Vec<Root> = front.roots().map(|path| Root { path: path.to_vec(), rows: Vec::new() }).collect();
        roots.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        let mut others = Vec::new();
        let mut scattered = Vec::new();
        for &row in rows {
            let (places, is_only_there) = places(&roots, facts[row].sequences());
            if places.len() > MOST_COPIES {
                scattered.push(row);
                continue;
            }
            spend(4 + places.len());
            places.iter().for_each(|root| roots[*root].rows.push(row));
            if !is_only_there {
                others.push(row);
            }
        }
        let (large, roots): (Vec<Root>, Vec<Root>) = roots.into_iter().partition(|root| root.rows.len() > MOST_ROWS);
        others.extend(large.into_iter().flat_map(|root| root.rows));
        others.sort_unstable();
        others.dedup();
        Placed { rooted: Rooted { roots }, others, scattered }
    }

    /// Removes rows.
    pub fn leave(&mut self, rows: &[usize]) {
        self.roots.iter_mut().for_each(|root| root.rows.retain(|row| rows.binary_search(row).is_err()));
    }

    /// The number of rows under at least one root.
    pub fn count(&self) -> usize {
        let mut rows: Vec<usize> = self.roots.iter().flat_map(|root| &root.rows).copied().collect();
        rows.sort_unstable();
        rows.dedup();
        rows.len()
    }

    /// Writes the maps. `next` is the value if no row of a root matches, and `others` the value of subjects with any
    /// other beginning. Returns the variable that has the answer.
    pub fn write(&self, writer: &mut Writer, next: &[u8], others: &[u8]) -> Vec<u8> {
        let mut leaves = Leaves::new("under", LARGEST_LEAF, next);
        let place = |root: &Root| (!root.rows.is_empty()).then(|| leaves.add(root.rows.clone()));
        let places: Vec<Option<usize>> = self.roots.iter().map(place).collect();
        let variables = leaves.write(writer);
        let mut map = EmittedMap { default: others.to_vec(), ..writer.of("start", "rooted") };
        let value = |place: Option<usize>| place.map_or(next.to_vec(), |leaf| variables[leaf].clone());
        let rows = self.roots.iter().zip(places);
        map.rows = rows.map(|(root, place)| (Key::Exact(root.path.clone()), value(place))).collect();
        writer.add(map)
    }
}

/// Returns the roots of subjects that may begin with one of the sequences, ascending, and whether all such subjects
/// have one of these roots. No root begins with another.
fn places(roots: &[Root], sequences: &[Sequence]) -> (Vec<usize>, bool) {
    let mut places = Vec::new();
    let mut is_only_there = true;
    for sequence in sequences {
        let head = &sequence.bytes[..sequence.sets.first().map_or(sequence.bytes.len(), |(at, _)| *at)];
        let from = roots.partition_point(|root| *root.path < *head);
        let shorter = from.checked_sub(1).filter(|at| head.starts_with(&roots[*at].path));
        let longer = (from..roots.len()).take_while(|at| roots[*at].path.starts_with(head));
        is_only_there &= shorter.is_some() || roots.get(from).is_some_and(|root| root.path == head);
        places.extend(shorter.into_iter().chain(longer.filter(|at| sequence.fits(&roots[*at].path, 0))));
    }
    places.sort_unstable();
    places.dedup();
    (places, is_only_there)
}
