//! Reads the keys that patterns capture. The patterns are tries: literals as nested alternatives.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::first_match::ReadPattern;
use crate::map_block::{MapBlock, PatternRow};
use crate::prove_map::obligation::{MapRefutation, Obligation, Proved, refute};
use crate::prove_map::prefixes::Prefixes;
use crate::prove_map::row::as_text;
use crate::syntax::Ast;
use crate::work::spend;

/// The most strings that one pattern lists. A token has no room for more.
const MOST_STRINGS: usize = 1 << 16;

/// The keys of a variable that holds the longest key that the subject begins with, spelled as in the subject. The
/// variable is empty if there is no such key.
pub struct Keys {
    /// The keys, in lower case if `caseless`.
    pub keys: Prefixes,
    pub caseless: bool,
}

/// Lists the strings of a pattern of literals and alternatives, in the order in which PCRE prefers them. `None` for any
/// other pattern. If `caseless`, they are in lower case and stand for all spellings.
pub fn strings(ast: &Ast, caseless: bool) -> Option<Vec<Vec<u8>>> {
    let strings = match ast {
        Ast::Empty => vec![Vec::new()],
        Ast::Byte(byte) if caseless && byte.is_ascii_alphabetic() => return None,
        Ast::Byte(byte) => vec![vec![*byte]],
        Ast::Class(set) if caseless && set.fold() != *set => return None,
        Ast::Class(set) => {
            let members = set.iter().filter(|byte| !(caseless && byte.is_ascii_uppercase()));
            members.map(|byte| vec![byte]).collect()
        }
        Ast::Concat(items) => items.iter().try_fold(vec![Vec::new()], |heads, item| product(heads, item, caseless))?,
        Ast::Alternation(branches) => {
            let mut all = Vec::new();
            for branch in branches {
                all.append(&mut strings(branch, caseless)?);
            }
            all
        }
        Ast::Repeat { min: 0, max: Some(1), greedy, sub } => {
            let mut all = strings(sub, caseless)?;
            all.insert(if *greedy { all.len() } else { 0 }, Vec::new());
            all
        }
        _ => return None,
    };
    spend(strings.len());
    (strings.len() <= MOST_STRINGS).then_some(strings)
}

fn product(mut heads: Vec<Vec<u8>>, next: &Ast, caseless: bool) -> Option<Vec<Vec<u8>>> {
    let tails = strings(next, caseless)?;
    if let [tail] = tails.as_slice() {
        heads.iter_mut().for_each(|head| head.extend_from_slice(tail));
        return Some(heads);
    }
    let fits = heads.len().checked_mul(tails.len()).is_some_and(|count| count <= MOST_STRINGS);
    fits.then(|| heads.iter().flat_map(|head| tails.iter().map(move |tail| [&head[..], tail].concat())).collect())
}

/// The trie of `"~^(?<group>TRIE)" $group`.
fn captured(row: &PatternRow) -> Option<Ast> {
    let group = row.value.strip_prefix(b"$")?;
    let language = ReadPattern::of(&as_text(&row.pattern, row.caseless))?;
    let Ast::Concat(items) = &language.pattern.ast else { return None };
    let [Ast::Start, Ast::Capture { name: Some(name), sub, .. }] = items.as_slice() else { return None };
    let sub = (**sub).clone();
    (name.as_bytes() == group && language.pattern.captures == 1).then_some(sub)
}

/// Reads variables that hold keys.
pub struct KeysReader<'p, 'b> {
    pub source: &'p [u8],
    pub maps: &'p HashMap<&'b [u8], &'b MapBlock<'b>>,
    pub used: &'p mut HashSet<&'b [u8]>,
    pub proved: &'p Proved,
}

