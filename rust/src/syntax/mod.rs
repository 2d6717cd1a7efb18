//! PCRE2 pattern text, read as nginx compiles it, by an allow-list.
//!
//! nginx hands the pattern of a `rewrite` to `pcre2_compile()` with no options (`ngx_regex_compile`): bytes, no UTF,
//! case-sensitive, newline is LF. [`parse`] reads that text into an [`Ast`]. A construct is read exactly, or kept as a
//! [`Ast::Superset`] of what it matches (a look-around, a backreference, an atomic group), or the whole pattern is
//! refused with a reason. What is not on the list is refused, so a construct nobody thought of cannot be misread.
//! [`Pattern::translate`] then gives the language as an [`Hir`], over bytes, and says whether it is exact.
//!
//! Constructs whose meaning differs between the releases of PCRE2 (`{,n}`, spaces in a quantifier: 10.43) are refused.

mod byte_set;
mod class;
mod escape;
mod group;
mod literal;
mod parse;
mod readings;
mod translate;

use std::fmt;

pub use byte_set::ByteSet;
pub use literal::{Literal, literal};
pub use readings::{Readings, read_as};
pub use regex_syntax::hir::Hir;
pub use translate::Translation;

/// Why a pattern is not read: the byte of the pattern where reading stopped, and what stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Offset into the pattern, in bytes.
    pub offset: usize,
    /// What is there, in a few words.
    pub reason: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.reason, self.offset)
    }
}

impl std::error::Error for Refusal {}

/// What a pattern says. Non-capturing groups and flags leave no node: `(?i)a` is the class `[Aa]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ast {
    /// The empty string.
    Empty,
    /// One byte.
    Byte(u8),
    /// One byte out of a set: a class, a dot, an escape such as `\d`.
    Class(ByteSet),
    /// One after the other.
    Concat(Vec<Ast>),
    /// One of them; the order is the pattern's.
    Alternation(Vec<Ast>),
    /// `sub` at least `min` and at most `max` times (`None`: without end).
    Repeat { min: u32, max: Option<u32>, greedy: bool, sub: Box<Ast> },
    /// A capturing group; `index` is its number, from 1.
    Capture { index: u32, name: Option<String>, sub: Box<Ast> },
    /// `^`, `\A`, `\G`: the start of the subject.
    Start,
    /// `$`, `\Z`: the end of the subject, or before a newline that ends it.
    Dollar,
    /// `\z`: the end of the subject.
    End,
    /// `\b`, of ASCII words.
    WordBoundary,
    /// `\B`, of ASCII words.
    NotWordBoundary,
    /// A construct that is not regular or not needed exactly; what it matches is contained in `sub`.
    Superset { reason: &'static str, sub: Box<Ast> },
}

impl Ast {
    /// Any string: `(?s:.)*`.
    fn anything() -> Ast {
        Ast::Repeat { min: 0, max: None, greedy: true, sub: Box::new(Ast::Class(ByteSet::ALL)) }
    }

    fn superset(reason: &'static str, sub: Ast) -> Ast {
        Ast::Superset { reason, sub: Box::new(sub) }
    }
}

/// A pattern that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// What it says.
    pub ast: Ast,
    /// The number of capturing groups, those inside look-arounds included.
    pub captures: u32,
    /// Whether a group has a name; nginx then sets a variable of that name at each match.
    pub named: bool,
}

/// Reads a pattern as nginx compiles it.
///
/// O(length). Nesting is bounded, so no pattern exhausts the stack.
pub fn parse(pattern: &[u8]) -> Result<Pattern, Refusal> {
    parse::Parser::new(pattern, parse::Flags::default()).pattern().map(|parsed| parsed.pattern)
}

