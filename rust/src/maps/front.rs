//! The front: rows of bytes and dots that a hash table answers, each under its own key.
//!
//! The front takes only rows that match no subject that an earlier row may match. So at most one of its rows matches a
//! subject, and the front can be tried before the other rows.
//!
//! The key of a row is what its matches begin with, up to a dot if need be. A pattern looks only at the part of the key
//! that distinguishes the row from all others, and captures as many bytes as the key has. In
//! `"~^(?<key>/a[^A-Z]{12}|/b/(?:c[^A-Z]{11}(?=$)|d))" $key`, the first alternative captures a subject such as
//! `/about-us/team`, because only one row begins with `/a`. The table then compares the other 12 bytes: the lookup
//! fails if they differ.
//!
//! Dots in the pattern of a row match any byte, but a key has one spelling:
//!
//! - A dot after the captured piece is only checked, by a look-ahead.
//! - A single dot before the end of the piece is captured if the subject has a dot there. For subjects with another
//!   byte, another pattern such as `"~^/v1[^\x0a\x2e](?<key>0/a|2/b)" "/v1.$key"` captures what follows it, and its
//!   value puts the dot back into the key.
//! - If there are several dots, the pattern captures only what follows them.

use std::collections::BTreeMap;
use std::ops::Range;

use hashbrown::{HashMap, HashSet};

use crate::maps::alternatives::{Alternatives, Piece};
use crate::maps::front_row::{FrontRow, dotted, is_of_dots, lengths_apart};
use crate::maps::large::LargeForms;
use crate::maps::row::RowFacts;
use crate::maps::symbols::{self, SymbolTexts, Symbols};
use crate::maps::text::{EmittedMap, Key};
use crate::maps::writer::Writer;
use crate::parallel;
use crate::pattern_text::{DEEPEST, LONGEST, most};
use crate::work::spend;

/// How many patterns one map should have. Each map costs every request, but a pattern costs little if the subject
/// begins with none of its strings.
const PATTERNS: usize = 3;

/// The rows of the front, divided into chunks with a map each.
pub struct Front {
    rows: Vec<FrontRow>,
    chunks: Vec<Chunk>,
    /// The pattern that finds the root of a chunk.
    start: Vec<u8>,
}

/// The rows of one map.
#[derive(Default)]
struct Chunk {
    /// The beginnings of subjects that lead to this map, each with the number of its rows.
    roots: Vec<(Vec<u8>, usize)>,
    rows: Vec<usize>,
}

impl Front {
    /// Chooses rows from the first `count` of `members`: those of bytes and dots that match no subject that an earlier
    /// member may match. `None` if these are too few.
    pub fn choose(
        rows: &[RowFacts],
        (members, count): (&[usize], usize),
        in_lines: bool,
        large: LargeForms,
    ) -> Option<Front> {
        if count < large.front {
            return None;
        }
        let candidates: Vec<usize> =
            members[..count].iter().copied().filter(|row| is_of_dots(&rows[*row], in_lines)).collect();
        let first = symbols::without_earlier(rows, members, &candidates);
        let symbols = Symbols::of(first.iter().flat_map(|row| rows[*row].sequences()));
        let texts = |row: &usize| symbols.texts(*row, &rows[*row]);
        let texts = SymbolTexts::new(&symbols, first.iter().flat_map(texts).collect());
        let dotted: Vec<Vec<u8>> = texts.all().iter().map(|text| dotted(&rows[text.row].sequences()[0])).collect();
        let apart = lengths_apart(&dotted);
        let chosen = parallel::collect(texts.all().len(), |at| {
            let text = &texts.all()[at];
            FrontRow::new(text.row, &rows[text.row].sequences()[0], text.is_line, texts.own(at).max(apart[at]))
        });
        let mut taken = HashSet::new();
        let mut rows: Vec<FrontRow> =
            chosen.into_iter().filter(|row| taken.insert(row.key.to_ascii_lowercase())).collect();
        rows.sort_by(|one, other| one.key.cmp(&other.key));
        let mut size = PATTERNS * large.long_text;
        let (chunks, start) = loop {
            let mut chunks = chunks(&rows, size);
            chunks.iter_mut().for_each(|chunk| chunk.retain_frames(&rows, large.frame));
            chunks.retain(|chunk| !chunk.rows.is_empty());
            let start = start(&chunks);
            if start.len() <= LONGEST - 60 {
                break (chunks, start);
            }
            size *= 2;
        };
        let count: usize = chunks.iter().map(|chunk| chunk.rows.len()).sum();
        (count >= large.front).then_some(Front { rows, chunks, start })
    }

