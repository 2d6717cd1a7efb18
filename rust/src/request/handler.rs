//! The handler of a location (`clcf->handler`), which answers its requests or passes them on to a server.

use crate::request::bytes::Bytes;
use crate::request::outcome::OutcomeKind;
use crate::request::refused::Refused;
use crate::request::setting::{self, Own, Setting};
use crate::request::site::{Kind, Level, Node, Stated};
use crate::request::value::Value;
use crate::request::variables::Variables;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handler {
    Proxy,
    Fastcgi,
    Uwsgi,
    Scgi,
    Grpc,
    Memcached,
    StubStatus,
    EmptyGif,
    Flv,
    Mp4,
}

/// A `proxy_pass`, `fastcgi_pass` and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    pub handler: Handler,
    pub node: Node,
    pub target: Target,
    /// The length of the location's name, which the URI of the directive replaces.
    pub location: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Fixed(Url),
    Variable(Value),
}

/// The parts of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    pub scheme: Bytes,
    pub server: Bytes,
    /// Empty if it has none.
    pub uri: Bytes,
}

impl Handler {
    /// The handlers that pass requests on, with their directives.
    pub const PASSES: [(Handler, &'static str); 6] = [
        (Handler::Proxy, "proxy_pass"),
        (Handler::Fastcgi, "fastcgi_pass"),
        (Handler::Uwsgi, "uwsgi_pass"),
        (Handler::Scgi, "scgi_pass"),
        (Handler::Grpc, "grpc_pass"),
        (Handler::Memcached, "memcached_pass"),
    ];

    const OTHERS: [(Handler, &'static str); 4] = [
        (Handler::StubStatus, "stub_status"),
        (Handler::EmptyGif, "empty_gif"),
        (Handler::Flv, "flv"),
        (Handler::Mp4, "mp4"),
    ];

    /// The last handler that a level states. A `limit_except` inherits a handler that passes requests on.
    pub fn of(own: &Own, passes: &[Pass]) -> Setting<Option<(Handler, Node)>> {
        let mut stated: Option<(Handler, Node)> = None;
        for (handler, name) in Handler::PASSES.into_iter().chain(Handler::OTHERS) {
            if let Some(directive) = own.last(name)?
                && stated.is_none_or(|(_, node)| node < directive.node)
            {
                stated = Some((handler, directive.node));
            }
        }
        let inherited = passes.last().filter(|_| own.level.kind == Kind::LimitExcept);
        Ok(stated.or(inherited.map(|pass| (pass.handler, pass.node))))
    }

    pub fn kind(self) -> OutcomeKind {
        match self {
            Handler::Proxy => OutcomeKind::Proxy,
            Handler::Fastcgi => OutcomeKind::Fastcgi,
            Handler::Uwsgi => OutcomeKind::Uwsgi,
            Handler::Scgi => OutcomeKind::Scgi,
            Handler::Grpc => OutcomeKind::Grpc,
            Handler::Memcached => OutcomeKind::Memcached,
            _ => OutcomeKind::Handler,
        }
    }

    pub fn passes_on(self) -> bool {
        Handler::PASSES.iter().any(|(handler, _)| *handler == self)
    }
}

impl Pass {
    pub fn read(
        handler: Handler,
        directive: &Stated,
        level: &Level,
        variables: &mut Variables,
    ) -> Result<Pass, Refused> {
        let refused = |message: String| Refused::new(directive.node, message);
        let text = setting::argument(directive, 0);
        let target = if text.contains(&b'$') {
            Target::Variable(Value::parse(text, variables).map_err(refused)?)
        } else {
            Target::Fixed(Url::read(handler, text).map_err(|message| refused(message.to_owned()))?)
        };
        let location = level.plain_name().map_or(0, <[u8]>::len);
        if let (Target::Fixed(url), None) = (&target, level.plain_name())
            && handler == Handler::Proxy
            && !url.uri.is_empty()
        {
            return Err(refused(
                "\"proxy_pass\" cannot have URI part in location given by regular expression, or inside named \
                 location, or inside \"if\" statement, or inside \"limit_except\" block"
                    .to_owned(),
            ));
        }
        Ok(Pass { handler, node: directive.node, target, location })
    }
}

impl Url {
    /// The error is nginx's message.
    pub fn read(handler: Handler, text: &[u8]) -> Result<Url, &'static str> {
        let schemes: &[&[u8]] = match handler {
            Handler::Proxy => &[b"http://", b"https://"],
            Handler::Grpc => &[b"grpc://", b"grpcs://"],
            _ => &[],
        };
        let is_scheme =
            |scheme: &&&[u8]| text.len() >= scheme.len() && text[..scheme.len()].eq_ignore_ascii_case(scheme);
        let scheme = match (schemes.iter().find(is_scheme), handler) {
            (Some(scheme), _) => *scheme,
            (None, Handler::Proxy) => return Err("invalid URL prefix"),
            (None, Handler::Grpc) => b"",
            (None, _) => return Ok(Url { server: text.into(), ..Url::default() }),
        };
        let rest = &text[scheme.len()..];
        let (server, uri) = split(rest);
        if server.is_empty() || server.starts_with(b":") {
            return Err("no host");
        }
        let scheme = scheme.strip_suffix(b"://").unwrap_or(b"grpc");
        Ok(Url { scheme: scheme.into(), server: server.into(), uri: uri.into() })
    }
}

/// Splits a text into the server and the URI after it. The server ends at the first slash or question mark, or, for a
/// unix socket, at the second colon.
fn split(text: &[u8]) -> (&[u8], &[u8]) {
    if text.len() > 5 && text[..5].eq_ignore_ascii_case(b"unix:") {
        return match text[5..].iter().position(|byte| *byte == b':') {
            Some(colon) => (&text[..5 + colon], &text[6 + colon..]),
            None => (text, b""),
        };
    }
    text.split_at(text.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(text.len()))
}

impl Level {
    /// The name of a location that has no pattern and is not a named location.
    pub fn plain_name(&self) -> Option<&[u8]> {
        if self.kind != Kind::Location {
            return None;
        }
        let name: &[u8] = match &*self.args {
            [modifier, name, ..] if matches!(&*modifier.0, b"=" | b"^~") => name,
            [one] => match &*one.0 {
                [b'=', name @ ..] | [b'^', b'~', name @ ..] => name,
                name => name,
            },
            _ => return None,
        };
        let is_plain = !name.starts_with(b"~") && !name.starts_with(b"@");
        is_plain.then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::{Handler, Url};

    /// A URL has a server and perhaps a URI; that of a unix socket is behind a colon.
    #[test]
    fn urls() {
        for (text, scheme, server, uri) in [
            ("http://u", "http", "u", ""),
            ("HTTPS://u:8443/a/?b", "https", "u:8443", "/a/?b"),
            ("http://u?x/y", "http", "u", "?x/y"),
            ("http://unix:/run/a.sock:/b/", "http", "unix:/run/a.sock", "/b/"),
            ("http://unix:/run/a.sock", "http", "unix:/run/a.sock", ""),
        ] {
            let url = Url::read(Handler::Proxy, text.as_bytes()).unwrap();
            let expected = Url { scheme: scheme.into(), server: server.into(), uri: uri.into() };
            assert_eq!(url, expected, "{text}");
        }
        assert_eq!(Url::read(Handler::Proxy, b"u"), Err("invalid URL prefix"));
        assert_eq!(Url::read(Handler::Proxy, b"http:///x"), Err("no host"));
        assert_eq!(Url::read(Handler::Grpc, b"u:1").unwrap().scheme, "grpc".into());
    }
}
