//! Finds the heads of a pattern: strings such that every match begins with one of them.

use crate::syntax::Ast;

/// Limits on the heads of one pattern and of one class.
const MOST: usize = 256;
const WIDEST: usize = 16;
/// The longest head, in bytes.
const LONGEST: usize = 512;

/// The first bytes of a match, and whether the next item continues them.
#[derive(Clone)]
struct PartialHead {
    bytes: Vec<u8>,
    open: bool,
}

/// The strings that matches of an anchored pattern begin with: each match begins with one of them, and none is a prefix
/// of another. With `fold`, strings and matches are in lower case.
pub fn heads(ast: &Ast, fold: bool) -> Vec<Vec<u8>> {
    let mut heads: Vec<Vec<u8>> = of(ast, fold).into_iter().map(|head| head.bytes).collect();
    heads.sort_unstable();
    // The list is sorted, so strings that begin with another one follow it directly.
    heads.dedup_by(|string, shorter| string.starts_with(shorter));
    heads
}

fn of(ast: &Ast, fold: bool) -> Vec<PartialHead> {
    match ast {
        Ast::Byte(byte) => vec![open(&[lower(*byte, fold)])],
        Ast::Class(set) => {
            let mut members: Vec<u8> = set.iter().map(|byte| lower(byte, fold)).collect();
            members.sort_unstable();
            members.dedup();
            if members.len() > WIDEST { vec![unknown()] } else { members.iter().map(|&byte| open(&[byte])).collect() }
        }
        Ast::Concat(items) => items.iter().fold(vec![open(b"")], |heads, item| then(heads, item, fold)),
        Ast::Alternation(branches) => {
            let heads: Vec<PartialHead> = branches.iter().flat_map(|branch| of(branch, fold)).collect();
            if heads.len() > MOST { vec![unknown()] } else { heads }
        }
        Ast::Repeat { min, max, sub, .. } => {
            let rounds = (0..(*min).min(64)).fold(vec![open(b"")], |heads, _| then(heads, sub, fold));
            if *max == Some(*min) && *min <= 64 {
                return rounds;
            }
            if *min > 0 {
                return rounds.into_iter().map(|head| PartialHead { open: false, ..head }).collect();
            }
            let more = of(sub, fold).into_iter().map(|head| PartialHead { open: head.open && *max == Some(1), ..head });
            more.chain([open(b"")]).collect()
        }
        Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => of(sub, fold),
        Ast::Empty | Ast::Start | Ast::Dollar | Ast::End | Ast::WordBoundary | Ast::NotWordBoundary => vec![open(b"")],
    }
}

fn open(bytes: &[u8]) -> PartialHead {
    PartialHead { bytes: bytes.to_vec(), open: true }
}

fn unknown() -> PartialHead {
    PartialHead { bytes: Vec::new(), open: false }
}

fn lower(byte: u8, fold: bool) -> u8 {
    if fold { byte.to_ascii_lowercase() } else { byte }
}

/// Continues the open heads with the heads of `next`. If these would be too many, closes the heads instead.
fn then(mut heads: Vec<PartialHead>, next: &Ast, fold: bool) -> Vec<PartialHead> {
    let openings = heads.iter().filter(|head| head.open && head.bytes.len() < LONGEST).count();
    if openings == 0 {
        heads.iter_mut().for_each(|head| head.open = false);
        return heads;
    }
    let tails = of(next, fold);
    if heads.len() + openings * tails.len() > MOST {
        heads.iter_mut().for_each(|head| head.open = false);
        return heads;
    }
    if let ([tail], [head]) = (tails.as_slice(), heads.as_mut_slice()) {
        head.bytes.extend_from_slice(&tail.bytes);
        head.open = tail.open;
        return heads;
    }
    let extend = |head: &PartialHead| -> Vec<PartialHead> {
        if !head.open || head.bytes.len() >= LONGEST {
            return vec![PartialHead { open: false, ..head.clone() }];
        }
        let both =
            |tail: &PartialHead| PartialHead { bytes: [head.bytes.as_slice(), &tail.bytes].concat(), open: tail.open };
        tails.iter().map(both).collect()
    };
    heads.iter().flat_map(extend).collect()
}

#[cfg(test)]
mod tests {
    use super::heads;
    use crate::syntax::parse;

    fn of(pattern: &str, fold: bool) -> Vec<String> {
        let heads = heads(&parse(pattern.as_bytes()).unwrap().ast, fold);
        heads.into_iter().map(|head| String::from_utf8(head).unwrap()).collect()
    }

    /// Literals, branches, small classes, optional and repeated items.
    #[test]
    fn forms() {
        assert_eq!(of("^/a/b.*$", false), ["/a/b"]);
        assert_eq!(of("^/(a|b)/x", false), ["/a/x", "/b/x"]);
        assert_eq!(of("^/ab?c", false), ["/abc", "/ac"]);
        assert_eq!(of("^/ab*c", false), ["/ab", "/ac"]);
        assert_eq!(of("^/a+c", false), ["/a"]);
        assert_eq!(of("^/[ab]{2}c", false), ["/aac", "/abc", "/bac", "/bbc"]);
        assert_eq!(of("^/(ab|a)", false), ["/a"]);
        assert_eq!(of("^/a.c", false), ["/a"]);
        assert_eq!(of("^/[0-9a-z]c", false), ["/"]);
        assert_eq!(of("^/(|.*)c", false), ["/"]);
    }

    /// If case is ignored, one head stands for all spellings.
    #[test]
    fn folded() {
        assert_eq!(of("(?i)^/About-Us/It", true), ["/about-us/it"]);
        assert_eq!(of("(?i)^/1a", false), ["/1A", "/1a"]);
        assert_eq!(of("^/(Ab|aB)c", true), ["/abc"]);
    }
}
