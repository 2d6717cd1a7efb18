//! Reads both texts as maps, and checks the obligations that every map has to meet.

use std::collections::{HashMap, HashSet};

use crate::map_block::{self, MapBlock, UnreadableMap};
use crate::parallel;
use crate::prove_map::obligation::{MapRefutation, Obligation, Proved, refute};
use crate::prove_map::row::{group_names, has_captures};
use crate::variables;

/// The deepest nesting of maps. nginx nests at most 100 evaluations of variables (`ngx_http_variable_depth`), including
/// those of SRC and of whatever evaluates `$var`; a value nested deeper is silently empty.
const DEEPEST: usize = 40;

/// A row of a map takes about this many bytes of text, or more.
const BYTES_OF_A_ROW: usize = 32;

/// The blocks of both texts.
pub struct Texts<'t> {
    pub original: MapBlock<'t>,
    /// The emitted block of the original's variable.
    pub own: MapBlock<'t>,
    others: Vec<MapBlock<'t>>,
}

impl<'t> Texts<'t> {
    pub fn read(original: &'t [u8], emitted: &'t [u8], proved: &Proved) -> Result<Texts<'t>, MapRefutation> {
        let (own, emitted) = parallel::both_of(
            emitted.len() / BYTES_OF_A_ROW,
            || map_block::read_one(original),
            || map_block::read(emitted),
        );
        let original = own.or_else(|error| unread("the original", &error))?;
        let mut others = emitted.or_else(|error| unread("the emitted text", &error))?;
        let Some(own) = others.iter().position(|block| block.variable == original.variable) else {
            return refute(Obligation::Reads, "the emitted text does not define the variable");
        };
        let own = others.swap_remove(own);
        proved.discharge(Obligation::Reads);
        Ok(Texts { original, own, others })
    }

    /// All emitted blocks.
    pub fn emitted(&self) -> impl Iterator<Item = &MapBlock<'t>> {
        self.others.iter().chain([&self.own])
    }

    /// Checks the obligations of single maps, and returns all maps but the variable's own by name.
    pub fn check(&self, proved: &Proved) -> Result<HashMap<&[u8], &MapBlock<'t>>, MapRefutation> {
        self.check_own(proved)?;
        let by_name = self.check_names(proved)?;
        for block in &self.others {
            self.check_flags(block)?;
            proved.discharge(Obligation::Flags);
        }
        self.check_depth(&by_name)?;
        proved.discharge(Obligation::Depth);
        let texts = [("default", self.original.fallback()), ("source", &*self.original.source)];
        if let Some((what, _)) = texts.into_iter().find(|(_, text)| has_captures(text)) {
            return refute(
                Obligation::Captures,
                format!("the {what} has captures, which the emitted patterns overwrite"),
            );
        }
        Ok(by_name)
    }

    fn check_own(&self, proved: &Proved) -> Result<(), MapRefutation> {
        let Texts { original, own, .. } = self;
        let row = |block: &'_ MapBlock<'t>| -> Vec<_> {
            block.exact.iter().map(|row| (row.key.clone(), row.value.clone(), row.is_hostname)).collect()
        };
        if own.source != original.source {
            return refute(Obligation::OwnMap, "the variable's map has another source");
        }
        if (own.volatile, own.hostnames) != (original.volatile, original.hostnames) {
            return refute(Obligation::OwnMap, "the variable's map has other flags");
        }
        if row(own) != row(original) {
            return refute(Obligation::OwnMap, "the variable's map has other exact rows");
        }
        proved.discharge(Obligation::OwnMap);
        Ok(())
    }

    /// Checks that each name is new and defined once.
    fn check_names(&self, proved: &Proved) -> Result<HashMap<&[u8], &MapBlock<'t>>, MapRefutation> {
        let used = self.names_of_original();
        let mut by_name: HashMap<&[u8], &MapBlock> = HashMap::new();
        for block in &self.others {
            let name = &*block.variable;
            check_name(name, &used)?;
            if by_name.insert(name, block).is_some() {
                return refute(Obligation::Names, format!("${} is the variable of two maps", name.escape_ascii()));
            }
            proved.discharge(Obligation::Names);
        }
        let of_rows: HashSet<(bool, &[u8])> =
            self.original.patterns.iter().map(|row| (row.caseless, &*row.pattern)).collect();
        let blocks = self.others.iter().chain([&self.own]);
        let patterns = blocks.flat_map(|block| &block.patterns).filter(|row| row.pattern.contains(&b'?'));
        for row in patterns.filter(|row| !of_rows.contains(&(row.caseless, &*row.pattern))) {
            for name in group_names(&row.pattern) {
                check_name(name, &used)?;
                if by_name.contains_key(name) {
                    let what = "is the variable of a map and of a group";
                    return refute(Obligation::Names, format!("${} {what}", name.escape_ascii()));
                }
            }
        }
        Ok(by_name)
    }

    /// All names in the original, in lower case.
    fn names_of_original(&self) -> HashSet<Vec<u8>> {
        let MapBlock { source, variable, exact, patterns, .. } = &self.original;
        let mut names = HashSet::from([variable.to_ascii_lowercase()]);
        let values = exact.iter().map(|row| &row.value).chain(patterns.iter().map(|row| &row.value));
        let default = self.original.default.iter();
        for text in values.chain(default).chain([source]).filter(|text| text.contains(&b'$')) {
            names.extend(variables_in(text).map(|name| name.to_ascii_lowercase()));
        }
        for row in patterns.iter().filter(|row| row.pattern.contains(&b'?')) {
            names.extend(group_names(&row.pattern).into_iter().map(<[u8]>::to_ascii_lowercase));
        }
        names
    }

    fn check_flags(&self, block: &MapBlock) -> Result<(), MapRefutation> {
        let name = block.variable.escape_ascii();
        if block.volatile != self.original.volatile {
            return refute(
                Obligation::Flags,
                format!("${name} is volatile where the original is not, or not where it is"),
            );
        }
        let hostnames = self.original.hostnames && block.source == self.original.source;
        if block.hostnames != hostnames || block.exact.iter().any(|row| row.is_hostname) {
            return refute(
                Obligation::Flags,
                format!("${name} takes host names where the original does not, or not where it does"),
            );
        }
        Ok(())
    }

    /// Follows sources and values from the own map, and checks that no map leads to itself and none is too deep.
    fn check_depth(&self, by_name: &HashMap<&[u8], &MapBlock<'t>>) -> Result<(), MapRefutation> {
        fn depth<'b>(
            block: &'b MapBlock,
            by_name: &HashMap<&[u8], &'b MapBlock>,
            known: &mut HashMap<&'b [u8], Option<usize>>,
        ) -> Option<usize> {
            if let Some(depth) = known.get(&*block.variable) {
                return *depth;
            }
            known.insert(&block.variable, None);
            let values = block.patterns.iter().map(|row| &row.value).chain(block.exact.iter().map(|row| &row.value));
            let mut deepest = 0;
            for text in values.chain(&block.default).chain([&block.source]).filter(|text| text.contains(&b'$')) {
                for other in variables_in(text).filter_map(|name| by_name.get(name)) {
                    deepest = deepest.max(depth(other, by_name, known).filter(|&depth| depth < DEEPEST)?);
                }
            }
            known.insert(&block.variable, Some(deepest + 1));
            Some(deepest + 1)
        }
        match depth(&self.own, by_name, &mut HashMap::new()) {
            Some(depth) if depth <= DEEPEST => Ok(()),
            _ => refute(Obligation::Depth, "the maps nest too deep, or in a circle"),
        }
    }
}

