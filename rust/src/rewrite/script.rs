//! What the rewrites of a level do with one URI, as nginx runs them: the first that matches, and where it leads.
//!
//! Only what is certain is followed: targets of plain bytes, whose way through a `Location` header and the client's next
//! request changes nothing.

use std::ops::Range;

use hashbrown::HashMap;

use crate::first_match::{First, FirstMatch, TooManyLiterals};
use crate::language::{self, Limits, Question, Witness};
use crate::pcre::Regex;
use crate::rewrite::program::{self, Rule, Unreadable};
use crate::rewrite::target::{self, Action, Part};
use crate::syntax::{self, Hir};

/// A rule by its number in the script.
pub type Number = usize;

/// The rules of one level in their order, from one file or several, up to the first that does not end the script.
pub struct Script {
    rules: Vec<Owned>,
    /// By string without a newline, which no path that is followed has, the first literal rule that matches it.
    literals: HashMap<Vec<u8>, Number>,
    /// The rules that are no literals, and their patterns.
    others: Vec<Number>,
    first: FirstMatch,
    /// Whether all rewrites given are part of it.
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

/// A part of a script: the bytes of a file, and the ranges in it that hold its rewrites.
pub type Portion<'a> = (&'a [u8], Vec<Range<usize>>);

/// What a rule makes of a URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
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
    /// Whether the rule leads there whatever URI it answers.
    pub is_constant: bool,
}

