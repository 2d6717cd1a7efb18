//! Runs the rewrites of a level on one URI, as nginx does: finds the first that matches, and where it leads.
//!
//! Only certain targets are followed: plain bytes, which a `Location` header and the client's next request leave
//! unchanged.

use std::ops::Range;

use hashbrown::{HashMap, HashSet};

use crate::first_match::{Doubt, First, FirstMatch, TooManyLiterals};
use crate::parallel;
use crate::pcre::Regex;
use crate::rewrite::example::example;
use crate::rewrite::runs::{self, Rule, Unreadable};
use crate::rewrite::target::{self, Action, Part};
use crate::syntax;

/// The most calls of PCRE2 for the captures of a rule on an example.
const CALLS: u32 = 10_000;

/// A rule by its number in the script.
pub type Number = usize;

/// The rules of one level in order, from one or more files, up to the first that does not end the script.
pub struct Script {
    rules: Vec<Owned>,
    /// By string, the first literal rule that matches it; only strings without a newline, as no path that is followed
    /// has one.
    literals: HashMap<Vec<u8>, Number>,
    /// The rules that are not literals, and their patterns.
    others: Vec<Number>,
    first: FirstMatch,
    /// Whether it has all the given rewrites.
    pub is_whole: bool,
}

/// A rule, with its text.
struct Owned {
    file: usize,
    span: Range<usize>,
    pattern: Vec<u8>,
    replacement: Vec<u8>,
    action: Action,
}

/// A part of a script: the bytes of a file, and the ranges of its rewrites.
pub type Portion<'a> = (&'a [u8], Vec<Range<usize>>);

/// The rule that matches a URI, and where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleMatch {
    pub rule: Number,
    /// The path that it leads to on the same site; `None` if it is another site, or not certain.
    pub to: Option<Vec<u8>>,
}

/// A rule, a URI that it answers, and the rule that answers what it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    pub rule: Number,
    pub from: Vec<u8>,
    pub to: Vec<u8>,
    pub next: Option<Number>,
    /// Whether the rule leads there for every URI that it answers.
    pub is_constant: bool,
}

impl Script {
    /// Reads the rewrites in `portions`. Linear in their length.
    pub fn read(portions: &[Portion]) -> Result<Script, Unreadable> {
        let mut rules = Vec::new();
        let mut is_whole = true;
        for (file, (bytes, ranges)) in portions.iter().enumerate() {
            let read = runs::read(bytes, std::slice::from_ref(ranges))?;
            let end = read.barriers.first().map_or(usize::MAX, |barrier| barrier.span.start);
            let before = read.runs.iter().flat_map(|run| &run.rules).take_while(|rule| rule.span.start < end);
            rules.extend(before.map(|rule| Owned::new(file, rule)));
            if !read.barriers.is_empty() {
                is_whole = false;
                break;
            }
        }
        Ok(Script::new(rules, is_whole).expect("patterns of one configuration fit an index of 32 bits"))
    }

    fn new(rules: Vec<Owned>, is_whole: bool) -> Result<Script, TooManyLiterals> {
        let mut literals = HashMap::new();
        let mut others = Vec::new();
        for (number, rule) in rules.iter().enumerate() {
            match syntax::literal(&rule.pattern) {
                Some(literal) => {
                    for string in literal.strings().filter(|string| !string.ends_with(b"\n")) {
                        literals.entry(string).or_insert(number);
                    }
                }
                None => others.push(number),
            }
        }
        let patterns: Vec<&[u8]> = others.iter().map(|number| rules[*number].pattern.as_slice()).collect();
        let first = FirstMatch::new(&patterns)?;
        Ok(Script { rules, literals, others, first, is_whole })
    }

    /// The first rule that matches `uri`; `Err` if that is unknown.
    pub fn first(&self, uri: &[u8]) -> Result<Option<Number>, Doubt> {
        let literal = self.literals.get(uri).copied();
        let before = literal.map_or(self.others.len(), |rule| self.others.partition_point(|other| *other < rule));
        match self.first.first(uri, before) {
            First::None => Ok(literal),
            First::Match(index) => Ok(Some(self.others[index])),
            First::Unknown(_, doubt) => Err(doubt),
        }
    }

