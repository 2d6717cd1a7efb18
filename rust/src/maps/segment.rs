//! Writes guards that look at what follows the last slash of a subject.
//!
//! A row such as `/about.html$` matches only at the end of the subject, so the last slash of the subject is a place of
//! the row that allows a slash. A guard that first finds the last slash tries its branches once, and not after each
//! slash. The dot of the row also allows a slash: the guard must let pass `html` as well as `about.html`.

use crate::maps::pattern::beginning_with;
use crate::maps::sequence::Sequence;
use crate::syntax::{self, Ast, ByteSet};

/// Takes everything up to the last slash, and gives nothing back. Subjects with more than 16 slashes pass the guard.
/// The limit exists because older PCREs use more of the stack for each round.
const LAST_SLASH: &[u8] = b"(?>(?:[^/]*+/){0,16})(?:[^/]*+/|";

/// The shortest text after a slash to use in a guard.
const SHORTEST: usize = 2;

/// Returns what may follow the last slash of a subject that the pattern matches. `None` if the pattern does not consist
/// of single bytes and sets before a `$`, has no slash, or too little follows a slash.
pub fn behind_last_slash(text: &[u8]) -> Option<Vec<Sequence>> {
    let Ast::Concat(items) = syntax::parse(text).ok()?.ast else { return None };
    let [items @ .., Ast::Dollar] = items.as_slice() else { return None };
    let sets = items.iter().map(Ast::byte_set).collect::<Option<Vec<ByteSet>>>()?;
    // The last slash of the subject is this one, or is at a later place that allows a slash.
    let last = sets.iter().rposition(|set| *set == ByteSet::one(b'/'))?;
    let behind = (last..sets.len()).filter(|at| sets[*at].contains(b'/')).map(|at| &sets[at + 1..]);
    let sequence = |sets: &[ByteSet]| {
        let mut sequence = Sequence::default();
        sets.iter().for_each(|set| sequence.push(set));
        (sets.len() >= SHORTEST).then_some(sequence)
    };
    behind.map(sequence).collect()
}

/// Writes a guard for subjects that begin with one of `beginnings`, or have one of `segments` after their last slash.
pub fn guard(beginnings: &[&Sequence], segments: &[Sequence]) -> Option<Vec<u8>> {
    let segments = beginning_with(&segments.iter().collect::<Vec<_>>(), false)?;
    let last = [LAST_SLASH, &*segments, b")"].concat();
    if beginnings.is_empty() {
        return Some([b"^", &*last].concat());
    }
    Some([b"^(?:", &*beginning_with(beginnings, false)?, b"|", &*last, b")"].concat())
}

#[cfg(test)]
mod tests {
    use super::{behind_last_slash, guard};
    use crate::maps::sequence::Sequence;

    fn segments(text: &str) -> Option<Vec<String>> {
        let sequences = behind_last_slash(text.as_bytes())?;
        Some(sequences.into_iter().map(|sequence| String::from_utf8(sequence.bytes).unwrap()).collect())
    }

    /// The last slash of a subject may be the last slash of the pattern or a later dot.
    #[test]
    fn slashes() {
        assert_eq!(segments("/about$").unwrap(), ["about"]);
        assert_eq!(segments("./about.html$").unwrap(), ["about.html", "html"]);
        assert_eq!(segments(r"/a/b\.htm$").unwrap(), ["b.htm"]);
        for text in ["/about", "about.html$", "/a$", "/a/$", "/a.$", "/ab*$", "(/ab)$", r"/ab\z", "^/ab$", "/ab|cd$"] {
            assert_eq!(segments(text), None, "{text}");
        }
    }

    /// The branches are written once.
    #[test]
    fn forms() {
        let sequence = |bytes: &str| Sequence { bytes: bytes.into(), sets: Vec::new() };
        let segments = [sequence("ab"), sequence("ac")];
        let text = |beginnings: &[&Sequence]| String::from_utf8(guard(beginnings, &segments).unwrap()).unwrap();
        assert_eq!(text(&[]), "^(?>(?:[^/]*+/){0,16})(?:[^/]*+/|a(?:b|c))");
        assert_eq!(text(&[&sequence("/x")]), "^(?:/x|(?>(?:[^/]*+/){0,16})(?:[^/]*+/|a(?:b|c)))");
    }
}
