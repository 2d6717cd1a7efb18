//! Variables that the request tells (`ngx_http_core_variables`).

use std::net::IpAddr;

use crate::request::credentials;
use crate::request::outcome::Unknown;
use crate::request::record::Recorder;
use crate::request::run::{Run, unknown_variable};
use crate::request::variables::RequestVariable;

impl<R: Recorder> Run<'_, R> {
    pub fn write_request_variable(&mut self, variable: RequestVariable, text: &mut Vec<u8>) -> Result<(), Unknown> {
        let connection = &self.request.connection;
        match variable {
            RequestVariable::Args => text.extend_from_slice(&self.state.args),
            RequestVariable::BinaryRemoteAddr => {
                let client = self.known_client()?;
                match std::str::from_utf8(&client).ok().and_then(|client| client.parse().ok()) {
                    Some(IpAddr::V4(address)) => text.extend(address.octets()),
                    Some(IpAddr::V6(address)) => text.extend(address.octets()),
                    None => text.extend(client),
                }
            }
            RequestVariable::ConnectionAddr => match &connection.client {
                Some(client) => text.extend_from_slice(client),
                None => return Err(unknown_variable(b"realip_remote_addr", "the address of the client".into())),
            },
            RequestVariable::ContentLength
                if self.head.chunked && (self.state.has_read_body || self.state.is_body_discarded) =>
            {
                return Err(unknown_variable(b"content_length", "what nginx has read of a chunked body".into()));
            }
            RequestVariable::ContentLength => self.write_header(b"content_length", text),
            RequestVariable::FastcgiPathInfo => text.extend(self.fastcgi_path_info()?),
            RequestVariable::FastcgiScriptName => text.extend(self.fastcgi_script_name()?),
            RequestVariable::Host => match &self.head.host {
                Some(host) if !host.is_empty() => text.extend_from_slice(host),
                _ => text.extend(self.model.server_name(self.state.server)?),
            },
            RequestVariable::Https if connection.tls => text.extend(b"on"),
            RequestVariable::Https => {}
            RequestVariable::IsArgs if self.state.args.is_empty() => {}
            RequestVariable::IsArgs => text.push(b'?'),
            RequestVariable::IsRequestPort if self.request_port()? == 0 => {}
            RequestVariable::IsRequestPort => text.push(b':'),
            RequestVariable::LimitRate => text.extend(self.state.limit_rate.clone().unwrap_or_else(|| b"0".to_vec())),
            RequestVariable::NginxVersion => {
                let (major, minor, patch) = self.model.site.build.version;
                text.extend(format!("{major}.{minor}.{patch}").bytes());
            }
            RequestVariable::ProxyAddXForwardedFor => {
                self.write_header(b"x_forwarded_for", text);
                if !text.is_empty() {
                    text.extend(b", ");
                }
                text.extend(self.known_client()?);
            }
            RequestVariable::RemoteAddr => text.extend(self.known_client()?),
            RequestVariable::RemoteUser => {
                text.extend(self.header(b"authorization").and_then(credentials::user).unwrap_or_default());
            }
            RequestVariable::Request if self.is_cut() => {
                return Err(unknown_variable(b"request", "the part of a long request line that nginx reads".into()));
            }
            RequestVariable::Request => {
                text.extend_from_slice(&self.request.method);
                text.push(b' ');
                text.extend_from_slice(&self.request.target);
                if let Some(protocol) = self.protocol_of(self.request.version) {
                    text.extend(format!(" {protocol}").bytes());
                }
            }
            RequestVariable::DocumentRoot | RequestVariable::RequestFilename => {} // `Run::write_variable`
            RequestVariable::SecureLink | RequestVariable::SecureLinkExpires => {} // `Run::write_variable`
            RequestVariable::RequestMethod => {
                text.extend_from_slice(self.main_method.as_ref().unwrap_or(&self.state.method));
            }
            RequestVariable::RequestPort if self.request_port()? == 0 => {}
            RequestVariable::RequestPort => text.extend(self.head.port.to_string().bytes()),
            RequestVariable::RequestUri => text.extend_from_slice(&self.head.unparsed_uri),
            RequestVariable::Scheme => text.extend_from_slice(if connection.tls { b"https" } else { b"http" }),
            RequestVariable::ServerAddr => text.extend(self.local_address()),
            RequestVariable::ServerName => text.extend(self.model.server_name(self.state.server)?),
            RequestVariable::ServerPort if connection.port == 0 => {}
            RequestVariable::ServerPort => text.extend(connection.port.to_string().bytes()),
            RequestVariable::ServerProtocol => text.extend(self.protocol().unwrap_or_default().bytes()),
            RequestVariable::SslServerName => {
                text.extend_from_slice(connection.sni.as_ref().map_or(b"", |name| &name.0[..]));
            }
            RequestVariable::Tls if !connection.tls => {}
            RequestVariable::Tls => return Err(unknown_variable(b"ssl", "a variable of TLS".into())),
            RequestVariable::Status => {
                let status = if self.state.err_status == 0 { self.state.status } else { self.state.err_status };
                text.extend(format!("{status:03}").bytes());
            }
            RequestVariable::Uri => text.extend_from_slice(&self.state.uri),
        }
        Ok(())
    }

    /// The port that the client gives with the host; 0 if none. What is one changed in 1.29.4.
    fn request_port(&self) -> Result<u16, Unknown> {
        if self.model.site.build.version < (1, 29, 4) {
            return Err(unknown_variable(b"request_port", "the port in Host".into()));
        }
        Ok(self.head.port)
    }

    /// The address of the client.
    fn known_client(&self) -> Result<Vec<u8>, Unknown> {
        let client = self.client.clone()?;
        client
            .map(|client| client.0)
            .ok_or_else(|| unknown_variable(b"remote_addr", "the address of the client".into()))
    }

    /// Whether nginx may have refused the request line for its length.
    fn is_cut(&self) -> bool {
        self.head.version == (0, 0) && self.request.target.len() > 1000
    }

    /// `HTTP/1.1`; `None` for a request line without a version.
    fn protocol(&self) -> Option<String> {
        self.protocol_of(self.head.version)
    }

    fn protocol_of(&self, version: (u16, u16)) -> Option<String> {
        let (major, minor) = self.request.connection.protocol.unwrap_or(version);
        (major > 0).then(|| format!("HTTP/{major}.{minor}"))
    }

    /// The first header of a name, which is in lower case and with `_` for `-`.
    pub fn header<'a>(&'a self, name: &'a [u8]) -> Option<&'a [u8]> {
        self.headers_of(name).next()
    }

    /// `$http_x`: since 1.23.0 the values of all headers of the name.
    pub fn write_header(&self, name: &[u8], text: &mut Vec<u8>) {
        let separator: &[u8] = if name == b"cookie" { b"; " } else { b", " };
        let joins = self.model.site.build.joins_headers() || matches!(name, b"cookie" | b"x_forwarded_for");
        for (place, value) in self.headers_of(name).take(if joins { usize::MAX } else { 1 }).enumerate() {
            if place > 0 {
                text.extend_from_slice(separator);
            }
            text.extend_from_slice(value);
        }
    }

    pub fn headers_of<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let is_of_name = move |header: &[u8]| {
            let letter = |byte: &u8| if *byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
            header.len() == name.len() && header.iter().map(letter).eq(name.iter().copied())
        };
        self.head.headers.iter().filter(move |(header, _)| is_of_name(header)).map(|(_, value)| &value.0[..])
    }

    /// `$cookie_x` (`ngx_http_parse_cookie_lines`)
    pub fn write_cookie(&self, name: &[u8], text: &mut Vec<u8>) {
        let is_old = self.model.site.build.splits_cookies_at_commas();
        if let Some(value) = self.headers_of(b"cookie").find_map(|header| cookie(header, name, is_old)) {
            text.extend_from_slice(value);
        }
    }
}

