//! Which of the rules that stay matches a string first: PCRE2 decides, where it speaks for every PCRE; plain bytes that
//! every match must hold keep most of them from being asked.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use aho_corasick::AhoCorasick;
use hashbrown::HashMap;
use regex_automata::meta;

use crate::pcre::{Outcome, Regex};
use crate::prove::{head, work};
use crate::syntax::{self, Ast, Pattern};

/// The rules that stay, by their place among all rules.
#[derive(Default)]
pub struct Residual<'t> {
    rules: Vec<Kept<'t>>,
    /// By the bytes that a subject starts and ends with, in small letters. An end is looked for before a final newline,
    /// too.
    starting: Bytes,
    ending: Bytes,
    /// By the bytes that a subject has anywhere, likewise.
    holding: Option<AhoCorasick>,
    held_by: Vec<u32>,
    /// Rules in `ending` and `holding` on which PCRE2 may give up, rather than say No, if the subject has more bytes than this. Ascending.
    may_give_up: Vec<(usize, u32)>,
    /// The rules that any subject may match.
    others: Vec<u32>,
}

struct Kept<'t> {
    place: usize,
    pattern: &'t [u8],
    judge: OnceLock<Judge>,
    spellings: OnceLock<Option<meta::Regex>>,
    head: OnceLock<Head>,
}

