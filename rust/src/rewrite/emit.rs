//! Builds the tiers of a plan: decides which keys share a tier, a block and the constant part of a target, and writes
//! the lines of the maps.

use std::collections::HashMap;

use crate::hash::Element;
use crate::parallel;
use crate::phase::Phase;
use crate::quote::{quote, quote_key, quoted_length};
use crate::rewrite::lines::Lines;
use crate::rewrite::options::Options;
use crate::rewrite::plan::{KeyEntry, Plan};
use crate::rewrite::reruns::Reruns;
use crate::rewrite::runs::Run;
use crate::rewrite::shared_pattern::{self, Keyed};
use crate::rewrite::target;
use crate::rewrite::tier::{Args, Block, Class, Guard, Tier, TierMap};
use crate::rewrite::trie::{self, PatternStyle};
use crate::rewrite::twins::{Twin, twins};

/// From this many directives on, the *class* map of a tier distinguishes them; fewer directives have a guard and maps
/// each. Instructions per request, measured with 819 keys, for a near miss and a hit: with two guards 10,368 and
/// 15,099, with a class 9,565 and 16,713; with four guards 12,648 and 20,870, with a class 9,797 and 19,729; without
/// rules 7,386.
const CLASSES: usize = 2;

/// The most directives of a tier without a guard of its own, each of which costs a lookup.
const MOST_UNGUARDED: usize = 2;

/// Matches every URI without a capital letter: of all spellings of such a key, only the key. A map folds only the
/// letters from `A` to `Z` (`ngx_hash_strlow`).
const NO_CAPITAL: &[u8] = br"^[^A-Z]*\z";

/// Writes the maps of a plan, tier by tier. Linear in the text written.
pub fn tiers(run: &Run, plan: &Plan, options: &Options) -> Vec<Tier> {
    let count = plan.entries.iter().map(|entry| entry.tier + 1).max().unwrap_or(0);
    match options.phase {
        Phase::Server => {
            let mut tiers: Vec<Tier> = (0..count).flat_map(guarded(run, plan, options)).collect();
            capture(&mut tiers, options.captures_matter && !plan.stays_first());
            if let Some(reruns) = &options.reruns {
                keep_values(&mut tiers, plan, reruns);
            }
            tiers
        }
        Phase::Location => (0..count).flat_map(|tier| listed(run, plan, tier)).collect(),
    }
}

/// Lets one of the tiers leave `$1` to `$9` empty if they must be: a captured text costs a miss what a statement for
/// this would cost.
fn capture(tiers: &mut [Tier], must_clear: bool) {
    if must_clear
        && !tiers.iter().any(Tier::clears_captures)
        && let Some(tier) = tiers.iter_mut().rfind(|tier| matches!(tier.guard, Guard::Target))
    {
        tier.guard = Guard::CapturedTarget;
    }
}

/// Lets nginx keep targets where no script that runs again looks one up: its URI is no key.
///
/// A target that is a guard has a text for other spellings of a key, too. It then stays for the URI with which the
/// script runs again, so the pattern of the directive must exclude this one as well.
fn keep_values(tiers: &mut [Tier], plan: &Plan, reruns: &Reruns) {
    if plan.entries.iter().any(|entry| reruns.may_be(plan.key(entry))) {
        return;
    }
    for tier in tiers {
        tier.keeps_values = match tier.guard {
            Guard::Key(_) => true,
            Guard::Target => {
                let block = &tier.blocks[0];
                block.class.action.is_redirect() && (block.patterns.is_empty() || reruns.keep_capitals())
            }
            Guard::CapturedTarget | Guard::Patterns => false,
        };
    }
}

