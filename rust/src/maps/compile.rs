//! Compiles a map: writes the maps that replace its patterns, if they cost less.

use std::collections::HashMap;

use crate::collisions;
use crate::first_match::{FirstMatch, ReadPatterns};
use crate::map_block::MapBlock;
use crate::maps::captures::CaptureNames;
use crate::maps::chain::ChainWriter;
use crate::maps::compiled::{Compiled, Shape};
use crate::maps::cost::Cost;
use crate::maps::exact::Exact;
use crate::maps::families::Families;
use crate::maps::large::LargeForms;
use crate::maps::lines;
use crate::maps::parts::{FloatingOrder, Parts};
use crate::maps::pick::{self, Picked};
use crate::maps::row::{self, RowFacts};
use crate::maps::stays::Stays;
use crate::maps::text::EmittedMap;
use crate::maps::words;
use crate::maps::writer::{DIGITS, Writer};
use crate::parallel;
use crate::variables;
use crate::work::attempt;

/// How deep the new maps may be nested below the map itself. nginx nests at most 100 evaluations of variables
/// (`ngx_http_variable_depth`), including those of the rest of the configuration; deeper values are empty.
const DEEPEST: usize = 39;

/// The fewest rows that share patterns, and how many rows there are for each pattern at least.
const FEWEST_UNITED: usize = 12;
const UNITED: usize = 4;

/// Filters before a list are not tried if a miss tries at most this many patterns without them, or one in so many.
const FEW: usize = 4;
const SHARE: usize = 32;

/// From this many rows on, the maps are checked and their cost is measured in parallel.
const MANY: usize = 512;

/// Compiles a map whose patterns [`row::read_patterns`] has read. O(n log n) in its rows. The same map always gives the
/// same bytes.
///
/// The names of all new variables start with `stem`, which has only small letters, digits and underscores.
pub fn compile(map: &MapBlock, patterns: &ReadPatterns, stem: &str) -> Result<Compiled, Stays> {
    compile_with(map, patterns, stem, LargeForms::USUAL)
}

/// As [`compile`], with other sizes from which on the forms for large lists are used.
pub fn compile_with(map: &MapBlock, patterns: &ReadPatterns, stem: &str, large: LargeForms) -> Result<Compiled, Stays> {
    compiled((map, patterns), stem, Options { keeps_captures: false, others: None, large })
}

/// As [`compile`], for a map that is tried beside other patterns. The cost leaves out the misses that one of these
/// patterns matches.
pub fn compile_beside(
    map: &MapBlock,
    patterns: &ReadPatterns,
    stem: &str,
    others: &FirstMatch,
) -> Result<Compiled, Stays> {
    compiled((map, patterns), stem, Options { keeps_captures: false, others: Some(others), large: LargeForms::USUAL })
}

/// As [`compile`], but evaluating the new maps leaves the same captures as evaluating the original.
pub fn compile_keeping_captures(map: &MapBlock, patterns: &ReadPatterns, stem: &str) -> Result<Compiled, Stays> {
    compiled((map, patterns), stem, Options { keeps_captures: true, others: None, large: LargeForms::USUAL })
}

/// How a map is compiled.
struct Options<'o> {
    keeps_captures: bool,
    /// Patterns that are tried beside the map.
    others: Option<&'o FirstMatch>,
    large: LargeForms,
}

fn compiled(
    (map, patterns): (&MapBlock, &ReadPatterns),
    stem: &str,
    Options { keeps_captures, others, large }: Options,
) -> Result<Compiled, Stays> {
    let groups = CaptureNames::of(map);
    if groups.are_in(map.fallback()) || groups.are_in(&map.source) {
        return Err(Stays::OutsideCaptures);
    }
    if map.patterns.len() >= 10usize.pow(DIGITS as u32) {
        return Err(Stays::TooManyRows);
    }
    let caseless = map.patterns.iter().filter(|row| row.caseless || row.pattern.starts_with(b"(?i)")).count();
    let folded = 2 * caseless > map.patterns.len();
    let (rows, first) =
        parallel::both_of(map.patterns.len(), || row::facts(map, patterns, &groups, folded), || patterns.first());
    let first = first.ok_or(Stays::TooManyRows)?;
    let has_no_newline = variables::has_no_newline(&map.source);
    if keeps_captures {
        let parts = Parts::chained(&rows, Exact::none(rows.len()), has_no_newline);
        let compiled = write_keeping(&parts, Writer::new(map, &rows, stem, parts.form(folded, large)))?;
        return checked(compiled, &rows, (first, others), &map.source);
    }
    let exact = if map.hostnames { Exact::none(rows.len()) } else { Exact::choose(&rows, first) };
    let plan = |parts: Parts| {
        let compiled = write(&parts, Writer::new(map, &rows, stem, parts.form(folded, large)));
        checked(compiled, &rows, (first, others), &map.source)
            .map(|compiled| compiled.with_guard_in_place(map.fallback()))
    };
    let tree = Parts::divide(&rows, exact.clone(), has_no_newline, (folded, large)).and_then(plan);
    let found = if tree.is_ok() && rows.len() >= large.rows {
        tree
    } else {
        let chain = plan(Parts::chained(&rows, exact.clone(), has_no_newline));
        let united = || plan(Parts::united(&rows, exact.clone(), has_no_newline));
        cheapest(cheaper(tree, chain), have_one_value(&rows).then(|| attempt(united)).flatten())
    };
    let is_short = |compiled: &Compiled| compiled.cost.far <= FEW.max(rows.len() / SHARE);
    let filtered = || Parts::filtered(&rows, exact, has_no_newline, (folded, large)).and_then(plan);
    let may_filter = !found.as_ref().is_ok_and(is_short);
    cheapest(found, may_filter.then(|| attempt(filtered)).flatten())
}

