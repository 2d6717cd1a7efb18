//! Proves maps that take the answer with the smaller row number from two chains.
//!
//! The compiler writes the number of a row in front of its value, unless the values of the original already begin with
//! numbers that ascend from row to row. Of two such values, the one with the smaller number belongs to the earlier row.

use crate::map_block::{MapBlock, PatternRow};
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::prover::{Place, Prover, Split};
use crate::prove_map::row::Numbers;
use crate::prove_map::text::variables_in;
use crate::variables;

/// Matches `A:B` if A and B have the same number of digits and A is smaller: after the common beginning, the next digit
/// of B is larger. (It has `\1[9-9]` because `\19` is octal.)
pub const IS_SMALLER: &[u8] = br"^([0-9]*)(?:0[0-9]*:\1[1-9]|1[0-9]*:\1[2-9]|2[0-9]*:\1[3-9]|3[0-9]*:\1[4-9]|4[0-9]*:\1[5-9]|5[0-9]*:\1[6-9]|6[0-9]*:\1[7-9]|7[0-9]*:\1[8-9]|8[0-9]*:\1[9-9])";

/// Matches `A:` without a B.
const IS_ALONE: &[u8] = br"^[0-9]+:\z";

/// The most digits of a number.
const MOST_DIGITS: usize = 9;

/// Two answers. The one whose row has the smaller number is taken.
struct Picked<'b> {
    /// The rows outside the tree.
    floats: Vec<usize>,
    /// The answer of the tree.
    tree: &'b [u8],
    numbers: Numbering,
    /// The place of the tree.
    place: Place<'b>,
}

/// A choice of two answers for subjects that a pattern lets pass.
pub struct GuardedPick<'b> {
    split: Split<'b>,
    pick: &'b MapBlock<'b>,
}

/// Where the numbers of rows are, and how many digits they have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbering {
    /// In front of each value, with a `|` between them.
    Added(usize),
    /// In the values of the original, which begin with them and a space.
    Own(usize),
}

/// Which of the two answers the map tests first: if it is empty, the other one is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tested {
    Float,
    Tree,
}

impl<'b> Prover<'b> {
    /// Proves `map $float $pick { "" $value; default $lower; }`. `$float` holds the answer of the floats with its
    /// number, and `$value` the answer of the tree without its number; if the values of the original begin with such
    /// numbers, `$value` keeps it. Each answer is that of the first matching row among its own, so the smaller number
    /// decides.
    pub fn pick(&self, block: &'b MapBlock<'b>, place: &Place<'b>) -> Result<(), MapRefutation> {
        let picked = self.picked(block, Tested::Float, place)?;
        self.level(picked.tree, picked.place)
    }

