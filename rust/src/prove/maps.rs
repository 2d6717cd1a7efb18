//! Reads the emitted file of maps. It may contain only maps of the URI and sizes of hash tables.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::hash::{self, Element, Sizes};
use crate::lexer::{Lexer, RawEvent, Word};
use crate::parallel;
use crate::prove::tables::TableSizes;
use crate::prove::{Discharged, Refutation};

/// The maps by the name of their variable.
pub struct Maps<'t> {
    by_name: HashMap<Cow<'t, [u8]>, UriMap<'t>>,
    /// The sizes that are set before them.
    pub sizes: TableSizes,
}

struct MapRow<'t> {
    key: Cow<'t, [u8]>,
    value: Cow<'t, [u8]>,
}

/// The row that was found last in each map. URIs are looked up in about the order of the rows, so the next row is
/// usually the one, and is found without a hash. Keys are distinct, so a row that fits is the right one.
#[derive(Debug)]
pub struct Near(Box<[Cell<usize>]>);

/// A map `map $uri $name { ... }`, or a map of the variable that holds the URI without a final newline.
#[derive(Default)]
pub struct UriMap<'t> {
    /// Its number among the maps.
    number: usize,
    /// The name of the variable that it looks up.
    source: Cow<'t, [u8]>,
    /// If it only removes a final newline: the name of the group that captures the rest.
    strips: Option<Cow<'t, [u8]>>,
    rows: Vec<MapRow<'t>>,
    default: Option<Cow<'t, [u8]>>,
    volatile: bool,
    tables: Vec<Table>,
    hasher: DefaultHashBuilder,
}

/// A part of the rows, by their keys in lower case: those whose hashes fall into places before `end`.
struct Table {
    end: usize,
    rows: HashTable<u32>,
}

/// Reads the maps file.
pub fn read(text: &[u8]) -> Discharged<Maps<'_>> {
    let mut by_name: HashMap<Cow<[u8]>, UriMap> = HashMap::new();
    let mut sizes = TableSizes::default();
    let mut open: Option<(Cow<[u8]>, UriMap)> = None;
    let mut lexer = Lexer::new(text);
    while let Some(step) = lexer.step() {
        match step.map_err(|error| Refutation::new(format!("the maps do not parse: {error}")))? {
            RawEvent::Comment { .. } => {}
            RawEvent::Open { .. } if open.is_none() => open = Some(header(by_name.len(), lexer.take_words())?),
            RawEvent::Open { .. } => return Err(Refutation::new("a map contains a block")),
            RawEvent::Statement { .. } => match &mut open {
                Some((name, map)) => map.add(name, lexer.take_words())?,
                None if !by_name.is_empty() => return Err(Refutation::new("a statement follows a map")),
                None => match lexer.words() {
                    [name, value] => sizes.add(&name.value, &value.value)?,
                    _ => return Err(Refutation::new("the maps file contains more than maps and hash table sizes")),
                },
            },
            RawEvent::Close { .. } => {
                let Some((name, mut map)) = open.take() else { continue };
                if !map.index() {
                    let what = "a duplicate key, which nginx rejects";
                    return Err(Refutation::new(format!("${}: {what}", name.escape_ascii())));
                }
                if map.strips.is_some() && !map.fallback().is_empty() {
                    return Err(Refutation::new(format!("${}: a default next to a regex", name.escape_ascii())));
                }
                if map.strips.is_some() {
                    map.must_be_volatile(&name)?;
                }
                if by_name.insert(name.clone(), map).is_some() {
                    return Err(Refutation::new(format!("two maps define ${}", name.escape_ascii())));
                }
            }
        }
    }
    Ok(Maps { by_name, sizes })
}

/// `map $source $name {`: the name, and the map without its rows.
fn header<'t>(number: usize, words: impl Iterator<Item = Word<'t>>) -> Discharged<(Cow<'t, [u8]>, UriMap<'t>)> {
    let words: Vec<Cow<[u8]>> = words.map(|word| word.value).collect();
    match words.as_slice() {
        [map, Cow::Borrowed([b'$', source @ ..]), Cow::Borrowed([b'$', name @ ..])]
            if &**map == b"map" && !source.is_empty() && !name.is_empty() =>
        {
            Ok((Cow::Borrowed(name), UriMap { number, source: Cow::Borrowed(source), ..UriMap::default() }))
        }
        _ => Err(Refutation::new("a block of the maps file is not a map of $uri")),
    }
}

