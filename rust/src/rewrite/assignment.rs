//! Assigns strings to rules, after each rule has been judged by itself.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::collisions;
use crate::first_match::{Doubt, First, FirstMatch};
use crate::hash::Element;
use crate::parallel;
use crate::rewrite::candidate::{Candidate, MOST_SPELLINGS, Movable};
use crate::rewrite::plan::{BadPattern, Fate, KeyEntry, MAX_TIERS, NONE, Plan};
use crate::rewrite::reason::Reason;
use crate::rewrite::runs::{Rule, Run};

/// Which rule owns which string: the first rule, in order, that matches it.
pub struct Assignment {
    entries: Vec<KeyEntry>,
    keys: Vec<u8>,
    /// The first entry of each set of keys that differ only in case.
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// For each rule, whether it owns a key.
    owns: Vec<bool>,
    /// For each rule, the first of its strings that an earlier rule owns, and that rule.
    taken: HashMap<usize, (usize, Vec<u8>)>,
    /// The rules that turned out to be impossible to move.
    staying: HashMap<usize, Reason>,
    /// Their strings in lower case, and which rule matches which spellings of them.
    stayed: HashMap<Vec<u8>, Vec<Stayed>>,
}

/// What is known of a string before a rule takes it.
struct Found {
    /// The earlier rule that matches it.
    owner: Option<usize>,
    hash: u64,
    /// Of the entries whose keys equal it apart from case: how many there are, and the last.
    spelled: (u32, u32),
}

/// A rule that stays although its strings are known.
struct Stayed {
    rule: usize,
    /// The spelling that it matches; `None` for every spelling.
    spelling: Option<Vec<u8>>,
}

impl Assignment {
    /// Assigns the strings of all rules. Linear, except for PCRE2 on strings that kept rules may match.
    pub fn make(run: &Run, candidates: &[Candidate]) -> Result<Assignment, BadPattern> {
        let kept: Vec<usize> = (0..candidates.len()).filter(|rule| candidates[*rule].is_err()).collect();
        let patterns: Vec<&[u8]> = kept.iter().map(|rule| &*run.rules[*rule].pattern).collect();
        let first =
            FirstMatch::new(&patterns).map_err(|limit| BadPattern { rule: kept[0], message: limit.to_string() })?;
        let count = candidates.iter().flatten().map(|movable| movable.strings.count()).sum();
        let mut assignment = Assignment {
            entries: Vec::with_capacity(count),
            keys: Vec::new(),
            table: HashTable::with_capacity(count),
            hasher: DefaultHashBuilder::default(),
            owns: vec![false; candidates.len()],
            taken: HashMap::new(),
            staying: HashMap::new(),
            stayed: HashMap::new(),
        };
        let mut kept_before = 0;
        let mut found = Vec::new();
        for (rule, candidate) in candidates.iter().enumerate() {
            let before = KeptBefore { rules: &kept[..kept_before], first: &first };
            match candidate {
                Ok(movable) => assignment.add(rule, movable, &before, &mut found),
                Err(_) => kept_before += 1,
            }
        }
        Ok(assignment)
    }

    /// Gives a rule the strings that no earlier rule matches; keeps the rule if that is unknown for one of them. `all`
    /// is room for what is found.
    fn add(&mut self, rule: usize, movable: &Movable, before: &KeptBefore, all: &mut Vec<Found>) {
        let read = movable.strings.read();
        let strings = read.as_ref().unwrap_or(&movable.strings);
        let mut why = None;
        all.clear();
        strings.all(|string| {
            match self.find(string, movable.any_case, before) {
                Ok(found) => all.push(found),
                Err(reason) => why = Some(reason),
            }
            why.is_none()
        });
        if let Some(reason) = why {
            self.stay(rule, movable, reason);
            return;
        }
        let mut all = all.iter();
        strings.all(|string| {
            let Some(found) = all.next() else { return false };
            match found.owner {
                None => {
                    let spelled = if strings.is_literal() { found.spelled } else { self.spelled(string, found.hash) };
                    self.assign(rule, string, movable.any_case, found.hash, spelled);
                }
                Some(owner) => {
                    self.taken.entry(rule).or_insert_with(|| (owner, string.to_vec()));
                }
            }
            true
        });
    }

