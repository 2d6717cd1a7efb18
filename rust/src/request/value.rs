//! Values with variables and captures (`ngx_http_script_compile`): `/a/$1${uri}?x=$arg_x`.

use crate::request::variables::{VariableId, Variables};

/// A value, compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Text(Box<[u8]>),
    /// `$1` to `$9`.
    Capture(usize),
    Variable(VariableId),
    /// The first `?` of the target of a rewrite that stays inside nginx: the arguments begin behind it.
    Arguments,
}

impl Value {
    pub const EMPTY: Value = Value { parts: Vec::new() };

    /// A text.
    pub fn text(text: &[u8]) -> Value {
        Value { parts: vec![Part::Text(text.into())] }
    }

    /// Any value but the target of a rewrite. The error is nginx's message.
    pub fn parse(text: &[u8], variables: &mut Variables) -> Result<Value, String> {
        compile(text, variables, false)
    }

    /// The target of a rewrite that stays inside nginx.
    pub fn parse_target(text: &[u8], variables: &mut Variables) -> Result<Value, String> {
        compile(text, variables, true)
    }

    /// Its text, if it has neither variables nor captures.
    pub fn constant(&self) -> Option<&[u8]> {
        match &self.parts[..] {
            [] => Some(b""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether a `?` is written in it (`sc->args`).
    pub fn has_question_mark(&self) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Text(text) => text.contains(&b'?'),
            Part::Arguments => true,
            _ => false,
        })
    }
}

fn compile(text: &[u8], variables: &mut Variables, mut marks_arguments: bool) -> Result<Value, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(&byte) = rest.first() {
        if byte == b'$' {
            let (part, length) = reference(rest, variables)?;
            parts.push(part);
            rest = &rest[length..];
        } else if byte == b'?' && marks_arguments {
            marks_arguments = false;
            parts.push(Part::Arguments);
            rest = &rest[1..];
        } else {
            let ends = |byte: &u8| *byte == b'$' || (*byte == b'?' && marks_arguments);
            let length = rest.iter().position(ends).unwrap_or(rest.len());
            parts.push(Part::Text(rest[..length].into()));
            rest = &rest[length..];
        }
    }
    Ok(Value { parts })
}

/// What begins with the `$` that `text` begins with, and its length.
fn reference(text: &[u8], variables: &mut Variables) -> Result<(Part, usize), String> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let name_length = |text: &[u8]| text.iter().position(|byte| !is_name(byte)).unwrap_or(text.len());
    match text.get(1) {
        Some(digit @ b'1'..=b'9') => return Ok((Part::Capture(usize::from(digit - b'0')), 2)),
        Some(b'{') => {
            let length = name_length(&text[2..]);
            let name = &text[2..2 + length];
            match text.get(2 + length) {
                Some(b'}') if length > 0 => return Ok((Part::Variable(variables.intern(name)), length + 3)),
                Some(b'}') => {}
                _ if text.len() == 2 => {}
                _ => return Err(format!("the closing bracket in \"{}\" variable is missing", name.escape_ascii())),
            }
        }
        Some(_) => {
            let length = name_length(&text[1..]);
            if length > 0 {
                return Ok((Part::Variable(variables.intern(&text[1..1 + length])), length + 1));
            }
        }
        None => {}
    }
    Err("invalid variable name".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Part, Value};
    use crate::request::variables::Variables;

    fn text(text: &str) -> Part {
        Part::Text(text.as_bytes().into())
    }

    /// A digit is a capture of one digit; names end where their letters do, or at the brace.
    #[test]
    fn parts() {
        let mut variables = Variables::default();
        let mut parse = |value: &str| Value::parse(value.as_bytes(), &mut variables).map(|value| value.parts);
        assert_eq!(parse(""), Ok(vec![]));
        assert_eq!(parse("/a?b"), Ok(vec![text("/a?b")]));
        assert_eq!(parse("$10/$2"), Ok(vec![Part::Capture(1), text("0/"), Part::Capture(2)]));
        assert_eq!(parse("${x}y$X-"), Ok(vec![Part::Variable(0), text("y"), Part::Variable(0), text("-")]));
        for value in ["$", "a$", "$-", "${}", "${"] {
            assert_eq!(parse(value), Err("invalid variable name".to_owned()), "{value}");
        }
        for value in ["${x", "${x-}"] {
            assert_eq!(parse(value), Err("the closing bracket in \"x\" variable is missing".to_owned()), "{value}");
        }
    }

    /// The arguments of a target begin behind its first question mark.
    #[test]
    fn targets() {
        let mut variables = Variables::default();
        let target = Value::parse_target(b"/a?b=$1?c", &mut variables).unwrap();
        assert_eq!(*target.parts, [text("/a"), Part::Arguments, text("b="), Part::Capture(1), text("?c")]);
        assert!(target.has_question_mark());
        let without = Value::parse_target(b"/a$uri", &mut variables).unwrap();
        assert!(!without.has_question_mark());
        assert_eq!(Value::parse(b"/a?b", &mut variables).unwrap().constant(), Some(&b"/a?b"[..]));
        assert_eq!(without.constant(), None);
    }
}
