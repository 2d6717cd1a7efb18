//! Families: rows that differ only in a literal. One pattern and one table replace the rows of a family.
//!
//! The pattern of a family captures the literal; the rest of the pattern is the same as in the rows. The rows
//! `^/a/(.*)$`, `^/b/(.*)$` and so on become the pattern `"~^(?<key>/[^/A-Z\x0a]*/)(.*)$" $key` and a table with the
//! keys `/a/`, `/b/` and so on. At most one row of the family matches a subject, and the table gives its value.

use hashbrown::HashMap;

use crate::first_match::ReadPattern;
use crate::maps::large::LargeForms;
use crate::maps::row::RowFacts;
use crate::pattern_text::{LONGEST, literal_start, token_length};
use crate::syntax::{Ast, ByteSet};

/// The most families. Each one may cost a request a pattern and a lookup.
const MOST: usize = 8;

/// A family has at least one row in this many rows of the map.
const SMALLEST_PART: usize = 100;

/// The shortest literal that a probe searches for; too many subjects contain shorter ones.
const SHORTEST_UNUSUAL: usize = 3;

/// The most slashes of a literal.
const MOST_SLASHES: usize = 16;

/// The pattern of a segment of a literal, without its slash. It excludes capital letters, because the table ignores
/// case.
pub const SEGMENT: &str = r"[^/A-Z\x0a]*";

/// Rows with their literals.
type Literals = Vec<(usize, Vec<u8>)>;

/// What the rows of a family have in common.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Form<'m> {
    /// Whether the literal is at the start of subjects; otherwise it is at their end.
    is_anchored: bool,
    /// The number of slashes in the literal.
    slashes: usize,
    last: Last,
    /// The pattern after the literal.
    rest: &'m [u8],
}

/// How the pattern of a family finds the end of the literal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Last {
    /// It ends with its last slash.
    Slash,
    /// It is as long as possible.
    Longest,
    /// It is as short as possible.
    Shortest,
}

/// Rows that differ in a literal only.
pub struct Family {
    /// The pattern before and after the name of its group.
    pub pattern: [Vec<u8>; 2],
    /// How many segments of the literals a probe may capture; 0 if a probe cannot be used.
    pub segments: usize,
    /// If the literal may be followed by a byte other than a slash or a dot: the text after that byte. A probe searches
    /// for it, because it cannot tell where the literal ends in such a subject.
    pub unusual: Option<Vec<u8>>,
    pub rows: Literals,
}

/// The largest families of some rows. `start` returns whether a pattern is anchored, and its text after the anchor.
pub fn families<'m>(
    rows: &[RowFacts<'m>],
    members: &[usize],
    large: LargeForms,
    start: impl Fn(&'m [u8]) -> Option<(bool, &'m [u8])>,
) -> Option<Vec<Family>> {
    if rows.len() < large.families {
        return None;
    }
    let mut by_form: HashMap<Form, Literals> = HashMap::new();
    for row in members {
        let facts = &rows[*row];
        let Some((is_anchored, text)) = start(facts.text).filter(|_| facts.is_plain && facts.is_certain) else {
            continue;
        };
        let (literal, rest) = literal_start(text);
        if let Some((slashes, last)) = shape(&literal, rest, is_anchored) {
            by_form.entry(Form { is_anchored, slashes, last, rest }).or_default().push((*row, literal));
        }
    }
    let fewest = large.family.max(rows.len() / SMALLEST_PART);
    let mut found: Vec<(Form, Literals)> = by_form.into_iter().filter(|(_, rows)| rows.len() >= fewest).collect();
    // Families of the same size are ordered by their first row, so that the same rows always give the same maps.
    found.sort_by_key(|(_, rows)| (usize::MAX - rows.len(), rows[0].0));
    let found = found.into_iter().filter_map(|(form, rows)| form.family(rows)).take(MOST);
    Some(found.collect()).filter(|families: &Vec<Family>| !families.is_empty())
}

/// The number of slashes of a literal, and how its end is found. `None` if it cannot belong to a family.
fn shape(literal: &[u8], rest: &[u8], is_anchored: bool) -> Option<(usize, Last)> {
    let slashes = literal.iter().filter(|byte| **byte == b'/').count();
    let is_other = |byte: &u8| byte.is_ascii_uppercase() || matches!(byte, b'$' | b'\n' | 0);
    if !literal.starts_with(b"/") || slashes > MOST_SLASHES || literal.iter().any(is_other) {
        return None;
    }
    let last = match rest.last() {
        _ if !is_anchored => (rest == b"$").then_some(Last::Longest)?,
        _ if literal.ends_with(b"/") => (slashes > 1).then_some(Last::Slash)?,
        Some(b'$') => Last::Longest,
        _ => Last::Shortest,
    };
    Some((slashes, last))
}

