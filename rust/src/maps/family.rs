//! Rows that differ in a literal only, each family of them behind one pattern and in one table.
//!
//! The pattern of a family captures the literal, and what follows it is the rows' own: of
//! `"~^(?<key>/[^/A-Z\x0a]*/)(.*)$" $key` the rows are `^/a/(.*)$`, `^/b/(.*)$` and so on, and the table has the keys `/a/`
//! and `/b/`. So the answer of the table is that of the only row that matches. No earlier row may match where a row of a
//! family does, so that it does not matter in which order families are asked.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::{HashMap, HashSet};

use crate::first_match::ReadPattern;
use crate::maps::large::LargeForms;
use crate::maps::pattern::beginning_with;
use crate::maps::row::RowFacts;
use crate::maps::sequence::Sequence;
use crate::maps::symbols;
use crate::maps::text::Key;
use crate::maps::writer::Writer;
use crate::pattern_text::{LONGEST, escape, literal_start, token_length};
use crate::syntax::{Ast, ByteSet};

/// The most families: each costs every request a pattern and a look-up.
const MOST: usize = 8;

/// A family has at least this part of the rows.
const SMALLEST_PART: usize = 100;

/// The starts of the names of the maps.
const BEGINNINGS: &str = "family";
const ENDS: &str = "end";

/// The most endings, from their last dot on, that one pattern tells: PCRE tries one after the other.
const MOST_ENDINGS: usize = 16;

/// The text of the last segment that a probe captures, up to a dot.
const LAST_SEGMENT: &[u8] = br"[^./A-Z\x0a]*";

/// Before a literal: a byte that is no dot.
const NO_DOT_BEFORE: &[u8] = br"(?<!\.)";

/// The shortest such literal: shorter ones are in too many subjects.
const SHORTEST_UNUSUAL: usize = 3;

/// The key of all families of a probe.
const ALL: &[u8] = b"*";

/// The most slashes of a literal.
const MOST_SLASHES: usize = 16;

/// The text of a segment of a literal, without its slash. The table ignores the case of letters, so there are no
/// capitals.
const SEGMENT: &str = r"[^/A-Z\x0a]*";

/// Rows with their literals.
type Literals = Vec<(usize, Vec<u8>)>;

/// What the rows of a family have in common.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Form<'m> {
    /// Whether the literal stands at the start of subjects; otherwise it stands at their end.
    is_anchored: bool,
    /// The slashes of the literal.
    slashes: usize,
    last: Last,
    /// The pattern behind the literal.
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

struct Family {
    /// The pattern before and after the name of its group.
    pattern: [Vec<u8>; 2],
    /// How many segments of its literals a probe may capture, if what it captures is known of each row.
    segments: usize,
    /// What comes behind any byte that follows the literal, unless a slash or a dot does, or the subject ends.
    unusual: Option<Vec<u8>>,
    rows: Literals,
}

/// Families, the largest first, that are asked one after the other.
pub struct Families {
    list: Vec<Family>,
    /// The start of the names of their maps.
    label: &'static str,
}

impl Families {
    /// The families among rows with a beginning, and the rows that are left. `None` if these are many.
    pub fn of_beginnings(rows: &[RowFacts], members: &[usize], large: LargeForms) -> Option<(Families, Vec<usize>)> {
        let families = families(rows, members, large, |text| text.strip_prefix(b"^").map(|text| (true, text)))?;
        let count = |families: &[Family]| families.iter().map(|family| family.rows.len()).sum::<usize>();
        let are_few = |count: usize| large.left * (members.len() - count) <= members.len();
        if !are_few(count(&families)) {
            return None;
        }
        let held: Vec<usize> = families.iter().flat_map(|family| &family.rows).map(|(row, _)| *row).collect();
        let first: HashSet<usize> = symbols::without_earlier(rows, members, &held).into_iter().collect();
        Families::kept(BEGINNINGS, families, (rows, members), |row, _| first.contains(&row))
            .filter(|(_, left)| are_few(members.len() - left.len()))
    }

