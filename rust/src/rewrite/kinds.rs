//! Kinds of rules. The rules of a kind share one rewrite behind a lookup.
//!
//! They end the script in the same way, and their targets differ only in constant text. The lookup finds the kind and
//! the constant text of the rule that fires.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;

use crate::first_match::ReadPattern;
use crate::maps::writer::DIGITS;
use crate::pcre::Regex;
use crate::quote::{escape, quoted_length};
use crate::rewrite::candidate::MAX_TOKEN;
use crate::rewrite::look_up::{SMALLEST, group_size, write_look_up};
use crate::rewrite::runs::Rule;
use crate::rewrite::shared_pattern::with_any_segments;
use crate::rewrite::stop::write_stop;
use crate::rewrite::target::{self, Action, Part, Target};
use crate::rewrite::text::{GroupNames, quoted_pattern};
use crate::syntax::{Ast, Pattern};

/// The fewest rules for kinds. Fewer are easier to read in groups.
const FEWEST: usize = 100;

// The instructions that nginx 1.22.1 takes for an `if` that compares numbers, and to try a pattern.
const IF: usize = 157;
const PATTERN: usize = 460;

/// A rule that may belong to a kind.
pub struct KindRule<'r> {
    /// Its number among the rules of its run, from 1.
    pub number: usize,
    pub rule: &'r Rule<'r>,
    /// Its parsed pattern.
    pub pattern: &'r Pattern,
    pub statement: &'r [u8],
}

/// Rules by their kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// The rules in their order.
    rules: Vec<KnownRule>,
    statements: Vec<Statements>,
}

/// What the lookup finds for a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KnownRule {
    /// Its number, ascending.
    number: usize,
    /// The number of its kind, from 1.
    kind: usize,
    /// The constant text in its target that is not in the directive.
    target: Vec<u8>,
}

/// The statements of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Statements {
    Shared(SharedRewrite),
    /// The own statements of rules that share nothing.
    Own(Vec<Vec<u8>>),
}

/// The rewrite that the rules of a kind share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SharedRewrite {
    pattern: Cow<'static, [u8]>,
    action: Action,
    /// The target before and after the text that differs.
    before: Vec<u8>,
    after: Vec<u8>,
    is_mapped: bool,
}

impl Kinds {
    /// Divides rules into kinds. `None` if groups cost less. O(length of the rules).
    pub fn of(rules: &[KindRule], captures_matter: bool) -> Option<Kinds> {
        if rules.len() < FEWEST || !rules.is_sorted_by(|rule, next| rule.number < next.number) {
            return None;
        }
        let mut candidates = candidates(rules, captures_matter);
        // Candidates with the most rules come first. The sort is stable.
        candidates.sort_by_key(|candidate| Reverse(candidate.rules.len()));
        candidates.truncate(cheapest(rules.len(), candidates.iter().map(|candidate| candidate.rules.len()))?);
        let mut statements = Vec::new();
        let known = |rule: &KindRule| KnownRule { number: rule.number, kind: 0, target: Vec::new() };
        let mut known: Vec<KnownRule> = rules.iter().map(known).collect();
        for candidate in candidates {
            let rewrite = candidate.rewrite(rules);
            let is_mapped = rewrite.is_mapped;
            statements.push(Statements::Shared(rewrite));
            for (place, hole) in candidate.rules {
                known[place].kind = statements.len();
                if is_mapped {
                    known[place].target = rules[place].text(&hole).to_vec();
                }
            }
        }
        let own: Vec<usize> = (0..rules.len()).filter(|place| known[*place].kind == 0).collect();
        for block in own.chunks(group_size(own.len())) {
            statements.push(Statements::Own(block.iter().map(|place| rules[*place].statement.to_vec()).collect()));
            block.iter().for_each(|place| known[*place].kind = statements.len());
        }
        Some(Kinds { rules: known, statements })
    }

    /// The value of a rule in the map: its number, which shows the order of rules, its kind, and the constant text of
    /// its target.
    pub fn value(&self, place: usize) -> Vec<u8> {
        let KnownRule { number, kind, target } = &self.rules[place];
        [format!("{number:0DIGITS$} {kind} ").as_bytes(), target].concat()
    }

