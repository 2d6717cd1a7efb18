//! A `rewrite` (`ngx_http_rewrite`).

use crate::request::bytes::Bytes;
use crate::request::refused::Refused;
use crate::request::site::Node;

/// A `rewrite` rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrite {
    pub node: Node,
    pub pattern: Bytes,
    /// The new URI, with variables and captures, without the `?` that drops the arguments.
    pub replacement: Bytes,
    pub flag: Flag,
    /// Whether the arguments of the request are added, because the replacement does not end with `?`.
    pub adds_args: bool,
}

/// What follows a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// The next statement.
    None,
    Last,
    Break,
    /// A redirect with this status.
    Redirect(u16),
}

impl Rewrite {
    /// Reads the words after `rewrite`.
    pub fn new(node: Node, pattern: &[u8], replacement: &[u8], flag: Option<&[u8]>) -> Result<Rewrite, Refused> {
        if replacement.is_empty() {
            return Err(Refused::new(node, "empty replacement"));
        }
        let is_redirect = is_redirect(replacement);
        let flag = match flag {
            None if is_redirect => Flag::Redirect(302),
            None => Flag::None,
            // If the replacement begins like a URL, the rule redirects, whatever the flag.
            Some(b"last" | b"break") if is_redirect => Flag::Redirect(302),
            Some(b"last") => Flag::Last,
            Some(b"break") => Flag::Break,
            Some(b"redirect") => Flag::Redirect(302),
            Some(b"permanent") => Flag::Redirect(301),
            Some(other) => {
                return Err(Refused::new(node, format!("invalid parameter \"{}\"", other.escape_ascii())));
            }
        };
        let kept = replacement.strip_suffix(b"?").unwrap_or(replacement);
        let adds_args = kept.len() == replacement.len();
        Ok(Rewrite { node, pattern: pattern.into(), replacement: kept.into(), flag, adds_args })
    }
}

/// Whether the beginning of a replacement makes the rule a redirect.
pub(super) fn is_redirect(text: &[u8]) -> bool {
    [&b"http://"[..], b"https://", b"$scheme"].iter().any(|start| text.starts_with(start))
}