impl Script {
    /// Reads the rewrites in `portions`. Linear in their length.
    pub fn read(portions: &[Portion]) -> Result<Script, Unreadable> {
        let mut rules = Vec::new();
        let mut is_whole = true;
        for (file, (bytes, ranges)) in portions.iter().enumerate() {
            let program = program::read(bytes, std::slice::from_ref(ranges))?;
            let end = program.barriers.first().map_or(usize::MAX, |barrier| barrier.span.start);
            let before = program.runs.iter().flat_map(|run| &run.rules).take_while(|rule| rule.span.start < end);
            rules.extend(before.map(|rule| Owned::new(file, rule)));
            if !program.barriers.is_empty() {
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

    /// The first rule that matches `uri`; `Err` if PCRE2 gives up before.
    pub fn first(&self, uri: &[u8]) -> Result<Option<Number>, i32> {
        let literal = self.literals.get(uri).copied();
        let before = literal.map_or(self.others.len(), |rule| self.others.partition_point(|other| *other < rule));
        match self.first.first(uri, before) {
            First::None => Ok(literal),
            First::Match(index) => Ok(Some(self.others[index])),
            First::Error(_, code) => Err(code),
        }
    }

    /// The first rule that matches `uri`, and where it leads: a redirect to a client's next request, `last` and `break` to
    /// another URI of the same request. `sites` are the beginnings of a URL that mean the site itself: empty, `https://a.b`.
    /// `None` if no rule matches, or if that is not certain.
    pub fn step(&self, uri: &[u8], sites: &[Vec<u8>]) -> Option<Step> {
        let rule = self.first(uri).ok()??;
        Some(Step { rule, to: self.rules[rule].target(uri, sites) })
    }

    /// Every redirect that leads to another path of the site and is the first to answer its own URI; of rules that match
    /// many URIs the shortest stands for all. If `answered`, only those whose target another rule answers.
    pub fn hops(&self, sites: &[Vec<u8>], answered: bool) -> Vec<Hop> {
        let abnormal = abnormal(true);
        let hop = |(number, rule): (Number, &Owned)| {
            let is_certain = rule.action.is_redirect() && !rule.replacement.is_empty();
            let from = is_certain.then(|| rule.example(&abnormal)).flatten()?;
            if self.first(&from) != Ok(Some(number)) {
                return None;
            }
            let to = rule.target(&from, sites)?;
            let next = self.first(&to).ok()?;
            let is_constant = rule.is_constant();
            (next.is_some() || !answered).then_some(Hop { rule: number, from, to, next, is_constant })
        };
        self.rules.iter().enumerate().filter_map(hop).collect()
    }

    /// The file of a rule, by its place among the portions, and where it stands there.
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

    /// A URI that the pattern matches and a client can ask for: the shortest.
    fn example(&self, abnormal: &[Hir]) -> Option<Vec<u8>> {
        if let Some(literal) = syntax::literal(&self.pattern) {
            return Some(literal.stem.into_owned()).filter(|stem| is_plain_path(stem));
        }
        let translation = syntax::parse(&self.pattern).ok()?.translate();
        match language::witness(Question::Outside, &translation.hir, &refs(abnormal), &Limits::default()) {
            Witness::Found(uri) if is_plain_path(&uri) => Some(uri),
            _ => None,
        }
    }

    /// Whether the path of its target is the same for all that it matches; a literal matches but one.
    fn is_constant(&self) -> bool {
        let repeats = |part: &Part| matches!(part, Part::Capture(_)) || is_uri(part);
        syntax::literal(&self.pattern).is_some()
            || target::parse(&self.replacement).is_some_and(|target| !target.path.iter().any(repeats))
    }

    /// The path that the rule makes of `uri`, on the same site.
    fn target(&self, uri: &[u8], sites: &[Vec<u8>]) -> Option<Vec<u8>> {
        let target = target::parse(&self.replacement)?;
        let captures = if target.path.iter().any(|part| matches!(part, Part::Capture(_))) {
            Regex::new(&self.pattern).ok()?.captures(uri).ok()??
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
    matches!(part, Part::Variable(b"uri" | b"document_uri" | b"request_uri"))
}

/// The path of a URL, where that is a path of one of `sites` which a client asks for as it is written: plain bytes and no
/// segment of dots. Slashes are merged, as nginx does (`merge_slashes`).
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

/// Why no ordinary request fires a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Never {
    /// No `$uri` matches.
    Impossible,
    /// Only a `$uri` that still holds `%XX` does: one that the client encoded twice.
    Percent,
    /// Only a `$uri` that holds what looks like arguments: a `?` that the client encoded.
    Query,
}

/// Tells of a pattern whether a client's ordinary request can match it; `None` if it can, or if that is not known.
///
/// `$uri` is decoded and without arguments, and has no segment of dots (`ngx_http_parse_complex_uri`); with
/// `merge_slashes` it has no `//` either. Some 30 us.
pub fn never(pattern: &[u8], merge_slashes: bool) -> Option<Never> {
    let language = syntax::parse(pattern).ok()?.translate().hir;
    let nothing = |outside: &[Hir]| {
        language::witness(Question::Outside, &language, &refs(outside), &Limits::default()) == Witness::Nothing
    };
    let abnormal = abnormal(merge_slashes);
    let with = |more: &[u8]| [abnormal.clone(), vec![read(more)]].concat();
    if nothing(&abnormal) {
        Some(Never::Impossible)
    } else if nothing(&with(b"%[0-9A-Fa-f][0-9A-Fa-f]")) {
        Some(Never::Percent)
    } else if nothing(&with(b"[?][^=]*=")) {
        Some(Never::Query)
    } else {
        None
    }
}

/// What a normalised URI never holds.
fn abnormal(merge_slashes: bool) -> Vec<Hir> {
    let dots = read(br"/\.\.?(?:/|\z)");
    if merge_slashes { vec![read(b"//"), dots] } else { vec![dots] }
}

fn read(pattern: &[u8]) -> Hir {
    syntax::parse(pattern).expect("a pattern of our own").translate().hir
}

fn refs(languages: &[Hir]) -> Vec<&Hir> {
    languages.iter().collect()
}

/// The rewrites in `ranges` whose pattern is worth a closer look: all but those that begin with `^/` and a word and
/// hold none of what looks like a misunderstanding. Linear, a few ns a byte.
pub fn odd(bytes: &[u8], ranges: &[Range<usize>]) -> Result<Vec<Range<usize>>, Unreadable> {
    let sections: Vec<_> = ranges.iter().map(|range| vec![range.clone()]).collect();
    let program = program::read(bytes, &sections)?;
    let rules = program.runs.iter().flat_map(|run| &run.rules);
    let mut found: Vec<_> =
        rules.filter(|rule| is_odd(&rule.pattern, &rule.replacement)).map(|rule| rule.span.clone()).collect();
    found.extend(program.barriers.iter().map(|barrier| barrier.span.clone()));
    found.sort_unstable_by_key(|span| span.start);
    Ok(found)
}

fn is_odd(pattern: &[u8], replacement: &[u8]) -> bool {
    let starts_plainly =
        matches!(pattern, [b'^', b'/', b'$'] | [b'^', b'/', b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9', ..]);
    !starts_plainly || has_odd_pair(pattern) || has_idle_tail(pattern, replacement)
}

/// `%`, `//`, `/*`, `\?`, and `?` behind a letter and before one (`php?id=`).
fn has_odd_pair(pattern: &[u8]) -> bool {
    pattern.contains(&b'%')
        || pattern.windows(3).any(|three| match three {
            [b'/', b'/' | b'*', _] | [_, b'/', b'/' | b'*'] | [b'\\', b'?', _] | [_, b'\\', b'?'] => true,
            [before, b'?', after] => is_word(*before) && is_word(*after),
            _ => false,
        })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/' | b'.')
}

/// `.*` at the end that nothing repeats.
fn has_idle_tail(pattern: &[u8], replacement: &[u8]) -> bool {
    let body = pattern.strip_suffix(b"$").unwrap_or(pattern);
    if body.ends_with(b".*)") {
        return !replacement.windows(2).any(|pair| pair[0] == b'$' && pair[1].is_ascii_digit());
    }
    body.ends_with(b".*")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Script {
        let whole = std::iter::once(0..text.len()).collect();
        Script::read(&[(text.as_bytes(), whole)]).ok().expect("rewrites")
    }

    fn step(text: &str, uri: &str) -> Option<(usize, Option<String>)> {
        let sites = [Vec::new(), b"https://a.test".to_vec()];
        let step = script(text).step(uri.as_bytes(), &sites)?;
        Some((step.rule, step.to.map(|to| String::from_utf8(to).unwrap())))
    }

    /// The order of the rules decides, be they literals or not; a target is a path of the site or nothing.
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

    /// A hop is told of a rule that answers its own URI; a rule without a flag ends the script.
    #[test]
    fn hops() {
        let script = script(
            "rewrite ^/a$ /b permanent; rewrite ^/b$ /c last; rewrite ^/a$ /d permanent; rewrite ^/e$ /x permanent;
             rewrite ^/n$ /m; rewrite ^/x$ /y permanent;",
        );
        let sites = [Vec::new()];
        let found: Vec<_> = script.hops(&sites, true).into_iter().map(|hop| (hop.rule, hop.next)).collect();
        assert_eq!(found, [(0, Some(1))]);
        assert_eq!(script.hops(&sites, false).len(), 2);
        assert!(!script.is_whole);
        assert_eq!(script.len(), 4);
    }

    /// What no request matches, and what some request does.
    #[test]
    fn nevers() {
        assert_eq!(never(b"^old.html$", true), Some(Never::Impossible));
        assert_eq!(never(b"^/a//b$", true), Some(Never::Impossible));
        assert_eq!(never(b"^/a//b$", false), None);
        assert_eq!(never(b"^/a/../b$", true), None, "a dot is any byte");
        assert_eq!(never(br"^/a/\.\./b$", true), Some(Never::Impossible));
        assert_eq!(never(b"^/a%20b$", true), Some(Never::Percent));
        assert_eq!(never(b"^/a(%20| )b$", true), None);
        assert_eq!(never(br"^/i\.php\?id=1$", true), Some(Never::Query));
        assert_eq!(never(br"^/what\?$", true), None);
        assert_eq!(never(b"^/100%$", true), None);
    }

    /// Ordinary rules are passed over.
    #[test]
    fn odd_ones() {
        let odd = |pattern: &str, replacement: &str| is_odd(pattern.as_bytes(), replacement.as_bytes());
        for pattern in ["^/a$", "^/$", r"^/a\.html$", "^/a/?$", "^/a", "^/a/(b|c)$", "^/a/(.*)$"] {
            assert!(!odd(pattern, "/x$1"), "{pattern}");
        }
        for pattern in
            ["^a$", "/a", "^/", "^", "^/(.*)$", "^/a%20b$", r"^/a\?b", "^/a//b", "^/a.php?id=1", "^/a.*", "^/*.x"]
        {
            assert!(odd(pattern, "/x$1"), "{pattern}");
        }
        assert!(odd("^/a/(.*)$", "/x"));
    }
}
