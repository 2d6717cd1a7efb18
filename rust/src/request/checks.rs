//! Checks the values of settings and names as nginx does, as far as reading them does not check them.

use crate::request::bytes::Bytes;
use crate::request::directives::access::Address;
use crate::request::directives::headers;
use crate::request::handler::Handler;
use crate::request::refused::Refused;
use crate::request::servers;
use crate::request::setting::{argument, number, rate, size};
use crate::request::site::{Kind, Level, Site, Stated};
use crate::request::value::Value;
use crate::request::variables::Variables;

const METHODS: [&str; 14] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "MKCOL",
    "COPY",
    "MOVE",
    "OPTIONS",
    "PROPFIND",
    "PROPPATCH",
    "LOCK",
    "UNLOCK",
    "PATCH",
];

/// Fails with the first directive whose values nginx refuses.
pub fn refuse(site: &Site) -> Result<(), Refused> {
    let faults = site.levels.iter().flat_map(|level| of_level(site, level));
    faults.min_by_key(|refused| refused.node).map_or(Ok(()), Err)
}

fn of_level(site: &Site, level: &Level) -> Vec<Refused> {
    let stated = level.settings.iter().flat_map(|(name, ids)| ids.iter().flatten().map(move |id| (&**name, *id)));
    let faults = stated.filter_map(|(name, id)| {
        let directive = &site.directives[id];
        fault(site, level, name, directive).map(|message| Refused::new(directive.node, message))
    });
    faults.chain(of_methods(level)).collect()
}

/// `limit_except`
fn of_methods(level: &Level) -> Option<Refused> {
    let is_method = |word: &[u8]| METHODS.iter().any(|method| word.eq_ignore_ascii_case(method.as_bytes()));
    let methods = if level.kind == Kind::LimitExcept { &level.args[..] } else { &[] };
    let word = methods.iter().find(|word| !is_method(word))?;
    Some(Refused::new(level.node, format!("invalid method \"{}\"", word.escape_ascii())))
}

/// Returns nginx's message if it refuses the values of a directive.
fn fault(site: &Site, level: &Level, name: &str, directive: &Stated) -> Option<String> {
    let words: Vec<&[u8]> = directive.args.iter().map(|word| &**word).collect();
    let first = argument(directive, 0);
    let is_bad = |what: &str| Some(format!("\"{name}\" directive {what}"));
    match name {
        "satisfy" => one_of(&words, &["all", "any"]),
        "add_header_inherit" => one_of(&words, &["on", "off", "merge"]),
        "gzip_static" => one_of(&words, &["off", "on", "always"]),
        "ssl_verify_client" => one_of(&words, &["off", "on", "optional", "optional_no_ca"]),
        "dav_methods" => one_of(&words, &["off", "PUT", "DELETE", "MKCOL", "COPY", "MOVE"]),
        "client_max_body_size" if size(first).is_none() => is_bad("invalid value"),
        "client_header_buffer_size" if rate(first).is_none() => is_bad("invalid value"),
        "large_client_header_buffers" if !has_buffers(directive) => is_bad("invalid value"),
        "max_headers" if number(first).is_none() => is_bad("invalid number"),
        "expires" => headers::fault(&words).and_then(is_bad),
        "add_header" => words.get(2).filter(|word| **word != b"always").map(|word| parameter(word)),
        "fastcgi_param" => match words.get(2) {
            Some(word) if *word != b"if_not_empty" => Some(parameter(word)),
            _ => of_values(directive.args.get(1..).unwrap_or_default()),
        },
        "proxy_set_header" => of_values(directive.args.get(1..).unwrap_or_default()),
        "allow" | "deny" if !Address::is_valid(first) => Some(parameter(first)),
        "index" => {
            words.iter().any(|word| word.is_empty()).then(|| "index \"\" in \"index\" directive is invalid".into())
        }
        "alias" if level.args.first().is_some_and(|word| word.starts_with(b"@")) => {
            Some("the \"alias\" directive cannot be used inside the named location".into())
        }
        "limit_conn" => number(argument(directive, 1))
            .is_none_or(|number| number == 0)
            .then(|| format!("invalid number of connections \"{}\"", argument(directive, 1).escape_ascii())),
        "limit_req" => of_limit(&words),
        "proxy_redirect" => of_redirect(site, level, directive),
        _ => {
            let handler = Handler::PASSES.into_iter().find(|(_, pass)| *pass == name).map(|(handler, _)| handler)?;
            servers::fault(site, handler, first)
        }
    }
}

/// Checks values that may contain variables.
fn of_values(values: &[Bytes]) -> Option<String> {
    let values = values.iter().filter(|value| !value.starts_with(b"~"));
    values.map(|value| Value::parse(value, &mut Variables::default())).find_map(Result::err)
}

/// `ngx_conf_set_enum_slot`, `ngx_conf_set_bitmask_slot`
fn one_of(words: &[&[u8]], values: &[&str]) -> Option<String> {
    let is_value = |word: &[u8]| values.iter().any(|value| word.eq_ignore_ascii_case(value.as_bytes()));
    words.iter().find(|word| !is_value(word)).map(|word| format!("invalid value \"{}\"", word.escape_ascii()))
}

fn parameter(word: &[u8]) -> String {
    format!("invalid parameter \"{}\"", word.escape_ascii())
}

/// `ngx_conf_set_bufs_slot`
fn has_buffers(directive: &Stated) -> bool {
    let is_some = |value: Option<u64>| value.is_some_and(|value| value > 0);
    is_some(number(argument(directive, 0))) && is_some(rate(argument(directive, 1)))
}

/// `ngx_http_limit_req`
fn of_limit(words: &[&[u8]]) -> Option<String> {
    let bad = words.iter().find_map(|word| match split(word) {
        _ if *word == b"nodelay" => None,
        Some((b"zone", _)) => None,
        Some((name @ (b"burst" | b"delay"), text)) => {
            number(text).is_none().then(|| format!("invalid {} value \"{}\"", name.escape_ascii(), word.escape_ascii()))
        }
        _ => Some(parameter(word)),
    });
    match bad {
        Some(message) => Some(message),
        None if words.iter().any(|word| word.starts_with(b"zone=")) => None,
        None => Some("\"limit_req\" must have \"zone\" parameter".into()),
    }
}

/// Splits a parameter at its `=`.
fn split(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = word.iter().position(|byte| *byte == b'=')?;
    Some((&word[..equals], &word[equals + 1..]))
}

/// `ngx_http_proxy_redirect`
fn of_redirect(site: &Site, level: &Level, directive: &Stated) -> Option<String> {
    let [word] = &directive.args[..] else { return of_values(&directive.args) };
    if **word != *b"default" {
        return (**word != *b"off" && **word != *b"false").then(|| parameter(word));
    }
    let passes = level.settings.get("proxy_pass").and_then(Option::as_ref);
    let pass = passes.into_iter().flatten().map(|id| &site.directives[*id]).find(|pass| pass.node < directive.node);
    match pass {
        None => Some("\"proxy_redirect default\" should be placed after the \"proxy_pass\" directive".into()),
        Some(pass) if argument(pass, 0).contains(&b'$') => {
            Some("\"proxy_redirect default\" cannot be used with \"proxy_pass\" directive with variables".into())
        }
        Some(_) => None,
    }
}
