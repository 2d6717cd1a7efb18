//! Decides which of two rows comes first, by the numbers at the start of their values.

use crate::maps::text::{EmittedMap, Key};
use crate::maps::writer::{DIGITS, Numbers, Writer};

/// Variables with values from which the numbers have been removed.
pub struct Picked {
    /// The answer of all rows.
    pub all: Vec<u8>,
    /// The answer of the rows of the tree alone.
    pub tree: Vec<u8>,
}

/// Writes the maps that pick the answer with the lower number from the answers of the tree and of the floating rows. If
/// both are empty, the default of the original map is the answer.
///
/// The maps first look at the answer that is empty more often: that of the floating rows, or that of the tree if
/// `are_like_floating`. Maps that the writer adds afterwards have no added numbers.
pub fn write(writer: &mut Writer, tree: &[u8], floating: &[u8], are_like_floating: bool) -> Picked {
    let behind_number = if writer.numbers == Numbers::Own { " " } else { r"\|" };
    let (tree_value, floating_value) = match std::mem::replace(&mut writer.numbers, Numbers::None) {
        Numbers::Own => (tree.to_vec(), floating.to_vec()),
        Numbers::None | Numbers::Added => {
            (write_value(writer, tree, "value", "text"), write_value(writer, floating, "fvalue", "ftext"))
        }
    };
    write_number(writer, floating, ("fn", "fnumber"), behind_number);
    write_number(writer, tree, ("tn", "tnumber"), behind_number);
    let lower = EmittedMap {
        source: [&*writer.variable("fn"), b":", &writer.variable("tn")].concat(),
        rows: vec![
            (pattern(lower()), floating_value.clone()),
            (pattern(br"^[0-9]+:\z".to_vec()), floating_value.clone()),
        ],
        default: tree_value.clone(),
        ..writer.of_value(Vec::new(), "lower")
    };
    let lower = writer.add(lower);
    let (first, other) = if are_like_floating { (tree, floating_value) } else { (floating, tree_value.clone()) };
    let mut pick = writer.of_value(first.to_vec(), "pick");
    pick.rows.push((Key::Exact(Vec::new()), other));
    pick.default = lower;
    Picked { all: writer.add(pick), tree: tree_value }
}

/// Writes the map of `$what`: the value of a variable without its number, or the default.
fn write_value(writer: &mut Writer, variable: &[u8], what: &str, group: &str) -> Vec<u8> {
    let mut map = writer.of_value(variable.to_vec(), what);
    let group_name = String::from_utf8_lossy(&writer.name(group)).into_owned();
    map.rows.push((
        pattern(format!(r"(?s)^[0-9]{{{DIGITS}}}\|(?<{group_name}>.*)\z").into_bytes()),
        writer.variable(group),
    ));
    map.default = writer.fallback();
    writer.add(map)
}

/// Writes the map of `$what`: the number at the start of the value of a variable, or nothing.
fn write_number(writer: &mut Writer, variable: &[u8], (what, group): (&str, &str), behind: &str) {
    let mut map = writer.of_value(variable.to_vec(), what);
    let group_name = String::from_utf8_lossy(&writer.name(group)).into_owned();
    let number = format!("^(?<{group_name}>[0-9]{{{DIGITS}}}){behind}");
    map.rows.push((pattern(number.into_bytes()), writer.variable(group)));
    writer.add(map);
}

/// A pattern that matches `a:b`, two numbers of the same length, if `a` is lower: after the common beginning, its next
/// digit is lower. (It has `[9-9]` because PCRE would read `\19` as a byte.)
fn lower() -> Vec<u8> {
    let digits: Vec<String> = (0..9).map(|digit| format!(r"{digit}[0-9]*:\1[{}-9]", digit + 1)).collect();
    format!("^([0-9]*)(?:{})", digits.join("|")).into_bytes()
}

fn pattern(pattern: Vec<u8>) -> Key {
    Key::Pattern { pattern, caseless: false }
}

#[cfg(test)]
mod tests {
    use super::lower;
    use crate::pcre::{MatchOutcome, Regex};

    /// The pattern compares numbers of six digits.
    #[test]
    fn compares() {
        let regex = Regex::new(&lower()).unwrap();
        let numbers = [0, 1, 9, 10, 89, 98, 99, 888_888, 888_889, 999_998, 999_999, 123_456, 123_465];
        for one in numbers {
            for other in numbers {
                let text = format!("{one:06}:{other:06}");
                assert_eq!(regex.is_match(text.as_bytes(), 10_000) == MatchOutcome::Yes, one < other, "{text}");
            }
            assert_eq!(regex.is_match(format!("{one:06}:").as_bytes(), 10_000), MatchOutcome::No);
        }
    }
}
