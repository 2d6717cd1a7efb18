//! Splits lines of access logs into values, at the texts that a format has between its variables.
//!
//! A value ends where the next text begins. Where the value would not be one of its variable (`1.2.3.4, 5.6.7.8` in
//! front of a space, when no address has spaces), it ends where the text begins the next time.

use std::ops::Range;

use memchr::memmem::Finder;

use crate::logs::value::Escape;

/// The most that is tried for one line, in values that are looked at.
const MOST_TRIED: usize = 400;

/// What the value of a variable is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Any,
    Digits,
    Decimal,
    /// Durations of several upstreams.
    Durations,
    /// What has neither space nor quote.
    Word,
    /// What ends in front of a slash.
    Host,
}

impl Kind {
    fn of(variable: &str) -> Kind {
        match variable {
            "status"
            | "body_bytes_sent"
            | "bytes_sent"
            | "request_length"
            | "connection"
            | "connection_requests"
            | "remote_port"
            | "pid"
            | "server_port" => Kind::Digits,
            "msec" | "request_time" | "connection_time" => Kind::Decimal,
            "upstream_response_time" | "upstream_connect_time" | "upstream_header_time" => Kind::Durations,
            "remote_addr" | "realip_remote_addr" | "server_addr" | "scheme" | "https" | "request_uri"
            | "time_iso8601" | "request_method" | "server_protocol" | "request_id" => Kind::Word,
            "host" | "http_host" | "server_name" => Kind::Host,
            _ => Kind::Any,
        }
    }

    fn fits(self, value: &[u8]) -> bool {
        if value == b"-" {
            return true;
        }
        let of = |allowed: fn(u8) -> bool| value.iter().all(|byte| allowed(*byte));
        match self {
            Kind::Any => true,
            Kind::Digits => of(|byte| byte.is_ascii_digit()),
            Kind::Decimal => of(|byte| byte.is_ascii_digit() || byte == b'.'),
            Kind::Durations => of(|byte| byte.is_ascii_digit() || b".,:- ".contains(&byte)),
            Kind::Word => of(|byte| !byte.is_ascii_whitespace() && byte != b'"'),
            Kind::Host => of(|byte| !byte.is_ascii_whitespace() && byte != b'"' && byte != b'/'),
        }
    }
}

/// A variable, and the text behind it.
struct Field {
    kind: Kind,
    text: Finder<'static>,
    /// The variable behind it, with nothing in between, is a path.
    is_before_path: bool,
}

/// A format of lines.
pub struct Format {
    first: Vec<u8>,
    fields: Vec<Field>,
    pub escape: Escape,
}

impl Format {
    /// Makes the format that begins with `first`, and has a text behind each variable.
    pub fn new(first: &[u8], variables: &[String], texts: &[Vec<u8>], escape: Escape) -> Format {
        let field = |(at, variable): (usize, &String)| Field {
            kind: Kind::of(variable),
            text: Finder::new(&texts[at]).into_owned(),
            is_before_path: texts[at].is_empty()
                && variables.get(at + 1).is_some_and(|name| matches!(name.as_str(), "request_uri" | "uri")),
        };
        Format { first: first.to_vec(), fields: variables.iter().enumerate().map(field).collect(), escape }
    }

    /// Writes the places of the values of a line, without its end. Returns whether the line has this format.
    pub fn split(&self, line: &[u8], values: &mut Vec<Range<usize>>) -> bool {
        values.clear();
        let mut left = MOST_TRIED;
        line.starts_with(&self.first) && self.split_from(line, 0, self.first.len(), values, &mut left)
    }

