//! Lists the strings of a finite language.
//!
//! `regex_syntax::hir::literal::Extractor` ignores anchors, so the strings are derived here by recursion over
//! fragments.

use std::cell::Cell;

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use crate::language::fragments::{Fragment, Fragments, LONGEST_STRING, Stop};
use crate::work::spend;

/// A language, if it is finite and small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finite {
    /// All its strings, each once, in the order of first derivation: branches from left to right, a greedy repetition
    /// from most to least; a class, or an alternation of single bytes, in byte order; a string before its newline twin.
    ///
    /// `any_case`: each string is in lower case and stands for all its case variants (ASCII), which are all in the
    /// language; at least one string has a letter.
    Strings { strings: Vec<Vec<u8>>, any_case: bool },
    /// The language has infinitely many strings, or the pattern is not anchored at both ends.
    Infinite,
    /// The language has more strings than the bound, or a string of more than [`LONGEST_STRING`] bytes.
    TooMany,
    /// An anchor cannot hold on some path through the pattern, as in `a^b`. Code that follows the pattern in another
    /// order would visit all such paths, and there may be any number of them.
    Contradictory,
}

/// All strings of the language of `hir`, if at most `bound` (a string for all its case variants counts once).
///
/// Exact, except that look-arounds other than [`Look::Start`] and [`Look::End`] are ignored: then a superset. Each part
/// of the pattern is bounded like the whole: a part with more than `bound` strings is [`Finite::TooMany`] even where an
/// anchor would leave few of them. O(length) for a literal, O(bound x length) for most others.
///
/// If the translation that `hir` comes from is not exact, `any_case` holds only for the superset: the pattern may
/// distinguish case variants. To filter the strings with PCRE2, list each variant with [`finite_spelled`].
pub fn finite(hir: &Hir, bound: usize) -> Finite {
    if !is_case_closed(hir) {
        return finite_spelled(hir, bound);
    }
    let has_letter = |strings: &[Vec<u8>]| strings.iter().flatten().any(u8::is_ascii_alphabetic);
    list(hir, bound, true, has_letter)
}

/// Like [`finite`], with every case variant listed: `any_case` is false.
pub fn finite_spelled(hir: &Hir, bound: usize) -> Finite {
    list(hir, bound, false, |_| false)
}

fn list(hir: &Hir, bound: usize, lower: bool, any_case: impl Fn(&[Vec<u8>]) -> bool) -> Finite {
    let lister = Lister { bound, lower, contradicts: Cell::new(false) };
    let strings = lister.strings(hir);
    spend(1 + strings.as_ref().map_or(bound, Vec::len));
    match strings {
        Ok(_) if lister.contradicts.get() => Finite::Contradictory,
        Ok(strings) => Finite::Strings { any_case: any_case(&strings), strings },
        Err(stop) => stop.into(),
    }
}

/// Whether the language is closed under ASCII case because all its parts are: no literal has a letter, and each class
/// has both cases of its letters.
fn is_case_closed(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(literal) => !literal.0.iter().any(u8::is_ascii_alphabetic),
        HirKind::Class(class) => (b'a'..=b'z').all(|letter| contains(class, letter) == contains(class, letter ^ 32)),
        HirKind::Repetition(Repetition { sub, .. }) => is_case_closed(sub),
        HirKind::Capture(capture) => is_case_closed(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_case_closed),
    }
}

/// Whether an ASCII byte is in a class.
fn contains(class: &Class, byte: u8) -> bool {
    match class {
        Class::Bytes(bytes) => bytes.ranges().iter().any(|range| (range.start()..=range.end()).contains(&byte)),
        Class::Unicode(characters) => {
            characters.ranges().iter().any(|range| (range.start()..=range.end()).contains(&char::from(byte)))
        }
    }
}

/// How many strings a class has.
fn size(class: &Class) -> usize {
    match class {
        Class::Bytes(bytes) => bytes.ranges().iter().map(|range| range.len()).sum(),
        Class::Unicode(characters) => characters.ranges().iter().map(|range| range.len()).sum(),
    }
}

/// The strings of a class in order: bytes, or characters in UTF-8. The constructors of `Hir` turn a class of ASCII
/// bytes, and alternatives that are each a character, into a class of characters.
fn members(class: &Class) -> Vec<Vec<u8>> {
    match class {
        Class::Bytes(bytes) => {
            bytes.ranges().iter().flat_map(|range| range.start()..=range.end()).map(|byte| vec![byte]).collect()
        }
        Class::Unicode(characters) => {
            let all = characters.ranges().iter().flat_map(|range| range.start()..=range.end());
            all.map(|character| character.to_string().into_bytes()).collect()
        }
    }
}

impl From<Stop> for Finite {
    fn from(stop: Stop) -> Finite {
        match stop {
            Stop::Infinite => Finite::Infinite,
            Stop::TooMany => Finite::TooMany,
        }
    }
}

/// Derives the strings of one pattern.
struct Lister {
    bound: usize,
    /// Whether the lower-case letters of a class stand for both cases.
    lower: bool,
    /// Whether some anchor cannot hold.
    contradicts: Cell<bool>,
}

