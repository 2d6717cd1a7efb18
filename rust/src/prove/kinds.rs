//! Proves rules behind a look-up that share a rewrite: `set $rule $pattern; set $kind $kinds;` and one `if ($kind = K)`
//! for each kind of rules, with a map of `$rule` for what differs in their targets.
//!
//! # Lemma
//!
//! Let r1..rn be some rules of a sequence of the original in its order, and let `$pattern` be, for each URI u, the
//! place in it of the first that matches u, or empty if none does. Let `$kinds` map each of these places to a kind, and
//! let there be one `if` for each kind: with its rules as they are, in order, or with a rewrite S. Let S end the script
//! as each rule r of its kind does, with the same target once the maps of `$rule` in that of S are replaced by their
//! values for r, and let S capture on each u that r matches what r does. Then the statements do with every u what
//! r1..rn do.
//!
//! *Proof.* PCRE answers for each rule on each URI, which is checked. If none matches u, no `if` is entered, as
//! `$kinds` is empty. Else let r be the first that does: only the `if` of its kind is entered. If that has the rules of
//! the kind, those before r do not match u, and r fires. Else S fires: it matches u, its maps have no patterns, so that
//! they leave the captures, and their values for r have no variables: it writes what r writes. For *captures*, either
//! of two is checked:
//!
//! - S has the pattern `^`, and r has no group; or r has groups without names, whose text nothing reads.
//! - The pattern of r is `^PR`, where P is literal text that begins with a slash and ends with its k-th, and that of S
//!   is `^/[^/]*/...[^/]*/R`, with k slashes before R. R does not begin with a quantifier, and no `|` is outside of
//!   groups. As u begins with P, and `[^/]*/` ends at the next slash, both try R on the same subject from the same
//!   place, with the same numbers of groups and no flags: it matches there in the same way. Nothing in R depends on how
//!   its place was reached: [`crate::syntax`] refuses what does.
//!
//! In a location, a true `if` does more than run its statements; [`surroundings`](super::surroundings) decides for
//! which rules this does not matter.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::first_match::{ReadPattern, ReadPatterns};
use crate::map_block::MapBlock;
use crate::phase::Entering;
use crate::prove::align::Known;
use crate::prove::groups::{Replaced, Trees, number};
use crate::prove::node::Node;
use crate::prove::target::Target;
use crate::prove::{Discharged, Facts, Refutation, names, surroundings};
use crate::syntax::{Ast, Pattern};

/// A look-up of the number of a rule, and of the kind of that.
pub struct KindLookUp<'l, 't> {
    trees: &'l Trees<'t>,
    /// The variable that holds the number of the rule.
    rule: &'t [u8],
    root: &'l MapBlock<'t>,
    /// The variable that holds its kind.
    kind: &'t [u8],
    kinds: &'l MapBlock<'t>,
}

/// What a map has for the numbers of rules.
type Values<'l> = BTreeMap<usize, &'l [u8]>;

/// A rule of the original, by its number and kind.
struct Numbered<'l, 't> {
    node: &'t Node<'t>,
    number: usize,
    kind: &'l [u8],
}

impl<'l, 't> KindLookUp<'l, 't> {
    /// The look-up of `rule` in `root`, if the next statement looks up its kind.
    pub fn of(
        trees: &'l Trees<'t>,
        (rule, root): (&'t [u8], &'l MapBlock<'t>),
        next: Option<&&'t Node<'t>>,
    ) -> Option<KindLookUp<'l, 't>> {
        let (kind, value) = next?.sets()?;
        let kinds = trees.by_name.get(value.strip_prefix(b"$")?).filter(|kinds| is_of(kinds, rule))?;
        Some(KindLookUp { trees, rule, root, kind, kinds })
    }

    /// The rules that the statements behind the look-up stand for: of the first sequence in `original` that they fit,
    /// which then begins with it.
    pub fn replaced(
        &self,
        rest: &[&'t Node<'t>],
        known: &Known,
        entering: Entering,
        original: &mut &[&'t Node<'t>],
    ) -> Discharged<Replaced<'t>> {
        let blocks: Vec<_> = rest[1..].iter().map_while(|node| Some((number(node, self.kind)?, *node))).collect();
        let statements = || blocks.iter().flat_map(|(_, block)| block.block.iter().flatten());
        statements().try_for_each(|statement| surroundings::check(entering, statement))?;
        self.trees.check_variable(self.kind, known)?;
        if self.kind == self.rule {
            return Err(Refutation::new("the number of a rule and its kind have one variable"));
        }
        let kinds = values(self.kinds, self.rule)?;
        let maps = self.maps(statements())?;
        self.check_groups(maps.keys().copied())?;
        let blocks_of = by_kind(&blocks)?;
        let (facts, captures_matter) = (known.facts, known.captures_matter);
        let check = Check { look_up: self, facts, captures_matter, kinds, maps, blocks: blocks_of };
        let mut refuted = None;
        while let Some(start) = original.iter().position(|node| node.is_rule()) {
            *original = &original[start..];
            let length = original.iter().take_while(|node| node.is_rule()).count();
            match check.sequence(&original[..length]) {
                Ok(rules) => return Ok(Replaced { rules, length: 1 + blocks.len() }),
                Err(refutation) => refuted.get_or_insert(refutation),
            };
            *original = &original[length..];
        }
        Err(refuted.unwrap_or_else(no_such_rule))
    }

