//! Reads the scripts of the rewrite module once (`ngx_http_rewrite_module.c`).

mod condition;
mod rewrite;
mod run;

use crate::lexer::{Event, Lexer};
use crate::request::bytes::Bytes;
use crate::request::refused::Refused;
use crate::request::site::{LevelId, Node, Opaque, Statement};

pub use condition::{Condition, FileTest};
pub use rewrite::{Flag, Rewrite};
pub use run::{Hit, Run};

/// The statements of a level, in their order.
pub struct Script {
    pub codes: Vec<Code>,
}

/// A statement. Consecutive rewrites are one statement.
pub enum Code {
    Set {
        node: Node,
        /// Without its `$`, as written.
        variable: Bytes,
        value: Bytes,
    },
    If {
        node: Node,
        condition: Condition,
        /// The block, whose script runs if the condition is true.
        level: LevelId,
    },
    Rewrites(Box<Run>),
    Return(Return),
    Break {
        node: Node,
    },
    Opaque(Opaque),
}

/// A `return`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Return {
    pub node: Node,
    pub status: u16,
    /// The text or URL. If `None`, nginx sends its own response for the status.
    pub text: Option<Bytes>,
}

impl Script {
    /// Reads the statements of a level. Folded rewrites are read from `texts`. Fails with the message of nginx for the
    /// first statement that it refuses.
    pub fn new(statements: &[Statement], texts: &[Vec<u8>]) -> Result<Script, Refused> {
        let mut codes = Vec::new();
        let mut rewrites = Vec::new();
        for statement in statements {
            let code = match statement {
                Statement::Rewrite { node, pattern, replacement, flag } => {
                    rewrites.push(Rewrite::new(*node, pattern, replacement, flag.as_deref())?);
                    continue;
                }
                Statement::Rewrites { node, text, start, end, .. } => {
                    folded(*node, &texts[*text][*start..*end], &mut rewrites)?;
                    continue;
                }
                Statement::Set { node, variable, value } => set(*node, variable, value)?,
                Statement::If { node, condition, level } => {
                    Code::If { node: *node, condition: Condition::read(*node, condition)?, level: *level }
                }
                Statement::Return { node, args } => Code::Return(Return::read(*node, args)?),
                Statement::Break { node } => Code::Break { node: *node },
                Statement::Opaque(opaque) => Code::Opaque(opaque.clone()),
            };
            end_run(&mut rewrites, &mut codes)?;
            codes.push(code);
        }
        end_run(&mut rewrites, &mut codes)?;
        Ok(Script { codes })
    }
}

fn end_run(rewrites: &mut Vec<Rewrite>, codes: &mut Vec<Code>) -> Result<(), Refused> {
    if !rewrites.is_empty() {
        codes.push(Code::Rewrites(Box::new(Run::new(std::mem::take(rewrites))?)));
    }
    Ok(())
}

/// Reads the rewrites of a text. They are numbered from `node` on.
fn folded(node: Node, text: &[u8], rewrites: &mut Vec<Rewrite>) -> Result<(), Refused> {
    let mut node = node;
    for event in Lexer::new(text) {
        match event.map_err(|error| Refused::new(node, error.to_string()))? {
            Event::Statement { words, .. } => {
                let args: Vec<&[u8]> = words[1..].iter().map(|word| &*word.value).collect();
                let (pattern, replacement, flag) = match args[..] {
                    [pattern, replacement] => (pattern, replacement, None),
                    [pattern, replacement, flag] => (pattern, replacement, Some(flag)),
                    _ => return Err(Refused::new(node, "invalid number of arguments in \"rewrite\" directive")),
                };
                rewrites.push(Rewrite::new(node, pattern, replacement, flag)?);
                node += 1;
            }
            Event::Comment { .. } => {}
            Event::Open { .. } | Event::Close { .. } => return Err(Refused::new(node, "a block among rewrites")),
        }
    }
    Ok(())
}

fn set(node: Node, variable: &[u8], value: &Bytes) -> Result<Code, Refused> {
    match variable.strip_prefix(b"$") {
        Some(name) if !name.is_empty() => Ok(Code::Set { node, variable: name.into(), value: value.clone() }),
        _ => Err(Refused::new(node, format!("invalid variable name \"{}\"", variable.escape_ascii()))),
    }
}

impl Return {
    /// Reads the words after `return`.
    fn read(node: Node, args: &[Bytes]) -> Result<Return, Refused> {
        let (first, text) = match args {
            [first] => (first, None),
            [first, text] => (first, Some(text.clone())),
            _ => return Err(Refused::new(node, "invalid number of arguments in \"return\" directive")),
        };
        let invalid = || Refused::new(node, format!("invalid return code \"{}\"", first.escape_ascii()));
        let is_number = !first.is_empty() && first.iter().all(u8::is_ascii_digit);
        if !is_number {
            let is_url = text.is_none() && rewrite::is_redirect(first);
            return if is_url { Ok(Return { node, status: 302, text: Some(first.clone()) }) } else { Err(invalid()) };
        }
        let add = |status: u16, digit: &u8| Some(status * 10 + u16::from(digit - b'0')).filter(|status| *status <= 999);
        let status = first.iter().try_fold(0, add).ok_or_else(invalid)?;
        Ok(Return { node, status, text })
    }
}

#[cfg(test)]
mod tests;