impl Form<'_> {
    /// The family of some rows, without those whose literal its pattern would not capture. `None` if no pattern is
    /// known to capture the literals.
    fn family(&self, mut rows: Literals) -> Option<Family> {
        let before = if self.is_anchored { b"^(?<".to_vec() } else { b"(?<".to_vec() };
        let pattern = [before, [b">", self.literal().as_bytes(), b")", self.rest].concat()];
        let read = ReadPattern::of(&pattern.join(&b"key"[..]))?;
        let is_known = read.translation.exact && read.bounds.always_answers;
        let Ast::Concat(items) = &read.pattern.ast else { return None };
        let items = if self.is_anchored { items.strip_prefix(&[Ast::Start])? } else { items };
        let [Ast::Capture { name: Some(_), .. }, rest @ ..] = items else { return None };
        match self.last {
            Last::Slash => {}
            Last::Longest => (ends_fixed(rest) || begins_with_slash(rest)).then_some(())?,
            Last::Shortest => {
                let sets = rest.iter().map(Ast::byte_set).collect::<Option<Vec<ByteSet>>>()?;
                rows.retain(|(_, literal)| !sets.is_empty() && is_found_first(literal, &sets));
            }
        }
        let (segments, unusual) = self.probing(rest);
        let fits = token_length(&pattern.concat()) < LONGEST - 60;
        (is_known && fits && !rows.is_empty()).then_some(Family { pattern, segments, unusual, rows })
    }

    /// The pattern that captures the literals.
    fn literal(&self) -> String {
        let mut literal = String::from("/");
        (1..self.slashes).for_each(|_| literal.extend([SEGMENT, "/"]));
        match self.last {
            Last::Slash => {}
            Last::Longest => literal.push_str(SEGMENT),
            Last::Shortest => literal.extend([SEGMENT, "?"]),
        }
        literal
    }

    /// Returns [`Family::segments`] and [`Family::unusual`].
    fn probing(&self, rest: &[Ast]) -> (usize, Option<Vec<u8>>) {
        match (self.last, rest) {
            _ if !self.is_anchored => (0, None),
            (Last::Slash, _) => (self.slashes - 1, None),
            (Last::Longest, [Ast::Dollar]) => (self.slashes, None),
            (Last::Longest, rest) if begins_with_slash(rest) => (self.slashes, None),
            (_, [_, literal @ ..]) => {
                let literal: Vec<u8> = literal.iter().map_while(literal_byte).collect();
                let is_short = literal.len() < SHORTEST_UNUSUAL;
                (if is_short { 0 } else { self.slashes }, Some(literal).filter(|_| !is_short))
            }
            _ => (0, None),
        }
    }
}

fn literal_byte(item: &Ast) -> Option<u8> {
    if let Ast::Byte(byte) = item { Some(*byte) } else { None }
}

/// Whether items match a fixed number of bytes at the end of the subject, so that they match in one place only.
fn ends_fixed(items: &[Ast]) -> bool {
    let [items @ .., Ast::Dollar] = items else { return false };
    let sets: Option<Vec<ByteSet>> = items.iter().map(Ast::byte_set).collect();
    sets.is_some_and(|sets| sets.last().is_none_or(|last| !last.contains(b'\n')))
}

/// Whether items match only what begins with a slash, or nothing at the end of the subject.
fn begins_with_slash(items: &[Ast]) -> bool {
    match items {
        [Ast::Repeat { min: 0, max: Some(1), sub, .. }, Ast::Dollar] => begins_with_slash(std::slice::from_ref(sub)),
        [Ast::Byte(byte), ..] => *byte == b'/',
        [Ast::Capture { sub, .. }, ..] => begins_with_slash(std::slice::from_ref(sub)),
        [Ast::Concat(items), ..] => begins_with_slash(items),
        _ => false,
    }
}

/// Whether the sets that follow a literal match at no place between its last slash and its end.
fn is_found_first(literal: &[u8], sets: &[ByteSet]) -> bool {
    let start = literal.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let allowed = |at: usize| match literal.get(at) {
        Some(byte) => ByteSet::one(*byte),
        None => sets.get(at - literal.len()).copied().unwrap_or(ByteSet::ALL),
    };
    (start..literal.len()).all(|place| (0..sets.len()).any(|at| allowed(place + at).intersection(&sets[at]).is_empty()))
}

#[cfg(test)]
mod tests {
    use super::{is_found_first, shape};
    use crate::syntax::ByteSet;

    /// A literal has slashes and no capital letters, and its end can be found.
    #[test]
    fn literals() {
        let slashes = |literal: &str, rest: &str| shape(literal.as_bytes(), rest.as_bytes(), true).map(|shape| shape.0);
        assert_eq!(slashes("/a/b/", "(.*)$"), Some(3));
        assert_eq!(slashes("/a/b", ".html$"), Some(2));
        for literal in ["/", "a/", "/A/b/", "/a$/", "/a\n/"] {
            assert_eq!(slashes(literal, ""), None, "{literal}");
        }
        assert!(shape(b"/a.php", b"$", false).is_some() && shape(b"/a", b".php$", false).is_none());
    }

    /// What follows a literal must not match before the end of the literal.
    #[test]
    fn found_first() {
        let sets: Vec<ByteSet> = [ByteSet::NO_NEWLINE, ByteSet::one(b'h'), ByteSet::one(b't')].to_vec();
        let is_first = |literal: &str| is_found_first(literal.as_bytes(), &sets);
        assert!(is_first("/xht/ab") && is_first("/a/ht") && is_first("/h"));
        assert!(!is_first("/aht") && !is_first("/xhty"));
    }
}
