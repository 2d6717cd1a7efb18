//! Proves rules behind a lookup that share a rewrite: `set $kind ""; if ($pattern ~ "...") { }`, which captures
//! `$kind` and `$target`, and one `if ($kind = K)` for each kind of rules.
//!
//! # Lemma
//!
//! Let r1..rn be some rules of a sequence of the original in its order, and let `$pattern` be, for each URI u, a text of
//! the first that matches u, or empty if none does: its place in the sequence, the number of its kind, and a text T
//! without variables. Let there be one `if` for each kind: with its rules as they are, in order, or with a rewrite S.
//! Let S end the script as each rule r of its kind does, with the same target once `$target` in that of S is replaced by
//! the T of r, and let S capture on each u that r matches what r does. Then the statements do with every u what r1..rn
//! do.
//!
//! *Proof.* PCRE answers for each rule on each URI, which is checked. If none matches u, `$pattern` is empty, so that its
//! `if` leaves `$kind` empty, and no other is entered. Else let r be the first that does: `$kind` is its kind and
//! `$target` its T, and only the `if` of that kind is entered. If that has the rules of the kind, those before r do not
//! match u, and r fires. Else S fires: it matches u, `$target` holds a text, so that reading it leaves the captures, and
//! it writes what r writes. For *captures*, either of two is checked:
//!
//! - S has the pattern `^`, and r has no group; or r has groups without names, whose text nothing reads.
//! - The pattern of r is `^PR`, where P is literal text that begins with a slash and ends with its k-th, and that of S
//!   is `^/[^/]*/...[^/]*/R`, with k slashes before R. R does not begin with a quantifier, and no `|` is outside of
//!   groups. As u begins with P, and `[^/]*/` ends at the next slash, both try R on the same subject from the same
//!   place, with the same numbers of groups and no flags: it matches there in the same way. Nothing in R depends on how
//!   its place was reached: [`crate::syntax`] refuses what does.
//!
//! No map has a text for a rule that is never the first to match. Such a rule belongs to r1..rn if its statement is gone
//! and its URIs cannot be listed, as declared, so that nothing else can replace it. The proof gives it a placeholder, which no map has.
//!
//! In a location, a true `if` does more than run its statements; [`surroundings`](super::surroundings) decides for
//! which rules this does not matter.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use crate::first_match::{ReadPattern, ReadPatterns};
use crate::map_block::MapBlock;
use crate::phase::Entering;
use crate::prove::known::Known;
use crate::prove::node::{Node, number};
use crate::prove::residual::Residual;
use crate::prove::target::Target;
use crate::prove::trees::Trees;
use crate::prove::{Discharged, Facts, Refutation, gone, surroundings};
use crate::syntax::{Ast, Pattern};

/// A lookup of the kind of a rule.
pub struct KindLookUp<'l, 't> {
    pub trees: &'l Trees<'t>,
    pub root: &'l MapBlock<'t>,
    /// The variable that holds the kind.
    pub kind: &'t [u8],
    /// The variable that holds a part of the rule's target.
    pub target: &'t [u8],
}

/// What a lookup finds for a rule.
#[derive(Clone, Copy)]
struct Told<'l> {
    text: &'l [u8],
    kind: &'l [u8],
    target: &'l [u8],
}

/// A rule of the original, and what the lookup finds for it.
struct ToldRule<'l, 't> {
    node: &'t Node<'t>,
    text: Cow<'l, [u8]>,
    /// The kind of the rule. `None` if the rule is in no map, and its statement is gone.
    kind: Option<&'l [u8]>,
    target: &'l [u8],
}

/// The statements after a lookup of kinds, and what it finds.
pub struct KindStatements<'l, 't> {
    look_up: KindLookUp<'l, 't>,
    /// What the lookup finds, by the numbers of rules.
    told: BTreeMap<usize, Told<'l>>,
    /// The number of each kind, and its statements.
    blocks: Vec<(&'t [u8], &'t Node<'t>)>,
}

impl<'l, 't> KindLookUp<'l, 't> {
    /// Reads the statements after the lookup, with which `rest` begins.
    pub fn statements(self, rest: &[&'t Node<'t>], entering: Entering) -> Discharged<KindStatements<'l, 't>> {
        let blocks: Vec<_> = rest.iter().map_while(|node| Some((number(node, self.kind)?, *node))).collect();
        let mut statements = blocks.iter().flat_map(|(_, block)| block.block.iter().flatten());
        statements.try_for_each(|statement| surroundings::check(entering, statement))?;
        if self.kind.eq_ignore_ascii_case(self.target) {
            return Err(Refutation::new("the kind of a rule and its target have one variable"));
        }
        Ok(KindStatements { told: self.told()?, blocks, look_up: self })
    }