    /// The families among rows of literals that end where subjects do, and the rows that are left. `None` if there are
    /// no families.
    pub fn of_ends(rows: &[RowFacts], floating: &[usize], large: LargeForms) -> Option<(Families, Vec<usize>)> {
        let families = families(rows, floating, large, |text| Some((false, text)))?;
        let literals: Option<Vec<(Vec<u8>, usize)>> = floating
            .iter()
            .map(|row| {
                let (literal, rest) = literal_start(rows[*row].text);
                (rest == b"$").then(|| (literal.into_iter().rev().collect(), *row))
            })
            .collect();
        let first = without_shorter_or_longer(literals?);
        Families::kept(ENDS, families, (rows, floating), |row, _| first.contains(&row))
    }

    /// Those rows of families that pass a test, and the others of all rows.
    fn kept(
        label: &'static str,
        mut list: Vec<Family>,
        (rows, members): (&[RowFacts], &[usize]),
        passes: impl Fn(usize, &[u8]) -> bool,
    ) -> Option<(Families, Vec<usize>)> {
        let mut held: HashSet<usize> = HashSet::new();
        for family in &mut list {
            let mut keys = HashSet::new();
            family.rows.retain(|(row, key)| passes(*row, key) && keys.insert(key.clone()));
            held.extend(family.rows.iter().map(|(row, _)| *row));
        }
        list.retain(|family| !family.rows.is_empty());
        // A row that repeats the pattern of one of these is never reached.
        let texts: HashSet<&[u8]> = held.iter().map(|row| rows[*row].text).collect();
        let left = members.iter().copied().filter(|row| !texts.contains(rows[*row].text)).collect();
        (!list.is_empty()).then_some((Families { list, label }, left))
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.list.iter().map(|family| family.rows.len()).sum()
    }

    /// Writes the maps; `next` is the value where no row matches. Returns the variable that has the answer.
    pub fn write(&self, writer: &mut Writer, next: &[u8]) -> Vec<u8> {
        let mut segments: Vec<usize> = self.list.iter().map(|family| family.segments).collect();
        segments.sort_unstable();
        segments.dedup();
        let mut value = next.to_vec();
        for segments in segments {
            let families = self.list.iter().filter(|family| family.segments == segments).collect::<Vec<_>>();
            value = match (segments, families.as_slice()) {
                (1.., [_, _, ..]) => self.write_probe(writer, &families, segments, value),
                _ => families.iter().rev().fold(value, |value, family| self.write_family(writer, family, value)),
            };
        }
        match self.endings() {
            Some(pattern) => {
                let mut map = writer.of_source(&format!("{}_guard", self.label));
                map.rows.push((Key::Pattern { pattern, caseless: false }, value));
                map.default = next.to_vec();
                writer.add(map)
            }
            None => value,
        }
    }

    /// A pattern that matches what ends like the literals of ends; `None` if they end in many ways.
    fn endings(&self) -> Option<Vec<u8>> {
        let mut endings = BTreeSet::new();
        for (_, literal) in self.list.iter().flat_map(|family| &family.rows).filter(|_| self.label == ENDS) {
            endings.insert(&literal[memchr::memrchr(b'.', literal)?..]);
            if endings.len() > MOST_ENDINGS {
                return None;
            }
        }
        let sequence = |ending: &[u8]| Sequence { bytes: ending.to_vec(), sets: Vec::new() };
        let sequences: Vec<Sequence> = endings.into_iter().map(sequence).collect();
        let pattern = beginning_with(&sequences.iter().collect::<Vec<_>>(), false)?;
        (!sequences.is_empty()).then(|| [&*pattern, b"$"].concat())
    }

