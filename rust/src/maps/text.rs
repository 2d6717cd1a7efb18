//! Writes maps as text.

use std::borrow::Cow;

use crate::map_block::{ExactRow, MapBlock, PatternRow};
use crate::quote::{escape_pattern, quote, quote_key, quoted_length};

/// The longest token: it must fit into nginx's buffer of 4,096 bytes (`NGX_CONF_BUFFER`).
pub const LONGEST_TOKEN: usize = 4_090;

/// The most bytes that a byte takes in a token, and the most bytes around them: quotes, `~*`, the backslash of a key.
const MOST_ESCAPED: usize = 2;
const MOST_AROUND: usize = 6;

/// A new `map` block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmittedMap {
    /// The value that is looked up.
    pub source: Vec<u8>,
    /// The name of the variable that it defines, without `$`.
    pub name: Vec<u8>,
    pub volatile: bool,
    pub hostnames: bool,
    pub rows: Vec<(Key, Vec<u8>)>,
    /// The value of `default`, which is left out if empty.
    pub default: Vec<u8>,
}

/// The key of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A key that nginx looks up in a hash.
    Exact(Vec<u8>),
    /// A pattern for PCRE.
    Pattern { pattern: Vec<u8>, caseless: bool },
}

impl EmittedMap {
    /// Appends the block to a text.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"map ");
        quote(&self.source, out);
        out.extend_from_slice(b" $");
        out.extend_from_slice(&self.name);
        out.extend_from_slice(b" {\n");
        for (flag, is_set) in [("volatile", self.volatile), ("hostnames", self.hostnames)] {
            if is_set {
                out.extend_from_slice(format!("    {flag};\n").as_bytes());
            }
        }
        if !self.default.is_empty() {
            out.extend_from_slice(b"    default ");
            quote(&self.default, out);
            out.extend_from_slice(b";\n");
        }
        for (key, value) in &self.rows {
            out.extend_from_slice(b"    ");
            key.write(out);
            out.push(b' ');
            quote(value, out);
            out.extend_from_slice(b";\n");
        }
        out.extend_from_slice(b"}\n");
    }

    /// Returns the block as it would be read from its text, but without spans.
    pub fn block(&self) -> MapBlock<'_> {
        let mut block = MapBlock {
            source: Cow::Borrowed(&self.source),
            variable: Cow::Borrowed(&self.name),
            volatile: self.volatile,
            hostnames: self.hostnames,
            default: (!self.default.is_empty()).then_some(Cow::Borrowed(&self.default)),
            ..MapBlock::default()
        };
        for (key, value) in &self.rows {
            let value = Cow::Borrowed(value.as_slice());
            match key {
                Key::Exact(key) => {
                    let key = Cow::Borrowed(key.as_slice());
                    block.exact.push(ExactRow { key, value, is_hostname: self.hostnames, span: 0..0 });
                }
                Key::Pattern { pattern, caseless } => {
                    let pattern = Cow::Borrowed(pattern.as_slice());
                    block.patterns.push(PatternRow { pattern, caseless: *caseless, value, span: 0..0 });
                }
            }
        }
        block
    }

    /// Returns the map with names that start with `other` instead of `stem`. Both must have the same length, and `stem`
    /// must not occur elsewhere in patterns or values.
    pub fn with_names(&self, stem: &str, other: &str) -> EmittedMap {
        let renamed = |text: &[u8]| {
            let mut renamed = text.to_vec();
            for at in memchr::memmem::find_iter(text, stem) {
                renamed[at..at + stem.len()].copy_from_slice(other.as_bytes());
            }
            renamed
        };
        let key = |key: &Key| match key {
            Key::Exact(_) => key.clone(),
            Key::Pattern { pattern, caseless } => Key::Pattern { pattern: renamed(pattern), caseless: *caseless },
        };
        EmittedMap {
            source: renamed(&self.source),
            name: renamed(&self.name),
            rows: self.rows.iter().map(|(of, value)| (key(of), renamed(value))).collect(),
            default: renamed(&self.default),
            ..*self
        }
    }

    /// The names of the groups of its patterns.
    pub fn groups(&self) -> impl Iterator<Item = &[u8]> {
        let patterns = self.rows.iter().filter(|(key, _)| key.exact().is_none());
        patterns.filter_map(|(key, _)| key.group())
    }

    /// Whether nginx can read each of its tokens.
    pub fn has_short_tokens(&self) -> bool {
        let values = self.rows.iter().map(|(_, value)| value).chain([&self.default, &self.source]);
        let values_fit = values.into_iter().all(|value| quoted_length(value) <= LONGEST_TOKEN);
        values_fit && self.rows.iter().all(|(key, _)| key.token_length() <= LONGEST_TOKEN)
    }
}

