//! Finds the first kept rule that matches a string. Bytes that every match must contain exclude most rules; PCRE2
//! decides for the rest, if every PCRE reads the pattern alike.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use hashbrown::HashMap;
use regex_automata::meta;

use crate::prove::needs::{Need, Needs};
use crate::prove::oracle::Matches;
use crate::prove::oracle::Oracle;
use crate::prove::{head, work};
use crate::syntax::{self, Pattern};

/// The rules that stay, with their places among all rules.
#[derive(Default)]
pub struct Residual<'t> {
    rules: Vec<ResidualRule<'t>>,
    /// Rules by the bytes that a subject starts or ends with, in lower case. An end may also be before a final newline.
    starting: Bytes,
    ending: Bytes,
    /// Rules by bytes that a subject contains anywhere, in lower case.
    holding: Option<AhoCorasick>,
    held_by: Vec<u32>,
    /// Rules in `ending` and `holding` on which PCRE2 may give up, each with the most bytes of a subject on which it
    /// does not. Ascending.
    may_give_up: Vec<(usize, u32)>,
    /// The rules that any subject may match.
    others: Vec<u32>,
}

struct ResidualRule<'t> {
    place: usize,
    pattern: &'t [u8],
    oracle: OnceLock<Oracle>,
    spellings: OnceLock<Option<meta::Regex>>,
    head: OnceLock<PatternHead>,
}

