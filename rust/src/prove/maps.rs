//! The emitted http part, read again: nothing but maps of `$uri` and the sizes of their tables.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::hash::{self, Element, Sizes};
use crate::lexer::{Event, Lexer, Word};
use crate::prove::{Proof, Refutation};

/// The maps by the name of their variable.
pub struct Maps<'t> {
    by_name: HashMap<Cow<'t, [u8]>, Map<'t>>,
    set_sizes: bool,
}

/// A key and what it stands for.
type Row<'t> = (Cow<'t, [u8]>, Cow<'t, [u8]>);

/// One `map $uri $name { volatile; ... }`.
#[derive(Default)]
pub struct Map<'t> {
    rows: Vec<Row<'t>>,
    default: Option<Cow<'t, [u8]>>,
    volatile: bool,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// Reads the http part, and checks that nginx builds each table without a warning. `outside` are the sizes that the
/// configuration sets elsewhere.
pub fn read(text: &[u8], outside: (Option<usize>, Option<usize>)) -> Proof<Maps<'_>> {
    let mut by_name: HashMap<Cow<[u8]>, Map> = HashMap::new();
    let (mut max, mut bucket) = outside;
    let mut open: Option<(Cow<[u8]>, Map)> = None;
    for event in Lexer::new(text) {
        match event.map_err(|error| Refutation::new(format!("the maps do not parse: {error}")))? {
            Event::Comment { .. } => {}
            Event::Open { words, .. } if open.is_none() => open = Some((header(words)?, Map::default())),
            Event::Open { .. } => return Err(Refutation::new("a block stands inside a map")),
            Event::Statement { words, .. } => match &mut open {
                Some((name, map)) => map.add(name, words)?,
                None => match setting(&words) {
                    Some((b"map_hash_max_size", size)) if max.is_none() => max = Some(size),
                    Some((b"map_hash_bucket_size", size)) if bucket.is_none() => bucket = Some(size),
                    _ => return Err(Refutation::new("the http part holds more than maps and their sizes")),
                },
            },
            Event::Close { .. } => {
                let Some((name, map)) = open.take() else { continue };
                if !map.volatile {
                    let why = "is not volatile: it would answer for the URI before an internal redirect";
                    return Err(Refutation::new(format!("${} {why}", name.escape_ascii())));
                }
                if by_name.insert(name.clone(), map).is_some() {
                    return Err(Refutation::new(format!("${} is the variable of two maps", name.escape_ascii())));
                }
            }
        }
    }
    let maps = Maps { by_name, set_sizes: (max, bucket) != outside };
    if let (Some(max), Some(bucket)) = (max, bucket) {
        maps.check_sizes(Sizes { max, bucket })?;
    } else if !maps.by_name.is_empty() {
        return Err(Refutation::new("the sizes of the hash tables are not set"));
    }
    Ok(maps)
}

/// `map $uri $name {`: the name.
fn header<'t>(words: Vec<Word<'t>>) -> Proof<Cow<'t, [u8]>> {
    let words: Vec<Cow<[u8]>> = words.into_iter().map(|word| word.value).collect();
    match words.as_slice() {
        [map, source, name] if &**map == b"map" && &**source == b"$uri" => match name {
            Cow::Borrowed([b'$', name @ ..]) if !name.is_empty() => Ok(Cow::Borrowed(name)),
            _ => Err(Refutation::new("a map has no variable")),
        },
        _ => Err(Refutation::new("a block of the http part is not a map of $uri")),
    }
}

fn setting<'w>(words: &'w [Word]) -> Option<(&'w [u8], usize)> {
    let [name, value] = words else { return None };
    Some((&name.value, std::str::from_utf8(&value.value).ok()?.parse().ok()?))
}

