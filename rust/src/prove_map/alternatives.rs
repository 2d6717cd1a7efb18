//! Reads the patterns that capture the keys of a table, as lists of alternatives.

use std::collections::BTreeMap;
use std::slice;

use crate::map_block::PatternRow;
use crate::pcre::Regex;
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::prover::Prover;
use crate::prove_map::row::as_text;
use crate::prove_map::symbols::{DOT, NO_DOT, Symbols, around_variable, symbols, with_dots};
use crate::syntax::{Ast, ByteSet};

/// The most alternatives of a pattern. A token has no room for more.
const MOST: usize = 1 << 12;

/// The symbol of any byte but a capital letter. Its number is above those of bytes and dots.
const SMALL: u16 = 258;

/// One of the strings that a pattern lists.
pub struct Alternative {
    /// The symbols before the piece, and the part of the key that the value adds for them.
    pub before: Symbols,
    pub key: Vec<u8>,
    pub piece: Piece,
}

/// A captured string, the number of bytes that are captured after it, and what must follow.
#[derive(Clone, Default)]
pub struct Piece {
    pub text: Vec<u8>,
    pub more: usize,
    pub after: Symbols,
    /// Whether nothing but a newline may follow.
    pub is_line: bool,
    /// Whether nothing may be added.
    is_whole: bool,
}

impl Prover<'_> {
    /// The alternatives of a pattern.
    pub fn alternatives_of(&self, pattern: &PatternRow) -> Result<Vec<Alternative>, MapRefutation> {
        let escaped = pattern.pattern.escape_ascii();
        let unread = || refute(Obligation::Front, format!("the pattern \"{escaped}\" does not capture a piece"));
        let Some(text) = with_groups(&pattern.pattern).filter(|_| !pattern.caseless) else { return unread() };
        if Regex::new(&as_text(&pattern.pattern, false)).is_err() {
            return refute(Obligation::Pattern, format!("PCRE2 does not take the pattern \"{escaped}\""));
        }
        let language = self.own_pattern(&PatternRow { pattern: text.into(), ..pattern.clone() })?;
        let Ast::Concat(items) = &language.pattern.ast else { return unread() };
        let [Ast::Start, before @ .., Ast::Capture { name: Some(group), sub, .. }] = items.as_slice() else {
            return unread();
        };
        let key = around_variable(&pattern.value, group.as_bytes()).filter(|(_, after)| after.is_empty());
        let (Some((key, _)), Some(before), Some(pieces)) = (key, before_piece(before), pieces(sub)) else {
            return unread();
        };
        let alternative = |piece| Alternative { before: before.clone(), key: key.to_vec(), piece };
        Ok(pieces.into_iter().map(alternative).collect())
    }
}

impl Alternative {
    /// The bytes that a matching subject begins with, up to the first dot.
    pub fn head(&self) -> Vec<u8> {
        let symbols = self.before.iter().copied().chain(self.piece.text.iter().copied().map(u16::from));
        symbols.map_while(|symbol| u8::try_from(symbol).ok()).collect()
    }

    /// The text that a matching subject begins with, with dots as dots.
    pub fn start(&self) -> Vec<u8> {
        [with_dots(&self.before), self.piece.text.clone()].concat()
    }

    /// Whether the alternative checks nothing after its string.
    pub fn is_string(&self) -> bool {
        self.piece.more == 0 && self.piece.after.is_empty() && !self.piece.is_line
    }

    /// The symbols of the whole alternative.
    fn symbols(&self) -> Symbols {
        let Piece { text, more, after, .. } = &self.piece;
        let text = text.iter().copied().map(u16::from);
        let symbols = self.before.iter().copied().chain(text).chain(std::iter::repeat_n(SMALL, *more));
        symbols.chain(after.iter().copied()).collect()
    }
}

