//! Takes the one of two answers whose row has the smaller number.

use crate::map_block::{MapBlock, PatternRow};
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::prover::{Numbers, Place, Prover};
use crate::prove_map::text::variables_in;
use crate::variables;

/// Matches `A:B` where A and B have the same number of digits and A is smaller: after the common part, the next digit
/// of B is larger. (`\1[9-9]`, as `\19` is octal.)
pub const IS_SMALLER: &[u8] = br"^([0-9]*)(?:0[0-9]*:\1[1-9]|1[0-9]*:\1[2-9]|2[0-9]*:\1[3-9]|3[0-9]*:\1[4-9]|4[0-9]*:\1[5-9]|5[0-9]*:\1[6-9]|6[0-9]*:\1[7-9]|7[0-9]*:\1[8-9]|8[0-9]*:\1[9-9])";

/// Matches `A:` without a B.
const IS_ALONE: &[u8] = br"^[0-9]+:\z";

/// Limit of the digits of a number.
const MOST_DIGITS: usize = 9;

impl<'b> Prover<'b> {
    /// `map $float $pick { "" $value; default $lower; }`, where `$float` holds the answer of the floats with its
    /// number, and `$value` that of the tree without. Each is the first of its own rows, so the smaller number answers.
    pub fn pick(
        &self,
        block: &'b MapBlock<'b>,
        float: &'b MapBlock<'b>,
        place: &Place<'b>,
    ) -> Result<(), MapRefutation> {
        let name = block.variable.escape_ascii();
        let wrong = |what: &str| refute(Obligation::Pick, format!("${name}: {what}"));
        let value = match block.exact.as_slice() {
            [row] if row.key.is_empty() && block.patterns.is_empty() => self.map_of(&row.value),
            _ => None,
        };
        let (Some(value), Some(lower)) = (value, self.map_of(block.fallback())) else {
            return wrong("it does not choose between two values");
        };
        self.meet(value);
        let Some(tree) = self.map_of(&value.source) else {
            return wrong("it chooses a value that is no answer's");
        };
        let Some(digits) = self.text(value, &tree.variable, place.end) else {
            return wrong("a value is not the text behind a number, or the default");
        };
        self.lower(lower, (float, tree), digits, place)?;
        self.check_numbered(place)?;
        let place = Place { numbers: Some(Numbers { digits }), end: b"", ..place.clone() };
        self.answers((&block.source, float), &value.source, place)
    }

    /// Both answers have numbers, and together they cover all rows.
    fn answers(
        &self,
        (float_value, float): (&'b [u8], &MapBlock),
        tree_value: &'b [u8],
        mut place: Place<'b>,
    ) -> Result<(), MapRefutation> {
        let floats = self.ends_and_chain(float_value, &place)?;
        if !floats.end.is_empty() {
            return refute(Obligation::End, format!("${} ends with an answer", float.variable.escape_ascii()));
        }
        self.proved.discharge(Obligation::Pick);
        floats.rows.iter().for_each(|&row| place.live[row] = false);
        self.level(tree_value, place)
    }

    /// `map $answer $x { "~(?s)^[0-9]{6}\|(?<text>.*)\z" $text; default END; }`: the number of digits.
    fn text(&self, block: &MapBlock<'b>, answer: &[u8], end: &[u8]) -> Option<usize> {
        let row = self.only_row(block, answer)?;
        let group = row.value.strip_prefix(b"$")?;
        let digits = row.pattern.strip_prefix(br"(?s)^[0-9]{")?;
        let digits = digits.strip_suffix([br"}\|(?<", group, br">.*)\z"].concat().as_slice())?;
        if block.fallback() == end { number(digits) } else { None }
    }

    /// `map $answer $x { "~^(?<number>[0-9]{6})\|" $number; }`
    fn is_number(&self, block: &MapBlock<'b>, answer: &[u8], digits: usize) -> bool {
        let Some(row) = self.only_row(block, answer) else { return false };
        let group = row.value.strip_prefix(b"$").unwrap_or_default();
        let pattern = [b"^(?<", group, format!(r">[0-9]{{{digits}}})\|").as_bytes()].concat();
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
        (float, tree): (&'b MapBlock<'b>, &'b MapBlock<'b>),
        digits: usize,
        place: &Place<'b>,
    ) -> Result<(), MapRefutation> {
        self.meet(block);
        let name = block.variable.escape_ascii();
        let wrong = |what: &str| refute(Obligation::Pick, format!("${name}: {what}"));
        let numbers = block.source.split(|byte| *byte == b':').map(|part| self.map_of(part));
        let [Some(of_float), Some(of_tree)] = numbers.collect::<Vec<_>>()[..] else {
            return wrong("it does not compare two numbers");
        };
        for (map, answer) in [(of_float, float), (of_tree, tree)] {
            self.meet(map);
            if !self.is_number(map, &answer.variable, digits) {
                return wrong("what it compares are not the numbers of the two answers");
            }
        }
        let [smaller, alone] = block.patterns.as_slice() else {
            return wrong("it has not the two rows of a comparison");
        };
        if *smaller.pattern != *IS_SMALLER || *alone.pattern != *IS_ALONE {
            return wrong("its patterns do not compare two numbers");
        }
        let text = self.map_of(&smaller.value);
        let reads =
            |text: &MapBlock<'b>| self.text(text, &float.variable, b"").or(self.text(text, &float.variable, place.end));
        let Some(text) = text.filter(|text| reads(text) == Some(digits) && smaller.value == alone.value) else {
            return wrong("the smaller number does not get its own value");
        };
        self.meet(text);
        let is_value = self
            .map_of(block.fallback())
            .is_some_and(|value| self.text(value, &tree.variable, place.end) == Some(digits));
        if smaller.caseless || alone.caseless || !block.exact.is_empty() || !is_value {
            return wrong("what is not smaller does not get the other value");
        }
        self.proved.discharge(Obligation::Pick);
        Ok(())
    }

    /// nginx computes both answers, so evaluating the unused one must have no effect: it sets no variable by name,
    /// evaluates no variable that a map may define, and PCRE does not give up on its rows.
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

    /// Of all pairs of three-digit numbers, it matches those whose first is smaller.
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
