//! Which of the rules that stay matches a string first: PCRE2 decides; plain bytes that every match must hold keep most
//! of them from being asked.

use std::cell::OnceCell;
use std::collections::HashMap;

use memchr::memmem::Finder;

use crate::pcre::{Outcome, Regex};
use crate::prove::script::{Matches, matches_some_case};
use crate::prove::work;
use crate::syntax::{self, Ast};

/// Subjects up to this length are told from their bytes alone, where PCRE2 is sure not to give up on them.
const SHORT: u32 = 512;

/// The rules that stay, by their place among all rules.
pub struct Residual<'t> {
    rules: Vec<Kept<'t>>,
    /// By the bytes a subject starts with, the rules that need it to.
    by_prefix: HashMap<Vec<u8>, Vec<usize>>,
    prefix_lengths: Vec<usize>,
    /// The rules that any subject may match.
    others: Vec<usize>,
}

struct Kept<'t> {
    place: usize,
    pattern: &'t [u8],
    regex: OnceCell<Option<Regex>>,
    part: Option<Finder<'static>>,
}

impl<'t> Residual<'t> {
    /// `rules` in order, each with its place and pattern.
    pub fn new(rules: impl Iterator<Item = (usize, &'t [u8])>) -> Residual<'t> {
        let mut residual =
            Residual { rules: Vec::new(), by_prefix: HashMap::new(), prefix_lengths: Vec::new(), others: Vec::new() };
        for (place, pattern) in rules {
            let at = residual.rules.len();
            let ast = syntax::parse(pattern).ok().map(|pattern| pattern.ast);
            let mut kept = Kept { place, pattern, regex: OnceCell::new(), part: None };
            match ast.as_ref().map(literal) {
                Some((true, prefix)) if !prefix.is_empty() => residual.by_prefix.entry(prefix).or_default().push(at),
                Some((false, part))
                    if !part.is_empty() && ast.as_ref().is_some_and(|ast| work::ends_in_time(ast, SHORT)) =>
                {
                    kept.part = Some(Finder::new(&part).into_owned());
                    residual.others.push(at);
                }
                _ => residual.others.push(at),
            }
            residual.rules.push(kept);
        }
        residual.prefix_lengths = residual.by_prefix.keys().map(Vec::len).collect();
        residual.prefix_lengths.sort_unstable();
        residual.prefix_lengths.dedup();
        residual
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether a rule that stands before place `limit` matches, or is one on which PCRE2 gives up: it is asked first.
    pub fn takes(&self, subject: &[u8], limit: usize) -> bool {
        let asked = |at: &usize| self.rules[*at].place < limit && self.rules[*at].takes(subject);
        let lengths = self.prefix_lengths.iter().take_while(|length| **length <= subject.len());
        let by_prefix = lengths.filter_map(|length| self.by_prefix.get(&subject[..*length])).flatten();
        by_prefix.chain(&self.others).any(asked)
    }

    /// Whether a rule before `limit` may match some spelling of `subject`: never a false `false`.
    pub fn may_take_some_case(&self, subject: &[u8], limit: usize) -> bool {
        let before = self.rules.iter().take_while(|rule| rule.place < limit);
        before.into_iter().any(|rule| matches_some_case(rule.pattern, subject) != Matches::No)
    }
}

impl Kept<'_> {
    fn takes(&self, subject: &[u8]) -> bool {
        if subject.len() <= SHORT as usize && self.part.as_ref().is_some_and(|part| part.find(subject).is_none()) {
            return false;
        }
        let regex = self.regex.get_or_init(|| Regex::new(self.pattern).ok());
        regex.as_ref().is_none_or(|regex| regex.is_match(subject) != Outcome::No)
    }
}

/// Bytes that every match holds in one piece, and whether the subject starts with them.
fn literal(ast: &Ast) -> (bool, Vec<u8>) {
    let one = std::slice::from_ref(ast);
    let parts = if let Ast::Concat(parts) = ast { parts } else { one };
    let run = |parts: &[Ast]| -> Vec<u8> {
        parts.iter().map_while(|part| if let Ast::Byte(byte) = part { Some(*byte) } else { None }).collect()
    };
    if let [Ast::Start, rest @ ..] = parts {
        return (true, run(rest));
    }
    let longest = (0..parts.len()).map(|from| run(&parts[from..])).max_by_key(Vec::len);
    (false, longest.unwrap_or_default())
}