    /// The first rule that matches `uri`, and where it leads: a redirect to the client's next request, `last` and
    /// `break` to another URI of the same request. `sites` are the beginnings of URLs of the site itself: empty,
    /// `https://a.b`. `None` if no rule matches, or if that is uncertain.
    pub fn step(&self, uri: &[u8], sites: &[Vec<u8>]) -> Option<RuleMatch> {
        let rule = self.first(uri).ok()??;
        Some(RuleMatch { rule, to: self.rules[rule].target(uri, sites) })
    }

    /// Every redirect to another path of the site that is the first rule to answer its own URI, if another rule answers
    /// its target, or its target begins with one of `prefixes`. A short URI represents all that a rule matches.
    pub fn hops(&self, sites: &[Vec<u8>], prefixes: &[Vec<u8>]) -> Vec<Hop> {
        let prefixes: HashSet<&[u8]> = prefixes.iter().map(Vec::as_slice).collect();
        let is_begun = |to: &[u8]| (0..=to.len()).any(|end| prefixes.contains(&to[..end]));
        let hop = |number: Number| {
            let rule = &self.rules[number];
            let from = rule.action.is_redirect().then(|| rule.example()).flatten()?;
            let to = rule.target(&from, sites)?;
            let next = self.first(&to).ok()?;
            // Checked last because it compiles the rule's own pattern: no other rule answers the target of most rules.
            if (next.is_none() && !is_begun(&to)) || self.first(&from) != Ok(Some(number)) {
                return None;
            }
            Some(Hop { rule: number, from, to, next, is_constant: rule.is_constant() })
        };
        let hops = parallel::ranges(self.rules.len(), |part| part.filter_map(hop).collect::<Vec<_>>());
        hops.into_iter().flatten().collect()
    }

    /// The file of a rule, as its place among the portions, and the range in it.
    pub fn place(&self, rule: Number) -> (usize, Range<usize>) {
        (self.rules[rule].file, self.rules[rule].span.clone())
    }

    /// What a rule does with the request.
    pub fn action(&self, rule: Number) -> Action {
        self.rules[rule].action
    }

    /// The number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether it has no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

impl Owned {
    fn new(file: usize, rule: &Rule) -> Owned {
        Owned {
            file,
            span: rule.span.clone(),
            pattern: rule.pattern.to_vec(),
            replacement: rule.replacement.to_vec(),
            action: rule.action,
        }
    }

    /// A short URI that a client can request and that the pattern may match.
    fn example(&self) -> Option<Vec<u8>> {
        let uri = match syntax::literal(&self.pattern) {
            Some(literal) => literal.stem.into_owned(),
            None => example(&syntax::parse(&self.pattern).ok()?.ast)?,
        };
        is_plain_path(&uri).then_some(uri)
    }

    /// Whether the path of its target is the same for every URI that it matches; a literal matches only one.
    fn is_constant(&self) -> bool {
        let repeats = |part: &Part| matches!(part, Part::Capture(_)) || is_uri(part);
        syntax::literal(&self.pattern).is_some()
            || target::parse(&self.replacement).is_some_and(|target| !target.path.iter().any(repeats))
    }