    /// The lookup and the statements behind it. `is_last`: they are the last of the script of a server.
    pub fn write(&self, names: &GroupNames, is_last: bool, text: &mut Vec<u8>) {
        let (kind, target) = (&names.kind, &names.target);
        write_look_up(&names.map, kind, &format!(r"(?s)^[0-9]+ (?<{kind}>[0-9]+) (?<{target}>.*)\z"), text);
        if is_last {
            write_stop(kind, self.statements.len(), text);
        }
        for (kind, statements) in (1..).zip(&self.statements) {
            push(text, format_args!("if (${} = {kind}) {{\n", names.kind));
            match statements {
                Statements::Shared(rewrite) => rewrite.write(names, text),
                Statements::Own(statements) => {
                    statements.iter().for_each(|own| text.extend_from_slice(&[b"    ", &own[..], b"\n"].concat()));
                }
            }
            text.extend_from_slice(b"}\n");
        }
    }
}

impl SharedRewrite {
    fn write(&self, names: &GroupNames, text: &mut Vec<u8>) {
        text.extend_from_slice(b"    rewrite ");
        match &*self.pattern {
            b"^" => text.push(b'^'),
            pattern => text.extend_from_slice(&quoted_pattern(pattern)),
        }
        text.extend_from_slice(b" \"");
        escape(&self.before, text);
        if self.is_mapped {
            push(text, format_args!("${}", names.target));
        }
        escape(&self.after, text);
        push(text, format_args!("\" {};\n", self.action.flag()));
    }
}

fn push(text: &mut Vec<u8>, arguments: std::fmt::Arguments) {
    text.write_fmt(arguments).expect("a vector takes all that is written");
}

impl<'r> KindRule<'r> {
    /// A part of the replacement.
    fn text(&self, hole: &Range<usize>) -> &'r [u8] {
        &self.rule.replacement[hole.clone()]
    }
}

/// Rules that may share a rewrite, by their places, each with the range of its replacement that may differ.
struct Candidate<'r> {
    shared: Shared<'r>,
    rules: Vec<(usize, Range<usize>)>,
}

impl Candidate<'_> {
    /// The rewrite that the rules share. If all their targets are the same, it has the whole target.
    fn rewrite(&self, rules: &[KindRule]) -> SharedRewrite {
        let Shared { pattern, action, before, after } = self.shared.clone();
        let mut texts = self.rules.iter().map(|(place, hole)| rules[*place].text(hole));
        let first = texts.next().unwrap_or_default();
        let is_mapped = texts.any(|text| text != first);
        let before = if is_mapped { before.to_vec() } else { [before, first].concat() };
        SharedRewrite { pattern, action, before, after: after.to_vec(), is_mapped }
    }
}

/// Finds the rewrites that enough rules may share.
fn candidates<'r>(rules: &[KindRule<'r>], captures_matter: bool) -> Vec<Candidate<'r>> {
    let mut candidates: Vec<Candidate<'r>> = Vec::new();
    let mut known: HashMap<Shared<'r>, usize> = HashMap::new();
    for (place, rule) in rules.iter().enumerate() {
        let Some((shared, hole)) = Shared::of(rule, captures_matter) else { continue };
        let at = *known.entry(shared).or_insert_with_key(|shared| {
            candidates.push(Candidate { shared: shared.clone(), rules: Vec::new() });
            candidates.len() - 1
        });
        candidates[at].rules.push((place, hole));
    }
    candidates.retain(|candidate| candidate.rules.len() >= SMALLEST && answers(&candidate.shared.pattern));
    candidates
}

/// Whether PCRE never gives up on a pattern.
fn answers(pattern: &[u8]) -> bool {
    ReadPattern::of(pattern).is_some_and(|read| read.bounds.always_answers) && Regex::new(pattern).is_ok()
}

/// What a rule may share with others.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Shared<'r> {
    pattern: Cow<'static, [u8]>,
    action: Action,
    before: &'r [u8],
    after: &'r [u8],
}

impl<'r> Shared<'r> {
    /// Returns what other rules may share with a rule, and the range of its replacement in which they may differ.
    fn of(rule: &KindRule<'r>, captures_matter: bool) -> Option<(Shared<'r>, Range<usize>)> {
        let replacement: &'r [u8] = &rule.rule.replacement;
        let target = target::parse(replacement).filter(|_| quoted_length(replacement) <= MAX_TOKEN)?;
        let reads = captures_matter || target.parts().any(|part| matches!(part, Part::Capture(_)));
        let pattern = pattern(rule, reads)?;
        let hole = hole(&target);
        let (before, after) = (&replacement[..hole.start], &replacement[hole.end..]);
        Some((Shared { pattern, action: rule.rule.action, before, after }, hole))
    }
}

