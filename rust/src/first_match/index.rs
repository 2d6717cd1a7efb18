//! Finds the patterns that a subject may match, by the literals it contains.

use std::fmt;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use hashbrown::HashMap;

use super::requirement::{RequiredLiterals, Requirement};
use super::trie::PrefixTrie;
use crate::parallel;

/// From this many literals on, the parts of an index are built in parallel.
const MANY: usize = 512;

/// The literals of the patterns do not fit an index.
#[derive(Debug)]
pub struct TooManyLiterals(aho_corasick::BuildError);

impl fmt::Display for TooManyLiterals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the patterns hold too many literals for an index: {}", self.0)
    }
}

impl std::error::Error for TooManyLiterals {}

/// An index over patterns by the literals that each of their matches contains. The literals are in lower case, so the
/// index can also be asked about all spellings of a subject. Few patterns differ only in the case of their literals.
pub(super) struct Index {
    /// Patterns that any string may match, ascending.
    always: Vec<u32>,
    /// Patterns whose matches start with one of some literals.
    prefixes: PrefixTrie,
    /// Literals such that each match of a pattern contains one of its literals, and the pattern of each literal.
    literals: Option<AhoCorasick>,
    owners: Vec<u32>,
    /// Patterns that must not be skipped for long strings, each with the most bytes for which it may be. Ascending.
    not_for_longer: Vec<(usize, u32)>,
}

impl Index {
    /// Builds an index from what each pattern requires, in the order of the patterns.
    pub fn new(requirements: Vec<Vec<Requirement>>) -> Result<Index, TooManyLiterals> {
        let mut always = Vec::new();
        let mut prefixes = Vec::new();
        let mut literals = Vec::new();
        let mut owners = Vec::new();
        let mut not_for_longer = Vec::new();
        let crowds = Crowds::count(&requirements);
        let chosen: Vec<_> = requirements.iter().map(|required| crowds.choose(required)).collect();
        for (index, (required, chosen)) in (0u32..).zip(requirements.into_iter().zip(chosen)) {
            let Some(Requirement { need, longest }) = required.into_iter().nth(chosen) else {
                always.push(index);
                continue;
            };
            match need {
                RequiredLiterals::Prefix(found) => prefixes.extend(found.into_iter().map(|prefix| (prefix, index))),
                RequiredLiterals::Literal(found) => {
                    owners.extend(found.iter().map(|_| index));
                    literals.extend(found);
                }
            }
            if longest < usize::MAX {
                not_for_longer.push((longest, index));
            }
        }
        not_for_longer.sort_unstable();
        let (literals, prefixes) = if prefixes.len().min(literals.len()) < MANY {
            (searcher(&literals), PrefixTrie::new(prefixes))
        } else {
            parallel::both(|| searcher(&literals), || PrefixTrie::new(prefixes))
        };
        Ok(Index { always, prefixes, literals: literals.map_err(TooManyLiterals)?, owners, not_for_longer })
    }

    /// The patterns below `limit` that may match some spelling of a subject, which is in lower case; ascending and
    /// distinct. O(length), plus sorting the candidates.
    pub fn candidates<'i>(&'i self, subject: &[u8], limit: usize) -> impl Iterator<Item = usize> + 'i {
        let mut with_literals = self.with_literals(subject, limit).into_iter().peekable();
        let mut always = self.always.iter().copied().take_while(move |&index| (index as usize) < limit).peekable();
        // Both lists are ascending and have no index in common.
        std::iter::from_fn(move || match (with_literals.peek(), always.peek()) {
            (Some(candidate), Some(other)) if candidate < other => with_literals.next(),
            (Some(_), None) => with_literals.next(),
            _ => always.next(),
        })
        .map(|index| index as usize)
    }

    /// The candidates that are found by literals.
    fn with_literals(&self, subject: &[u8], limit: usize) -> Vec<u32> {
        let mut indexes = Vec::new();
        let mut add = |index: u32| {
            if (index as usize) < limit {
                indexes.push(index);
            }
        };
        self.prefixes.of(subject).for_each(&mut add);
        if let Some(literals) = &self.literals {
            let hits = literals.find_overlapping_iter(subject);
            hits.for_each(|hit| add(self.owners[hit.pattern().as_usize()]));
        }
        let not_skipped = self.not_for_longer.iter().take_while(|(longest, _)| *longest < subject.len());
        not_skipped.for_each(|&(_, index)| add(index));
        indexes.sort_unstable();
        indexes.dedup();
        indexes
    }
}

/// For each literal, the number of patterns that have it.
struct Crowds(HashMap<Vec<u8>, u32>);

/// Up to this many candidates, running PCRE2 is faster than distinguishing them by other literals.
const SMALL_CROWD: u32 = 8;

impl Crowds {
    fn count(requirements: &[Vec<Requirement>]) -> Crowds {
        let mut crowds = HashMap::new();
        for literal in requirements.iter().flatten().flat_map(|requirement| requirement.need.literals()) {
            *crowds.entry_ref(literal.as_slice()).or_insert(0) += 1;
        }
        Crowds(crowds)
    }

    /// Returns which requirement a pattern should be indexed by: the first that few other patterns have, or else the
    /// rarest. For example, thousands of patterns such as `^/products/(.*)-name$` may start with the same literal.
    fn choose(&self, requirements: &[Requirement]) -> usize {
        let crowd = |requirement: &Requirement| {
            requirement.need.literals().iter().map(|literal| self.0[literal.as_slice()]).max().unwrap_or(0)
        };
        let few = requirements.iter().position(|requirement| crowd(requirement) <= SMALL_CROWD);
        let rarest = || (0..requirements.len()).min_by_key(|&place| crowd(&requirements[place]));
        few.or_else(rarest).unwrap_or(0)
    }
}

/// Up to this many states, the literals are searched with a DFA, which takes 1 ns per byte of the subject and up to 1
/// kB per state. Beyond, they are searched with an NFA, which takes about 8 ns and 20 bytes.
const DFA_STATES: usize = 20_000;

fn searcher(literals: &[Vec<u8>]) -> Result<Option<AhoCorasick>, aho_corasick::BuildError> {
    if literals.is_empty() {
        return Ok(None);
    }
    let states: usize = literals.iter().map(Vec::len).sum();
    let kind = if states <= DFA_STATES { AhoCorasickKind::DFA } else { AhoCorasickKind::ContiguousNFA };
    AhoCorasick::builder().kind(Some(kind)).build(literals).map(Some)
}
