//! Proves trees: each subject has a key, and each key a value or a chain of rows.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use crate::map_block::MapBlock;
use crate::parallel;
use crate::prove_map::ask;
use crate::prove_map::comparable::Comparable;
use crate::prove_map::keys::{Keys, buckets};
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::prefixes::Prefixes;
use crate::prove_map::prover::{Chain, Place, Prover};
use crate::prove_map::row::{Heads, OriginalRow};
use crate::prove_map::walk::{KeyWalk, first_items};
use crate::syntax::{Ast, Hir};
use crate::work::spend;

/// The most pairs of a row and a bucket in which it may match.
const MOST_PAIRS: usize = 20_000_000;

/// The most keys with which a language is compared to show that all its subjects have a key.
const MOST_KEYS: usize = 2_000;

/// From this many buckets on, the two halves are checked in parallel.
const MANY: usize = 1_024;

/// A tree, and what is known of its buckets.
struct Tree<'p, 'b> {
    place: &'p Place<'b>,
    keys: &'p Keys,
    /// The value if no row of a leaf matches.
    default: &'b [u8],
    floats: Chain<'b>,
    is_float: Vec<bool>,
    comparable: Comparable,
    /// For each key, the rows that may match there, without floats; the last entry is for subjects without a key.
    candidates: Vec<Vec<u32>>,
    /// The rows that are not live, ascending, by their values.
    gone: HashMap<&'b [u8], Vec<usize>>,
}

/// The proof of some buckets of a tree.
struct TreeProof<'p, 'b> {
    prover: &'p Prover<'b>,
    tree: &'p Tree<'p, 'b>,
    /// The leaves whose order relative to the floats has been checked, by their value.
    leaves: HashMap<&'b [u8], Rc<Chain<'b>>>,
}

/// The index of a bucket's key; `None` for the bucket of subjects that begin with no key.
type BucketId = Option<usize>;

impl<'b> Prover<'b> {
    /// Proves `map $key $part { ...; default $other; }`: each listed bucket tries its rows in order. Returns the value
    /// that follows, and the rows that may match in other buckets.
    pub fn part_of_tree(
        &self,
        block: &'b MapBlock<'b>,
        keys: &Keys,
        place: &mut Place<'b>,
    ) -> Result<&'b [u8], MapRefutation> {
        let values = buckets(block, keys, Obligation::BucketKey)?;
        self.proved.discharge(Obligation::BucketKey);
        let Some(next) = self.map_of(block.fallback()) else {
            let name = block.variable.escape_ascii();
            return refute(Obligation::KnownMap, format!("${name} has no map for other keys"));
        };
        let mut live = vec![false; place.live.len()];
        let tree = Tree::new(self, place, keys, next.fallback())?;
        let mut proof = TreeProof { prover: self, tree: &tree, leaves: HashMap::new() };
        let count = keys.keys.strings().len();
        for bucket in (0..=count).map(|number| (number < count).then_some(number)) {
            match values.get(&bucket) {
                Some(value) => {
                    proof.check(bucket, value)?;
                    self.proved.discharge(if bucket.is_some() { Obligation::Bucket } else { Obligation::Empty });
                }
                None => tree.candidates[bucket.unwrap_or(count)].iter().for_each(|row| live[*row as usize] = true),
            }
        }
        let is_left = |row: usize| place.live[row] && (live[row] || tree.is_float[row]);
        place.live = (0..live.len()).map(is_left).collect();
        Ok(block.fallback())
    }

    /// Proves `map $key $tree { ... }`: each bucket tries its rows in order.
    pub fn tree(&self, block: &'b MapBlock<'b>, keys: &Keys, place: &Place<'b>) -> Result<(), MapRefutation> {
        let values = buckets(block, keys, Obligation::BucketKey)?;
        self.proved.discharge(Obligation::BucketKey);
        let default = block.fallback();
        let tree = Tree::new(self, place, keys, default)?;
        let count = keys.keys.strings().len();
        let check = |prover: &Prover<'b>, numbers: Range<usize>| {
            let mut proof = TreeProof { prover, tree: &tree, leaves: HashMap::new() };
            for bucket in numbers.map(|number| (number < count).then_some(number)) {
                proof.check(bucket, values.get(&bucket).copied().unwrap_or(default))?;
                prover.proved.discharge(if bucket.is_some() { Obligation::Bucket } else { Obligation::Empty });
            }
            Ok(())
        };
        if count < MANY {
            return check(self, 0..count + 1);
        }
        self.both(|prover| check(prover, 0..count / 2), |prover| check(prover, count / 2..count + 1))
    }
}