impl Lister {
    fn strings(&self, hir: &Hir) -> Result<Vec<Vec<u8>>, Stop> {
        let fragments = self.fragments(hir)?.list;
        if fragments.iter().all(|fragment| fragment.at_start && fragment.at_end) {
            Ok(fragments.into_iter().map(|fragment| fragment.bytes).collect())
        } else {
            Err(Stop::Infinite)
        }
    }

    fn fragments(&self, hir: &Hir) -> Result<Fragments, Stop> {
        match hir.kind() {
            HirKind::Literal(literal) => {
                let mut fragments = Fragments::default();
                fragments.extend([Fragment::of(&literal.0)], self.bound)?;
                Ok(fragments)
            }
            HirKind::Class(class) => self.class(class),
            HirKind::Look(Look::Start) => Ok(Fragments::single(Fragment { at_start: true, ..Fragment::default() })),
            HirKind::Look(Look::End) => Ok(Fragments::single(Fragment { at_end: true, ..Fragment::default() })),
            // Other look-arounds are ignored: a superset.
            HirKind::Empty | HirKind::Look(_) => Ok(Fragments::single(Fragment::default())),
            HirKind::Capture(capture) => self.fragments(&capture.sub),
            HirKind::Concat(parts) => self.concat(parts),
            HirKind::Alternation(branches) => {
                let mut fragments = Fragments::default();
                for branch in branches {
                    fragments.extend(self.fragments(branch)?.list, self.bound)?;
                }
                Ok(fragments)
            }
            HirKind::Repetition(repetition) => self.repetition(repetition),
        }
    }

    fn class(&self, class: &Class) -> Result<Fragments, Stop> {
        let capitals = usize::from(b'Z' - b'A') + 1;
        if size(class) > self.bound + capitals {
            return Err(Stop::TooMany);
        }
        let mut fragments = Fragments::default();
        let listed = members(class).into_iter().filter(|member| !(self.lower && member[0].is_ascii_uppercase()));
        fragments.extend(listed.map(|member| Fragment::of(&member)), self.bound)?;
        Ok(fragments)
    }

    fn concat(&self, parts: &[Hir]) -> Result<Fragments, Stop> {
        let mut product = Fragments::single(Fragment::default());
        for part in parts {
            product = self.product(product, &self.fragments(part)?)?;
        }
        Ok(product)
    }

    fn product(&self, mut left: Fragments, right: &Fragments) -> Result<Fragments, Stop> {
        // The common case is one fragment on each side: the bytes are appended in place.
        if let ([first], [second]) = (left.list.as_mut_slice(), right.list.as_slice())
            && !first.at_end
            && !second.at_start
            && first.bytes.len() + second.bytes.len() <= LONGEST_STRING
        {
            first.bytes.extend_from_slice(&second.bytes);
            first.at_end = second.at_end;
            return Ok(left);
        }
        let mut product = Fragments::default();
        for first in &left.list {
            let both = right.list.iter().map(|second| first.then(second));
            let holds = both.inspect(|both| self.contradicts.set(self.contradicts.get() || both.is_none()));
            product.extend(holds.flatten(), self.bound)?;
        }
        Ok(product)
    }

    fn repetition(&self, repetition: &Repetition) -> Result<Fragments, Stop> {
        let sub = match self.fragments(&repetition.sub) {
            // Too many strings, repeated without a limit, are infinitely many.
            Err(Stop::TooMany) if repetition.max.is_none() => return Err(Stop::Infinite),
            sub => sub?,
        };
        let max = match repetition.max {
            Some(max) => max,
            // Rounds that add no byte add no string after the first.
            None if sub.list.iter().all(|round| round.bytes.is_empty()) => repetition.min.max(1),
            None => return Err(Stop::Infinite),
        };
        let mut powers = match (repetition.min, max) {
            // The common case, without the copies.
            (0, 1) => vec![vec![Fragment::default()], sub.list],
            (min, max) => self.powers(&sub, min, max)?,
        };
        if repetition.greedy {
            powers.reverse();
        }
        let mut fragments = Fragments::default();
        fragments.extend(powers.into_iter().flatten(), self.bound)?;
        Ok(fragments)
    }

    /// The fragments of `min`, `min + 1`, ... `max` rounds of `sub`.
    fn powers(&self, sub: &Fragments, min: u32, max: u32) -> Result<Vec<Vec<Fragment>>, Stop> {
        let mut power = Fragments::single(Fragment::default());
        let mut powers = Vec::new();
        for rounds in 0..=max {
            if rounds >= min {
                powers.push(power.list.clone());
                // Until the powers settle, each adds a string.
                if powers.len() > self.bound + 1 {
                    return Err(Stop::TooMany);
                }
            }
            if rounds == max {
                break;
            }
            let next = self.product(Fragments::from(power.list.clone()), sub)?;
            let settled = next.list == power.list;
            power = next;
            if settled || power.list.is_empty() {
                if rounds < min {
                    powers.push(power.list);
                }
                break;
            }
        }
        Ok(powers)
    }
}

