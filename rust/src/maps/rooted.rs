//! Leads from the beginnings that the patterns of a table know to the other rows that may match there.
//!
//! Behind a [`front`](crate::maps::front) few rows are left, and the beginning of a subject is known from it, so that most
//! subjects need no tree to find the rows that may match them.

use crate::maps::bucket::MOST_COPIES;
use crate::maps::front::Front;
use crate::maps::row::RowFacts;
use crate::maps::sequence::Sequence;
use crate::maps::text::{EmittedMap, Key};
use crate::maps::tree::{LARGEST_LEAF, Leaves};
use crate::maps::writer::Writer;

/// The most rows of a beginning: more are divided by a tree.
const MOST_ROWS: usize = 2 * LARGEST_LEAF;

/// The rows by the beginnings of a table.
pub struct Rooted {
    roots: Vec<Root>,
}

/// A beginning, and the rows that may match a subject with it, ascending.
struct Root {
    path: Vec<u8>,
    rows: Vec<usize>,
}

/// Rows by where they are tried.
pub struct Placed {
    pub rooted: Rooted,
    /// The rows that may match where no known beginning leads to them.
    pub others: Vec<usize>,
    /// The rows that belong in too many places.
    pub scattered: Vec<usize>,
}

impl Rooted {
    /// Places some rows. A beginning with too many rows is left to the others.
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

    /// Takes rows out.
    pub fn leave(&mut self, rows: &[usize]) {
        self.roots.iter_mut().for_each(|root| root.rows.retain(|row| rows.binary_search(row).is_err()));
    }

    /// How many rows have a place.
    pub fn count(&self) -> usize {
        let mut rows: Vec<usize> = self.roots.iter().flat_map(|root| &root.rows).copied().collect();
        rows.sort_unstable();
        rows.dedup();
        rows.len()
    }

    /// Writes the maps. `next` is the value where no row matches, and `others` that for all other beginnings. Returns the
    /// variable that has the answer.
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

/// The beginnings with which a subject may begin like one of the sequences, ascending, and whether all such subjects
/// begin with one of them. None of the beginnings begins with another.
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