    /// The maps of the number of the rule that rewrites have in their targets.
    fn maps<'n>(&self, rewrites: impl Iterator<Item = &'n Node<'n>>) -> Discharged<HashMap<&'l [u8], Values<'l>>> {
        let mut maps = HashMap::new();
        for target in rewrites.filter_map(|node| Target::read(node.word(2), node.flag())) {
            for name in target.variables() {
                let Some((name, map)) = self.trees.by_name.get_key_value(name) else { continue };
                if maps.contains_key(&**name) {
                    continue;
                }
                let values = values(map, self.rule)?;
                if values.values().any(|value| value.contains(&b'$')) {
                    return Err(Refutation::new("a target of a kind of rules has a variable in a map"));
                }
                maps.insert(&**name, values);
            }
        }
        Ok(maps)
    }

    /// Checks that no pattern of the maps has a group with the name of a variable: nginx would set that, and lose the
    /// map (`ngx_http_regex_compile`).
    fn check_groups(&self, maps: impl Iterator<Item = &'l [u8]>) -> Discharged<()> {
        let own: Vec<&[u8]> = [self.rule, self.kind, &self.kinds.variable].into_iter().chain(maps).collect();
        let patterns = self.trees.by_name.values().flat_map(|block| &block.patterns);
        let mut groups = patterns.flat_map(|row| names::of_groups(&row.pattern));
        if groups.any(|group| own.iter().any(|name| group.eq_ignore_ascii_case(name))) {
            return Err(Refutation::new("a group in a map has the name of a variable of a kind of rules"));
        }
        Ok(())
    }
}

/// The statements of each kind.
fn by_kind<'t>(blocks: &[(&'t [u8], &'t Node<'t>)]) -> Discharged<HashMap<&'t [u8], &'t [Node<'t>]>> {
    let mut by_kind = HashMap::new();
    for (kind, node) in blocks {
        if by_kind.insert(*kind, node.block.as_deref().unwrap_or_default()).is_some() {
            return Err(Refutation::new("two statements are of the same kind of rules"));
        }
    }
    Ok(by_kind)
}

fn no_such_rule() -> Refutation {
    Refutation::new("a look-up of a kind tells the number of no rule")
}

/// Whether a map looks up a variable.
fn is_of(map: &MapBlock, variable: &[u8]) -> bool {
    map.source.strip_prefix(b"$") == Some(variable)
}

/// The rows of a map of the numbers of rules.
fn values<'l>(map: &'l MapBlock, rule: &[u8]) -> Discharged<Values<'l>> {
    let is_exact = map.patterns.is_empty() && !map.hostnames && map.fallback().is_empty();
    if !is_of(map, rule) || !is_exact {
        return Err(Refutation::new("a map of a kind has more than the numbers of rules"));
    }
    if !map.volatile {
        return Err(Refutation::new("a map of a kind is not volatile, so an internal redirect would not change it"));
    }
    let mut values = BTreeMap::new();
    for row in &map.exact {
        let number = read_number(&row.key).ok_or_else(no_such_rule)?;
        if values.insert(number, &*row.value).is_some() {
            return Err(Refutation::new("a map of a kind has a number twice"));
        }
    }
    Ok(values)
}

/// A number from 1, as it is written.
fn read_number(text: &[u8]) -> Option<usize> {
    let is_plain = text.first() != Some(&b'0') && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| is_plain)?.parse().ok()
}

