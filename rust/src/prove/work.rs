//! Bounds how much PCRE may have to try for a pattern.
//!
//! A rule that does not match may still use up the match limit, and nginx then answers 500. So it is not enough to know
//! the strings of a pattern: a rule may be removed only if its pattern always ends in time.
//!
//! The bound is never above the planner's (`effort` in `first_match`), and the limit is higher, so a pattern that
//! passes there also passes here. This follows by induction over the tree: the ways and tries counted here are at most
//! those counted there. A test compares the two.

use crate::syntax::Ast;

/// The most tries: half the match limit of PCRE, which is 10,000,000 calls of `match()` from one place of the subject.
const MOST: u64 = 5_000_000;

/// Whether PCRE2 can try `ast` from any one place within its limit, if no unbounded repetition makes more than `rounds`
/// rounds.
pub fn ends_in_time(ast: &Ast, rounds: u32) -> bool {
    of(ast, rounds).is_some_and(|work| work.tries <= MOST)
}

/// How many ways there are through a node, and how many tries it takes to find them all. The numbers saturate.
#[derive(Clone, Copy)]
struct Work {
    ways: u64,
    tries: u64,
}

impl Work {
    const NONE: Work = Work { ways: 1, tries: 1 };

    fn then(self, next: Work) -> Work {
        let tries = self.tries.saturating_add(self.ways.saturating_mul(next.tries));
        Work { ways: self.ways.saturating_mul(next.ways), tries }
    }

    fn or(self, other: Work) -> Work {
        Work { ways: self.ways.saturating_add(other.ways), tries: self.tries.saturating_add(other.tries) }
    }
}

/// The work for a node. `None` for a look-around, whose inside is not known.
fn of(ast: &Ast, rounds: u32) -> Option<Work> {
    match ast {
        Ast::Concat(parts) => parts.iter().try_fold(Work::NONE, |work, part| Some(work.then(of(part, rounds)?))),
        Ast::Alternation(parts) => {
            let nothing = Work { ways: 0, tries: 1 };
            parts.iter().try_fold(nothing, |work, part| Some(work.or(of(part, rounds)?)))
        }
        Ast::Repeat { min, max, sub, .. } => {
            let round = of(sub, rounds)?;
            let most = max.unwrap_or(min.saturating_add(rounds));
            let (mut ways, mut now) = (0u64, Work::NONE);
            for count in 0..=most {
                if count >= *min {
                    ways = ways.saturating_add(now.ways);
                }
                if now.tries.max(ways) > MOST {
                    break;
                }
                if count < most {
                    now = now.then(Work { tries: round.tries.saturating_add(1), ..round });
                }
            }
            Some(Work { ways, tries: now.tries.saturating_add(1) })
        }
        Ast::Capture { sub, .. } => Some(Work::NONE.then(of(sub, rounds)?)),
        Ast::Superset { sub, .. } if **sub == Ast::Empty => None,
        Ast::Superset { sub, .. } => of(sub, rounds),
        _ => Some(Work { ways: 1, tries: 0 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcre::{MatchOutcome, Regex};
    use crate::syntax;

    fn is_fine(pattern: &str) -> bool {
        ends_in_time(&syntax::parse(pattern.as_bytes()).unwrap().ast, 1024)
    }

    /// Few strings may still take PCRE2 very many tries; usual rules take few.
    #[test]
    fn bounds() {
        for pattern in ["^/a/?$", "^/(a|b|c)/(d|e)(?:/(f|g))?/?$", "^/[a-f][0-9]$", "^/(.*)/x$", "^/a{3,60}$"] {
            assert!(is_fine(pattern), "{pattern}");
        }
        for pattern in
            ["^/(?:a?){25}b$", "^/(a+)+$", "^/(?:a{0,3}){40}$", "^/(?!(a+)+$)ab$", "^/(a|a){30}$", "(.*)(.*)(.*)x"]
        {
            assert!(!is_fine(pattern), "{pattern}");
        }
    }

    /// PCRE2 does give up on a pattern of 26 strings.
    #[test]
    fn pcre_gives_up() {
        let regex = Regex::new(b"^/(?:a?){25}b$").unwrap();
        assert!(matches!(regex.is_match(&[b"/", &[b'a'; 25][..], b"bb"].concat(), 10_000_000), MatchOutcome::Error(_)));
    }
}
