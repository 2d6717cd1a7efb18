//! Assigns each string to the first rule that matches it, after each rule has been judged by itself.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::collisions;
use crate::first_match::{Doubt, First, FirstMatch, ReadPatterns};
use crate::hash::Element;
use crate::parallel;
use crate::rewrite::candidate::{Candidate, MOST_SPELLINGS, Movable};
use crate::rewrite::plan::{BadPattern, Fate, KeyEntry, MAX_TIERS, NONE, Plan};
use crate::rewrite::reason::Reason;
use crate::rewrite::runs::{Rule, Run};

/// The error if the rules that stay have too many literals for an index.
const TOO_MANY: &str = "the rules hold too many literals for an index";

/// The owner of each string: the first rule, in order, that matches it.
pub struct Assignment {
    entries: Vec<KeyEntry>,
    keys: Vec<u8>,
    /// For each set of keys that differ only in case, the first entry.
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// For each rule, whether it owns a key.
    owns: Vec<bool>,
    /// For each rule, the first of its strings that an earlier rule owns, and that rule.
    taken: HashMap<usize, (usize, Vec<u8>)>,
    /// The rules that turned out to be impossible to move.
    staying: HashMap<usize, Reason>,
    /// The strings of these rules in lower case, and which rule matches which spellings.
    stayed: HashMap<Vec<u8>, Vec<Stayed>>,
}

/// The strings of some rules, concatenated, with their hashes.
#[derive(Default)]
struct Listed {
    bytes: Vec<u8>,
    /// The end of each string in `bytes`, and its hash.
    strings: Vec<(usize, u64)>,
    /// The end of the strings of each rule in `strings`.
    rules: Vec<usize>,
}

/// A string, and its hash in lower case.
#[derive(Clone, Copy)]
struct Hashed<'s> {
    text: &'s [u8],
    hash: u64,
}

/// What is known of a string before it is assigned to a rule.
struct Found {
    /// The earlier rule that matches it.
    owner: Option<usize>,
    /// The number of entries whose keys equal it, ignoring case, and the last of these.
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
    ///
    /// `kept` are the rules that stay, and `patterns` are their patterns. `is_behind`: the keys are looked up behind the
    /// rules that stay before all others.
    pub fn make(
        candidates: &[Candidate],
        kept: &[usize],
        patterns: &ReadPatterns,
        is_behind: bool,
    ) -> Result<Assignment, BadPattern> {
        let first = patterns.first().ok_or_else(|| BadPattern { rule: kept[0], message: TOO_MANY.to_owned() })?;
        let count = candidates.iter().flatten().map(|movable| movable.strings.count()).sum();
        let hasher = DefaultHashBuilder::default();
        let mut assignment = Assignment {
            entries: Vec::with_capacity(count),
            keys: Vec::new(),
            table: HashTable::with_capacity(count),
            hasher: hasher.clone(),
            owns: vec![false; candidates.len()],
            taken: HashMap::new(),
            staying: HashMap::new(),
            stayed: HashMap::new(),
        };
        let (mut kept_before, mut leading) = (0, 0);
        let mut found = Vec::new();
        let list = |rules: Range<usize>| Listed::of(&candidates[rules], &hasher);
        parallel::ahead(candidates.len(), list, |rules, listed| {
            for (rule, strings) in rules.zip(listed.by_rule()) {
                let before = KeptBefore { rules: &kept[..kept_before], first, leading };
                match &candidates[rule] {
                    Ok(movable) => assignment.add(rule, movable, strings, &before, &mut found),
                    Err(_) => kept_before += 1,
                }
                let stays = candidates[rule].is_err() || assignment.staying.contains_key(&rule);
                if is_behind && stays && leading == rule {
                    leading += 1;
                }
            }
        });
        Ok(assignment)
    }

