//! Finds what each match of a pattern begins with: bytes, and places that allow a set of bytes.

use std::borrow::Cow;

use crate::syntax::{Ast, ByteSet, Pattern};

/// The longest known beginning of a pattern, in bytes; keys are no longer.
pub const LONGEST: usize = 128;

/// The most beginnings of one pattern.
const MOST: usize = 32;

/// A class of at most this many bytes is expanded into one beginning for each.
const SMALL_CLASS: usize = 4;

/// The most rounds of a repetition that are followed; its beginning is known only up to there.
const MOST_ROUNDS: u32 = 16;

/// A beginning: the subject starts with these bytes, except at places where a set allows others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// A byte for each place. For a place with a set, a dot if the set has one, otherwise another byte of it.
    pub bytes: Vec<u8>,
    /// The places that allow more than one byte, ascending.
    pub sets: Vec<(usize, ByteSet)>,
}

impl Sequence {
    /// Whether a string that begins with `text` may begin with the sequence, judged by the bytes from `from` on.
    pub fn fits(&self, text: &[u8], from: usize) -> bool {
        let end = self.bytes.len().min(text.len());
        (from..end).all(|at| self.allows(at, text[at]))
    }

    /// The sequence of the first `length` places.
    pub fn first(&self, length: usize) -> Sequence {
        let length = length.min(self.bytes.len());
        let sets = self.sets.iter().copied().take_while(|(at, _)| *at < length);
        Sequence { bytes: self.bytes[..length].to_vec(), sets: sets.collect() }
    }

    /// Whether a place of the sequence allows a byte.
    pub fn allows(&self, at: usize, byte: u8) -> bool {
        let set = self.sets.iter().find(|(place, _)| *place == at);
        set.map_or(self.bytes[at] == byte, |(_, set)| set.contains(byte))
    }

    /// The byte in the first place, if that place allows only one.
    pub fn first_byte(&self) -> Option<u8> {
        self.bytes.first().copied().filter(|_| self.sets.first().is_none_or(|(at, _)| *at > 0))
    }

    /// Adds a place that allows the bytes of a set.
    pub fn push(&mut self, set: &ByteSet) {
        if set.len() > 1 {
            self.sets.push((self.bytes.len(), *set));
        }
        let first = set.iter().next().unwrap_or_default();
        self.bytes.push(if set.contains(b'.') { b'.' } else { first });
    }
}

/// What follows a sequence in a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Unknown.
    Unknown,
    /// Anything without a newline, except one at the end.
    Line,
    /// Anything.
    Anything,
}

/// What all matches of a pattern begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginnings {
    /// Each match begins with one of these.
    pub sequences: Vec<Sequence>,
    /// If known: every subject that begins with a sequence and continues like this matches.
    pub tail: Tail,
}

/// The beginnings of a pattern; if `folded`, in lower case, for subjects in lower case. `None` if matches may start
/// after the start of the subject, or how they begin is unknown.
pub fn beginnings(pattern: &Pattern, folded: bool) -> Option<Beginnings> {
    let mut items = Vec::new();
    flatten(&pattern.ast, &mut items);
    for split in 0..=items.len() {
        let tail = tail(&items[split..]);
        if tail == Tail::Unknown {
            continue;
        }
        let walk = BeginningsWalk::over(&items[..split], folded);
        if walk.is_exact() {
            return walk.sequences().map(|sequences| Beginnings { sequences, tail });
        }
        break;
    }
    let sequences = BeginningsWalk::over(&items, folded).sequences()?;
    Some(Beginnings { sequences, tail: Tail::Unknown })
}

/// The items of a pattern in order, without the groups around them; `x+` is `xx*`.
fn flatten<'a>(ast: &'a Ast, items: &mut Vec<Cow<'a, Ast>>) {
    match ast {
        Ast::Concat(parts) => parts.iter().for_each(|part| flatten(part, items)),
        Ast::Capture { sub, .. } => flatten(sub, items),
        Ast::Repeat { min: 1, max: None, greedy, sub } if matches!(**sub, Ast::Byte(_) | Ast::Class(_)) => {
            items.push(Cow::Borrowed(sub));
            items.push(Cow::Owned(Ast::Repeat { min: 0, max: None, greedy: *greedy, sub: sub.clone() }));
        }
        other => items.push(Cow::Borrowed(other)),
    }
}

