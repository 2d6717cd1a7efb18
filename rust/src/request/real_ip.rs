//! Finds the address of a client behind trusted proxies (`ngx_http_realip_handler`).

use std::net::{IpAddr, SocketAddr};

use crate::request::bytes::Bytes;
use crate::request::directives::access::Address;
use crate::request::outcome::Unknown;
use crate::request::record::Recorder;
use crate::request::run::Run;
use crate::request::setting::known;

impl<R: Recorder> Run<'_, R> {
    /// Takes the client's address from the header of a trusted proxy. Happens once per request.
    pub fn find_client(&mut self) {
        if !self.state.has_real_address {
            match self.forwarded() {
                Ok(None) => {}
                Ok(Some(address)) => self.take_client(Ok(Some(address.to_string().as_str().into()))),
                Err(unknown) => self.take_client(Err(unknown)),
            }
        }
    }

    fn take_client(&mut self, client: Result<Option<Bytes>, Unknown>) {
        self.client = client;
        self.state.has_real_address = true;
    }

    /// The address in the header. `None` if the proxy is not trusted, or the header has no address.
    fn forwarded(&self) -> Result<Option<IpAddr>, Unknown> {
        let settings = self.settings();
        let (trusted, header) = (known(&settings.real_ip_from)?, known(&settings.real_ip_header)?);
        let Some(first) = trusted.first() else { return Ok(None) };
        let unknown = || {
            let reason = "the address of the client behind a proxy".to_owned();
            Unknown { reason, node: Some(first.node), question: None }
        };
        if &**header == b"proxy_protocol" {
            return Err(unknown());
        }
        let name: Vec<u8> = header.iter().map(|byte| if *byte == b'-' { b'_' } else { *byte }).collect();
        let mut values = self.headers_of(&name);
        let value = if name == b"x_forwarded_for" { values.last() } else { values.next() };
        let Some(value) = value else { return Ok(None) };
        let client = self.request.connection.client.as_ref().map(|client| &client.0[..]);
        if !is_trusted(trusted, client)? {
            return Ok(None);
        }
        let addresses: Vec<&[u8]> =
            value.split(|byte| matches!(byte, b' ' | b',')).filter(|address| !address.is_empty()).collect();
        let Some(address) = addresses.last().and_then(|address| read(address)) else { return Ok(None) };
        let has_more = addresses.len() > 1 || self.headers_of(&name).nth(1).is_some();
        if has_more && is_trusted(trusted, Some(address.to_string().as_bytes()))? {
            return Err(unknown()); // by real_ip_recursive
        }
        Ok(Some(address))
    }
}

fn is_trusted(trusted: &[Address], client: Option<&[u8]>) -> Result<bool, Unknown> {
    for address in trusted {
        if address.has(client)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Parses an address with or without a port (`ngx_parse_addr_port`).
fn read(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::read;

    /// A port is dropped, and so are brackets.
    #[test]
    fn addresses() {
        for (text, address) in
            [("9.9.9.9", "9.9.9.9"), ("9.9.9.9:80", "9.9.9.9"), ("::1", "::1"), ("[::1]:5", "::1"), ("[::1]", "::1")]
        {
            assert_eq!(read(text.as_bytes()), address.parse().ok(), "{text}");
        }
        for text in ["", "x", "9.9.9", "9.9.9.9:x"] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
    }
}
