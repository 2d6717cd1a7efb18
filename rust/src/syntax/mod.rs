//! The text of a pattern, read as every PCRE reads it, by an allow-list.
//!
//! nginx hands the pattern of a `rewrite` to the system's PCRE with no options (`ngx_regex_compile`): bytes, no UTF,
//! case-sensitive, newline is LF. That library is PCRE1 from 8.32 on, or PCRE2 from 10.30 on, and they differ: `{,3}`
//! is text before 10.43 and a quantifier since. [`parse`] takes a pattern only if every construct in it means the same
//! in all of them, run by their interpreters: such a pattern is *portable*, and all of them give the answer of the
//! local PCRE2. Constructs that are not on the list are refused, so that an unforeseen one cannot be misread.
//!
//! A construct is read exactly, or kept as a [`Ast::Superset`] of what it matches (a look-around, a possessive
//! quantifier). [`Pattern::translate`] gives the language as an [`Hir`], over bytes, and says whether it is exact.
//! Of a pattern that is refused, [`prefix`] still bounds what any library matches. Subjects have limits as well:
//! [`Pattern::settles`].

mod ast;
mod byte_set;
mod class;
mod escape;
mod example;
mod group;
mod literal;
mod named;
mod parse;
mod prefix;
mod readings;
mod subject;
mod translate;

use crate::work::spend;

pub use ast::{Ast, Pattern, Refusal};
pub use byte_set::ByteSet;
pub use example::example;
pub use literal::{Literal, literal};
pub use prefix::{begins, prefix};
pub use readings::{Readings, read_as};
pub use regex_syntax::hir::Hir;
pub use translate::Translation;

/// Reads a portable pattern; the refusal of any other says whether it is one for some PCRE.
///
/// O(length). Nesting is bounded, so no pattern exhausts the stack.
pub fn parse(pattern: &[u8]) -> Result<Pattern, Refusal> {
    spend(8 + pattern.len());
    parse::Parser::new(pattern, parse::Flags::default()).pattern().map(|parsed| parsed.pattern)
}

/// Reads a pattern as [`parse`] does, or one with references to groups (`\1`) or positive lookaheads (`^(?=a)`). All
/// PCREs match them alike, but they cannot be compared with others, or be parts of them.
pub fn parse_to_match(pattern: &[u8]) -> Result<Pattern, Refusal> {
    let parser = parse::Parser::new(pattern, parse::Flags::default()).only_matching();
    parser.pattern().map(|parsed| parsed.pattern)
}

#[cfg(test)]
mod tests {
    use super::{Ast, ByteSet, parse, parse_to_match};

    fn ast(pattern: &str) -> Ast {
        parse(pattern.as_bytes()).unwrap_or_else(|refusal| panic!("{pattern}: {refusal}")).ast
    }

    fn class(members: &str) -> Ast {
        Ast::Class(ByteSet::of(|byte| members.as_bytes().contains(&byte)))
    }

    /// The plainest rule is an anchor, its bytes and an anchor.
    #[test]
    fn literal() {
        let bytes = [b'/', b'a', b'.'].map(Ast::Byte);
        let expected = [vec![Ast::Start], bytes.to_vec(), vec![Ast::Dollar]].concat();
        assert_eq!(ast(r"^/a\.$"), Ast::Concat(expected));
    }

    /// Escapes of one byte, in a class and outside.
    #[test]
    fn escapes() {
        for pattern in [r"\x41", r"[\x41]", "[A]", "A"] {
            let expected = if pattern.starts_with('[') { class("A") } else { Ast::Byte(b'A') };
            assert_eq!(ast(pattern), expected, "{pattern}");
        }
        for (pattern, byte) in [(r"\n", b'\n'), (r"\.", b'.'), (r"\ ", b' '), (r"\_", b'_'), (r"\e", 27)] {
            assert_eq!(ast(pattern), Ast::Byte(byte), "{pattern}");
        }
    }

    /// `\s` may or may not contain the vertical tab, and so may every class made of it.
    #[test]
    fn spaces() {
        for pattern in [r"\s", r"\S", r"[\s]", r"[^\s]", r"[\S]", r"[^\S]", r"[a\s]"] {
            let read = parse(pattern.as_bytes()).unwrap();
            let Ast::Superset { sub, .. } = &read.ast else { panic!("{pattern}") };
            assert!(matches!(**sub, Ast::Class(set) if set.contains(0x0b)) && read.spaces, "{pattern}");
            assert!(read.settles(b"/ ") && !read.settles(b"/\x0b"), "{pattern}");
        }
        assert!(!parse(b"[[:space:]][^a]").unwrap().spaces);
    }