impl Key {
    pub fn exact(&self) -> Option<&Vec<u8>> {
        match self {
            Key::Exact(key) => Some(key),
            Key::Pattern { .. } => None,
        }
    }

    /// The name of the first group of a pattern.
    fn group(&self) -> Option<&[u8]> {
        let Key::Pattern { pattern, .. } = self else { return None };
        let start = memchr::memmem::find(pattern, b"(?<")? + 3;
        let end = start + memchr::memchr(b'>', &pattern[start..])?;
        let is_name = |name: &&[u8]| name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        pattern.get(start..end).filter(is_name)
    }

    /// The length of the token, or an upper bound if the bound is short enough.
    fn token_length(&self) -> usize {
        let (Key::Exact(key) | Key::Pattern { pattern: key, .. }) = self;
        let most = MOST_ESCAPED * key.len() + MOST_AROUND;
        if most <= LONGEST_TOKEN {
            return most;
        }
        let mut token = Vec::new();
        self.write(&mut token);
        token.len()
    }

    /// Writes the key as a token.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Key::Exact(key) => quote_key(key, out),
            Key::Pattern { pattern, caseless } => {
                out.extend_from_slice(if *caseless { b"\"~*" } else { b"\"~" });
                // nginx would read a star at the start of a pattern as `~*`; PCRE refuses such a pattern anyway.
                escape_pattern(pattern, out);
                out.push(b'"');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EmittedMap, Key};
    use crate::map_block::{MapBlock, read_one};

    /// What is written is read back: keys that look like something else, quotes, backslashes, newlines.
    #[test]
    fn read_back() {
        let exact = [&b""[..], b"default", b"include", b"~x", b"\\y", b"a\"b", b"a\nb", b"$c", b"volatile"];
        let patterns = [(&b"^/a\\.b\"$"[..], true), (b"\\n", false), (b"^\n", false)];
        let exact_rows = exact.iter().map(|key| (Key::Exact(key.to_vec()), b"v \\1\"".to_vec()));
        let pattern_rows = patterns.iter().map(|(pattern, caseless)| {
            (Key::Pattern { pattern: pattern.to_vec(), caseless: *caseless }, b"$x".to_vec())
        });
        let map = EmittedMap {
            source: b"$a>$b".to_vec(),
            name: b"c".to_vec(),
            volatile: true,
            rows: exact_rows.chain(pattern_rows).collect(),
            default: b"d;".to_vec(),
            ..EmittedMap::default()
        };
        let mut text = Vec::new();
        map.write(&mut text);
        let block = read_one(&text).expect("a map");
        assert_eq!((&*block.source, &*block.variable, block.fallback()), (&b"$a>$b"[..], &b"c"[..], &b"d;"[..]));
        assert_eq!(block.exact.iter().map(|row| &*row.key).collect::<Vec<_>>(), exact);
        assert!(block.exact.iter().all(|row| *row.value == *b"v \\1\"") && block.volatile && !block.hostnames);
        let read: Vec<_> = block.patterns.iter().map(|row| (&*row.pattern, row.caseless)).collect();
        assert_eq!(read, patterns);
        let mut without_spans = MapBlock { span: 0..0, ..block };
        without_spans.exact.iter_mut().for_each(|row| row.span = 0..0);
        without_spans.patterns.iter_mut().for_each(|row| row.span = 0..0);
        assert_eq!(map.block(), without_spans);
    }

    /// Escapes make a token longer in the file than its text.
    #[test]
    fn long_tokens() {
        let map = |length| EmittedMap { default: vec![b'"'; length], ..EmittedMap::default() };
        assert!(map(2_000).has_short_tokens() && !map(2_048).has_short_tokens());
    }

    /// The names of groups.
    #[test]
    fn groups() {
        let key = |pattern: &[u8]| (Key::Pattern { pattern: pattern.to_vec(), caseless: false }, Vec::new());
        let map = EmittedMap { rows: vec![key(b"^(?<one>a)"), key(b"(?<=x)y"), key(b"z")], ..EmittedMap::default() };
        assert_eq!(map.groups().collect::<Vec<_>>(), [b"one"]);
    }
}