impl<'b> KeysReader<'_, 'b> {
    /// The keys of a map, from one trie or from chunks.
    pub fn keys(&mut self, block: &'b MapBlock<'b>) -> Result<Keys, MapRefutation> {
        self.used.insert(&block.variable);
        if *block.source == *self.source { self.trie(block) } else { self.chunks(block) }
    }

    /// Reads a map of several tries. The first pattern that matches captures the key, so that together they are one
    /// trie whose branches are the tries of the rows.
    fn trie(&mut self, block: &MapBlock) -> Result<Keys, MapRefutation> {
        let name = block.variable.escape_ascii();
        let caseless = block.patterns.first().is_some_and(|row| row.caseless);
        let is_read = block.exact.is_empty() && block.patterns.iter().all(|row| row.caseless == caseless);
        let tries = block.patterns.iter().map(captured).collect::<Option<Vec<Ast>>>();
        let Some(tries) = tries.filter(|tries| is_read && !tries.is_empty()) else {
            return refute(Obligation::Trie, format!("${name} does not capture a key"));
        };
        let Some(strings) = strings(&Ast::Alternation(tries), caseless) else {
            return refute(Obligation::Trie, format!("the patterns of ${name} are not a list of keys"));
        };
        if !block.fallback().is_empty() {
            return refute(Obligation::Trie, format!("${name} has a key for subjects that begin with none"));
        }
        let keys = longest_first(strings).or_else(|what| refute(Obligation::Trie, format!("${name}: {what}")))?;
        self.proved.discharge(Obligation::Trie);
        Ok(Keys { keys, caseless })
    }

    /// Reads `map $keys $longest { "root" $chunk; ... default $keys; }`, which adds keys that are longer than the roots
    /// in the trie above. Several roots may lead to one chunk.
    fn chunks(&mut self, block: &'b MapBlock<'b>) -> Result<Keys, MapRefutation> {
        let name = block.variable.escape_ascii();
        let Some(upper) = self.map_of(&block.source).filter(|_| block.patterns.is_empty()) else {
            return refute(Obligation::Chunk, format!("${name} is not a map of the roots of chunks"));
        };
        let upper = self.keys(upper)?;
        let rows = buckets(block, &upper, Obligation::Chunk)?;
        if rows.contains_key(&None) {
            return refute(Obligation::Chunk, format!("${name} has a chunk for subjects that begin with no root"));
        }
        let has_others = block.fallback() == &*block.source;
        if !has_others && (!block.fallback().is_empty() || rows.len() < upper.keys.strings().len()) {
            return refute(Obligation::Chunk, format!("${name} has no chunk for some roots"));
        }
        let mut keys = Vec::new();
        let mut roots: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
        for (place, root) in upper.keys.strings().iter().enumerate() {
            match rows.get(&Some(place)) {
                Some(value) => roots.entry(*value).or_default().push(place),
                None => keys.push(root.clone()),
            }
        }
        for (value, roots) in roots {
            keys.extend(self.chunk(value, &roots, &upper)?);
        }
        Ok(Keys { keys: Prefixes::new(keys), caseless: upper.caseless })
    }

    /// Reads the keys of one chunk: its roots, and keys that begin with a root but with no longer key of the trie
    /// above. So all keys that a subject begins with, and that are longer than its root, are in the chunk of this root.
    fn chunk(&mut self, value: &[u8], roots: &[usize], upper: &Keys) -> Result<Vec<Vec<u8>>, MapRefutation> {
        let name = |place: usize| upper.keys.strings()[place].escape_ascii();
        let Some(chunk) = self.map_of(value) else {
            return refute(Obligation::Chunk, format!("there is no chunk of \"{}\"", name(roots[0])));
        };
        let chunk = self.keys(chunk)?;
        let holds = |place: &usize| chunk.keys.find(&upper.keys.strings()[*place]).is_some();
        if let Some(root) = roots.iter().find(|root| chunk.caseless != upper.caseless || !holds(root)) {
            return refute(Obligation::Chunk, format!("the chunk of \"{}\" does not hold it", name(*root)));
        }
        let is_its_own = |key: &Vec<u8>| upper.keys.longest(key).is_some_and(|root| roots.binary_search(&root).is_ok());
        if let Some(key) = chunk.keys.strings().iter().find(|key| !is_its_own(key)) {
            let (root, key) = (name(roots[0]), key.escape_ascii());
            return refute(Obligation::Chunk, format!("the chunk of \"{root}\" has \"{key}\" of another"));
        }
        self.proved.discharge(Obligation::Chunk);
        Ok(chunk.keys.strings().to_vec())
    }

    fn map_of(&self, value: &[u8]) -> Option<&'b MapBlock<'b>> {
        value.strip_prefix(b"$").and_then(|name| self.maps.get(name)).copied()
    }
}