    /// If a group is repeated, the stack of some library bounds the subject.
    #[test]
    fn subjects() {
        let longest = |pattern: &str| parse(pattern.as_bytes()).unwrap().longest();
        for pattern in ["^/a/(.*)$", "^/(a|b|c)+", "^/[^/]*/(.*)/(.*)/?$"] {
            let bounded = pattern.contains(")+");
            assert_eq!(longest(pattern) < usize::MAX, bounded, "{pattern}");
        }
        assert_eq!(longest("^/(a){3000}$"), 256);
        assert_eq!(longest("^/(a|){3000}$"), 0);
        assert!((128..=512).contains(&longest("^/(?:[^x]|y)*z$")));
        assert!(longest("^/(?!(?:[^x]|y)*z)") < usize::MAX);
        assert_eq!(longest("^/(a(b(c)?)?)?$"), usize::MAX);
    }

    /// Classes: brackets and hyphens at the edges, ranges, negation, POSIX names.
    #[test]
    fn classes() {
        assert_eq!(ast("[]a]"), class("]a"));
        assert_eq!(ast("[-a]"), class("-a"));
        assert_eq!(ast("[a-]"), class("a-"));
        assert_eq!(ast("[.]"), class("."));
        assert_eq!(ast("[._-]"), class("._-"));
        assert_eq!(ast(r"[.!\-_]"), class(".!-_"));
        assert_eq!(ast("[a&&b]"), class("a&b"));
        assert_eq!(ast(r"[\x41-C]"), class("ABC"));
        assert_eq!(ast("[[:digit:]x]"), class("0123456789x"));
        assert_eq!(ast("[^]]"), Ast::Class(ByteSet::of(|byte| byte != b']')));
        assert_eq!(ast("(?i)[^a]"), Ast::Class(ByteSet::of(|byte| byte | 32 != b'a')));
    }

    /// A flag holds to the end of its group, and one at the start in all branches.
    #[test]
    fn flags() {
        let branches = Ast::Alternation(vec![class("Aa"), class("Bb")]);
        assert_eq!(ast("(?i:a|b)c"), Ast::Concat(vec![branches.clone(), Ast::Byte(b'c')]));
        assert_eq!(ast("(?i)(?s)a|b"), branches);
        assert_eq!(ast("(?is)a(?-i:b)"), Ast::Concat(vec![class("Aa"), Ast::Byte(b'b')]));
    }

    /// A pattern ignores case only if it allows both cases of every letter.
    #[test]
    fn case() {
        let ignores = |pattern: &str| parse(pattern.as_bytes()).unwrap().ignores_case();
        assert!(ignores("(?i)^/about$") && ignores("^/[aA]$"));
        assert!(!ignores("^/a(?i:bout)$") && !ignores("^/[0-9]$") && !ignores("^/(a|A)$"));
    }

    /// Groups are counted by their opening parentheses, those in look-arounds included.
    #[test]
    fn captures() {
        let pattern = parse(br"(a(?<n>b))(?!(c))(?:d)\(").unwrap();
        assert_eq!((pattern.captures, pattern.named), (3, true));
        assert!(!parse(b"(a)").unwrap().named);
    }

    /// A brace that is no quantifier is a byte; one that is for some releases only is refused.
    #[test]
    fn braces() {
        let twice = Ast::Repeat { min: 2, max: Some(2), greedy: true, sub: Box::new(Ast::Byte(b'a')) };
        assert_eq!(ast("a{2}"), twice);
        assert_eq!(ast("{a}"), Ast::Concat([b'{', b'a', b'}'].map(Ast::Byte).to_vec()));
        assert_eq!(ast("a{"), Ast::Concat([b'a', b'{'].map(Ast::Byte).to_vec()));
    }

