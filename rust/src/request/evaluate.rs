//! Values while a request runs: what nginx computes of variables and captures (`ngx_http_complex_value`).

use crate::request::model::Table;
use crate::request::outcome::{Event, Share, StepKind, Unknown};
use crate::request::record::Recorder;
use crate::request::run::{Run, unknown_variable};
use crate::request::script::Engine;
use crate::request::setting;
use crate::request::site::Node;
use crate::request::state::Slot;
use crate::request::tables;
use crate::request::uri::{self, Escape};
use crate::request::value::{Part, Value};
use crate::request::variables::{RequestVariable, Source, VariableId};

/// nginx gives up on variables that depend on each other deeper than this (`ngx_http_variable_depth`).
const DEPTH: u8 = 100;

/// The longest value that is computed, in bytes: rewrites that repeat captures make longer ones with each change.
const LONGEST: usize = 1 << 20;

/// What is another value for each client, connection or request, and what stays the same while nginx answers one.
const CHANCE: [&[u8]; 8] = [
    b"binary_remote_addr",
    b"connection",
    b"date_gmt",
    b"date_local",
    b"msec",
    b"realip_remote_addr",
    b"remote_port",
    b"request_id",
];
const CONSTANT: [RequestVariable; 7] = [
    RequestVariable::BinaryRemoteAddr,
    RequestVariable::ConnectionAddr,
    RequestVariable::Host,
    RequestVariable::RemoteAddr,
    RequestVariable::RequestUri,
    RequestVariable::Scheme,
    RequestVariable::ServerName,
];

/// Why a value is not known that nginx cannot write: it answers with an error, or writes beyond its memory.
const OVERRUN: &str = "a map changes captures that stand before it in the value";

