//! From a map to the maps that take its patterns over.

use hashbrown::HashMap;

use crate::first_match::FirstMatch;
use crate::map_block::MapBlock;
use crate::maps::captures::Groups;
use crate::maps::chain::Chain;
use crate::maps::cost::Cost;
use crate::maps::exact::Exact;
use crate::maps::pattern::{LONGEST, beginning_with, token_length};
use crate::maps::pick;
use crate::maps::row::{self, Row};
use crate::maps::sequence::{Sequence, Tail};
use crate::maps::text::{Key, Map};
use crate::maps::tree::Tree;
use crate::maps::writer::{DIGITS, Writer};
use crate::quote;

/// What a compilation is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the names of all new variables start with: small letters, digits and underscores.
    pub stem: String,
}

/// The maps that take over the patterns of a map.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// The new maps.
    pub maps: Vec<Map>,
    /// The value that the default of the map becomes.
    pub default: Vec<u8>,
    /// A row that has to stand before all others with patterns, which then stay where they are.
    pub guard: Option<(Key, Vec<u8>)>,
    pub shape: Shape,
    /// Patterns tried for a subject that no row matches.
    pub cost: Cost,
}

impl Compiled {
    /// The text of the new maps.
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.maps.iter().for_each(|map| map.write(&mut text));
        text
    }

    /// The names of the variables that the new maps define, those of groups included.
    pub fn variables(&self) -> Vec<&[u8]> {
        let groups = self.maps.iter().flat_map(Map::groups);
        let mut names: Vec<&[u8]> = self.maps.iter().map(|map| &*map.name).chain(groups).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The keys of the table of each new map that has one.
    pub fn keys(&self) -> Vec<Vec<Vec<u8>>> {
        let keys = self.maps.iter().map(|map| map.rows.iter().filter_map(|(key, _)| key.exact().cloned()).collect());
        keys.filter(|keys: &Vec<Vec<u8>>| !keys.is_empty()).collect()
    }

    /// The row for the default of the map, as text: nothing if the default is empty.
    pub fn default_row(&self) -> Vec<u8> {
        let mut text = Vec::new();
        if !self.default.is_empty() {
            text.extend_from_slice(b"default ");
            quote::quote(&self.default, &mut text);
            text.push(b';');
        }
        text
    }

    /// The guard, as text.
    pub fn guard_row(&self) -> Option<Vec<u8>> {
        let (key, value) = self.guard.as_ref()?;
        let mut text = Vec::new();
        key.write(&mut text);
        text.push(b' ');
        quote::quote(value, &mut text);
        text.push(b';');
        Some(text)
    }
}

/// How the rows were divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    pub rows: usize,
    pub exact: usize,
    pub in_tree: usize,
    pub floating: usize,
    pub buckets: usize,
    pub leaves: usize,
    /// Whether subjects with a newline inside have a map of their own.
    pub lines: bool,
    /// Whether numbers tell which of two rows comes first.
    pub pick: bool,
}

/// Why a map stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// It has no patterns, or so few that nothing is gained.
    NotWorse,
    /// Its default holds what a regex has captured.
    DefaultCaptures,
    /// PCRE may give up on this row, and rows are tried in an order where that would show.
    UnboundedRow(usize),
    /// Which of two rows comes first has to be told by numbers, and a row that comes second would set its named groups.
    NamedGroups,
    /// The maps would nest deeper than nginx evaluates.
    TooDeep,
    /// A token would be too long for nginx.
    LongToken,
    /// More rows than numbers have digits for.
    TooManyRows,
}

impl Stays {
    /// A word for the reason.
    pub fn code(self) -> &'static str {
        match self {
            Stays::NotWorse => "not-worse",
            Stays::DefaultCaptures => "default-captures",
            Stays::UnboundedRow(_) => "unbounded-row",
            Stays::NamedGroups => "named-groups",
            Stays::TooDeep => "too-deep",
            Stays::LongToken => "long-token",
            Stays::TooManyRows => "too-many-rows",
        }
    }

    /// The row it is about, from 0.
    pub fn row(self) -> Option<usize> {
        match self {
            Stays::UnboundedRow(row) => Some(row),
            _ => None,
        }
    }
}

/// From this many rows that match all lines that begin with something, it is worth it to send subjects of more lines
/// another way.
const MANY_LINES: usize = 500;

