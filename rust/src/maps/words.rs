//! Writes rows that have one value and differ only in literals as few patterns: `~*\bword\b 1; ~*\bother\b 1;` become
//! `~*\b(?:other|word)\b 1;`.
//!
//! The *frame* of a row is what stands around its literals. Rows of one value may be tried in any order, so those with
//! the same frame are sorted by their literals, and each pattern holds as many neighbours as a token can: they begin
//! with few different bytes, and PCRE skips all places of a subject with another byte.

use hashbrown::{HashMap, HashSet};

use crate::first_match::Bounds;
use crate::maps::row::RowFacts;
use crate::maps::text::{EmittedMap, Key};
use crate::maps::trie::{NestedAlternatives, Trie};
use crate::maps::union::{branches, ignores_case, letter, write_items};
use crate::maps::writer::{Numbers, Writer};
use crate::pattern_text::{DEEPEST, LONGEST, most, token_length};
use crate::syntax::{self, Ast, ByteSet};
use crate::work::spend;

/// The text around a pattern.
const FRAME: &[u8] = b"~*(?:)";

/// Stands for a dot in a literal, as in `a.example`, which often is not escaped. No pattern has this byte.
const DOT: u8 = 0;

/// The most literals of a row.
const MOST_LITERALS: usize = 64;

/// What stands around the literals of a row.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Frame {
    before: Vec<Ast>,
    after: Vec<Ast>,
    /// Whether PCRE ignores case. The literals are then in lower case.
    caseless: bool,
}

/// A row, divided into its frame and literals.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Framed {
    frame: Frame,
    /// Ascending and distinct.
    literals: Vec<Vec<u8>>,
}

/// The keys and values of a map in place of rows.
pub type Patterns = Vec<(Key, Vec<u8>)>;

/// The patterns in place of some rows, in their order; `None` if numbers decide which of two rows comes first, so that
/// each has a value of its own. Rows that share no frame stay as they are.
pub fn patterns(writer: &Writer, rows: &[usize]) -> Option<Patterns> {
    if writer.numbers != Numbers::None {
        return None;
    }
    let mut known = HashSet::new();
    let mut framed: Vec<(usize, Option<Framed>)> =
        rows.iter().map(|&row| (row, Framed::of(&writer.rows[row]))).collect();
    // A row decides on all that later rows with the same literals match.
    framed.retain(|(_, framed)| framed.as_ref().is_none_or(|framed| known.insert(framed.clone())));
    let value = |row: usize| &writer.rows[row].row.value;
    let are_free = |(one, framed): &(usize, Option<Framed>), (other, others): &(usize, Option<Framed>)| {
        framed.is_some() && others.is_some() && value(*one) == value(*other)
    };
    let runs = framed.chunk_by(are_free);
    Some(runs.flat_map(|run| of_run(writer, run)).collect())
}

/// Writes a map with these patterns; `next` is the value if none matches.
pub fn write(writer: &mut Writer, label: &str, patterns: Patterns, rows: &[usize], next: &[u8]) -> Vec<u8> {
    let mut map = EmittedMap { rows: patterns, ..writer.of_source(label) };
    map.default = next.to_vec();
    if !rows.iter().all(|row| writer.is_certain(*row)) && writer.fallback() != next {
        // nginx also takes the default where PCRE gives up.
        map.rows.push((Key::Pattern { pattern: b"^".to_vec(), caseless: false }, next.to_vec()));
        map.default = writer.fallback();
    }
    writer.add(map)
}

/// The patterns of rows that may be tried in any order, or of a single row.
fn of_run(writer: &Writer, run: &[(usize, Option<Framed>)]) -> Patterns {
    let mut frames: Vec<(&Frame, Vec<(usize, &Framed)>)> = Vec::new();
    let mut places: HashMap<&Frame, usize> = HashMap::new();
    let mut patterns = Vec::new();
    for (row, framed) in run {
        let Some(framed) = framed else {
            patterns.push(writer.verbatim(*row));
            continue;
        };
        let place = *places.entry(&framed.frame).or_insert_with(|| {
            frames.push((&framed.frame, Vec::new()));
            frames.len() - 1
        });
        frames[place].1.push((*row, framed));
    }
    for (frame, mut rows) in frames {
        rows.sort_by(|(_, one), (_, other)| one.literals.cmp(&other.literals));
        patterns.extend(of_frame(writer, frame, &rows));
    }
    patterns
}

