//! Reads whole `map` blocks as `ngx_http_map_block` and `ngx_http_map` do (src/http/modules/ngx_http_map_module.c).
//!
//! nginx looks up exact rows first, wherever they are, in a hash that ignores case. It then tries the regex rows in
//! order, unless the subject is empty, and then takes the default (`ngx_http_map_find`, `ngx_http_map_variable`). An
//! `include` is not followed: its rows must be inline.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use crate::lexer::{Event, LexError, Lexer, Word};

/// A `map` block, its rows in their order; spans are offsets into the text it was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapBlock<'t> {
    /// The value that is looked up: `$uri`, `$scheme$host`.
    pub source: Cow<'t, [u8]>,
    /// The name of the defined variable, without `$`.
    pub variable: Cow<'t, [u8]>,
    /// Whether the value is computed at each use.
    pub volatile: bool,
    /// Whether a final dot of the subject is ignored; [`ExactRow::is_hostname`] marks the keys with wildcards.
    pub hostnames: bool,
    pub exact: Vec<ExactRow<'t>>,
    pub patterns: Vec<PatternRow<'t>>,
    /// The value of `default`; without one nginx takes the empty string.
    pub default: Option<Cow<'t, [u8]>>,
    /// From the word `map` to the closing brace.
    pub span: Range<usize>,
}

/// A row that nginx looks up in the hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactRow<'t> {
    /// The key, without the backslash that marks it as a plain key.
    pub key: Cow<'t, [u8]>,
    pub value: Cow<'t, [u8]>,
    /// Whether it follows `hostnames`, so that `*.example.com` and `.example.com` are wildcards.
    pub is_hostname: bool,
    /// The row as written, with its semicolon.
    pub span: Range<usize>,
}

/// A row with a pattern: `~` or `~*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternRow<'t> {
    /// The pattern, as given to PCRE.
    pub pattern: Cow<'t, [u8]>,
    /// Whether it is compiled with PCRE's caseless option (`~*`).
    pub caseless: bool,
    pub value: Cow<'t, [u8]>,
    /// The row as written, with its semicolon.
    pub span: Range<usize>,
}

/// Why a text cannot be read as `map` blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnreadableMap {
    Lexer(LexError),
    /// An offset, and what is wrong there, in a few words.
    At(usize, &'static str),
}

impl fmt::Display for UnreadableMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnreadableMap::Lexer(error) => error.fmt(f),
            UnreadableMap::At(offset, what) => write!(f, "{what} at byte {offset}"),
        }
    }
}

impl std::error::Error for UnreadableMap {}

/// Reads a text that consists of exactly one block.
pub fn read_one(text: &[u8]) -> Result<MapBlock<'_>, UnreadableMap> {
    let mut blocks = read(text)?;
    match (blocks.pop(), blocks.pop()) {
        (Some(block), None) => Ok(block),
        (None, _) => Err(UnreadableMap::At(text.len(), "no map block")),
        (Some(second), Some(_)) => Err(UnreadableMap::At(second.span.start, "a second map block")),
    }
}

/// Reads a text that consists of blocks and comments. O(length). Values are borrowed unless an escape was replaced.
pub fn read(text: &[u8]) -> Result<Vec<MapBlock<'_>>, UnreadableMap> {
    let mut blocks = Vec::new();
    let mut open: Option<MapBlock> = None;
    for event in Lexer::new(text) {
        match (event.map_err(UnreadableMap::Lexer)?, &mut open) {
            (Event::Comment { .. }, _) => {}
            (Event::Open { words, .. }, None) => open = Some(MapBlock::open(words)?),
            (Event::Open { words, .. }, Some(_)) => return Err(UnreadableMap::At(words[0].start, "a block in a map")),
            (Event::Statement { words, end }, Some(block)) => block.add(words, end)?,
            (Event::Statement { words, .. }, None) => {
                return Err(UnreadableMap::At(words[0].start, "a directive that is no map block"));
            }
            (Event::Close { start, .. }, _) => {
                blocks.extend(open.take().map(|block| MapBlock { span: block.span.start..start + 1, ..block }));
            }
        }
    }
    Ok(blocks)
}

