//! Headers that the configuration adds (`ngx_http_headers_filter`).

use crate::request::bytes::Bytes;
use crate::request::directives::headers::{AddHeader, Expires, seconds};
use crate::request::outcome::{Header, Unknown};
use crate::request::record::Recorder;
use crate::request::run::Run;
use crate::request::site::Node;

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
        let is_same = |other: &Header| is_single(&header.name) && other.name.eq_ignore_ascii_case(&header.name);
        let earlier = headers.iter().position(is_same);
        let set = Header { node: header.node, name: header.name.clone(), value: Bytes(value) };
        match (earlier, set.value.is_empty()) {
            (Some(earlier), true) => drop(headers.remove(earlier)),
            (Some(earlier), false) => headers[earlier] = set,
            (None, true) => {}
            (None, false) => headers.push(set),
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

/// Whether a response has one header of a name, which `add_header` sets or, with an empty value, takes away
/// (`ngx_http_set_response_header`).
fn is_single(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"ETag") || name.eq_ignore_ascii_case(b"Last-Modified")
}

/// Whether headers are added for a status without `always`.
fn is_safe(status: u16) -> bool {
    matches!(status, 200 | 201 | 204 | 206 | 301 | 302 | 303 | 304 | 307 | 308)
}