/// What the last items of a pattern match, wherever they are tried.
fn tail(items: &[Cow<Ast>]) -> Tail {
    let (items, end) = match items.split_last().map(|(last, items)| (items, &**last)) {
        Some((items, end @ (Ast::Dollar | Ast::End))) => (items, Some(end)),
        _ => (items, None),
    };
    if !items.iter().all(|item| can_be_left_out(item)) {
        return Tail::Unknown;
    }
    let reach = items.iter().map(|item| star(item)).max_by_key(|tail| *tail as u8).unwrap_or(Tail::Unknown);
    match (end, reach) {
        (None, _) | (_, Tail::Anything) => Tail::Anything,
        (Some(Ast::Dollar), Tail::Line) => Tail::Line,
        _ => Tail::Unknown,
    }
}

/// Whether the item matches the empty string at any place.
fn can_be_left_out(item: &Ast) -> bool {
    match item {
        Ast::Empty => true,
        Ast::Repeat { min, sub, .. } => *min == 0 || can_be_left_out(sub),
        Ast::Capture { sub, .. } => can_be_left_out(sub),
        Ast::Concat(items) => items.iter().all(can_be_left_out),
        Ast::Alternation(branches) => branches.iter().any(can_be_left_out),
        _ => false,
    }
}

/// What an item such as `.*` matches by itself.
fn star(item: &Ast) -> Tail {
    let Ast::Repeat { min: 0, max: None, sub, .. } = item else { return Tail::Unknown };
    match &**sub {
        Ast::Class(set) if *set == ByteSet::ALL => Tail::Anything,
        Ast::Class(set) if *set == ByteSet::NO_NEWLINE => Tail::Line,
        _ => Tail::Unknown,
    }
}

/// A beginning, as far as it has been read.
#[derive(Clone, Default, PartialEq)]
struct PartialBeginning {
    sequence: Sequence,
    /// Whether it starts at the start of the subject.
    is_anchored: bool,
    /// Whether what follows it is unknown, so that nothing is added.
    is_closed: bool,
}

/// The beginnings of the items read so far.
struct BeginningsWalk {
    parts: Vec<PartialBeginning>,
    folded: bool,
    /// Whether a subject that begins with one of the parts need not match what was read.
    is_superset: bool,
}

impl BeginningsWalk {
    fn over(items: &[Cow<Ast>], folded: bool) -> BeginningsWalk {
        let mut walk = BeginningsWalk { parts: vec![PartialBeginning::default()], folded, is_superset: false };
        items.iter().for_each(|item| walk.item(item));
        walk
    }

    /// Whether the items match exactly what begins with one of the parts.
    fn is_exact(&self) -> bool {
        !self.is_superset && self.parts.iter().all(|part| !part.is_closed)
    }

    /// The distinct sequences; `None` if one is not anchored or is empty.
    fn sequences(self) -> Option<Vec<Sequence>> {
        let is_known = |part: &PartialBeginning| part.is_anchored && !part.sequence.bytes.is_empty();
        if !self.parts.iter().all(is_known) {
            return None;
        }
        let mut sequences: Vec<Sequence> = Vec::new();
        for PartialBeginning { sequence, .. } in self.parts {
            if !sequences.contains(&sequence) {
                sequences.push(sequence);
            }
        }
        Some(sequences)
    }

    fn item(&mut self, item: &Ast) {
        match item {
            Ast::Empty => {}
            Ast::Dollar | Ast::End | Ast::WordBoundary | Ast::NotWordBoundary => self.is_superset = true,
            Ast::Start => self.start(),
            Ast::Byte(byte) => self.byte(*byte),
            Ast::Class(set) => self.set(set),
            Ast::Concat(items) => items.iter().for_each(|item| self.item(item)),
            Ast::Capture { sub, .. } => self.item(sub),
            Ast::Superset { sub, .. } => {
                self.is_superset = true;
                self.item(sub);
            }
            Ast::Alternation(branches) => self.branches(branches),
            Ast::Repeat { min, max, sub, .. } => self.repeat(*min, *max, sub),
        }
    }

