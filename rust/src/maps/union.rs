//! Writes one pattern that matches a subject if one of several patterns does.
//!
//! The patterns are split into items, such as a byte, a class or a repetition. PCRE tries the branches of a pattern one
//! after the other, so common beginnings of items are written only once. No group captures.

use crate::maps::pattern::class;
use crate::pattern_text::escape;
use crate::syntax::{Ast, ByteSet};
use crate::work::spend;

/// The most copies of a letter in both cases that are written one by one, because PCRE2 10.34 to 10.39 read `[Aa]{2}`
/// wrongly.
const MOST_COPIES: u32 = 8;

/// The items of a branch, in the order in which they match.
type Items = Vec<Ast>;

/// The items of each branch of a pattern. A search for one of the branches finds a match whenever a search for the
/// pattern does.
pub fn branches(ast: &Ast) -> Vec<Items> {
    match ast {
        Ast::Alternation(branches) => branches.iter().flat_map(self::branches).collect(),
        Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => branches(sub),
        ast => {
            let mut items = Items::new();
            flatten(ast, &mut items);
            vec![searched(items)]
        }
    }
}

/// The `^` and the single bytes and sets that each branch of a pattern begins with, up to the first of a repetition.
/// `None` if a branch has no `^`, or fewer than two bytes and sets after it.
pub fn head(ast: &Ast) -> Option<Vec<Items>> {
    let head = |items: Items| {
        let length = 1 + items.iter().skip(1).take_while(|item| matches!(item, Ast::Byte(_) | Ast::Class(_))).count();
        let mut head = items[..length.min(items.len())].to_vec();
        if let Some(Ast::Repeat { min: 1.., sub, .. }) = items.get(length)
            && matches!(**sub, Ast::Byte(_) | Ast::Class(_))
        {
            head.push((**sub).clone());
        }
        (head.len() > 2 && head[0] == Ast::Start).then_some(head)
    };
    branches(ast).into_iter().map(head).collect()
}

/// The pattern; `None` for no branches.
pub fn union(branches: &[Items]) -> Option<Vec<u8>> {
    of(branches, false)
}

/// As [`union`], with what all branches end in written only once, where that makes the pattern much shorter.
pub fn union_with_ends(branches: &[Items]) -> Option<Vec<u8>> {
    of(branches, true)
}

fn of(branches: &[Items], joins_ends: bool) -> Option<Vec<u8>> {
    let branches: Vec<&[Ast]> = branches.iter().map(Vec::as_slice).collect();
    let folded = branches.iter().all(|items| items.iter().all(ignores_case));
    let mut out =
        if folded && branches.iter().any(|items| items.iter().any(has_letter)) { b"(?i)".to_vec() } else { Vec::new() };
    let has_items = branches.iter().all(|items| !items.is_empty()) && !branches.is_empty();
    has_items.then(|| {
        Writer { folded }.alternatives(&branches, Place { is_top: true, is_last: true, joins_ends }, &mut out);
        out
    })
}

/// Writes items one after the other. If `folded`, PCRE ignores case, and so do the items.
pub fn write_items(items: &[Ast], folded: bool, out: &mut Vec<u8>) {
    items.iter().for_each(|item| Writer { folded }.item(item, out));
}

/// The items of a pattern in order, those in groups included.
fn flatten(ast: &Ast, items: &mut Items) {
    match ast {
        Ast::Empty => {}
        Ast::Concat(parts) => parts.iter().for_each(|part| flatten(part, items)),
        Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => flatten(sub, items),
        Ast::Alternation(branches) => items.push(Ast::Alternation(branches.iter().map(plain).collect())),
        Ast::Repeat { min: 1, max: Some(1), sub, .. } => flatten(sub, items),
        Ast::Repeat { min, max, sub, .. } => {
            items.push(Ast::Repeat { min: *min, max: *max, greedy: true, sub: Box::new(plain(sub)) });
        }
        Ast::Class(set) if set.len() == 1 => items.extend(set.iter().map(Ast::Byte)),
        single => items.push(single.clone()),
    }
}