impl<'t> Residual<'t> {
    /// `rules` in order, each with its place and pattern.
    pub fn new(rules: impl Iterator<Item = (usize, &'t [u8])>) -> Residual<'t> {
        let rules: Vec<ResidualRule> = rules.map(|(place, pattern)| ResidualRule::new(place, pattern)).collect();
        let needs: Vec<Needs> = rules.iter().map(|rule| Needs::of(rule.pattern)).collect();
        let mut crowds: HashMap<&Need, usize> = HashMap::new();
        for need in needs.iter().flat_map(|needs| &needs.all) {
            *crowds.entry(need).or_insert(0) += 1;
        }
        let mut residual = Residual { rules, ..Residual::default() };
        let mut parts = Vec::new();
        for (at, needs) in (0u32..).zip(&needs) {
            let rarest = needs.all.iter().min_by_key(|need| crowds[need]);
            match rarest {
                Some(Need::Start(bytes)) => residual.starting.add(bytes, at),
                Some(Need::End(bytes)) => residual.ending.add(bytes, at),
                Some(Need::Part(bytes)) => {
                    parts.push(bytes);
                    residual.held_by.push(at);
                }
                None => residual.others.push(at),
            }
            if matches!(rarest, Some(Need::End(_) | Need::Part(_))) {
                residual.may_give_up.push((needs.longest, at));
            }
        }
        residual.holding = AhoCorasick::new(&parts).ok().filter(|_| !parts.is_empty());
        if residual.holding.is_none() {
            residual.others.append(&mut residual.held_by);
        }
        residual.may_give_up.sort_unstable();
        residual.starting.finish();
        residual.ending.finish();
        residual
    }

    /// Whether a rule whose place is one of `places` matches `subject`.
    pub fn takes(&self, subject: &[u8], places: Range<usize>) -> Matches {
        let mut all = Matches::No;
        if self.rules.is_empty() {
            return all;
        }
        // Rules are tried in order, because an early match may save a pattern that takes long.
        for at in self.candidates(subject, places) {
            match self.rules[at as usize].takes(subject) {
                Matches::Yes => return Matches::Yes,
                Matches::Unknown => all = Matches::Unknown,
                Matches::No => {}
            }
        }
        all
    }

    /// Whether a rule whose place is one of `places` may match some spelling of `subject`, which is in lower case.
    /// `false` is certain.
    pub fn may_take_some_case(&self, subject: &[u8], places: Range<usize>) -> bool {
        self.candidates(subject, places).into_iter().any(|at| self.rules[at as usize].may_take_some_case(subject))
    }

    /// The places of the rules that may match a subject, or on which PCRE may give up; ascending.
    pub fn that_may_match(&self, subject: &[u8]) -> Vec<usize> {
        self.candidates(subject, 0..usize::MAX).into_iter().map(|at| self.rules[at as usize].place).collect()
    }

    /// The rules at some of `places` that may match some spelling of `subject`, in order.
    fn candidates(&self, subject: &[u8], places: Range<usize>) -> Vec<u32> {
        let lowered = &*subject.to_ascii_lowercase();
        let mut candidates = Vec::new();
        let mut add = |at: &u32| {
            if places.contains(&self.rules[*at as usize].place) {
                candidates.push(*at);
            }
        };
        let before_newline = lowered.strip_suffix(b"\n");
        let ends = [Some(lowered), before_newline].into_iter().flatten();
        self.starting.of(lowered, |length| &lowered[..length]).for_each(&mut add);
        ends.for_each(|text| self.ending.of(text, |length| &text[text.len() - length..]).for_each(&mut add));
        let hits = self.holding.iter().flat_map(|parts| parts.find_overlapping_iter(lowered));
        hits.for_each(|hit| add(&self.held_by[hit.pattern().as_usize()]));
        self.others.iter().for_each(&mut add);
        let not_skipped = self.may_give_up.iter().take_while(|(longest, _)| *longest < lowered.len());
        not_skipped.for_each(|(_, at)| add(at));
        candidates.sort_unstable();
        candidates.dedup();
        candidates
    }
}

impl<'t> ResidualRule<'t> {
    fn new(place: usize, pattern: &'t [u8]) -> ResidualRule<'t> {
        ResidualRule { place, pattern, oracle: OnceLock::new(), spellings: OnceLock::new(), head: OnceLock::new() }
    }

    fn takes(&self, subject: &[u8]) -> Matches {
        match self.oracle() {
            Oracle::Unportable(prefix) if syntax::begins(subject, prefix) => Matches::Unknown,
            Oracle::Unportable(_) => Matches::No,
            Oracle::Portable(pattern, regex) if pattern.settles(subject) => regex.matches(pattern, subject),
            Oracle::Portable(pattern, _) if self.may_begin(pattern, subject) => Matches::Unknown,
            Oracle::Portable(..) => Matches::No,
        }
    }

    fn may_take_some_case(&self, subject: &[u8]) -> bool {
        let Oracle::Portable(pattern, _) = self.oracle() else { return self.takes(subject) != Matches::No };
        let spellings = || self.spellings.get_or_init(|| spellings(pattern)).as_ref();
        may_take(pattern, spellings, subject) && self.may_begin(pattern, subject)
    }

    /// Whether PCRE may get beyond the head of the pattern on some spelling of the subject, or give up in the head.
    fn may_begin(&self, pattern: &Pattern, subject: &[u8]) -> bool {
        let head = self.head.get_or_init(|| PatternHead::of(pattern));
        may_take(&head.pattern, || head.spellings.as_ref(), &subject.to_ascii_lowercase())
    }

    fn oracle(&self) -> &Oracle {
        self.oracle.get_or_init(|| Oracle::of(self.pattern))
    }
}

/// Whether a pattern may match some spelling of a subject, or PCRE may give up on one.
fn may_take<'r>(pattern: &Pattern, spellings: impl Fn() -> Option<&'r meta::Regex>, subject: &[u8]) -> bool {
    !pattern.settles(subject)
        || !work::ends_in_time(&pattern.ast, subject.len() as u32)
        || spellings().is_none_or(|regex| regex.is_match(subject))
}

/// The head of a pattern.
struct PatternHead {
    pattern: Pattern,
    spellings: Option<meta::Regex>,
}

impl PatternHead {
    fn of(pattern: &Pattern) -> PatternHead {
        let pattern = head::of(pattern);
        let spellings = spellings(&pattern);
        PatternHead { pattern, spellings }
    }
}

/// Builds an automaton for all case variants of a pattern's language, or of a superset.
fn spellings(pattern: &Pattern) -> Option<meta::Regex> {
    let folded = pattern.translate_folded().hir;
    // It runs on few strings, so it should be small and quick to build.
    let config = meta::Config::new().utf8_empty(false).hybrid(false).auto_prefilter(false);
    meta::Regex::builder().configure(config).build_from_hir(&folded).ok()
}

/// Rules by some bytes.
#[derive(Default)]
struct Bytes {
    rules: HashMap<Vec<u8>, Vec<u32>>,
    lengths: Vec<usize>,
}

impl Bytes {
    fn add(&mut self, bytes: &[u8], rule: u32) {
        self.rules.entry_ref(bytes).or_default().push(rule);
    }

    fn finish(&mut self) {
        self.lengths = self.rules.keys().map(Vec::len).collect();
        self.lengths.sort_unstable();
        self.lengths.dedup();
    }

    /// The rules of all parts of a subject. `part` returns the part of a given length.
    fn of<'b>(&'b self, subject: &[u8], part: impl Fn(usize) -> &'b [u8]) -> impl Iterator<Item = &'b u32> {
        let fitting = self.lengths.partition_point(|length| *length <= subject.len());
        self.lengths[..fitting].iter().filter_map(move |length| self.rules.get(part(*length))).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::Residual;
    use crate::prove::oracle::Matches;

    fn residual<'t>(patterns: &[&'t str]) -> Residual<'t> {
        Residual::new(patterns.iter().map(|pattern| pattern.as_bytes()).enumerate())
    }

