//! `try_files` (`ngx_http_try_files_handler`).

use crate::request::directives::root::Alias;
use crate::request::directives::try_files::Last;
use crate::request::outcome::{StepKind, Unknown};
use crate::request::record::Recorder;
use crate::request::run::{Flow, Run};
use crate::request::setting::known;
use crate::request::uri::split_args;
use crate::request::value::Value;
use crate::request::world::Found;

impl<R: Recorder> Run<'_, R> {
    pub fn try_files(&mut self) -> Result<Flow, Unknown> {
        let Some(try_files) = known(&self.settings().try_files)? else { return Ok(Flow::Next) };
        let node = try_files.node;
        self.recorder.uses(node);
        let alias = known(&self.settings().root)?.alias;
        for candidate in &try_files.files {
            let map_captures = self.state.map_captures;
            let name = self.try_files_name(&candidate.value, alias)?;
            let Some(path) = self.path_with(Some(&name))? else { return Ok(self.fail(500, Some(node))) };
            self.check_root(map_captures)?;
            let found = self.look_up(&path.bytes, node)?;
            let exists = found.is_some_and(|found| (found == Found::Folder) == candidate.is_folder);
            self.note(StepKind::TryFiles, Some(node), || {
                [&path.bytes[..], if exists { b": exists" } else { b": missing" }].concat()
            });
            if exists {
                self.take_file(name, candidate.is_folder, alias);
                return Ok(Flow::Next);
            }
        }
        match &try_files.last {
            Last::Status(status) => Ok(self.fail(*status, Some(node))),
            Last::Target(value) => {
                let map_captures = self.state.map_captures;
                let mut target = self.try_files_name(value, alias)?;
                if self.path_with(Some(&target))?.is_none() {
                    return Ok(self.fail(500, Some(node)));
                }
                self.check_root(map_captures)?;
                if target.starts_with(b"@") {
                    return Ok(self.named_location(&target, node));
                }
                let args = split_args(&mut target);
                Ok(self.internal_redirect(target, args, node))
            }
        }
    }

    /// The value; the name of an `alias`' location is cut from one with variables.
    fn try_files_name(&mut self, value: &Value, alias: Option<Alias>) -> Result<Vec<u8>, Unknown> {
        let mut name = self.evaluate_file(value)?;
        if let (Some(Alias::Name(length)), None) = (alias, value.constant()) {
            let location = &self.state.uri[..length.min(self.state.uri.len())];
            if location.len() == length && name.starts_with(location) {
                name.drain(..length);
            }
        }
        Ok(name)
    }

    /// The file becomes the URI; the location stays.
    fn take_file(&mut self, name: Vec<u8>, is_folder: bool, alias: Option<Alias>) {
        match alias {
            None => self.state.uri = name,
            Some(Alias::Name(length)) => {
                self.state.uri.truncate(length);
                self.state.uri.extend(name);
            }
            Some(Alias::Pattern) if !is_folder => {
                self.state.uri = name;
                self.state.add_uri_to_alias = true;
            }
            Some(Alias::Pattern) => {}
        }
    }
}