/// Returns a pattern that other rules may share. It captures the same as the rule's pattern, as far as captures are
/// read.
fn pattern(rule: &KindRule, reads_captures: bool) -> Option<Cow<'static, [u8]>> {
    if rule.pattern.named {
        return None;
    }
    if rule.pattern.captures == 0 || !reads_captures {
        return Some(Cow::Borrowed(b"^"));
    }
    let is_sequence = !matches!(rule.pattern.ast, Ast::Alternation(_));
    with_any_segments(&rule.rule.pattern).filter(|_| is_sequence).map(Cow::Owned)
}

/// Returns the range, in the replacement, of the first constant text of the path after a scheme and host. Empty if
/// there is none.
fn hole(target: &Target) -> Range<usize> {
    let mut at = 0;
    for part in &target.path {
        let length = part.length();
        let start = match part {
            Part::Text(text) => authority(text),
            Part::Variable { .. } | Part::Capture(_) => length,
        };
        if start < length {
            return at + start..at + length;
        }
        at += length;
    }
    at..at
}

/// The length of the scheme and host that a text begins with. A variable before the text may be the scheme.
fn authority(text: &[u8]) -> usize {
    let scheme = [&b"http://"[..], b"https://", b"://"].into_iter().find(|scheme| text.starts_with(scheme));
    scheme.map_or(0, |scheme| memchr::memchr(b'/', &text[scheme.len()..]).map_or(text.len(), |at| scheme.len() + at))
}