fn unread<T>(what: &str, error: &UnreadableMap) -> Result<T, MapRefutation> {
    refute(Obligation::Reads, format!("{what} is not read: {error}"))
}

/// Checks that a name is plain, not nginx's own and not in the original. The caller checks the rest of the
/// configuration.
fn check_name(name: &[u8], used: &HashSet<Vec<u8>>) -> Result<(), MapRefutation> {
    let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
    let escaped = name.escape_ascii();
    match std::str::from_utf8(name) {
        Ok(text) if !name.is_empty() && name.iter().all(is_plain) && !name[0].is_ascii_digit() => {
            if variables::is_own(text) {
                return refute(Obligation::Names, format!("${escaped} is a variable of nginx's own"));
            }
        }
        _ => return refute(Obligation::Names, format!("${escaped} is no name in small letters")),
    }
    if used.contains(name) {
        return refute(Obligation::Names, format!("${escaped} is used in the original"));
    }
    Ok(())
}

/// The names of variables in a value.
pub fn variables_in(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let starts = memchr::memchr_iter(b'$', text).map(|at| at + 1);
    let starts = starts.map(|at| if text.get(at) == Some(&b'{') { at + 1 } else { at });
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    starts.map(move |at| &text[at..][..text[at..].iter().take_while(is_word).count()])
}