/// Compares the statements with a sequence of the original.
struct Check<'c, 'l, 't> {
    look_up: &'c KindLookUp<'l, 't>,
    facts: &'c Facts,
    /// Whether `$1` to `$9` may be read after rules.
    captures_matter: bool,
    kinds: Values<'l>,
    /// The values of the maps in targets, by the maps' names.
    maps: HashMap<&'l [u8], Values<'l>>,
    /// The statements of each kind.
    blocks: HashMap<&'t [u8], &'t [Node<'t>]>,
}

impl<'l, 't> Check<'_, 'l, 't> {
    /// The rules of a sequence that the statements stand for.
    fn sequence(&self, sequence: &[&'t Node<'t>]) -> Discharged<Vec<&'t Node<'t>>> {
        let mut rules = Vec::with_capacity(self.kinds.len());
        for (number, kind) in &self.kinds {
            let node = *sequence.get(number - 1).ok_or_else(no_such_rule)?;
            rules.push(Numbered { node, number: *number, kind });
        }
        let texts: Vec<&[u8]> = rules.iter().map(|rule| rule.node.word(1)).collect();
        let mut own = None;
        let patterns = ReadPatterns::known_or(self.facts.patterns.iter().map(Arc::as_ref), &texts, &mut own);
        patterns.rest();
        let mut of_kind: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (place, rule) in rules.iter().enumerate() {
            of_kind.entry(rule.kind).or_default().push(place);
        }
        if of_kind.keys().collect::<HashSet<_>>() != self.blocks.keys().collect() {
            return Err(Refutation::new("the kinds of rules are not those of the statements"));
        }
        for (kind, places) in &of_kind {
            let of_kind: Vec<_> = places.iter().map(|place| (&rules[*place], patterns.get(*place))).collect();
            self.kind(self.blocks[kind], &of_kind)?;
        }
        let numbers: Vec<String> = rules.iter().map(|rule| rule.number.to_string()).collect();
        let rows: Vec<(&[u8], &[u8])> = texts.into_iter().zip(numbers.iter().map(String::as_bytes)).collect();
        self.look_up.trees.check_tree(&rows, patterns, self.look_up.root)?;
        Ok(rules.into_iter().map(|rule| rule.node).collect())
    }

    /// Checks the statements of one kind.
    fn kind(&self, block: &[Node], rules: &[(&Numbered, Option<&ReadPattern>)]) -> Discharged<()> {
        if block.iter().eq(rules.iter().map(|(rule, _)| rule.node)) {
            return Ok(());
        }
        let [shared] = block else {
            return Err(Refutation::new("the statements of a kind are neither its rules nor one rewrite for all"));
        };
        let pattern = shared.word(1);
        if !ReadPattern::of(pattern).is_some_and(|read| read.bounds.always_answers) {
            return Err(Refutation::new("PCRE may give up on the pattern of a kind of rules"));
        }
        let shared_target = target(shared)?;
        for (rule, read) in rules {
            let own = target(rule.node)?;
            let value =
                |name: &[u8]| self.maps.get(name).map(|values| values.get(&rule.number).copied().unwrap_or(b""));
            if !shared_target.is_with(&own, &value) {
                return Err(another_effect());
            }
            let captures_matter = self.captures_matter || own.reads_captures();
            let is_alike =
                |own: &ReadPattern| captures_alike(pattern, (rule.node.word(1), &own.pattern), captures_matter);
            if !read.is_some_and(is_alike) {
                return Err(Refutation::new("the rewrite of a kind may capture something else than one of its rules"));
            }
        }
        Ok(())
    }
}

/// The target of a rule, or of a rewrite for rules.
fn target<'n>(node: &'n Node) -> Discharged<Target<'n>> {
    Target::read(node.word(2), node.flag()).filter(|_| node.is_rule()).ok_or_else(another_effect)
}

fn another_effect() -> Refutation {
    Refutation::new("the rewrite of a kind has another effect than one of its rules")
}

/// Whether a pattern matches each URI that a rule does, and captures what the rule captures, as far as that matters.
fn captures_alike(shared: &[u8], (own, read): (&[u8], &Pattern), captures_matter: bool) -> bool {
    if read.named {
        return false;
    }
    if shared == b"^" {
        return read.captures == 0 || !captures_matter;
    }
    !matches!(read.ast, Ast::Alternation(_)) && is_behind_segments(shared, own)
}