/// A pattern without groups.
fn plain(ast: &Ast) -> Ast {
    let mut items = Items::new();
    flatten(ast, &mut items);
    if items.len() == 1 { items.remove(0) } else { Ast::Concat(items) }
}

/// Shortens repetitions at both ends to their least number of rounds. A search finds a match with or without the rest.
fn searched(mut items: Items) -> Items {
    while let Some(Ast::Repeat { min, .. }) = items.last() {
        let least = *min;
        if let Some(Ast::Repeat { sub, .. }) = items.pop() {
            repeated(least, &sub, &mut items);
        }
        if least > 1 {
            break;
        }
    }
    while let Some(Ast::Repeat { min, sub, .. }) = items.first() {
        let (least, mut first) = (*min, Items::new());
        repeated(least, sub, &mut first);
        items.splice(..1, first);
        if least > 1 {
            break;
        }
    }
    items
}

/// Adds the least number of rounds of a repetition.
fn repeated(rounds: u32, sub: &Ast, items: &mut Items) {
    match rounds {
        0 => {}
        1 => flatten(sub, items),
        rounds => items.push(Ast::Repeat { min: rounds, max: Some(rounds), greedy: true, sub: Box::new(sub.clone()) }),
    }
}

/// Whether an item matches the same if PCRE ignores case.
pub fn ignores_case(ast: &Ast) -> bool {
    match ast {
        Ast::Byte(byte) => !byte.is_ascii_alphabetic(),
        Ast::Class(set) => *set == set.fold(),
        Ast::Concat(items) | Ast::Alternation(items) => items.iter().all(ignores_case),
        Ast::Repeat { sub, .. } | Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => ignores_case(sub),
        _ => true,
    }
}

fn has_letter(ast: &Ast) -> bool {
    match ast {
        Ast::Class(set) => letter(set).is_some(),
        Ast::Concat(items) | Ast::Alternation(items) => items.iter().any(has_letter),
        Ast::Repeat { sub, .. } | Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => has_letter(sub),
        _ => false,
    }
}

/// The letter in lower case, if a set has just both cases of one letter.
pub fn letter(set: &ByteSet) -> Option<u8> {
    let first = set.iter().next().filter(u8::is_ascii_alphabetic)?;
    (*set == ByteSet::one(first).fold()).then_some(first.to_ascii_lowercase())
}

/// Fewer bytes are not saved by joining the ends of branches.
const FEWEST_SAVED: usize = 64;

/// The length of what all branches end in.
fn common_end(branches: &[&[Ast]]) -> usize {
    let Some((first, others)) = branches.split_first() else { return 0 };
    spend(branches.len());
    others.iter().fold(first.len(), |length, other| {
        first.iter().rev().zip(other.iter().rev()).take(length).take_while(|(one, other)| one == other).count()
    })
}

/// Where branches stand in a pattern.
#[derive(Clone, Copy)]
struct Place {
    /// Not in a group.
    is_top: bool,
    /// Nothing follows them.
    is_last: bool,
    /// What all of them end in may be written once.
    joins_ends: bool,
}

struct Writer {
    /// Whether PCRE ignores case.
    folded: bool,
}

impl Writer {
    /// Writes branches that all begin at the same place.
    fn alternatives(&self, branches: &[&[Ast]], place: Place, out: &mut Vec<u8>) {
        let may_end = branches.iter().any(|branch| branch.is_empty());
        // One branch ends here. The others need not be written: where they match, it does, too.
        if may_end && place.is_last {
            return;
        }
        let mut groups: Vec<(&Ast, Vec<&[Ast]>)> = Vec::new();
        for branch in branches.iter().filter(|branch| !branch.is_empty()) {
            spend(1 + groups.len());
            match groups.iter_mut().find(|(first, _)| **first == branch[0]) {
                Some((_, group)) => group.push(&branch[1..]),
                None => groups.push((&branch[0], vec![&branch[1..]])),
            }
        }
        if groups.len() > 1 && place.joins_ends && self.joined(branches, place, out) {
            return;
        }
        let is_group = (groups.len() > 1 && !place.is_top) || (may_end && !groups.is_empty());
        if is_group {
            out.extend_from_slice(b"(?:");
        }
        for (number, (first, rest)) in groups.iter().enumerate() {
            if number > 0 {
                out.push(b'|');
            }
            self.item(first, out);
            self.alternatives(rest, Place { is_top: false, ..place }, out);
        }
        if is_group {
            out.extend_from_slice(if may_end { b"|)" } else { b")" });
        }
    }

