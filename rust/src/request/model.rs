//! The model of a site. It is read once and can then answer many requests.

use crate::request::bytes::Bytes;
use crate::request::checks;
use crate::request::directives::limit_except::LimitExcept;
use crate::request::directives::wire::wire_settings;
use crate::request::levels::{self, Settings};
use crate::request::locations::Locations;
use crate::request::names::Names;
use crate::request::outcome::Unknown;
use crate::request::refused::Refused;
use crate::request::rules;
use crate::request::script::Script;
use crate::request::site::{Defined, Kind, LevelId, Node, ServerId, Site, Statement};
use crate::request::tables;
use crate::request::value::Value;
use crate::request::variables::{self, Assigned, Source, Variables};
use crate::request::wire;

/// The model of a configuration with which nginx starts.
pub struct Model {
    pub site: Site,
    /// By level.
    pub settings: Vec<Settings>,
    pub scripts: Vec<Script>,
    pub limit_excepts: Vec<Option<LimitExcept>>,
    /// By server.
    pub locations: Vec<Locations>,
    /// The settings with which requests are read, by server.
    pub wire: Vec<wire::Settings>,
    /// By socket.
    pub names: Vec<Names>,
    pub variables: Variables,
    /// By variable.
    pub sources: Vec<Source>,
    pub tables: Vec<Table>,
}

/// A map, `geo` or `split_clients`, with its values compiled.
pub struct Table {
    pub node: Node,
    pub table: tables::Table,
    pub source: Value,
    /// The values of [`tables::Table::rows`].
    pub rows: Vec<Value>,
}

impl Model {
    /// Reads a site. Folded rewrites are in `texts`. Fails with the message of nginx for the first directive that it
    /// refuses.
    pub fn new(site: Site, texts: &[Vec<u8>]) -> Result<Model, Refused> {
        let mut variables = Variables::default();
        let mut assigned = Assigned::default();
        checks::refuse(&site)?;
        let settings = levels::read(&site, &mut variables)?;
        let mut scripts = Vec::with_capacity(site.levels.len());
        for level in &site.levels {
            let script = rules::Script::new(&level.script, texts)?;
            scripts.push(Script::compile(script, &mut variables, &mut assigned)?);
        }
        let mut locations = Vec::new();
        for server in &site.servers {
            locations.push(Locations::new(&site, server.level)?);
        }
        let wire = site.servers.iter().map(|server| wire_settings(&site, server.level)).collect();
        let mut names = Vec::new();
        for socket in &site.sockets {
            names.push(Names::new(socket, &site.servers)?);
        }
        let patterns = site.levels.iter().flat_map(|level| &level.args);
        let patterns =
            patterns.chain(site.servers.iter().flat_map(|server| server.names.iter().map(|name| &name.text)));
        patterns.for_each(|pattern| assigned.add_groups(pattern));
        let mut tables = Tables::default();
        for defined in &site.variables {
            tables.add(defined, &mut variables, &mut assigned)?;
        }
        refuse_fixed(&site, &tables)?;
        let sources = sources(&variables, &assigned, &tables);
        let limit_excepts = (0..site.levels.len()).map(|level| limit_except(&site, level)).collect();
        let tables = tables.tables;
        Ok(Model { site, settings, scripts, limit_excepts, locations, wire, names, variables, sources, tables })
    }

    /// Whether a level is an `if` directly in a server.
    pub fn is_in_server(&self, level: LevelId) -> bool {
        let parent = self.site.levels[level].parent;
        parent.is_some_and(|parent| self.site.levels[parent].kind == Kind::Server)
    }

