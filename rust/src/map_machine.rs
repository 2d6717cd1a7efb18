//! Evaluates map blocks as nginx does, with PCRE2 itself (`ngx_http_map_variable`, `ngx_http_map_find`,
//! `ngx_http_regex_exec`). Returns the value of a variable for a request, and counts the patterns that were tried.
//!
//! Wildcards of host names are not supported. Only the variables of the maps and those that are set for the request are
//! known.

use std::rc::Rc;
use std::sync::OnceLock;

use hashbrown::HashMap;

use crate::map_block::{MapBlock, PatternRow};
use crate::pcre::{CompileError, Regex};

/// The default match limit of PCRE2, which nginx does not change.
const MATCH_LIMIT: u32 = 10_000_000;

/// Maps by the names of their variables.
pub struct Machine<'t> {
    maps: HashMap<Vec<u8>, LoadedMap<'t>>,
}

struct LoadedMap<'t> {
    block: &'t MapBlock<'t>,
    /// The exact rows, by their keys in lower case.
    exact: HashMap<Vec<u8>, usize>,
    /// Compiled when first tried.
    patterns: Vec<OnceLock<Option<Regex>>>,
}

/// A request: its known variables, and the captures so far.
#[derive(Clone, Default)]
pub struct Request {
    variables: HashMap<Vec<u8>, Rc<[u8]>>,
    captures: Vec<Option<Rc<[u8]>>>,
    /// The number of patterns tried.
    pub tried: usize,
}

impl Request {
    /// A request with one variable.
    pub fn with(name: &[u8], value: &[u8]) -> Request {
        let mut request = Request::default();
        request.set(name, value);
        request
    }

    /// Gives a variable a value.
    pub fn set(&mut self, name: &[u8], value: &[u8]) {
        self.variables.insert(name.to_ascii_lowercase(), Rc::from(value));
    }
}

impl<'t> Machine<'t> {
    /// A machine with these maps. If two define the same variable, the last one counts.
    pub fn new(blocks: &'t [MapBlock<'t>]) -> Machine<'t> {
        let map = |block: &'t MapBlock<'t>| {
            let exact = block.exact.iter().enumerate().map(|(at, row)| (row.key.to_ascii_lowercase(), at));
            let patterns = block.patterns.iter().map(|_| OnceLock::new()).collect();
            LoadedMap { block, exact: exact.collect(), patterns }
        };
        Machine { maps: blocks.iter().map(|block| (block.variable.to_ascii_lowercase(), map(block))).collect() }
    }

    /// The value of a variable. A pattern that PCRE2 does not compile matches nothing here; nginx would not start with
    /// it.
    pub fn variable(&self, request: &mut Request, name: &[u8]) -> Rc<[u8]> {
        let name = name.to_ascii_lowercase();
        if let Some(value) = request.variables.get(&name) {
            return value.clone();
        }
        let Some(map) = self.maps.get(&name) else { return Rc::from(&b""[..]) };
        let mut subject = self.value(request, &map.block.source);
        if map.block.hostnames
            && let Some(shorter) = subject.strip_suffix(b".")
        {
            subject = Rc::from(shorter);
        }
        let value = self.find(request, map, &subject).unwrap_or_else(|| map.block.fallback());
        let value = self.value(request, value);
        request.variables.insert(name, value.clone());
        value
    }

    fn find<'m>(&self, request: &mut Request, map: &'m LoadedMap<'t>, subject: &Rc<[u8]>) -> Option<&'m [u8]> {
        if let Some(at) = map.exact.get(&subject.to_ascii_lowercase()) {
            return Some(&map.block.exact[*at].value);
        }
        if subject.is_empty() {
            return None;
        }
        for (row, regex) in map.block.patterns.iter().zip(&map.patterns) {
            request.tried += 1;
            let Some(regex) = regex.get_or_init(|| compile(row).ok()) else { continue };
            match regex.captures(subject, MATCH_LIMIT) {
                Ok(None) => {}
                Ok(Some(ranges)) => {
                    let text = |range: std::ops::Range<usize>| Rc::from(&subject[range]);
                    request.captures = ranges.into_iter().map(|range| range.map(text)).collect();
                    for (name, group) in regex.names() {
                        let value = request.captures.get(group).cloned().flatten().unwrap_or_default();
                        request.variables.insert(name.to_ascii_lowercase(), value);
                    }
                    return Some(&row.value);
                }
                // If PCRE2 gives up, the search ends.
                Err(_) => return None,
            }
        }
        None
    }

    /// Expands variables and captures in a value (`ngx_http_complex_value`). Each volatile variable is computed anew,
    /// once.
    pub fn value(&self, request: &mut Request, value: &[u8]) -> Rc<[u8]> {
        let parts = parts(value);
        for part in &parts {
            if let ValuePart::Variable(name) = part {
                self.flush(request, name);
            }
        }
        let mut text = Vec::new();
        for part in parts {
            match part {
                ValuePart::Text(bytes) => text.extend_from_slice(bytes),
                ValuePart::Variable(name) => text.extend_from_slice(&self.variable(request, name)),
                ValuePart::Capture(group) => {
                    text.extend_from_slice(&request.captures.get(group).cloned().flatten().unwrap_or_default());
                }
            }
        }
        Rc::from(text)
    }

    fn flush(&self, request: &mut Request, name: &[u8]) {
        let name = name.to_ascii_lowercase();
        if self.maps.get(&name).is_some_and(|map| map.block.volatile) {
            request.variables.remove(&name);
        }
    }
}