impl<R: Recorder> Run<'_, R> {
    /// An error if a value could not be written, after which nothing is known.
    pub fn check_overrun(&self) -> Result<(), Unknown> {
        if self.state.has_overrun {
            return Err(Unknown { reason: OVERRUN.to_owned(), node: None, question: None });
        }
        Ok(())
    }

    /// A value outside of scripts: each variable is computed anew, and only once.
    pub fn evaluate(&mut self, value: &Value) -> Result<Vec<u8>, Unknown> {
        self.forget(value);
        Ok(self.twice(value, [Engine::FLUSHED; 2], self.model.site.build.cuts_values())?.0)
    }

    /// A value of `set` or `if`, where captures may be escaped: each variable is computed anew wherever it stands.
    pub fn evaluate_in(&mut self, value: &Value, engine: Engine) -> Result<Vec<u8>, Unknown> {
        Ok(self.twice(value, [engine; 2], self.model.site.build.cuts_values())?.0)
    }

    /// The target of a rewrite: the URI, and the arguments if it has any.
    pub fn evaluate_target(&mut self, value: &Value, engine: Engine) -> Result<(Vec<u8>, Option<Vec<u8>>), Unknown> {
        let (mut text, start) = self.twice(value, [engine; 2], true)?;
        let args = start.map(|start| text.split_off(start));
        Ok((text, args))
    }

    /// A file of `try_files`: each variable is computed anew for the length only.
    pub fn evaluate_file(&mut self, value: &Value) -> Result<Vec<u8>, Unknown> {
        Ok(self.twice(value, [Engine::default(), Engine::FLUSHED], true)?.0)
    }

    /// A file of `index`: no variable is computed that has a value.
    pub fn evaluate_index(&mut self, value: &Value) -> Result<Vec<u8>, Unknown> {
        Ok(self.twice(value, [Engine::FLUSHED; 2], true)?.0)
    }

    /// nginx computes a value twice, first for its length; `is_cut` states whether a shorter one ends where it is
    /// written. A map that sets captures changes what was written before it.
    fn twice(
        &mut self,
        value: &Value,
        engines: [Engine; 2],
        is_cut: bool,
    ) -> Result<(Vec<u8>, Option<usize>), Unknown> {
        self.spend(0)?; // before anything is copied
        if let Some(text) = value.constant() {
            self.spend(text.len())?;
            return Ok((text.to_vec(), None));
        }
        let map_captures = self.state.map_captures;
        let first = self.write(value, engines[0])?;
        if map_captures == self.state.map_captures {
            return Ok(first);
        }
        let second = self.write(value, engines[1])?;
        if first.0.len() == second.0.len() || (second.0.len() < first.0.len() && is_cut) {
            return Ok(second);
        }
        self.state.has_overrun = true;
        Err(Unknown { reason: OVERRUN.to_owned(), node: None, question: None })
    }

    /// The text, and where its arguments start.
    fn write(&mut self, value: &Value, mut engine: Engine) -> Result<(Vec<u8>, Option<usize>), Unknown> {
        let mut text = Vec::with_capacity(64);
        let mut start = None;
        for part in &value.parts {
            match part {
                Part::Text(bytes) => text.extend_from_slice(bytes),
                Part::Capture(number) => self.write_capture(*number, engine, &mut text)?,
                Part::Variable(variable) => self.write_variable(*variable, engine, &mut text)?,
                Part::Arguments => {
                    start = Some(text.len());
                    engine.is_args = true;
                }
            }
            if text.len() > LONGEST {
                return Err(Unknown {
                    reason: "a value of more than a megabyte".to_owned(),
                    node: None,
                    question: None,
                });
            }
        }
        self.spend(text.len())?;
        Ok((text, start))
    }

    /// `ngx_http_script_copy_capture_code`
    fn write_capture(&self, number: usize, engine: Engine, text: &mut Vec<u8>) -> Result<(), Unknown> {
        if let Some(unknown) = &self.state.captures_unknown {
            return Err((**unknown).clone());
        }
        let Some(Some(capture)) = self.state.captures.get(number) else { return Ok(()) };
        let uri = &self.head.uri;
        if (engine.is_args || engine.quote) && (uri.quoted || uri.plus) && self.main_method.is_none() {
            text.extend(uri::escape(capture, Escape::Args, self.model.site.build.version));
        } else {
            text.extend_from_slice(capture);
        }
        Ok(())
    }

    /// The value of a variable, computed anew.
    pub fn variable(&mut self, variable: VariableId) -> Result<Vec<u8>, Unknown> {
        let mut text = Vec::new();
        self.write_variable(variable, Engine::default(), &mut text)?;
        Ok(text)
    }

    /// `ngx_http_script_copy_var_code`
    fn write_variable(&mut self, variable: VariableId, engine: Engine, text: &mut Vec<u8>) -> Result<(), Unknown> {
        match &self.state.slots[variable] {
            Slot::Known(value) => {
                text.extend_from_slice(value);
                return Ok(());
            }
            Slot::Computed(value) if engine.is_flushed => {
                text.extend_from_slice(value);
                return Ok(());
            }
            Slot::Unknown(unknown) => return Err((**unknown).clone()),
            Slot::Computed(_) | Slot::Empty => {}
        }
        let model = self.model;
        if let Some(value) = self.assumed(variable) {
            text.extend_from_slice(value);
            return Ok(());
        }
        self.check_sent(variable)?;
        match &model.sources[variable] {
            Source::Request(RequestVariable::RequestFilename) => {
                let path = self.filename(variable)?;
                text.extend(path);
                Ok(())
            }
            Source::Request(RequestVariable::DocumentRoot) => {
                let folder = self.document_root()?;
                text.extend_from_slice(&folder);
                self.state.slots[variable] = Slot::Computed(folder);
                Ok(())
            }
            Source::Request(RequestVariable::SecureLink) => {
                let value = self.nested(self.settings().node, Self::secure_link)?;
                text.extend_from_slice(&value);
                self.keep(variable, Ok(value));
                Ok(())
            }
            Source::Request(RequestVariable::SecureLinkExpires) => {
                let value = self.state.link_expires.clone().unwrap_or_default();
                text.extend_from_slice(&value);
                self.keep(variable, Ok(value));
                Ok(())
            }
            Source::Request(of_request) => self.write_request_variable(*of_request, text),
            Source::Header(name) => {
                self.write_header(name, text);
                Ok(())
            }
            Source::Cookie(name) => {
                self.write_cookie(name, text);
                Ok(())
            }
            Source::Argument(name) => {
                text.extend_from_slice(uri::argument(&self.state.args, name).unwrap_or_default());
                Ok(())
            }
            Source::Table(table) => {
                let value = self.table(*table, variable)?;
                text.extend_from_slice(&value);
                Ok(())
            }
            Source::Empty => Ok(()),
            Source::Unknown(reason) => Err(unknown_variable(model.variables.name(variable), reason.clone())),
        }
    }

    /// Unknown where the value is that of something that the request does not have, and that a client may send.
    fn check_sent(&self, variable: VariableId) -> Result<(), Unknown> {
        if !self.world.may_send_more {
            return Ok(());
        }
        let is_sent = match &self.model.sources[variable] {
            Source::Request(RequestVariable::Args | RequestVariable::IsArgs) => !self.state.args.is_empty(),
            Source::Argument(name) => uri::argument(&self.state.args, name).is_some(),
            Source::Header(name) => self.header(name).is_some(),
            Source::Cookie(_) => self.header(b"cookie").is_some(),
            _ => true,
        };
        let name = self.model.variables.name(variable);
        if is_sent { Ok(()) } else { Err(unknown_variable(name, "what the client sends".to_owned())) }
    }

    /// `$request_filename`. If nginx fails to compute it first, it is empty from then on.
    fn filename(&mut self, variable: VariableId) -> Result<Vec<u8>, Unknown> {
        match self.path()? {
            Some(path) => {
                self.state.has_filename = true;
                self.state.slots[variable] = Slot::Computed(path.bytes.clone());
                Ok(path.bytes)
            }
            None => {
                let slot = if self.state.has_filename { Slot::Computed } else { Slot::Known };
                self.state.slots[variable] = slot(Vec::new());
                Ok(Vec::new())
            }
        }
    }

    /// A value that the world gives.
    fn assumed(&self, variable: VariableId) -> Option<&[u8]> {
        let assumed = &self.world.variables;
        if assumed.is_empty() {
            return None;
        }
        let name = std::str::from_utf8(self.model.variables.name(variable)).ok()?;
        assumed.get(name).map(|value| &value.0[..])
    }

    /// Forgets what was computed of the variables of a value (`ngx_http_script_flush_complex_value`).
    fn forget(&mut self, value: &Value) {
        for part in &value.parts {
            if let Part::Variable(variable) = part
                && let slot @ Slot::Computed(_) = &mut self.state.slots[*variable]
            {
                *slot = Slot::Empty;
            }
        }
    }

    /// The value of a `root` or `alias`, for which nginx computes all variables anew (`ngx_http_script_run`).
    pub fn evaluate_root(&mut self, value: &Value) -> Result<Vec<u8>, Unknown> {
        if value.constant().is_none() {
            for slot in self.state.slots.iter_mut().filter(|slot| matches!(slot, Slot::Computed(_))) {
                *slot = Slot::Empty;
            }
        }
        self.evaluate(value)
    }

    /// The value of a map, `geo` or `split_clients`, which stays unless it is volatile.
    fn table(&mut self, table: usize, variable: VariableId) -> Result<Vec<u8>, Unknown> {
        let table = &self.model.tables[table];
        let value = self.nested(table.node, |run| run.row(table, variable))?;
        let slot = if table.table.is_volatile() { Slot::Computed } else { Slot::Known };
        self.state.slots[variable] = slot(value.clone());
        Ok(value)
    }

    /// Computes the value of a variable that may depend on others. `node` is what says how.
    fn nested(
        &mut self,
        node: Node,
        compute: impl FnOnce(&mut Self) -> Result<Vec<u8>, Unknown>,
    ) -> Result<Vec<u8>, Unknown> {
        if self.state.depth == DEPTH {
            let reason = "variables that depend on each other".to_owned();
            return Err(Unknown { reason, node: Some(node), question: None });
        }
        self.state.depth += 1;
        let value = compute(self);
        self.state.depth -= 1;
        value.map_err(|unknown| Unknown { node: unknown.node.or(Some(node)), ..unknown })
    }

    fn row(&mut self, table: &Table, variable: VariableId) -> Result<Vec<u8>, Unknown> {
        let source = match self.evaluate(&table.source) {
            Ok(source) => source,
            Err(unknown) => return self.without_source(table, variable, unknown),
        };
        if table.table.has_proxies() && self.header(b"x_forwarded_for").is_some() {
            let reason = "the address of the client behind a proxy".to_owned();
            let unknown = Unknown { reason, node: Some(table.node), question: None };
            return self.without_source(table, variable, unknown);
        }
        let answer = table.table.find(&source).map_err(|unknown| self.doubt_captures(table, unknown))?;
        if R::TRIES {
            let tries = table.table.tries(&source, answer.row);
            self.recorder.tries(table.node, tries);
        }
        let Some(row) = answer.row else {
            self.note(StepKind::Map, Some(table.node), Vec::new);
            return Ok(Vec::new());
        };
        if let Some(captures) = answer.captures {
            self.state.map_captures += 1;
            self.capture(captures);
        }
        let value = self.evaluate(&table.rows[row])?;
        let node = table.table.rows()[row].node;
        self.recorder.uses(node);
        self.note(StepKind::Map, Some(node), || value.clone());
        Ok(value)
    }

    /// The value of a table whose source is unknown, if it has only one, or if a branch settles it.
    fn without_source(&mut self, table: &Table, variable: VariableId, unknown: Unknown) -> Result<Vec<u8>, Unknown> {
        let row = match &table.table {
            tables::Table::SplitClients(split) if self.is_chance(&table.source) => {
                self.share(table, variable, split)?
            }
            of_source => Some(of_source.only().ok_or_else(|| self.doubt_captures(table, unknown))?),
        };
        let Some(row) = row else { return Ok(Vec::new()) };
        let value = self.evaluate(&table.rows[row])?;
        self.note(StepKind::Map, Some(table.node), || value.clone());
        Ok(value)
    }

    /// The row of a `split_clients` that a branch chooses, or none.
    fn share(
        &self,
        table: &Table,
        variable: VariableId,
        split: &tables::SplitClients,
    ) -> Result<Option<usize>, Unknown> {
        let name = self.model.variables.name(variable).escape_ascii();
        for (row, share) in split.shares.iter().enumerate() {
            let Some(below) = share.below else { return Ok(Some(row)) };
            let value = split.rows()[row].value.escape_ascii();
            let text = format!("${name} is {value} ({})", share.stated.escape_ascii());
            let share = Some(Share { source: table.source.clone(), below });
            if self.settle(Event { text, share }, table.node)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Whether an unknown value is another one for each client, connection or request, and the same within a request.
    fn is_chance(&self, source: &Value) -> bool {
        source.parts.iter().all(|part| match part {
            Part::Text(_) => true,
            Part::Variable(variable) => match &self.model.sources[*variable] {
                Source::Header(_) | Source::Cookie(_) => true,
                Source::Request(of_request) => CONSTANT.contains(of_request),
                Source::Unknown(_) => CHANCE.contains(&self.model.variables.name(*variable)),
                Source::Argument(_) | Source::Table(_) | Source::Empty => false,
            },
            Part::Capture(_) | Part::Arguments => false,
        })
    }

    /// Marks as unknown what a match of a pattern in a map would set. Returns why.
    fn doubt_captures(&mut self, table: &Table, unknown: Unknown) -> Unknown {
        if let tables::Table::Map(map) = &table.table
            && map.has_patterns()
        {
            self.state.captures_unknown = Some(Box::new(unknown.clone()));
            for name in map.group_names() {
                if let Some(variable) = self.model.variables.find(&name) {
                    self.keep(variable, Err(unknown.clone()));
                }
            }
        }
        unknown
    }

    /// Sets a variable as a script does (`ngx_http_script_set_var_code`).
    pub fn assign(&mut self, variable: VariableId, value: Result<Vec<u8>, Unknown>) -> Result<(), Unknown> {
        match self.model.sources[variable] {
            Source::Request(RequestVariable::Args) => {
                self.state.args = value?;
                self.state.valid_unparsed_uri = false;
            }
            Source::Request(RequestVariable::LimitRate) => {
                let rate = setting::rate(&value?); // one that nginx cannot read leaves it as it is
                self.state.limit_rate = rate.map(|rate| rate.to_string().into_bytes()).or(self.state.limit_rate.take());
            }
            _ => self.keep(variable, value),
        }
        Ok(())
    }

    /// Keeps the value of a variable, whatever it was.
    pub fn keep(&mut self, variable: VariableId, value: Result<Vec<u8>, Unknown>) {
        self.state.slots[variable] = match value {
            Ok(value) => Slot::Known(value),
            Err(unknown) => Slot::Unknown(Box::new(unknown)),
        };
    }

    /// Whether the value has variables that follow the URI, and are computed anew at each use.
    pub fn changes_with_uri(&self, value: &Value) -> bool {
        value.parts.iter().any(|part| match part {
            Part::Variable(variable) => matches!(
                self.model.sources[*variable],
                Source::Argument(_)
                    | Source::Request(
                        RequestVariable::Args
                            | RequestVariable::DocumentRoot
                            | RequestVariable::FastcgiPathInfo
                            | RequestVariable::FastcgiScriptName
                            | RequestVariable::IsArgs
                            | RequestVariable::RequestFilename
                            | RequestVariable::RequestMethod
                            | RequestVariable::Status
                            | RequestVariable::Uri
                    )
            ),
            _ => false,
        })
    }
}