/// The patterns of rows with one frame, sorted by their literals.
fn of_frame(writer: &Writer, frame: &Frame, rows: &[(usize, &Framed)]) -> Patterns {
    let (mut rest, mut patterns) = (rows, Vec::new());
    while let Some((first, _)) = rest.first() {
        let count = most(rest.len(), |count| frame.pattern(&rest[..count]).is_some());
        let (piece, others) = rest.split_at(count);
        match frame.pattern(piece).filter(|pattern| count > 1 && always_answers(pattern, frame.caseless)) {
            Some(pattern) => {
                // The proof would mistake a pattern of the original for its row.
                let is_row = writer.is_row(&pattern, frame.caseless);
                let pattern = if is_row { [b"(?:", &*pattern, b")"].concat() } else { pattern };
                patterns.push((Key::Pattern { pattern, caseless: frame.caseless }, writer.value(*first)));
            }
            None => patterns.extend(piece.iter().map(|(row, _)| writer.verbatim(*row))),
        }
        rest = others;
    }
    patterns
}

impl Frame {
    /// The pattern that matches what one of the rows does; `None` if it is too long for a token.
    fn pattern(&self, rows: &[(usize, &Framed)]) -> Option<Vec<u8>> {
        let mut literals: Vec<&[u8]> = rows.iter().flat_map(|(_, row)| &row.literals).map(Vec::as_slice).collect();
        spend(8 * literals.len());
        literals.sort_unstable();
        literals.dedup();
        let trie = Trie::uncounted(&literals);
        let label = |node: usize| {
            let node = &trie.nodes[node];
            &literals[node.under.start][node.above..node.depth]
        };
        let children = |node: usize| trie.nodes[node].children.clone().collect::<Vec<_>>();
        let is_key = |node: usize| !trie.nodes[node].own.is_empty();
        let mut out = Vec::new();
        write_items(&self.before, self.caseless, &mut out);
        let nested = NestedAlternatives { label: &label, branches: &children, is_key: &is_key };
        let depth = nested.write(&children(0), is_key(0), &mut out);
        out.iter_mut().filter(|byte| **byte == DOT).for_each(|byte| *byte = b'.');
        write_items(&self.after, self.caseless, &mut out);
        (depth <= DEEPEST && token_length(&out) + FRAME.len() <= LONGEST).then_some(out)
    }
}

impl Framed {
    /// Divides a row; `None` if it may not be tried in another order among rows of its value, or has no such form.
    fn of(row: &RowFacts) -> Option<Framed> {
        if !row.is_plain || !row.is_certain {
            return None;
        }
        let pattern = syntax::parse(row.text).ok().filter(|pattern| pattern.looks.is_empty())?;
        if !pattern.translate().exact {
            return None;
        }
        let mut all = Vec::new();
        for items in branches(&pattern.ast) {
            expand(&items, &mut all)?;
        }
        let caseless = all.iter().all(|items| items.iter().all(ignores_case));
        let divided = all.iter().map(|items| divide(items, caseless)).collect::<Option<Vec<_>>>()?;
        let (frame, _) = divided.first()?.clone();
        if divided.iter().any(|(other, _)| *other != frame) {
            return None;
        }
        let mut literals: Vec<Vec<u8>> = divided.into_iter().map(|(_, literal)| literal).collect();
        literals.sort_unstable();
        literals.dedup();
        Some(Framed { frame, literals })
    }
}

/// Adds the items of each way through the first group of alternatives that has literals; `None` if there are too many.
fn expand(items: &[Ast], all: &mut Vec<Vec<Ast>>) -> Option<()> {
    let group =
        items.iter().position(|item| matches!(item, Ast::Alternation(branches) if branches.iter().any(has_byte)));
    match group.map(|at| (at, &items[at])) {
        Some((at, Ast::Alternation(inner))) => {
            for branch in inner.iter().flat_map(branches_in_place) {
                expand(&[&items[..at], &branch, &items[at + 1..]].concat(), all)?;
            }
        }
        _ => all.push(items.to_vec()),
    }
    (all.len() <= MOST_LITERALS).then_some(())
}

/// The items of a branch of a group, which are not shortened as those of a whole pattern are.
fn branches_in_place(branch: &Ast) -> Vec<Vec<Ast>> {
    match branch {
        Ast::Empty => vec![Vec::new()],
        Ast::Concat(items) => vec![items.clone()],
        Ast::Alternation(inner) => inner.iter().flat_map(branches_in_place).collect(),
        other => vec![vec![other.clone()]],
    }
}