impl<'t> MapBlock<'t> {
    /// `map source $variable {`
    fn open(words: Vec<Word<'t>>) -> Result<MapBlock<'t>, UnreadableMap> {
        let start = words[0].start;
        let values: Vec<Cow<[u8]>> = words.into_iter().map(|word| word.value).collect();
        match <[Cow<[u8]>; 3]>::try_from(values) {
            Ok([name, source, variable]) if *name == *b"map" && variable.len() > 1 && variable[0] == b'$' => {
                let variable = without_first(variable);
                Ok(MapBlock { source, variable, span: start..start, ..MapBlock::default() })
            }
            _ => Err(UnreadableMap::At(start, "a block that is no map of a variable")),
        }
    }

    /// One statement of the block.
    fn add(&mut self, words: Vec<Word<'t>>, end: usize) -> Result<(), UnreadableMap> {
        let start = words[0].start;
        let mut values = words.into_iter().map(|word| word.value);
        match (values.next(), values.next(), values.next()) {
            (Some(flag), None, None) if *flag == *b"volatile" => self.volatile = true,
            (Some(flag), None, None) if *flag == *b"hostnames" => self.hostnames = true,
            (Some(key), Some(value), None) => return self.add_row(key, value, start..end),
            _ => return Err(UnreadableMap::At(start, "invalid number of the map parameters")),
        }
        Ok(())
    }

    fn add_row(&mut self, key: Cow<'t, [u8]>, value: Cow<'t, [u8]>, span: Range<usize>) -> Result<(), UnreadableMap> {
        match &*key {
            b"include" => return Err(UnreadableMap::At(span.start, "an include in a map")),
            b"default" if self.default.is_some() => {
                return Err(UnreadableMap::At(span.start, "duplicate default map parameter"));
            }
            b"default" => self.default = Some(value),
            [b'~', b'*', ..] => {
                let pattern = without_first(without_first(key));
                self.patterns.push(PatternRow { pattern, caseless: true, value, span });
            }
            [b'~', ..] => {
                self.patterns.push(PatternRow { pattern: without_first(key), caseless: false, value, span });
            }
            _ => {
                let key = if key.first() == Some(&b'\\') { without_first(key) } else { key };
                self.exact.push(ExactRow { key, value, is_hostname: self.hostnames, span });
            }
        }
        Ok(())
    }

    /// The default, or the empty string if there is none.
    pub fn fallback(&self) -> &[u8] {
        self.default.as_deref().unwrap_or_default()
    }
}

fn without_first(bytes: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    match bytes {
        Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[1..]),
        Cow::Owned(bytes) => Cow::Owned(bytes[1..].to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows keep their order and their spans; flags, the default and exact rows may be anywhere among them.
    #[test]
    fn rows() {
        let text = b"# old\nmap \"$scheme$uri\" $to {\n  ~^/a$ 1; /b \"2 3\"; default $x;\n  \"~*^/\\\\.c\\\"\" 4; hostnames;\n \
            \\~d 5; .e 6; volatile; }";
        let block = read_one(text).expect("a block");
        assert_eq!((&*block.source, &*block.variable), (&b"$scheme$uri"[..], &b"to"[..]));
        assert_eq!((block.volatile, block.hostnames, block.fallback()), (true, true, &b"$x"[..]));
        let patterns: Vec<_> = block.patterns.iter().map(|row| (&*row.pattern, row.caseless, &*row.value)).collect();
        assert_eq!(patterns, [(&b"^/a$"[..], false, &b"1"[..]), (b"^/\\.c\"", true, b"4")]);
        assert_eq!(&text[block.patterns[0].span.clone()], b"~^/a$ 1;");
        let exact: Vec<_> = block.exact.iter().map(|row| (&*row.key, &*row.value, row.is_hostname)).collect();
        assert_eq!(exact, [(&b"/b"[..], &b"2 3"[..], false), (b"~d", b"5", true), (b".e", b"6", true)]);
        assert!(text[block.span.clone()].starts_with(b"map ") && block.span.end == text.len());
    }

    /// A row of just `~` has the empty pattern, and a key may be empty.
    #[test]
    fn empty_rows() {
        let block = read_one(b"map $uri $x { ~ 1; ~* 2; \"\" 3; }").expect("a block");
        assert!(block.patterns.iter().all(|row| row.pattern.is_empty()));
        assert_eq!(block.patterns.iter().map(|row| row.caseless).collect::<Vec<_>>(), [false, true]);
        assert_eq!((&*block.exact[0].key, block.default.is_none(), block.fallback()), (&b""[..], true, &b""[..]));
    }

    /// Several blocks are read in order.
    #[test]
    fn several() {
        let blocks = read(b"map $a $b { }\nmap $b $c { x y; }\n").expect("two blocks");
        assert_eq!(blocks.iter().map(|block| &*block.variable).collect::<Vec<_>>(), [b"b", b"c"]);
        assert!(read(b" # nothing\n").expect("no block").is_empty());
    }

    /// Refused: what nginx refuses, what is in another file, and what is not a map.
    #[test]
    fn refused() {
        for (text, offset) in [
            (&b"map $a $b { x; }"[..], 12),
            (b"map $a $b { x y z; }", 12),
            (b"map $a $b { include f; }", 12),
            (b"map $a $b { default 1; default 2; }", 23),
            (b"map $a $b { if { } }", 12),
            (b"map $a b { }", 0),
            (b"map $a $ { }", 0),
            (b"map $a { }", 0),
            (b"geo $a $b { }", 0),
            (b"set $a 1;", 0),
            (b"", 0),
            (b"map $a $b { } map $a $c { }", 14),
        ] {
            let Err(UnreadableMap::At(at, _)) = read_one(text) else { panic!("{}", text.escape_ascii()) };
            assert_eq!(at, offset, "{}", text.escape_ascii());
        }
        assert!(matches!(read_one(b"map $a $b {"), Err(UnreadableMap::Lexer(_))));
    }
}