/// So many exact rows have a table.
const FEWEST_EXACT: usize = 3;

/// So many rows make a tree.
const FEWEST_IN_TREE: usize = 3;

/// Compiles a map. O(n log n) in its rows; the same map gives the same bytes.
pub fn compile(map: &MapBlock, options: &Options) -> Result<Compiled, Stays> {
    let groups = Groups::of(map);
    if groups.are_in(map.fallback()) {
        return Err(Stays::DefaultCaptures);
    }
    if map.patterns.len() >= 10usize.pow(DIGITS as u32) {
        return Err(Stays::TooManyRows);
    }
    let caseless = map.patterns.iter().filter(|row| row.caseless || row.pattern.starts_with(b"(?i)")).count();
    let folded = 2 * caseless > map.patterns.len();
    compile_as(map, options, &groups, folded)
}

fn compile_as(map: &MapBlock, options: &Options, groups: &Groups, folded: bool) -> Result<Compiled, Stays> {
    let rows = row::read(map, groups, folded);
    let texts: Vec<&[u8]> = rows.iter().map(|row| &*row.text).collect();
    let Ok(first) = FirstMatch::new(&texts) else { return Err(Stays::TooManyRows) };
    let exact = if map.hostnames { Exact::none(rows.len()) } else { Exact::choose(&rows, &first) };
    let parts = Parts::divide(&rows, exact)?;
    let mut compiled = parts.write(map, &rows, options, folded)?;
    if !compiled.maps.iter().all(Map::has_short_tokens) {
        return Err(Stays::LongToken);
    }
    if depth(&compiled.maps) > DEEPEST {
        return Err(Stays::TooDeep);
    }
    compiled.cost = Cost::of(&compiled, &rows, &first, &map.source);
    let is_better = compiled.cost.far < rows.len() && compiled.cost.near < rows.len();
    if is_better { Ok(compiled) } else { Err(Stays::NotWorse) }
}

/// How many of the new maps may be evaluated inside one another: nginx evaluates at most 100 variables so
/// (`ngx_http_variable_depth`), and beyond that gives nothing.
const DEEPEST: usize = 40;

/// How many of the maps are evaluated inside one another at most; each names only those before it.
fn depth(maps: &[Map]) -> usize {
    let mut depths: HashMap<&[u8], usize> = HashMap::new();
    for map in maps {
        let values = map.rows.iter().map(|(_, value)| value).chain([&map.default, &map.source]);
        let variables = values.flat_map(|value| value.split(|byte| *byte == b'$').skip(1));
        let known = |text: &[u8]| {
            let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            let end = text.iter().position(|byte| !is_of_name(byte)).unwrap_or(text.len());
            depths.get(&text[..end]).copied().unwrap_or(0)
        };
        let depth = 1 + variables.map(known).max().unwrap_or(0);
        depths.insert(&map.name, depth);
    }
    depths.into_values().max().unwrap_or(0)
}

/// The rows, divided.
struct Parts<'r> {
    exact: Option<Exact>,
    tree: Option<Tree<'r>>,
    /// The rows that no beginning bounds, ascending.
    floating: Vec<usize>,
    /// Whether subjects with a newline inside go another way.
    lines: bool,
}

/// Where the floating rows are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Before,
    After,
    Picked,
}

