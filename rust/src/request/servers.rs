//! Checks the server that a directive such as `proxy_pass` names, as nginx does (`ngx_parse_url`).

use crate::request::handler::Handler;
use crate::request::setting::number;
use crate::request::site::Site;

/// The longest path of a unix socket (`sun_path` without the final NUL).
const LONGEST_PATH: usize = 107;

/// Returns why nginx refuses the server of a URL without variables. `None` if it does not, or if it would have to look
/// up the name.
pub fn fault(site: &Site, handler: Handler, url: &[u8]) -> Option<String> {
    if url.contains(&b'$') {
        return None;
    }
    let schemes: &[&[u8]] = match handler {
        Handler::Proxy => &[b"http://", b"https://"],
        Handler::Grpc => &[b"grpc://", b"grpcs://"],
        Handler::Uwsgi => &[b"uwsgi://", b"suwsgi://"],
        _ => &[],
    };
    let is_scheme = |scheme: &&&[u8]| url.len() >= scheme.len() && url[..scheme.len()].eq_ignore_ascii_case(scheme);
    let server = &url[schemes.iter().find(is_scheme).map_or(0, |scheme| scheme.len())..];
    let text = server.escape_ascii();
    match parse(server, handler == Handler::Proxy) {
        Err(error) => Some(format!("{error} in upstream \"{text}\"")),
        Ok(Some(Place { host, port })) => of_upstream(site, handler, host, port),
        Ok(None) => None,
    }
}

/// Splits a server into the host and the port, if one is written.
struct Place<'u> {
    host: &'u [u8],
    port: Option<u64>,
}

/// The host and port of a server. `None` for a unix socket or an address of IPv6.
fn parse(server: &[u8], has_uri: bool) -> Result<Option<Place<'_>>, &'static str> {
    if server.len() >= 5 && server[..5].eq_ignore_ascii_case(b"unix:") {
        let path = &server[5..];
        let end = path.iter().position(|byte| has_uri && *byte == b':').unwrap_or(path.len());
        return match end {
            0 => Err("no path in the unix domain socket"),
            length if length > LONGEST_PATH => Err("too long path in the unix domain socket"),
            _ => Ok(None),
        };
    }
    if server.starts_with(b"[") {
        return Ok(None);
    }
    let end = server.iter().position(|byte| matches!(byte, b'/' | b'?'));
    if end.is_some() && !has_uri {
        return Err("invalid host");
    }
    let server = &server[..end.unwrap_or(server.len())];
    let (host, port) = match server.iter().position(|byte| *byte == b':') {
        Some(colon) => (&server[..colon], Some(&server[colon + 1..])),
        None => (server, None),
    };
    let port = port.map(|text| number(text).filter(|port| (1..=65_535).contains(port)).ok_or("invalid port"));
    let port = port.transpose()?;
    if host.is_empty() { Err("no host") } else { Ok(Some(Place { host, port })) }
}

/// Returns nginx's message for a host that is an `upstream` or has no port (`ngx_http_upstream_add`).
fn of_upstream(site: &Site, handler: Handler, host: &[u8], port: Option<u64>) -> Option<String> {
    let is_defined = site.upstreams.iter().any(|upstream| upstream.name.eq_ignore_ascii_case(host));
    let name = host.escape_ascii();
    // If this is only a part of a configuration, the rest may define the upstream.
    let is_whole = site.levels.first().is_some_and(|http| http.node > 0);
    match port {
        Some(port) if is_defined => Some(format!("upstream \"{name}\" may not have port {port}")),
        None if is_whole && !is_defined && handler != Handler::Proxy => Some(format!("no port in upstream \"{name}\"")),
        _ => None,
    }
}
