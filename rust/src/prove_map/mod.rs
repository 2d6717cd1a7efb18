//! Proves that compiled maps give every subject the value that the original map with patterns gives it.
//!
//! The proof reads both texts from scratch. It shares only these parts with the compiler: the reader of blocks, the
//! PCRE translator, languages, PCRE2 itself and the index over patterns. It does not trust the names, order or form of
//! the emitted maps: it recognises the kind of each map by its rows, and refutes a map of an unknown kind.
//!
//! # What is proved
//!
//! The original is a map M of SRC with exact rows, rows r1..rn with patterns, and a default D. For a subject u that no
//! exact row has, something *happens* to ri if PCRE2 finds a match of ri in u, or gives up on it; nothing happens on
//! the empty subject. E(i) are the subjects on which something happens to ri. nginx takes the first i with u in E(i)
//! and answers with the value of ri, or with D if PCRE2 gave up; it answers D if there is no such i
//! (`ngx_http_map_find`, `ngx_http_map_variable`).
//!
//! A *chain* is what an emitted value leads to: rows s1..sm of M, each with its own pattern and value, tried in this
//! order, and an end, which is the answer if nothing happens to any of them. Where PCRE2 gives up, the answer is D.
//!
//! *Theorem.* Let U be a set of subjects, C a chain, and let all this hold:
//!
//! 1. If u in U is in E(i), and ri is not in C, then the end of C is the value of a row rc with c <= i, or there is a
//!    row rc in C with c < i, U is contained in L(c), the subjects that rc matches, and PCRE2 never gives up on rc.
//! 2. If ri comes before rj in C although j < i, then E(i) and E(j) have no subject of U in common, or ri and rj have the
//!    same value without captures, and PCRE2 gives up on neither.
//! 3. If the end of C is the value of a row rc, then U is contained in L(c), PCRE2 never gives up on rc, its value has
//!    no captures, and nothing happens in U to a row of C that is behind rc in M. Else the end is D.
//!
//! Then C and M give the same answer for every u in U.
//!
//! *Proof.* Let u be in U, and i the first with u in E(i). If there is none, nothing happens in C, and the end is D by
//! 3, as u is in no L(c). Otherwise, let ri be in C. No row to which something happens on u comes before ri in C, as
//! its number would be smaller than i, or it would meet ri in U against 2, unless it has the same value. So the value of
//! ri is the answer, as in M. Let ri not be in C.
//! By 1 and 3 u is in L(c) for some c <= i, so that c = i, as i is the first; so the end is the value of ri, which M
//! gives. In C nothing happens on u: not to rows before ri, since i is the first, and not to rows behind it, by 3. So
//! the end is the answer.
//!
//! The emitted maps divide the subjects into sets U, the buckets, and give each bucket a chain. The proof needs only
//! supersets of the E(i): the subjects that begin like every match, a translation of the pattern, or all subjects if
//! PCRE2 may give up or the pattern is not understood. It needs only supersets of the buckets, too. The key of u is the
//! longest string of a set K that u begins with, because each trie lists its keys before their prefixes. So all
//! subjects of a bucket begin with its key, and subjects that begin with a longer key are in another bucket. Of the
//! L(c), the proof needs subsets, which only exact translations give.
//!
//! The levels before the tree are sets with chains as well: subjects with an inner newline; finitely many strings, for
//! each of which PCRE2 finds the first of all rows; rows that are tried first. Later levels need not consider the rows
//! that these decide: if all strings of a row are listed, or the row has been tried, or a filter that lets pass all its
//! subjects leads to a map of all rows, nothing happens to it on any remaining subject. Two chains side by side
//! (*pick*) each give the number of their row, and the smaller number answers.
//!
//! # Obligations
//!
//! | name | what has to hold |
//! |---|---|
//! | `reads` | both texts are `map` blocks; the original is one, and the emitted text has one of the same variable |
//! | `own-map` | that block has the original's source, flags and exact rows |
//! | `names` | each emitted variable, groups included, is new, plain, and defined once |
//! | `flags` | `volatile` is as in the original; `hostnames` too, in each map that looks up SRC |
//! | `known-map` | each emitted map is of a known kind and reached by the proof |
//! | `depth` | no map leads to itself, and at most 40 are evaluated inside one another (nginx gives up at 100) |
//! | `pattern` | an emitted pattern is understood exactly, and PCRE2 compiles it |
//! | `row` | a row of a chain is a row of the original, with its value |
//! | `order` | the rows of a chain ascend, except among rows of one value that need no match of their own |
//! | `union` | a new pattern in a chain matches exactly what some rows do that have its value; it [stands](words) for them |
//! | `guard` | a guard or a filter is implied by all rows that it may skip |
//! | `trie` | the patterns of keys list literals and capture them whole; each key comes before its own prefixes |
//! | `chunk` | each root has a chunk, which holds it and only keys whose longest root leads to this chunk |
//! | `bucket-key` | the keys of a tree's map are keys of its trie, and differ by more than case |
//! | `bucket` | a row that may match in a bucket is tried there, or comes after one that covers it |
//! | `front` | a table before a tree has the keys that patterns capture, each with the value of its row; no earlier row may match a subject of these rows |
//! | `family` | a table has the literals that one pattern captures, each with the value of the row whose pattern is the literal and the rest of that pattern |
//! | `probe` | a probe leads the subjects of each row to the table of the row, or to a table before it |
//! | `cover` | a row whose value ends a chain matches all subjects of the bucket |
//! | `end` | a subject that no row matches gets the default |
//! | `empty` | the empty subject gets the default |
//! | `floating` | a row tried out of order matches no subject of a row that it has changed places with |
//! | `newline` | `(?s)\n.` selects the subjects with an inner newline, for which all rows that may match one are tried |
//! | `exact-key` | an exact key has an answer, and is compared with the subject unless neither has capital letters |
//! | `exact-answer` | the answer is the value of the first row that matches the key |
//! | `pick` | two answers are compared as numbers of equal width, and the smaller one's text is taken |
//! | `number` | the number in front of a value is the row's place, from 0 |
//! | `captures` | a value with captures has its own pattern; a row that sets a variable by name is tried as before |
//! | `effort` | PCRE2 never gives up on a new pattern; if it may give up on a row, nginx answers the default, as before |
//!
//! If an obligation fails, [`interpret`] runs both texts to search for a subject that they answer differently.
//!
//! The proof assumes that SRC has the same value for all maps that one evaluation reads, that no other part of the
//! configuration uses the new names, that nothing reads captures after an evaluation unless they are [kept](keeping),
//! and that the hash tables of nginx have room.

