//! `try_files`.

use crate::request::refused::Refused;
use crate::request::setting;
use crate::request::site::{Node, Stated};
use crate::request::value::Value;
use crate::request::variables::Variables;

/// A `try_files`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TryFiles {
    pub node: Node,
    pub files: Vec<Candidate>,
    pub last: Last,
}

/// A file or folder to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub value: Value,
    /// Whether it is written with a final slash.
    pub is_folder: bool,
}

/// What becomes of a request if there is none of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Last {
    Status(u16),
    Target(Value),
}

impl TryFiles {
    pub fn read(directive: &Stated, variables: &mut Variables) -> Result<TryFiles, Refused> {
        let refused = |message: String| Refused::new(directive.node, message);
        let Some((last, files)) = directive.args.split_last() else {
            return Err(refused("invalid number of arguments in \"try_files\" directive".to_owned()));
        };
        let mut candidates = Vec::new();
        for text in files {
            let folder = text.strip_suffix(b"/");
            let value = Value::parse(folder.unwrap_or(text), variables).map_err(refused)?;
            candidates.push(Candidate { value, is_folder: folder.is_some() });
        }
        let status = match last.strip_prefix(b"=") {
            Some(code) => {
                let status = setting::number(code).and_then(|code| u16::try_from(code).ok());
                let invalid = || refused(format!("invalid code \"{}\"", last.escape_ascii()));
                status.filter(|status| *status <= 999).ok_or_else(invalid)?
            }
            None => 0,
        };
        // nginx takes `=0` for a URI.
        let last = match status {
            1.. => Last::Status(status),
            0 => Last::Target(Value::parse(last, variables).map_err(refused)?),
        };
        Ok(TryFiles { node: directive.node, files: candidates, last })
    }
}
