//! The condition of an `if` (`ngx_http_rewrite_if_condition`).

use crate::request::bytes::Bytes;
use crate::request::patterns::{Pattern, Patterns};
use crate::request::refused::Refused;
use crate::request::site::Node;

/// What the condition tests.
pub enum Condition {
    /// `$variable`: true if the value is neither empty nor `0`. Names of variables are without `$`.
    IsTrue { variable: Bytes },
    /// `=`, or `!=`.
    Equals { variable: Bytes, value: Bytes, negated: bool },
    /// `~` or `~*`, or either with `!`. There is just one pattern.
    Matches { variable: Bytes, pattern: Box<Patterns>, negated: bool },
    /// `-f` and so on.
    File { test: FileTest, path: Bytes, negated: bool },
}

/// What the path must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileTest {
    /// `-f`
    File,
    /// `-d`
    Directory,
    /// `-e`: a file or a directory.
    Exists,
    /// `-x`
    Executable,
}

impl Condition {
    /// Reads the words between the parentheses.
    pub fn read(node: Node, words: &[Bytes]) -> Result<Condition, Refused> {
        let words: Vec<&[u8]> = words.iter().map(|word| &**word).collect();
        match words[..] {
            [[b'$', variable @ ..]] if !variable.is_empty() => Ok(Condition::IsTrue { variable: variable.into() }),
            [[b'$', variable @ ..], operator, value] if !variable.is_empty() => {
                compare(node, variable.into(), operator, value)
            }
            [operator @ ([b'-', _] | [b'!', b'-', _]), path] => {
                let test = file_test(operator[operator.len() - 1]).ok_or_else(|| invalid(node, operator))?;
                Ok(Condition::File { test, path: path.into(), negated: operator[0] == b'!' })
            }
            [first, ..] => Err(invalid(node, first)),
            [] => Err(invalid(node, b"")),
        }
    }
}

fn compare(node: Node, variable: Bytes, operator: &[u8], value: &[u8]) -> Result<Condition, Refused> {
    let negated = operator.starts_with(b"!");
    let caseless = operator.ends_with(b"*");
    match operator {
        b"=" | b"!=" => Ok(Condition::Equals { variable, value: value.into(), negated }),
        b"~" | b"~*" | b"!~" | b"!~*" => {
            let pattern = Box::new(Patterns::new(vec![Pattern { node, text: value.into(), caseless }])?);
            Ok(Condition::Matches { variable, pattern, negated })
        }
        _ => Err(Refused::new(node, format!("unexpected \"{}\" in condition", operator.escape_ascii()))),
    }
}

fn file_test(letter: u8) -> Option<FileTest> {
    match letter {
        b'f' => Some(FileTest::File),
        b'd' => Some(FileTest::Directory),
        b'e' => Some(FileTest::Exists),
        b'x' => Some(FileTest::Executable),
        _ => None,
    }
}

fn invalid(node: Node, word: &[u8]) -> Refused {
    Refused::new(node, format!("invalid condition \"{}\"", word.escape_ascii()))
}
