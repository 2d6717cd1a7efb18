//! Where the files of a URI are (`ngx_http_map_uri_to_path`).

use crate::request::directives::root::{Alias, Root, full_name};
use crate::request::outcome::Unknown;
use crate::request::record::Recorder;
use crate::request::run::Run;
use crate::request::setting::known;

/// A path, and how much of it is the root.
pub struct Path {
    pub bytes: Vec<u8>,
    pub root: usize,
}

impl<R: Recorder> Run<'_, R> {
    /// The path of the URI; `None` where nginx answers with 500: an `alias` in a location whose URI was rewritten.
    pub fn path(&mut self) -> Result<Option<Path>, Unknown> {
        self.path_with(None)
    }

    /// The path of `uri` in place of the URI behind the name of the location, or of the URI itself.
    pub fn path_with(&mut self, uri: Option<&[u8]>) -> Result<Option<Path>, Unknown> {
        let root = known(&self.settings().root)?;
        if root.alias.is_some() && self.is_alias_refused()? {
            return Ok(None);
        }
        let mut bytes = self.root_folder(root)?;
        let length = bytes.len();
        match (uri, root.alias) {
            (Some(uri), _) => bytes.extend_from_slice(uri),
            (None, None) => bytes.extend_from_slice(&self.state.uri),
            (None, Some(Alias::Name(name))) => match self.state.uri.get(name..) {
                Some(rest) => bytes.extend_from_slice(rest),
                None => return self.alias_beyond_uri(root),
            },
            (None, Some(Alias::Pattern)) if self.state.add_uri_to_alias => bytes.extend_from_slice(&self.state.uri),
            (None, Some(Alias::Pattern)) => {}
        }
        Ok(Some(Path { bytes, root: length }))
    }

    fn is_alias_refused(&self) -> Result<bool, Unknown> {
        Ok(!self.state.valid_location || (self.state.uri_changed && self.model.site.build.checks_alias()?))
    }

    /// `$document_root`
    pub fn document_root(&mut self) -> Result<Vec<u8>, Unknown> {
        let root = known(&self.settings().root)?;
        self.root_folder(root)
    }

    /// Unknown if a map has changed captures since they were changed `map_captures` times, while nginx computed the name
    /// of a file and the `root` around it, which has variables: each in two passes, in an order of their own.
    pub fn check_root(&self, map_captures: u32) -> Result<(), Unknown> {
        let is_changed = map_captures != self.state.map_captures;
        let root = known(&self.settings().root)?;
        if is_changed && !root.is_constant() {
            let reason = "a map changes captures while the root is computed".to_owned();
            return Err(Unknown { reason, node: root.node, question: None });
        }
        Ok(())
    }

    fn root_folder(&mut self, root: &Root) -> Result<Vec<u8>, Unknown> {
        let folder = self.evaluate_root(&root.value)?;
        Ok(if root.is_constant() { folder } else { full_name(folder, &self.model.site.build.prefix) })
    }

    /// nginx cuts more from the URI than it has.
    fn alias_beyond_uri(&self, root: &Root) -> Result<Option<Path>, Unknown> {
        let reason = "the URI is shorter than the location of the alias".to_owned();
        Err(Unknown { reason, node: root.node, question: None })
    }
}