    /// The first name of a server (`$server_name`), without a leading dot, and in lower case unless it is a pattern
    /// (`ngx_http_core_server_name`).
    pub fn server_name(&self, server: ServerId) -> Result<Vec<u8>, Unknown> {
        let Some(name) = self.site.servers[server].names.first() else { return Ok(Vec::new()) };
        if name.text.eq_ignore_ascii_case(b"$hostname") {
            return Err(Unknown { reason: "the name of the machine".into(), node: Some(name.node), question: None });
        }
        if name.text.starts_with(b"~") {
            return Ok(name.text.0.clone());
        }
        Ok(name.text.strip_prefix(b".").unwrap_or(&name.text).to_ascii_lowercase())
    }
}

/// The tables read so far, and the variables that they define.
#[derive(Default)]
struct Tables {
    tables: Vec<Table>,
    /// The directive, the name of the variable, and the index of the table, or the reason why the table is not
    /// understood. The last entry of a name counts.
    defined: Vec<(Node, Vec<u8>, Result<usize, String>)>,
}

impl Tables {
    fn add(&mut self, defined: &Defined, variables: &mut Variables, assigned: &mut Assigned) -> Result<(), Refused> {
        let (node, source, variable) = match defined {
            Defined::Map { node, source, variable, .. } | Defined::SplitClients { node, source, variable, .. } => {
                (*node, source.clone(), variable)
            }
            Defined::Geo { node, source, variable, .. } => {
                (*node, source.clone().unwrap_or_else(|| "$remote_addr".into()), variable)
            }
            Defined::Opaque { node, variable, reason } => {
                self.define(*node, variable, Err(reason.clone()));
                return Ok(());
            }
        };
        let Some(table) = tables::Table::new(defined)? else { return Ok(()) };
        let refused = |message| Refused::new(node, message);
        let source = Value::parse(&source, variables).map_err(refused)?;
        let is_map = matches!(defined, Defined::Map { .. });
        let mut rows = Vec::with_capacity(table.rows().len());
        for row in table.rows() {
            let value = if is_map { Value::parse(&row.value, variables) } else { Ok(Value::text(&row.value)) };
            rows.push(value.map_err(|message| Refused::new(row.node, message))?);
        }
        if let Defined::Map { rows, .. } = defined {
            rows.iter().flat_map(|row| row.args.first()).for_each(|key| assigned.add_groups(key));
        }
        self.define(node, variable, Ok(self.tables.len()));
        self.tables.push(Table { node, table, source, rows });
        Ok(())
    }

    fn define(&mut self, node: Node, variable: &Bytes, table: Result<usize, String>) {
        let name = variable.strip_prefix(b"$").unwrap_or(variable).to_ascii_lowercase();
        self.defined.push((node, name, table));
    }
}

fn sources(variables: &Variables, assigned: &Assigned, tables: &Tables) -> Vec<Source> {
    let defined: hashbrown::HashMap<&[u8], _> =
        tables.defined.iter().map(|(_, name, table)| (name.as_slice(), table)).collect();
    let source = |name: &[u8]| match defined.get(name) {
        Some(Ok(table)) => Source::Table(*table),
        Some(Err(reason)) => Source::Unknown(reason.clone()),
        None => variables::source(name, assigned),
    };
    variables.names().map(source).collect()
}

fn limit_except(site: &Site, level: LevelId) -> Option<LimitExcept> {
    let inner = site.levels[level].limit_except?;
    Some(LimitExcept { level: inner, except: site.levels[inner].args.clone() })
}

/// Fails if a map or `set` defines one of nginx's own variables that may not be changed.
fn refuse_fixed(site: &Site, tables: &Tables) -> Result<(), Refused> {
    let sets = site.levels.iter().flat_map(|level| &level.script).filter_map(|statement| match statement {
        Statement::Set { node, variable, .. } => Some((*node, variable.strip_prefix(b"$").unwrap_or(variable))),
        _ => None,
    });
    let defined = tables.defined.iter().map(|(node, name, _)| (*node, name.as_slice()));
    match sets.chain(defined).find(|(_, name)| variables::is_fixed(&name.to_ascii_lowercase())) {
        Some((node, name)) => Err(variables::duplicate(node, name)),
        None => Ok(()),
    }
}