    /// Assigns to a rule those of its `strings` that no earlier rule matches. The rule stays if that is unknown for one
    /// of them. `all` is a buffer for what is found.
    fn add<'s>(
        &mut self,
        rule: usize,
        movable: &Movable,
        strings: impl Iterator<Item = Hashed<'s>> + Clone,
        before: &KeptBefore,
        all: &mut Vec<Found>,
    ) {
        all.clear();
        for string in strings.clone() {
            match self.find(string, movable.any_case, before) {
                Ok(found) => all.push(found),
                Err(reason) => return self.stay(rule, movable, reason),
            }
        }
        for (string, found) in strings.zip(all.iter()) {
            match found.owner {
                None => {
                    let spelled = if movable.strings.is_literal() { found.spelled } else { self.spelled(string) };
                    self.assign(rule, string, movable.any_case, spelled);
                }
                Some(owner) => {
                    self.taken.entry(rule).or_insert_with(|| (owner, string.text.to_vec()));
                }
            }
        }
    }

    /// Finds the earlier rule that matches `string`, and the keys that equal it, ignoring case.
    fn find(&self, string: Hashed, any_case: bool, before: &KeptBefore) -> Result<Found, Reason> {
        let spelled = self.spelled(string);
        let stayed = self.stayed(string.text, any_case, before.leading);
        if let Some(taker) = before.taker(string.text, any_case, stayed)? {
            return Ok(Found { owner: Some(taker), spelled });
        }
        let spellings = (spelled.0 > 0).then(|| self.spellings(string));
        for entry in spellings.into_iter().flatten() {
            let known = &self.entries[entry as usize];
            if known.any_case || (!any_case && self.bytes(entry) == string.text) {
                return Ok(Found { owner: Some(known.rule as usize), spelled });
            }
        }
        let is_crowded = spelled.0 as usize + MOST_SPELLINGS > MAX_TIERS;
        if is_crowded { Err(Reason::CaseTiers) } else { Ok(Found { owner: None, spelled }) }
    }

    /// Among the rules that stay although their strings are known, finds the first that matches `string`; if
    /// `any_case`, some spelling of it, and not before a `leading` number of rules.
    fn stayed(&self, string: &[u8], any_case: bool, leading: usize) -> Option<usize> {
        if self.stayed.is_empty() {
            return None;
        }
        let takes = |stayed: &&Stayed| match any_case {
            true => stayed.rule >= leading,
            false => stayed.spelling.as_deref().is_none_or(|spelling| spelling == string),
        };
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

    /// The entries whose keys equal `string`, ignoring case.
    fn spellings(&self, string: Hashed) -> impl Iterator<Item = u32> + '_ {
        let is_same = |entry: &u32| self.bytes(*entry).eq_ignore_ascii_case(string.text);
        let head = self.table.find(string.hash, is_same).copied();
        let next = |entry: &u32| Some(self.entries[*entry as usize].next).filter(|next| *next != NONE);
        std::iter::successors(head, next)
    }

    /// The number of entries whose keys equal `string`, ignoring case, and the last of these.
    fn spelled(&self, string: Hashed) -> (u32, u32) {
        self.spellings(string).fold((0, NONE), |(count, _), entry| (count + 1, entry))
    }

    /// Makes `rule` the owner of `string`.
    fn assign(&mut self, rule: usize, string: Hashed, any_case: bool, (tier, last): (u32, u32)) {
        let index = self.entries.len() as u32;
        let start = self.keys.len() as u32;
        self.keys.extend_from_slice(string.text);
        self.entries.push(KeyEntry {
            start,
            length: string.text.len() as u16,
            tier: tier as u8,
            any_case,
            rule: rule as u32,
            next: NONE,
        });
        self.owns[rule] = true;
        if last == NONE {
            let (entries, keys, hasher) = (&self.entries, &self.keys, &self.hasher);
            self.table
                .insert_unique(string.hash, index, |entry| hasher.hash_one(Lowered(bytes(entries, keys, *entry))));
        } else {
            self.entries[last as usize].next = index;
        }
    }

    /// The rules that turned out to stay, in order, and whose pattern a declared reading changes, with the reasons: as
    /// written, such a rule may match other strings than those for which it was judged.
    pub fn staying_as_written(&self, candidates: &[Candidate]) -> Vec<(usize, Reason)> {
        let is_read_otherwise = |rule: usize| candidates[rule].as_ref().is_ok_and(Movable::is_read_otherwise);
        let staying = self.staying.iter().filter(|(rule, _)| is_read_otherwise(**rule));
        let mut staying: Vec<(usize, Reason)> = staying.map(|(rule, reason)| (*rule, *reason)).collect();
        staying.sort_unstable();
        staying
    }

    /// Returns the rules with keys that overload nginx's hash tables, in order.
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
        Plan { fates, entries: self.entries, keys: self.keys, extras, patterns: None }
    }
}

