//! Patterns of lines, as `re` of Python matches them: the first match in the order of preference, with its groups.
//!
//! Few places of such a pattern leave a choice, as the byte that comes next shows where most values end. So a line is
//! matched by backtracking, and only where something else may match is a choice remembered. What backtracks more than
//! [`MOST_TAKEN_BACK`] times is left to an engine that takes linear time.

use regex_automata::{Anchored, Input, meta, util::captures::Captures};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

/// The most choices of a line that are taken back.
const MOST_TAKEN_BACK: usize = 1_000;

/// The place behind the last byte of a text, as a byte.
const END: usize = 256;

/// No place: that of a group without a part of the match.
const NOWHERE: usize = usize::MAX;

/// Bytes and [`END`].
#[derive(Clone)]
struct Set(Box<[bool; END + 1]>);

impl Set {
    fn of(bytes: impl IntoIterator<Item = usize>) -> Set {
        let mut set = Set(Box::new([false; END + 1]));
        bytes.into_iter().for_each(|byte| set.0[byte] = true);
        set
    }

    fn or(&self, other: &Set) -> Set {
        Set::of((0..=END).filter(|byte| self.0[*byte] || other.0[*byte]))
    }

    fn meets(&self, other: &Set) -> bool {
        (0..=END).any(|byte| self.0[byte] && other.0[byte])
    }

    /// Whether what stands at a place is in the set.
    fn has(&self, text: &[u8], at: usize) -> bool {
        self.0[text.get(at).map_or(END, |byte| usize::from(*byte))]
    }

    /// Returns where the bytes of the set that begin at a place end, at most `most` of them.
    fn run(&self, text: &[u8], at: usize, most: usize) -> usize {
        let rest = &text[at..];
        let rest = &rest[..most.min(rest.len())];
        at + rest.iter().position(|byte| !self.0[usize::from(*byte)]).unwrap_or(rest.len())
    }
}

/// A step of the match; `next` is the step behind it.
enum Step {
    Bytes {
        bytes: Box<[u8]>,
        next: usize,
    },
    /// Bytes of a set. There is no choice if none of them can begin what follows.
    Run {
        set: Set,
        least: usize,
        most: usize,
        ends_in: Set,
        kind: Run,
        next: usize,
    },
    /// The first of two ways that the next byte allows.
    Either {
        ways: [usize; 2],
        begin: [Set; 2],
    },
    Save {
        slot: usize,
        next: usize,
    },
    LineEnd,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    Only,
    Longest,
    Shortest,
}

/// What is tried next if the match fails.
enum Choice {
    Way {
        step: usize,
        at: usize,
    },
    /// A run that ends before `end`, but not before `least`.
    Shorter {
        step: usize,
        least: usize,
        end: usize,
    },
    /// A run that begins at `start`, and ends at `from` or behind it.
    Longer {
        step: usize,
        start: usize,
        from: usize,
    },
    /// What a slot was before.
    Slot {
        slot: usize,
        at: usize,
    },
}

/// A pattern of lines, with named groups.
pub struct Pattern {
    steps: Vec<Step>,
    start: usize,
    /// The names of the groups, in their order.
    pub names: Vec<String>,
    engine: meta::Regex,
}

/// The groups of the last match, and memory for the next one.
#[derive(Default)]
pub struct Matches {
    choices: Vec<Choice>,
    slots: Vec<usize>,
    captures: Option<Captures>,
}

impl Matches {
    /// Returns the part of the text that a group matched; nothing if it took no part.
    pub fn group<'a>(&self, text: &'a [u8], group: usize) -> &'a [u8] {
        match self.slots[2 * group] {
            NOWHERE => b"",
            start => &text[start..self.slots[2 * group + 1]],
        }
    }
}

