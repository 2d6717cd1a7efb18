//! Reads the alternatives of patterns that capture keys of a table.

use crate::map_block::PatternRow;
use crate::pcre::Regex;
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::prover::Prover;
use crate::prove_map::row::as_text;
use crate::prove_map::symbols::{DOT, Symbols, around_variable, symbols};
use crate::syntax::{Ast, ByteSet};

/// Limit of the alternatives of a pattern; a token has no room for more.
const MOST: usize = 1 << 12;

/// A byte that is no capital letter, as a number above those of bytes and dots.
const SMALL: u16 = 258;

/// One of the strings that a pattern lists.
pub struct Alternative {
    /// What comes before it, and the key so far.
    pub before: Symbols,
    pub key: Vec<u8>,
    pub piece: Piece,
}

/// A string that is captured, how many bytes without capital letters go on, and what must follow.
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
        let (Some((key, _)), Some(before), Some(pieces)) = (key, symbols(before), pieces(sub)) else {
            return unread();
        };
        let alternative = |piece| Alternative { before: before.clone(), key: key.to_vec(), piece };
        Ok(pieces.into_iter().map(alternative).collect())
    }
}

impl Alternative {
    /// What a subject begins with, up to a dot.
    pub fn head(&self) -> Vec<u8> {
        let symbols = self.before.iter().copied().chain(self.piece.text.iter().copied().map(u16::from));
        symbols.map_while(|symbol| u8::try_from(symbol).ok()).collect()
    }

    /// The same, with dots.
    pub fn start(&self) -> Vec<u8> {
        let before = self.before.iter().map(|symbol| u8::try_from(*symbol).unwrap_or(b'.'));
        before.chain(self.piece.text.iter().copied()).collect()
    }

    /// The symbols of the whole.
    fn symbols(&self) -> Symbols {
        let Piece { text, more, after, .. } = &self.piece;
        let text = text.iter().copied().map(u16::from);
        let symbols = self.before.iter().copied().chain(text).chain(std::iter::repeat_n(SMALL, *more));
        symbols.chain(after.iter().copied()).collect()
    }
}

/// Checks that no string begins with two of the alternatives.
pub fn check_apart(alternatives: &[Alternative]) -> Result<(), String> {
    let symbols: Vec<(Symbols, &Alternative)> =
        alternatives.iter().map(|alternative| (alternative.symbols(), alternative)).collect();
    for (at, (one, first)) in symbols.iter().enumerate() {
        for (other, second) in &symbols[at + 1..] {
            let differ = || one.iter().zip(other).any(|(one, other)| one != other && are_apart(*one, *other));
            let ends = |line: &Symbols, longer: &Symbols| {
                let behind = longer.get(line.len()..).unwrap_or_default();
                behind.len() > 1 || behind.len() == 1 && are_apart(behind[0], u16::from(b'\n'))
            };
            let is_too_long = || first.piece.is_line && ends(one, other) || second.piece.is_line && ends(other, one);
            if !(differ() || is_too_long()) {
                let [first, second] = [first, second].map(|one| one.start());
                let (first, second) = (first.escape_ascii(), second.escape_ascii());
                return Err(format!("a string may begin like \"{first}\" and like \"{second}\""));
            }
        }
    }
    Ok(())
}

/// Whether no byte is both.
fn are_apart(one: u16, other: u16) -> bool {
    let is_apart = |symbol: u16, byte: u8| match symbol {
        DOT => byte == b'\n',
        SMALL => byte.is_ascii_uppercase(),
        symbol => u8::try_from(symbol).is_ok_and(|other| other != byte),
    };
    match (u8::try_from(one), u8::try_from(other)) {
        (_, Ok(byte)) => is_apart(one, byte),
        (Ok(byte), _) => is_apart(other, byte),
        _ => false,
    }
}

/// A pattern whose look-aheads are groups that capture, at the end of what another group captures: it matches the same
/// subjects by the same branches. `None` if it has other classes, groups or escapes than emitted ones.
fn with_groups(pattern: &[u8]) -> Option<Vec<u8>> {
    const CLASSES: [&[u8]; 3] = [br"[^\x0a]", br"[\x00-\xff]", b"[^A-Z]"];
    const GROUPS: [&[u8]; 2] = [b"(?:", b"(?<"];
    let mut text = Vec::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(first) = rest.first() {
        let length = match first {
            b'\\' if rest.get(1).is_some_and(u8::is_ascii_punctuation) => 2,
            b'\\' => return None,
            b'[' => CLASSES.iter().find(|class| rest.starts_with(class))?.len(),
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

/// The strings of a group. `None` if it has another form, or too many.
fn pieces(ast: &Ast) -> Option<Vec<Piece>> {
    let pieces = match ast {
        Ast::Empty => vec![Piece::default()],
        Ast::Byte(byte) => vec![Piece { text: vec![*byte], ..Piece::default() }],
        Ast::Repeat { min, max, sub, .. } if *max == Some(*min) && **sub == Ast::Class(small()) => {
            vec![Piece { more: *min as usize, ..Piece::default() }]
        }
        Ast::Capture { name: None, sub, .. } => {
            let items = if let Ast::Concat(items) = &**sub { items.as_slice() } else { std::slice::from_ref(&**sub) };
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

/// Pieces with what follows them.
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