impl Listed {
    /// Lists the strings of rules. Rules that stay have none.
    fn of(candidates: &[Candidate], hasher: &DefaultHashBuilder) -> Listed {
        let mut listed = Listed::default();
        for candidate in candidates {
            if let Ok(movable) = candidate {
                movable.strings.all(|string| {
                    listed.bytes.extend_from_slice(string);
                    listed.strings.push((listed.bytes.len(), hasher.hash_one(Lowered(string))));
                    true
                });
            }
            listed.rules.push(listed.strings.len());
        }
        listed
    }

    /// The strings of each rule.
    fn by_rule(&self) -> impl Iterator<Item = impl Iterator<Item = Hashed<'_>> + Clone> {
        let mut start = 0;
        self.rules.iter().map(move |end| {
            let strings = start..*end;
            start = *end;
            strings.map(|at| {
                let start = if at == 0 { 0 } else { self.strings[at - 1].0 };
                let (end, hash) = self.strings[at];
                Hashed { text: &self.bytes[start..end], hash }
            })
        })
    }
}

/// The kept rules before a rule.
struct KeptBefore<'k> {
    rules: &'k [usize],
    first: &'k FirstMatch,
    /// The number of rules that come before the keys are looked up. They take what they match in any case.
    leading: usize,
}

impl KeptBefore<'_> {
    /// Returns the first rule that stays and matches `string`: one of these or `stayed`. If `any_case`, it only checks
    /// that none of these rules but the leading ones matches any spelling.
    fn taker(&self, string: &[u8], any_case: bool, stayed: Option<usize>) -> Result<Option<usize>, Reason> {
        if any_case {
            let leading = self.rules.partition_point(|rule| *rule < self.leading);
            let overlaps = stayed.is_some() || self.first.may_match_some_case(string, leading..self.rules.len());
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

/// Bytes that hash like their lower-case form, because nginx compares map keys without regard to case.
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

#[cfg(test)]
mod tests {
    use crate::phase::{Entering, Phase};
    use crate::rewrite::options::Options;
    use crate::rewrite::plan::Fate;
    use crate::rewrite::planner::plan;
    use crate::rewrite::runs;
    use crate::syntax::Readings;

    /// Enough rules for several blocks of listed strings.
    const MANY: usize = 10_000;

    /// A rule is compared with the rules of all earlier blocks: it goes to a second tier, repeats a rule, or never
    /// fires.
    #[test]
    fn many_rules() {
        let mut text: String = (0..MANY).map(|number| format!("rewrite ^/a/{number}/?$ /to{number} last;\n")).collect();
        for number in (0..MANY).step_by(3) {
            text.push_str(&format!("rewrite ^/A/{number}$ /other last;\nrewrite ^/a/{number}/$ /other last;\n"));
            text.push_str(&format!("rewrite ^/a/{number}/?$ /to{number} last;\n"));
        }
        let section =
            runs::Section { ranges: std::iter::once(0..text.len()).collect(), is_behind_if: false, is_last: false };
        let read = runs::read(text.as_bytes(), &[section]).unwrap();
        let options = Options {
            phase: Phase::Server,
            captures_matter: false,
            reruns: None,
            readings: Readings::default(),
            bound: 64,
            entering: Entering::Nothing,
        };
        let plan = plan(&read.runs[0], &options).unwrap();
        assert!(plan.fates[..MANY].iter().all(|fate| *fate == Fate::Moved));
        for (number, fates) in (0..MANY).step_by(3).zip(plan.fates[MANY..].chunks(3)) {
            let witness = format!("/a/{number}/").into_bytes();
            let dead = Fate::Dead { by: Some(number), witness: Some(witness) };
            assert_eq!(fates, [Fate::Moved, dead, Fate::Duplicate { of: number }]);
        }
        let tiers = plan.entries.iter().map(|entry| entry.tier).fold([0, 0], |mut count, tier| {
            count[usize::from(tier)] += 1;
            count
        });
        assert_eq!(tiers, [4 * MANY, 2 * MANY.div_ceil(3)]);
    }
}