impl Pattern {
    /// Reads a pattern of `re`, which a line end follows. Fails with a message for what this module does not match.
    pub fn new(pattern: &[u8]) -> Result<Pattern, String> {
        let text: String = pattern
            .iter()
            .map(|byte| if byte.is_ascii() { char::from(*byte).to_string() } else { format!("\\x{byte:02x}") })
            .collect();
        let mut parser = ParserBuilder::new().unicode(false).utf8(false).build();
        let hir = parser.parse(&format!("(?:{text})\r?")).map_err(|error| error.to_string())?;
        let line = Hir::concat(vec![hir.clone(), Hir::look(Look::EndLF)]);
        let config = meta::Config::new().utf8_empty(false);
        let engine =
            meta::Regex::builder().configure(config).build_from_hir(&line).map_err(|error| error.to_string())?;
        let mut compiler = Compiler::default();
        let end = compiler.push(Step::LineEnd, Set::of([usize::from(b'\n'), END]));
        let start = compiler.compile(&hir, &end)?.step;
        Ok(Pattern { steps: compiler.steps, start, names: compiler.names, engine })
    }

    /// Matches at a place; returns where the match ends, in front of the end of the line.
    pub fn matches(&self, text: &[u8], at: usize, matches: &mut Matches) -> Option<usize> {
        matches.choices.clear();
        matches.slots.clear();
        matches.slots.resize(2 * self.names.len(), NOWHERE);
        let (mut step, mut at, mut left, start) = (self.start, at, MOST_TAKEN_BACK, at);
        loop {
            match self.step(step, text, at, matches) {
                Some((_, end)) if matches!(self.steps[step], Step::LineEnd) => return Some(end),
                Some(next) => (step, at) = next,
                None if left == 0 => return self.by_engine(text, start, matches),
                None => {
                    left -= 1;
                    (step, at) = self.other(text, matches)?;
                }
            }
        }
    }

    /// Takes a step. Returns the next one and its place.
    fn step(&self, number: usize, text: &[u8], at: usize, matches: &mut Matches) -> Option<(usize, usize)> {
        match &self.steps[number] {
            Step::Bytes { bytes, next } => {
                let rest = &text[at..];
                // Byte by byte, as a call takes longer than the comparison of a few.
                let begins = rest.len() >= bytes.len() && bytes.iter().zip(rest).all(|(byte, other)| byte == other);
                begins.then(|| (*next, at + bytes.len()))
            }
            Step::Run { set, least, most, ends_in, kind, next } => {
                let start = at + least;
                match kind {
                    Run::Shortest => {
                        let begins = set.run(text, at, *least) == start;
                        begins.then(|| self.longer(number, text, at, start, matches)).flatten()
                    }
                    Run::Only => {
                        let end = set.run(text, at, *most);
                        (end >= start && ends_in.has(text, end)).then_some((*next, end))
                    }
                    Run::Longest => {
                        let end = set.run(text, at, *most);
                        self.shorter(number, text, start, end, matches)
                    }
                }
            }
            Step::Either { ways, begin } => match (begin[0].has(text, at), begin[1].has(text, at)) {
                (true, true) => {
                    matches.choices.push(Choice::Way { step: ways[1], at });
                    Some((ways[0], at))
                }
                (true, false) => Some((ways[0], at)),
                (false, true) => Some((ways[1], at)),
                (false, false) => None,
            },
            Step::Save { slot, next } => {
                let before = std::mem::replace(&mut matches.slots[*slot], at);
                if !matches.choices.is_empty() {
                    matches.choices.push(Choice::Slot { slot: *slot, at: before });
                }
                Some((*next, at))
            }
            Step::LineEnd => text.get(at).is_none_or(|byte| *byte == b'\n').then_some((number, at)),
        }
    }

    /// Ends a run at `end` or before it, but not before `least`.
    fn shorter(
        &self,
        number: usize,
        text: &[u8],
        least: usize,
        end: usize,
        matches: &mut Matches,
    ) -> Option<(usize, usize)> {
        let Step::Run { ends_in, next, .. } = &self.steps[number] else { unreachable!("only runs have lengths") };
        let end = (least..=end).rev().find(|end| ends_in.has(text, *end))?;
        if end > least {
            matches.choices.push(Choice::Shorter { step: number, least, end });
        }
        Some((*next, end))
    }

