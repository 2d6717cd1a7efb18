//! Translates a pattern into its language, as an [`Hir`].

use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, Look, Repetition};

use super::{Ast, ByteSet, Pattern};

/// The language of a pattern: the subjects in which `pcre2_match()` finds a match.
///
/// A match may be anywhere in the subject, as in nginx: only [`Look::Start`] and [`Look::End`] tie it to the ends.
/// Captures are removed. Greediness is kept, but makes no difference to a language.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The language, or one that contains it. Over bytes: build automata with `utf8(false)`.
    pub hir: Hir,
    /// Whether `hir` is the language itself.
    pub exact: bool,
    /// Why it is not exact: a reason for each construct, in no particular order.
    pub inexact: Vec<&'static str>,
}

impl Pattern {
    /// Returns the language of the pattern, or a superset of it. O(size), with classes of 256 bytes.
    pub fn translate(&self) -> Translation {
        translate(&self.ast, false)
    }

    /// Returns the language of all strings that have a case variant (ASCII) in the language of the pattern. Every byte
    /// class is closed under case first.
    ///
    /// The result is exact if and only if [`Pattern::translate`] is, because case variants differ byte by byte, and
    /// neither an anchor nor a word boundary distinguishes them.
    pub fn translate_folded(&self) -> Translation {
        translate(&self.ast, true)
    }
}

fn translate(ast: &Ast, folded: bool) -> Translation {
    let mut translator = Translator { folded, inexact: Vec::new() };
    let hir = translator.hir(ast, true);
    Translation { hir, exact: translator.inexact.is_empty(), inexact: translator.inexact }
}

struct Translator {
    folded: bool,
    inexact: Vec<&'static str>,
}

impl Translator {
    /// `tail`: whether all that follows can match the empty string at the place of a `$`.
    fn hir(&mut self, ast: &Ast, tail: bool) -> Hir {
        match ast {
            Ast::Empty => Hir::empty(),
            Ast::Byte(byte) => self.byte(*byte),
            Ast::Class(set) => self.class(set),
            Ast::Concat(items) => self.concat(items, tail),
            Ast::Alternation(branches) => {
                Hir::alternation(branches.iter().map(|branch| self.hir(branch, tail)).collect())
            }
            Ast::Repeat { min, max, greedy, sub } => {
                // If at most one round is required, all rounds after the first can be left out.
                let tail = tail && (*min <= 1 || can_be_empty(sub));
                let sub = Box::new(self.hir(sub, tail));
                Hir::repetition(Repetition { min: *min, max: *max, greedy: *greedy, sub })
            }
            Ast::Capture { sub, .. } => self.hir(sub, tail),
            Ast::Start => Hir::look(Look::Start),
            Ast::End => Hir::look(Look::End),
            Ast::WordBoundary => Hir::look(Look::WordAscii),
            Ast::NotWordBoundary => Hir::look(Look::WordAsciiNegate),
            Ast::Dollar => self.dollar(tail),
            Ast::Superset { reason, sub } => {
                self.inexact.push(reason);
                self.hir(sub, tail)
            }
        }
    }

    /// Translates from the last item to the first, because whether an item is a tail depends on what follows.
    fn concat(&mut self, items: &[Ast], mut tail: bool) -> Hir {
        let mut reversed = Vec::with_capacity(items.len().min(8));
        let mut rest = items;
        while let Some((last, before)) = rest.split_last() {
            let literal = if self.folded { 0 } else { trailing_bytes(rest) };
            if literal > 0 {
                let (before, bytes) = rest.split_at(rest.len() - literal);
                reversed.push(Hir::literal(bytes.iter().filter_map(as_byte).collect::<Vec<_>>()));
                tail = false;
                rest = before;
                continue;
            }
            if tail && *last == Ast::Dollar {
                reversed.extend(line_end().into_iter().rev());
            } else {
                reversed.push(self.hir(last, tail));
                tail = tail && can_be_empty(last);
            }
            rest = before;
        }
        reversed.reverse();
        Hir::concat(reversed)
    }