/// The longest name of a group. Before 10.44, PCRE2 refuses longer names as "subpattern name is too long"
/// (`MAX_NAME_SIZE`).
pub const LONGEST_GROUP: usize = 32;

/// The name of the group in `"~(?s)^(?<group>.*)\n\z" $group`.
fn stripping_group<'k>(key: &'k [u8], value: &[u8]) -> Option<&'k [u8]> {
    let group = key.strip_prefix(b"~(?s)^(?<")?.strip_suffix(b">.*)\n\\z")?;
    (value.strip_prefix(b"$") == Some(group) && group.len() <= LONGEST_GROUP).then_some(group)
}

impl<'t> UriMap<'t> {
    /// Adds one statement of the block, as `ngx_http_map` reads it.
    fn add(&mut self, name: &[u8], words: impl Iterator<Item = Word<'t>>) -> Discharged<()> {
        let refute = |what: &str| Err(Refutation::new(format!("${}: {what}", name.escape_ascii())));
        let mut words = words.map(|word| word.value);
        let (Some(key), value, None) = (words.next(), words.next(), words.next()) else {
            return refute("a row with more than two words");
        };
        match (&*key, value) {
            (b"volatile", None) => self.volatile = true,
            (_, None) => return refute("a row with only one word"),
            (b"default", Some(value)) if self.default.is_none() => self.default = Some(value),
            (b"default" | b"include" | b"hostnames" | b"volatile", _) => {
                return refute("a parameter in place of a key");
            }
            ([b'~', ..], Some(value)) if self.rows.is_empty() && self.strips.is_none() => {
                let Some(group) = stripping_group(&key, &value) else {
                    return refute("a regex in place of a key");
                };
                self.strips = Some(Cow::Owned(group.to_vec()));
            }
            _ if self.strips.is_some() => return refute("a key next to a regex"),
            ([b'~', ..], _) => return refute("a regex in place of a key"),
            (_, Some(value)) => {
                let key = match key {
                    Cow::Borrowed([b'\\', rest @ ..]) => Cow::Borrowed(rest),
                    Cow::Owned(key) if key.starts_with(b"\\") => Cow::Owned(key[1..].to_vec()),
                    key => key,
                };
                self.rows.push(MapRow { key, value });
            }
        }
        Ok(())
    }

    /// Builds the tables of the rows, one on each processor. Returns false if two rows have the same key, ignoring
    /// case.
    fn index(&mut self) -> bool {
        let tables = parallel::ranges(self.rows.len(), |places| self.table(places));
        let Some(tables) = tables.into_iter().collect() else { return false };
        self.tables = tables;
        true
    }

    /// Builds the table of the rows whose hashes fall into these places. There are as many places as rows. `None` if
    /// two rows have the same key.
    fn table(&self, places: Range<usize>) -> Option<Table> {
        let key = |at: u32| &*self.rows[at as usize].key;
        let mut rows = HashTable::with_capacity(places.len());
        for at in 0..self.rows.len() as u32 {
            let hash = hash_lowered(&self.hasher, key(at));
            if !places.contains(&self.place(hash)) {
                continue;
            }
            let entry = rows.entry(
                hash,
                |other| key(*other).eq_ignore_ascii_case(key(at)),
                |other| hash_lowered(&self.hasher, key(*other)),
            );
            match entry {
                Entry::Occupied(_) => return None,
                Entry::Vacant(place) => place.insert(at),
            };
        }
        Some(Table { end: places.end, rows })
    }

    /// The place into which a hash falls. There are as many places as rows.
    fn place(&self, hash: u64) -> usize {
        (((hash >> 32) * self.rows.len() as u64) >> 32) as usize
    }