/// The value of a cookie in a header; before 1.29.6 a comma separates cookies, too.
fn cookie<'a>(header: &'a [u8], name: &[u8], is_old: bool) -> Option<&'a [u8]> {
    let mut rest = header;
    while !rest.is_empty() {
        if let Some((key, after)) = rest.split_at_checked(name.len())
            && key.eq_ignore_ascii_case(name)
            && let [b'=', value @ ..] = trim_start(after)
        {
            let value = trim_start(value);
            let end = value.iter().position(|byte| *byte == b';').unwrap_or(value.len());
            return Some(&value[..end]);
        }
        let end = rest.iter().position(|byte| *byte == b';' || (is_old && *byte == b','));
        rest = trim_start(end.map_or(b"", |end| &rest[end + 1..]));
    }
    None
}

fn trim_start(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|byte| **byte == b' ').count()..]
}

#[cfg(test)]
mod tests {
    use super::cookie;

    /// Cookies end at semicolons; commas separate them in older versions.
    #[test]
    fn cookies() {
        assert_eq!(cookie(b"a=1; b = 2; c=3", b"b", true), Some(&b"2"[..]));
        assert_eq!(cookie(b"a=1,b=2", b"b", true), Some(&b"2"[..]));
        assert_eq!(cookie(b"a=1,b=2", b"b", false), None);
        assert_eq!(cookie(b"A=1,b=2", b"a", false), Some(&b"1,b=2"[..]));
        assert_eq!(cookie(b"ab=1; a", b"a", true), None);
    }
}