    /// Collects all values of the maps, by the numbers of rules. Another check shows that URIs get the right values.
    fn told(&self) -> Discharged<BTreeMap<usize, Told<'l>>> {
        let mut told: BTreeMap<usize, Told> = BTreeMap::new();
        for block in self.trees.reached(self.root) {
            let exact = block.exact.iter().map(|row| &*row.value);
            let values = exact.chain(block.patterns.iter().map(|row| &*row.value)).chain(block.default.as_deref());
            for value in values.filter(|value| !value.starts_with(b"$")) {
                let Some((number, rule)) = Told::read(value) else {
                    if is_placeholder(value) {
                        return Err(Refutation::new("a lookup tells no kind of a rule"));
                    }
                    continue;
                };
                if rule.target.contains(&b'$') {
                    return Err(Refutation::new("a target of a kind of rules has a variable"));
                }
                if told.insert(number, rule).is_some_and(|other| other.text != rule.text) {
                    return Err(Refutation::new("a lookup tells two kinds or targets of one rule"));
                }
            }
        }
        Ok(told)
    }
}

impl<'t> KindStatements<'_, 't> {
    /// The number of the statements.
    pub fn length(&self) -> usize {
        self.blocks.len()
    }

    /// The places of the rules that the lookup finds.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        self.told.keys().map(|number| number - 1)
    }

    /// From the first to the last of these places. `None` if there is none.
    pub fn told_places(&self) -> Option<Range<usize>> {
        Some(self.places().next()?..*self.told.last_key_value()?.0)
    }

    /// Returns the rules of a sequence of the original that the statements stand for. They are those among `places` that
    /// nothing else replaced; `staying` are the places of the rules that other statements or lookups stand for.
    pub fn rules(
        &self,
        sequence: &[&'t Node<'t>],
        places: Range<usize>,
        staying: &HashSet<usize>,
        known: &Known,
    ) -> Discharged<Vec<&'t Node<'t>>> {
        // A rule that stands elsewhere is none of the lookup's.
        let last = places.end.min(sequence.len());
        if self.told_places().is_none_or(|told| told.start < places.start || told.end > last) {
            return Err(Refutation::new("a lookup of a kind tells the number of no rule"));
        }
        let (facts, captures_matter) = (known.facts, known.captures_matter);
        let (blocks, kinds) = (by_kind(&self.blocks)?, kinds_of(&self.blocks));
        let told = &self.told;
        Check { look_up: &self.look_up, facts, captures_matter, told, blocks, kinds, places, staying }
            .sequence(sequence)
    }
}

impl<'l> Told<'l> {
    /// Splits a value into the number of a rule and the rest.
    fn read(value: &'l [u8]) -> Option<(usize, Told<'l>)> {
        let text = behind_number(value);
        let mut parts = text.splitn(3, |byte| *byte == b' ');
        let (number, kind, target) = (parts.next()?, parts.next()?, parts.next()?);
        let is_kind = !kind.is_empty() && kind.iter().all(u8::is_ascii_digit);
        is_kind.then_some((read_number(number)?, Told { text, kind, target }))
    }
}

/// A value without the number that decides which of two answers comes first.
fn behind_number(value: &[u8]) -> &[u8] {
    let digits = value.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(0);
    value[digits..].strip_prefix(b"|").unwrap_or(value)
}

/// Whether a value looks like the placeholder of a rule that is in no map.
fn is_placeholder(value: &[u8]) -> bool {
    behind_number(value).strip_suffix(b" ").is_some_and(|number| number.iter().all(u8::is_ascii_digit))
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

/// The kinds of each statement.
fn kinds_of<'t>(blocks: &[(&'t [u8], &'t Node<'t>)]) -> HashMap<&'t Node<'t>, VecDeque<&'t [u8]>> {
    let mut kinds: HashMap<_, VecDeque<_>> = HashMap::new();
    for (kind, node) in blocks {
        node.block.iter().flatten().for_each(|statement| kinds.entry(statement).or_default().push_back(*kind));
    }
    kinds
}

/// A number from 1.
fn read_number(text: &[u8]) -> Option<usize> {
    let is_plain = text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| is_plain)?.parse().ok().filter(|number| *number > 0)
}

/// Compares the statements with a sequence of the original.
struct Check<'c, 'l, 't> {
    look_up: &'c KindLookUp<'l, 't>,
    facts: &'c Facts,
    /// Whether `$1` to `$9` may be read after rules.
    captures_matter: bool,
    /// What the lookup finds, by the numbers of rules.
    told: &'c BTreeMap<usize, Told<'l>>,
    /// The statements of each kind.
    blocks: HashMap<&'t [u8], &'t [Node<'t>]>,
    /// The kinds of the statements that belong to one; of equal statements in order.
    kinds: HashMap<&'t Node<'t>, VecDeque<&'t [u8]>>,
    /// The places in the sequence that the lookup may stand for.
    places: Range<usize>,
    /// The places of the rules for which a statement or any lookup stands.
    staying: &'c HashSet<usize>,
}