/// Whether `own` is `^PR`, and `shared` the same with any segments in place of the literal ones of P.
fn is_behind_segments(shared: &[u8], own: &[u8]) -> bool {
    let (Some(own), Some(mut rest)) = (own.strip_prefix(b"^"), shared.strip_prefix(b"^/")) else { return false };
    let mut segments = 1;
    loop {
        let repeats = matches!(rest.first(), Some(b'*' | b'+' | b'?' | b'{'));
        if !repeats && own.strip_suffix(rest).is_some_and(|literal| slashes(literal) == Some(segments)) {
            return true;
        }
        let Some(behind) = rest.strip_prefix(b"[^/]*/") else { return false };
        (rest, segments) = (behind, segments + 1);
    }
}

/// The slashes of a pattern of literal text that begins and ends with one; `None` for any other.
fn slashes(pattern: &[u8]) -> Option<usize> {
    let mut rest = pattern.strip_prefix(b"/")?;
    let (mut count, mut last) = (1, b'/');
    loop {
        (last, rest) = match rest {
            [] => return (last == b'/').then_some(count),
            [b'\\', escaped, behind @ ..] if escaped.is_ascii_punctuation() => (*escaped, behind),
            [byte, behind @ ..] if byte.is_ascii_alphanumeric() || b"/_-~%!,;:=&@".contains(byte) => (*byte, behind),
            _ => return None,
        };
        count += usize::from(last == b'/');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax;

    fn alike(shared: &str, own: &str, captures_matter: bool) -> bool {
        let read = syntax::parse(own.as_bytes()).unwrap();
        captures_alike(shared.as_bytes(), (own.as_bytes(), &read), captures_matter)
    }

    /// Any segments stand for as many literal ones, and nothing else differs.
    #[test]
    fn segments() {
        for (shared, own) in [
            ("^/[^/]*/[^/]*/(.*)$", r"^/a/b\.c/(.*)$"),
            ("^/[^/]*/(x|y)$", "^/a/(x|y)$"),
            ("^/[^/]*/[^/]*/(x)", "^/a/[^/]*/(x)"),
            ("^/[^/]*/b?(x)", "^/a/b?(x)"),
            ("^/(x)", "^/(x)"),
            (r"^/[^/]*/(x)\b(?<!y)", r"^/a\/(x)\b(?<!y)"),
        ] {
            assert!(alike(shared, own, true), "{shared} {own}");
        }
        for (shared, own) in [
            ("^/[^/]*/[^/]*/(.*)$", "^/a/(.*)$"),
            ("^/[^/]*/(.*)$", "^/a/b/(.*)$"),
            ("^/[^/]*/[^/]*/(.*)$", "^/a/b/(.+)$"),
            ("^/[^/]*/(x|y)$", "(?i)^/a/(x|y)$"),
            ("^/[^/]*/(x)|y", "^/a/(x)|y"),
            ("^/[^/]*/(x)", "/a/(x)"),
            ("^/[^/]*/(x)", "^a/(x)"),
            ("^/[^/]*/(x)", "^/.a/(x)"),
            ("^/[^/]*/(x)", "^/[a/](x)"),
            ("^/[^/]*/?(x)", "^/a/?(x)"),
            ("^/[^/]*/{2}(x)", "^/a/{2}(x)"),
            ("^/[^/]*/*(x)", "^/a/*(x)"),
            ("^/[^/]*/(?<n>x)", "^/a/(?<n>x)"),
            ("^/[^/]+/(x)", "^/a/(x)"),
            ("^/[^/]*/(x)", r"^/\d/(x)"),
            ("/[^/]*/(x)", "^/a/(x)"),
        ] {
            assert!(!alike(shared, own, true), "{shared} {own}");
        }
    }

    /// A pattern without groups stands for those without, and for others where nothing reads these.
    #[test]
    fn any_text() {
        assert!(alike("^", "/a$|b", true) && alike("^", "^/(a)", false));
        assert!(!alike("^", "^/(a)", true) && !alike("^", "^/(?<n>a)", false));
        assert!(!alike("", "^/a", false) && !alike("^()", "^/a", false));
    }

    /// Numbers are written in one way.
    #[test]
    fn numbers() {
        assert_eq!(read_number(b"120"), Some(120));
        for text in [&b""[..], b"0", b"01", b"-1", b"1a", b"+1", b"99999999999999999999999"] {
            assert_eq!(read_number(text), None);
        }
    }
}