    /// Ends a run that begins at `start` at `from` or behind it.
    fn longer(
        &self,
        number: usize,
        text: &[u8],
        start: usize,
        from: usize,
        matches: &mut Matches,
    ) -> Option<(usize, usize)> {
        let Step::Run { set, most, ends_in, next, .. } = &self.steps[number] else {
            unreachable!("only runs have lengths")
        };
        let last = start.saturating_add(*most);
        let mut end = from;
        while !ends_in.has(text, end) {
            if end >= last || end >= text.len() || !set.has(text, end) {
                return None;
            }
            end += 1;
        }
        if end < last && end < text.len() && set.has(text, end) {
            matches.choices.push(Choice::Longer { step: number, start, from: end + 1 });
        }
        Some((*next, end))
    }

    /// Takes back the last choice. Returns the step that another one leads to.
    fn other(&self, text: &[u8], matches: &mut Matches) -> Option<(usize, usize)> {
        loop {
            let found = match matches.choices.pop()? {
                Choice::Way { step, at } => Some((step, at)),
                Choice::Shorter { step, least, end } => self.shorter(step, text, least, end - 1, matches),
                Choice::Longer { step, start, from } => self.longer(step, text, start, from, matches),
                Choice::Slot { slot, at } => {
                    matches.slots[slot] = at;
                    None
                }
            };
            if found.is_some() {
                return found;
            }
        }
    }

    fn by_engine(&self, text: &[u8], at: usize, matches: &mut Matches) -> Option<usize> {
        let captures = matches.captures.get_or_insert_with(|| self.engine.create_captures());
        self.engine.captures(Input::new(text).range(at..).anchored(Anchored::Yes), captures);
        for (number, name) in self.names.iter().enumerate() {
            let group = captures.get_group_by_name(name);
            let [start, end] = group.map_or([NOWHERE; 2], |group| [group.start, group.end]);
            matches.slots[2 * number] = start;
            matches.slots[2 * number + 1] = end;
        }
        captures.get_match().map(|found| found.end())
    }
}

/// A step, and what it can begin with, whatever follows it included.
#[derive(Clone)]
struct Target {
    step: usize,
    begins: Set,
}

#[derive(Default)]
struct Compiler {
    steps: Vec<Step>,
    names: Vec<String>,
}

impl Compiler {
    fn push(&mut self, step: Step, begins: Set) -> Target {
        self.steps.push(step);
        Target { step: self.steps.len() - 1, begins }
    }

    /// Adds the steps of a part of the pattern, from its end to its beginning, in front of `next`.
    fn compile(&mut self, hir: &Hir, next: &Target) -> Result<Target, String> {
        Ok(match hir.kind() {
            HirKind::Empty => next.clone(),
            HirKind::Literal(literal) => {
                let begins = Set::of(literal.0.first().map(|byte| usize::from(*byte)));
                self.push(Step::Bytes { bytes: literal.0.clone(), next: next.step }, begins)
            }
            HirKind::Class(class) => self.run(set(class)?, [1, 1], true, next),
            HirKind::Repetition(repetition) => self.repetition(repetition, next)?,
            HirKind::Capture(capture) => {
                let name = capture.name.as_deref().ok_or("a group without a name")?;
                let end = 2 * self.count_of(capture.index, name);
                let behind = self.push(Step::Save { slot: end + 1, next: next.step }, next.begins.clone());
                let inner = self.compile(&capture.sub, &behind)?;
                self.push(Step::Save { slot: end, next: inner.step }, inner.begins)
            }
            HirKind::Concat(parts) => {
                parts.iter().rev().try_fold(next.clone(), |next, part| self.compile(part, &next))?
            }
            HirKind::Alternation(ways) => {
                let ways = ways.iter().map(|way| self.compile(way, next)).collect::<Result<Vec<_>, _>>()?;
                ways.into_iter().rev().reduce(|second, first| self.either(first, second)).ok_or("no way")?
            }
            HirKind::Look(_) => return Err("an assertion".to_owned()),
        })
    }