/// Builds tiers behind guards, for a server. There, a true `if` changes nothing if no rule fires.
fn guarded(run: &Run, plan: &Plan, options: &Options) -> impl Fn(u8) -> Vec<Tier> {
    // The check for a newline empties `$1` to `$9`. If the first rule stays, it may fail and leave their former values,
    // so they must not be emptied before it.
    let keeps_captures = options.captures_matter && plan.stays_first();
    let twins = twins(plan, !keeps_captures);
    move |tier| {
        // The pattern of the directive also empties `$1` to `$9` for another spelling of a key.
        if !keeps_captures && let Some(unguarded) = unguarded(run, plan, tier) {
            return unguarded;
        }
        let rows = |wanted: Twin| {
            let rows =
                plan.entries.iter().zip(&twins).filter(move |(entry, twin)| entry.tier == tier && **twin == wanted);
            rows.map(|(entry, _)| entry)
        };
        let stripped = TierWriter::new(run, plan, true, rows(Twin::Has));
        let others = TierWriter::new(run, plan, false, rows(Twin::HasNone));
        let writers = [stripped, others].into_iter().filter(|writer| !writer.rows.is_empty());
        writers.flat_map(TierWriter::split).map(TierWriter::write).collect()
    }
}

/// Builds a tier without a guard, for a server; `None` if it needs one.
fn unguarded(run: &Run, plan: &Plan, tier: u8) -> Option<Vec<Tier>> {
    let entries = || plan.entries.iter().filter(move |entry| entry.tier == tier);
    let all_spellings = entries().next()?.any_case;
    let is_alike = |entry: &KeyEntry| {
        entry.any_case == all_spellings && (all_spellings || !plan.key(entry).iter().any(u8::is_ascii_uppercase))
    };
    if !entries().all(is_alike) {
        return None;
    }
    let writer = TierWriter::new(run, plan, false, entries());
    if writer.gathered.len() > MOST_UNGUARDED || writer.gathered.iter().any(|block| block.class.sets_captures) {
        return None;
    }
    writer.blocks().into_iter().map(|writer| writer.write_unguarded(all_spellings)).collect()
}

/// Builds tiers without guards, for a location: one for each block, and separate ones for rules that ignore case.
fn listed(run: &Run, plan: &Plan, tier: u8) -> Vec<Tier> {
    let of_case = |any_case: bool| {
        let rows = plan.entries.iter().filter(move |entry| entry.tier == tier && entry.any_case == any_case);
        let blocks = TierWriter::new(run, plan, false, rows).blocks();
        blocks.into_iter().map(move |writer| writer.write_listed(any_case))
    };
    of_case(false).chain(of_case(true)).collect()
}

/// The target of a key, with its captures written out.
struct Text<'a> {
    path: &'a [u8],
    args: Option<&'a [u8]>,
}

/// What the targets of a block have in common, gathered key by key.
struct Gathered<'a> {
    class: Class,
    keys: usize,
    path: &'a [u8],
    /// The length of the common start of all paths, and whether all paths are equal.
    shared: usize,
    same_path: bool,
    args: Option<&'a [u8]>,
    same_args: bool,
    patterns: Vec<Vec<u8>>,
    last_rule: u32,
}

/// One tier while it is written.
struct TierWriter<'a> {
    run: &'a Run<'a>,
    plan: &'a Plan,
    strips_newline: bool,
    /// The tier's keys, each with its block.
    rows: Vec<(&'a KeyEntry, u16)>,
    gathered: Vec<Gathered<'a>>,
    width: usize,
}

