//! Headers that the configuration adds (`ngx_http_headers_filter`).

use crate::request::bytes::Bytes;
use crate::request::outcome::{Header, Unknown};
use crate::request::record::Recorder;
use crate::request::refused::Refused;
use crate::request::run::Run;
use crate::request::setting;
use crate::request::site::{Node, Stated};
use crate::request::value::Value;
use crate::request::variables::Variables;

/// An `add_header`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddHeader {
    node: Node,
    name: Bytes,
    value: Value,
    is_always: bool,
}

/// An `expires` that is not `off`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expires {
    node: Node,
    value: Value,
    /// Whether the time counts from the modification of the file (`modified`).
    is_modified: bool,
}

impl AddHeader {
    pub fn read(directive: &Stated, variables: &mut Variables) -> Result<AddHeader, Refused> {
        let refused = |message| Refused::new(directive.node, message);
        Ok(AddHeader {
            node: directive.node,
            name: setting::argument(directive, 0).into(),
            value: Value::parse(setting::argument(directive, 1), variables).map_err(refused)?,
            is_always: setting::argument(directive, 2) == b"always",
        })
    }
}

impl Expires {
    pub fn read(directive: &Stated, variables: &mut Variables) -> Result<Option<Expires>, Refused> {
        let refused = |message| Refused::new(directive.node, message);
        let is_modified = directive.args.len() == 2;
        let text = setting::argument(directive, usize::from(is_modified));
        let value = Value::parse(text, variables).map_err(refused)?;
        Ok((text != b"off").then_some(Expires { node: directive.node, value, is_modified }))
    }
}

/// Why nginx refuses the words of an `expires` (`ngx_http_parse_expires`).
pub fn fault(words: &[&[u8]]) -> Option<&'static str> {
    let (text, is_modified) = match words {
        [text] => (*text, false),
        [b"modified", text] => (*text, true),
        _ => return Some("invalid value"),
    };
    let time = match text {
        _ if text.contains(&b'$') => return None,
        b"off" | b"epoch" | b"max" if !is_modified => return None,
        [b'@', ..] if is_modified => return Some("daily time cannot be used with \"modified\" parameter"),
        [b'@', time @ ..] if seconds(time).is_some_and(|seconds| seconds > 86_400) => {
            return Some("daily time value must be less than 24 hours");
        }
        [b'@' | b'+' | b'-', time @ ..] | time => time,
    };
    seconds(time).is_none().then_some("invalid value")
}

impl<R: Recorder> Run<'_, R> {
    /// Returns the headers for a status. Stores the first unknown header in `unknown`. A subrequest computes no
    /// headers.
    pub fn headers(&mut self, status: Option<u16>, unknown: &mut Option<Unknown>) -> Vec<Header> {
        let mut headers = Vec::new();
        if self.main_method.is_some() {
            return headers;
        }
        let settings = self.settings();
        let result = settings.expires.clone().and_then(|expires| match expires {
            Some(expires) if status.is_none_or(is_safe) => self.expires(&expires, status, &mut headers),
            _ => Ok(()),
        });
        note(result, unknown);
        match settings.add_headers.clone() {
            Ok(added) => {
                for header in &*added {
                    let result = self.add_header(header, status, &mut headers);
                    note(result, unknown);
                }
            }
            Err(reason) => note(Err(reason), unknown),
        }
        headers
    }

    fn add_header(
        &mut self,
        header: &AddHeader,
        status: Option<u16>,
        headers: &mut Vec<Header>,
    ) -> Result<(), Unknown> {
        let is_sent = match status {
            Some(status) => is_safe(status),
            None => header.is_always,
        };
        if !header.is_always && !is_sent {
            return match status {
                Some(_) => Ok(()),
                None => Err(of_status(header.node)),
            };
        }
        let value = self.evaluate(&header.value)?;
        if is_single(&header.name) {
            headers.retain(|earlier| !earlier.name.eq_ignore_ascii_case(&header.name));
        }
        if !value.is_empty() {
            headers.push(Header { node: header.node, name: header.name.clone(), value: Bytes(value) });
        }
        Ok(())
    }

    /// Adds `Expires` and `Cache-Control`, if they do not depend on the time.
    fn expires(&mut self, expires: &Expires, status: Option<u16>, headers: &mut Vec<Header>) -> Result<(), Unknown> {
        let text = self.evaluate(&expires.value)?;
        if text == b"off" && !expires.is_modified {
            return Ok(());
        }
        if status.is_none() {
            return Err(of_status(expires.node));
        }
        let mut push = |name: &str, value: &str| {
            headers.push(Header { node: expires.node, name: name.into(), value: value.into() });
        };
        let time = match &*text {
            b"epoch" if !expires.is_modified => {
                push("Expires", "Thu, 01 Jan 1970 00:00:01 GMT");
                push("Cache-Control", "no-cache");
                return Ok(());
            }
            b"max" if !expires.is_modified => {
                push("Expires", "Thu, 31 Dec 2037 23:55:55 GMT");
                push("Cache-Control", "max-age=315360000");
                return Ok(());
            }
            [b'@', ..] => return Err(of_time(expires.node)),
            [b'-', time @ ..] => seconds(time).map(|seconds| -seconds),
            [b'+', time @ ..] => seconds(time),
            time => seconds(time),
        };
        match time {
            // For a value that is not a time, nginx sends neither header.
            None => Ok(()),
            Some(time) if time < 0 => {
                push("Cache-Control", "no-cache");
                Ok(())
            }
            Some(time) if time == 0 || !expires.is_modified => {
                push("Cache-Control", &format!("max-age={time}"));
                Ok(())
            }
            Some(_) => Err(of_time(expires.node)),
        }
    }
}