    /// Writes branches with their common end once. Returns whether that saves much; otherwise nothing is written.
    fn joined(&self, branches: &[&[Ast]], place: Place, out: &mut Vec<u8>) -> bool {
        let length = common_end(branches);
        let mut end = Vec::new();
        branches[0][branches[0].len() - length..].iter().for_each(|item| self.item(item, &mut end));
        if (branches.len() - 1) * end.len() < FEWEST_SAVED {
            return false;
        }
        let before: Vec<&[Ast]> = branches.iter().map(|branch| &branch[..branch.len() - length]).collect();
        self.alternatives(&before, Place { is_top: false, is_last: false, ..place }, out);
        out.extend_from_slice(&end);
        true
    }

    fn item(&self, ast: &Ast, out: &mut Vec<u8>) {
        match ast {
            Ast::Empty => {}
            Ast::Byte(byte) => escape(*byte, out),
            Ast::Class(set) => match letter(set).filter(|_| self.folded) {
                Some(letter) => out.push(letter),
                None if set.complement() == ByteSet::one(b'\n') => out.push(b'.'),
                None => class(set, out),
            },
            Ast::Concat(items) => items.iter().for_each(|item| self.item(item, out)),
            Ast::Alternation(branches) => self.group(branches, out),
            Ast::Repeat { min, max, sub, .. } => self.repeat(*min, *max, sub, out),
            Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => self.item(sub, out),
            Ast::Start => out.push(b'^'),
            Ast::Dollar => out.push(b'$'),
            Ast::End => out.extend_from_slice(b"\\z"),
            Ast::WordBoundary => out.extend_from_slice(b"\\b"),
            Ast::NotWordBoundary => out.extend_from_slice(b"\\B"),
        }
    }

    fn group(&self, branches: &[Ast], out: &mut Vec<u8>) {
        out.extend_from_slice(b"(?:");
        for (number, branch) in branches.iter().enumerate() {
            if number > 0 {
                out.push(b'|');
            }
            self.item(branch, out);
        }
        out.push(b')');
    }

