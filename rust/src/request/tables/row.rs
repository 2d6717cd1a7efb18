//! The rows of a table, and which of them answers.

use crate::request::bytes::Bytes;
use crate::request::patterns::Captures;
use crate::request::site::Node;

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub node: Node,
    /// The value as written. In a map it may contain variables and captures; in other tables it is plain text.
    pub value: Bytes,
}

/// The result of a lookup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The index of the row in [`Table::rows`](super::Table::rows). `None` if no row answers, so that the value is empty.
    pub row: Option<usize>,
    /// What the row's pattern captured.
    pub captures: Option<Captures>,
}
