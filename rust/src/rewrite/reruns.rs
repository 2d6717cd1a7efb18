//! What may run the script of a server again in one request, as the configuration says: see
//! `nginxopt/rewrite/surroundings.py`.
//!
//! nginx keeps the value of a map that is not volatile for the request. Such a map saves a hit one lookup, as `rewrite`
//! evaluates each variable twice: for the length, and for the text.

use std::collections::HashSet;

/// The URIs with which the script may run again; all are known.
#[derive(Clone, Debug, Default)]
pub struct Reruns {
    /// Whole URIs, in lower case.
    uris: HashSet<Vec<u8>>,
    /// The ends of URIs of indexes, such as `/index.html`, in lower case.
    ends: Vec<Vec<u8>>,
    /// Whether the URI may change before, apart from a redirect.
    changes: bool,
}

impl Reruns {
    /// From URIs, and from names of indexes.
    pub fn new(uris: &[Vec<u8>], names: &[Vec<u8>], changes: bool) -> Reruns {
        let uris = uris.iter().map(|uri| uri.to_ascii_lowercase()).collect();
        let ends = names.iter().map(|name| [b"/", &*name.to_ascii_lowercase()].concat()).collect();
        Reruns { uris, ends, changes }
    }

    /// Whether one of them may be a spelling of a key.
    pub fn may_be(&self, key: &[u8]) -> bool {
        let key = key.to_ascii_lowercase();
        self.uris.contains(&key) || self.ends.iter().any(|end| key.ends_with(end))
    }

    /// Whether each of them has a capital letter if the first URI had one: they are that URI and a name behind it.
    pub fn keep_capitals(&self) -> bool {
        self.uris.is_empty() && !self.changes
    }
}