    fn repeat(&self, min: u32, max: Option<u32>, sub: &Ast, out: &mut Vec<u8>) {
        let is_letter = matches!(sub, Ast::Class(set) if letter(set).is_some());
        if is_letter && max == Some(min) && min <= MOST_COPIES {
            return (0..min).for_each(|_| self.item(sub, out));
        }
        match sub {
            Ast::Byte(_) | Ast::Class(_) => self.item(sub, out),
            sub => self.group(std::slice::from_ref(sub), out),
        }
        let quantifier = match (min, max) {
            (0, None) => "*".to_owned(),
            (1, None) => "+".to_owned(),
            (0, Some(1)) => "?".to_owned(),
            (min, None) => format!("{{{min},}}"),
            (min, Some(max)) if min == max => format!("{{{min}}}"),
            (min, Some(max)) => format!("{{{min},{max}}}"),
        };
        out.extend_from_slice(quantifier.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::{branches, head, union, union_with_ends};
    use crate::language::{Limits, Question, Subjects, Witness, witness_among};
    use crate::syntax::{Hir, parse};

    fn branches_of(patterns: &[&str]) -> Vec<super::Items> {
        patterns.iter().flat_map(|pattern| branches(&parse(pattern.as_bytes()).unwrap().ast)).collect()
    }

    fn text(patterns: &[&str]) -> String {
        String::from_utf8(union(&branches_of(patterns)).unwrap()).unwrap()
    }

    fn with_ends(patterns: &[&str]) -> String {
        String::from_utf8(union_with_ends(&branches_of(patterns)).unwrap()).unwrap()
    }

    /// Common beginnings are written once, and what may be empty at the ends is left out.
    #[test]
    fn forms() {
        assert_eq!(text(&["^/a/(.*)$", "^/a/b", "^/c/([0-9]+)"]), r"^/(?:a/(?:.*$|b)|c/[0-9])");
        assert_eq!(text(&["(?i)bot", "(?i)(Bat|cow)$"]), "(?i)bot|(?:bat|cow)$");
        assert_eq!(text(&["(.*)x/(.*)", r"index\.php$", "^/b"]), r"x/|index\.php$|^/b");
        assert_eq!(text(&["^/(?:ab){2,3}(c|d)?", "^/[Aa]+b"]), "^/(?:(?:ab){2}|[Aa]+b)");
        let head_of = |pattern: &str| head(&parse(pattern.as_bytes()).unwrap().ast).and_then(|heads| union(&heads));
        assert_eq!(head_of("^/a[bc](.*)/(.*)x$").unwrap(), b"^/a[bc]");
        assert_eq!(head_of(r"^/\d+/(\d+)x").unwrap(), b"^/[0-9]");
        assert!(head_of("/a").is_none() && head_of("^/(.*)/x").is_none() && head_of("^/[0-9]*x").is_none());
    }

    /// An end that all branches have is written once if that saves much, also where one of them has nothing else.
    #[test]
    fn ends() {
        let end = "/?(?:(?:classify|about)(?:/.+)?)?/?$";
        let all = ["^/p/ant", "^/p/ape", "^/p/ape-v1", "^/p/bee"].map(|start| format!("{start}{end}"));
        let patterns: Vec<&str> = all.iter().map(String::as_str).collect();
        assert_eq!(with_ends(&patterns), format!("^/p/(?:a(?:nt|pe(?:-v1|))|bee){end}"));
        assert_eq!(with_ends(&["^/a/x$", "^/b/x$"]), "^/(?:a/x$|b/x$)");
        let long = "-index-of-all-things-and-of-all-their-names-and-places-in-one.html$";
        assert_eq!(with_ends(&[&format!("x{long}"), &format!("y{long}")]), format!("(?:x|y){long}"));
        // A branch that is the end itself.
        assert_eq!(with_ends(&[&format!("^/a{long}"), &format!("^/a/b{long}")]), format!("^/a(?:/b|){long}"));
    }

    /// The union matches what the patterns match, and nothing else.
    #[test]
    fn languages() {
        for patterns in [
            &["^/a/(.*)$", "^/a/b", "^/c/([0-9]+)x"][..],
            &["(?i)bot", "(?i)(Bat|cow)$", r"(?i)x\.y"],
            &["(.*)x/(.*)", r"index\.php$", "^/b", r"\bz\B"],
            &["^/(?:ab){2,3}(c|d)?", "^/[Aa]+b", r"^/\d{3}\z", "^$"],
            &["^/n/?$", "^/n/([0-9]+)/?$", "^/n/c/(.*)/([0-9]+)/?$", "^/n/(a|b|)x"],
            &["^/n(/(first|second|third|fourth)/[0-9]+)?/and/?$", "^/n/m(/(first|second|third|fourth)/[0-9]+)?/and/?$"],
            &[
                "^/(first|second|third)/[0-9]+/and/?$",
                "^/a/(first|second|third)/[0-9]+/and/?$",
                "^/b/(first|second|third)/[0-9]+/and/?$",
            ],
        ] {
            let hir = |pattern: &str| parse(pattern.as_bytes()).unwrap().translate().hir;
            let all: Vec<Hir> = patterns.iter().map(|pattern| hir(pattern)).collect();
            let is_in = |language: &Hir, others: &[&Hir]| {
                let limits = Limits::default();
                witness_among(Subjects::All, Question::Outside, language, others, &limits) == Witness::Nothing
            };
            for text in [text(patterns), with_ends(patterns)] {
                let union = hir(&text);
                assert!(is_in(&union, &all.iter().collect::<Vec<_>>()), "{text}");
                assert!(all.iter().all(|hir| is_in(hir, &[&union])), "{text}");
            }
        }
    }
}