    fn taken(patterns: &[&str], subject: &[u8]) -> bool {
        residual(patterns).takes(subject, 0..patterns.len()) != Matches::No
    }

    /// Rules are found by the starts and ends of subjects or always tried; those outside the places are ignored.
    #[test]
    fn takes() {
        let patterns = ["^/a/(.*)-1$", "^/a/(.*)-2$", r"old\.php$", r"/x\z", "^/B/", "shop", "^/c(d|e)", "-sale-"];
        for subject in ["/a/b-2", "/a/b-1\n", "/old.php", "/old.php\n", "/x", "/B/c", "/my/shop/", "/ce", "/big-sale-1"]
        {
            assert!(taken(&patterns, subject.as_bytes()), "{subject}");
        }
        for subject in ["/a/b-3", "/a/b-1\n\n", "/old.phpx", "/x\n", "/b/c", "/sho", "/c", "", "\n"] {
            assert!(!taken(&patterns, subject.as_bytes()), "{subject}");
        }
        assert_eq!(residual(&patterns).takes(b"/a/b-2", 0..1), Matches::No);
        assert_eq!(residual(&patterns).takes(b"/a/b-2", 0..2), Matches::Yes);
        assert_eq!(residual(&patterns).takes(b"/a/b-2", 2..8), Matches::No);
    }

    /// A rule on which PCRE2 gives up is tried, even if the subject does not contain its literal bytes.
    #[test]
    fn match_limit() {
        let subject = [b"/".as_slice(), &[b'a'; 60], b"oof"].concat();
        for pattern in ["/(a+)+[^x]foo$", "/(a+)+[^x]foo"] {
            assert!(taken(&[pattern], &subject), "{pattern}");
            assert!(!taken(&[pattern], b"/aoof"), "{pattern}");
        }
        let subject = [b"/".as_slice(), &vec![b'a'; 1_000], b"1"].concat();
        assert!(taken(&["^(.*)(.*)(.*)x1$"], &subject));
    }

    /// If one PCRE matches and another does not, or gives up, the answer is unknown.
    #[test]
    fn unknown() {
        for (pattern, subject) in [
            ("^/id/[0-9]{,3}$", "/id/42"),
            (r"^/id/\S$", "/id/\x0b"),
            (r"^/id/\s$", "/id/\x0b"),
            (r"^/id/[^\S\n]x", "/id/\x0bx"),
            ("^/(a+)+$", &format!("/{}!", "a".repeat(40))),
        ] {
            assert_eq!(residual(&[pattern]).takes(subject.as_bytes(), 0..1), Matches::Unknown, "{pattern}");
        }
        let long = [b"/z".as_slice(), &vec![b'a'; 2_600]].concat();
        assert_eq!(residual(&["^/a(?:[^x]|y)*z$"]).takes(&long, 0..1), Matches::No);
    }

    /// A rule that fails in its head matches nothing, whatever follows; one that passes it may match.
    #[test]
    fn heads() {
        let subject = [b"/old".as_slice(), &[b'z'; 2_600]].concat();
        for pattern in ["^/(a+)+$", "^/x?(a+)+", "^/(ab|c)+z$", "^/(?:x(a+))?zz(b+)+d", "^/(a{1,1000}){1,1000}$"] {
            assert_eq!(residual(&[pattern]).takes(&subject, 0..1), Matches::No, "{pattern}");
            assert!(!residual(&[pattern]).may_take_some_case(&subject, 0..1), "{pattern}");
        }
        for pattern in ["^/(z+)+$", "^/x?(Z+)+$", "^/(ZZ|d)+y$", "^/(?:x|(z+)+)+d", "^/(z{1,1000}){1,1000}$"] {
            assert!(
                residual(&[pattern]).may_take_some_case(&[b"/".as_slice(), &[b'z'; 2_600]].concat(), 0..1),
                "{pattern}"
            );
        }
    }

    /// One matching spelling is enough.
    #[test]
    fn some_case() {
        let residual = residual(&["^/A/(.*)-X$", "^/a/(.*)-Y$", "^/[^b]"]);
        assert!(residual.may_take_some_case(b"/a/b-y\n", 0..2));
        assert!(!residual.may_take_some_case(b"/a/b-y", 0..1));
        assert!(residual.may_take_some_case(b"/b", 0..3)); // as /B
        assert!(!residual.may_take_some_case(b"/b", 0..2));
    }
}