impl<'p, 'b> Tree<'p, 'b> {
    /// `default` is the value if no row of a leaf matches. It leads to the floats.
    fn new(
        prover: &Prover<'b>,
        place: &'p Place<'b>,
        keys: &'p Keys,
        default: &'b [u8],
    ) -> Result<Tree<'p, 'b>, MapRefutation> {
        let floats = prover.chain(default, place, None)?;
        if floats.end != place.end {
            return refute(Obligation::End, "behind the rows of a tree stands another value than the default");
        }
        let mut is_float = vec![false; prover.rows.list.len()];
        floats.rows.iter().for_each(|&row| is_float[row] = true);
        let comparable = Comparable::new(floats.rows.iter().map(|&row| (row, &prover.rows.list[row])), keys.caseless);
        let candidates = vec![Vec::new(); keys.keys.strings().len() + 1];
        let mut gone: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (row, _) in place.live.iter().enumerate().filter(|(_, live)| !**live) {
            gone.entry(prover.rows.list[row].value).or_default().push(row);
        }
        let mut tree = Tree { place, keys, default, floats, is_float, comparable, candidates, gone };
        tree.find_candidates(&prover.rows.list)?;
        Ok(tree)
    }

    /// Adds each row that is not a float to every bucket with a subject on which PCRE may match the row or give up.
    fn find_candidates(&mut self, list: &[OriginalRow]) -> Result<(), MapRefutation> {
        let folded = FoldedKeys::new(self.keys);
        let is_tried = |row: &usize| !self.is_float[*row] && self.place.live[*row];
        let rows: Vec<usize> = (0..list.len()).filter(is_tried).collect();
        let keys = self.keys;
        let find = |range: Range<usize>| pairs_of(&rows[range], list, keys, &folded);
        let parts = parallel::ranges(rows.len(), find);
        if parts.iter().any(Option::is_none) || parts.iter().flatten().map(Vec::len).sum::<usize>() > MOST_PAIRS {
            return refute(Obligation::Bucket, "the rows may match in too many buckets");
        }
        for (row, bucket) in parts.into_iter().flatten().flatten() {
            push(&mut self.candidates[bucket as usize], row);
        }
        Ok(())
    }
}