impl<'r> Parts<'r> {
    fn divide(rows: &'r [Row<'r>], exact: Exact) -> Result<Parts<'r>, Stays> {
        let exact = Some(exact).filter(|exact| exact.row_count() >= FEWEST_EXACT);
        let is_left = |row: &usize| exact.as_ref().is_none_or(|exact| !exact.holds[*row]);
        let has_path = |row: &usize| rows[*row].beginnings.is_some() && rows[*row].is_skippable;
        let (members, mut floating): (Vec<usize>, Vec<usize>) = (0..rows.len()).filter(is_left).partition(has_path);
        let lines = is_worth_lines(rows, &members);
        let mut tree = None;
        if members.len() >= FEWEST_IN_TREE {
            let Ok((planned, scattered)) = Tree::new(rows, members, lines) else { return Err(Stays::NotWorse) };
            floating.extend(scattered);
            tree = Some(planned);
        } else {
            floating.extend(members);
        }
        floating.sort_unstable();
        Ok(Parts { exact, tree, floating, lines })
    }

    fn order(&self) -> Order {
        let members = self.tree.as_ref().map_or(&[][..], |tree| &tree.members);
        let (Some(first), Some(last)) = (members.first(), members.last()) else { return Order::After };
        if self.floating.iter().all(|row| row > last) {
            Order::After
        } else if self.floating.iter().all(|row| row < first) {
            Order::Before
        } else {
            Order::Picked
        }
    }

    /// Writes the levels, the last first, as each names the next.
    fn write(&self, map: &MapBlock, rows: &[Row], options: &Options, folded: bool) -> Result<Compiled, Stays> {
        let order = self.order();
        let fragile = |row: &usize| !rows[*row].is_certain;
        let members = self.tree.as_ref().map_or(&[][..], |tree| &tree.members);
        if order == Order::Picked
            && let Some(row) = members.iter().chain(&self.floating).copied().find(fragile)
        {
            return Err(Stays::UnboundedRow(row));
        }
        let mut writer =
            Writer { map, rows, stem: &options.stem, folded, is_numbered: order == Order::Picked, maps: Vec::new() };
        let mut shape = Shape {
            rows: rows.len(),
            exact: self.exact.as_ref().map_or(0, Exact::row_count),
            in_tree: members.len(),
            floating: self.floating.len(),
            lines: self.lines,
            pick: order == Order::Picked,
            ..Shape::default()
        };
        let mut next = writer.fallback();
        let floats = match order {
            Order::Before => Vec::new(),
            Order::After | Order::Picked => self.write_floating(&mut writer, &next),
        };
        if order == Order::After {
            next.clone_from(&floats);
        }
        if let Some(tree) = &self.tree {
            let Ok(outcome) = tree.write(&mut writer, &next) else { return Err(Stays::NotWorse) };
            (shape.buckets, shape.leaves) = (outcome.buckets, outcome.leaves);
            next = outcome.variable;
        }
        if order == Order::Before {
            next = self.write_floating(&mut writer, &next);
        }
        if order == Order::Picked {
            next = pick::write(&mut writer, &next, &floats);
        }
        if let Some(exact) = &self.exact {
            next = exact.write(&mut writer, &next);
        }
        if self.lines {
            next = write_lines(&mut writer, &next);
        }
        Ok(Compiled { maps: writer.maps, default: next, guard: None, shape, cost: Cost::default() })
    }

    fn write_floating(&self, writer: &mut Writer, next: &[u8]) -> Vec<u8> {
        Chain::write(writer, "float", &self.floating, next)
    }
}

/// Whether many rows match all that begins like them but for a newline inside, and few could match that.
fn is_worth_lines(rows: &[Row], members: &[usize]) -> bool {
    let is_line = |row: &&usize| {
        let row = &rows[**row];
        row.is_plain && row.beginnings.as_ref().is_some_and(|beginnings| beginnings.tail == Tail::Line)
    };
    let many = members.iter().filter(is_line).count() >= MANY_LINES;
    many && 2 * rows.iter().filter(|row| row.spans_lines).count() <= rows.len()
}

/// Sends subjects with a newline inside to the rows that may match one.
fn write_lines(writer: &mut Writer, next: &[u8]) -> Vec<u8> {
    writer.is_numbered = false;
    let mut rows = writer.of_source("newline");
    let spanning = (0..writer.rows.len()).filter(|row| writer.rows[*row].spans_lines);
    rows.rows = spanning.map(|row| writer.verbatim(row)).collect();
    rows.default = writer.fallback();
    let rows = writer.add(rows);
    let mut lines = writer.of_source("lines");
    lines.rows.push((Key::Pattern { pattern: br"(?s)\n.".to_vec(), caseless: false }, rows));
    lines.default = next.to_vec();
    writer.add(lines)
}

/// A row that answers at once where no row can match, for a map of few rows.
pub fn guard(rows: &[Row], folded: bool, fallback: &[u8]) -> Option<(Key, Vec<u8>)> {
    if !rows.iter().all(|row| row.beginnings.is_some() && row.is_skippable) {
        return None;
    }
    let sequences: Vec<&Sequence> = rows.iter().flat_map(Row::sequences).collect();
    let pattern = [b"^(?!", &*beginning_with(&sequences, folded)?, b")"].concat();
    let fits = token_length(&pattern) + b"~*".len() <= LONGEST;
    fits.then(|| (Key::Pattern { pattern, caseless: folded }, fallback.to_vec()))
}