    fn held(&self) -> impl Iterator<Item = &FrontRow> {
        self.chunks.iter().flat_map(|chunk| &chunk.rows).map(|row| &self.rows[*row])
    }

    /// The beginnings of subjects that the first map distinguishes. None begins with another.
    pub fn roots(&self) -> impl Iterator<Item = &[u8]> {
        self.chunks.iter().flat_map(|chunk| &chunk.roots).map(|(root, _)| root.as_slice())
    }

    /// The number of rows in the front.
    pub fn count(&self) -> usize {
        self.held().count()
    }

    /// Returns the members that are not in the front. Members with the same pattern as a row of the front are left out,
    /// too, because that row is tried first.
    pub fn without(&self, rows: &[RowFacts], members: &[usize]) -> Vec<usize> {
        let held: HashSet<&[u8]> = self.held().map(|row| rows[row.number].text).collect();
        members.iter().copied().filter(|row| !held.contains(rows[*row].text)).collect()
    }

    /// Writes the maps; `next` is the value where no row matches. Returns the variable that has the answer.
    pub fn write(&self, writer: &mut Writer, next: &[u8]) -> Vec<u8> {
        let key = writer.name("key");
        let mut map = writer.of_source("start");
        let pattern = [b"^(?<", &*key, b">", &*self.start, b")"].concat();
        map.rows.push((Key::Pattern { pattern, caseless: false }, writer.variable("key")));
        writer.add(map);
        let keys: HashSet<Vec<u8>> = self.held().map(|row| row.key.to_ascii_lowercase()).collect();
        let mut candidate = writer.of("start", "candidate");
        for (number, chunk) in self.chunks.iter().enumerate() {
            let mut map = writer.of_source(&format!("front{number}"));
            map.rows = self.patterns(chunk, &key, (&keys, writer.large.long_text));
            let variable = writer.add(map);
            candidate.rows.extend(chunk.roots.iter().map(|(root, _)| (Key::Exact(root.clone()), variable.clone())));
        }
        writer.add(candidate);
        let mut front = EmittedMap { default: next.to_vec(), ..writer.of("candidate", "front") };
        front.rows = self.held().map(|row| (Key::Exact(row.key.clone()), writer.value(row.number))).collect();
        writer.add(front)
    }
}

/// Estimates how much text the pieces of sorted rows take.
fn text(rows: &[FrontRow]) -> usize {
    spend(4 * rows.len());
    let forms = |row: &FrontRow| 1 + usize::from(row.frame.as_ref().is_some_and(|frame| frame.is_rare));
    let text = |row: &FrontRow| (row.own + row.rest.len() + 1) * forms(row);
    let shared = |pair: &[FrontRow]| {
        let common = pair[0].key.iter().zip(&pair[1].key).take_while(|(one, other)| one == other).count();
        common.min(pair[1].own) * forms(&pair[1])
    };
    rows.iter().map(text).sum::<usize>() - rows.windows(2).map(shared).sum::<usize>()
}

/// Divides sorted rows by their beginnings, which have no dots, into parts of up to `size` bytes of text, and joins
/// small neighbouring parts. Of beginnings that differ only in case, keeps the first.
fn chunks(rows: &[FrontRow], size: usize) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut open = size;
    let mut spellings = HashSet::new();
    divide(rows, 0..rows.len(), 1, size, &mut |root, part| {
        let text = text(&rows[part.clone()]);
        if !spellings.insert(root.to_ascii_lowercase()) {
            return;
        }
        if open + text > size {
            chunks.push(Chunk::default());
            open = 0;
        }
        open += text;
        let chunk = chunks.last_mut().expect("one was added");
        chunk.roots.push((root.to_vec(), part.len()));
        chunk.rows.extend(part);
    });
    chunks
}

