//! `root` and `alias`.

use crate::request::refused::Refused;
use crate::request::setting;
use crate::request::site::{Kind, Level, Node, Stated};
use crate::request::value::Value;
use crate::request::variables::Variables;

/// A `root` or `alias`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// `None` for the folder that nginx takes by default.
    pub node: Option<Node>,
    pub value: Value,
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

impl Root {
    /// `location` is that of an `alias`.
    pub fn read(
        directive: &Stated,
        location: Option<&Level>,
        prefix: &[u8],
        variables: &mut Variables,
    ) -> Result<Root, Refused> {
        let mut text = setting::argument(directive, 0).to_vec();
        let is_absolute = text.starts_with(b"/"); // nginx asks this of the text as it is written: `root /` becomes empty
        if location.is_none() && text.ends_with(b"/") {
            text.pop();
        }
        if !is_absolute && !text.starts_with(b"$") {
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
    pub fn is_constant(&self) -> bool {
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
pub fn full_name(path: Vec<u8>, prefix: &[u8]) -> Vec<u8> {
    if path.starts_with(b"/") { path } else { [prefix, &path].concat() }
}
