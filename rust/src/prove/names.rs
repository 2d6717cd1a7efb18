//! The names of variables: which are nginx's own, and which the configuration uses.
//!
//! nginx does not mind the case of a name (`ngx_http_get_variable_index`), and where a variable that it computes may be
//! changed, as `$args` may, it lets a map take it over in silence (`ngx_http_add_variable`).

use std::collections::HashSet;

use crate::prove::node::Node;
use crate::prove::{Proof, Refutation};
use crate::variables;

/// Checks the name of a variable that the emitted text defines.
pub fn is_free(name: &[u8]) -> Proof<()> {
    let refute = |why: &str| Err(Refutation::new(format!("${} {why}", name.escape_ascii())));
    let Some(text) = std::str::from_utf8(name).ok().filter(|text| is_plain(text)) else {
        return refute("is no name in small letters, which another spelling of it could not be told from");
    };
    if variables::is_own(text) {
        return refute("is a variable of nginx's own");
    }
    Ok(())
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

/// The variables of some texts, in small letters.
#[derive(Default)]
pub struct Used(HashSet<Vec<u8>>);

impl Used {
    /// All variables that `texts` mention.
    pub fn of<'n>(texts: impl Iterator<Item = &'n [Node<'n>]>) -> Used {
        let mut names = HashSet::new();
        texts.flatten().for_each(|node| mentioned(node, &mut names));
        Used(names.into_iter().map(<[u8]>::to_ascii_lowercase).collect())
    }

    /// Checks that a variable of the emitted text is none of them.
    pub fn leave(&self, name: &[u8]) -> Proof<()> {
        if self.0.contains(name) {
            return Err(Refutation::new(format!("${} is used in the original", name.escape_ascii())));
        }
        Ok(())
    }
}

/// The names after each `$` of a statement and its block.
fn mentioned<'n>(node: &'n Node, names: &mut HashSet<&'n [u8]>) {
    for word in &node.words {
        let mut rest = &**word;
        while let Some(at) = memchr::memchr(b'$', rest) {
            rest = &rest[at + 1..];
            let name = rest.strip_prefix(b"{").unwrap_or(rest);
            let end = name.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(name.len());
            names.insert(&name[..end]);
        }
    }
    node.block.iter().flatten().for_each(|node| mentioned(node, names));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What nginx defines, computes or cannot tell from another spelling is not free.
    #[test]
    fn free_names() {
        for name in ["nxo_1_key", "m_hit", "httpd"] {
            assert_eq!(is_free(name.as_bytes()), Ok(()), "{name}");
        }
        for name in ["args", "is_args", "arg_key", "http_cookie", "Key", "a-b", ""] {
            assert!(is_free(name.as_bytes()).is_err(), "{name}");
        }
    }
}