/// Divides rows into parts of up to `size` bytes of text, where possible, and calls `take` for each part with the
/// beginning that its rows share, of at least `depth` bytes.
fn divide(
    rows: &[FrontRow],
    range: Range<usize>,
    depth: usize,
    size: usize,
    take: &mut impl FnMut(&[u8], Range<usize>),
) {
    let mut start = range.start;
    for part in rows[range].chunk_by(|one, other| one.key[..depth] == other.key[..depth]) {
        let range = start..start + part.len();
        start = range.end;
        if text(part) <= size || part.iter().any(|row| row.head <= depth) {
            take(&part[0].key[..depth], range);
        } else {
            divide(rows, range, depth + 1, size, take);
        }
    }
}

/// Writes the pattern that finds the root of a chunk.
fn start(chunks: &[Chunk]) -> Vec<u8> {
    let roots = chunks.iter().flat_map(|chunk| &chunk.roots);
    let roots = roots.map(|(root, rows)| Piece { text: root, rest: b"", weight: *rows });
    Alternatives::new(&roots.collect::<Vec<_>>(), &|_| false).text
}

impl Chunk {
    /// Removes rows that have dots before the captured piece if fewer than `least` rows share the text before it.
    fn retain_frames(&mut self, rows: &[FrontRow], least: usize) {
        let mut counts: HashMap<&[u8], usize> = HashMap::new();
        for frame in self.rows.iter().filter_map(|row| rows[*row].frame.as_ref()) {
            *counts.entry(&frame.before).or_default() += 1;
        }
        self.rows.retain(|row| rows[*row].frame.as_ref().is_none_or(|frame| counts[frame.before.as_slice()] >= least));
    }
}

/// Pieces that are captured after the same text.
struct Framed<'f> {
    /// The pattern of that text.
    before: &'f [u8],
    /// That text in the key, with dots as dots.
    key: &'f [u8],
    pieces: Vec<Piece<'f>>,
}

impl Front {
    /// Returns the patterns of a chunk, each with its value. Rows with the same text before their piece share a pattern
    /// of up to `length` bytes. Patterns for subjects with another byte in the place of a dot come last.
    fn patterns(&self, chunk: &Chunk, group: &[u8], (keys, length): (&HashSet<Vec<u8>>, usize)) -> Vec<(Key, Vec<u8>)> {
        let rows = || chunk.rows.iter().map(|row| &self.rows[*row]);
        let framed = |is_rare: bool| {
            let mut frames: BTreeMap<(&[u8], &[u8]), Vec<Piece>> = BTreeMap::new();
            for row in rows() {
                if let Some(frame) = row.frame.as_ref().filter(|frame| frame.is_rare == is_rare) {
                    let pieces = frames.entry((&frame.before, &row.key[..frame.start])).or_default();
                    pieces.push(row.framed_piece(frame));
                }
            }
            frames.into_iter().map(|((before, key), pieces)| Framed { before, key, pieces })
        };
        let rare: Vec<Framed> = framed(true).collect();
        // The text before the single dot of a key.
        let heads: Vec<&[u8]> = rare.iter().map(|framed| &framed.key[..framed.key.len() - 1]).collect();
        let is_end = |path: &[u8]| {
            let may_meet = |head: &&[u8]| head.starts_with(path) || path.starts_with(head) && path[head.len()] != b'.';
            !path.is_empty() && !keys.contains(&path.to_ascii_lowercase()) && !heads.iter().any(may_meet)
        };
        let mut patterns = Vec::new();
        framed(false).for_each(|framed| framed.write(group, length, &|_: &[u8]| false, &mut patterns));
        let whole = Framed { before: b"", key: b"", pieces: rows().filter_map(FrontRow::piece).collect() };
        whole.write(group, length, &is_end, &mut patterns);
        rare.into_iter().for_each(|framed| framed.write(group, length, &|_: &[u8]| false, &mut patterns));
        patterns
    }
}

