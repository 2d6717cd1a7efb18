//! Checks that the names of new variables are neither nginx's own nor used by the configuration.
//!
//! nginx ignores the case of a name (`ngx_http_get_variable_index`). If a built-in variable may be changed, as `$args`
//! may, nginx silently lets a map replace it (`ngx_http_add_variable`).

use std::collections::HashSet;

use crate::hash::{self, Element, Sizes, TableFit};
use crate::prove::node::Node;
use crate::prove::{Discharged, Refutation};
use crate::variables;

/// Checks that the emitted text may define a variable of this name.
pub fn is_free(name: &[u8]) -> Discharged<()> {
    let refute = |why: &str| Err(Refutation::new(format!("${} {why}", name.escape_ascii())));
    let Some(text) = std::str::from_utf8(name).ok().filter(|text| is_plain(text)) else {
        return refute("is not a plain lowercase name, and nginx ignores the case of variable names");
    };
    if variables::is_own(text) {
        return refute("is a built-in variable");
    }
    Ok(())
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

/// The variables of some texts, in lower case.
#[derive(Default)]
pub struct Used {
    all: HashSet<Vec<u8>>,
    /// Variables that a directive may define, because they are a word of their own.
    defined: HashSet<Vec<u8>>,
}

impl Used {
    /// All variables that `texts` mention, or set by groups.
    pub fn of<'n>(texts: impl Iterator<Item = &'n [Node<'n>]>) -> Used {
        let (mut names, mut defined) = (HashSet::new(), HashSet::new());
        texts.flatten().for_each(|node| mentioned(node, &mut names, &mut defined));
        let lowered = |names: HashSet<&[u8]>| names.into_iter().map(<[u8]>::to_ascii_lowercase).collect();
        Used { all: lowered(names), defined: lowered(defined) }
    }

    /// Checks that the original does not use a variable of the emitted text.
    pub fn leave(&self, name: &[u8]) -> Discharged<()> {
        if self.all.contains(name) {
            return Err(Refutation::new(format!("the original uses ${}", name.escape_ascii())));
        }
        Ok(())
    }
}

/// Checks that nginx builds the table of all variables (`ngx_http_variables_init_vars`) without a warning: its own,
/// those of the configuration and those of the maps. A name of the configuration that is too long for a bucket cannot
/// be a variable, because nginx would not start.
pub fn fit<'n>(used: [&'n Used; 2], maps: impl Iterator<Item = &'n [u8]>, sizes: Sizes) -> Discharged<()> {
    let mut maps = maps.peekable();
    if maps.peek().is_none() {
        return Ok(()); // the table does not change
    }
    let mut names: HashSet<&[u8]> = variables::hashed().map(str::as_bytes).collect();
    names.extend(used.into_iter().flat_map(|used| &used.defined).map(Vec::as_slice));
    names.retain(|name| !name.iter().all(u8::is_ascii_digit) && hash::has_room(&Element::new(name), sizes));
    names.extend(maps);
    let elements: Vec<Element> = names.into_iter().map(Element::new).collect();
    if matches!(hash::simulate(&elements, sizes), TableFit::Fits(_)) {
        return Ok(());
    }
    Err(Refutation::new("nginx would fail to build the variables hash, or warn"))
}

/// The names of the groups of a pattern, including everything that may be one.
pub fn of_groups(pattern: &[u8]) -> impl Iterator<Item = &[u8]> {
    memchr::memmem::find_iter(pattern, b"(?").filter_map(|at| {
        let behind = &pattern[at + 2..];
        let name = match behind.strip_prefix(b"P").unwrap_or(behind) {
            [b'<' | b'\'', name @ ..] => name,
            _ => return None,
        };
        Some(&name[..name.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?])
    })
}

/// Collects the names after each `$` of a statement and its block, and the names of groups, which become variables.
fn mentioned<'n>(node: &'n Node, names: &mut HashSet<&'n [u8]>, defined: &mut HashSet<&'n [u8]>) {
    for word in &node.words {
        for name in of_groups(word).filter(|name| !name.is_empty()) {
            names.insert(name);
            defined.insert(name);
        }
        let mut rest = &**word;
        while let Some(at) = memchr::memchr(b'$', rest) {
            rest = &rest[at + 1..];
            let name = rest.strip_prefix(b"{").unwrap_or(rest);
            let end = name.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(name.len());
            names.insert(&name[..end]);
            if matches!(&name[end..], b"" | b"}") && word.len() - name.len() <= 2 {
                defined.insert(&name[..end]);
            }
        }
    }
    node.block.iter().flatten().for_each(|node| mentioned(node, names, defined));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::VARIABLES_DEFAULTS;
    use crate::prove::node;

    /// Names that nginx defines, computes or cannot distinguish from another spelling are not free.
    #[test]
    fn free_names() {
        for name in ["nxo_1_key", "m_hit", "httpd"] {
            assert_eq!(is_free(name.as_bytes()), Ok(()), "{name}");
        }
        for name in ["args", "is_args", "arg_key", "http_cookie", "Key", "a-b", ""] {
            assert!(is_free(name.as_bytes()).is_err(), "{name}");
        }
    }

    /// Groups define variables, in each spelling of them.
    #[test]
    fn groups() {
        let pattern = br"^/(?<One>a)(?P<two>b)(?'three'c)(?<=d)(?:e)(f)\(?<g>";
        assert_eq!(of_groups(pattern).collect::<Vec<_>>(), [&b"One"[..], b"two", b"three", b"", b"g"]);
        let text = [b"rewrite '".as_slice(), b"^/(?<One>a)", b"' /b;"].concat();
        let nodes = node::parse(&text, "it").unwrap();
        let used = Used::of(std::iter::once(nodes.as_slice()));
        assert!(used.leave(b"one").is_err() && used.leave(b"two").is_ok());
    }

    /// nginx's own variables fit their table by default, as do those of a compilation, but not any number of variables.
    #[test]
    fn table_of_variables() {
        let fits = |names: &[String]| {
            fit([&Used::default(), &Used::default()], names.iter().map(String::as_bytes), VARIABLES_DEFAULTS).is_ok()
        };
        assert!(fits(&[]));
        assert!(fits(&["nxo_123456_key".to_owned()]));
        assert!(!fits(&["n".repeat(47)]));
        assert!(!fits(&(0..1100).map(|number| format!("nxo_123456_{number}_key")).collect::<Vec<_>>()));
    }
}