pub mod alternatives;
pub mod apart;
pub mod ask;
pub mod comparable;
pub mod ends;
pub mod exact;
pub mod family;
pub mod filter;
pub mod front;
pub mod guard;
pub mod heads;
pub mod interpret;
pub mod keeping;
pub mod keys;
pub mod level;
pub mod obligation;
pub mod pick;
pub mod prefixes;
pub mod probe;
pub mod prover;
pub mod row;
pub mod segment;
pub mod symbols;
pub mod text;
pub mod tree;
pub mod union;
pub mod walk;
pub mod words;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

pub use obligation::{MapRefutation, Obligation, Proved};

use ask::Questions;
use prover::{Place, Prover};
use row::{Rows, as_text};

use crate::first_match::ReadPatterns;
use crate::map_block::MapBlock;
use crate::parallel;
use crate::variables;
use text::Texts;

/// Proves that the variable of a map has the same value in both texts, for every subject.
///
/// `original` is one `map` block with its includes inline. `emitted` is a list of whole `map` blocks in any order, one
/// of which defines the same variable. `patterns` are the patterns of the original, if they have been read already;
/// they are compared with the text, and read again if they differ.
pub fn prove(original: &[u8], emitted: &[u8], patterns: Option<&ReadPatterns>) -> Result<Proved, MapRefutation> {
    prove_with(original, emitted, patterns, false)
}

/// As [`prove`], and proves that an evaluation leaves the same captures as an evaluation of the original.
pub fn prove_keeping_captures(
    original: &[u8],
    emitted: &[u8],
    patterns: Option<&ReadPatterns>,
) -> Result<Proved, MapRefutation> {
    prove_with(original, emitted, patterns, true)
}

fn prove_with(
    original: &[u8],
    emitted: &[u8],
    patterns: Option<&ReadPatterns>,
    keeps_captures: bool,
) -> Result<Proved, MapRefutation> {
    let proved = Proved::default();
    let texts = Texts::read(original, emitted, &proved)?;
    let mut own = None;
    let patterns = with_row_texts(&texts.original, |rows| ReadPatterns::known_or(patterns, rows, &mut own));
    patterns.rest();
    check(&texts, patterns, proved, keeps_captures).map_err(|refutation| {
        let counterexample = interpret::counterexample(&texts, refutation.counterexample.clone());
        MapRefutation { counterexample, ..refutation }
    })
}

/// Calls a function with the patterns of a map, written as PCRE reads them without options.
fn with_row_texts<R>(map: &MapBlock, call: impl FnOnce(&[&[u8]]) -> R) -> R {
    let texts: Vec<Cow<[u8]>> = map.patterns.iter().map(|row| as_text(&row.pattern, row.caseless)).collect();
    call(&texts.iter().map(AsRef::as_ref).collect::<Vec<_>>())
}

fn check(
    texts: &Texts,
    patterns: &ReadPatterns,
    proved: Proved,
    keeps_captures: bool,
) -> Result<Proved, MapRefutation> {
    let count = texts.original.patterns.len();
    let (rows, maps) = parallel::both_of(count, || Rows::new(&texts.original, patterns), || texts.check(&proved));
    let maps = maps?;
    let passed = vec![false; rows.list.len()];
    let has_unions = maps.values().any(|block| block.patterns.iter().any(|row| rows.is_new(row)));
    let is_twin = |row: usize| has_unions && rows.ways().first(row).is_some();
    let live = (0..rows.list.len()).map(|row| rows.is_first_of_its_text(row) && !is_twin(row)).collect();
    let left_out = variables::has_no_newline(&texts.original.source).then(|| Arc::new(ask::inner_newline()));
    let place = Place { live, passed, end: texts.original.fallback(), left_out, numbers: None };
    let prover = Prover {
        original: &texts.original,
        own: &texts.own,
        maps: Arc::new(maps),
        rows: Arc::new(rows),
        proved,
        questions: Questions::default(),
        used: RefCell::default(),
    };
    prover.own(place)?;
    if keeps_captures {
        prover.check_captures_kept()?;
    }
    prover.check_used()?;
    Ok(prover.proved)
}