    /// Reads `^`, which does not match after other bytes.
    fn start(&mut self) {
        for part in self.parts.iter_mut().filter(|part| !part.is_closed) {
            self.is_superset |= !part.sequence.bytes.is_empty();
            part.is_anchored |= part.sequence.bytes.is_empty();
        }
    }

    /// The set to use in place of another. If `folded`, it has lower-case letters only, which stand for both cases.
    fn folded(&mut self, set: &ByteSet) -> ByteSet {
        if !self.folded {
            return *set;
        }
        let both = set.fold();
        self.is_superset |= both != *set;
        ByteSet::of(|byte| !byte.is_ascii_uppercase() && both.contains(byte))
    }

    fn byte(&mut self, byte: u8) {
        self.is_superset |= self.folded && byte.is_ascii_alphabetic();
        let byte = if self.folded { byte.to_ascii_lowercase() } else { byte };
        self.place(|sequence| sequence.bytes.push(byte));
    }

    /// Adds a place to all parts that are not closed.
    fn place(&mut self, add: impl Fn(&mut Sequence)) {
        for part in self.parts.iter_mut().filter(|part| !part.is_closed) {
            if part.sequence.bytes.len() < LONGEST {
                add(&mut part.sequence);
            } else {
                part.is_closed = true;
            }
        }
    }

    /// Reads a single byte that is one of a set.
    fn set(&mut self, set: &ByteSet) {
        let set = self.folded(set);
        let members: Vec<u8> = if set.len() <= SMALL_CLASS { set.iter().collect() } else { Vec::new() };
        let open = self.parts.iter().filter(|part| !part.is_closed).count();
        if set.is_empty() {
            return self.close(); // a class without members
        }
        let is_spelled = members.len() > 1
            && self.parts.len() + open * (members.len() - 1) <= MOST
            && !members.iter().any(|byte| byte.is_ascii_lowercase() && set.contains(byte.to_ascii_uppercase()));
        if is_spelled {
            let branches: Vec<Ast> = members.into_iter().map(Ast::Byte).collect();
            return self.branches(&branches);
        }
        self.place(|sequence| sequence.push(&set));
    }

