//! Takes the names off groups.

use std::borrow::Cow;

use crate::syntax::{Ast, Pattern, parse};

/// Returns a portable pattern with the names of its groups taken off: it matches and captures the same, and sets no
/// variables. `None` for any other pattern. O(length).
pub fn without_names(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    let pattern = parse(text).ok()?;
    if !pattern.named {
        return Some(Cow::Borrowed(text));
    }
    let mut unnamed = Vec::with_capacity(text.len());
    let mut start = 0;
    for name in &pattern.name_spans {
        unnamed.extend_from_slice(&text[start..name.start]);
        start = name.end;
    }
    unnamed.extend_from_slice(&text[start..]);
    let is_same = |read: Pattern| {
        read.captures == pattern.captures
            && read.ast == nameless(&pattern.ast)
            && read.looks.iter().eq(pattern.looks.iter().map(nameless).collect::<Vec<_>>().iter())
    };
    parse(&unnamed).is_ok_and(is_same).then_some(Cow::Owned(unnamed))
}

/// A tree without the names in it.
fn nameless(ast: &Ast) -> Ast {
    let all = |parts: &[Ast]| parts.iter().map(nameless).collect();
    match ast {
        Ast::Capture { index, sub, .. } => Ast::Capture { index: *index, name: None, sub: Box::new(nameless(sub)) },
        Ast::Concat(parts) => Ast::Concat(all(parts)),
        Ast::Alternation(parts) => Ast::Alternation(all(parts)),
        Ast::Repeat { min, max, greedy, sub } => {
            Ast::Repeat { min: *min, max: *max, greedy: *greedy, sub: Box::new(nameless(sub)) }
        }
        Ast::Superset { reason, sub } => Ast::Superset { reason, sub: Box::new(nameless(sub)) },
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_names;

    fn unnamed(pattern: &str) -> Option<String> {
        without_names(pattern.as_bytes()).map(|text| String::from_utf8(text.into_owned()).unwrap())
    }

    /// Groups lose their names, wherever they are, and nothing else does.
    #[test]
    fn names() {
        for (pattern, expected) in [
            ("^/docs/(?<old>.*)$", "^/docs/(.*)$"),
            ("(?i)^/(?P<a>x(?<b>y)?)(z)(?!(?<c>w))", "(?i)^/(x(y)?)(z)(?!(w))"),
            (r"^/\(\?<a>[(?<b>](?<c>x)", r"^/\(\?<a>[(?<b>](x)"),
            ("^/(a)$", "^/(a)$"),
        ] {
            assert_eq!(unnamed(pattern).as_deref(), Some(expected), "{pattern}");
        }
        for pattern in [r"^/(?<a>x)\k<a>", "^/(?'a'x)", "^/(?<a>x", "^/(?<a>x)(?<a>y)", "^/(?<a>?x)"] {
            assert_eq!(unnamed(pattern), None, "{pattern}");
        }
    }
}
