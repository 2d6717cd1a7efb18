//! Signs: bytes and classes in a row that tell whether a row of a long chain may match.
//!
//! The sign of `^/.+/login\.php$` is `/login\.php$`: it matches in each subject that the row matches, or on which PCRE
//! gives up. Fewer subjects have it than have a literal of the row in any case.

use crate::first_match::ReadPattern;
use crate::maps::union::branches;
use crate::syntax::Ast;

/// How many bits a sign should have, at least and at most; a byte counts as [`BYTE`] bits. Longer signs would only make
/// guards longer.
const LEAST: u32 = 12;
const ENOUGH: u32 = 56;

/// The bits of what most subjects do not have: a byte, an anchor. A slash is in all of them.
const BYTE: u32 = 5;
const SLASH: u32 = 2;
const ANCHOR: u32 = 8;

/// The signs of the branches of a pattern; `None` if a branch has none.
pub fn signs(text: &[u8]) -> Option<Vec<Vec<Ast>>> {
    let read = ReadPattern::of(text)?;
    let events = read.events().filter(|events| events.translation.exact)?;
    branches(&events.pattern.ast).iter().map(|items| sign(items)).collect()
}

/// The rarest of the runs of bytes and classes of a branch, with `^` and `$`. A repetition ends a run, with its first
/// round.
fn sign(items: &[Ast]) -> Option<Vec<Ast>> {
    let items: Vec<Ast> = items.iter().flat_map(first_round).collect();
    let is_joined = |one: &Ast, other: &Ast| {
        matches!(one, Ast::Start | Ast::Byte(_) | Ast::Class(_))
            && matches!(other, Ast::Dollar | Ast::Byte(_) | Ast::Class(_))
    };
    let runs = items.chunk_by(is_joined).map(|run| {
        let (mut bits, mut count) = (0, 0);
        while count < run.len() && bits < ENOUGH {
            bits += self::bits(&run[count]);
            count += 1;
        }
        (bits, &run[..count])
    });
    runs.max_by_key(|(bits, _)| *bits).filter(|(bits, _)| *bits >= LEAST).map(|(_, run)| run.to_vec())
}

/// An item, or the first round of a repetition of bytes or classes, and the end of the run.
fn first_round(item: &Ast) -> Vec<Ast> {
    match item {
        Ast::Repeat { min: 1.., sub, .. } if matches!(**sub, Ast::Byte(_) | Ast::Class(_)) => {
            vec![(**sub).clone(), Ast::Empty]
        }
        item => vec![item.clone()],
    }
}

/// How rare a subject with this item in its place is, as a logarithm.
fn bits(item: &Ast) -> u32 {
    match item {
        Ast::Byte(b'/') => SLASH,
        Ast::Byte(_) => BYTE,
        Ast::Class(set) => BYTE.saturating_sub(set.len().max(1).ilog2()),
        Ast::Start | Ast::Dollar => ANCHOR,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::signs;
    use crate::maps::union::union;

    fn of(text: &str) -> Option<String> {
        signs(text.as_bytes()).and_then(|signs| union(&signs)).map(|text| String::from_utf8(text).unwrap())
    }

    /// The rarest run of bytes and classes is taken, up to its first bytes; each branch has one.
    #[test]
    fn rarest() {
        for (text, sign) in [
            (r"^/.+/login\.php$", r"/login\.php$"),
            ("^/.*c99.php$", "c99.php$"),
            (r"^/[a-z0-9:_]+\.rar$", r"\.rar$"),
            ("^/[0-9]+/.*$", "^/[0-9]"),
            ("^/doc/.+/otaku$", "/otaku$"),
            ("^/doc/r.*/Terrorism-is-not-Effective.*$", "/Terrorism-i"),
            ("^/.aws.*$", "^/.aws"),
            ("^/.*wp-login|^/.+/eval.php", "wp-login|/eval.php"),
        ] {
            assert_eq!(of(text).as_deref(), Some(sign), "{text}");
        }
        for text in ["^/.*$", "^/[a-z]+/?$", "^/.*wp-login|^/.*x", "^/(?!a).*wp-login", "/a{,3}wp-login"] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
