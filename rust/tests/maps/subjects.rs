//! Subjects that distinguish the rows of a map, and the buckets of a tree.

use nginxopt_native::map_block::MapBlock;

use super::generate::Dice;

/// For each row, its pattern without metacharacters, and close variants of that: one byte more or less, another case, a
/// newline at the end and inside, other bytes in the place of a dot.
pub fn subjects(map: &MapBlock, dice: &mut Dice) -> Vec<Vec<u8>> {
    let mut subjects: Vec<Vec<u8>> =
        [&b""[..], b"/", b"\n", b"/\n", b"\n\n", b"/zq7x", b"//", b"x", b".", b"/.", b"\xff"]
            .iter()
            .map(|subject| subject.to_vec())
            .collect();
    let likes: Vec<Vec<u8>> = map.patterns.iter().map(|row| like(&row.pattern, dice)).collect();
    for like in &likes {
        subjects.push(like.clone());
        let other = &likes[dice.below(likes.len())];
        for tail in [&b"\n"[..], b"x", b"/", b"\nx", b"\n\n", b".", b".html", b"/12", b"/12/x", b"zq7x", b"X", other] {
            subjects.push([like, tail].concat());
        }
        subjects.push(like[..like.len().saturating_sub(1)].to_vec());
        subjects.push(like[..dice.below(like.len() + 1)].to_vec());
        subjects.push(like.to_ascii_uppercase());
        subjects.push(like.to_ascii_lowercase());
        subjects.push([b"/y", &**like].concat());
        let mut changed = like.clone();
        if !changed.is_empty() {
            let at = dice.below(changed.len());
            changed[at] = *dice.pick(&[&b'.', &b'/', &b'a', &b'\n', &b'Z', &0x80]);
            subjects.push([&*changed, b".html"].concat());
            subjects.push(changed);
        }
    }
    subjects.extend(map.exact.iter().map(|row| row.key.to_ascii_uppercase()));
    subjects
}

/// Something that the pattern may match.
fn like(pattern: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(pattern).into_owned();
    let filler = ["", "x", "/x", "12"][dice.below(4)];
    for (sign, instead) in [
        ("(?i)", ""),
        ("(?s)", ""),
        ("(?:", ""),
        ("(?<name>", ""),
        ("(?s:.)", "\n"),
        (r"\z", ""),
        (r"\b", ""),
        (r"\s", " "),
        (r"\n", "\n"),
        (r"\.", "."),
        ("[0-9]+", "7"),
        ("[^/]+", "seg"),
        ("[^/]", "s"),
        ("[a-d]+", "b"),
        ("[ab]", "b"),
        (".*", filler),
        (".+", filler),
        ("(/.*)?", filler),
        ("(?!x)", filler),
        ("(?>a|b)", "a"),
        ("{,2}", ""),
    ] {
        text = text.replace(sign, instead);
    }
    let branches: Vec<&str> = text.split('|').collect();
    let branch = if dice.chance(50) { text.as_str() } else { branches[dice.below(branches.len())] };
    branch.bytes().filter(|byte| !b"^$()?+*|".contains(byte)).collect()
}
