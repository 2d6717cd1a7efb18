//! The content phase: the handler of the location, or the files of its folder (`ngx_http_core_content_phase`).

use crate::first_match::Tries;
use crate::request::bytes::Bytes;
use crate::request::handler::Handler;
use crate::request::levels::GzipStatic;
use crate::request::outcome::{OutcomeKind, StepKind, Unknown};
use crate::request::record::Recorder;
use crate::request::response::Response;
use crate::request::run::{Flow, Run};
use crate::request::setting::known;
use crate::request::site::Node;
use crate::request::uri::{self, Escape};
use crate::request::value::Value;
use crate::request::world::Found;

impl<R: Recorder> Run<'_, R> {
    pub fn content(&mut self) -> Result<Flow, Unknown> {
        if self.state.uri.is_empty() {
            let reason = "the URI is empty".to_owned();
            return Err(Unknown { reason, node: Some(self.settings().node), question: None });
        }
        match self.state.handler {
            Some((handler, _)) if handler.passes_on() => self.pass(handler),
            Some((Handler::Mp4 | Handler::Flv, node)) => self.media(node),
            Some((handler, node)) => self.built_in(handler, node),
            None => self.files(),
        }
    }

    /// `stub_status`, `empty_gif`: no other method than GET and HEAD.
    fn built_in(&mut self, handler: Handler, node: Node) -> Result<Flow, Unknown> {
        self.recorder.uses(node);
        if !self.is_get() {
            return Ok(self.fail(405, Some(node)));
        }
        self.respond(Response { kind: handler.kind(), status: Some(200), node: Some(node), ..Response::default() })
    }

    /// `mp4`, `flv`: as a file, and not for folders.
    fn media(&mut self, node: Node) -> Result<Flow, Unknown> {
        if !self.is_get() {
            return Ok(self.fail(405, Some(node)));
        }
        if uri::argument(&self.state.args, b"start").is_some() || uri::argument(&self.state.args, b"end").is_some() {
            let reason = "a part of a media file".to_owned();
            return Err(Unknown { reason, node: Some(node), question: None });
        }
        self.files()
    }

    fn is_get(&self) -> bool {
        matches!(&*self.state.method, b"GET" | b"HEAD")
    }

    /// random_index, index, autoindex, dav, gzip_static and static, in this order.
    fn files(&mut self) -> Result<Flow, Unknown> {
        let settings = self.settings();
        let node = settings.node;
        let is_folder = self.state.uri.ends_with(b"/");
        let is_read = self.is_get() || &*self.state.method == b"POST";
        if is_folder && is_read {
            if settings.random_index.clone()? {
                let reason = "a random file of the folder".to_owned();
                return Err(Unknown { reason, node: Some(node), question: None });
            }
            if let Some(flow) = self.index(node)? {
                return Ok(flow);
            }
            if self.is_get() && settings.autoindex.clone()? {
                return self.listing(node);
            }
        }
        if known(&settings.dav_methods)?.iter().any(|method| method.eq_ignore_ascii_case(&self.state.method)) {
            return self.dav(node);
        }
        if !is_read {
            return Ok(self.fail(405, Some(node)));
        }
        if is_folder {
            return Ok(self.fail(403, Some(node)));
        }
        if self.state.handler.is_none()
            && self.is_get()
            && let Some(flow) = self.compressed_file(node)?
        {
            return Ok(flow);
        }
        self.static_file(node)
    }

    /// `ngx_http_gzip_static_handler`: the file with `.gz` behind its name; `None` if the file itself is sent.
    fn compressed_file(&mut self, node: Node) -> Result<Option<Flow>, Unknown> {
        let setting = self.settings().gzip_static.clone()?;
        let may_be_accepted = self.main_method.is_none()
            && self
                .header(b"accept_encoding")
                .is_some_and(|codings| codings.windows(4).any(|part| part.eq_ignore_ascii_case(b"gzip")));
        if setting == GzipStatic::Off || (setting == GzipStatic::IfAccepted && !may_be_accepted) {
            return Ok(None);
        }
        let Some(path) = self.path()? else { return Ok(Some(self.fail(500, Some(node)))) };
        let path = [&path.bytes[..], b".gz"].concat();
        match self.look_up(&path, node)? {
            None | Some(Found::Folder) => Ok(None),
            Some(_) if setting == GzipStatic::IfAccepted => {
                // By gzip_http_version, gzip_proxied and gzip_disable, too (`ngx_http_gzip_ok`).
                let reason = "whether nginx takes the client to accept a compressed file".to_owned();
                Err(Unknown { reason, node: Some(node), question: None })
            }
            Some(Found::File) => self.send_file(path, node).map(Some),
            Some(Found::Other) => Ok(Some(self.fail(404, Some(node)))),
        }
    }

    /// `ngx_http_index_handler`: the first that exists, found anew; `None` if none does.
    fn index(&mut self, node: Node) -> Result<Option<Flow>, Unknown> {
        let names = known(&self.settings().index)?;
        let mut is_tested = false;
        for value in &**names {
            let map_captures = self.state.map_captures;
            let name = self.index_name(value, node)?;
            if name.starts_with(b"/") {
                let args = self.state.args.clone();
                return Ok(Some(self.internal_redirect(name, args, node)));
            }
            let Some(path) = self.path()? else { return Ok(Some(self.fail(500, Some(node)))) };
            self.check_root(map_captures)?;
            let file = [&path.bytes[..], &name].concat();
            let exists = self.look_up(&file, node)?.is_some();
            self.note(StepKind::Index, Some(node), || {
                [&file[..], if exists { b": exists" } else { b": missing" }].concat()
            });
            if exists {
                let uri = [&self.state.uri[..], &name].concat();
                let args = self.state.args.clone();
                return Ok(Some(self.internal_redirect(uri, args, node)));
            }
            if !is_tested {
                is_tested = true;
                let status = match self.look_up(&path.bytes, node)? {
                    Some(Found::Folder) => continue,
                    Some(_) => 500, // by an alias of a file: the path of a URI ends with a slash
                    None => 404,
                };
                self.lacks(path.bytes, node);
                return Ok(Some(self.fail(status, Some(node))));
            }
        }
        Ok(None)
    }

    /// Variables of an `index` are not computed anew: nginx may still have the value of an earlier URI.
    fn index_name(&mut self, value: &Value, node: Node) -> Result<Vec<u8>, Unknown> {
        if self.changes_with_uri(value) && self.state.internal {
            let reason = "the value that nginx keeps of a variable of index".to_owned();
            return Err(Unknown { reason, node: Some(node), question: None });
        }
        self.evaluate_index(value)
    }

    /// `autoindex`
    fn listing(&mut self, node: Node) -> Result<Flow, Unknown> {
        let Some(path) = self.path()? else { return Ok(self.fail(500, Some(node))) };
        if self.look_up(&path.bytes, node)? != Some(Found::Folder) {
            self.lacks(path.bytes, node);
            return Ok(self.fail(404, Some(node)));
        }
        self.send_file(path.bytes, node)
    }

    /// `ngx_http_static_handler`
    fn static_file(&mut self, node: Node) -> Result<Flow, Unknown> {
        let Some(path) = self.path()? else { return Ok(self.fail(500, Some(node))) };
        match self.look_up(&path.bytes, node)? {
            Some(Found::Folder) => {
                let mut target = uri::escape(&self.state.uri, Escape::Uri, self.model.site.build.version);
                target.push(b'/');
                if !self.state.args.is_empty() {
                    target.push(b'?');
                    target.extend_from_slice(&self.state.args);
                }
                self.state.location = Some(Ok(target));
                Ok(self.fail(301, Some(node)))
            }
            Some(Found::File) if &*self.state.method == b"POST" => Ok(self.fail(405, Some(node))),
            Some(Found::File) => self.send_file(path.bytes, node),
            _ => {
                self.lacks(path.bytes, node);
                Ok(self.fail(404, Some(node)))
            }
        }
    }

    /// Notes that a file is missing, which nginx writes to the error log.
    fn lacks(&mut self, file: Vec<u8>, node: Node) {
        self.state.missing = Some(Bytes(file));
        if R::TRIES {
            self.recorder.tries(node, Tries { missing: 1, ..Tries::default() });
        }
    }

    fn send_file(&mut self, file: Vec<u8>, node: Node) -> Result<Flow, Unknown> {
        const CONDITIONS: [&[u8]; 5] =
            [b"if_match", b"if_modified_since", b"if_none_match", b"if_unmodified_since", b"range"];
        let (kind, file) = (OutcomeKind::Static, Some(Bytes(file)));
        if CONDITIONS.iter().any(|name| self.header(name).is_some()) && matches!(self.state.err_status, 0 | 200) {
            let reason = "the time and size of the file, for a conditional or partial request".to_owned();
            let unknown = Unknown { reason, node: Some(node), question: None };
            if self.has_page(412)? || self.has_page(416)? || self.main_method.is_some() {
                return Err(unknown);
            }
            self.state.err_status = 0;
            return self.respond(Response {
                kind,
                file,
                node: Some(node),
                unknown: Some(unknown),
                ..Response::default()
            });
        }
        self.respond(Response { kind, status: Some(200), node: Some(node), file, ..Response::default() })
    }
}
