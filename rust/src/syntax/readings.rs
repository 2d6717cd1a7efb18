//! Reads patterns as their author may have meant them. The user opts in by declaring how the meaning differs from the
//! text.

use super::parse::{Flags, Parsed, Parser};
use super::translate::can_be_empty;
use super::{Ast, Refusal};

/// The most strings that a literal may stand for. It is below 255, so that a remaining dot never counts as a literal.
const MOST_STRINGS: usize = 128;

/// The declared differences. The default declares none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// The pattern is read as if it began with `(?i)`.
    pub ignore_case: bool,
    /// In a literal, a `.` without a quantifier is a dot.
    pub literal_dots: bool,
    /// A literal that ends without `$` or `\z` gets a `$`: `^/old.html` no longer matches `/old.html.bak`.
    pub literal_ends: bool,
    /// A `$` that ends the pattern no longer matches before a final newline: it becomes `\z`.
    pub drop_newline_twins: bool,
}

/// Returns the text of the pattern under the declared readings; `None` if they do not change it.
///
/// A *literal* is a `^` followed by bytes, `/?`, groups of alternatives or small classes that stand for at most
/// `MOST_STRINGS` strings if its dots are read as dots and its end as the end of the subject. A pattern with anything
/// else (`.*`, `[^/]`, a boundary) is not a literal, nor is one that matches every URI, such as `^/`. These patterns
/// stay as they are.
///
/// The returned text can be compiled by PCRE2. Fails with the refusal of [`super::parse`] if a difference is declared.
pub fn read_as(pattern: &[u8], readings: &Readings) -> Result<Option<Vec<u8>>, Refusal> {
    if *readings == Readings::default() {
        return Ok(None);
    }
    let as_is = Parser::new(pattern, Flags::default()).pattern()?;
    let dotted = Flags { literal_dots: true, ..Flags::default() };
    let dotted = Parser::new(pattern, dotted).pattern()?;
    let literal = is_literal(&dotted.pattern.ast);

    let mut edits = Edits::default();
    if readings.ignore_case && case_matters(pattern, &as_is)? {
        edits.replace(0..0, b"(?i)");
    }
    if readings.literal_dots && literal {
        as_is.dots.iter().for_each(|&dot| edits.replace(dot..dot + 1, b"\\."));
    }
    if readings.drop_newline_twins {
        let tails = tail_dollars(&as_is.pattern.ast);
        for (range, _) in as_is.dollars.iter().zip(tails).filter(|(_, tail)| *tail) {
            edits.replace(range.clone(), b"\\z");
        }
    }
    if readings.literal_ends && literal && !has_end(&as_is.pattern.ast) {
        let end = pattern.len()..pattern.len();
        edits.replace(end, if readings.drop_newline_twins { b"\\z" } else { b"$" });
    }
    Ok(edits.apply(pattern))
}