    fn find(&self, subject: &[u8]) -> Option<usize> {
        let hash = hash_lowered(&self.hasher, subject);
        let place = self.place(hash);
        let table = self.tables.iter().find(|table| place < table.end)?;
        table.rows.find(hash, |at| self.is_at(*at as usize, subject)).map(|at| *at as usize)
    }

    fn is_at(&self, at: usize, subject: &[u8]) -> bool {
        self.rows.get(at).is_some_and(|row| row.key.eq_ignore_ascii_case(subject))
    }

    /// Whether nginx looks it up anew at each use. Otherwise it keeps the first value for the request.
    pub fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// Refuses a map whose value nginx keeps.
    pub fn must_be_volatile(&self, name: &[u8]) -> Discharged<()> {
        if self.volatile {
            return Ok(());
        }
        let why = "is not volatile, so an internal redirect would not change it";
        Err(Refutation::new(format!("${} {why}", name.escape_ascii())))
    }

    /// The name of the variable that it looks up: `uri`, or one that [`super::guards`] knows to hold the URI without a
    /// final newline.
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// The value of that variable.
    pub fn subject<'u>(&self, uri: &'u [u8]) -> &'u [u8] {
        if self.is_of_lines() { uri.strip_suffix(b"\n").unwrap_or(uri) } else { uri }
    }

    /// Whether it only gives the URI without its final newline.
    pub fn strips(&self) -> bool {
        self.strips.is_some() && &*self.source == b"uri"
    }

    pub fn is_of_lines(&self) -> bool {
        &*self.source != b"uri"
    }

    /// The value of the map for a URI; nginx ignores the case of letters.
    pub fn get(&self, uri: &[u8]) -> &[u8] {
        self.find(self.subject(uri)).map_or(self.fallback(), |at| &self.rows[at].value)
    }

    /// As [`UriMap::get`], for URIs that are looked up in about the order of the rows.
    pub fn get_near(&self, uri: &[u8], near: &Near) -> &[u8] {
        let (subject, last) = (self.subject(uri), &near.0[self.number]);
        let next = (last.get()..last.get() + 2).find(|at| self.is_at(*at, subject));
        let Some(at) = next.or_else(|| self.find(subject)) else { return self.fallback() };
        last.set(at);
        &self.rows[at].value
    }

    /// The value of a URI without a row: the default, or the empty string.
    fn fallback(&self) -> &[u8] {
        self.default.as_deref().unwrap_or_default()
    }

    pub fn rows(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.rows.iter().map(|row| (&*row.key, &*row.value))
    }

    /// Whether `if ($map = $uri)` is true only for keys of the map. Each key must give itself, or `$uri` to answer
    /// every spelling of its letters. The empty URI, to which an internal redirect may lead, must give something else,
    /// and all other URIs the empty string. A `$` in any other value would be a variable.
    pub fn is_guard(&self) -> bool {
        let gives_itself = |key: &[u8], value: &[u8]| value == key && !key.contains(&b'$');
        let is_exact = |(key, value): (&[u8], &[u8])| match key {
            b"" => !value.is_empty() && !value.contains(&b'$'),
            _ => (value == b"$uri" && !self.is_of_lines()) || gives_itself(key, value),
        };
        self.fallback().is_empty() && !self.get(b"").is_empty() && self.rows().all(is_exact)
    }

    /// Whether each key gives a text that `if` takes for true (`ngx_http_script_if_code`), without variables, and all
    /// other URIs give the empty string.
    pub fn has_texts(&self) -> bool {
        let is_text = |(key, value): (&[u8], &[u8])| {
            !key.is_empty() && !value.is_empty() && value != b"0" && !value.contains(&b'$')
        };
        self.fallback().is_empty() && self.strips.is_none() && self.rows().all(is_text)
    }
}

impl<'t> Maps<'t> {
    /// Returns the first row of each map, from where lookups start.
    pub fn near(&self) -> Near {
        Near(vec![Cell::new(0); self.by_name.len()].into())
    }

