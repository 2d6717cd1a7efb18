//! Builds the request that an upstream gets (`ngx_http_proxy_create_request`).

use crate::request::bytes::Bytes;
use crate::request::handler::{Handler, Pass, Target, Url};
use crate::request::outcome::{Passed, Unknown};
use crate::request::record::Recorder;
use crate::request::response::Response;
use crate::request::run::{Flow, Run};
use crate::request::setting::known;
use crate::request::site::Node;
use crate::request::uri::{self, Escape, decode_unsafe};

impl<R: Recorder> Run<'_, R> {
    pub fn pass(&mut self, handler: Handler) -> Result<Flow, Unknown> {
        let settings = self.settings();
        let passes = known(&settings.passes)?;
        let Some(pass) = passes.iter().find(|pass| pass.handler == handler) else {
            let reason = "the handler has no address to pass the request on to".to_owned();
            return Err(Unknown { reason, node: Some(settings.node), question: None });
        };
        self.recorder.uses(pass.node);
        if handler == Handler::Memcached && !matches!(&*self.state.method, b"GET" | b"HEAD") {
            return Ok(self.fail(405, Some(pass.node)));
        }
        let (kind, node) = (handler.kind(), Some(pass.node));
        match self.passed(pass) {
            Ok(Some(_)) if self.world.accel.is_some() && !self.state.is_accelerated => Ok(self.accelerate(pass.node)),
            Ok(Some(passed)) => self.respond(Response { kind, node, upstream: Some(passed), ..Response::default() }),
            Ok(None) => Ok(self.fail(500, node)),
            Err(unknown) => self.respond(Response { kind, node, unknown: Some(unknown), ..Response::default() }),
        }
    }

    /// Follows `X-Accel-Redirect` of an upstream (`ngx_http_upstream_process_headers`).
    fn accelerate(&mut self, node: Node) -> Flow {
        self.state.is_accelerated = true;
        let target = self.world.accel.clone().unwrap_or_default();
        if target.starts_with(b"@") {
            return self.named_location(&target, node);
        }
        let Some((uri, args)) = decode_unsafe(&target) else { return self.fail(404, Some(node)) };
        if &*self.state.method != b"HEAD" {
            self.state.method = "GET".into();
        }
        self.internal_redirect(uri, args, node)
    }

    /// `None` if nginx answers with 500.
    fn passed(&mut self, pass: &Pass) -> Result<Option<Passed>, Unknown> {
        let url = match &pass.target {
            Target::Fixed(url) => url.clone(),
            Target::Variable(value) => match Url::read(pass.handler, &self.evaluate(value)?) {
                Ok(url) => url,
                Err(_) => return Ok(None),
            },
        };
        let target = match pass.handler {
            Handler::Proxy => Some(self.proxy_target(pass, &url)?),
            Handler::Grpc => Some(self.grpc_target()),
            _ => None,
        };
        if target.as_ref().is_some_and(Vec::is_empty) {
            return Ok(None);
        }
        let method = self.upstream_method(pass)?;
        Ok(Some(Passed { server: url.server, scheme: url.scheme, method, target: target.map(Bytes) }))
    }

    fn upstream_method(&mut self, pass: &Pass) -> Result<Bytes, Unknown> {
        if pass.handler != Handler::Proxy {
            return Ok(self.state.method.clone());
        }
        if &*self.state.method == b"HEAD" && self.fills_cache()? {
            return Ok("GET".into());
        }
        match self.settings().proxy_method.clone()? {
            Some(method) => Ok(Bytes(self.evaluate(&method)?)),
            None => Ok(self.state.method.clone()),
        }
    }

    /// Whether a HEAD is passed on as GET, so that the response can be cached (`ngx_http_upstream_cache`).
    fn fills_cache(&mut self) -> Result<bool, Unknown> {
        let settings = self.settings();
        let (cache, converts) = (settings.proxy_cache.clone()?, settings.proxy_cache_convert_head.clone()?);
        let Some(cache) = cache else { return Ok(false) };
        let zone = self.evaluate(&cache.1)?;
        Ok(converts && !zone.is_empty() && zone != b"off")
    }

    /// Returns the URI to pass on: the client's, with the URI of the directive in place of the location's name. If the
    /// directive has no URI and nothing has changed, it is exactly the client's. If the target of the directive has
    /// variables and a URI, it is that URI.
    fn proxy_target(&self, pass: &Pass, url: &Url) -> Result<Vec<u8>, Unknown> {
        let state = &self.state;
        if matches!(pass.target, Target::Variable(_)) && !url.uri.is_empty() {
            let slash: &[u8] = if url.uri.starts_with(b"?") { b"/" } else { b"" };
            return Ok([slash, &url.uri].concat());
        }
        if url.uri.is_empty() && state.valid_unparsed_uri {
            return Ok(self.head.unparsed_uri.0.clone());
        }
        let replaced = if state.valid_location && !url.uri.is_empty() { pass.location } else { 0 };
        let Some(rest) = state.uri.get(replaced.min(state.uri.len())..) else { return Ok(Vec::new()) };
        if replaced > state.uri.len() && !self.model.site.build.cuts_short_uris() {
            let reason = "nginx cuts more of the URI than it has".to_owned();
            return Err(Unknown { reason, node: Some(pass.node), question: None });
        }
        let mut target = if state.valid_location { url.uri.0.clone() } else { Vec::new() };
        if self.head.uri.quoted || state.internal {
            target.extend(uri::escape(rest, Escape::Uri, self.model.site.build.version));
        } else {
            target.extend_from_slice(rest);
        }
        self.add_args(&mut target);
        Ok(target)
    }

    fn grpc_target(&self) -> Vec<u8> {
        if self.state.valid_unparsed_uri {
            return self.head.unparsed_uri.0.clone();
        }
        let mut target = uri::escape(&self.state.uri, Escape::Uri, self.model.site.build.version);
        self.add_args(&mut target);
        target
    }

    fn add_args(&self, target: &mut Vec<u8>) {
        if !self.state.args.is_empty() {
            target.push(b'?');
            target.extend_from_slice(&self.state.args);
        }
    }
}