    /// Looks for the earlier rule that matches `string`.
    fn find(&self, string: &[u8], any_case: bool, before: &KeptBefore) -> Result<Found, Reason> {
        let hash = self.hasher.hash_one(Lowered(string));
        let spelled = self.spelled(string, hash);
        if let Some(taker) = before.taker(string, any_case, self.stayed(string, any_case))? {
            return Ok(Found { owner: Some(taker), hash, spelled });
        }
        let spellings = (spelled.0 > 0).then(|| self.spellings(string, hash));
        for entry in spellings.into_iter().flatten() {
            let known = &self.entries[entry as usize];
            if known.any_case || (!any_case && self.bytes(entry) == string) {
                return Ok(Found { owner: Some(known.rule as usize), hash, spelled });
            }
        }
        let is_crowded = spelled.0 as usize + MOST_SPELLINGS > MAX_TIERS;
        if is_crowded { Err(Reason::CaseTiers) } else { Ok(Found { owner: None, hash, spelled }) }
    }

    /// The first rule that stays although its strings are known, and that matches `string`; with `any_case`, some
    /// spelling of it.
    fn stayed(&self, string: &[u8], any_case: bool) -> Option<usize> {
        if self.stayed.is_empty() {
            return None;
        }
        let takes = |stayed: &&Stayed| any_case || stayed.spelling.as_deref().is_none_or(|spelling| spelling == string);
        self.stayed.get(&string.to_ascii_lowercase())?.iter().find(takes).map(|stayed| stayed.rule)
    }

    fn stay(&mut self, rule: usize, movable: &Movable, reason: Reason) {
        self.staying.insert(rule, reason);
        movable.strings.all(|string| {
            let spelling = (!movable.any_case).then(|| string.to_vec());
            self.stayed.entry(string.to_ascii_lowercase()).or_default().push(Stayed { rule, spelling });
            true
        });
    }