fn note(result: Result<(), Unknown>, unknown: &mut Option<Unknown>) {
    if let Err(reason) = result {
        unknown.get_or_insert(reason);
    }
}

fn of_status(node: Node) -> Unknown {
    Unknown { reason: "the status of the response".into(), node: Some(node), question: None }
}

fn of_time(node: Node) -> Unknown {
    Unknown { reason: "the time".into(), node: Some(node), question: None }
}

/// Whether a header replaces an earlier one of its name, or removes it if it is empty (`ngx_http_set_headers`).
fn is_single(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"ETag") || name.eq_ignore_ascii_case(b"Last-Modified")
}

/// Whether headers are added for a status without `always`.
fn is_safe(status: u16) -> bool {
    matches!(status, 200 | 201 | 204 | 206 | 301 | 302 | 303 | 304 | 307 | 308)
}

/// Parses a time such as `1h 30m` or `45`, and returns seconds (`ngx_parse_time`).
fn seconds(text: &[u8]) -> Option<i64> {
    const UNITS: [(u8, i64); 7] =
        [(b'y', 31_536_000), (b'M', 2_592_000), (b'w', 604_800), (b'd', 86_400), (b'h', 3_600), (b'm', 60), (b's', 1)];
    let mut rest = text;
    let mut units = &UNITS[..];
    let mut total: i64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let length = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        let number = i64::try_from(setting::number(&rest[..length])?).ok()?;
        rest = &rest[length..];
        let factor = match rest.split_first() {
            None => 1,
            Some((b' ', after)) => {
                rest = after;
                1
            }
            Some((unit, after)) => {
                let place = units.iter().position(|(letter, _)| letter == unit)?;
                let factor = units[place].1;
                units = &units[place + 1..];
                rest = after;
                factor
            }
        };
        total = total.checked_add(number.checked_mul(factor)?)?;
        while let [b' ', after @ ..] = rest {
            rest = after;
        }
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::seconds;

    /// Units descend, and each occurs once. A number without a unit counts seconds.
    #[test]
    fn times() {
        for (text, expected) in [
            ("1h 30m", Some(5400)),
            ("45", Some(45)),
            ("30d", Some(2_592_000)),
            ("1y1M", Some(34_128_000)),
            ("0", Some(0)),
        ] {
            assert_eq!(seconds(text.as_bytes()), expected, "{text}");
        }
        for text in ["", "x", "1m1h", "h"] {
            assert_eq!(seconds(text.as_bytes()), None, "{text}");
        }
    }
}
