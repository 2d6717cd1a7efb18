//! The error for a configuration with which nginx does not start.

use std::fmt;

use crate::request::site::Node;

/// A directive that nginx refuses, and the message of nginx.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub node: Node,
    /// As nginx's: `duplicate location "/a"`, `invalid condition "x"`.
    pub message: String,
}

impl Refused {
    pub fn new(node: Node, message: impl Into<String>) -> Refused {
        Refused { node, message: message.into() }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}