impl<'t> Residual<'t> {
    /// `rules` in order, each with its place and pattern.
    pub fn new(rules: impl Iterator<Item = (usize, &'t [u8])>) -> Residual<'t> {
        let rules: Vec<Kept> = rules.map(|(place, pattern)| Kept::new(place, pattern)).collect();
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
    pub fn takes(&self, subject: &[u8], places: Range<usize>) -> Answer {
        let mut all = Answer::No;
        // In order, as a rule that comes first may save a long question to the next.
        for at in self.candidates(subject, places) {
            match self.rules[at as usize].takes(subject) {
                Answer::Yes => return Answer::Yes,
                Answer::Unknown => all = Answer::Unknown,
                Answer::No => {}
            }
        }
        all
    }

    /// Whether one of them may match some spelling of `subject`, which is in small letters: never a false `false`.
    pub fn may_take_some_case(&self, subject: &[u8], places: Range<usize>) -> bool {
        let found = self.candidates(subject, places);
        found.into_iter().any(|at| self.rules[at as usize].may_take_some_case(subject))
    }

    /// The places of the rules that may match a subject, or on which PCRE may give up; ascending.
    pub fn that_may_match(&self, subject: &[u8]) -> Vec<usize> {
        self.candidates(subject, 0..usize::MAX).into_iter().map(|at| self.rules[at as usize].place).collect()
    }

    /// The rules at some of `places` that may match some spelling of `subject`, in order.
    fn candidates(&self, subject: &[u8], places: Range<usize>) -> Vec<u32> {
        let lowered = &*subject.to_ascii_lowercase();
        let mut found = Vec::new();
        let mut add = |at: &u32| {
            if places.contains(&self.rules[*at as usize].place) {
                found.push(*at);
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
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl<'t> Kept<'t> {
    fn new(place: usize, pattern: &'t [u8]) -> Kept<'t> {
        Kept { place, pattern, judge: OnceLock::new(), spellings: OnceLock::new(), head: OnceLock::new() }
    }

    fn takes(&self, subject: &[u8]) -> Answer {
        match self.judge() {
            Judge::Unportable(prefix) if syntax::begins(subject, prefix) => Answer::Unknown,
            Judge::Unportable(_) => Answer::No,
            Judge::Portable(pattern, asked) if pattern.settles(subject) => asked.matches(pattern, subject),
            Judge::Portable(pattern, _) if self.may_begin(pattern, subject) => Answer::Unknown,
            Judge::Portable(..) => Answer::No,
        }
    }

    fn may_take_some_case(&self, subject: &[u8]) -> bool {
        let Judge::Portable(pattern, _) = self.judge() else { return self.takes(subject) != Answer::No };
        let spellings = || self.spellings.get_or_init(|| spellings(pattern)).as_ref();
        may_take(pattern, spellings, subject) && self.may_begin(pattern, subject)
    }

    /// Whether PCRE may get beyond the head of the pattern on some spelling of the subject, or give up in it.
    fn may_begin(&self, pattern: &Pattern, subject: &[u8]) -> bool {
        let head = self.head.get_or_init(|| Head::of(pattern));
        may_take(&head.pattern, || head.spellings.as_ref(), &subject.to_ascii_lowercase())
    }

    fn judge(&self) -> &Judge {
        self.judge.get_or_init(|| Judge::of(self.pattern))
    }
}

/// Whether a pattern may match some spelling of a subject, or PCRE may give up on one.
fn may_take<'r>(pattern: &Pattern, spellings: impl Fn() -> Option<&'r meta::Regex>, subject: &[u8]) -> bool {
    !pattern.settles(subject)
        || !work::ends_in_time(&pattern.ast, subject.len() as u32)
        || spellings().is_none_or(|regex| regex.is_match(subject))
}

/// The head of a pattern.
struct Head {
    pattern: Pattern,
    spellings: Option<meta::Regex>,
}

impl Head {
    fn of(pattern: &Pattern) -> Head {
        let pattern = head::of(pattern);
        let spellings = spellings(&pattern);
        Head { pattern, spellings }
    }
}

/// Whether a rule matches a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It does in every PCRE.
    Yes,
    /// It does in none, and none gives up on it.
    No,
    /// One PCRE may say Yes, another No, or give up.
    Unknown,
}

/// What may be said of a pattern.
enum Judge {
    Portable(Box<Pattern>, Asked),
    /// It matches nothing but subjects that begin like this.
    Unportable(Vec<u8>),
}

impl Judge {
    fn of(text: &[u8]) -> Judge {
        match (syntax::parse(text), Regex::new(text)) {
            (Ok(pattern), Ok(regex)) => {
                let asked = Asked { regex, automaton: OnceLock::new(), slow: AtomicU32::new(0) };
                Judge::Portable(Box::new(pattern), asked)
            }
            _ => Judge::Unportable(syntax::prefix(text)),
        }
    }
}

/// A portable pattern, run by PCRE2, and where that takes long by an automaton.
struct Asked {
    regex: Regex,
    automaton: OnceLock<Option<meta::Regex>>,
    slow: AtomicU32,
}

/// How many calls a question may take from one place of the subject; the planner allows no more.
const CALLS: u32 = 8_000;

/// After so many long questions the automaton is asked first.
const PATIENCE: u32 = 64;

impl Asked {
    fn matches(&self, pattern: &Pattern, subject: &[u8]) -> Answer {
        if self.slow.load(Ordering::Relaxed) > PATIENCE
            && let Some(answer) = self.in_the_end(pattern, subject)
        {
            return answer;
        }
        match self.regex.is_match(subject, CALLS) {
            Outcome::Yes => Answer::Yes,
            Outcome::No => Answer::No,
            Outcome::Error(_) => {
                self.slow.fetch_add(1, Ordering::Relaxed);
                self.in_the_end(pattern, subject).unwrap_or(Answer::Unknown)
            }
        }
    }

    /// What PCRE says, however long it takes, if it comes to an end within nginx's limit.
    fn in_the_end(&self, pattern: &Pattern, subject: &[u8]) -> Option<Answer> {
        let build = || {
            let translation = pattern.translate();
            let config = meta::Config::new().utf8_empty(false).auto_prefilter(false);
            let regex = meta::Regex::builder().configure(config).build_from_hir(&translation.hir);
            regex.ok().filter(|_| translation.exact)
        };
        let automaton = self.automaton.get_or_init(build).as_ref()?;
        let answer = || if automaton.is_match(subject) { Answer::Yes } else { Answer::No };
        work::ends_in_time(&pattern.ast, subject.len() as u32).then(answer)
    }
}

/// An automaton of the case variants of a pattern's language, or of a larger one.
fn spellings(pattern: &Pattern) -> Option<meta::Regex> {
    let folded = pattern.translate_folded().hir;
    // One that is small and soon built: it is asked about few strings.
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

    /// The rules of all parts of a subject; `part` gives the one of a length.
    fn of<'b>(&'b self, subject: &[u8], part: impl Fn(usize) -> &'b [u8]) -> impl Iterator<Item = &'b u32> {
        let fitting = self.lengths.partition_point(|length| *length <= subject.len());
        self.lengths[..fitting].iter().filter_map(move |length| self.rules.get(part(*length))).flatten()
    }
}

/// What every match of a pattern has, in small letters.
#[derive(PartialEq, Eq, Hash)]
enum Need {
    Start(Vec<u8>),
    End(Vec<u8>),
    Part(Vec<u8>),
}

/// All that is known of a pattern.
#[derive(Default)]
struct Needs {
    all: Vec<Need>,
    /// The longest subject without an end or part on which PCRE2 is sure to say No. Without a start it always is: no
    /// match is tried any further.
    longest: usize,
}

impl Needs {
    fn of(pattern: &[u8]) -> Needs {
        let Ok(parsed) = syntax::parse(pattern) else {
            let all = Some(syntax::prefix(pattern)).filter(|prefix| !prefix.is_empty()).map(Need::Start);
            return Needs { all: all.into_iter().collect(), longest: usize::MAX };
        };
        let most = parsed.longest();
        let Ast::Concat(parts) = parsed.ast else {
            return Needs::default();
        };
        let longest = longest(&parts).min(most);
        let mut all = Vec::new();
        let mut runs: Vec<&[Ast]> = parts.split(|part| !matches!(part, Ast::Byte(_))).collect();
        if let [Ast::Start, ..] = parts.as_slice() {
            all.push(Need::Start(bytes(runs[1]))); // before `^` is an empty run
            runs.drain(..2);
        }
        if longest > 0 {
            if let [.., Ast::Dollar | Ast::End] = parts.as_slice() {
                let before = runs.len().checked_sub(2);
                all.extend(before.map(|at| Need::End(bytes(runs.remove(at)))));
            }
            all.extend(runs.into_iter().map(|run| Need::Part(bytes(run))));
        }
        all.retain(|need| !need.bytes().is_empty());
        Needs { all, longest }
    }
}

impl Need {
    fn bytes(&self) -> &[u8] {
        match self {
            Need::Start(bytes) | Need::End(bytes) | Need::Part(bytes) => bytes,
        }
    }
}

fn bytes(run: &[Ast]) -> Vec<u8> {
    run.iter()
        .filter_map(|part| if let Ast::Byte(byte) = part { Some(byte.to_ascii_lowercase()) } else { None })
        .collect()
}

/// A tenth of PCRE2's match limit.
const FEW_CALLS: f64 = 1e6;

/// The longest subject for which PCRE2 says No before its match limit, by a bound that only knows sequences of bytes,
/// sets and repetitions of one of these: each repetition, and the start of an unanchored match, has at most one way for
/// each byte of the subject.
fn longest(parts: &[Ast]) -> usize {
    let mut loops = i32::from(parts.first() != Some(&Ast::Start));
    let mut size = 1.0;
    for part in parts {
        match inner(part) {
            Ast::Byte(_) | Ast::Class(_) | Ast::Start | Ast::Dollar | Ast::End | Ast::Empty => {}
            Ast::Repeat { sub, .. } if matches!(**sub, Ast::Byte(_) | Ast::Class(_)) => loops += 1,
            _ => return 0,
        }
        size += 3.0; // a group is entered and left
    }
    if loops == 0 { usize::MAX } else { (FEW_CALLS / size).powf(1.0 / f64::from(loops)) as usize }
}

/// What a group around one node holds.
fn inner(part: &Ast) -> &Ast {
    if let Ast::Capture { sub, .. } = part { inner(sub) } else { part }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Residual};

    fn residual<'t>(patterns: &[&'t str]) -> Residual<'t> {
        Residual::new(patterns.iter().map(|pattern| pattern.as_bytes()).enumerate())
    }

    fn taken(patterns: &[&str], subject: &[u8]) -> bool {
        residual(patterns).takes(subject, 0..patterns.len()) != Answer::No
    }

    /// Rules are found by what subjects start and end with, or asked always; those from the limit on are not.
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
        assert_eq!(residual(&patterns).takes(b"/a/b-2", 0..1), Answer::No);
        assert_eq!(residual(&patterns).takes(b"/a/b-2", 0..2), Answer::Yes);
        assert_eq!(residual(&patterns).takes(b"/a/b-2", 2..8), Answer::No);
    }

    /// A rule on which PCRE2 gives up is asked first, even where its literal bytes are not in the subject.
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

    /// What one PCRE matches and another does not, or what one gives up on, is neither taken nor left.
    #[test]
    fn unknown() {
        for (pattern, subject) in [
            ("^/id/[0-9]{,3}$", "/id/42"),
            (r"^/id/\S$", "/id/\x0b"),
            (r"^/id/\s$", "/id/\x0b"),
            (r"^/id/[^\S\n]x", "/id/\x0bx"),
            ("^/(a+)+$", &format!("/{}!", "a".repeat(40))),
        ] {
            assert_eq!(residual(&[pattern]).takes(subject.as_bytes(), 0..1), Answer::Unknown, "{pattern}");
        }
        let long = [b"/z".as_slice(), &vec![b'a'; 2_600]].concat();
        assert_eq!(residual(&["^/a(?:[^x]|y)*z$"]).takes(&long, 0..1), Answer::No);
    }

    /// A rule that gets no further than what it begins with takes nothing, whatever stands behind; some may be taken
    /// where it does.
    #[test]
    fn heads() {
        let subject = [b"/old".as_slice(), &[b'z'; 2_600]].concat();
        for pattern in ["^/(a+)+$", "^/x?(a+)+", "^/(ab|c)+z$", "^/(?:x(a+))?zz(b+)+d", "^/(a{1,1000}){1,1000}$"] {
            assert_eq!(residual(&[pattern]).takes(&subject, 0..1), Answer::No, "{pattern}");
            assert!(!residual(&[pattern]).may_take_some_case(&subject, 0..1), "{pattern}");
        }
        for pattern in ["^/(z+)+$", "^/x?(Z+)+$", "^/(ZZ|d)+y$", "^/(?:x|(z+)+)+d", "^/(z{1,1000}){1,1000}$"] {
            assert!(
                residual(&[pattern]).may_take_some_case(&[b"/".as_slice(), &[b'z'; 2_600]].concat(), 0..1),
                "{pattern}"
            );
        }
    }

    /// Some spelling is enough.
    #[test]
    fn some_case() {
        let residual = residual(&["^/A/(.*)-X$", "^/a/(.*)-Y$", "^/[^b]"]);
        assert!(residual.may_take_some_case(b"/a/b-y\n", 0..2));
        assert!(!residual.may_take_some_case(b"/a/b-y", 0..1));
        assert!(residual.may_take_some_case(b"/b", 0..3)); // as /B
        assert!(!residual.may_take_some_case(b"/b", 0..2));
    }
}