/// Checks that no string begins with two of the alternatives, which are in the order in which PCRE tries them. A string
/// may begin with an alternative that leads to no row (`is_end`) and with an earlier one.
pub fn check_apart(alternatives: &[Alternative], is_end: &[bool]) -> Result<(), String> {
    let lines = alternatives.iter().zip(is_end).enumerate().map(|(number, (alternative, is_end))| {
        let is_line = alternative.piece.is_line;
        Line { number, symbols: alternative.symbols(), is_line, is_end: *is_end }
    });
    let lines: Vec<Line> = lines.collect();
    let pair = first_pair(lines.iter().collect(), 0);
    let Some([first, second]) = pair.map(|pair| pair.map(|line| alternatives[line.number].start())) else {
        return Ok(());
    };
    let (first, second) = (first.escape_ascii(), second.escape_ascii());
    Err(format!("a string may begin like \"{first}\" and like \"{second}\""))
}

/// The symbols of an alternative.
struct Line {
    number: usize,
    symbols: Symbols,
    is_line: bool,
    is_end: bool,
}

/// Finds two alternatives with which one string may begin. All have the same first `depth` symbols.
fn first_pair(lines: Vec<&Line>, depth: usize) -> Option<[&Line; 2]> {
    if lines.len() < 2 {
        return None;
    }
    let (ended, longer): (Vec<&Line>, Vec<&Line>) = lines.into_iter().partition(|line| line.symbols.len() == depth);
    let mut parts: BTreeMap<u16, Vec<&Line>> = BTreeMap::new();
    longer.iter().for_each(|line| parts.entry(line.symbols[depth]).or_default().push(line));
    let symbols: Vec<u16> = parts.keys().copied().collect();
    // A set of bytes also has bytes in common with other symbols.
    let sets = &symbols[symbols.partition_point(|symbol| *symbol < DOT)..];
    let pairs = sets.iter().flat_map(|set| symbols.iter().map(move |other| (*set, *other)));
    let mut meeting = pairs.filter(|(set, other)| other < set && !are_apart(*set, *other));
    ended
        .iter()
        .find_map(|line| meets(line, &ended).or_else(|| meets(line, &longer)))
        .or_else(|| meeting.find_map(|(set, other)| parts[&set].iter().find_map(|line| meets(line, &parts[&other]))))
        .or_else(|| parts.values().find_map(|part| first_pair(part.clone(), depth + 1)))
}

/// Finds one of `others` such that a string may begin with both it and `line`.
fn meets<'l>(line: &'l Line, others: &[&'l Line]) -> Option<[&'l Line; 2]> {
    let (one, is_one_line) = (&line.symbols, line.is_line);
    let may_meet = |other: &&&'l Line| {
        let other = **other;
        let later = if line.number < other.number { other } else { line };
        if line.number == other.number || later.is_end {
            return false;
        }
        let ends = |line: &Symbols, longer: &Symbols| {
            let behind = longer.get(line.len()..).unwrap_or_default();
            behind.len() > 1 || behind.len() == 1 && are_apart(behind[0], u16::from(b'\n'))
        };
        let is_too_long = is_one_line && ends(one, &other.symbols) || other.is_line && ends(&other.symbols, one);
        !is_too_long && !one.iter().zip(&other.symbols).any(|(one, other)| one != other && are_apart(*one, *other))
    };
    others.iter().find(may_meet).map(|other| [line, *other])
}

/// Whether two symbols have no byte in common.
fn are_apart(one: u16, other: u16) -> bool {
    let is_apart = |symbol: u16, byte: u8| match symbol {
        DOT => byte == b'\n',
        NO_DOT => byte == b'\n' || byte == b'.',
        SMALL => byte.is_ascii_uppercase(),
        symbol => u8::try_from(symbol).is_ok_and(|other| other != byte),
    };
    match (u8::try_from(one), u8::try_from(other)) {
        (_, Ok(byte)) => is_apart(one, byte),
        (Ok(byte), _) => is_apart(other, byte),
        _ => false,
    }
}

