//! Decides which rules an `if` in a block may contain, given that one of them certainly fires.
//!
//! In a location, a true `if` replaces the configuration of the request by its own (`ngx_http_script_if_code`). This is
//! merged from that of the location, so it has all that the location has, except
//!
//! - `try_files`, which is not merged: it is tried where the script ends with `break`;
//! - headers where `add_header_inherit` or `add_trailer_inherit` is `off` (`ngx_http_headers_merge`, nginx 1.29.3);
//! - what an earlier true `if` says, because each `if` is merged from the location alone.

use crate::facts::SCRIPT;
use crate::phase::Entering;
use crate::prove::node::Node;
use crate::prove::target::End;
use crate::prove::{Discharged, Facts, Refutation};

/// Which rules may stand in an `if` of a location with these statements. `headers_inherited`: `add_header_inherit` is
/// never `off`.
pub fn entering(block: &[Node], facts: &Facts, headers_inherited: bool) -> Entering {
    if !block.iter().all(|node| keeps(node, facts, headers_inherited)) {
        return Entering::Nothing;
    }
    if block.iter().any(|node| node.word(0) == b"try_files") { Entering::AllButBreak } else { Entering::All }
}

/// Checks that a rule may stand in an `if` in which a rule certainly fires.
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

/// Whether a statement of a location has the same effect once an emitted `if` has been entered.
fn keeps(node: &Node, facts: &Facts, headers_inherited: bool) -> bool {
    match node.word(0) {
        // An `if` with nothing else has the configuration of the location.
        b"if" => node.block.iter().flatten().all(|inner| SCRIPT.contains(&inner.word(0))),
        b"add_header" | b"add_trailer" => headers_inherited,
        b"include" => facts.quiet.contains(node.word(1)),
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