/// Replacements of byte ranges.
#[derive(Default)]
struct Edits(Vec<(std::ops::Range<usize>, &'static [u8])>);

impl Edits {
    fn replace(&mut self, range: std::ops::Range<usize>, by: &'static [u8]) {
        self.0.push((range, by));
    }

    fn apply(mut self, text: &[u8]) -> Option<Vec<u8>> {
        if self.0.is_empty() {
            return None;
        }
        // The sort is stable, so edits at the same place keep their order.
        self.0.sort_by_key(|(range, _)| range.start);
        let mut edited = Vec::with_capacity(text.len() + 8);
        let mut from = 0;
        for (range, by) in self.0 {
            edited.extend_from_slice(&text[from..range.start]);
            edited.extend_from_slice(by);
            from = range.end;
        }
        edited.extend_from_slice(&text[from..]);
        Some(edited)
    }
}

/// Whether a leading `(?i)` may change the language. The hidden part of a superset counts as changed.
fn case_matters(pattern: &[u8], as_is: &Parsed) -> Result<bool, Refusal> {
    let caseless = Flags { caseless: true, ..Flags::default() };
    let caseless = Parser::new(pattern, caseless).pattern()?;
    Ok(caseless.pattern.ast != as_is.pattern.ast || has_superset(&as_is.pattern.ast))
}

fn has_superset(ast: &Ast) -> bool {
    matches!(ast, Ast::Superset { .. }) || children(ast).iter().any(has_superset)
}

fn has_end(ast: &Ast) -> bool {
    matches!(ast, Ast::Dollar | Ast::End) || children(ast).iter().any(has_end)
}

fn children(ast: &Ast) -> &[Ast] {
    match ast {
        Ast::Concat(items) | Ast::Alternation(items) => items,
        Ast::Repeat { sub, .. } | Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => std::slice::from_ref(sub),
        _ => &[],
    }
}

/// Whether the pattern, its dots read as dots, is a literal.
fn is_literal(ast: &Ast) -> bool {
    let Ast::Concat(items) = ast else {
        return false;
    };
    let Some((Ast::Start, items)) = items.split_first() else {
        return false;
    };
    let shortest: usize = items.iter().map(shortest).sum();
    let catches_all = shortest < 2 && !items.iter().any(has_end);
    !catches_all && strings_of_all(items, true).is_some()
}

/// The length in bytes of the shortest string of the node.
fn shortest(ast: &Ast) -> usize {
    match ast {
        Ast::Byte(_) | Ast::Class(_) => 1,
        Ast::Concat(items) => items.iter().map(shortest).sum(),
        Ast::Alternation(branches) => branches.iter().map(shortest).min().unwrap_or(0),
        Ast::Repeat { min, sub, .. } => shortest(sub) * *min as usize,
        Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => shortest(sub),
        _ => 0,
    }
}

/// The number of strings of a node, with case variants counted once. `None` if they are too many, or if a literal
/// cannot have such a node. `tail`: whether the pattern may end after the node.
fn strings(ast: &Ast, tail: bool) -> Option<usize> {
    let count = match ast {
        Ast::Empty | Ast::Byte(_) => 1,
        Ast::Class(set) => set.iter().filter(|b| !(b.is_ascii_uppercase() && set.contains(b | 32))).count(),
        Ast::Concat(items) => strings_of_all(items, tail)?,
        Ast::Alternation(branches) => {
            branches.iter().try_fold(0, |sum: usize, branch| Some(sum + strings(branch, tail)?))?
        }
        Ast::Repeat { min, max, sub, .. } => repeated(strings(sub, false)?, *min, (*max)?)?,
        Ast::Capture { sub, .. } => strings(sub, tail)?,
        Ast::Dollar | Ast::End if tail => 1,
        _ => return None,
    };
    (count <= MOST_STRINGS).then_some(count)
}

fn strings_of_all(items: &[Ast], tail: bool) -> Option<usize> {
    let mut product = 1;
    let mut tail = tail;
    for item in items.iter().rev() {
        product *= strings(item, tail)?;
        tail = tail && can_be_empty(item);
        if product > MOST_STRINGS {
            return None;
        }
    }
    Some(product)
}

/// The number of ways through `min` to `max` rounds of `ways` ways each.
fn repeated(ways: usize, min: u32, max: u32) -> Option<usize> {
    if max as usize > MOST_STRINGS {
        return None;
    }
    let power = |rounds| ways.checked_pow(rounds).filter(|&ways| ways <= MOST_STRINGS);
    (min..=max).try_fold(0, |sum: usize, rounds| Some(sum + power(rounds)?))
}

/// Returns for each [`Ast::Dollar`], in the order of the text, whether all that follows can be empty.
fn tail_dollars(ast: &Ast) -> Vec<bool> {
    fn visit(ast: &Ast, tail: bool, tails: &mut Vec<bool>) {
        match ast {
            Ast::Dollar => tails.push(tail),
            Ast::Concat(items) => {
                let first_tail = items.iter().rposition(|item| !can_be_empty(item)).unwrap_or(0);
                for (place, item) in items.iter().enumerate() {
                    visit(item, tail && place >= first_tail, tails);
                }
            }
            Ast::Repeat { min, sub, .. } => visit(sub, tail && (*min <= 1 || can_be_empty(sub)), tails),
            _ => children(ast).iter().for_each(|child| visit(child, tail, tails)),
        }
    }
    let mut tails = Vec::new();
    visit(ast, true, &mut tails);
    tails
}

#[cfg(test)]
mod tests {
    use super::{Readings, read_as};

    /// The pattern under the readings that a string of letters names: (i)gnore case, (d)ots, (e)nds, (n)ewline twins.
    fn read(pattern: &str, letters: &str) -> Option<String> {
        let readings = Readings {
            ignore_case: letters.contains('i'),
            literal_dots: letters.contains('d'),
            literal_ends: letters.contains('e'),
            drop_newline_twins: letters.contains('n'),
        };
        let text = read_as(pattern.as_bytes(), &readings).expect("a pattern that is read")?;
        Some(String::from_utf8(text).expect("the pattern was UTF-8"))
    }

    fn assert_reads(pattern: &str, letters: &str, expected: &str) {
        assert_eq!(read(pattern, letters).as_deref(), Some(expected), "{pattern} {letters}");
    }

    fn assert_stays(pattern: &str, letters: &str) {
        assert_eq!(read(pattern, letters), None, "{pattern} {letters}");
    }

    /// With nothing declared, nothing changes.
    #[test]
    fn nothing_is_declared_by_default() {
        for pattern in ["^/a.html$", "^/a", "(?i)^/b.c", "/x$"] {
            assert_stays(pattern, "");
        }
    }

    /// Case is ignored by a leading `(?i)`, but only if the pattern has a letter whose case mattered.
    #[test]
    fn ignore_case() {
        assert_reads("^/a$", "i", "(?i)^/a$");
        assert_reads("^/1(?!a)$", "i", "(?i)^/1(?!a)$");
        for pattern in ["^/123$", "(?i)^/a$", "^/[aA]$", "^/(.*)$"] {
            assert_stays(pattern, "i");
        }
    }

    /// Dots of literals are dots; classes, escapes and quantified dots are left alone.
    #[test]
    fn literal_dots() {
        assert_reads("^/a.b.html$", "d", r"^/a\.b\.html$");
        assert_reads("^/a.html", "d", r"^/a\.html");
        assert_reads("^/index.(php|html)/?$", "d", r"^/index\.(php|html)/?$");
        assert_reads(r"^/[.]x\.y.z$", "d", r"^/[.]x\.y\.z$");
        assert_reads(r"^/v\d.html$", "d", r"^/v\d\.html$");
        for pattern in [
            "^/a.(.*)$",
            "^/a.b+$",
            "^/a.?b.c$",
            "/a.b$",
            "^/a.[^/]$",
            r"^/a.b\b$",
            r"^/a\.b$",
            "^/a.b|c$",
            "^/a.(?!b)$",
        ] {
            assert_stays(pattern, "d");
        }
    }

    /// Literals without an end get one. Patterns that have an end somewhere, or match everything, stay.
    #[test]
    fn literal_ends() {
        assert_reads("^/a.html", "e", "^/a.html$");
        assert_reads("^/a(b|c)/?", "e", "^/a(b|c)/?$");
        for pattern in ["^/a$", r"^/a\z", r"^/a\Z", "^/(a$|b)", "/a", "^/a(.*)", "^", "^/", "^/?", "^/(a)?", "^/a|/b"] {
            assert_stays(pattern, "e");
        }
    }

    /// Each `$` that ends the pattern becomes `\z`, others stay.
    #[test]
    fn drop_newline_twins() {
        assert_reads("^/a(.*)$", "n", r"^/a(.*)\z");
        assert_reads(r"^/a\Z", "n", r"^/a\z");
        assert_reads("^/(a$|b$)", "n", r"^/(a\z|b\z)");
        assert_reads("^/a$(b|)", "n", r"^/a\z(b|)");
        assert_reads(r"^/(?!x$)a\$[$]$", "n", r"^/(?!x$)a\$[$]\z");
        for pattern in [r"^/a\z", "^/a$b", "^/a", r"^/\$"] {
            assert_stays(pattern, "n");
        }
    }

    /// The readings combine; each is decided on the pattern as it was written.
    #[test]
    fn combined() {
        assert_reads("^/a.b", "ie", "(?i)^/a.b$");
        assert_reads("^/a.b", "iden", r"(?i)^/a\.b\z");
        assert_reads("^/a.b$", "den", r"^/a\.b\z");
    }

    /// If anything is declared, patterns that cannot be read are refused.
    #[test]
    fn refused() {
        let readings = Readings { ignore_case: true, ..Readings::default() };
        assert!(read_as(b"^/(?m)a$", &readings).is_err() && read_as(br"^/\Qa.b", &readings).is_err());
    }
}