fn has_byte(ast: &Ast) -> bool {
    match ast {
        Ast::Byte(_) | Ast::Class(_) => true,
        Ast::Concat(items) | Ast::Alternation(items) => items.iter().any(has_byte),
        Ast::Repeat { sub, .. } | Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => has_byte(sub),
        _ => false,
    }
}

/// Divides items at the longest literal in them.
fn divide(items: &[Ast], caseless: bool) -> Option<(Frame, Vec<u8>)> {
    let (mut longest, mut start) = (0..0, 0);
    for (at, item) in items.iter().enumerate() {
        if literal_byte(item, caseless).is_none() {
            start = at + 1;
        } else if at + 1 - start > longest.len() {
            longest = start..at + 1;
        }
    }
    let literal =
        items[longest.clone()].iter().map(|item| literal_byte(item, caseless)).collect::<Option<Vec<u8>>>()?;
    let frame = Frame { before: items[..longest.start].to_vec(), after: items[longest.end..].to_vec(), caseless };
    (!literal.is_empty()).then_some((frame, literal))
}

/// The byte that an item stands for; a letter in lower case if case is ignored.
fn literal_byte(item: &Ast, caseless: bool) -> Option<u8> {
    match item {
        Ast::Byte(byte) => Some(*byte),
        Ast::Class(set) if *set == ByteSet::NO_NEWLINE => Some(DOT),
        Ast::Class(set) if caseless => letter(set),
        _ => None,
    }
}

/// Whether PCRE never gives up on a pattern.
fn always_answers(pattern: &[u8], caseless: bool) -> bool {
    let text = if caseless { [b"(?i)", pattern].concat() } else { pattern.to_vec() };
    syntax::parse(&text).is_ok_and(|read| Bounds::of(&read, &read.translate().hir).always_answers)
}

#[cfg(test)]
mod tests {
    use super::patterns;
    use crate::maps::example::with_rows;
    use crate::maps::large::LargeForms;
    use crate::maps::text::Key;
    use crate::maps::writer::{Form, Writer};

    /// The patterns in place of rows, each with its value.
    fn united(texts: &[&str]) -> Vec<String> {
        with_rows(texts, false, |map, rows| {
            let form = Form { folded: false, in_lines: false, is_picked: false, large: LargeForms::USUAL };
            let writer = Writer::new(map, rows, "m_", form);
            let all: Vec<usize> = (0..rows.len()).collect();
            let text = |(key, value): (Key, Vec<u8>)| {
                let Key::Pattern { pattern, caseless } = key else { panic!("a key") };
                let mark = if caseless { "*" } else { "" };
                format!("{mark}{} {}", pattern.escape_ascii(), value.escape_ascii())
            };
            patterns(&writer, &all).expect("patterns").into_iter().map(text).collect()
        })
    }

    /// Rows with one value and one frame share a pattern, sorted. Others keep their place between them.
    #[test]
    fn frames() {
        for (rows, expected) in [
            (
                &["'~*(?:\\b)word(?:\\b)' 1;", r"~*\bcar\b 1;", r"~*\bcart\b 1;"][..],
                &[r"*\\b(?:car(?:t|)|word)\\b 1"][..],
            ),
            (&["~*b 1;", "~*a 1;", "~x 1;", "~y 1;"], &["*(?:a|b) 1", "(?:x|y) 1"]),
            (&["~*b 1;", "~*a 2;", "~*c 1;", "~*d 1;"], &["*b 1", "*a 2", "*(?:c|d) 1"]),
            (&["~*b 1;", "~*(a) $1;", "~*c 1;"], &["*b 1", "*(a) $1", "*c 1"]),
            (&["~*a.b 1;", r"~*a\.b 1;", "~*a.c 1;"], &[r"*a(?:.(?:b|c)|\\.b) 1"]),
            (&["~*b 1;", "~*B 2;", "~*(b) 1;", "~*c 1;"], &["*(?:b|c) 1"]),
            (&["~*(?:b|a)x 1;", "~*cx 1;", "~*.*dx.* 1;"], &["*(?:ax|bx|cx|dx) 1"]),
            (&[r"~*aa(?:\b|$) 1;", r"~*ab(?:\b|$) 1;"], &[r"*a(?:a|b)(?:\\b|$) 1"]),
            (&["~^/a/.*x$ 1;", "~^/b/.*x$ 1;", "~^/a/b$ 1;"], &["^/(?:a/|b/).*x$ 1", "^/a/b$ 1"]),
        ] {
            assert_eq!(united(rows), expected, "{rows:?}");
        }
    }
}
