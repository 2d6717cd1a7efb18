//! Builds a readable example of a URI that a pattern matches.

use super::{Ast, ByteSet};

/// The most bytes of an example.
const LONGEST: usize = 200;

/// Returns a short string that the pattern matches if its assertions hold, which the caller has to check with PCRE2. It
/// has a dot for a `.` in a name, and begins with a slash, as a URI does, even if the pattern has no `^`. O(size of the
/// pattern).
pub fn example(ast: &Ast) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    append(ast, &mut out)?;
    if out.first() != Some(&b'/') {
        out.insert(0, b'/');
    }
    Some(out)
}

fn append(ast: &Ast, out: &mut Vec<u8>) -> Option<()> {
    match ast {
        Ast::Byte(byte) => out.push(*byte),
        Ast::Class(set) if *set == ByteSet::NO_NEWLINE && out.last().is_some_and(u8::is_ascii_alphanumeric) => {
            out.push(b'.')
        }
        Ast::Class(set) => out.push(pleasant(set)?),
        Ast::Concat(parts) => return parts.iter().try_for_each(|part| append(part, out)),
        Ast::Alternation(parts) => return append(parts.first()?, out),
        Ast::Repeat { min, sub, .. } => return (0..*min).try_for_each(|_| append(sub, out)),
        Ast::Capture { sub, .. } => return append(sub, out),
        Ast::Superset { .. } => return None,
        Ast::Empty | Ast::Start | Ast::Dollar | Ast::End | Ast::WordBoundary | Ast::NotWordBoundary => {}
    }
    (out.len() <= LONGEST).then_some(())
}

/// A byte that reads well in a URI.
fn pleasant(set: &ByteSet) -> Option<u8> {
    (b'a'..=b'z').chain(b'0'..=b'9').chain(b'A'..=b'Z').chain(*b"-_./").find(|byte| set.contains(*byte))
}

#[cfg(test)]
mod tests {
    use super::example;
    use crate::syntax::parse;

    fn of(pattern: &str) -> Option<String> {
        let uri = example(&parse(pattern.as_bytes()).unwrap().ast)?;
        Some(String::from_utf8(uri).unwrap())
    }

    /// As short as the pattern allows, the first of several ways, and a path.
    #[test]
    fn examples() {
        assert_eq!(of("^/a/(.*)$").as_deref(), Some("/a/"));
        assert_eq!(of(r"^/(x|y)/[0-9]{2}/\d+z*").as_deref(), Some("/x/00/0"));
        assert_eq!(of("^/info/filing.html$").as_deref(), Some("/info/filing.html"));
        assert_eq!(of("^/.x").as_deref(), Some("/ax"), "no segment of dots");
        assert_eq!(of("blog").as_deref(), Some("/blog"));
        assert_eq!(of("^/a(?!b)"), None);
    }
}