impl<'b> TreeProof<'_, 'b> {
    fn check(&mut self, bucket: BucketId, value: &'b [u8]) -> Result<(), MapRefutation> {
        let leaf = self.leaf(value)?;
        let goes_on = self.goes_on(&leaf);
        for row in self.untried(bucket, &leaf, goes_on) {
            if self.leads_elsewhere(bucket, row) {
                continue;
            }
            if leaf.rows.iter().rev().any(|&other| other < row && self.covers(bucket, other)) {
                self.prover.proved.discharge(Obligation::Cover);
                return Ok(());
            }
            let is_end = !goes_on && self.prover.says(row, leaf.end, self.tree.place);
            if is_end && self.covers(bucket, row) {
                return self.check_cover(bucket, &leaf, row);
            }
            if !self.is_apart(bucket, row) {
                // Several rows may have the value. The one that covers the bucket may be gone.
                return match self.check_gone_cover(bucket, &leaf, row) {
                    Some(checked) => checked,
                    None if is_end => self.check_cover(bucket, &leaf, row),
                    None => self.refute_missing(bucket, row),
                };
            }
        }
        if goes_on || leaf.end == self.tree.place.end {
            return Ok(());
        }
        let other =
            || refute(Obligation::End, format!("{} ends with another value than the default", self.name(bucket)));
        self.check_gone_cover(bucket, &leaf, self.prover.rows.list.len()).unwrap_or_else(other)
    }

    /// Checks that a row before `behind` that is live no more may stand at the end of the leaf: it covers the bucket and
    /// has the value. An earlier level decides all subjects of the bucket. `None` if there is no such row; of several,
    /// one is enough, and the last has the fewest rows behind it.
    fn check_gone_cover(&self, bucket: BucketId, leaf: &Chain, behind: usize) -> Option<Result<(), MapRefutation>> {
        let Tree { place, gone, .. } = self.tree;
        let value = place.numbers.map_or(Some(leaf.end), |numbers| Some(numbers.split(leaf.end)?.1))?;
        let rows = gone.get(value)?;
        let before = rows[..rows.partition_point(|row| *row < behind)].iter().rev().copied();
        let mut covers =
            before.filter(|row| self.prover.says(*row, leaf.end, place)).filter(|row| self.covers(bucket, *row));
        let last = self.check_cover(bucket, leaf, covers.next()?);
        Some(last.or_else(|refuted| covers.find_map(|row| self.check_cover(bucket, leaf, row).ok()).ok_or(refuted)))
    }

    fn refute_missing(&self, bucket: BucketId, row: usize) -> Result<(), MapRefutation> {
        let what = format!("{} may match in {}, and is not tried there", self.prover.name(row), self.name(bucket));
        let counterexample = self.subject(bucket, &self.prover.rows.list[row]);
        Err(MapRefutation { obligation: Obligation::Bucket, what, counterexample })
    }

    fn goes_on(&self, leaf: &Chain) -> bool {
        !self.tree.floats.rows.is_empty() && leaf.end == self.tree.default
    }

    fn leaf(&mut self, value: &'b [u8]) -> Result<Rc<Chain<'b>>, MapRefutation> {
        if let Some(leaf) = self.leaves.get(value) {
            return Ok(leaf.clone());
        }
        let stop = if self.tree.floats.rows.is_empty() { None } else { Some(self.tree.default) };
        let leaf = Rc::new(self.prover.chain(value, self.tree.place, stop)?);
        if self.goes_on(&leaf) {
            self.check_floats(&leaf)?;
        }
        self.leaves.insert(value, leaf.clone());
        Ok(leaf)
    }

    /// Checks that no float may match a subject of a later row in the leaf, because that row is tried before the float.
    fn check_floats(&self, leaf: &Chain) -> Result<(), MapRefutation> {
        spend(leaf.rows.len() * 4);
        for &row in &leaf.rows {
            let first = self.tree.comparable.first(&self.prover.rows.list[row]).filter(|&first| first < row);
            let Some(first) = first else {
                self.prover.proved.discharge(Obligation::Floating);
                continue;
            };
            let earlier = self.tree.floats.rows.iter().filter(|&&float| first <= float && float < row);
            let earlier = earlier.filter(|float| leaf.rows.binary_search(float).is_err());
            self.prover.check_apart(row, earlier.copied())?;
        }
        Ok(())
    }

    /// The rows that may match in a bucket, judged by their heads, but are not tried there; ascending.
    fn untried(&self, bucket: BucketId, leaf: &Chain, goes_on: bool) -> Vec<usize> {
        let candidates = &self.tree.candidates[bucket.unwrap_or(self.tree.candidates.len() - 1)];
        spend(4 + 2 * candidates.len());
        let is_untried = |row: &usize| leaf.rows.binary_search(row).is_err();
        let mut untried: Vec<usize> = candidates.iter().map(|&row| row as usize).filter(is_untried).collect();
        if goes_on || self.tree.floats.rows.is_empty() {
            return untried;
        }
        let key = bucket.map_or(&[][..], |place| &self.tree.keys.keys.strings()[place]);
        if let Some(first) = self.tree.comparable.first_of(key) {
            spend(2 * self.tree.floats.rows.len());
            let floats =
                self.tree.floats.rows.iter().copied().filter(|&float| first <= float && self.tree.place.live[float]);
            untried.extend(floats.filter(is_untried));
            untried.sort_unstable();
        }
        untried
    }

    /// Whether PCRE neither matches a row nor gives up on it for the subjects of a bucket, judged by the keys with
    /// which the subjects of the row begin.
    fn leads_elsewhere(&self, bucket: BucketId, row: usize) -> bool {
        let keys = &self.tree.keys.keys;
        let key = bucket.map_or(&[][..], |place| &keys.strings()[place]);
        self.prover.rows.list[row].beginning().is_some_and(|row| {
            let extended = ask::extended(&row.pattern.ast, key, self.tree.keys.caseless);
            extended.iter().all(|extended| keys.longest(extended) != bucket)
        })
    }

    /// Whether PCRE neither matches a row nor gives up on it for the subjects of a bucket, judged by languages.
    fn is_apart(&self, bucket: BucketId, row: usize) -> bool {
        let Some(events) = self.prover.rows.list[row].events() else { return false };
        let Some(place) = bucket else { return self.have_keys(&events.translation.hir) };
        let region = ask::beginning_with(&self.tree.keys.keys.strings()[place], self.tree.keys.caseless);
        self.prover.questions.are_disjoint(&region, &events.translation.hir)
    }

    /// Whether all subjects of a language begin with a key.
    fn have_keys(&self, language: &Hir) -> bool {
        let keys = self.tree.keys.keys.strings();
        if keys.is_empty() || keys.len() > MOST_KEYS {
            return false;
        }
        let starts: Vec<Hir> = keys.iter().map(|key| ask::beginning_with(key, self.tree.keys.caseless)).collect();
        self.prover.questions.is_included(language, &starts.iter().collect::<Vec<_>>())
    }

    /// Whether a row matches all subjects of a bucket except the empty one, and PCRE never gives up on it.
    fn covers(&self, bucket: BucketId, row: usize) -> bool {
        spend(8);
        let key = bucket.map_or(&[][..], |place| &self.tree.keys.keys.strings()[place]);
        let language = self.prover.rows.list[row].language.filter(|_| !self.prover.may_give_up(row, self.tree.place));
        let left_out = self.tree.place.left_out.as_deref();
        language.is_some_and(|language| self.prover.questions.covers(language, key, self.tree.keys.caseless, left_out))
    }

    /// Checks a value that replaces a row: the row must match all subjects of the bucket that no earlier row matches.
    fn check_cover(&self, bucket: BucketId, leaf: &Chain, row: usize) -> Result<(), MapRefutation> {
        let proved = &self.prover.proved;
        let name = self.prover.name(row);
        let Some(place) = bucket else {
            return refute(Obligation::Empty, format!("the empty subject gets the value of {name}"));
        };
        self.prover.check_moves(row)?;
        if self.prover.may_give_up(row, self.tree.place) {
            return refute(Obligation::Effort, format!("PCRE may give up on {name}, which stands without its pattern"));
        }
        if !self.covers(bucket, row) {
            let what = format!("{name} does not match all of {}", self.name(bucket));
            return refute(Obligation::Cover, what);
        }
        let behind = leaf.rows.iter().copied().filter(|&other| other > row);
        let candidates = &self.tree.candidates[place];
        let is_candidate =
            |other: usize| self.tree.is_float[other] || candidates.binary_search(&(other as u32)).is_ok();
        if let Some(later) = behind.into_iter().find(|&other| is_candidate(other)) {
            return refute(Obligation::Order, format!("{} comes before {name}", self.prover.name(later)));
        }
        proved.discharge(Obligation::Cover);
        Ok(())
    }

    fn name(&self, bucket: BucketId) -> String {
        match bucket {
            Some(place) => format!("the bucket \"{}\"", self.tree.keys.keys.strings()[place].escape_ascii()),
            None => "the bucket of the subjects without a key".into(),
        }
    }

    /// A subject of the bucket that the row may match.
    fn subject(&self, bucket: BucketId, row: &OriginalRow) -> Option<Vec<u8>> {
        let language = row.language?;
        let region = ask::beginning_with(&self.tree.keys.keys.strings()[bucket?], self.tree.keys.caseless);
        self.prover.questions.common(&region, &language.translation.hir)
    }
}