    pub fn get(&self, name: &[u8]) -> Option<&UriMap<'t>> {
        self.by_name.get(name)
    }

    /// The name of one of them.
    pub fn name(&self, map: &UriMap) -> &[u8] {
        self.by_name.iter().find(|(_, other)| other.number == map.number).map_or(&[], |(name, _)| name)
    }

    /// The names of the variables that the maps look up.
    pub fn sources(&self) -> impl Iterator<Item = &[u8]> {
        self.by_name.values().map(UriMap::source)
    }

    /// The names of all variables that the maps define, including named groups.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        let groups = self.by_name.values().filter_map(|map| map.strips.as_deref());
        self.by_name.keys().map(|name| &**name).chain(groups)
    }

    /// Checks that nginx builds each table without a warning.
    pub fn fit(&self, sizes: Sizes) -> Discharged<()> {
        self.by_name.iter().try_for_each(|(name, map)| fits(name, &map.rows, |row| &row.key, sizes))
    }
}

/// Checks that nginx builds the table of a map with these rows without a warning.
pub fn fits<R: Sync>(name: &[u8], rows: &[R], key: impl Fn(&R) -> &[u8] + Sync, sizes: Sizes) -> Discharged<()> {
    let elements = parallel::collect(rows.len(), |at| Element::new(key(&rows[at])));
    let problem = match hash::simulate(&elements, sizes) {
        hash::TableFit::Fits(_) => return Ok(()),
        hash::TableFit::Warns => "nginx would warn that it could not build an optimal hash",
        hash::TableFit::Refused => "a key does not fit a hash bucket, so nginx would not start",
        hash::TableFit::Slow => "nginx would take too long to find a hash table size",
    };
    Err(Refutation::new(format!("${}: {problem}", name.escape_ascii())))
}

/// Hashes `bytes` in lower case, as many at a time as fit into a register of a processor. Some of the last bytes may be
/// hashed twice.
fn hash_lowered(hasher: &DefaultHashBuilder, bytes: &[u8]) -> u64 {
    const WIDTH: usize = 16;
    let mut state = hasher.build_hasher();
    let mut write = |chunk: &[u8; WIDTH]| {
        state.write_u128(u128::from_le_bytes(chunk.map(|byte| byte.to_ascii_lowercase())));
    };
    bytes.as_chunks().0.iter().for_each(&mut write);
    match bytes.last_chunk() {
        Some(last) => write(last),
        None => {
            let mut padded = [0; WIDTH];
            padded[..bytes.len()].copy_from_slice(bytes);
            write(&padded);
        }
    }
    state.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enough rows for several tables.
    const MANY: usize = 5_000;

    /// The keys have from 2 to 64 bytes.
    fn key(number: usize) -> String {
        format!("/{number:x}{}", "Aa/-_[{@`Zz".repeat(number % 6))
    }

    fn text(keys: impl Iterator<Item = String>) -> String {
        let rows: String = keys.map(|key| format!("\"{key}\" \"to {key}\";\n")).collect();
        format!("map $uri $to {{ volatile; {rows} }}")
    }

    /// Each key is found in any case, and nothing else is. If two keys differ only in case, nginx refuses the map.
    #[test]
    fn many_rows() {
        let all = text((0..MANY).map(key));
        let maps = read(all.as_bytes()).unwrap();
        let map = maps.get(b"to").unwrap();
        for number in 0..MANY {
            let key = key(number);
            let value = format!("to {key}");
            assert_eq!(map.get(key.as_bytes()), value.as_bytes());
            assert_eq!(map.get(key.to_ascii_uppercase().as_bytes()), value.as_bytes());
            assert_eq!(map.get(format!("{key}.").as_bytes()), b"");
            assert_eq!(map.get(key.replace('[', "{").replace('@', "\\").as_bytes()).is_empty(), key.contains('['));
        }
        for number in [0, 1, MANY / 2, MANY - 1] {
            let twin = key(number).to_ascii_uppercase();
            let refuted = read(text((0..MANY).map(key).chain([twin])).as_bytes()).err().unwrap();
            assert!(refuted.what.contains("a duplicate key"), "{}", refuted.what);
        }
    }
}
