//! Divides the rows into parts: a table of exact strings, a tree or front, families, and floating rows.

use crate::maps::apart::Apart;
use crate::maps::captures;
use crate::maps::exact::Exact;
use crate::maps::families::Families;
use crate::maps::front::Front;
use crate::maps::large::LargeForms;
use crate::maps::rooted::{Placed, Rooted};
use crate::maps::row::RowFacts;
use crate::maps::sequence::Tail;
use crate::maps::stays::Stays;
use crate::maps::tree::Tree;
use crate::maps::writer::Form;
use crate::variables;

/// If at least this many rows match all single-line subjects that have their beginning, subjects with an inner newline
/// get a map of their own.
const MANY_LINES: usize = 500;

/// The fewest exact rows for a table.
const FEWEST_EXACT: usize = 3;

/// The fewest rows for a tree.
const FEWEST_IN_TREE: usize = 3;

/// The fewest rows to keep apart only because their matches may begin anywhere.
const FEWEST_APART: usize = 8;

/// The parts of a map.
#[derive(Default)]
pub struct Parts<'r> {
    pub exact: Option<Exact>,
    pub tree: Option<Tree<'r>>,
    /// The front, which is tried before the tree, and the rows that its roots lead to.
    pub front: Option<(Front, Rooted)>,
    /// The families of rows with a known beginning.
    pub families: Option<Families>,
    /// The rows without a known beginning, ascending.
    pub floating: Vec<usize>,
    /// The families of rows without a known beginning, which match a literal at the end of subjects.
    pub ends: Option<Families>,
    /// Whether only subjects without an inner newline reach the tree.
    pub in_lines: bool,
    pub order: FloatingOrder,
    /// The filters before everything but the table, for rows that are in no other part.
    pub apart: Option<Apart>,
    /// Whether floating rows of one value may share patterns.
    pub unites: bool,
}

/// Where the floating rows are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FloatingOrder {
    /// Before the tree: all rows of the tree come after them.
    Before,
    #[default]
    After,
    /// Beside the tree: numbers decide which row comes first.
    Picked,
}