/// Rewrites the look-aheads of a pattern as capturing groups, so that it is read exactly. They are at the end of what
/// another group captures, so the new pattern matches the same subjects by the same branches. `None` if the pattern has
/// a class, group or escape that the compiler does not write.
fn with_groups(pattern: &[u8]) -> Option<Vec<u8>> {
    const CLASSES: [&[u8]; 4] = [br"[^\x0a]", br"[\x00-\xff]", br"[^\x0a\x2e]", b"[^A-Z]"];
    // A class of letters, digits and ranges of these.
    let letters = |rest: &[u8]| {
        let count = rest[1..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
        (rest.get(count + 1) == Some(&b']')).then_some(count + 2)
    };
    const GROUPS: [&[u8]; 2] = [b"(?:", b"(?<"];
    let mut text = Vec::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(first) = rest.first() {
        let length = match first {
            b'\\' if rest.get(1).is_some_and(u8::is_ascii_punctuation) => 2,
            b'\\' => return None,
            b'[' => CLASSES
                .iter()
                .find(|class| rest.starts_with(class))
                .map(|class| class.len())
                .or_else(|| letters(rest))?,
            b'(' if rest.starts_with(b"(?=") => {
                text.push(b'(');
                rest = &rest[3..];
                continue;
            }
            b'(' => GROUPS.iter().find(|group| rest.starts_with(group))?.len(),
            _ => 1,
        };
        text.extend_from_slice(&rest[..length]);
        rest = &rest[length..];
    }
    Some(text)
}

/// The symbols of items that are bytes, dots, or what a dot matches except a dot.
fn before_piece(items: &[Ast]) -> Option<Symbols> {
    let no_dot = || ByteSet::of(|byte| byte != b'\n' && byte != b'.');
    let symbol = |item: &Ast| match item {
        Ast::Class(set) if *set == no_dot() => Some(NO_DOT),
        item => symbols(slice::from_ref(item)).map(|symbols| symbols[0]),
    };
    items.iter().map(symbol).collect()
}

/// The strings of a group. `None` if it has another form, or too many.
fn pieces(ast: &Ast) -> Option<Vec<Piece>> {
    let pieces = match ast {
        Ast::Empty => vec![Piece::default()],
        Ast::Byte(byte) => vec![Piece { text: vec![*byte], ..Piece::default() }],
        Ast::Class(set) if set.iter().all(|byte| byte.is_ascii_alphanumeric()) => {
            set.iter().map(|byte| Piece { text: vec![byte], ..Piece::default() }).collect()
        }
        Ast::Repeat { min, max, sub, .. } if *max == Some(*min) && **sub == Ast::Class(small()) => {
            vec![Piece { more: *min as usize, ..Piece::default() }]
        }
        Ast::Capture { name: None, sub, .. } => {
            let items = if let Ast::Concat(items) = &**sub { items.as_slice() } else { slice::from_ref(&**sub) };
            let (items, is_line) = match items {
                [items @ .., Ast::Dollar] => (items, true),
                items => (items, false),
            };
            vec![Piece { after: symbols(items)?, is_line, is_whole: true, ..Piece::default() }]
        }
        Ast::Concat(items) => items.iter().try_fold(vec![Piece::default()], |pieces, item| joined(&pieces, item))?,
        Ast::Alternation(branches) => {
            let branches: Vec<Vec<Piece>> = branches.iter().map(pieces).collect::<Option<_>>()?;
            branches.concat()
        }
        _ => return None,
    };
    (pieces.len() <= MOST).then_some(pieces)
}

/// Appends the pieces of the next item to each piece.
fn joined(starts: &[Piece], next: &Ast) -> Option<Vec<Piece>> {
    let ends = pieces(next)?;
    if starts.len().checked_mul(ends.len())? > MOST {
        return None;
    }
    let join = |start: &Piece, end: &Piece| {
        let goes_on = !end.text.is_empty() || end.more > 0;
        (!start.is_whole && (start.more == 0 || !goes_on)).then(|| Piece {
            text: [&*start.text, &*end.text].concat(),
            more: start.more + end.more,
            ..end.clone()
        })
    };
    starts.iter().flat_map(|start| ends.iter().map(move |end| join(start, end))).collect()
}

/// All bytes but capital letters.
fn small() -> ByteSet {
    ByteSet::of(|byte| !byte.is_ascii_uppercase())
}