    /// Translates `$` as `(?:\n?\z)` if nothing has to follow. Elsewhere it is left out, which gives a superset.
    fn dollar(&mut self, tail: bool) -> Hir {
        if tail {
            Hir::concat(line_end().into())
        } else {
            self.inexact.push("a $ that more must follow");
            Hir::empty()
        }
    }

    fn byte(&self, byte: u8) -> Hir {
        if self.folded && byte.is_ascii_alphabetic() {
            self.class(&ByteSet::of(|other| other == byte))
        } else {
            Hir::literal([byte])
        }
    }

    fn class(&self, set: &ByteSet) -> Hir {
        let set = if self.folded { set.fold() } else { *set };
        let ranges = set.ranges().into_iter().map(|(low, high)| ClassBytesRange::new(low, high));
        Hir::class(Class::Bytes(ClassBytes::new(ranges)))
    }
}

/// `\n?` and `\z`. The newline is tried last, so that a list of the language has a string before its newline twin.
fn line_end() -> [Hir; 2] {
    let newline = Box::new(Hir::literal(*b"\n"));
    let newline = Repetition { min: 0, max: Some(1), greedy: false, sub: newline };
    [Hir::repetition(newline), Hir::look(Look::End)]
}

fn as_byte(ast: &Ast) -> Option<u8> {
    match ast {
        Ast::Byte(byte) => Some(*byte),
        _ => None,
    }
}

fn trailing_bytes(items: &[Ast]) -> usize {
    items.iter().rev().take_while(|item| matches!(item, Ast::Byte(_))).count()
}

/// Whether the node can match the empty string at any place where `$` holds.
pub(super) fn can_be_empty(ast: &Ast) -> bool {
    match ast {
        Ast::Empty | Ast::Dollar => true,
        // `\z` does not hold before a final newline, and the others depend on what stands there.
        Ast::Start | Ast::End | Ast::WordBoundary | Ast::NotWordBoundary => false,
        Ast::Byte(_) | Ast::Class(_) => false,
        Ast::Concat(items) => items.iter().all(can_be_empty),
        Ast::Alternation(branches) => branches.iter().any(can_be_empty),
        Ast::Repeat { min, sub, .. } => *min == 0 || can_be_empty(sub),
        Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => can_be_empty(sub),
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::{Translation, parse};
    use regex_automata::meta::{Builder, Config};

    fn translate(pattern: &str) -> Translation {
        parse(pattern.as_bytes()).expect("a pattern that is read").translate()
    }

    fn matches(translation: &Translation, subject: &str) -> bool {
        let config = Config::new().utf8_empty(false);
        let regex = Builder::new().configure(config).build_from_hir(&translation.hir).unwrap();
        regex.is_match(subject)
    }

    /// `$` takes one final newline, and only where nothing has to follow it.
    #[test]
    fn dollar() {
        let tail = translate("^/a$");
        assert!(tail.exact && matches(&tail, "/a") && matches(&tail, "/a\n"));
        assert!(!matches(&tail, "/a\n\n") && !matches(&tail, "/ab"));
        let empty_behind = translate("^/(a$|b)(c|)");
        assert!(empty_behind.exact && matches(&empty_behind, "/a\n"));
        let middle = translate("^/a$\nb");
        assert_eq!(middle.inexact, ["a $ that more must follow"]);
        let end = translate(r"^/a\z");
        assert!(end.exact && !matches(&end, "/a\n"));
    }

    /// A construct that is not regular is translated into a superset, and each one is named.
    #[test]
    fn supersets_say_why() {
        let pattern = translate(r"^/(?!a)(b)\s(?<!c)d++$");
        assert!(!pattern.exact && matches(&pattern, "/b d"));
        assert_eq!(pattern.inexact.len(), 4);
    }

    /// Folding adds every case variant, inside negated classes too, and keeps exactness.
    #[test]
    fn folded() {
        let folded = parse(b"^/aB[^c]1$").unwrap().translate_folded();
        assert!(folded.exact);
        for subject in ["/aBx1", "/Abx1", "/abc1", "/ABC1"] {
            assert!(matches(&folded, subject), "{subject}");
        }
        assert!(!matches(&folded, "/bax1"));
        assert!(!parse(b"^/a(?!b)").unwrap().translate_folded().exact);
    }
}