impl<'r> Parts<'r> {
    /// Divides the rows. If the order of floating and other rows is mixed, rows that must not be evaluated when another
    /// one answers are kept apart, as numbers cannot decide whether such a row comes first. Fails if there is no tree, or
    /// no filter for such a row.
    ///
    /// `has_no_newline`: subjects never have a newline.
    pub fn divide(
        rows: &'r [RowFacts<'r>],
        exact: Exact,
        has_no_newline: bool,
        (folded, large): (bool, LargeForms),
    ) -> Result<Parts<'r>, Stays> {
        let (exact, left) = Parts::left(rows, exact);
        let in_lines = has_no_newline || is_worth_lines(rows, &left);
        let apart = |in_lines: bool| -> Vec<(usize, Stays)> {
            left.iter().filter_map(|row| Some((*row, shows(*row, &rows[*row], in_lines)?))).collect()
        };
        let parts = Parts::with_tree(rows, &left, in_lines, (folded, large)).ok_or(Stays::NotWorse)?;
        let parts = Parts { unites: true, ..parts };
        let shown = if parts.order == FloatingOrder::Picked { apart(in_lines) } else { Vec::new() };
        if shown.is_empty() {
            return Ok(Parts { exact, ..parts });
        }
        if !in_lines && apart(true).is_empty() {
            let parts = Parts::with_tree(rows, &left, true, (folded, large)).ok_or(Stays::NotWorse)?;
            return Ok(Parts { exact, ..parts });
        }
        let apart = Apart::of(rows, &shown, folded)?;
        let left: Vec<usize> =
            left.into_iter().filter(|row| shown.binary_search_by_key(row, |(row, _)| *row).is_err()).collect();
        let parts = Parts::with_tree(rows, &left, in_lines, (folded, large)).ok_or(Stays::NotWorse)?;
        Ok(Parts { exact, apart: Some(apart), unites: true, ..parts })
    }

    /// Keeps all rows apart whose matches may begin anywhere, and those that must not be evaluated when another one
    /// answers. A row that no filter tells from others stays with the rest, if it may. Fails if too few rows are apart.
    pub fn filtered(
        rows: &'r [RowFacts<'r>],
        exact: Exact,
        has_no_newline: bool,
        (folded, large): (bool, LargeForms),
    ) -> Result<Parts<'r>, Stays> {
        let (exact, left) = Parts::left(rows, exact);
        let in_lines = has_no_newline || is_worth_lines(rows, &left);
        let has_path = |row: usize| rows[row].beginnings.is_some() && rows[row].is_skippable;
        let reason = |row: usize| shows(row, &rows[row], in_lines);
        let mixed = left.iter().any(|&row| has_path(row));
        let wanted: Vec<(usize, Stays)> = left
            .iter()
            .filter_map(|&row| match reason(row).filter(|_| mixed) {
                None if has_path(row) => None,
                reason => Some((row, reason.unwrap_or(Stays::NotWorse))),
            })
            .collect();
        let (apart, moved) = Apart::of_most(rows, &wanted, folded)?;
        if moved.len() < FEWEST_APART {
            return Err(Stays::NotWorse);
        }
        let left: Vec<usize> = left.into_iter().filter(|row| moved.binary_search(row).is_err()).collect();
        let parts = Parts::with_tree(rows, &left, in_lines, (folded, large)).unwrap_or_else(|| Parts {
            floating: left.clone(),
            in_lines,
            ..Parts::default()
        });
        let shown = || left.iter().find_map(|&row| reason(row));
        if parts.order == FloatingOrder::Picked
            && let Some(reason) = shown()
        {
            return Err(reason);
        }
        Ok(Parts { exact, apart: Some(apart), unites: true, ..parts })
    }

    /// Puts all rows that are not in the table into a chain.
    pub fn chained(rows: &'r [RowFacts<'r>], exact: Exact, has_no_newline: bool) -> Parts<'r> {
        let (exact, floating) = Parts::left(rows, exact);
        Parts { exact, floating, in_lines: has_no_newline, ..Parts::default() }
    }

    /// As [`Parts::chained`], but rows of one value share patterns.
    pub fn united(rows: &'r [RowFacts<'r>], exact: Exact, has_no_newline: bool) -> Parts<'r> {
        Parts { unites: true, ..Parts::chained(rows, exact, has_no_newline) }
    }

    /// The form of the maps of these parts.
    pub fn form(&self, folded: bool, large: LargeForms) -> Form {
        Form { folded, in_lines: self.in_lines, is_picked: self.order == FloatingOrder::Picked, large }
    }

    /// Returns the table, if it has enough rows, and the rows that are not in it.
    fn left(rows: &[RowFacts], exact: Exact) -> (Option<Exact>, Vec<usize>) {
        let exact = Some(exact).filter(|exact| exact.row_count() >= FEWEST_EXACT);
        let is_left = |row: &usize| exact.as_ref().is_none_or(|exact| !exact.holds[*row]);
        let left = (0..rows.len()).filter(is_left).collect();
        (exact, left)
    }

    fn with_tree(
        rows: &'r [RowFacts<'r>],
        left: &[usize],
        in_lines: bool,
        (folded, large): (bool, LargeForms),
    ) -> Option<Parts<'r>> {
        let has_path = |row: &&usize| rows[**row].beginnings.is_some() && rows[**row].is_skippable;
        let (members, mut floating): (Vec<usize>, Vec<usize>) = left.iter().partition(has_path);
        if members.len() < FEWEST_IN_TREE {
            return None;
        }
        let many = members.len();
        if !folded && let Some((families, left_over)) = Families::of_beginnings(rows, &members, large) {
            let (tree, mut scattered) = Parts::small_tree(rows, left_over, in_lines, large);
            floating.append(&mut scattered);
            let parts = Parts { families: Some(families), tree, floating, in_lines, ..Parts::default() };
            return Some(Parts::ordered(rows, left, parts, large));
        }
        let choose = |count: usize| {
            let front = Front::choose(rows, (&members, count), in_lines, large)?;
            Some((front.without(rows, &members), front))
        };
        let has_tree = |(rest, _): &(Vec<usize>, _)| rest.len() >= FEWEST_IN_TREE;
        let chosen = if folded { None } else { choose(many) };
        let chosen = match chosen {
            // The last rows are left for the tree.
            Some(chosen) if !has_tree(&chosen) => choose(many - FEWEST_IN_TREE).filter(has_tree),
            chosen => chosen,
        };
        let Some((rest, front)) = chosen else {
            let (tree, mut scattered) = Tree::new(rows, members, in_lines, (many, large))?;
            floating.append(&mut scattered);
            let parts = Parts { tree: Some(tree), floating, in_lines, ..Parts::default() };
            return Some(Parts::ordered(rows, left, parts, large));
        };
        let Placed { mut rooted, mut others, mut scattered } = Rooted::place(rows, &rest, &front);
        let new = || Tree::new(rows, others.clone(), in_lines, (many, large));
        let tree = match if others.is_empty() { None } else { new() } {
            Some((tree, mut more)) => {
                scattered.append(&mut more);
                Some(tree)
            }
            None => {
                scattered.append(&mut others);
                None
            }
        };
        scattered.sort_unstable();
        rooted.leave(&scattered);
        floating.append(&mut scattered);
        let parts = Parts { front: Some((front, rooted)), tree, floating, in_lines, ..Parts::default() };
        Some(Parts::ordered(rows, left, parts, large))
    }

    /// Sorts the floating rows, decides where they are tried, and finds the families among them.
    fn ordered(rows: &[RowFacts], left: &[usize], mut parts: Parts<'r>, large: LargeForms) -> Parts<'r> {
        parts.floating.sort_unstable();
        parts.order = order(left.iter().filter(|row| parts.floating.binary_search(row).is_err()), &parts.floating);
        // Rows that come after a tree are tried in each of its leaves.
        if parts.order != FloatingOrder::After
            && let Some((ends, others)) = Families::of_ends(rows, &parts.floating, large)
        {
            (parts.ends, parts.floating) = (Some(ends), others);
        }
        parts
    }

    /// Builds a tree of the rows that the families leave, and returns it with the rows that do not fit into it. If no
    /// tree can be built, for example from too few rows, all rows are returned. They become floating rows.
    fn small_tree(
        rows: &'r [RowFacts<'r>],
        members: Vec<usize>,
        in_lines: bool,
        large: LargeForms,
    ) -> (Option<Tree<'r>>, Vec<usize>) {
        let many = members.len();
        let has_enough = many >= FEWEST_IN_TREE;
        let tree = if has_enough { Tree::new(rows, members.clone(), in_lines, (many, large)) } else { None };
        tree.map_or((None, members), |(tree, scattered)| (Some(tree), scattered))
    }
}

