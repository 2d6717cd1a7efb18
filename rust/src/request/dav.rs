//! WebDAV: the methods of `dav_methods` (`ngx_http_dav_handler`). As for all files, nginx may read and write them.

use crate::request::bytes::Bytes;
use crate::request::outcome::{OutcomeKind, Unknown};
use crate::request::record::Recorder;
use crate::request::response::Response;
use crate::request::run::{Flow, Run};
use crate::request::site::Node;
use crate::request::uri::{self, Escape};
use crate::request::world::Found;

/// The header `Depth`: how much of a folder a method is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Zero,
    One,
    Infinity,
    Invalid,
}

impl<R: Recorder> Run<'_, R> {
    /// Answers a request with a method that `dav_methods` allows.
    pub fn dav(&mut self, node: Node) -> Result<Flow, Unknown> {
        let method = self.state.method.clone();
        let has_body = self.head.chunked || self.head.content_length.is_some_and(|length| length > 0);
        match &*method {
            b"PUT" => self.put(node),
            _ if has_body => Ok(self.fail(415, Some(node))),
            b"DELETE" => self.delete(node),
            b"MKCOL" => self.make_collection(node),
            _ if self.header(b"destination").is_none() => Ok(self.fail(400, Some(node))),
            _ => Err(Unknown { reason: "COPY and MOVE of WebDAV".into(), node: Some(node), question: None }),
        }
    }

    /// `ngx_http_dav_put_handler`: the body becomes a file, in a folder that exists or is created.
    fn put(&mut self, node: Node) -> Result<Flow, Unknown> {
        if self.state.uri.ends_with(b"/") {
            return Ok(self.fail(409, Some(node)));
        }
        if self.header(b"content_range").is_some() {
            return Ok(self.fail(501, Some(node)));
        }
        let has_no_file = !self.head.chunked && self.head.content_length.is_none();
        if has_no_file {
            return Ok(self.fail(500, Some(node)));
        }
        let Some(path) = self.path()? else { return Ok(self.fail(500, Some(node))) };
        match self.look_up(&path.bytes, node)? {
            Some(Found::Folder) => Ok(self.fail(409, Some(node))),
            Some(_) => self.done(204, path.bytes, node),
            None => {
                let folder = &path.bytes[..path.bytes.iter().rposition(|byte| *byte == b'/').unwrap_or_default()];
                let creates_folders = self.settings().creates_put_path.clone()?;
                let is_refused = match creates_folders {
                    true => self.is_below_file(&path.bytes, node)?,
                    false => !folder.is_empty() && self.look_up(folder, node)? != Some(Found::Folder),
                };
                if is_refused {
                    return Ok(self.fail(500, Some(node)));
                }
                self.created(path.bytes, node)
            }
        }
    }

    /// `ngx_http_dav_delete_handler`
    fn delete(&mut self, node: Node) -> Result<Flow, Unknown> {
        let least = self.settings().min_delete_depth.clone()?;
        let names = self.state.uri.split(|byte| *byte == b'/').skip(1);
        let depth = names.clone().count() as u64 - u64::from(self.state.uri.ends_with(b"/"));
        if least > 0 && depth < least {
            return Ok(self.fail(409, Some(node)));
        }
        let Some(path) = self.path()? else { return Ok(self.fail(500, Some(node))) };
        let is_folder = match self.look_up(&path.bytes, node)? {
            Some(found) => found == Found::Folder,
            None => {
                let status = if self.is_below_file(&path.bytes, node)? { 409 } else { 404 };
                return Ok(self.fail(status, Some(node)));
            }
        };
        if is_folder && !self.state.uri.ends_with(b"/") {
            return Ok(self.fail(409, Some(node)));
        }
        match (self.depth(if is_folder { Depth::Infinity } else { Depth::Zero }), is_folder) {
            (Depth::Infinity, _) | (Depth::Zero, false) => self.done(204, path.bytes, node),
            _ => Ok(self.fail(400, Some(node))),
        }
    }

    /// `ngx_http_dav_mkcol_handler`
    fn make_collection(&mut self, node: Node) -> Result<Flow, Unknown> {
        if !self.state.uri.ends_with(b"/") {
            return Ok(self.fail(409, Some(node)));
        }
        let Some(path) = self.path()? else { return Ok(self.fail(500, Some(node))) };
        let folder = path.bytes.strip_suffix(b"/").unwrap_or(&path.bytes);
        if self.look_up(folder, node)?.is_some() {
            return Ok(self.fail(405, Some(node)));
        }
        let outer = &folder[..folder.iter().rposition(|byte| *byte == b'/').unwrap_or_default()];
        if !outer.is_empty() && self.look_up(outer, node)? != Some(Found::Folder) {
            return Ok(self.fail(409, Some(node)));
        }
        self.created(path.bytes, node)
    }

    /// Whether a file is where a path that does not exist has a folder (`ENOTDIR`).
    fn is_below_file(&self, path: &[u8], node: Node) -> Result<bool, Unknown> {
        for end in (1..path.len()).rev().filter(|end| path[*end] == b'/') {
            if let Some(found) = self.look_up(&path[..end], node)? {
                return Ok(found != Found::Folder);
            }
        }
        Ok(false)
    }

    fn created(&mut self, path: Vec<u8>, node: Node) -> Result<Flow, Unknown> {
        let location = uri::escape(&self.state.uri, Escape::Uri, self.model.site.build.version);
        self.state.location = Some(Ok(location));
        self.done(201, path, node)
    }

    fn done(&mut self, status: u16, path: Vec<u8>, node: Node) -> Result<Flow, Unknown> {
        let file = Some(Bytes(path));
        self.respond(Response {
            kind: OutcomeKind::Handler,
            status: Some(status),
            node: Some(node),
            file,
            ..Response::default()
        })
    }

    /// `ngx_http_dav_depth`
    fn depth(&self, default: Depth) -> Depth {
        match self.header(b"depth") {
            None => default,
            Some(b"0") => Depth::Zero,
            Some(b"1") => Depth::One,
            Some(b"infinity") => Depth::Infinity,
            Some(_) => Depth::Invalid,
        }
    }
}