/// Returns how many kinds should get a shared rewrite so that requests cost least, on average over a request that no
/// rule matches and one that any rule matches. The kinds with the most rules come first. `None` if groups cost less.
fn cheapest(rules: usize, kinds: impl Iterator<Item = usize>) -> Option<usize> {
    let cost = |number: usize, shared: usize| {
        let (own, size) = (rules - shared, group_size(rules - shared));
        let compared = IF * (number + own.div_ceil(size));
        2 * compared + (shared * PATTERN + own * PATTERN * size / 2) / rules
    };
    let size = group_size(rules);
    let groups = 2 * IF * rules.div_ceil(size) + PATTERN * size / 2;
    let shared = kinds.scan(0, |sum, rules| {
        *sum += rules;
        Some(*sum)
    });
    let costs = shared.enumerate().map(|(at, shared)| (cost(at + 1, shared), at + 1));
    costs.min().filter(|(cost, _)| *cost < groups).map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax;

    /// Calls `test` with rules of these texts.
    fn with_rules<R>(rules: &[(String, String, Action)], test: impl FnOnce(&[KindRule]) -> R) -> R {
        let rule = |(pattern, replacement, action): &(String, String, Action)| Rule {
            span: 0..0,
            pattern: Cow::Owned(pattern.clone().into_bytes()),
            replacement: Cow::Owned(replacement.clone().into_bytes()),
            action: *action,
        };
        let rules: Vec<Rule> = rules.iter().map(rule).collect();
        let patterns: Vec<Pattern> = rules.iter().map(|rule| syntax::parse(&rule.pattern).unwrap()).collect();
        let rules: Vec<KindRule> = (1..)
            .zip(rules.iter().zip(&patterns))
            .map(|(number, (rule, pattern))| KindRule { number, rule, pattern, statement: b"own;" })
            .collect();
        test(&rules)
    }

    /// What is shared with a rule: pattern, target before and after what differs, and that.
    fn shared(pattern: &str, replacement: &str, captures_matter: bool) -> Option<[String; 4]> {
        with_rules(&[(pattern.to_owned(), replacement.to_owned(), Action::Permanent)], |rules| {
            let (shared, hole) = Shared::of(&rules[0], captures_matter)?;
            let texts = [&shared.pattern, shared.before, shared.after, rules[0].text(&hole)];
            Some(texts.map(|text| String::from_utf8(text.to_vec()).unwrap()))
        })
    }

    /// The text that may differ is the first constant text of the path, after scheme and host.
    #[test]
    fn targets() {
        for (replacement, before, hole, after) in [
            ("/a/1", "", "/a/1", ""),
            ("/a/1?", "", "/a/1", "?"),
            ("/a?x=1", "", "/a", "?x=1"),
            ("/a/$host/b", "", "/a/", "$host/b"),
            ("https://h/a", "https://h", "/a", ""),
            ("https://h", "https://h", "", ""),
            ("https://h?a", "https://h", "", "?a"),
            ("https://$host/a$uri", "https://$host", "/a", "$uri"),
            ("$scheme://h/a", "$scheme://h", "/a", ""),
            ("$scheme://$host/a", "$scheme://$host", "/a", ""),
            ("${scheme}$uri", "${scheme}$uri", "", ""),
            ("http:/a", "", "http:/a", ""),
        ] {
            let expected = ["^", before, after, hole].map(str::to_owned);
            assert_eq!(shared("^/a", replacement, true), Some(expected), "{replacement}");
        }
    }

    /// A pattern stands for others as far as their captures are read.
    #[test]
    fn patterns() {
        let pattern = |own, replacement, matters| shared(own, replacement, matters).map(|[pattern, ..]| pattern);
        for (own, replacement, matters, expected) in [
            ("(?i)/a|b", "/c", true, Some("^")),
            ("^/a/(x)", "/c", false, Some("^")),
            ("^/a/(x)", "/c", true, Some("^/[^/]*/(x)")),
            ("^/a/(x)", "/c?$1", false, Some("^/[^/]*/(x)")),
            ("^/a(x)/(y)", "/c", true, Some("^/a(x)/(y)")),
            ("^/a/(x)|^/b/(y)", "/c", true, None),
            ("(?i)^/a/(x)", "/c", true, None),
            ("/a/(x)", "/c", true, None),
            ("^/a/(?<n>x)", "/c", false, None),
        ] {
            assert_eq!(pattern(own, replacement, matters).as_deref(), expected, "{own} {replacement}");
        }
    }

    /// Kinds of a list: the statements, and how many rules have a target of their own.
    fn kinds(rules: &[(String, String, Action)]) -> Option<(String, usize)> {
        let kinds = with_rules(rules, |rules| Kinds::of(rules, true))?;
        let mut text = Vec::new();
        let names = crate::rewrite::text::Names::unknown().of_groups(1);
        kinds.write(&names, false, &mut text);
        let text = String::from_utf8(text).unwrap().replace(crate::rewrite::text::UNKNOWN_STEM, "m");
        Some((text, kinds.rules.iter().filter(|rule| !rule.target.is_empty()).count()))
    }

    fn list(count: usize, target: impl Fn(usize) -> (String, Action)) -> Vec<(String, String, Action)> {
        (0..count).map(|number| (format!("^/a/{number}/(.*)$"), target(number).0, target(number).1)).collect()
    }

    /// Rules of a kind differ in the map of targets only; few rules stay in groups.
    #[test]
    fn of_a_list() {
        let rules = list(FEWEST, |number| (format!("/to/{number}/$1"), Action::Last));
        let expected = concat!(
            "set $m_kind \"\";\n",
            "# A `set` would look it up twice: for the length, and for the text.\n",
            r#"if ($m_pattern ~ "(?s)^[0-9]+ (?<m_kind>[0-9]+) (?<m_target>.*)\z") {"#,
            "\n}\nif ($m_kind = 1) {\n",
            r#"    rewrite "^/[^/]*/[^/]*/(.*)$" "$m_target$1" last;"#,
            "\n}\n"
        );
        assert_eq!(kinds(&rules), Some((expected.to_owned(), FEWEST)));
        assert_eq!(kinds(&rules[1..]), None);
        let same = list(FEWEST, |_| ("/to/$1".to_owned(), Action::Last));
        assert_eq!(kinds(&same), Some((expected.replace("$m_target$", "/to/$"), 0)));
    }

    /// Kinds of few rules, and those beyond what pays, have no rewrite of their own.
    #[test]
    fn few() {
        let hosts = |kinds: usize| {
            list(kinds * FEWEST, move |number| (format!("https://{}/{number}", number % kinds), Action::Permanent))
        };
        let (text, targets) = kinds(&hosts(3)).unwrap();
        assert_eq!((text.matches("if ($m_kind").count(), targets), (3, 3 * FEWEST));
        let with_others = |others: usize| {
            let mut rules = hosts(1);
            rules.extend(list(others, |number| (format!("/to/{number}"), Action::Last)));
            let (text, targets) = kinds(&rules).unwrap();
            (text.matches("own;").count(), targets - FEWEST)
        };
        assert_eq!(with_others(SMALLEST - 1), (SMALLEST - 1, 0));
        assert_eq!(with_others(SMALLEST), (0, SMALLEST));
        let rare = |number: usize| (format!("https://{}/{number}", number / SMALLEST), Action::Permanent);
        assert_eq!(kinds(&list(100 * FEWEST, rare)), None);
    }
}
