//! The name of a location: its modifier, and the path or pattern that follows (`ngx_http_core_location`).

use super::location::Location;
use crate::facts::PASSES;
use crate::request::bytes::Bytes;
use crate::request::refused::Refused;
use crate::request::site::{Level, LevelId, Node};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifier {
    Prefix,
    /// `^~`
    NoRegex,
    /// `=`
    Exact,
    /// `~`
    Regex,
    /// `~*`
    CaselessRegex,
    /// `@`
    Named,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub modifier: Modifier,
    /// The path or the pattern, or a name with its `@`.
    pub text: Bytes,
}

impl Name {
    /// Reads the words of a location.
    pub fn read(level: &Level) -> Result<Name, Refused> {
        let name = |modifier, text: &[u8]| Ok(Name { modifier, text: text.into() });
        match &level.args[..] {
            [word] => match &**word {
                [b'=', path @ ..] => name(Modifier::Exact, path),
                [b'^', b'~', path @ ..] => name(Modifier::NoRegex, path),
                [b'~', b'*', pattern @ ..] => name(Modifier::CaselessRegex, pattern),
                [b'~', pattern @ ..] => name(Modifier::Regex, pattern),
                [b'@', ..] => name(Modifier::Named, word),
                path => name(Modifier::Prefix, path),
            },
            [modifier, text] => match &**modifier {
                b"=" => name(Modifier::Exact, text),
                b"^~" => name(Modifier::NoRegex, text),
                b"~" => name(Modifier::Regex, text),
                b"~*" => name(Modifier::CaselessRegex, text),
                _ => {
                    let text = modifier.escape_ascii();
                    Err(Refused::new(level.node, format!("invalid location modifier \"{text}\"")))
                }
            },
            _ => Err(Refused::new(level.node, "invalid number of arguments in \"location\" directive")),
        }
    }

    /// If it is a pattern, returns whether the pattern ignores case.
    pub fn caseless(&self) -> Option<bool> {
        match self.modifier {
            Modifier::Regex => Some(false),
            Modifier::CaselessRegex => Some(true),
            _ => None,
        }
    }

    pub fn is_named(&self) -> bool {
        self.modifier == Modifier::Named
    }

    /// Checks what nginx requires of a location that is nested in another.
    pub fn check(&self, node: Node, around: Option<&Name>) -> Result<(), Refused> {
        let Some(around) = around else { return Ok(()) };
        let (text, outer) = (self.text.escape_ascii(), around.text.escape_ascii());
        let is_outside = self.caseless().is_none() && !self.text.starts_with(&around.text);
        let message = match around.modifier {
            Modifier::Exact => format!("location \"{text}\" cannot be inside the exact location \"{outer}\""),
            Modifier::Named => format!("location \"{text}\" cannot be inside the named location \"{outer}\""),
            _ if self.is_named() => format!("named location \"{text}\" can be on the server level only"),
            _ if is_outside => format!("location \"{text}\" is outside location \"{outer}\""),
            _ => return Ok(()),
        };
        Err(Refused::new(node, message))
    }

    pub fn location(&self, id: LevelId, level: &Level) -> Location {
        Location {
            level: id,
            node: level.node,
            name: self.text.to_vec(),
            is_exact: self.modifier == Modifier::Exact,
            no_regex: self.modifier == Modifier::NoRegex,
            redirects: self.text.ends_with(b"/") && passes(level),
        }
    }
}

/// Whether a directive directly in a location passes its requests on: then nginx redirects `/a` to `/a/`.
fn passes(level: &Level) -> bool {
    let is_stated = |name: &&str| matches!(level.settings.get(*name), Some(Some(stated)) if !stated.is_empty());
    PASSES.iter().any(is_stated)
}
