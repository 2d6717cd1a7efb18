//! Proves guards that look at what follows the last slash of a subject.
//!
//! # Lemma
//!
//! Let `^(?>(?:[^/]*+/){0,16})(?:[^/]*+/|B)` be a guard, u a subject, and r a row of single bytes and sets `x1...xn$`, of
//! which xk is the last that is the slash and nothing else. If for each xi from xk on that allows a slash B matches
//! whatever begins with `xi+1...xn$`, then the guard matches u if r does.
//!
//! *Proof.* The first group takes u up to its last slash, or up to its 16th, and gives nothing back. If more slashes
//! follow, the first branch of the second group matches. What r matches ends where u does, or before the newline at its
//! end, and has a slash at the place of xk. So the last slash of u is there or at the place of a later xi that allows
//! one. Behind it u goes on as `xi+1...xn$` says, which B matches.

use crate::first_match::ReadPattern;
use crate::map_block::PatternRow;
use crate::pcre::Regex;
use crate::prove_map::guard::Guarding;
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::row::OriginalRow;
use crate::syntax::Ast;

/// The part of the pattern that finds the last slash.
const LAST_SLASH: &[u8] = b"(?>(?:[^/]*+/){0,16})(?:[^/]*+/|";

/// A guard that looks at the last slash.
pub struct SegmentGuard {
    /// The branch that lets subjects pass by their beginning.
    beginning: Option<Guarding>,
    /// The branch that lets subjects pass by what follows their last slash.
    segment: Guarding,
}

impl SegmentGuard {
    /// Reads the pattern of a guard, if it looks at the last slash. `own_pattern` reads a pattern of its own.
    pub fn read(
        row: &PatternRow,
        own_pattern: impl Fn(&PatternRow) -> Result<ReadPattern, MapRefutation>,
    ) -> Result<Option<SegmentGuard>, MapRefutation> {
        let Some((beginning, segment)) = parts(&row.pattern) else { return Ok(None) };
        let escaped = row.pattern.escape_ascii();
        let groups = [beginning, Some(segment)].into_iter().flatten().all(has_plain_groups);
        if row.caseless || !groups {
            return refute(Obligation::Pattern, format!("the pattern \"{escaped}\" is not understood"));
        }
        if Regex::new(&row.pattern).is_err() {
            return refute(Obligation::Pattern, format!("PCRE2 does not take the pattern \"{escaped}\""));
        }
        // The first group reads each byte once and is never entered again, so it adds no more calls than a subject has
        // bytes.
        let read = |inside: &[u8]| {
            let pattern = [b"^(?!", inside, b")"].concat();
            let language = own_pattern(&PatternRow { pattern: pattern.into(), ..row.clone() })?;
            Ok(Guarding::new(&language.pattern.ast))
        };
        Ok(Some(SegmentGuard { beginning: beginning.map(read).transpose()?, segment: read(segment)? }))
    }

    /// The branch that lets subjects pass by their beginning.
    pub fn beginning(&self) -> Option<&Guarding> {
        self.beginning.as_ref()
    }

    /// Whether the guard lets pass all subjects that a row matches by their end.
    pub fn is_held_by(&self, row: &OriginalRow) -> bool {
        let Some(events) = row.events() else { return false };
        let Ast::Concat(items) = &events.pattern.ast else { return false };
        let [singles @ .., Ast::Dollar] = items.as_slice() else { return false };
        let slashes: Option<Vec<bool>> = singles.iter().map(|item| Some(item.byte_set()?.contains(b'/'))).collect();
        let last = singles.iter().rposition(|item| *item == Ast::Byte(b'/'));
        let (Some(slashes), Some(last)) = (slashes, last) else { return false };
        (last..singles.len()).all(|at| !slashes[at] || self.segment.is_begun_by_items(&items[at + 1..]))
    }
}

/// Splits a guard into its two branches: beginnings, and what follows the last slash.
fn parts(pattern: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let rest = pattern.strip_prefix(b"^")?;
    if let Some(segment) = rest.strip_prefix(LAST_SLASH) {
        return Some((None, segment.strip_suffix(b")")?));
    }
    let rest = rest.strip_prefix(b"(?:")?.strip_suffix(b"))")?;
    let at = memchr::memmem::find(rest, &[b"|", LAST_SLASH].concat())?;
    Some((Some(&rest[..at]), &rest[at + 1 + LAST_SLASH.len()..]))
}

/// Whether all groups are plain ones, which change no options and capture nothing.
fn has_plain_groups(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'\\', b'(', rest) {
        if rest[at] == b'(' && !rest[at..].starts_with(b"(?:") {
            return false;
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::{has_plain_groups, parts};

    /// A guard has one or two branches.
    #[test]
    fn forms() {
        let read = |text: &'static str| {
            let shown = |bytes: &'static [u8]| std::str::from_utf8(bytes).unwrap();
            parts(text.as_bytes()).map(|(beginning, segment)| (beginning.map(shown), shown(segment)))
        };
        assert_eq!(read("^(?>(?:[^/]*+/){0,16})(?:[^/]*+/|ab|c)"), Some((None, "ab|c")));
        assert_eq!(read("^(?:/x|/y|(?>(?:[^/]*+/){0,16})(?:[^/]*+/|ab|c))"), Some((Some("/x|/y"), "ab|c")));
        for text in [
            "^(?:/x|/y)",
            "(?>(?:[^/]*+/){0,16})(?:[^/]*+/|ab)",
            "^(?>(?:[^/]*+/){0,16})ab",
            "^(?:/x|(?>(?:[^/]*/){0,16})(?:[^/]*+/|ab))",
        ] {
            assert_eq!(read(text), None);
        }
    }

    /// Groups that capture or set options are not plain.
    #[test]
    fn groups() {
        assert!([r"a(?:b|c\()", "", r"\\(?:a)"].iter().all(|text| has_plain_groups(text.as_bytes())));
        assert!(
            !["(a)", "(?i)a", "(?:(?=a))", r"\\(a)", "(?i:a)"].iter().any(|text| has_plain_groups(text.as_bytes()))
        );
    }
}
