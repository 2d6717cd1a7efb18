//! The replacement and the flag of a `rewrite`, read as `ngx_http_rewrite` and `ngx_http_script_compile` read them: the
//! prover's reading, which the planner has no part in ([`super`]).

use std::borrow::Cow;

use crate::variables;

/// How a rule ends the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Redirect(u16),
    Last,
    Break,
}

impl End {
    /// The end that a replacement and a flag cause. `None` if the rule does not end the script, or ends it in another
    /// way.
    pub fn of(replacement: &[u8], flag: Option<&[u8]>) -> Option<End> {
        let redirects = is_redirect(replacement);
        match flag {
            Some(b"permanent") => Some(End::Redirect(301)),
            Some(b"redirect") => Some(End::Redirect(302)),
            None | Some(b"last") if redirects => Some(End::Redirect(302)),
            Some(b"last") => Some(End::Last),
            Some(b"break") if !redirects => Some(End::Break),
            _ => None,
        }
    }
}

/// Whether a replacement redirects whatever its flag is (`ngx_http_rewrite`): its text is compared, not its value.
fn is_redirect(replacement: &[u8]) -> bool {
    [&b"http://"[..], b"https://", b"$scheme"].iter().any(|start| replacement.starts_with(start))
}

/// A piece of a replacement.
pub enum TargetPart<'t> {
    Text(&'t [u8]),
    Variable(&'t [u8]),
    Capture(u8),
}

impl TargetPart<'_> {
    /// Whether reading the part may change `$1` to `$9`. A variable may be a map with a regex, which sets them before
    /// the captures of the target are written.
    pub fn may_set_captures(&self) -> bool {
        matches!(self, TargetPart::Variable(name) if !variables::keeps_captures(name))
    }
}

/// The replacement of a rule, split into pieces, and how the rule ends the script.
pub struct Target<'t> {
    pub end: End,
    pub path: Vec<TargetPart<'t>>,
    pub args: Option<Vec<TargetPart<'t>>>,
    pub appends_args: bool,
}

/// A piece of a replacement. Adjacent texts are joined.
#[derive(PartialEq, Eq)]
enum Joined<'v> {
    Text(Cow<'v, [u8]>),
    Variable(&'v [u8]),
    Capture(u8),
}

impl<'t> Target<'t> {
    /// Reads a replacement. `None` for a rule that does not end the script.
    pub fn read(replacement: &'t [u8], flag: Option<&[u8]>) -> Option<Target<'t>> {
        let end = End::of(replacement, flag)?;
        let (text, appends_args) = match replacement {
            [text @ .., b'?'] => (text, false),
            text => (text, true),
        };
        let (mut parts, mut path) = (Vec::new(), None);
        let (mut at, mut start) = (0, 0);
        while at < text.len() {
            let part = match text[at] {
                b'?' if path.is_none() => None,
                b'$' => Some(variable(&text[at..])?),
                _ => {
                    at += 1;
                    continue;
                }
            };
            if start < at {
                parts.push(TargetPart::Text(&text[start..at]));
            }
            match part {
                None => {
                    path = Some(std::mem::take(&mut parts));
                    at += 1;
                }
                Some((part, length)) => {
                    parts.push(part);
                    at += length;
                }
            }
            start = at;
        }
        if start < text.len() {
            parts.push(TargetPart::Text(&text[start..]));
        }
        let (path, args) = match path {
            Some(path) => (path, Some(parts)),
            None => (parts, None),
        };
        Some(Target { end, path, args, appends_args })
    }

    /// The pieces of the path and of the arguments.
    pub fn parts(&self) -> impl Iterator<Item = &TargetPart<'t>> {
        self.path.iter().chain(self.args.iter().flatten())
    }

    /// The variables that it reads.
    pub fn variables(&self) -> impl Iterator<Item = &[u8]> {
        self.parts().filter_map(|part| match part {
            TargetPart::Variable(name) => Some(*name),
            _ => None,
        })
    }

    /// Whether the target uses captures of the rule.
    pub fn reads_captures(&self) -> bool {
        self.parts().any(|part| matches!(part, TargetPart::Capture(_)))
    }

    /// Whether this target equals another one once some variables are replaced by their values, which have no
    /// variables.
    pub fn is_with<'v>(&'v self, other: &'v Target, value: &dyn Fn(&[u8]) -> Option<&'v [u8]>) -> bool {
        let same = |own: &'v [TargetPart], others: &'v [TargetPart]| joined(own, value) == joined(others, &|_| None);
        let same_args = match (&self.args, &other.args) {
            (Some(own), Some(others)) => same(own, others),
            (None, None) => true,
            _ => false,
        };
        same_args && self.end == other.end && self.appends_args == other.appends_args && same(&self.path, &other.path)
    }
}

