//! Decides whether a pattern matches a subject in every version of PCRE. If all of them read the pattern alike, PCRE2
//! answers for all.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use regex_automata::meta;

use crate::pcre::{MatchOutcome, Regex};
use crate::prove::work;
use crate::syntax::{self, Pattern};

/// Whether a pattern matches a URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matches {
    /// It matches in every PCRE.
    Yes,
    /// It matches in no PCRE, and none gives up on it.
    No,
    /// Versions of PCRE may differ or give up, or the answer depends on the spelling.
    Unknown,
}

/// What is known of a pattern.
pub enum Oracle {
    Portable(Box<Pattern>, PortableRegex),
    /// A pattern that PCRE versions read differently. It matches only subjects that begin with these bytes.
    Unportable(Vec<u8>),
}

impl Oracle {
    pub fn of(text: &[u8]) -> Oracle {
        match (syntax::parse(text), Regex::new(text)) {
            (Ok(pattern), Ok(regex)) => {
                let regex = PortableRegex { regex, automaton: OnceLock::new(), slow: AtomicU32::new(0) };
                Oracle::Portable(Box::new(pattern), regex)
            }
            _ => Oracle::Unportable(syntax::prefix(text)),
        }
    }
}

/// A portable pattern, run by PCRE2, or by an automaton if that takes long.
pub struct PortableRegex {
    regex: Regex,
    automaton: OnceLock<Option<meta::Regex>>,
    slow: AtomicU32,
}

/// The most calls of PCRE2 from one place of a subject. The planner allows no more.
const CALLS: u32 = 8_000;

/// After this many matches that took too long, the automaton is tried first.
const PATIENCE: u32 = 64;

impl PortableRegex {
    pub fn matches(&self, pattern: &Pattern, subject: &[u8]) -> Matches {
        if self.slow.load(Ordering::Relaxed) > PATIENCE
            && let Some(answer) = self.in_the_end(pattern, subject)
        {
            return answer;
        }
        match self.regex.is_match(subject, CALLS) {
            MatchOutcome::Yes => Matches::Yes,
            MatchOutcome::No => Matches::No,
            MatchOutcome::Error(_) => {
                self.slow.fetch_add(1, Ordering::Relaxed);
                self.in_the_end(pattern, subject).unwrap_or(Matches::Unknown)
            }
        }
    }

    /// The answer that PCRE gives within nginx's limit, even if that would take long. `None` if there may be none.
    fn in_the_end(&self, pattern: &Pattern, subject: &[u8]) -> Option<Matches> {
        let build = || {
            let translation = pattern.translate();
            let config = meta::Config::new().utf8_empty(false).auto_prefilter(false);
            let regex = meta::Regex::builder().configure(config).build_from_hir(&translation.hir);
            regex.ok().filter(|_| translation.exact)
        };
        let automaton = self.automaton.get_or_init(build).as_ref()?;
        let answer = || if automaton.is_match(subject) { Matches::Yes } else { Matches::No };
        work::ends_in_time(&pattern.ast, subject.len() as u32).then(answer)
    }
}