    /// The entries whose keys equal `string` apart from case.
    fn spellings(&self, string: &[u8], hash: u64) -> impl Iterator<Item = u32> + '_ {
        let head = self.table.find(hash, |entry| self.bytes(*entry).eq_ignore_ascii_case(string)).copied();
        let next = |entry: &u32| Some(self.entries[*entry as usize].next).filter(|next| *next != NONE);
        std::iter::successors(head, next)
    }

    /// How many they are, and the last of them.
    fn spelled(&self, string: &[u8], hash: u64) -> (u32, u32) {
        self.spellings(string, hash).fold((0, NONE), |(count, _), entry| (count + 1, entry))
    }

    /// Makes `rule` the owner of `string`.
    fn assign(&mut self, rule: usize, string: &[u8], any_case: bool, hash: u64, (tier, last): (u32, u32)) {
        let index = self.entries.len() as u32;
        let start = self.keys.len() as u32;
        self.keys.extend_from_slice(string);
        self.entries.push(KeyEntry {
            start,
            length: string.len() as u16,
            tier: tier as u8,
            any_case,
            rule: rule as u32,
            next: NONE,
        });
        self.owns[rule] = true;
        if last == NONE {
            let (entries, keys, hasher) = (&self.entries, &self.keys, &self.hasher);
            self.table.insert_unique(hash, index, |entry| hasher.hash_one(Lowered(bytes(entries, keys, *entry))));
        } else {
            self.entries[last as usize].next = index;
        }
    }

    /// The rules with keys that overload nginx's hash tables, in order.
    pub fn crowded(&self) -> Vec<usize> {
        let mut tiers: HashMap<u8, Vec<(Element, u32)>> = HashMap::new();
        let elements = parallel::collect(self.entries.len(), |at| (Element::new(self.bytes(at as u32)), at as u32));
        if self.entries.iter().all(|entry| entry.tier == 0) {
            tiers.insert(0, elements);
        } else {
            for (entry, element) in self.entries.iter().zip(elements) {
                tiers.entry(entry.tier).or_default().push(element);
            }
        }
        let crowded = tiers.values().flat_map(|elements| collisions::of_one_map(elements));
        let mut rules: Vec<usize> = crowded.map(|at| self.entries[at as usize].rule as usize).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    fn bytes(&self, entry: u32) -> &[u8] {
        bytes(&self.entries, &self.keys, entry)
    }

    /// The plan that this assignment makes.
    pub fn into_plan(self, run: &Run, candidates: Vec<Candidate>) -> Plan {
        let fates = candidates.iter().enumerate().map(|(rule, candidate)| {
            match (candidate, self.staying.get(&rule), self.taken.get(&rule)) {
                (Err(reason), ..) | (_, Some(reason), _) => Fate::Kept(*reason),
                _ if self.owns[rule] => Fate::Moved,
                (_, _, Some((of, _))) if repeats(&run.rules[rule], &run.rules[*of]) => Fate::Duplicate { of: *of },
                (_, _, Some((by, witness))) => Fate::Dead { by: Some(*by), witness: Some(witness.clone()) },
                (_, _, None) => Fate::Dead { by: None, witness: None },
            }
        });
        let fates = fates.collect();
        let extra = |(rule, candidate): (usize, Candidate)| Some((rule, *candidate.ok()?.extra?));
        let moves = |(rule, _): &(usize, Candidate)| !self.staying.contains_key(rule);
        let extras = candidates.into_iter().enumerate().filter(moves).filter_map(extra).collect();
        Plan { fates, entries: self.entries, keys: self.keys, extras }
    }
}

/// The kept rules before a rule.
struct KeptBefore<'k> {
    rules: &'k [usize],
    first: &'k FirstMatch,
}

impl KeptBefore<'_> {
    /// The first rule that stays and matches `string`, one of these or `stayed`. With `any_case`, it only verifies that
    /// none of these rules matches any spelling.
    fn taker(&self, string: &[u8], any_case: bool, stayed: Option<usize>) -> Result<Option<usize>, Reason> {
        if any_case {
            let overlaps = stayed.is_some() || self.first.may_match_some_case(string, self.rules.len());
            return if overlaps { Err(Reason::CaseOverlap) } else { Ok(None) };
        }
        let before = stayed.map_or(self.rules.len(), |stayed| self.rules.partition_point(|rule| *rule < stayed));
        match self.first.first(string, before) {
            First::None => Ok(stayed),
            First::Match(index) => Ok(Some(self.rules[index])),
            First::Unknown(_, Doubt::Unportable) => Err(Reason::BehindUnportable),
            First::Unknown(_, Doubt::Effort) => Err(Reason::MatchLimit),
        }
    }
}

fn bytes<'a>(entries: &[KeyEntry], keys: &'a [u8], entry: u32) -> &'a [u8] {
    let entry = &entries[entry as usize];
    &keys[entry.start as usize..entry.start as usize + usize::from(entry.length)]
}

/// Whether a rule is the same as an earlier one, apart from its place.
fn repeats(rule: &Rule, earlier: &Rule) -> bool {
    rule.pattern == earlier.pattern && rule.replacement == earlier.replacement && rule.action == earlier.action
}

/// Bytes that hash as nginx's map keys compare: in lower case.
struct Lowered<'a>(&'a [u8]);

impl Hash for Lowered<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut lowered = [0u8; 64];
        for chunk in self.0.chunks(lowered.len()) {
            let lowered = &mut lowered[..chunk.len()];
            lowered.copy_from_slice(chunk);
            lowered.make_ascii_lowercase();
            state.write(lowered);
        }
    }
}
