//! Where the files of a URI are (`ngx_http_map_uri_to_path`).

use crate::request::outcome::Unknown;
use crate::request::record::Recorder;
use crate::request::refused::Refused;
use crate::request::run::Run;
use crate::request::setting;
use crate::request::site::{Kind, Level, Node, Stated};
use crate::request::value::Value;
use crate::request::variables::Variables;

/// A `root` or `alias`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// `None` for the folder that nginx takes by default.
    pub node: Option<Node>,
    value: Value,
    pub alias: Option<Alias>,
}

/// What of the URI an `alias` replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alias {
    /// So many bytes: the name of its location.
    Name(usize),
    /// All of it, in a location with a pattern.
    Pattern,
}

/// A path, and how much of it is the root.
pub struct Path {
    pub bytes: Vec<u8>,
    pub root: usize,
}

impl Root {
    /// `location` is that of an `alias`.
    pub fn read(
        directive: &Stated,
        location: Option<&Level>,
        prefix: &[u8],
        variables: &mut Variables,
    ) -> Result<Root, Refused> {
        let mut text = setting::argument(directive, 0).to_vec();
        if location.is_none() && text.ends_with(b"/") {
            text.pop();
        }
        if !text.starts_with(b"$") {
            text = full_name(text, prefix);
        }
        let refused = |message| Refused::new(directive.node, message);
        if let Some(variable) = own_variable(&text) {
            let name = if location.is_some() { "alias" } else { "root" };
            let message = format!("the ${variable} variable cannot be used in the \"{name}\" directive");
            return Err(refused(message));
        }
        let value = Value::parse(&text, variables).map_err(refused)?;
        Ok(Root { node: Some(directive.node), value, alias: location.map(Alias::of) })
    }

    /// `html` in the folder of nginx.
    pub fn default_of(prefix: &[u8]) -> Root {
        Root { node: None, value: Value::text(&full_name(b"html".to_vec(), prefix)), alias: None }
    }

    /// Whether its text is fixed.
    fn is_constant(&self) -> bool {
        self.value.constant().is_some() && self.alias != Some(Alias::Pattern)
    }
}

impl Alias {
    fn of(location: &Level) -> Alias {
        match &*location.args {
            _ if location.kind != Kind::Location => Alias::Name(0),
            [modifier, ..] if matches!(&*modifier.0, b"~" | b"~*") => Alias::Pattern,
            [one] if one.starts_with(b"~") => Alias::Pattern,
            [.., name] => Alias::Name(name_length(name)),
            [] => Alias::Name(0),
        }
    }
}

/// The length of a location's name, which may be written behind its modifier without a blank.
fn name_length(name: &[u8]) -> usize {
    match name {
        [b'=', rest @ ..] | [b'^', b'~', rest @ ..] => rest.len(),
        name => name.len(),
    }
}

/// A variable in a text that is computed of the root itself.
fn own_variable(text: &[u8]) -> Option<&'static str> {
    let names = text.split(|byte| *byte == b'$').skip(1).map(|text| {
        let name = text.strip_prefix(b"{").unwrap_or(text);
        &name[..name.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(name.len())]
    });
    let own = ["document_root", "realpath_root"];
    names.into_iter().find_map(|name| own.into_iter().find(|own| own.as_bytes() == name))
}

/// `ngx_get_full_name`
fn full_name(path: Vec<u8>, prefix: &[u8]) -> Vec<u8> {
    if path.starts_with(b"/") { path } else { [prefix, &path].concat() }
}

impl<R: Recorder> Run<'_, R> {
    /// The path of the URI; `None` where nginx answers with 500: an `alias` in a location whose URI was rewritten.
    pub fn path(&mut self) -> Result<Option<Path>, Unknown> {
        self.path_with(None)
    }

    /// The path of `uri` in place of the URI behind the name of the location, or of the URI itself.
    pub fn path_with(&mut self, uri: Option<&[u8]>) -> Result<Option<Path>, Unknown> {
        let root = self.settings().root.clone()?;
        if root.alias.is_some() && self.is_alias_refused()? {
            return Ok(None);
        }
        let mut bytes = self.root_folder(&root)?;
        let length = bytes.len();
        match (uri, root.alias) {
            (Some(uri), _) => bytes.extend_from_slice(uri),
            (None, None) => bytes.extend_from_slice(&self.state.uri),
            (None, Some(Alias::Name(name))) => match self.state.uri.get(name..) {
                Some(rest) => bytes.extend_from_slice(rest),
                None => return self.alias_beyond_uri(&root),
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
        let root = self.settings().root.clone()?;
        self.root_folder(&root)
    }

    /// Unknown if a map has changed captures since they were changed `map_captures` times, while nginx computed the name
    /// of a file and the `root` around it, which has variables: each in two passes, in an order of their own.
    pub fn check_root(&self, map_captures: u32) -> Result<(), Unknown> {
        let is_changed = map_captures != self.state.map_captures;
        let root = self.settings().root.clone()?;
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
