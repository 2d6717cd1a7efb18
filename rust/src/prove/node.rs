//! Reads a text into statements. The proof uses this for both texts.

use std::borrow::Cow;

use crate::lexer::{Lexer, RawEvent, Word};
use crate::prove::target::End;
use crate::prove::{Discharged, Refutation};

/// A pattern that matches nothing, and that PCRE2 gives up at the first byte of nearly every URI.
const NEVER: &[u8] = b"^a(?!)";

/// One statement.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Node<'t> {
    pub(super) words: Box<[Cow<'t, [u8]>]>,
    pub block: Option<Vec<Node<'t>>>,
}

impl<'t> Node<'t> {
    fn new(words: impl Iterator<Item = Word<'t>>) -> Node<'t> {
        Node { words: words.map(|word| word.value).collect(), block: None }
    }

    pub fn words(&self) -> Vec<&[u8]> {
        self.words.iter().map(|word| &**word).collect()
    }

    pub fn word(&self, at: usize) -> &[u8] {
        self.words.get(at).map_or(&[], |word| word)
    }

    /// The variable and the value of a `set`.
    pub fn sets(&self) -> Option<(&[u8], &[u8])> {
        let is_set = self.block.is_none() && self.words.len() == 3 && self.word(0) == b"set";
        is_set.then(|| self.word(1).strip_prefix(b"$").map(|name| (name, self.word(2))))?
    }

    /// Whether this is a rule that never matches, and so leaves `$1` to `$9` empty.
    pub fn is_clear(&self) -> bool {
        self.block.is_none() && self.words() == [&b"rewrite"[..], NEVER, b"/"]
    }

    pub fn flag(&self) -> Option<&[u8]> {
        self.words.get(3).map(|word| &**word)
    }

    /// Whether this is a `rewrite`.
    pub fn is_rewrite(&self) -> bool {
        self.block.is_none() && self.word(0) == b"rewrite" && matches!(self.words.len(), 3 | 4)
    }

    /// Whether this is a rule that ends the script when it matches.
    pub fn is_rule(&self) -> bool {
        self.is_rewrite() && End::of(self.word(2), self.flag()).is_some()
    }
}

/// The number of a group or kind: `if ($group = 7) { ... }`.
pub fn number<'t>(node: &'t Node<'t>, variable: &[u8]) -> Option<&'t [u8]> {
    let is_equality = node.block.is_some() && node.words().len() == 4 && node.word(0) == b"if" && node.word(2) == b"=";
    let name = node.word(1).strip_prefix(b"($").filter(|_| is_equality)?;
    let number = node.word(3).strip_suffix(b")")?;
    (name == variable && !number.is_empty() && number.iter().all(u8::is_ascii_digit)).then_some(number)
}

/// Whether a node is `if ($variable = "") { break; }`.
pub fn is_stop(node: &Node, variable: &[u8]) -> bool {
    let is_condition =
        matches!(node.words()[..], [b"if", left, b"=", b"", b")"] if left.strip_prefix(b"($") == Some(variable));
    let is_break =
        |block: &Vec<Node>| matches!(&block[..], [only] if only.block.is_none() && only.words() == [b"break"]);
    is_condition && node.block.as_ref().is_some_and(is_break)
}

/// Reads a text into statements.
pub fn parse<'t>(text: &'t [u8], what: &str) -> Discharged<Vec<Node<'t>>> {
    let mut open: Vec<(Node, Vec<Node>)> = Vec::new();
    let mut current = Vec::new();
    let mut lexer = Lexer::new(text);
    while let Some(step) = lexer.step() {
        match step.map_err(|error| Refutation::new(format!("{what} does not parse: {error}")))? {
            RawEvent::Comment { .. } => {}
            RawEvent::Statement { .. } => current.push(Node::new(lexer.take_words())),
            RawEvent::Open { .. } => open.push((Node::new(lexer.take_words()), std::mem::take(&mut current))),
            RawEvent::Close { .. } => {
                let Some((mut node, outer)) = open.pop() else { continue };
                node.block = Some(std::mem::replace(&mut current, outer));
                current.push(node);
            }
        }
    }
    Ok(current)
}
