//! Decides which values of maps nginx may keep for a request, in which the script of a server may run again.
//!
//! An internal redirect and a subrequest run it again with another URI, and share the values of variables with the
//! request (`ngx_http_internal_redirect`, `ngx_http_subrequest`); `last`, `break` and named locations do not
//! (`ngx_http_core_post_rewrite_phase`, `ngx_http_named_location`). A value that was kept does no harm if it is not read
//! with another URI, or is the same for it:
//!
//! - If `error_page`, `try_files` and `index` are all that runs it again, and each of their URIs is known and no key, a
//!   value behind a volatile guard is read for the first URI only.
//! - A map that is a guard itself is read for the others, too. It then has the empty string, unless the first URI was a
//!   key, or another spelling of one. A key must have ended the request by a redirect. Another spelling has a letter
//!   from `A` to `Z`, so the URI of an index has, too, as it is the first one and a name behind it; then the pattern
//!   that excludes such URIs excludes it.
//!
//! No rewrite may let the script go on with another URI, in the same run of the script.

use std::collections::HashSet;

use crate::prove::captures::{File, has_rows};
use crate::prove::node::Node;
use crate::prove::target::End;

/// What runs the script of a server again.
#[derive(Default)]
pub struct Reruns {
    /// The URIs of `error_page` and `try_files`, in lower case.
    uris: HashSet<Vec<u8>>,
    /// A slash and the name of an index, in lower case.
    ends: HashSet<Vec<u8>>,
    /// Whether the URI of an index may be other than the one of the client and a name behind it.
    is_other: bool,
}

/// Something may run the script again with a URI that is not known.
struct Unknown;

impl Reruns {
    /// Reads all files. `None` if something may run the script again with any URI. `harmless` are directives that run
    /// no code, and `rerunning` those that may run the script again.
    pub fn read(files: &[File], harmless: &HashSet<Vec<u8>>, rerunning: &HashSet<Vec<u8>>) -> Option<Reruns> {
        let mut reruns = Reruns { ends: HashSet::from([b"/index.html".to_vec()]), ..Reruns::default() };
        let may_stand = |node: &Node| {
            let is_off = node.word(0) == b"ssi" && node.words().get(1..) == Some(&[b"off"]);
            (harmless.contains(node.word(0)) || is_off) && !rerunning.contains(node.word(0))
        };
        let all =
            files.iter().filter(|file| !file.holds_rows).try_for_each(|file| reruns.block(file.nodes, &may_stand));
        all.ok().map(|()| reruns)
    }

    fn block(&mut self, nodes: &[Node], may_stand: &dyn Fn(&Node) -> bool) -> Result<(), Unknown> {
        for node in nodes {
            if matches!(node.word(0), b"stream" | b"mail" | b"events") {
                continue;
            }
            if !may_stand(node) {
                return Err(Unknown);
            }
            self.statement(node)?;
            if let Some(block) = node.block.as_ref().filter(|_| !has_rows(node)) {
                self.block(block, may_stand)?;
            }
        }
        Ok(())
    }

    fn statement(&mut self, node: &Node) -> Result<(), Unknown> {
        let words = node.words();
        match words[..] {
            [b"rewrite", _, target, ..] => match End::of(target, node.flag()) {
                None => return Err(Unknown),
                Some(End::Redirect(_)) => {}
                Some(End::Last | End::Break) => self.is_other = true,
            },
            [b"index", ref names @ ..] => names.iter().try_for_each(|name| self.index(name))?,
            [b"try_files", ref files @ .., last] => {
                self.is_other |= files.iter().any(|file| !matches!(*file, b"$uri" | b"$uri/"));
                match last.first() {
                    Some(b'=' | b'@') => {}
                    Some(b'/') => self.uri(last)?,
                    _ => return Err(Unknown),
                }
            }
            [b"error_page", ref codes @ .., uri] => {
                // A page for a redirect would run the script again after a key.
                let is_error = |code: &&[u8]| code.len() == 3 && matches!(code[0], b'4' | b'5');
                let is_answer = |code: &&[u8]| code.starts_with(b"=");
                if !codes.iter().all(|code| is_error(code) || is_answer(code)) {
                    return Err(Unknown);
                }
                match uri.first() {
                    Some(b'/') => self.uri(uri)?,
                    Some(b'$') | None => return Err(Unknown),
                    Some(_) => {} // a redirect of the client, or a named location
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn index(&mut self, name: &[u8]) -> Result<(), Unknown> {
        if name.starts_with(b"/") {
            return self.uri(name);
        }
        let is_known = !name.contains(&b'$');
        self.ends.insert([b"/", name].concat().to_ascii_lowercase());
        is_known.then_some(()).ok_or(Unknown)
    }

    /// Adds the path of a URI, before its first `?`.
    fn uri(&mut self, uri: &[u8]) -> Result<(), Unknown> {
        let path = uri.split(|byte| *byte == b'?').next().unwrap_or_default();
        let is_known = !path.contains(&b'$');
        self.uris.insert(path.to_ascii_lowercase());
        is_known.then_some(()).ok_or(Unknown)
    }

    /// Whether the script may run again with a spelling of a key.
    pub fn may_be(&self, key: &[u8]) -> bool {
        let key = key.to_ascii_lowercase();
        let mut slashes = memchr::memchr_iter(b'/', &key);
        self.uris.contains(&key) || slashes.any(|at| self.ends.contains(&key[at..]))
    }

    /// Whether it runs again with a letter from `A` to `Z` in the URI if it had one first.
    pub fn keep_capitals(&self) -> bool {
        self.uris.is_empty() && !self.is_other
    }
}