    fn write_family(&self, writer: &mut Writer, family: &Family, next: Vec<u8>) -> Vec<u8> {
        let [before, after] = &family.pattern;
        let pattern = [&**before, &writer.name("key"), after].concat();
        let literal = vec![(Key::Pattern { pattern, caseless: false }, writer.variable("key"))];
        let rows = family.rows.iter().map(|(row, key)| (key.clone(), writer.value(*row))).collect();
        self.write_table(writer, literal, rows, next)
    }

    /// Families behind one pattern and one table, which tell of most subjects that they are of none.
    fn write_probe(&self, writer: &mut Writer, families: &[&Family], segments: usize, next: Vec<u8>) -> Vec<u8> {
        let mut leads: BTreeMap<&[u8], Vec<u8>> = BTreeMap::new();
        let mut unusual: BTreeSet<&[u8]> = BTreeSet::new();
        let mut value = next.clone();
        for family in families.iter().rev() {
            value = self.write_family(writer, family, value);
            leads.extend(family.rows.iter().map(|(_, literal)| (probed(literal, segments), value.clone())));
            unusual.extend(family.unusual.as_deref());
        }
        let mut rows: Vec<(Key, Vec<u8>)> = Vec::new();
        for literal in &unusual {
            let mut pattern = NO_DOT_BEFORE.to_vec();
            literal.iter().for_each(|byte| escape(*byte, &mut pattern));
            rows.push((Key::Pattern { pattern, caseless: false }, ALL.to_vec()));
        }
        if !unusual.is_empty() {
            leads.insert(ALL, value);
        }
        let segment = [SEGMENT, "/"].concat().repeat(segments - 1);
        let pattern = [b"^(?<", &*writer.name("key"), b">/", segment.as_bytes(), LAST_SEGMENT, b")"].concat();
        rows.push((Key::Pattern { pattern, caseless: false }, writer.variable("key")));
        let leads = leads.into_iter().map(|(key, value)| (key.to_vec(), value)).collect();
        self.write_table(writer, rows, leads, next)
    }

    fn write_table(
        &self,
        writer: &mut Writer,
        literal: Vec<(Key, Vec<u8>)>,
        rows: Vec<(Vec<u8>, Vec<u8>)>,
        next: Vec<u8>,
    ) -> Vec<u8> {
        let number = writer.maps.len();
        let name = format!("{}{number}_key", self.label);
        let mut map = writer.of_source(&name);
        map.rows = literal;
        writer.add(map);
        let mut table = writer.of(&name, &format!("{}{number}", self.label));
        table.rows = rows.into_iter().map(|(key, value)| (Key::Exact(key), value)).collect();
        table.default = next;
        writer.add(table)
    }
}

/// What a probe of so many segments captures of subjects with a literal.
fn probed(literal: &[u8], segments: usize) -> &[u8] {
    let slash = memchr::memchr_iter(b'/', literal).nth(segments - 1).unwrap_or(0);
    let end = memchr::memchr2(b'/', b'.', &literal[slash + 1..]).map_or(literal.len(), |at| slash + 1 + at);
    &literal[..end]
}

/// The largest families of some rows. `start`: whether a pattern is anchored, and its text behind the anchor.
fn families<'m>(
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
    // The first row decides between families of one size, so that the same rows always give the same maps.
    found.sort_by_key(|(_, rows)| (usize::MAX - rows.len(), rows[0].0));
    let found = found.into_iter().filter_map(|(form, rows)| form.family(rows)).take(MOST);
    Some(found.collect()).filter(|families: &Vec<Family>| !families.is_empty())
}

/// The slashes of a literal, and how its end is found, if it may be one of a family.
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
    /// The family of some rows, without those whose literal its pattern would not capture; `None` if it has no such
    /// pattern.
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

    /// The pattern of its literals.
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

    /// How many segments a probe may capture, and what it has to look for besides: see [`Family::unusual`].
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

/// Whether items are of one length up to the end of the subject, so that they end in one place only.
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