impl<'a> TierWriter<'a> {
    fn new(
        run: &'a Run<'a>,
        plan: &'a Plan,
        strips_newline: bool,
        entries: impl Iterator<Item = &'a KeyEntry>,
    ) -> TierWriter<'a> {
        let mut writer = TierWriter { run, plan, strips_newline, rows: Vec::new(), gathered: Vec::new(), width: 0 };
        let mut block_of = HashMap::new();
        let mut last = None;
        for entry in entries {
            let text = writer.text(entry);
            let class = writer.class(entry, &text);
            let block = match last {
                Some((same, block)) if same == class => block,
                _ => *block_of.entry(class).or_insert(writer.gathered.len()),
            };
            last = Some((class, block));
            writer.gather(block, class, entry, text);
            writer.rows.push((entry, block as u16));
        }
        writer.width = column(writer.rows.iter().map(|(entry, _)| quoted_length(plan.key(entry))));
        writer
    }

    /// Returns one writer for each block, or this one if there are enough blocks for a *class* map.
    fn split(self) -> Vec<TierWriter<'a>> {
        if self.gathered.len() >= CLASSES { vec![self] } else { self.blocks() }
    }

    /// One writer for each block.
    fn blocks(self) -> Vec<TierWriter<'a>> {
        let TierWriter { run, plan, strips_newline, rows, gathered, width } = self;
        let rows_of =
            |block: usize| rows.iter().filter(|row| usize::from(row.1) == block).map(|row| (row.0, 0)).collect();
        let blocks = gathered.into_iter().enumerate();
        blocks
            .map(|(block, common)| TierWriter {
                run,
                plan,
                strips_newline,
                rows: rows_of(block),
                gathered: vec![common],
                width,
            })
            .collect()
    }

    fn text(&self, entry: &KeyEntry) -> Text<'a> {
        let rule = entry.rule as usize;
        let folded = self.plan.extras.get(&rule).and_then(|extra| extra.folded.as_ref());
        if let Some((path, args)) = folded.and_then(|folded| folded.get(self.plan.key(entry))) {
            return Text { path, args: args.as_deref() };
        }
        let (path, args) = target::split(&self.run.rules[rule].replacement);
        Text { path, args }
    }

    fn class(&self, entry: &KeyEntry, text: &Text) -> Class {
        let rule = &self.run.rules[entry.rule as usize];
        let extra = self.plan.extras.get(&(entry.rule as usize));
        Class {
            action: rule.action,
            own_args: text.args.is_some(),
            drop_args: rule.replacement.ends_with(b"?"),
            sets_captures: extra.is_some_and(|extra| extra.sets_captures),
        }
    }

    fn gather(&mut self, block: usize, class: Class, entry: &KeyEntry, text: Text<'a>) {
        if block == self.gathered.len() {
            self.gathered.push(Gathered {
                class,
                keys: 0,
                shared: text.path.len(),
                same_path: true,
                path: text.path,
                same_args: true,
                args: text.args,
                patterns: Vec::new(),
                last_rule: u32::MAX,
            });
        }
        let pattern = self.pattern(entry.rule as usize);
        let gathered = &mut self.gathered[block];
        gathered.keys += 1;
        gathered.same_path &= gathered.path == text.path;
        gathered.same_args &= gathered.args == text.args;
        let shared = gathered.path.iter().zip(text.path.iter()).take_while(|(left, right)| left == right).count();
        gathered.shared = gathered.shared.min(shared);
        if class.sets_captures && gathered.last_rule != entry.rule {
            gathered.last_rule = entry.rule;
            gathered.patterns.push(pattern.to_vec());
        }
    }

    fn pattern(&self, rule: usize) -> &'a [u8] {
        let read_as = self.plan.extras.get(&rule).and_then(|extra| extra.read_as.as_deref());
        read_as.unwrap_or(&self.run.rules[rule].pattern)
    }

    fn write(self) -> Tier {
        let mut blocks: Vec<Block> = self.gathered.iter().map(Gathered::block).collect();
        for (number, block) in blocks.iter_mut().enumerate().filter(|(_, block)| block.class.sets_captures) {
            if let Some(patterns) = self.shared_patterns(number) {
                block.patterns = patterns;
            }
        }
        let most = self.gathered.iter().map(|block| block.keys).max();
        let default = self.gathered.iter().position(|block| Some(block.keys) == most).unwrap_or(0);
        let keys = || {
            self.map(true, |entry, _, line| {
                if entry.any_case {
                    line.extend_from_slice(b"$uri")
                } else {
                    quote(self.plan.key(entry), line)
                }
                true
            })
        };
        let (key, [class, to, args]) =
            parallel::both_of(self.rows.len(), keys, || [self.classes(default), self.to(&blocks), self.args(&blocks)]);
        Tier {
            strips_newline: self.strips_newline,
            guard: Guard::Key(key),
            keeps_values: false,
            class,
            default,
            to,
            args,
            blocks,
        }
    }

    /// Returns patterns that capture the same as the patterns of a block's rules and are fewer, if there are such.
    fn shared_patterns(&self, block: usize) -> Option<Vec<Vec<u8>>> {
        let rows = self.rows.iter().filter(|row| usize::from(row.1) == block);
        let entries: Vec<&KeyEntry> = rows.map(|row| row.0).collect();
        if entries.iter().any(|entry| entry.any_case) {
            return None; // it stands for many strings
        }
        let of_rule = |entries: &[&KeyEntry]| Keyed {
            pattern: self.pattern(entries[0].rule as usize),
            keys: entries.iter().flat_map(|entry| self.strings(entry)).collect(),
        };
        let rules: Vec<Keyed> = entries.chunk_by(|entry, next| entry.rule == next.rule).map(of_rule).collect();
        shared_pattern::shared(&rules)
    }

    /// The strings that a key stands for.
    fn strings(&self, entry: &KeyEntry) -> impl Iterator<Item = Vec<u8>> {
        let key = self.plan.key(entry);
        let twin = self.strips_newline.then(|| [key, b"\n"].concat());
        std::iter::once(key.to_vec()).chain(twin)
    }

    fn classes(&self, default: usize) -> Option<TierMap> {
        if self.gathered.len() == 1 {
            return None; // to be told from none
        }
        self.optional(|_, block, line| {
            line.extend_from_slice((block + 1).to_string().as_bytes());
            block != default
        })
    }

    /// Writes a tier of one block that its patterns guard. The target is always in a map, which distinguishes the
    /// directive from one written by hand.
    fn write_listed(self, any_case: bool) -> Tier {
        let patterns = self.patterns(any_case);
        self.write_mapped(patterns, Guard::Patterns)
    }

    /// Writes a tier of one block whose map of targets is the guard. `None` if it gives a key no text, as `if` takes
    /// `0` for, or a variable, which may have none.
    fn write_unguarded(self, all_spellings: bool) -> Option<Tier> {
        let block = self.gathered[0].mapped();
        let has_text = |(entry, _): &(&KeyEntry, u16)| {
            let text = &self.text(entry).path[block.head.len()..];
            !text.is_empty() && text != b"0" && !text.contains(&b'$')
        };
        if !self.rows.iter().all(has_text) {
            return None;
        }
        let patterns = if all_spellings { Vec::new() } else { vec![NO_CAPITAL.to_vec()] };
        Some(self.write_mapped(patterns, Guard::Target))
    }

    /// Writes a tier of one block. The target is always in a map.
    fn write_mapped(self, patterns: Vec<Vec<u8>>, guard: Guard) -> Tier {
        let blocks = vec![Block { patterns, ..self.gathered[0].mapped() }];
        let (to, args) = (self.to(&blocks), self.args(&blocks));
        Tier { strips_newline: false, guard, keeps_values: false, class: None, default: 0, to, args, blocks }
    }

    /// Returns the patterns that list the keys: some also match before a final newline, the others do not.
    fn patterns(&self, any_case: bool) -> Vec<Vec<u8>> {
        let mut keys: Vec<Vec<u8>> = self.rows.iter().map(|(entry, _)| self.plan.key(entry).to_vec()).collect();
        if any_case {
            keys.iter_mut().for_each(|key| key.make_ascii_lowercase());
        }
        keys.sort_unstable();
        keys.dedup();
        let has = |key: &[u8]| keys.binary_search_by(|listed| listed.as_slice().cmp(key)).is_ok();
        let has_twin = |key: &[u8]| !key.ends_with(b"\n") && has(&[key, b"\n"].concat());
        let is_twin = |key: &[u8]| key.strip_suffix(b"\n").is_some_and(|key| has(key) && has_twin(key));
        let (twice, rest): (Vec<&[u8]>, Vec<&[u8]>) = keys.iter().map(Vec::as_slice).partition(|key| has_twin(key));
        let once: Vec<&[u8]> = rest.into_iter().filter(|key| !is_twin(key)).collect();
        let twice = trie::patterns(&twice, PatternStyle { any_case, dollar: true });
        twice.into_iter().chain(trie::patterns(&once, PatternStyle { any_case, dollar: false })).collect()
    }

    fn to(&self, blocks: &[Block]) -> Option<TierMap> {
        self.optional(|entry, block, line| {
            let rest = &self.text(entry).path[blocks[block].head.len()..];
            quote(rest, line);
            !rest.is_empty()
        })
    }

    fn args(&self, blocks: &[Block]) -> Option<TierMap> {
        if !blocks.iter().any(|block| matches!(block.args, Args::Mapped)) {
            return None;
        }
        self.optional(|entry, block, line| {
            if let (Args::Mapped, Some(args)) = (&blocks[block].args, self.text(entry).args) {
                quote(args, line);
                return true;
            }
            false
        })
    }

    fn optional(&self, value: impl Fn(&KeyEntry, usize, &mut Vec<u8>) -> bool) -> Option<TierMap> {
        Some(self.map(false, value)).filter(|map| !map.elements.is_empty())
    }

    /// Writes the lines of a map. `value` writes the value of a key and returns whether the key has a line. If
    /// `has_empty`, the empty key has a line, too. Keys are in the order of their rules, except that those that end in
    /// a newline come last.
    fn map(&self, has_empty: bool, value: impl Fn(&KeyEntry, usize, &mut Vec<u8>) -> bool) -> TierMap {
        let (mut lines, mut elements, mut text) = (Vec::new(), Vec::new(), Vec::new());
        for twins in [false, true] {
            let mut first = twins;
            for (entry, block) in &self.rows {
                let key = self.plan.key(entry);
                text.clear();
                if key.ends_with(b"\n") != twins || !value(entry, usize::from(*block), &mut text) {
                    continue;
                }
                if std::mem::take(&mut first) {
                    lines.extend_from_slice(TWINS);
                }
                let start = lines.len();
                lines.extend_from_slice(b"    ");
                quote_key(key, &mut lines);
                let written = lines.len() - start - 4;
                lines.resize(lines.len() + self.width.saturating_sub(written) + 1, b' ');
                lines.extend_from_slice(&text);
                lines.extend_from_slice(b";\n");
                elements.push(Element::new(key));
            }
        }
        if has_empty {
            lines.extend_from_slice(EMPTY);
            elements.push(Element::new(b""));
        }
        TierMap { lines: Lines::new(lines), elements }
    }
}