/// Returns the strings, if each occurs once and comes before its own prefixes, so that PCRE captures the longest.
fn longest_first(strings: Vec<Vec<u8>>) -> Result<Prefixes, String> {
    let order: HashMap<Vec<u8>, usize> = strings.iter().cloned().zip(0..).collect();
    if order.len() < strings.len() {
        return Err("a key is there twice".into());
    }
    let keys = Prefixes::new(strings);
    for (place, key) in keys.strings().iter().enumerate() {
        if key.is_empty() {
            return Err("a key is empty".into());
        }
        let shorter = keys.parent(place).map(|parent| &keys.strings()[parent]);
        if let Some(shorter) = shorter.filter(|&shorter| order[shorter] < order[key]) {
            return Err(format!("\"{}\" comes before \"{}\"", shorter.escape_ascii(), key.escape_ascii()));
        }
    }
    Ok(keys)
}

/// Returns the values of a map of keys, by the index of the key; `None` is the empty key.
pub fn buckets<'b>(
    block: &'b MapBlock<'_>,
    keys: &Keys,
    obligation: Obligation,
) -> Result<HashMap<Option<usize>, &'b [u8]>, MapRefutation> {
    let name = block.variable.escape_ascii();
    if !block.patterns.is_empty() {
        return refute(obligation, format!("${name} has a pattern among its keys"));
    }
    let mut spellings = HashSet::new();
    for key in keys.keys.strings().iter().filter(|_| !keys.caseless) {
        if !spellings.insert(key.to_ascii_lowercase()) {
            return refute(obligation, format!("${name} cannot tell \"{}\" in two spellings", key.escape_ascii()));
        }
    }
    let mut rows = HashMap::with_capacity(block.exact.len());
    for row in &block.exact {
        let key = if keys.caseless { row.key.to_ascii_lowercase() } else { row.key.to_vec() };
        let place = if key.is_empty() { Some(None) } else { keys.keys.find(&key).map(Some) };
        let escaped = row.key.escape_ascii();
        let Some(place) = place else {
            return refute(obligation, format!("\"{escaped}\" of ${name} is no key of the trie"));
        };
        if rows.insert(place, &*row.value).is_some() {
            return refute(obligation, format!("\"{escaped}\" of ${name} is there twice"));
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::{longest_first, strings};
    use crate::syntax::{Ast, parse};

    fn list(pattern: &str, caseless: bool) -> Option<Vec<String>> {
        let Ast::Concat(items) = parse(pattern.as_bytes()).unwrap().ast else { panic!("{pattern}") };
        let strings = strings(&Ast::Concat(items[1..].to_vec()), caseless)?;
        Some(strings.into_iter().map(|string| String::from_utf8(string).unwrap()).collect())
    }

    /// The order is PCRE's order of preference.
    #[test]
    fn in_order_of_preference() {
        assert_eq!(list("^/(?:a(?:/b|)|c[de]?)", false).unwrap(), ["/a/b", "/a", "/cd", "/ce", "/c"]);
        assert_eq!(list("^/a(?:b)??", false).unwrap(), ["/a", "/ab"]);
        assert_eq!(list("(?i)^/A(?:B|c)", true).unwrap(), ["/ab", "/ac"]);
        for pattern in ["^/a*b", "^/a+b", "^/.{3}b{3}", "^/a$b", r"^/a\bb", "^/(?!a)b"] {
            assert_eq!(list(pattern, false), None, "{pattern}");
        }
        assert_eq!(list("^/(?i:a)b", true), None);
        assert_eq!(list(&format!("^/{}", "(?:a|b)".repeat(20)), false), None);
    }

    /// A key after one of its own prefixes would never be captured.
    #[test]
    fn order() {
        let check = |keys: &[&str]| longest_first(keys.iter().map(|key| key.as_bytes().to_vec()).collect());
        assert_eq!(check(&["/a/b", "/b", "/a"]).unwrap().strings().len(), 3);
        assert!(check(&["/a", "/b", "/a/b"]).is_err());
        assert!(check(&["/a/b", "/", "/a"]).is_err());
        assert!(check(&["/a", "/b", "/a"]).is_err());
        assert!(check(&[""]).is_err());
    }
}
