//! Tables of host names with wildcards, for servers and for maps with `hostnames` (`ngx_hash_add_key`,
//! `ngx_hash_find_combined`).

use hashbrown::{HashMap, HashSet};

/// A table of names, in lower case: `a.b`, `*.a.b`, `.a.b` (both) and `a.b.*`.
#[derive(Debug)]
pub struct Hosts<T> {
    exact: HashMap<Vec<u8>, T>,
    /// Names `*.x` and `.x`, by `x`, and whether `x` itself matches as well.
    heads: HashMap<Vec<u8>, (T, bool)>,
    /// Names `x.*`, by `x`.
    tails: HashMap<Vec<u8>, T>,
    /// The names that can no longer be added as exact ones.
    taken: HashSet<Vec<u8>>,
}

/// Why a name is not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAdded {
    /// It is neither a name nor a wildcard.
    Invalid,
    /// An earlier one is equal; servers then ignore it, maps refuse it.
    Conflict,
}

/// The form of the name that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    Exact,
    /// `*.a.b` and `.a.b`
    Head,
    /// `a.b.*`
    Tail,
}

impl<T> Default for Hosts<T> {
    fn default() -> Hosts<T> {
        Hosts {
            exact: HashMap::default(),
            heads: HashMap::default(),
            tails: HashMap::default(),
            taken: HashSet::default(),
        }
    }
}

impl<T: Copy> Hosts<T> {
    /// Adds a name that may be a wildcard, in any case.
    pub fn add(&mut self, name: &[u8], value: T) -> Result<(), NotAdded> {
        let name = name.to_ascii_lowercase();
        let has_two_dots = memchr::memmem::find(&name, b"..").is_some();
        let stars = name.iter().filter(|byte| **byte == b'*').count();
        if has_two_dots || stars > 1 || name.contains(&0) {
            return Err(NotAdded::Invalid);
        }
        match &*name {
            [b'.', host @ ..] if !host.is_empty() => {
                if !self.taken.insert(host.to_vec()) {
                    return Err(NotAdded::Conflict);
                }
                put(&mut self.heads, host, (value, true))
            }
            [b'*', b'.', host @ ..] if !host.is_empty() => put(&mut self.heads, host, (value, false)),
            [host @ .., b'.', b'*'] if !host.is_empty() => put(&mut self.tails, host, value),
            _ if stars > 0 => Err(NotAdded::Invalid),
            _ => self.add_exact(&name, value),
        }
    }

    /// Adds a name as it is, even if it looks like a wildcard.
    pub fn add_exact(&mut self, name: &[u8], value: T) -> Result<(), NotAdded> {
        let name = name.to_ascii_lowercase();
        if !self.taken.insert(name.clone()) {
            return Err(NotAdded::Conflict);
        }
        self.exact.insert(name, value);
        Ok(())
    }

    /// Finds the name that matches `host`, which is in lower case: an exact one, or else the longest `*.x`, or else the
    /// longest `x.*`. O(length of the host x its dots).
    pub fn find(&self, host: &[u8]) -> Option<(T, Form)> {
        if let Some(value) = self.exact.get(host) {
            return Some((*value, Form::Exact));
        }
        let head = self.head(host).map(|value| (value, Form::Head));
        head.or_else(|| self.tail(host).map(|value| (value, Form::Tail)))
    }

    fn head(&self, host: &[u8]) -> Option<T> {
        if self.heads.is_empty() || host.is_empty() {
            return None;
        }
        let bare = self.heads.get(host).filter(|(_, is_bare)| *is_bare);
        let dots = memchr::memchr_iter(b'.', host);
        bare.or_else(|| dots.into_iter().find_map(|dot| self.heads.get(&host[dot + 1..]))).map(|(value, _)| *value)
    }

    fn tail(&self, host: &[u8]) -> Option<T> {
        if self.tails.is_empty() {
            return None;
        }
        memchr::memrchr_iter(b'.', host).find_map(|dot| self.tails.get(&host[..dot])).copied()
    }
}

fn put<T>(names: &mut HashMap<Vec<u8>, T>, host: &[u8], value: T) -> Result<(), NotAdded> {
    if names.contains_key(host) {
        return Err(NotAdded::Conflict);
    }
    names.insert(host.to_vec(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Form, Hosts};

    /// Whether a name, by itself, matches a host, by the rules of nginx's documentation.
    fn matches(name: &str, host: &str) -> Option<(Form, usize)> {
        if let Some(rest) = name.strip_prefix("*.") {
            return host.ends_with(&format!(".{rest}")).then_some((Form::Head, name.len()));
        }
        if let Some(rest) = name.strip_prefix('.') {
            let is_head = host == rest || host.ends_with(name);
            return is_head.then_some((Form::Head, name.len() + 1));
        }
        if let Some(rest) = name.strip_suffix(".*") {
            return host.starts_with(&format!("{rest}.")).then_some((Form::Tail, name.len()));
        }
        (name == host).then_some((Form::Exact, name.len()))
    }

    fn name() -> impl Strategy<Value = String> {
        ("(a|b|c)(\\.(a|b|c)){0,3}", 0..4).prop_map(|(name, form)| match form {
            0 => name,
            1 => format!("*.{name}"),
            2 => format!(".{name}"),
            _ => format!("{name}.*"),
        })
    }

    proptest! {
        /// The best form answers, and among names of that form the longest.
        #[test]
        fn agrees_with_a_scan(names in prop::collection::vec(name(), 0..8), host in "(a|b|c)(\\.(a|b|c)){0,4}") {
            let mut hosts = Hosts::default();
            let names: Vec<String> = names.into_iter().filter(|name| hosts.add(name.as_bytes(), name.len()).is_ok()).collect();
            let best = names.iter().filter_map(|name| matches(name, &host));
            let best = best.min_by_key(|(form, length)| (*form, usize::MAX - length)).map(|(form, _)| form);
            let found = hosts.find(host.as_bytes());
            prop_assert_eq!(found.map(|(_, form)| form), best);
            let longest = names.iter().filter(|name| matches(name, &host).is_some_and(|(form, _)| Some(form) == best));
            let longest = longest.map(|name| name.trim_matches(['*', '.']).len()).max();
            let length = |name: usize, form| name - match form { Form::Exact => 0, _ => 2 };
            if let Some((name, form)) = found {
                prop_assert!(length(name, form).abs_diff(longest.unwrap()) <= 1);
            }
        }
    }
}
