//! Proves that maps of look-ups give the values that one map with patterns gives.
//!
//! It reads both texts, with code that shares the reading of blocks, the PCRE translator, languages, PCRE2 itself and
//! the index over patterns with the planner, and nothing else. Names, order and form of the emitted maps are not
//! trusted: each map is known by what stands in it, and a map of no known kind is refuted.
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
//! 2. If ri comes before rj in C although j < i, then E(i) and E(j) have no subject of U in common.
//! 3. If the end of C is the value of a row rc, then U is contained in L(c), PCRE2 never gives up on rc, its value has
//!    no captures, and nothing happens in U to a row of C that is behind rc in M. Else the end is D.
//!
//! Then C and M give the same answer for every u in U.
//!
//! *Proof.* Let u be in U, and i the first with u in E(i). If there is none, nothing happens in C, and the end is D by
//! 3, as u is in no L(c). Otherwise, let ri be in C. No row to which something happens on u comes before ri in C, as
//! its number would be smaller than i, or it would meet ri in U against 2. So ri decides, as in M. Let ri not be in C.
//! By 1 and 3 u is in L(c) for some c <= i, so that c = i, as i is the first; so the end is the value of ri, which M
//! gives. In C nothing happens on u: not to rows before ri, since i is the first, and not to rows behind it, by 3. So
//! the end is the answer.
//!
//! The emitted maps cut the subjects into sets U, the buckets, and give each a chain. Of the E(i) only bounds from
//! above are needed: what every match begins with, a translation of the pattern, or all subjects, where PCRE2 may give
//! up or the pattern is not understood. Of the buckets too: the key of u is the longest string of a set K that u begins
//! with, as each trie lists its keys before their prefixes, so that all subjects of a bucket begin with its key, and
//! what begins with a longer key is in another. Of the L(c) a bound from below is needed, which only exact translations
//! give.
//!
//! Levels that stand before the tree are chains and sets as well: subjects with an inner newline; finitely many
//! strings, for each of which the first of all rows is asked of PCRE2; rows that come first. What they decide is not
//! examined again: a row all of whose strings are listed, or which was tried, does not happen to any subject that is
//! left. Two chains side by side (*pick*) each give the number of their row, and the smaller one answers.
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
//! | `order` | the rows of a chain ascend |
//! | `guard` | a guard or a filter is implied by all rows that it may skip |
//! | `trie` | the patterns of keys list literals and capture all of one; each key comes before those it begins with |
//! | `chunk` | each root has a chunk, which holds it and only keys whose longest root leads to this chunk |
//! | `bucket-key` | the rows of a tree are keys of its trie, which differ by more than case |
//! | `bucket` | a row that may match in a bucket is tried there, or comes after one that covers it |
//! | `front` | a table before a tree has the keys that patterns capture, each with the value of its row, and no earlier row may meet it |
//! | `family` | a table has the literals that one pattern captures, each with the value of the row that is the literal and what follows it in the pattern |
//! | `probe` | what leads to families by the first segments of subjects leads those of each row to its table, or to one before it |
//! | `cover` | a row whose value ends a chain matches all subjects of the bucket |
//! | `end` | a subject that no row matches gets the default |
//! | `empty` | the empty subject gets the default |
//! | `floating` | a row tried out of order matches no subject of a row that it has changed places with |
//! | `newline` | `(?s)\n.` selects subjects with an inner newline, and all rows that may match one are tried there |
//! | `exact-key` | an exact key has an answer, and is compared with the subject unless neither has capital letters |
//! | `exact-answer` | the answer is the value of the first row that matches the key |
//! | `pick` | two answers are compared as numbers of equal width, and the smaller one's text is taken |
//! | `number` | the number in front of a value is the row's place, from 0 |
//! | `captures` | a value with captures has its own pattern; a row that sets a variable by name is tried as before |
//! | `effort` | PCRE2 never gives up on an emitted pattern; where it may on a row, nginx says the default, as it did |
//!
//! Where an obligation fails, a subject that the texts answer differently is looked for by running both
//! ([`interpret`]).
//!
//! What is taken as given: SRC has one value for all maps that one evaluation reads, no other part of the configuration
//! uses the new names, or captures after an evaluation where they need not be [kept](keeping), and the tables of nginx
//! have room.

pub mod alternatives;
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

/// Decides whether the variable of `original`, one `map` block with its includes inline, has for every subject the
/// value that the block of that variable in `emitted`, whole `map` blocks in any order, gives it.
///
/// `patterns`: those of the original, where somebody has read them already. They are compared with the text, and read
/// again if they are others.
pub fn prove(original: &[u8], emitted: &[u8], patterns: Option<&ReadPatterns>) -> Result<Proved, MapRefutation> {
    prove_with(original, emitted, patterns, false)
}

/// The same, and that an evaluation leaves captures as one of the original does.
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

/// Calls a function with the patterns of a map as PCRE takes them without options.
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
    let live = (0..rows.list.len()).map(|row| rows.is_first_of_its_text(row)).collect();
    let left_out = variables::has_no_newline(&texts.original.source).then(|| Arc::new(ask::inner_newline()));
    let place = Place { live, end: texts.original.fallback(), left_out, numbers: None };
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