#[cfg(test)]
mod tests {
    use super::{Finite, finite, finite_spelled};
    use crate::syntax::parse;

    fn list(pattern: &str, bound: usize) -> Finite {
        finite(&parse(pattern.as_bytes()).expect("a pattern that is read").translate().hir, bound)
    }

    fn strings(pattern: &str) -> Vec<String> {
        match list(pattern, 256) {
            Finite::Strings { strings, any_case: false } => {
                strings.into_iter().map(|bytes| String::from_utf8(bytes).unwrap()).collect()
            }
            other => panic!("{pattern}: {other:?}"),
        }
    }

    /// The finite forms that rules take, each with its newline twins, in the order of derivation.
    #[test]
    fn forms_of_rules() {
        assert_eq!(strings("^/a$"), ["/a", "/a\n"]);
        assert_eq!(strings(r"^/a\z"), ["/a"]);
        assert_eq!(strings(r"^/a(b|c)/?\z"), ["/ab/", "/ab", "/ac/", "/ac"]);
        assert_eq!(strings("^/a/?$"), ["/a/", "/a/\n", "/a", "/a\n"]);
        assert_eq!(strings(r"^/(foo|b(ar|az))\z"), ["/foo", "/bar", "/baz"]);
        assert_eq!(strings(r"^/[.x]a\.b\z"), ["/.a.b", "/xa.b"]);
        assert_eq!(strings(r"^/a{1,2}b??\z"), ["/aa", "/aab", "/a", "/ab"]);
        assert_eq!(strings(r"^/a\n?$"), ["/a\n", "/a\n\n", "/a"]);
        assert_eq!(strings(r"^(/a\z|/b$)"), ["/a", "/b", "/b\n"]);
    }

    /// Alternatives that are single characters, including non-ASCII ones, which the constructors of `Hir` turn into a
    /// class.
    #[test]
    fn characters() {
        assert_eq!(strings(r"^/(é|a)\z"), ["/a", "/é"]);
        assert_eq!(strings("^/(é|à|[bc])$").len(), 8);
    }

    /// A string with several derivations is listed once.
    #[test]
    fn each_once() {
        assert_eq!(strings(r"^/(a|b?a|a)(|())*\z"), ["/a", "/ba"]);
        assert_eq!(strings(r"^/(|()){0,60000}a\z"), ["/a"]);
        assert_eq!(strings(&format!("^/{}\\z", "(ab|ab)".repeat(40))).len(), 1);
    }

    /// Anchors that cannot hold are reported, as the part before them may match more strings than remain.
    #[test]
    fn contradictions() {
        for pattern in ["^/a^b$", r"^/a(\zb|c)\z", "^/[ab](?:[0-9][0-9]^|x)$", "^/a(/|$)$"] {
            assert_eq!(list(pattern, 256), Finite::Contradictory, "{pattern}");
        }
        assert_eq!(strings("^/a(/$|$)").len(), 4);
    }

    /// A pattern that is open at one end, or has an unbounded repetition, has infinitely many strings.
    #[test]
    fn infinite() {
        for pattern in ["^/a", "/a$", "^/a*$", "^/(a|b+)$", "^/a$|b", "^/(.*)$", ""] {
            assert_eq!(list(pattern, 256), Finite::Infinite, "{pattern}");
        }
    }

    /// The bound is on the number of strings, twins included, and on their length.
    #[test]
    fn bounds() {
        assert!(matches!(list("^/[ab]$", 4), Finite::Strings { .. }));
        assert_eq!(list("^/[ab]$", 3), Finite::TooMany);
        for pattern in ["^/.$", "^/((a{60000}){60000}){60000}$", "^/a{0,65535}$", r"^/\w{9}$"] {
            assert_eq!(list(pattern, 128), Finite::TooMany, "{pattern}");
        }
    }

    /// If case is ignored, one string stands for its variants, unless it has no letter.
    #[test]
    fn any_case() {
        let folded = |pattern: &str| match list(pattern, 256) {
            Finite::Strings { strings, any_case } => (strings, any_case),
            other => panic!("{pattern}: {other:?}"),
        };
        assert_eq!(folded(r"(?i)^/Ab1\z"), (vec![b"/ab1".to_vec()], true));
        assert_eq!(folded(r"^/[aA]\z"), (vec![b"/a".to_vec()], true));
        assert_eq!(folded(r"^/1\z"), (vec![b"/1".to_vec()], false));
        assert_eq!(folded(r"^/[aA]b\z"), (vec![b"/Ab".to_vec(), b"/ab".to_vec()], false));
        let hir = parse(br"(?i)^/ab\z").unwrap().translate().hir;
        let spelled = ["/AB", "/Ab", "/aB", "/ab"].map(|string| string.as_bytes().to_vec());
        let expected = Finite::Strings { strings: spelled.to_vec(), any_case: false };
        assert_eq!(finite_spelled(&hir, 4), expected);
    }
}