impl<'t> Map<'t> {
    /// One statement of the block, as `ngx_http_map` reads it.
    fn add(&mut self, name: &[u8], words: Vec<Word<'t>>) -> Proof<()> {
        let refute = |what: &str| Err(Refutation::new(format!("${}: {what}", name.escape_ascii())));
        let mut words = words.into_iter().map(|word| word.value);
        let (Some(key), value, None) = (words.next(), words.next(), words.next()) else {
            return refute("a line of more than two words");
        };
        match (&*key, value) {
            (b"volatile", None) => self.volatile = true,
            (_, None) => return refute("a line of one word"),
            (b"default", Some(value)) if self.default.is_none() => self.default = Some(value),
            (b"default" | b"include" | b"hostnames" | b"volatile", _) => {
                return refute("a parameter where a key belongs");
            }
            ([b'~', ..], _) => return refute("a regex where a key belongs"),
            (_, Some(value)) => {
                let key = match key {
                    Cow::Borrowed([b'\\', rest @ ..]) => Cow::Borrowed(rest),
                    Cow::Owned(key) if key.starts_with(b"\\") => Cow::Owned(key[1..].to_vec()),
                    key => key,
                };
                if self.find(&key).is_some() {
                    return Err(Refutation::on(
                        format!("${}: nginx refuses a key given twice", name.escape_ascii()),
                        &key,
                    ));
                }
                self.insert(key, value);
            }
        }
        Ok(())
    }

    fn insert(&mut self, key: Cow<'t, [u8]>, value: Cow<'t, [u8]>) {
        let at = self.rows.len() as u32;
        let hash = hash_lowered(&self.hasher, &key);
        self.rows.push((key, value));
        let (rows, hasher) = (&self.rows, &self.hasher);
        self.table.insert_unique(hash, at, |at| hash_lowered(hasher, &rows[*at as usize].0));
    }

    fn find(&self, uri: &[u8]) -> Option<usize> {
        let hash = hash_lowered(&self.hasher, uri);
        let same = |at: &u32| self.rows[*at as usize].0.eq_ignore_ascii_case(uri);
        self.table.find(hash, same).map(|at| *at as usize)
    }

    /// What the map says for a URI; the case of letters makes no difference to nginx.
    pub fn get(&self, uri: &[u8]) -> &[u8] {
        self.find(uri).map_or(self.fallback(), |at| &self.rows[at].1)
    }

    fn fallback(&self) -> &[u8] {
        self.default.as_deref().unwrap_or_default()
    }

    pub fn rows(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.rows.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Whether `if ($map = $uri)` is true of nothing but its keys: each gives back itself, or `$uri` to answer every
    /// spelling of its letters, and all else the empty string; the empty URI, which a redirect inside nginx may lead to,
    /// gives something. A `$` in any other value would be a variable's.
    pub fn is_guard(&self) -> bool {
        let gives_itself = |key: &[u8], value: &[u8]| value == key && !key.contains(&b'$');
        let is_exact = |(key, value): (&[u8], &[u8])| match key {
            b"" => !value.is_empty() && !value.contains(&b'$'),
            _ => value == b"$uri" || gives_itself(key, value),
        };
        self.fallback().is_empty() && self.find(b"").is_some() && self.rows().all(is_exact)
    }
}

impl<'t> Maps<'t> {
    pub fn get(&self, name: &[u8]) -> Option<&Map<'t>> {
        self.by_name.get(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.by_name.keys().map(|name| &**name)
    }

    /// Whether a size of the tables is set before them.
    pub fn set_sizes(&self) -> bool {
        self.set_sizes
    }

    fn check_sizes(&self, sizes: Sizes) -> Proof<()> {
        for (name, map) in &self.by_name {
            let elements: Vec<Element> = map.rows().map(|(key, _)| Element::new(key)).collect();
            let problem = match hash::simulate(&elements, sizes) {
                hash::Outcome::Fits(_) => continue,
                hash::Outcome::Warns => "nginx would warn that it could not build an optimal hash",
                hash::Outcome::Refused => "nginx would not start: a key is longer than a bucket",
            };
            return Err(Refutation::new(format!("${}: {problem}", name.escape_ascii())));
        }
        Ok(())
    }
}

/// The hash of `bytes` in small letters, eight bytes at a time.
fn hash_lowered(hasher: &DefaultHashBuilder, bytes: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state.write_u64(u64::from_le_bytes(word.map(|byte| byte.to_ascii_lowercase())));
    }
    let mut last = [0u8; 8];
    last[..rest.len()].copy_from_slice(rest);
    state.write_u64(u64::from_le_bytes(last.map(|byte| byte.to_ascii_lowercase())));
    state.finish()
}
