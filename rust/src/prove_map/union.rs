//! Proves that a pattern is the union of others: that it matches a subject exactly if one of them does.
//!
//! # Lemma
//!
//! Let F be `A|t1|..|tk`, A a union of some patterns, each ti one of the others with `(?:` for each `(`, all of them
//! without flags at the start; let PCRE always answer on F and on all of them. Then F matches exactly what one of them
//! does.
//!
//! *Proof.* PCRE tries the branches of a pattern at each place of the subject. What is read of patterns here refers to no
//! group and ends no search, so a branch matches at a place as it does by itself, and a pattern without its groups as it
//! does with them.
//!
//! So the proof needs to know nothing of a look-around except how long PCRE takes for it.

use crate::first_match::answers_with_looks;
use crate::prove_map::filter::{Filter, NoFilter, TurnedAway};
use crate::syntax::{self, Pattern};

/// Why a pattern is not the union of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoUnion {
    NoFilter(NoFilter),
    TurnsAway(TurnedAway),
    /// The pattern may match a subject that none of the others matches, or PCRE may give up on one of them.
    TooWide,
}

/// Checks that a pattern matches exactly what one of the patterns does, and that PCRE gives up on none of them.
pub fn check_union(union: &[u8], patterns: &[&[u8]]) -> Result<(), NoUnion> {
    let (looking, plain): (Vec<&[u8]>, Vec<&[u8]>) = patterns.iter().partition(|pattern| has_looks(pattern));
    if looking.is_empty() {
        return check_plain(union, &plain);
    }
    if !answers(union) {
        return Err(NoUnion::NoFilter(NoFilter::Unknown));
    }
    let mut texts = Vec::new();
    for pattern in &looking {
        texts.push(without_groups(pattern).filter(|_| answers(pattern)).ok_or(NoUnion::TooWide)?);
    }
    let turned_away = || NoUnion::TurnsAway(TurnedAway(None));
    let branches = union.strip_suffix(&*texts.join(&b'|')).ok_or_else(turned_away)?;
    if plain.is_empty() {
        return if branches.is_empty() { Ok(()) } else { Err(NoUnion::TooWide) };
    }
    let branches = branches.strip_suffix(b"|").ok_or_else(turned_away)?;
    if has_flags(branches) {
        return Err(NoUnion::NoFilter(NoFilter::Unknown)); // they would be those of what follows, too
    }
    check_plain(branches, &plain)
}

fn check_plain(union: &[u8], patterns: &[&[u8]]) -> Result<(), NoUnion> {
    let filter = Filter::read(union).map_err(NoUnion::NoFilter)?;
    patterns.iter().try_for_each(|pattern| filter.lets_pass(pattern)).map_err(NoUnion::TurnsAway)?;
    if filter.is_exact(patterns) { Ok(()) } else { Err(NoUnion::TooWide) }
}

fn has_looks(pattern: &[u8]) -> bool {
    syntax::parse(pattern).is_ok_and(|pattern| !pattern.looks.is_empty())
}

/// Whether PCRE always answers on a pattern that sets no variable.
fn answers(pattern: &[u8]) -> bool {
    syntax::parse(pattern).is_ok_and(|pattern| !pattern.named && answers_with_looks(&pattern))
}

fn has_flags(pattern: &[u8]) -> bool {
    pattern.starts_with(b"(?i") || pattern.starts_with(b"(?s")
}

/// Replaces each `(` of a pattern by `(?:`. `None` if the pattern has flags at its start.
fn without_groups(pattern: &[u8]) -> Option<Vec<u8>> {
    let Pattern { unnamed, .. } = syntax::parse(pattern).ok().filter(|_| !has_flags(pattern))?;
    let mut text = pattern.to_vec();
    for group in unnamed.iter().rev() {
        text.splice(group + 1..group + 1, *b"?:");
    }
    let read = syntax::parse(&text).ok()?;
    (read.captures == 0).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{NoUnion, check_union};
    use crate::prove_map::filter::{NoFilter, TurnedAway};

    fn check(union: &str, patterns: &[&str]) -> Result<(), NoUnion> {
        let patterns: Vec<&[u8]> = patterns.iter().map(|pattern| pattern.as_bytes()).collect();
        check_union(union.as_bytes(), &patterns)
    }

    /// A union matches no more and no less than its patterns, and PCRE answers on all of them.
    #[test]
    fn unions() {
        assert_eq!(check("^/(?:a|b/)", &["^/a(.*)", "^/b/(?<rest>.*)"]), Ok(()));
        assert_eq!(check("(?i)^/[ab]", &["(?i)^/a", "(?i)^/B"]), Ok(()));
        assert_eq!(check("^/(?:a|b)", &["^/a(.*)", "^/b/"]), Err(NoUnion::TooWide));
        assert_eq!(check("^/a", &["^/a(b+)+$", "^/a"]), Err(NoUnion::TooWide));
        assert_eq!(check("^/a", &["^/a", "^/b"]), Err(NoUnion::TurnsAway(TurnedAway(Some(b"/b".to_vec())))));
        assert_eq!(check("^/(?<n>a)", &["^/a"]), Err(NoUnion::NoFilter(NoFilter::SetsAName)));
        assert_eq!(check("^/a(?!b)", &["^/a"]), Err(NoUnion::NoFilter(NoFilter::Unknown)));
    }

    /// Patterns with look-arounds are branches as they are, except for their groups.
    #[test]
    fn looks() {
        let looking = "^/a(?!(b|c))(.*)$";
        let patterns = &["^/x(.*)", looking, "^/y(?<!z)"][..];
        assert_eq!(check("^/x|^/a(?!(?:b|c))(?:.*)$|^/y(?<!z)", patterns), Ok(()));
        assert_eq!(check("^/a(?!(?:b|c))(?:.*)$", &[looking]), Ok(()));
        let turned_away = Err(NoUnion::TurnsAway(TurnedAway(None)));
        for narrow in ["^/x|^/y(?<!z)", "^/x|^/a(?!(?:b|c|d))(?:.*)$|^/y(?<!z)", "^/x^/a(?!(?:b|c))(?:.*)$|^/y(?<!z)"] {
            assert_eq!(check(narrow, patterns), turned_away, "{narrow}");
        }
        assert_eq!(check("^/|^/a(?!(?:b|c))(?:.*)$|^/y(?<!z)", patterns), Err(NoUnion::TooWide));
        assert_eq!(check("^/x|^/a(?!(?:b|c))(?:.*)$", &[looking]), Err(NoUnion::TooWide));
        let unknown = Err(NoUnion::NoFilter(NoFilter::Unknown));
        assert_eq!(check("(?i)^/x|^/a(?!(?:b|c))(?:.*)$", &["(?i)^/x", looking]), unknown);
        assert_eq!(check("^/a(?!(?:b+)+c)", &["^/a(?!(b+)+c)"]), unknown);
        assert_eq!(check("(?i)^/a(?!b)", &["(?i)^/a(?!b)"]), Err(NoUnion::TooWide));
        assert_eq!(check("^/(?<n>a)(?!b)", &["^/(?<n>a)(?!b)"]), unknown);
        assert_eq!(check("^/a(?!b)", &["^/(?<n>a)(?!b)"]), Err(NoUnion::TooWide));
    }
}