    /// The path to which the rule leads `uri`, on the same site.
    fn target(&self, uri: &[u8], sites: &[Vec<u8>]) -> Option<Vec<u8>> {
        let target = target::parse(&self.replacement)?;
        let captures = if target.path.iter().any(|part| matches!(part, Part::Capture(_))) {
            Regex::new(&self.pattern).ok()?.captures(uri, CALLS).ok()??
        } else {
            Vec::new()
        };
        let group = |digit: u8| captures.get(usize::from(digit)).cloned().flatten().map_or(&[][..], |at| &uri[at]);
        let written = target.path.into_iter().map(|part| match part {
            Part::Capture(digit) => Part::Text(group(digit)),
            part if is_uri(&part) => Part::Text(uri),
            part => part,
        });
        path_of(&target::text(&written.collect::<Vec<_>>()), sites)
    }
}

/// Whether a variable is the URI of the request, if that is a plain path and has not been changed.
fn is_uri(part: &Part) -> bool {
    matches!(part, Part::Variable { name: b"uri" | b"document_uri" | b"request_uri", .. })
}

/// The path of a URL, if it is a path of one of `sites` that a client requests as written: plain bytes and no segment
/// of dots. Slashes are merged, as nginx does (`merge_slashes`).
pub fn path_of(url: &[u8], sites: &[Vec<u8>]) -> Option<Vec<u8>> {
    let path = sites.iter().find_map(|site| url.strip_prefix(site.as_slice()).filter(|rest| rest.starts_with(b"/")))?;
    let end = memchr::memchr2(b'?', b'#', path).unwrap_or(path.len());
    let mut merged = path[..end].to_vec();
    merged.dedup_by(|next, before| *next == b'/' && *before == b'/');
    (!path.starts_with(b"//") && is_plain_path(&merged)).then_some(merged)
}

fn is_plain_path(path: &[u8]) -> bool {
    let has = |needle: &[u8]| memchr::memmem::find(path, needle).is_some();
    path.starts_with(b"/") && path.iter().all(|byte| target::is_never_escaped(*byte)) && !has(b"//") && !has(b"/.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Script {
        let whole = std::iter::once(0..text.len()).collect();
        Script::read(&[(text.as_bytes(), whole)]).expect("rewrites")
    }

    fn step(text: &str, uri: &str) -> Option<(usize, Option<String>)> {
        let sites = [Vec::new(), b"https://a.test".to_vec()];
        let step = script(text).step(uri.as_bytes(), &sites)?;
        Some((step.rule, step.to.map(|to| String::from_utf8(to).unwrap())))
    }

    /// The order of the rules decides, whether they are literals or not; a target is a path of the site or `None`.
    #[test]
    fn steps() {
        let rules =
            "rewrite ^/a$ /b?x=1 permanent; rewrite ^/(.*)/$ /$1 permanent; rewrite ^/c$ https://a.test/d redirect;
                     rewrite ^/e$ https://b.test/ permanent; rewrite ^/c/$ /never last; rewrite ^/f$ /%66 permanent;
                     rewrite ^/g$ $scheme://$host/x$uri permanent;";
        assert_eq!(step(rules, "/a"), Some((0, Some("/b".into()))));
        assert_eq!(step(rules, "/c"), Some((2, Some("/d".into()))));
        assert_eq!(step(rules, "/c/"), Some((1, Some("/c".into()))));
        assert_eq!(step(rules, "/e"), Some((3, None)));
        assert_eq!(step(rules, "/f"), Some((5, None)));
        assert_eq!(step(rules, "/g"), Some((6, None)));
        assert_eq!(step(rules, "/h"), None);
        assert_eq!(step("rewrite ^/a(.*)$ /a//b$1 last;", "/a"), Some((0, Some("/a/b".into()))));
    }

    /// A rule has a hop only if it answers its own URI; a rule without a flag ends the script.
    #[test]
    fn hops() {
        let script = script(
            "rewrite ^/a$ /b permanent; rewrite ^/b$ /c last; rewrite ^/a$ /d permanent; rewrite ^/e$ /x permanent;
             rewrite ^/n$ /m; rewrite ^/x$ /y permanent;",
        );
        let sites = [Vec::new()];
        let hops: Vec<_> = script.hops(&sites, &[]).into_iter().map(|hop| (hop.rule, hop.next)).collect();
        assert_eq!(hops, [(0, Some(1))]);
        assert_eq!(script.hops(&sites, &[b"/".to_vec()]).len(), 2);
        assert!(!script.is_whole);
        assert_eq!(script.len(), 4);
    }
}