    /// Returns the number of a group, whose index is from 1 in the order of the pattern.
    fn count_of(&mut self, index: u32, name: &str) -> usize {
        let number = index as usize - 1;
        if self.names.len() <= number {
            self.names.resize(number + 1, String::new());
        }
        name.clone_into(&mut self.names[number]);
        number
    }

    fn either(&mut self, first: Target, second: Target) -> Target {
        let begins = first.begins.or(&second.begins);
        let step = Step::Either { ways: [first.step, second.step], begin: [first.begins, second.begins] };
        self.push(step, begins)
    }

    fn run(&mut self, set: Set, [least, most]: [usize; 2], is_greedy: bool, next: &Target) -> Target {
        let kind = match (set.meets(&next.begins), is_greedy) {
            (false, _) => Run::Only,
            _ if least == most => Run::Only,
            (true, true) => Run::Longest,
            (true, false) => Run::Shortest,
        };
        let begins = if least > 0 { set.clone() } else { set.or(&next.begins) };
        let ends_in = next.begins.clone();
        self.push(Step::Run { set, least, most, ends_in, kind, next: next.step }, begins)
    }

    fn repetition(&mut self, repetition: &Repetition, next: &Target) -> Result<Target, String> {
        let Repetition { min, max, greedy, sub } = repetition;
        let (least, most) = (*min as usize, max.map_or(usize::MAX, |most| most as usize));
        if let Some(set) = of_one_byte(sub) {
            return Ok(self.run(set?, [least, most], *greedy, next));
        }
        let mut target = match max {
            Some(most) => {
                let mut target = next.clone();
                for _ in *min..*most {
                    let inner = self.compile(sub, &target)?;
                    target = self.optional(inner, next, *greedy);
                }
                target
            }
            None => self.repeated(sub, next, *greedy)?,
        };
        for _ in 0..least {
            target = self.compile(sub, &target)?;
        }
        Ok(target)
    }

    fn optional(&mut self, inner: Target, next: &Target, is_greedy: bool) -> Target {
        if is_greedy { self.either(inner, next.clone()) } else { self.either(next.clone(), inner) }
    }

    /// Repeats a part any number of times.
    fn repeated(&mut self, sub: &Hir, next: &Target, is_greedy: bool) -> Result<Target, String> {
        let start = self.push(Step::LineEnd, begins(sub)?.or(&next.begins)); // replaced below
        let inner = self.compile(sub, &start)?;
        let end = self.optional(inner, next, is_greedy);
        self.steps[start.step] = match skipped(sub)?.filter(|set| is_greedy && !set.meets(&next.begins)) {
            Some(set) => {
                let ends_in = Set::of(0..=END);
                Step::Run { set, least: 0, most: usize::MAX, ends_in, kind: Run::Only, next: end.step }
            }
            None => Step::Bytes { bytes: Box::default(), next: end.step },
        };
        Ok(start)
    }
}

/// Returns what a part that is not empty begins with. Fails for one with groups.
fn begins(hir: &Hir) -> Result<Set, String> {
    if hir.properties().minimum_len().is_none_or(|length| length == 0) {
        return Err("what may be empty is repeated".to_owned());
    }
    if hir.properties().explicit_captures_len() > 0 {
        return Err("a group is repeated".to_owned());
    }
    Ok(Compiler::default().compile(hir, &Target { step: 0, begins: Set::of([]) })?.begins)
}

/// Returns the bytes that are alternatives of their own in a part that is repeated, and begin no other one. Most of what
/// is repeated are these.
fn skipped(hir: &Hir) -> Result<Option<Set>, String> {
    let HirKind::Alternation(ways) = hir.kind() else { return Ok(None) };
    let (mut found, mut others) = (None, Set::of([]));
    for way in ways {
        match of_one_byte(way) {
            Some(set) if found.is_none() => found = Some(set?),
            _ => others = others.or(&begins(way)?),
        }
    }
    Ok(found.filter(|set| !set.meets(&others)))
}