/// Whether enough rows have the same value to share patterns.
fn have_one_value(rows: &[RowFacts]) -> bool {
    let mut counts: HashMap<&[u8], usize> = HashMap::new();
    rows.iter().any(|row| {
        let count = counts.entry(&row.row.value).or_default();
        *count += 1;
        *count >= FEWEST_UNITED
    })
}

/// As [`cheaper`], for a form that is not for all lists: why it fails is no reason, and neither is how long it takes.
fn cheapest(found: Result<Compiled, Stays>, other: Option<Result<Compiled, Stays>>) -> Result<Compiled, Stays> {
    match (found, other) {
        (Ok(found), Some(other)) => cheaper(Ok(found), other),
        (Err(reason), Some(other)) => other.map_err(|_| reason),
        (found, None) => found,
    }
}

/// Returns the result that tries fewer patterns. If both failed, returns the reason against the tree, or that against
/// the chain if the tree was merely no cheaper.
fn cheaper(tree: Result<Compiled, Stays>, chain: Result<Compiled, Stays>) -> Result<Compiled, Stays> {
    let rank = |compiled: &Compiled| {
        let Cost { far, near, worst, hit } = compiled.cost;
        (2 * far + 2 * near + worst + 2 * hit, compiled.maps.len())
    };
    match (tree, chain) {
        (Ok(tree), Ok(chain)) => Ok(if rank(&chain) < rank(&tree) { chain } else { tree }),
        (Ok(compiled), Err(_)) | (Err(_), Ok(compiled)) => Ok(compiled),
        (Err(Stays::NotWorse), Err(reason)) | (Err(reason), Err(_)) => Err(reason),
    }
}

/// Returns the maps with their cost, if nginx can read them and they try fewer patterns than there are rows.
fn checked(
    mut compiled: Compiled,
    rows: &[RowFacts],
    indexes: (&FirstMatch, Option<&FirstMatch>),
    source: &[u8],
) -> Result<Compiled, Stays> {
    // This comes first: measuring a chain of thousands of nested maps would exhaust the stack.
    if compiled.depth() > DEEPEST {
        return Err(Stays::TooDeep);
    }
    let measure = || Cost::of((&compiled.maps, &compiled.default), rows, indexes, source);
    let (read, cost) =
        if rows.len() < MANY { (check(&compiled), measure()) } else { parallel::both(|| check(&compiled), measure) };
    read?;
    compiled.cost = cost;
    if cost.far < rows.len() && cost.near < rows.len() { Ok(compiled) } else { Err(Stays::NotWorse) }
}

/// Checks that nginx can read the maps.
fn check(compiled: &Compiled) -> Result<(), Stays> {
    if !compiled.maps.iter().all(EmittedMap::has_short_tokens) {
        return Err(Stays::LongToken);
    }
    if compiled.keys().iter().any(|keys| collisions::overload(keys)) {
        return Err(Stays::HashCollision);
    }
    Ok(())
}

/// Writes all rows as a chain whose guards match only if a row does.
fn write_keeping(parts: &Parts, mut writer: Writer) -> Result<Compiled, Stays> {
    let shape = Shape { rows: writer.rows.len(), floating: parts.floating.len(), ..Shape::default() };
    let fallback = writer.fallback();
    let default = ChainWriter::write_keeping(&mut writer, "float", &parts.floating, &fallback);
    let default = default.ok_or(Stays::SetsCaptures)?;
    Ok(Compiled { maps: writer.maps, default, guard: None, shape, cost: Cost::default() })
}