    fn split_from(
        &self,
        line: &[u8],
        number: usize,
        start: usize,
        values: &mut Vec<Range<usize>>,
        left: &mut usize,
    ) -> bool {
        let Some(field) = self.fields.get(number) else { return start == line.len() };
        let mut end = start;
        while let Some(found) = self.end(line, number, start, end) {
            if *left == 0 {
                return false;
            }
            *left -= 1;
            if !field.kind.fits(&line[start..found]) {
                return false; // and no longer value would
            }
            values.push(start..found);
            if self.split_from(line, number + 1, found + field.text.needle().len(), values, left) {
                return true;
            }
            values.truncate(number);
            if self.is_quoted(field) {
                return false;
            }
            end = found + 1;
        }
        false
    }

    /// Whether a value cannot have what stands behind it, as that is escaped in it.
    fn is_quoted(&self, field: &Field) -> bool {
        self.escape != Escape::None && field.text.needle().starts_with(b"\"")
    }

    /// Returns where a value that begins at `start` may end, from `end` on.
    fn end(&self, line: &[u8], number: usize, start: usize, end: usize) -> Option<usize> {
        let field = &self.fields[number];
        let rest = line.get(end..)?;
        let text = field.text.needle();
        if text.is_empty() {
            return match field.is_before_path {
                true => memchr::memchr(b'/', rest).map(|at| end + at),
                false if number + 1 == self.fields.len() => (end == start).then_some(line.len()),
                false => (end == start).then_some(start),
            };
        }
        if self.is_quoted(field) {
            let quote = end + if self.escape == Escape::Json { quote(rest)? } else { memchr::memchr(b'"', rest)? };
            return line[quote..].starts_with(text).then_some(quote);
        }
        if let [byte] = text {
            return memchr::memchr(*byte, rest).map(|at| end + at);
        }
        field.text.find(rest).map(|at| end + at)
    }
}

/// Returns the place of the first quote that no backslash escapes.
pub fn quote(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(escape: Escape, format: &str, line: &str) -> Option<Vec<String>> {
        let mut pieces = format.split('$');
        let first = pieces.next().unwrap_or_default();
        let (names, texts): (Vec<String>, Vec<Vec<u8>>) = pieces
            .map(|piece| {
                let end = piece.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(piece.len());
                (piece[..end].to_owned(), piece.as_bytes()[end..].to_vec())
            })
            .unzip();
        let mut values = Vec::new();
        let format = Format::new(first.as_bytes(), &names, &texts, escape);
        format
            .split(line.as_bytes(), &mut values)
            .then(|| values.iter().map(|at| line[at.clone()].to_owned()).collect())
    }

    #[test]
    fn values_end_at_the_texts_of_the_format() {
        let format = r#"$remote_addr [$time_local] "$request" $status"#;
        let line = r#"::1 [27/Nov/2026:00:00:12 +0000] "GET /a\x22 HTTP/1.1" 200"#;
        let values = split(Escape::Default, format, line).unwrap();
        assert_eq!(values, ["::1", "27/Nov/2026:00:00:12 +0000", r"GET /a\x22 HTTP/1.1", "200"]);
        assert_eq!(split(Escape::Default, format, &line[..40]), None);
        assert_eq!(split(Escape::Default, format, &format!("{line} more")), None);
        assert_eq!(split(Escape::Default, format, "x"), None);
    }

    #[test]
    fn a_value_may_have_the_text_behind_it() {
        let values =
            split(Escape::Default, "$http_x_forwarded_for $status $http_a", "1.1.1.1, 2.2.2.2 200 x y").unwrap();
        assert_eq!(values, ["1.1.1.1, 2.2.2.2", "200", "x y"]);
        let values = split(Escape::Json, r#"{"a":"$http_a","s":$status}"#, r#"{"a":"x\"y\\","s":404}"#).unwrap();
        assert_eq!(values, [r#"x\"y\\"#, "404"]);
        let values = split(Escape::Default, "$host$request_uri $status", "a.example/x 200").unwrap();
        assert_eq!(values, ["a.example", "/x", "200"]);
    }

    #[test]
    fn what_is_tried_is_bounded() {
        let format = format!("{}$status", "$a ".repeat(20));
        assert_eq!(split(Escape::None, &format, &" x".repeat(8_000)), None);
    }
}