#[cfg(test)]
mod tests {
    use super::{Ast, ByteSet, parse};

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
        assert_eq!(ast(r"^/a\.$"), Ast::Concat(expected.clone()));
        assert_eq!(ast(r"^\Q/a.\E$"), Ast::Concat(expected));
    }

    /// Escapes of one byte, in a class and outside, as PCRE2 reads them.
    #[test]
    fn escapes() {
        for pattern in [r"\x41", r"\x{41}", r"\o{101}", r"[\101]", "[A]", r"\QA"] {
            let expected = if pattern.starts_with('[') { class("A") } else { Ast::Byte(b'A') };
            assert_eq!(ast(pattern), expected, "{pattern}");
        }
        assert_eq!(ast(r"\cA"), Ast::Byte(1));
        assert_eq!(ast(r"\012"), Ast::Byte(b'\n'));
        assert_eq!(ast(r"[\b]"), class("\x08"));
    }

    /// Classes: brackets and hyphens at the edges, ranges, negation, POSIX names.
    #[test]
    fn classes() {
        assert_eq!(ast("[]a]"), class("]a"));
        assert_eq!(ast("[-a]"), class("-a"));
        assert_eq!(ast("[a-]"), class("a-"));
        assert_eq!(ast("[.]"), class("."));
        assert_eq!(ast("[._-]"), class("._-"));
        assert_eq!(ast("[a&&b]"), class("a&b"));
        assert_eq!(ast(r"[\x41-C]"), class("ABC"));
        assert_eq!(ast("[[:digit:]x]"), class("0123456789x"));
        assert_eq!(ast("[^]]"), Ast::Class(ByteSet::of(|byte| byte != b']')));
        assert_eq!(ast("(?i)[^a]"), Ast::Class(ByteSet::of(|byte| byte | 32 != b'a')));
    }

    /// A flag holds to the end of its group, in the branches that follow too.
    #[test]
    fn flags() {
        let branches = Ast::Alternation(vec![class("Aa"), class("Bb")]);
        let group = Ast::Capture { index: 1, name: None, sub: Box::new(branches) };
        assert_eq!(ast("((?i)a|b)c"), Ast::Concat(vec![group, Ast::Byte(b'c')]));
        assert_eq!(ast("(?i:a)(?-i)b"), Ast::Concat(vec![class("Aa"), Ast::Byte(b'b')]));
    }

    /// Groups are counted by their opening parentheses, those in look-arounds included.
    #[test]
    fn captures() {
        let pattern = parse(br"(a(?<n>b))(?=(c))(?:d)(?#(e)\(").unwrap();
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

    /// What is not on the list is refused, at its place.
    #[test]
    fn refusals() {
        for (pattern, offset) in [
            ("a(*FAIL)", 1),
            ("(?|a)", 2),
            ("a(?m)b", 3),
            ("(?x)a", 2),
            ("(?U)a*", 2),
            ("(?J)a", 2),
            ("(?(1)a)", 2),
            ("(?C)", 2),
            ("a{,3}", 1),
            ("a{ 1}", 1),
            ("a{3,2}", 1),
            ("a{70000}", 1),
            ("*a", 1),
            ("^*", 2),
            ("(a", 2),
            ("a)", 1),
            ("[a", 2),
            ("[b-a]", 4),
            ("[[:foo:]]", 1),
            ("[..]", 1),
            ("[:alpha:]", 1),
            ("[[.a.]]", 1),
            (r"a\", 2),
            (r"\10", 2),
            (r"a\E", 1),
            (r"\u0041", 0),
            ("(?<1>a)", 3),
            ("(?<n>a)(?<n>b)", 10),
            (r"\x{100}", 1),
            ("(?i)*", 4),
        ] {
            let refusal = parse(pattern.as_bytes()).expect_err(pattern);
            assert_eq!(refusal.offset, offset, "{pattern}: {refusal}");
        }
    }

    /// Deep nesting is refused before it costs the stack.
    #[test]
    fn nesting_is_bounded() {
        assert!(parse("(".repeat(100_000).as_bytes()).is_err());
        let deep = ["(".repeat(150), ")".repeat(150)].concat();
        assert_eq!(parse(deep.as_bytes()).unwrap().captures, 150);
    }
}