/// Writes the levels from last to first, because each one refers to the next.
fn write(parts: &Parts, mut writer: Writer) -> Compiled {
    let has_keys = parts.tree.is_some() || parts.front.is_some();
    let lines = has_keys && parts.in_lines && !variables::has_no_newline(&writer.map.source);
    let mut shape = Shape {
        rows: writer.rows.len(),
        exact: parts.exact.as_ref().map_or(0, Exact::row_count),
        in_tree: parts.tree.as_ref().map_or(0, |tree| tree.members.len()),
        floating: parts.floating.len() + parts.ends.as_ref().map_or(0, Families::count),
        lines,
        pick: parts.order == FloatingOrder::Picked,
        ..Shape::default()
    };
    let fallback = writer.fallback();
    // If one guard covers all floating rows, it can be tried before everything else.
    let only_ends = parts
        .ends
        .as_ref()
        .filter(|ends| parts.order == FloatingOrder::Picked && parts.floating.is_empty() && ends.have_few_endings());
    let floating = |writer: &mut Writer, next: &[u8]| match (only_ends, &parts.ends) {
        (Some(ends), _) => ends.write_tables(writer, next),
        (None, ends) => {
            let next = write_floating(writer, parts, next);
            ends.as_ref().map_or(next.clone(), |ends| ends.write(writer, &next))
        }
    };
    let after = if parts.order == FloatingOrder::Before { fallback.clone() } else { floating(&mut writer, &fallback) };
    let mut next = if parts.order == FloatingOrder::After { after.clone() } else { fallback };
    let end = next.clone();
    if let Some(tree) = &parts.tree {
        let outcome = tree.write(&mut writer, &next);
        (shape.buckets, shape.leaves) = (outcome.buckets, outcome.leaves);
        next = outcome.variable;
    }
    if let Some((front, rooted)) = &parts.front {
        shape.in_tree += front.count() + rooted.count();
        next = rooted.write(&mut writer, &end, &next);
        next = front.write(&mut writer, &next);
    }
    if let Some(families) = &parts.families {
        shape.in_tree += families.count();
        next = families.write(&mut writer, &next);
    }
    match parts.order {
        FloatingOrder::Before => next = floating(&mut writer, &next),
        FloatingOrder::Picked => {
            let Picked { all, tree } = pick::write(&mut writer, &next, &after, only_ends.is_some());
            let guarded = only_ends.and_then(|ends| ends.write_guard(&mut writer, all.clone(), tree));
            next = guarded.unwrap_or(all);
        }
        FloatingOrder::After => {}
    }
    if let Some(apart) = &parts.apart {
        next = apart.write(&mut writer, &next);
    }
    if let Some(exact) = &parts.exact {
        next = exact.write(&mut writer, &next);
    }
    if lines {
        next = lines::write(&mut writer, &next);
    }
    Compiled { maps: writer.maps, default: next, guard: None, shape, cost: Cost::default() }
}

/// Writes the floating rows: as few patterns if those of one value may share them, and otherwise as a chain.
fn write_floating(writer: &mut Writer, parts: &Parts, next: &[u8]) -> Vec<u8> {
    let rows = &parts.floating;
    let may_unite = parts.unites && rows.len() >= FEWEST_UNITED;
    let patterns = if may_unite { words::patterns(writer, rows) } else { None };
    match patterns.filter(|patterns| patterns.len() * UNITED <= rows.len()) {
        Some(patterns) => words::write(writer, "words", patterns, rows, next),
        None => ChainWriter::write(writer, "float", rows, next),
    }
}

#[cfg(test)]
mod tests {
    use super::{DEEPEST, checked};
    use crate::first_match::FirstMatch;
    use crate::maps::compiled::Compiled;
    use crate::maps::example::with_rows;
    use crate::maps::stays::Stays;
    use crate::maps::text::EmittedMap;

    /// Maps that are nested too deeply are refused before they are run, which would exhaust the stack.
    #[test]
    fn depth() {
        let patterns: [&[u8]; 2] = [b"a", b"b"];
        let outcome = |depth: usize| {
            let variable = |at: usize| if at == 0 { Vec::new() } else { format!("$level{at}").into_bytes() };
            let map = |at: usize| EmittedMap {
                source: b"$uri".to_vec(),
                name: variable(at)[1..].to_vec(),
                default: variable(at - 1),
                ..EmittedMap::default()
            };
            let compiled =
                Compiled { maps: (1..=depth).map(map).collect(), default: variable(depth), ..Compiled::default() };
            let first = FirstMatch::new(&patterns).unwrap();
            with_rows(&["~a 1;", "~b 2;"], false, |_, rows| checked(compiled, rows, (&first, None), b"$uri").err())
        };
        assert_eq!(outcome(DEEPEST), None);
        assert_eq!(outcome(DEEPEST + 1), Some(Stays::TooDeep));
        assert_eq!(outcome(100_000), Some(Stays::TooDeep));
    }
}
