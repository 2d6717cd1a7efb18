//! Who answers which string, once every rule is judged by itself.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::first_match::{First, FirstMatch};
use crate::rewrite::candidate::{Candidate, Movable};
use crate::rewrite::collisions;
use crate::rewrite::plan::{BadPattern, Entry, Fate, MAX_TIERS, NONE, Plan};
use crate::rewrite::program::{Rule, Run};
use crate::rewrite::reason::Reason;

/// Who owns which string: the rules are asked in order, and the first that matches a string takes it.
pub struct Claims {
    entries: Vec<Entry>,
    keys: Vec<u8>,
    /// The first entry of each set of keys that differ by case alone.
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// By rule, whether it owns a key.
    owns: Vec<bool>,
    /// The first string that a rule did not get, and who has it.
    taken: HashMap<usize, (usize, Vec<u8>)>,
    /// The rules that cannot be moved after all.
    pub demoted: Vec<(usize, Reason)>,
}

impl Claims {
    /// Asks all rules, kept ones included.
    pub fn make(run: &Run, candidates: &[Candidate]) -> Result<Claims, BadPattern> {
        let kept: Vec<usize> = (0..candidates.len()).filter(|rule| candidates[*rule].is_err()).collect();
        let patterns: Vec<&[u8]> = kept.iter().map(|rule| &*run.rules[*rule].pattern).collect();
        let first =
            FirstMatch::new(&patterns).map_err(|limit| BadPattern { rule: kept[0], message: limit.to_string() })?;
        let mut claims = Claims {
            entries: Vec::new(),
            keys: Vec::new(),
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            owns: vec![false; candidates.len()],
            taken: HashMap::new(),
            demoted: Vec::new(),
        };
        let mut kept_before = 0;
        for (rule, candidate) in candidates.iter().enumerate() {
            let before = Kept { rules: &kept[..kept_before], first: &first };
            match candidate {
                Ok(movable) => claims.add(rule, movable, &before),
                Err(_) => kept_before += 1,
            }
        }
        if claims.demoted.is_empty() {
            let crowded = collisions::crowded(&claims.entries, |entry| claims.bytes(entry));
            claims.demoted.extend(crowded.into_iter().map(|rule| (rule, Reason::HashCollision)));
        }
        Ok(claims)
    }

    /// Gives a rule the strings that no earlier rule takes.
    fn add(&mut self, rule: usize, movable: &Movable, before: &Kept) {
        movable.strings.all(|string| {
            let owner = match before.taker(string, movable.any_case) {
                Ok(None) => self.claim(rule, string, movable.any_case),
                taken => taken,
            };
            match owner {
                Ok(None) => self.owns[rule] = true,
                Ok(Some(owner)) => {
                    self.taken.entry(rule).or_insert_with(|| (owner, string.to_vec()));
                }
                Err(reason) => self.demoted.push((rule, reason)),
            }
            owner.is_ok()
        });
    }

    /// Makes `rule` the owner of `string`, or says who is.
    fn claim(&mut self, rule: usize, string: &[u8], any_case: bool) -> Result<Option<usize>, Reason> {
        let hash = self.hasher.hash_one(Lowered(string));
        let head = self.table.find(hash, |entry| self.bytes(*entry).eq_ignore_ascii_case(string)).copied();
        let (mut tier, mut at) = (0, head.unwrap_or(NONE));
        let mut last = NONE;
        while at != NONE {
            let entry = self.entries[at as usize];
            if entry.any_case || (!any_case && self.bytes(at) == string) {
                return Ok(Some(entry.rule as usize));
            }
            (last, at, tier) = (at, entry.next, tier + 1);
        }
        if tier >= MAX_TIERS {
            return Err(Reason::CaseTiers);
        }
        let index = self.entries.len() as u32;
        let start = self.keys.len() as u32;
        self.keys.extend_from_slice(string);
        self.entries.push(Entry {
            start,
            length: string.len() as u16,
            tier: tier as u8,
            any_case,
            rule: rule as u32,
            next: NONE,
        });
        if last == NONE {
            let (entries, keys, hasher) = (&self.entries, &self.keys, &self.hasher);
            self.table.insert_unique(hash, index, |entry| hasher.hash_one(Lowered(bytes(entries, keys, *entry))));
        } else {
            self.entries[last as usize].next = index;
        }
        Ok(None)
    }

    fn bytes(&self, entry: u32) -> &[u8] {
        bytes(&self.entries, &self.keys, entry)
    }

    /// The plan that these claims make.
    pub fn into_plan(self, run: &Run, candidates: Vec<Candidate>) -> Plan {
        let fates = candidates.iter().enumerate().map(|(rule, candidate)| match (candidate, self.taken.get(&rule)) {
            (Err(reason), _) => Fate::Kept(*reason),
            _ if self.owns[rule] => Fate::Moved,
            (Ok(_), Some((of, _))) if says_the_same(&run.rules[rule], &run.rules[*of]) => Fate::Duplicate { of: *of },
            (Ok(_), Some((by, witness))) => Fate::Dead { by: Some(*by), witness: Some(witness.clone()) },
            (Ok(_), None) => Fate::Dead { by: None, witness: None },
        });
        let fates = fates.collect();
        let extra = |(rule, candidate): (usize, Candidate)| Some((rule, *candidate.ok()?.extra?));
        let extras = candidates.into_iter().enumerate().filter_map(extra).collect();
        Plan { fates, entries: self.entries, keys: self.keys, extras }
    }
}

/// The kept rules before a rule.
struct Kept<'k> {
    rules: &'k [usize],
    first: &'k FirstMatch,
}

impl Kept<'_> {
    /// The first of them that matches `string`; of its other spellings it is only told that none is matched.
    fn taker(&self, string: &[u8], any_case: bool) -> Result<Option<usize>, Reason> {
        if any_case {
            let overlaps = self.first.may_match_some_case(string, self.rules.len());
            return if overlaps { Err(Reason::CaseOverlap) } else { Ok(None) };
        }
        match self.first.first(string, self.rules.len()) {
            First::None => Ok(None),
            First::Match(index) => Ok(Some(self.rules[index])),
            First::Error(..) => Err(Reason::MatchLimit),
        }
    }
}

fn bytes<'a>(entries: &[Entry], keys: &'a [u8], entry: u32) -> &'a [u8] {
    let entry = &entries[entry as usize];
    &keys[entry.start as usize..entry.start as usize + usize::from(entry.length)]
}

/// Whether two rules are the same in all but their place.
fn says_the_same(one: &Rule, other: &Rule) -> bool {
    one.pattern == other.pattern && one.replacement == other.replacement && one.action == other.action
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