/// Whether what follows a literal matches nowhere before its end, behind its last slash.
fn is_found_first(literal: &[u8], sets: &[ByteSet]) -> bool {
    let start = literal.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let allowed = |at: usize| match literal.get(at) {
        Some(byte) => ByteSet::one(*byte),
        None => sets.get(at - literal.len()).copied().unwrap_or(ByteSet::ALL),
    };
    (start..literal.len()).all(|place| (0..sets.len()).any(|at| allowed(place + at).intersection(&sets[at]).is_empty()))
}

/// The rows of reversed literals for which no earlier literal ends with theirs, or theirs with it.
fn without_shorter_or_longer(mut literals: Vec<(Vec<u8>, usize)>) -> HashSet<usize> {
    literals.sort();
    let mut first: HashSet<usize> = literals.iter().map(|(_, row)| *row).collect();
    let mut shorter: Vec<&(Vec<u8>, usize)> = Vec::new();
    for literal in &literals {
        while shorter.last().is_some_and(|shorter| !literal.0.starts_with(&shorter.0)) {
            shorter.pop();
        }
        for other in &shorter {
            first.remove(&other.1.max(literal.1));
        }
        shorter.push(literal);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::{is_found_first, probed, shape, without_shorter_or_longer};
    use crate::maps::example::with_rows;
    use crate::maps::{LargeForms, compile_with, read_patterns};
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

    /// A probe captures so many segments, the last up to a dot.
    #[test]
    fn probes() {
        for (literal, segments, captured) in [
            ("/a/b/", 2, "/a/b"),
            ("/a/b", 2, "/a/b"),
            ("/a/b.c", 2, "/a/b"),
            ("/a.b/c", 2, "/a.b/c"),
            ("/a/b", 1, "/a"),
        ] {
            assert_eq!(probed(literal.as_bytes(), segments), captured.as_bytes());
        }
    }

    /// What follows a literal must not match before its end.
    #[test]
    fn found_first() {
        let sets: Vec<ByteSet> = [ByteSet::NO_NEWLINE, ByteSet::one(b'h'), ByteSet::one(b't')].to_vec();
        let is_first = |literal: &str| is_found_first(literal.as_bytes(), &sets);
        assert!(is_first("/xht/ab") && is_first("/a/ht") && is_first("/h"));
        assert!(!is_first("/aht") && !is_first("/xhty"));
    }

    /// Of two literals of which one ends with the other, the first remains.
    #[test]
    fn ends() {
        let literal = |text: &str, row| (text.bytes().rev().collect(), row);
        let first =
            without_shorter_or_longer(vec![literal("/b", 3), literal("/a/b", 1), literal("/c", 2), literal("/c", 4)]);
        let mut first: Vec<usize> = first.into_iter().collect();
        first.sort_unstable();
        assert_eq!(first, [1, 2]);
    }

    /// Families are used where they leave few rows, and a probe where there are several of one length.
    #[test]
    fn forms() {
        let maps = |rows: &[&str]| {
            with_rows(rows, false, |map, _| {
                let compiled = compile_with(map, &read_patterns(map), "m_", LargeForms::ALWAYS).unwrap();
                String::from_utf8(compiled.text()).unwrap()
            })
        };
        let rows = |(number, rest): (usize, &&str)| format!("'~^/a/p{number}{rest}' {number};");
        let rests = ["/(.*)$", ".html", ".html$", "/"].repeat(4);
        let rows: Vec<String> = rests.iter().enumerate().map(rows).collect();
        let families = maps(&rows.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(families.matches("_key {").count(), 5, "{families}");
        assert!(families.contains(r#""~(?<!\.)html" "*""#), "{families}");
        let others = maps(&["~^/a 1;", "~^/b 2;", "~^/c 3;", "~^/a/b/ 4;"]);
        assert!(!others.contains("family"), "{others}");
    }
}