/// A piece of a value.
enum ValuePart<'v> {
    Text(&'v [u8]),
    Variable(&'v [u8]),
    Capture(usize),
}

/// Splits a value into pieces, as `ngx_http_script_compile` does.
fn parts(value: &[u8]) -> Vec<ValuePart<'_>> {
    let mut parts = Vec::new();
    let mut rest = value;
    while let Some(at) = memchr::memchr(b'$', rest) {
        parts.push(ValuePart::Text(&rest[..at]));
        rest = &rest[at + 1..];
        if let [digit @ b'1'..=b'9', after @ ..] = rest {
            parts.push(ValuePart::Capture(usize::from(digit - b'0')));
            rest = after;
        } else {
            let (name, after) = name(rest);
            parts.push(ValuePart::Variable(name));
            rest = after;
        }
    }
    parts.push(ValuePart::Text(rest));
    parts
}

fn compile(row: &PatternRow) -> Result<Regex, CompileError> {
    if row.caseless { Regex::caseless(&row.pattern) } else { Regex::new(&row.pattern) }
}

/// The name after a dollar sign, with or without braces, and what follows it.
fn name(text: &[u8]) -> (&[u8], &[u8]) {
    if let Some(inside) = text.strip_prefix(b"{") {
        let end = memchr::memchr(b'}', inside).unwrap_or(inside.len());
        return (&inside[..end], inside.get(end + 1..).unwrap_or_default());
    }
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    text.split_at(text.iter().position(|byte| !is_of_name(byte)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map_block::read;

    fn run(text: &str, variable: &str, uri: &str) -> (String, usize) {
        let blocks = read(text.as_bytes()).expect("maps");
        let mut request = Request::with(b"uri", uri.as_bytes());
        let value = Machine::new(&blocks).variable(&mut request, variable.as_bytes());
        (String::from_utf8(value.to_vec()).expect("UTF-8"), request.tried)
    }

    fn outcome(text: &str, uri: &str) -> (String, usize) {
        run(text, "x", uri)
    }

    /// Exact rows come first, in any case; then patterns in their order; then the default.
    #[test]
    fn order() {
        let text = "map $uri $x { ~^/a 1; ~*^/AB 2; /ab 3; default 4; }";
        for (uri, value, tried) in [("/AB", "3", 0), ("/abc", "1", 1), ("/ABC", "2", 2), ("/c", "4", 2), ("", "4", 0)] {
            assert_eq!(outcome(text, uri), (value.to_owned(), tried), "{uri}");
        }
    }

    /// Values expand variables, those of other maps included, and numbered and named captures.
    #[test]
    fn values() {
        let text = "map $uri $x { ~^/(.)(?<two>.)$ a$1${two}$y; } map $two $y { b B; }";
        assert_eq!(outcome(text, "/ab"), ("aabB".to_owned(), 1));
        assert_eq!(outcome("map $uri $x { hostnames; a. 1; a 2; }", "a.").0, "2");
    }

    /// A map that is not volatile is evaluated once; if PCRE2 gives up, there is no match.
    #[test]
    fn evaluation() {
        let twice = "map $uri$uri $x { ~a $y$y; } map $uri $y { FLAG ~a b; }";
        assert_eq!(outcome(&twice.replace("FLAG", ""), "a"), ("bb".to_owned(), 2));
        assert_eq!(outcome(&twice.replace("FLAG", "volatile;"), "a"), ("bb".to_owned(), 2));
        let nested = "map a $x { default $y$z; } map $y $z { default $y; } map $uri $y { volatile; ~a b; }";
        assert_eq!(outcome(nested, "a"), ("bb".to_owned(), 3));
        let uri = format!("{}!", "a".repeat(60));
        assert_eq!(outcome("map $uri $x { ~^(a+)+$ 1; ~a 2; default 3; }", &uri), ("3".to_owned(), 1));
    }
}