fn joined<'v>(parts: &'v [TargetPart], value: &dyn Fn(&[u8]) -> Option<&'v [u8]>) -> Vec<Joined<'v>> {
    let mut out: Vec<Joined> = Vec::with_capacity(parts.len());
    for part in parts {
        let text = match part {
            TargetPart::Text(text) => text,
            TargetPart::Capture(digit) => {
                out.push(Joined::Capture(*digit));
                continue;
            }
            TargetPart::Variable(name) => match value(name) {
                Some(value) => value,
                None => {
                    out.push(Joined::Variable(name));
                    continue;
                }
            },
        };
        match out.last_mut() {
            _ if text.is_empty() => {}
            Some(Joined::Text(last)) => last.to_mut().extend_from_slice(text),
            _ => out.push(Joined::Text(Cow::Borrowed(text))),
        }
    }
    out
}

/// Reads a variable at a `$`. Also returns how many bytes it takes.
pub fn variable(text: &[u8]) -> Option<(TargetPart<'_>, usize)> {
    let name = |from: usize| {
        let rest = &text[from..];
        &rest[..rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(rest.len())]
    };
    match text.get(1)? {
        digit @ b'1'..=b'9' => Some((TargetPart::Capture(digit - b'0'), 2)),
        b'{' => {
            let name = name(2);
            (!name.is_empty() && text.get(2 + name.len()) == Some(&b'}'))
                .then_some((TargetPart::Variable(name), name.len() + 3))
        }
        _ => {
            let name = name(1);
            (!name.is_empty()).then_some((TargetPart::Variable(name), name.len() + 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    /// Whether a target is another one with `$t` replaced.
    fn is_with(target: (&str, &str), value: &str, other: (&str, &str)) -> bool {
        let target = Target::read(target.0.as_bytes(), Some(target.1.as_bytes())).unwrap();
        let other = Target::read(other.0.as_bytes(), Some(other.1.as_bytes())).unwrap();
        target.is_with(&other, &|name| (name == b"t").then_some(value.as_bytes()))
    }

    /// A value stands for the text that it is, and for nothing else.
    #[test]
    fn values() {
        for (target, value, other) in [
            (("$t", "last"), "/a", ("/a", "last")),
            (("/a${t}c$1", "last"), "b", ("/abc$1", "last")),
            (("https://h$t", "redirect"), "/a", ("https://h/a", "last")),
            (("/a$t$uri", "last"), "", ("/a${uri}", "last")),
            (("/a?$t=1?", "last"), "x?", ("/a?x?=1?", "last")),
        ] {
            assert!(is_with(target, value, other), "{target:?} {value} {other:?}");
        }
        for (target, value, other) in [
            (("$t", "last"), "/a?b", ("/a?b", "last")),
            (("$t", "last"), "/a?", ("/a?", "last")),
            (("$t?", "last"), "/a", ("/a", "last")),
            (("$t?", "last"), "/a", ("/a??", "last")),
            (("$t", "last"), "/a", ("/a", "break")),
            (("$t", "redirect"), "/a", ("/a", "permanent")),
            (("$t", "last"), "https://h", ("https://h", "last")),
            (("/a$t", "last"), "$1", ("/a$1", "last")),
            (("/a$t", "last"), "b", ("/ab$1", "last")),
            (("/a$1$t", "last"), "b", ("/ab$1", "last")),
            (("/a$u", "last"), "b", ("/ab", "last")),
        ] {
            assert!(!is_with(target, value, other), "{target:?} {value} {other:?}");
        }
    }
}