impl<'l, 't> Check<'_, 'l, 't> {
    /// The rules of a sequence that the lookup replaces.
    fn told_of(&self, sequence: &[&'t Node<'t>]) -> Vec<ToldRule<'l, 't>> {
        // The number in a placeholder is as long as the others.
        let length = |told: &Told| told.text.iter().position(|byte| *byte == b' ').unwrap_or(0);
        let digits = self.told.first_key_value().map_or(0, |(_, told)| length(told));
        let mut untold = self.kinds_of_untold(sequence);
        let stays = |place: usize| {
            self.staying.contains(&place) || self.places.contains(&place) && untold.contains_key(sequence[place])
        };
        let staying = (0..sequence.len()).filter(|place| stays(*place));
        let staying =
            Residual::new(staying.map(|place| (place, sequence[place].word(1))).collect::<Vec<_>>().into_iter());
        let rule = |place: usize| {
            let (number, node) = (place + 1, sequence[place]);
            if let Some(told) = self.told.get(&number) {
                let text = Cow::Borrowed(told.text);
                return Some(ToldRule { node, text, kind: Some(told.kind), target: told.target });
            }
            let kind = untold.get_mut(node).and_then(VecDeque::pop_front);
            let is_one = kind.is_some() || !gone::may_be_replaced(node.word(1), &self.facts.readings, place, &staying);
            let text = Cow::Owned([format!("{number:0digits$}").as_bytes(), b" "].concat());
            is_one.then_some(ToldRule { node, text, kind, target: b"" })
        };
        self.places.clone().filter_map(rule).collect()
    }

    /// The kinds of the statements of the sequence's rules that the lookup never finds, in order. Equal rules may be of
    /// several kinds.
    fn kinds_of_untold(&self, sequence: &[&'t Node<'t>]) -> HashMap<&'t Node<'t>, VecDeque<&'t [u8]>> {
        let mut kinds = self.kinds.clone();
        for (number, told) in self.told {
            if let Some(of_equal) = number.checked_sub(1).and_then(|at| kinds.get_mut(sequence.get(at)?))
                && let Some(own) = of_equal.iter().position(|kind| *kind == told.kind)
            {
                of_equal.remove(own);
            }
        }
        kinds
    }

    /// The rules of a sequence that the statements stand for.
    fn sequence(&self, sequence: &[&'t Node<'t>]) -> Discharged<Vec<&'t Node<'t>>> {
        let rules = self.told_of(sequence);
        let texts: Vec<&[u8]> = rules.iter().map(|rule| rule.node.word(1)).collect();
        let mut own = None;
        let patterns = ReadPatterns::known_or(self.facts.patterns.iter().map(Arc::as_ref), &texts, &mut own);
        patterns.rest();
        let mut of_kind: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (place, rule) in rules.iter().enumerate() {
            if let Some(kind) = rule.kind {
                of_kind.entry(kind).or_default().push(place);
            }
        }
        // The statements of other kinds are never run, as the lookup finds none of their rules.
        for (kind, places) in &of_kind {
            let of_kind: Vec<_> = places.iter().map(|place| (&rules[*place], patterns.get(*place))).collect();
            let block = self.blocks.get(kind).ok_or_else(|| Refutation::new("a kind of rules has no statements"))?;
            self.kind(block, &of_kind)?;
        }
        let rows: Vec<(&[u8], &[u8])> = texts.into_iter().zip(rules.iter().map(|rule| &*rule.text)).collect();
        self.look_up.trees.check_tree(&rows, patterns, self.look_up.root)?;
        Ok(rules.into_iter().map(|rule| rule.node).collect())
    }

    /// Checks the statements of one kind.
    fn kind(&self, block: &[Node], rules: &[(&ToldRule, Option<&ReadPattern>)]) -> Discharged<()> {
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
            let value = |name: &[u8]| (name == self.look_up.target).then_some(rule.target);
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

/// Whether a shared pattern matches each URI that a rule matches, and captures the same, as far as captures matter.
fn captures_alike(shared: &[u8], (own, read): (&[u8], &Pattern), captures_matter: bool) -> bool {
    if read.named {
        return false;
    }
    if shared == b"^" {
        return read.captures == 0 || !captures_matter;
    }
    !matches!(read.ast, Ast::Alternation(_)) && is_behind_segments(shared, own)
}

/// Whether `own` is `^PR`, and `shared` is the same with arbitrary segments in place of the literal segments of P.
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

/// The number of slashes in a pattern of literal text that begins and ends with a slash. `None` for any other pattern.
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

    /// A value tells the number of a rule, its kind, and a text.
    #[test]
    fn told() {
        let read = |value: &'static str| {
            Told::read(value.as_bytes()).map(|(number, told)| (number, told.text, told.kind, told.target))
        };
        assert_eq!(read("000120 3 /a b"), Some((120, &b"000120 3 /a b"[..], &b"3"[..], &b"/a b"[..])));
        assert_eq!(read("000119|000120 3 "), Some((120, &b"000120 3 "[..], &b"3"[..], &b""[..])));
        for value in [
            "",
            "1",
            "1 2",
            "1 x /a",
            "1  /a",
            "0 1 /a",
            "-1 1 /a",
            "+1 1 /a",
            "x 1 /a",
            " 1 /a",
            "99999999999999999999999 1 /a",
        ] {
            assert!(read(value).is_none(), "{value}");
        }
    }
}
