//! Which rules an `if` may hold in a block, once it is certain that one of them fires.
//!
//! In a location, a true `if` replaces the configuration of the request by its own (`ngx_http_script_if_code`). That is
//! merged from the location's, so that it has all that the location has, but for
//!
//! - `try_files`, which is not merged: it is tried where the script ends with `break`;
//! - headers where `add_header_inherit` or `add_trailer_inherit` is `off` (`ngx_http_headers_merge`, nginx 1.29.3);
//! - what a true `if` before it says, as each is merged from the location alone.

use crate::phase::Entering;
use crate::prove::node::Node;
use crate::prove::target::End;
use crate::prove::{Discharged, Facts, Refutation};

/// The directives of the rewrite module: an `if` that holds nothing else has the location's configuration.
const SCRIPT: [&[u8]; 5] = [b"break", b"if", b"return", b"rewrite", b"set"];

/// Which rules may stand in an `if` of a location with these statements. `headers_inherited`: nowhere may
/// `add_header_inherit` be `off`.
pub fn entering(block: &[Node], facts: &Facts, headers_inherited: bool) -> Entering {
    if !block.iter().all(|node| keeps(node, facts, headers_inherited)) {
        return Entering::Nothing;
    }
    if block.iter().any(|node| node.word(0) == b"try_files") { Entering::AllButBreak } else { Entering::All }
}

/// Checks that an `if` which certainly fires a rule may hold it.
pub fn check(entering: Entering, rule: &Node) -> Discharged<()> {
    let is_break = End::of(rule.word(2), rule.flag()) == Some(End::Break);
    match entering {
        Entering::Nothing => Err(Refutation::new("an `if` in a location would replace the location's configuration")),
        Entering::AllButBreak if is_break => {
            Err(Refutation::new("a `break` in an `if` would lose the location's try_files"))
        }
        _ => Ok(()),
    }
}

/// Whether a statement of a location is as good in an `if` of ours.
fn keeps(node: &Node, facts: &Facts, headers_inherited: bool) -> bool {
    match node.word(0) {
        b"if" => node.block.iter().flatten().all(|inner| SCRIPT.contains(&inner.word(0))),
        b"add_header" | b"add_trailer" => headers_inherited,
        b"try_files" => true,
        name => SCRIPT.contains(&name) || facts.inherited.contains(name),
    }
}

/// Whether a file has a directive that may keep headers from being inherited.
pub fn has_header_inheritance(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| {
        matches!(node.word(0), b"add_header_inherit" | b"add_trailer_inherit")
            || node.block.as_deref().is_some_and(has_header_inheritance)
    })
}