/// The line of the empty key in a guard. An internal redirect may lead to an empty URI (`try_files` with an empty
/// variable). Without this line, the map would give it the empty string, and the guard would take it for a key.
const EMPTY: &[u8] = b"\n    # The empty URI, to which `try_files` may lead, is none of them.\n    \"\" \"-\";\n";
const TWINS: &[u8] = b"\n    # The same before a final newline: `$` in a pattern matches there, too.\n";

impl Gathered<'_> {
    /// As [`Gathered::block`], with a part of each target in a map.
    fn mapped(&self) -> Block {
        let mut block = self.block();
        if !block.has_rest {
            block.head.truncate(self.start());
            block.has_rest = true;
        }
        block
    }

    fn block(&self) -> Block {
        let head = self.head();
        Block {
            class: self.class,
            head: self.path[..head].to_vec(),
            has_rest: head < self.path.len() || !self.same_path,
            args: match &self.args {
                None => Args::None,
                Some(args) if self.same_args => Args::Constant(args.to_vec()),
                Some(_) => Args::Mapped,
            },
            patterns: self.patterns.clone(),
        }
    }

    /// Returns the length of the part of the paths that goes into the directive: all if they are equal, otherwise their
    /// start. Text that replaced a capture goes into the map if nginx would read it differently in a directive: as the
    /// end of the path, or as a redirect.
    fn head(&self) -> usize {
        let head = if self.same_path { self.path.len() } else { self.start() };
        let text = &self.path[..head];
        let is_read_otherwise = text.contains(&b'?') || (!self.class.action.is_redirect() && target::is_redirect(text));
        if is_read_otherwise { 0 } else { head }
    }

    /// Returns the length of scheme, host and variables up to a `/`. The map then has whole paths of static text, which
    /// take the least memory and are easy to read.
    fn start(&self) -> usize {
        let shared = &self.path[..self.shared];
        let authority = memchr::memmem::find(shared, b"://").map_or(0, |at| at + 3);
        let variable = memchr::memrchr(b'$', shared).map_or(0, |at| at + 1);
        match authority.max(variable) {
            0 => 0,
            from => memchr::memchr(b'/', &shared[from..]).map_or(0, |at| from + at),
        }
    }
}

/// The width of the column of keys. All keys line up, except very long ones.
fn column(lengths: impl Iterator<Item = usize>) -> usize {
    const WIDEST: usize = 64;
    lengths.filter(|length| *length <= WIDEST).max().unwrap_or(0)
}