    /// Constructs not on the list are refused, at their place.
    #[test]
    fn refusals() {
        for (pattern, offset) in [
            ("a(*FAIL)", 1),
            ("(?|a)", 2),
            ("a(?m)b", 3),
            ("a(?i)b", 4),
            ("((?i)a)", 4),
            ("(?i-s)a", 3),
            ("(?s:a)", 3),
            ("(?x)a", 2),
            ("(?U)a*", 2),
            ("(?J)a", 2),
            ("(?(1)a)", 2),
            ("(?C)", 2),
            ("(?#a)", 2),
            ("(?>a)", 2),
            ("(?R)", 2),
            ("(?'n'a)", 2),
            ("a{,3}", 1),
            ("a{ 1}", 1),
            ("[Aa]{2}", 7),
            ("(?i)a{2}", 8),
            ("a{1,2}?", 7),
            ("a{2}?", 5),
            ("(a)*+", 5),
            ("a{2}+", 5),
            ("a**", 3),
            ("^*", 2),
            ("(?!a)*", 6),
            ("(?=a)b", 2),
            ("(?i)*", 4),
            ("[[:foo:]]", 1),
            ("[..]", 1),
            (r"[.a\.]", 1),
            (r"[.a\]b.]", 1),
            ("[:alpha:]", 1),
            ("[[.a.]]", 1),
            (r"[\w-.]", 3),
            (r"[a-\d]", 5),
            (r"[\b]", 2),
            (r"[\h]", 2),
            (r"[^\x00-\xff]", 12),
            (r"\1", 0),
            (r"\012", 0),
            (r"\cA", 0),
            (r"\K", 0),
            (r"\R", 0),
            (r"\p{L}", 0),
            (r"\i", 0),
            (r"a\E", 1),
            (r"\Qa\E", 0),
            (r"\x", 1),
            (r"\x4", 1),
            (r"\x{41}", 1),
            (r"\b{1}", 2),
            ("(?<1>a)", 3),
            ("(?<n>a)(?<n>b)", 10),
            ("(?<=a?)b", 7),
            ("(?<=(a|bc))d", 11),
            ("(?<!a|b(?:c))d", 13),
            ("a\0", 1),
        ] {
            let refusal = parse(pattern.as_bytes()).expect_err(pattern);
            assert_eq!((refusal.offset, refusal.is_error), (offset, false), "{pattern}: {refusal}");
        }
        let name = "n".repeat(33);
        assert!(parse(format!("(?<{name}>a)").as_bytes()).is_err());
    }

    /// A reference to a group is read where it is to be matched only, and means the same in every PCRE.
    #[test]
    fn references() {
        for pattern in [r"^([0-9]*):\1[1-9]", r"(a)|b\1", r"(a(b))\2\1", r"(?<n>a)\1", r"(?i)(a)\1"] {
            assert!(parse_to_match(pattern.as_bytes()).is_ok_and(|read| !read.translate().exact), "{pattern}");
            assert!(parse(pattern.as_bytes()).is_err(), "{pattern}");
        }
        let refused = [r"\1(a)", r"(a\1)", r"(a)\2", r"(a)\10", r"(a)\1*", r"(a)[\1]", r"(?!(a))\1"];
        for pattern in refused {
            assert!(parse_to_match(pattern.as_bytes()).is_err(), "{pattern}");
        }
    }

    /// A positive lookahead is read where it is to be matched only, behind the `^` of a pattern, and without groups.
    #[test]
    fn positive_lookaheads() {
        for pattern in ["^(?=a)", "^/(?=.*a)(?=.*b)", "(?i)^a(?=b|c)", "^(?:a(?=b))*b", "^(?!a(?=b))", "^(a)\\1(?=b)"] {
            let read = parse_to_match(pattern.as_bytes());
            assert!(read.is_ok_and(|read| !read.translate().exact), "{pattern}");
            assert!(parse(pattern.as_bytes()).is_err(), "{pattern}");
        }
        for (pattern, offset) in [
            ("(?=.*a)a", 2),
            ("/(?=a)", 3),
            ("^a|(?=b)b", 5),
            ("(?:^a(?=b))b", 7),
            ("^(?=(a))", 8),
            ("^(?:a)?+(?=b)", 10),
            ("^(?=a)*", 7),
            ("^(?=(?:a)(?>b))", 11),
        ] {
            let refusal = parse_to_match(pattern.as_bytes()).expect_err(pattern);
            assert_eq!((refusal.offset, refusal.is_error), (offset, false), "{pattern}: {refusal}");
        }
    }

    /// Patterns that every PCRE rejects are distinguished from those that only some do.
    #[test]
    fn errors() {
        for (pattern, offset) in [
            ("*a", 0),
            ("a|*", 2),
            ("(a", 2),
            ("a)", 1),
            ("[a", 2),
            ("[b-a]", 4),
            (r"a\", 2),
            ("a{3,2}", 1),
            ("a{70000}", 1),
        ] {
            let refusal = parse(pattern.as_bytes()).expect_err(pattern);
            assert_eq!((refusal.offset, refusal.is_error), (offset, true), "{pattern}: {refusal}");
        }
    }

    /// Deep nesting is refused before it exhausts the stack.
    #[test]
    fn nesting_is_bounded() {
        assert!(parse("(".repeat(100_000).as_bytes()).is_err());
        let deep = ["(".repeat(150), ")".repeat(150)].concat();
        assert_eq!(parse(deep.as_bytes()).unwrap().captures, 150);
    }
}