/// Decides where the floating rows are tried. `others` are the rows that are not floating, ascending.
fn order<'o>(mut others: impl Iterator<Item = &'o usize>, floating: &[usize]) -> FloatingOrder {
    let Some(first) = others.next() else { return FloatingOrder::After };
    let last = others.last().unwrap_or(first);
    if floating.iter().all(|row| row > last) {
        FloatingOrder::After
    } else if floating.iter().all(|row| row < first) {
        FloatingOrder::Before
    } else {
        FloatingOrder::Picked
    }
}

/// Whether subjects with an inner newline are worth a map of their own: many rows match all other subjects that have
/// their beginning, and few rows may match a subject with an inner newline.
fn is_worth_lines(rows: &[RowFacts], left: &[usize]) -> bool {
    let is_line = |row: &&usize| {
        let row = &rows[**row];
        row.is_plain && row.beginnings.as_ref().is_some_and(|beginnings| beginnings.tail == Tail::Line)
    };
    let many = left.iter().filter(is_line).count() >= MANY_LINES;
    many && 2 * rows.iter().filter(|row| row.spans_lines).count() <= rows.len()
}

/// Returns why a row must not be evaluated when another one answers, or `None` if it may: PCRE may give up on it, or it
/// sets or reads other variables.
fn shows(number: usize, row: &RowFacts, in_lines: bool) -> Option<Stays> {
    if !row.is_certain_here(in_lines) {
        return Some(Stays::UnboundedRow(number));
    }
    let is_own = |name: &[u8]| name.first().is_some_and(u8::is_ascii_digit) || variables::keeps_captures(name);
    let shows = captures::names_a_group(&row.row.pattern) || !captures::variables(&row.row.value).all(is_own);
    shows.then_some(Stays::ShowingRow(number))
}

#[cfg(test)]
mod tests {
    use super::{FloatingOrder, Parts};
    use crate::maps::exact::Exact;
    use crate::maps::example::with_rows;
    use crate::maps::large::LargeForms;
    use crate::maps::stays::Stays;

    fn divide(texts: &[&str]) -> Result<(FloatingOrder, Vec<usize>, bool), Stays> {
        with_rows(texts, false, |_, rows| {
            let parts = Parts::divide(rows, Exact::none(rows.len()), false, (false, LargeForms::USUAL))?;
            Ok((parts.order, parts.floating, parts.in_lines))
        })
    }

    const TREE: [&str; 3] = ["~^/a/ 1;", "~^/b/ 2;", "~^/c/ 3;"];

    /// Floating rows come after the tree or before it as in the original, or numbers decide.
    #[test]
    fn order() {
        assert_eq!(divide(&[&TREE[..], &["~x 4;"]].concat()), Ok((FloatingOrder::After, vec![3], false)));
        assert_eq!(divide(&[&["~x 4;"], &TREE[..]].concat()), Ok((FloatingOrder::Before, vec![0], false)));
        assert_eq!(divide(&[&TREE[..2], &["~x 4;"], &TREE[2..]].concat()), Ok((FloatingOrder::Picked, vec![2], false)));
    }

    /// A row whose evaluation has an effect is kept apart, unless a map for subjects with a newline helps. Numbers cannot
    /// be used if no pattern tells it from others.
    #[test]
    fn evaluated_for_nothing() {
        let with = |row: &str| divide(&[&TREE[..2], &["~x 4;", row], &TREE[2..]].concat());
        assert_eq!(with("~^/d/.*/e.*$ 5;"), Ok((FloatingOrder::Picked, vec![2], true)));
        for row in ["~^/d/.*/e.*f 5;", "~^/d/ $other;", "~^/d/(?<d>x) 5;"] {
            assert_eq!(with(row), Ok((FloatingOrder::Picked, vec![2], false)), "{row}");
        }
        assert_eq!(with("~^/(?<d>.*)$ 5;"), Err(Stays::ShowingRow(3)));
        assert_eq!(with("'~^/d/(x)' $1$host;"), Ok((FloatingOrder::Picked, vec![2], false)));
    }
}