    fn branches(&mut self, branches: &[Ast]) {
        let before = self.parts.clone();
        let (open, mut parts): (Vec<PartialBeginning>, Vec<PartialBeginning>) =
            self.parts.drain(..).partition(|part| !part.is_closed);
        for branch in branches {
            let mut walk = BeginningsWalk { parts: open.clone(), folded: self.folded, is_superset: false };
            walk.item(branch);
            self.is_superset |= walk.is_superset;
            for part in walk.parts {
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
            if parts.len() > MOST {
                self.parts = before;
                return self.close();
            }
        }
        self.parts = parts;
    }

    fn repeat(&mut self, min: u32, max: Option<u32>, sub: &Ast) {
        for _ in 0..min.min(MOST_ROUNDS) {
            self.item(sub);
        }
        match max {
            Some(max) if min > MOST_ROUNDS || max - min > 2 => self.close(),
            Some(max) => {
                for _ in min..max {
                    self.branches(&[sub.clone(), Ast::Empty]);
                }
            }
            None => self.close(),
        }
    }

    fn close(&mut self) {
        self.parts.iter_mut().for_each(|part| part.is_closed = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse;

    fn read(pattern: &str, folded: bool) -> Option<(Vec<String>, Tail)> {
        let beginnings = beginnings(&parse(pattern.as_bytes()).expect("a pattern that is read"), folded)?;
        let text = |sequence: &Sequence| {
            let mut text = String::from_utf8(sequence.bytes.clone()).expect("UTF-8");
            for (at, _) in sequence.sets.iter().rev() {
                text.replace_range(at..&(at + 1), "_");
            }
            text
        };
        Some((beginnings.sequences.iter().map(text).collect(), beginnings.tail))
    }

    fn sensitive(pattern: &str) -> (Vec<String>, Tail) {
        read(pattern, false).unwrap_or_else(|| panic!("{pattern}: nothing known"))
    }

    /// Bytes, sets and branches up to what may be repeated, and what follows them.
    #[test]
    fn known() {
        for (pattern, sequences, tail) in [
            ("^/a", &["/a"][..], Tail::Anything),
            ("^/a.*", &["/a"], Tail::Anything),
            ("^/a(.*)$", &["/a"], Tail::Line),
            ("^/a.+$", &["/a_"], Tail::Line),
            (r"^/a.*\z", &["/a"], Tail::Unknown),
            (r"(?s)^/a.*\z", &["/a"], Tail::Anything),
            ("^/a/?.*$", &["/a"], Tail::Line),
            ("^/a$", &["/a"], Tail::Unknown),
            ("^/a.b", &["/a_b"], Tail::Anything),
            ("^/(a|bc)d.*$", &["/ad", "/bcd"], Tail::Line),
            ("^/[ab]x", &["/ax", "/bx"], Tail::Anything),
            ("^/[aA]x", &["/_x"], Tail::Anything),
            (r"^/a(\d+)/b", &["/a_"], Tail::Unknown),
            ("^/a(/.*)?$", &["/a/", "/a"], Tail::Unknown),
            ("^/a(?!b)c", &["/ac"], Tail::Unknown),
            ("^/a$.*", &["/a"], Tail::Unknown),
            (r"^/a\bc", &["/ac"], Tail::Unknown),
            ("^/ab?c{2,9}", &["/abcc", "/acc"], Tail::Unknown),
            ("^/a|^/b", &["/a", "/b"], Tail::Anything),
            ("^/a*b", &["/"], Tail::Unknown),
        ] {
            let sequences: Vec<String> = sequences.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(sensitive(pattern), (sequences, tail), "{pattern}");
        }
    }

    /// Nothing is known if a branch has no anchor, or nothing after it.
    #[test]
    fn unknown() {
        for pattern in ["/a", "^/a|/b", "(^|/)a", "^", "^.*x", "", "x^/a"] {
            assert_eq!(read(pattern, false), None, "{pattern}");
        }
    }

    /// Of a case-sensitive pattern only the beginning in lower case is known.
    #[test]
    fn folded() {
        let known = |pattern| read(pattern, true).expect("a beginning");
        assert_eq!(known("(?i)^/aB.*"), (vec!["/ab".to_owned()], Tail::Anything));
        assert_eq!(known("^/aB.*"), (vec!["/ab".to_owned()], Tail::Unknown));
        assert_eq!(known("^/[Aa]1"), (vec!["/a1".to_owned()], Tail::Anything));
        assert_eq!(known("^/[A-Z]1"), (vec!["/_1".to_owned()], Tail::Unknown));
    }

    /// Sets are compared with the text from a given place on.
    #[test]
    fn fits() {
        let sequence = &beginnings(&parse(b"^/a.[0-9]*").unwrap(), false).unwrap().sequences[0];
        assert!(sequence.fits(b"/", 0) && sequence.fits(b"/ax9", 0) && sequence.fits(b"?a", 1));
        assert!(!sequence.fits(b"/a\n", 0) && !sequence.fits(b"/b", 0));
    }

    /// Long beginnings and many branches are cut.
    #[test]
    fn bounded() {
        let (long, tail) = sensitive(&format!("^/{}", "a".repeat(500)));
        assert_eq!((long[0].len(), tail), (LONGEST, Tail::Unknown));
        assert_eq!(sensitive("^/[a-z]x").0, ["/_x"]);
        let (many, _) = sensitive(&format!("^/{}", "(a|b)".repeat(8)));
        assert!(many.len() <= MOST && many.iter().all(|text| text.len() >= 5));
    }
}