/// The pairs of a row and a bucket in which it may match, in the order of the rows. `None` if there are too many. The
/// last bucket has the subjects without a key.
fn pairs_of(rows: &[usize], list: &[OriginalRow], keys: &Keys, folded: &FoldedKeys) -> Option<Vec<(u32, u32)>> {
    let mut pairs = Vec::new();
    for &row in rows {
        let mut found = BucketsOfRow { keys, pairs: &mut pairs, row: row as u32 };
        match list[row].beginning().and_then(|row| first_items(&row.pattern.ast)) {
            Some(items) => found.add_walked(items),
            None => match list[row].heads(keys.caseless) {
                Heads::Exact(heads) => heads.iter().for_each(|head| found.add_head(head)),
                Heads::AnyCase(head) => found.add_any_case(&head, folded),
            },
        }
        if pairs.len() > MOST_PAIRS {
            return None;
        }
    }
    Some(pairs)
}

/// Collects the buckets in which a row may match.
struct BucketsOfRow<'p> {
    keys: &'p Keys,
    pairs: &'p mut Vec<(u32, u32)>,
    row: u32,
}

impl BucketsOfRow<'_> {
    fn add(&mut self, bucket: BucketId) {
        spend(4);
        self.pairs.push((self.row, bucket.unwrap_or(self.keys.keys.strings().len()) as u32));
    }

    /// Adds the buckets of subjects that begin with a match of these items.
    fn add_walked(&mut self, items: &[Ast]) {
        let keys = self.keys;
        KeyWalk { keys: &keys.keys, items, caseless: keys.caseless, found: |key| self.add(key) }.run();
    }

    /// Adds the bucket of the longest key that a head begins with, and the buckets of longer keys that begin with the
    /// head.
    fn add_head(&mut self, head: &[u8]) {
        let keys = &self.keys.keys;
        keys.extending(head).for_each(|key| self.add(Some(key)));
        self.add(keys.longest(head));
    }

    /// Adds the buckets of all spellings of a head, for a case-sensitive trie. Some spelling leads to each key that
    /// begins with the head, or that the head begins with, ignoring case. If such a key has no letters, all spellings
    /// lead to it or to a longer key.
    fn add_any_case(&mut self, head: &[u8], folded: &FoldedKeys) {
        folded.keys.extending(head).for_each(|at| self.add(Some(folded.places[at])));
        let mut place = folded.keys.longest(head);
        while let Some(at) = place {
            self.add(Some(folded.places[at]));
            if !folded.keys.strings()[at].iter().any(u8::is_ascii_alphabetic) {
                return;
            }
            place = folded.keys.parent(at);
        }
        self.add(None);
    }
}

fn push(rows: &mut Vec<u32>, row: u32) {
    if rows.last() != Some(&row) {
        rows.push(row);
    }
}

/// The keys of a case-sensitive trie in lower case, with the places of their spellings.
struct FoldedKeys {
    keys: Prefixes,
    places: Vec<usize>,
}

impl FoldedKeys {
    fn new(keys: &Keys) -> FoldedKeys {
        let lower: HashMap<Vec<u8>, usize> =
            keys.keys.strings().iter().map(|key| key.to_ascii_lowercase()).zip(0..).collect();
        let folded = Prefixes::new(lower.keys().cloned().collect());
        let places = folded.strings().iter().map(|key| lower[key]).collect();
        FoldedKeys { keys: folded, places }
    }
}