    /// Reads `map SRC $guard { "~\.(?:php|html)$" $pick; default $value; }`. `$value` is the answer of the tree, and
    /// all floats match literals at the end of subjects. Here, `$pick` first tests the answer of the tree.
    pub fn guarded_pick(&self, block: &'b MapBlock<'b>) -> Option<GuardedPick<'b>> {
        let split = self.split(block).filter(|_| self.is_of_source(block) && block.exact.is_empty())?;
        let pick = self.map_of(split.inside).filter(|pick| !self.is_of_source(pick) && pick.patterns.is_empty())?;
        let is_key_empty = pick.exact.first().is_some_and(|row| pick.exact.len() == 1 && row.key.is_empty());
        is_key_empty.then_some(GuardedPick { split, pick })
    }

    /// Proves a guarded pick. No float matches a subject that the guard turns away, so the tree alone answers it.
    pub fn pick_behind(&self, guarded: &GuardedPick<'b>, place: &Place<'b>) -> Result<(), MapRefutation> {
        let GuardedPick { split, pick } = guarded;
        self.meet(pick);
        let picked = self.picked(pick, Tested::Tree, place)?;
        if !self.is_value(split.outside, picked.tree, picked.numbers, place.end) {
            let pattern = split.row.pattern.escape_ascii();
            return refute(Obligation::Guard, format!("what \"{pattern}\" turns away does not get the tree's value"));
        }
        self.check_endings(split, &picked.floats)?;
        self.level(picked.tree, picked.place)
    }

    fn picked(&self, block: &'b MapBlock<'b>, tested: Tested, place: &Place<'b>) -> Result<Picked<'b>, MapRefutation> {
        let name = block.variable.escape_ascii();
        let wrong = |what: &str| refute(Obligation::Pick, format!("${name}: {what}"));
        let row = match block.exact.as_slice() {
            [row] if row.key.is_empty() && block.patterns.is_empty() => Some(row),
            _ => None,
        };
        let maps = row.and_then(|row| Some((row, self.map_of(&row.value)?, self.map_of(block.fallback())?)));
        let Some((row, value, lower)) = maps else {
            return wrong("it does not choose between two values");
        };
        self.meet(value);
        let behind_number =
            || Some((&*value.source, Numbering::Added(self.text(value, value.source.strip_prefix(b"$")?, place.end)?)));
        let own = || Some((&*row.value, Numbering::Own(self.own_digits(place)?)));
        let Some((other, numbers)) = behind_number().or_else(own) else {
            return wrong("a value is not the text behind a number, or the default");
        };
        let (float, tree) = match tested {
            Tested::Float => (&*block.source, other),
            Tested::Tree => (other, &*block.source),
        };
        if self.map_of(float).is_none() || self.map_of(tree).is_none() {
            return wrong("it chooses a value that is no answer's");
        }
        self.lower(lower, (float, tree), numbers, place)?;
        self.check_numbered(place)?;
        let added = match numbers {
            Numbering::Added(digits) => Some(Numbers { digits }),
            Numbering::Own(_) => None,
        };
        let mut place = Place { numbers: added, end: b"", ..place.clone() };
        let floats = self.ends_and_chain(float, &place)?;
        if !floats.end.is_empty() {
            return refute(Obligation::End, format!("{} ends with an answer", float.escape_ascii()));
        }
        self.proved.discharge(Obligation::Pick);
        floats.rows.iter().for_each(|&row| place.live[row] = false);
        Ok(Picked { floats: floats.rows, tree, numbers, place })
    }

    /// Whether a value is that of an answer without an added number, and `end` if there is no answer.
    fn is_value(&self, value: &[u8], answer: &[u8], numbers: Numbering, end: &[u8]) -> bool {
        match numbers {
            Numbering::Own(_) => value == answer,
            Numbering::Added(digits) => self.map_of(value).is_some_and(|text| {
                self.meet(text);
                answer.strip_prefix(b"$").is_some_and(|answer| self.text(text, answer, end) == Some(digits))
            }),
        }
    }

    /// How many digits the numbers have that the values of all rows begin with, if these ascend and the default is
    /// empty.
    fn own_digits(&self, place: &Place) -> Option<usize> {
        let (mut digits, mut last) = (None, None);
        for (row, _) in place.live.iter().enumerate().filter(|(_, live)| **live) {
            let value = self.rows.list.get(row)?.value;
            let number = &value[..memchr::memchr(b' ', value)?];
            let is_next = number.iter().all(u8::is_ascii_digit)
                && digits.is_none_or(|digits| digits == number.len())
                && last.is_none_or(|last| last < number);
            (digits, last) = (Some(number.len()), is_next.then_some(Some(number))?);
        }
        digits.filter(|digits| place.end.is_empty() && (1..=MOST_DIGITS).contains(digits))
    }

    /// Reads `map $answer $x { "~(?s)^[0-9]{6}\|(?<text>.*)\z" $text; default END; }`, and returns the number of
    /// digits.
    fn text(&self, block: &MapBlock<'b>, answer: &[u8], end: &[u8]) -> Option<usize> {
        let row = self.only_row(block, answer)?;
        let group = row.value.strip_prefix(b"$")?;
        let digits = row.pattern.strip_prefix(br"(?s)^[0-9]{")?;
        let digits = digits.strip_suffix([br"}\|(?<", group, br">.*)\z"].concat().as_slice())?;
        if block.fallback() == end { number(digits) } else { None }
    }

    /// Whether a map is `map $answer $x { "~^(?<number>[0-9]{6})\|" $number; }`.
    fn is_number(&self, block: &MapBlock<'b>, answer: &[u8], numbers: Numbering) -> bool {
        let (digits, behind) = match numbers {
            Numbering::Added(digits) => (digits, r"\|"),
            Numbering::Own(digits) => (digits, " "),
        };
        let row = answer.strip_prefix(b"$").and_then(|answer| self.only_row(block, answer));
        let Some(row) = row else { return false };
        let group = row.value.strip_prefix(b"$").unwrap_or_default();
        let pattern = [b"^(?<", group, format!(">[0-9]{{{digits}}}){behind}").as_bytes()].concat();
        !group.is_empty() && *row.pattern == *pattern && block.fallback().is_empty()
    }

    /// The only row of a map that looks up a variable.
    fn only_row<'m>(&self, block: &'m MapBlock<'b>, variable: &[u8]) -> Option<&'m PatternRow<'b>> {
        match block.patterns.as_slice() {
            [row] if block.exact.is_empty() && !row.caseless => {
                (block.source.strip_prefix(b"$") == Some(variable)).then_some(row)
            }
            _ => None,
        }
    }

    /// `map "$a:$b" $lower { "~IS_SMALLER" $text; "~IS_ALONE" $text; default $value; }`
    fn lower(
        &self,
        block: &'b MapBlock<'b>,
        (float, tree): (&[u8], &[u8]),
        numbers: Numbering,
        place: &Place<'b>,
    ) -> Result<(), MapRefutation> {
        self.meet(block);
        let name = block.variable.escape_ascii();
        let wrong = |what: &str| refute(Obligation::Pick, format!("${name}: {what}"));
        let compared = block.source.split(|byte| *byte == b':').map(|part| self.map_of(part));
        let [Some(of_float), Some(of_tree)] = compared.collect::<Vec<_>>()[..] else {
            return wrong("it does not compare two numbers");
        };
        for (map, answer) in [(of_float, float), (of_tree, tree)] {
            self.meet(map);
            if !self.is_number(map, answer, numbers) {
                return wrong("what it compares are not the numbers of the two answers");
            }
        }
        let [smaller, alone] = block.patterns.as_slice() else {
            return wrong("it has not the two rows of a comparison");
        };
        if *smaller.pattern != *IS_SMALLER || *alone.pattern != *IS_ALONE {
            return wrong("its patterns do not compare two numbers");
        }
        let is_float = [&b""[..], place.end].iter().any(|end| self.is_value(&smaller.value, float, numbers, end));
        if !is_float || smaller.value != alone.value {
            return wrong("the smaller number does not get its own value");
        }
        let is_value = self.is_value(block.fallback(), tree, numbers, place.end);
        if smaller.caseless || alone.caseless || !block.exact.is_empty() || !is_value {
            return wrong("what is not smaller does not get the other value");
        }
        self.proved.discharge(Obligation::Pick);
        Ok(())
    }

    /// Checks that evaluating the answer that is not taken has no effect, because nginx computes both: it sets no
    /// variable by name, evaluates no variable that a map may define, and PCRE does not give up on its rows.
    fn check_numbered(&self, place: &Place) -> Result<(), MapRefutation> {
        for (row, _) in place.live.iter().enumerate().filter(|(_, live)| **live) {
            let name = self.name(row);
            let Some(facts) = self.rows.list.get(row) else { continue };
            if facts.is_named {
                return refute(
                    Obligation::Captures,
                    format!("{name} sets a variable by name, though another row may answer"),
                );
            }
            let is_plain = |name: &[u8]| name.iter().all(u8::is_ascii_digit) || variables::keeps_captures(name);
            if !variables_in(facts.value).all(is_plain) {
                return refute(
                    Obligation::Captures,
                    format!("{name} has a variable in its value, though another row may answer"),
                );
            }
            if self.may_give_up(row, place) {
                return refute(Obligation::Effort, format!("PCRE may give up on {name}, whose answer has a number"));
            }
        }
        Ok(())
    }
}

fn number(digits: &[u8]) -> Option<usize> {
    let digits: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (1..=MOST_DIGITS).contains(&digits).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::{IS_ALONE, IS_SMALLER};
    use crate::pcre::{MatchOutcome, Regex};

    /// The pattern matches exactly those pairs of three-digit numbers whose first is smaller.
    #[test]
    fn is_smaller() {
        let [smaller, alone] = [IS_SMALLER, IS_ALONE].map(|pattern| Regex::new(pattern).unwrap());
        let matches = |regex: &Regex, text: &str| regex.is_match(text.as_bytes(), 10_000) == MatchOutcome::Yes;
        for first in 0..1_000 {
            for second in 0..1_000 {
                assert_eq!(matches(&smaller, &format!("{first:03}:{second:03}")), first < second, "{first} {second}");
            }
            assert!(matches(&alone, &format!("{first:03}:")) && !matches(&smaller, &format!("{first:03}:")));
            assert!(!matches(&alone, &format!("{first:03}:{first:03}")));
        }
    }
}