/// Returns the bytes of a part that is always one byte.
fn of_one_byte(hir: &Hir) -> Option<Result<Set, String>> {
    match hir.kind() {
        HirKind::Class(class) => Some(set(class)),
        HirKind::Literal(literal) => match literal.0[..] {
            [byte] => Some(Ok(Set::of([usize::from(byte)]))),
            _ => None,
        },
        _ => None,
    }
}

fn set(class: &Class) -> Result<Set, String> {
    let class = match class {
        Class::Bytes(class) => class.clone(),
        Class::Unicode(class) => class.to_byte_class().ok_or("a class of characters")?,
    };
    Ok(Set::of(class.iter().flat_map(|range| usize::from(range.start())..=usize::from(range.end()))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The end of the match at the start of a text, and its groups.
    type Found = Option<(usize, Vec<Vec<u8>>)>;

    fn found(pattern: &Pattern, text: &[u8]) -> Found {
        let mut matches = Matches::default();
        let end = pattern.matches(text, 0, &mut matches)?;
        Some((end, (0..pattern.names.len()).map(|group| matches.group(text, group).to_vec()).collect()))
    }

    fn by_engine(pattern: &Pattern, text: &[u8]) -> Found {
        let mut matches = Matches::default();
        matches.slots.resize(2 * pattern.names.len(), NOWHERE);
        let end = pattern.by_engine(text, 0, &mut matches)?;
        Some((end, (0..pattern.names.len()).map(|group| matches.group(text, group).to_vec()).collect()))
    }

    /// Parts as formats of logs have them.
    const PARTS: [&str; 14] = [
        r"[^\n]*?",
        r"[^\n]*",
        r#"[^"\n]*"#,
        r#"(?:[^"\\\n]|\\.)*"#,
        r"\d+",
        r"\d*",
        r"[ab.]+|a:",
        r"\d+|-",
        r"[ab]*|",
        r"(?:a|-)?(?:(?:, | : )(?:a|-)?)*",
        r"[ab]{2}",
        r"(?:on)?",
        r"ab?",
        r#"[^\s"]*?"#,
    ];
    const TEXTS: [&str; 8] = ["", " ", "\"", "a", ": ", ", ", "-", " : "];

    proptest! {
        #[test]
        fn matches_are_those_of_the_engine(
            parts in prop::collection::vec((0..PARTS.len(), 0..TEXTS.len(), any::<bool>()), 1..5),
            texts in prop::collection::vec(r#"[ab1,: "\\.-]{0,12}[\r\n]?"#, 8),
        ) {
            let part = |(at, (part, text, is_group)): (usize, &(usize, usize, bool))| {
                let group = if *is_group { format!("P<g{at}>") } else { ":".to_owned() };
                format!("(?{group}{}){}", PARTS[*part], TEXTS[*text])
            };
            let pattern = Pattern::new(parts.iter().enumerate().map(part).collect::<String>().as_bytes()).unwrap();
            for text in texts {
                prop_assert_eq!(found(&pattern, text.as_bytes()), by_engine(&pattern, text.as_bytes()), "{}", text);
            }
        }
    }

    #[test]
    fn what_takes_long_is_left_to_the_engine() {
        let pattern = Pattern::new(format!("{}(?P<s>x)", r"[^\n]*? ".repeat(20)).as_bytes()).unwrap();
        assert_eq!(found(&pattern, &b"a ".repeat(4_000)), None);
        let text = [&b"a ".repeat(200)[..], b"x"].concat();
        assert_eq!(found(&pattern, &text), Some((401, vec![b"x".to_vec()])));
    }

    #[test]
    fn groups_that_took_no_part_are_empty() {
        let pattern = Pattern::new(b"(?:(?P<a>a) (?P<b>b)|(?P<c>[^\n]*))").unwrap();
        assert_eq!(found(&pattern, b"a c"), Some((3, vec![vec![], vec![], b"a c".to_vec()])));
        assert!(Pattern::new(b"(?:a*)*").is_err());
    }
}