impl Framed<'_> {
    /// Adds the patterns of the pieces to `out`. `is_end` returns whether no later pattern can match a subject that
    /// begins with a path.
    fn write(mut self, group: &[u8], length: usize, is_end: &dyn Fn(&[u8]) -> bool, out: &mut Vec<(Key, Vec<u8>)>) {
        self.pieces.sort_unstable();
        let mut pieces = self.pieces.as_slice();
        while !pieces.is_empty() {
            let written = |count: usize| {
                let next = pieces.get(count);
                let ends = |path: &[u8]| is_end(path) && next.is_none_or(|next| !next.text.starts_with(path));
                Alternatives::new(&pieces[..count], &ends)
            };
            let fits = |count: usize| {
                let Alternatives { text, depth } = written(count);
                self.before.len() + text.len() <= length && depth <= DEEPEST
            };
            let count = most(pieces.len(), fits);
            let pattern = [b"^", self.before, b"(?<", group, b">", &written(count).text, b")"].concat();
            let value = [self.key, b"$", group].concat();
            out.push((Key::Pattern { pattern, caseless: false }, value));
            pieces = &pieces[count..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Front;
    use crate::map_block::read_one;
    use crate::maps::example::with_rows;
    use crate::maps::{LargeForms, compile_with, read_patterns};

    const LARGE: LargeForms = LargeForms { long_text: 4_000, families: usize::MAX, ..LargeForms::ALWAYS };

    fn compiled(rows: &[String], large: LargeForms) -> String {
        let text = format!("map $request_uri $to {{ {} }}", rows.join(" "));
        let map = read_one(text.as_bytes()).unwrap();
        let compiled = compile_with(&map, &read_patterns(&map), "m_", large).unwrap();
        String::from_utf8(compiled.text()).unwrap()
    }

    /// Returns the rows that the front chooses.
    fn chosen(texts: &[&str]) -> Vec<usize> {
        with_rows(texts, false, |_, rows| {
            let members: Vec<usize> = (0..rows.len()).collect();
            let front = Front::choose(rows, (&members, rows.len()), true, LARGE);
            let mut chosen: Vec<usize> = front.iter().flat_map(|front| front.held()).map(|row| row.number).collect();
            chosen.sort_unstable();
            chosen
        })
    }

    /// Patterns capture as many bytes as the key has, but spell out only what distinguishes a row. What follows a dot
    /// is checked, but not captured.
    #[test]
    fn patterns() {
        let rows = [
            "~^/about-the-company.*$ 0;",
            "~^/about-us 1;",
            "~^/v1.0/installation-guides.html$ 2;",
            "~^/v1.0/introduction.* 3;",
            r"~^/v1\.0/installer.*$ 4;",
            "~^/A/this-is-Known-too 5;",
            "~^/b.c$ 6;",
            "~^/b.c.d$ 7;",
            "~^/x[0-9] 8;",
            "~^/y[0-9] 9;",
            "~^/z[0-9] 10;",
        ];
        let maps = compiled(&rows.map(str::to_owned), LARGE);
        for row in [
            r#""~^(?<m_key>/(?:v1\.0/in(?:stall(?:a[^A-Z]{11}(?=[^\x0a]html$)|er|)|troduction|)|about-(?:the-company|us|)|A/this-is-Known-too|b\.c(?=$)))" "$m_key";"#,
            r#""~^/v1[^\x0a\x2e](?<m_key>0/in(?:stalla[^A-Z]{11}(?=[^\x0a]html$)|troduction))" "/v1.$m_key";"#,
            r#""/v1.0/installation-guides" "2";"#,
            r#""/A/this-is-Known-too" "5";"#,
            r#"default "$m_rooted";"#,
            r#""~^/b[^\x0a]c[^\x0a](?<m_key>d(?=$))" "/b.c.$m_key";"#,
        ] {
            assert!(maps.contains(row), "{row}\n{maps}");
        }
    }

    /// Rows that match a subject which an earlier row may match are not chosen.
    #[test]
    fn choice() {
        assert_eq!(chosen(&["~^/a.* 0;", "~^/ab.* 1;", "~^/b.* 2;"]), [0, 2]);
        assert_eq!(chosen(&["~^/ab.* 0;", "~^/a.* 1;"]), [0]);
        assert_eq!(chosen(&["~^/a[0-9] 0;", "~^/a7.* 1;", "~^/ab.* 2;"]), [2]);
        assert_eq!(chosen(&["~^/a.c.* 0;", r"~^/abc\.d.* 1;", r"~^/a\.d.* 2;"]), [0, 2]);
        assert_eq!(chosen(&["~^/a.c$ 0;", "~^/abcd.* 1;", "~^/a.cx.* 2;"]), [0, 1, 2]);
        assert!(chosen(&["~^/.*z 0;", "~^/a.* 1;"]).is_empty());
        // PCRE may give up after the first repetition.
        assert_eq!(chosen(&["'~^/a.b(?:ab){2,}' 0;", "~^/a.b$ 1;", "~^/a.c$ 2;"]), [2]);
    }

    /// The second of two equal rows is left out.
    #[test]
    fn twice() {
        let rows = ["~^/a.b.* 0;", "~^/a.b.* 1;", "~^/x[0-9] 2;", "~^/y[0-9] 3;", "~^/z[0-9] 4;"];
        let maps = compiled(&rows.map(str::to_owned), LARGE);
        assert!(maps.contains(r#""/a" "0""#) || maps.contains(r#""/a.b" "0""#), "{maps}");
        assert!(!maps.contains(r#""1""#), "{maps}");
    }

    /// Rows with dots before their piece get a pattern only if enough of them share the text before it.
    #[test]
    fn frames() {
        let rows: Vec<String> = (0..5).map(|row| format!("~^/v1.{row}/a.* {row};")).collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).chain(["~^/w.x$ 5;", "~^/b 6;"]).collect();
        let count = |frame: usize| {
            with_rows(&rows, false, |_, rows| {
                let members: Vec<usize> = (0..rows.len()).collect();
                let front = Front::choose(rows, (&members, rows.len()), true, LargeForms { frame, ..LARGE });
                front.map_or(0, |front| front.count())
            })
        };
        assert_eq!([1, 5, 6].map(count), [7, 7, 2]);
    }

    /// Of keys or beginnings that differ only in case, one is kept.
    #[test]
    fn spellings() {
        assert_eq!(chosen(&["~^/a/b.* 0;", "~^/a/B.* 1;", "~^/c.* 2;"]).len(), 2);
        let rows: Vec<String> = ["a", "A", "b"]
            .iter()
            .flat_map(|root| (0..9).map(move |number| format!("~^/{root}/{number}long-name.* {number};")))
            .collect();
        let texts: Vec<&str> = rows.iter().map(String::as_str).collect();
        let large = LargeForms { long_text: 50, ..LARGE };
        with_rows(&texts, false, |_, rows| {
            let front = Front::choose(rows, (&(0..rows.len()).collect::<Vec<_>>(), rows.len()), true, large).unwrap();
            assert_eq!(front.count(), 18);
            assert!(front.chunks.len() > 1);
        });
    }

    /// A list in which the front could take all rows has a front, too: the last rows are left for the tree.
    #[test]
    fn nothing_else() {
        let rows: Vec<String> = (0..9).map(|number| format!("~^/page{number}.x.* {number};")).collect();
        let maps = compiled(&rows, LARGE);
        assert!(maps.contains(r#""/page5" "5""#) && maps.contains(r#""~^/page6.x.*" "6""#), "{maps}");
    }

    /// If the beginnings are too many for one pattern, there are fewer of them with more rows each.
    #[test]
    fn long_lists() {
        let rows: Vec<String> = (0..4_000).map(|number| format!("~^/{:x}/page.* {number};", number * 7_919)).collect();
        let rows: Vec<String> = rows.into_iter().chain((0..3).map(|number| format!("~^/[a-f]{number}x 1;"))).collect();
        let maps = compiled(&rows, LargeForms { long_text: 60, ..LARGE });
        assert!(maps.contains("$m_front {") && maps.contains("$m_front9 {"));
    }
}
