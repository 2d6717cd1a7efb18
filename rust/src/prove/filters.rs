//! Proves rules behind a filter: `if ($uri ~ "pattern") { rewrites }`.
//!
//! # Lemma
//!
//! Let r1..rn, n > 0, be rewrites with any flag or none, and F a pattern that matches each URI on which PCRE matches
//! one of r1..rn or gives up on it; let PCRE never give up on F, nor on r1 where `$1` to `$9` may be read, unless a rule
//! that ends the script comes directly before and F has no groups. Then the `if` does with every URI u what r1..rn do.
//!
//! *Proof.* If F matches u, r1..rn run on u; that the match of F sets `$1` to `$9` is not seen, as r1 sets or clears
//! them, unless PCRE gives up on it (nginx then sends a page of its own, whose headers may show them): then they are
//! empty, as F sets none, and as the rule before, which did not fire, has left them. Else r1 does not match u and does
//! nothing but clear `$1` to `$9`; so u is still the URI when r2 is tried, and so on; and F, which does not match, clears
//! them, too.
//!
//! In a location, a true `if` does more than run its statements ([`surroundings`](super::surroundings)). Where it may
//! hold any rule, its configuration is as good as that of the location, also for what follows. Where the location has
//! `try_files`, which it has not, F must match only URIs on which one of r1..rn fires, and none of these may be a
//! `break`.

use crate::phase::Entering;
use crate::prove::node::Node;
use crate::prove::surroundings;
use crate::prove::{Discharged, Refutation};
use crate::prove_map::filter::{Filter, NoFilter, TurnedAway, may_give_up};
use crate::syntax;

/// The pattern of `if ($uri ~ "pattern") { ... }`.
pub fn pattern<'t>(node: &'t Node<'t>) -> Option<&'t [u8]> {
    match node.words()[..] {
        [b"if", b"($uri", b"~", _, b")"] if node.block.is_some() => Some(node.word(3)),
        _ => None,
    }
}

/// Whether a pattern certainly captures nothing.
pub fn has_no_groups(pattern: &[u8]) -> bool {
    syntax::parse(pattern).is_ok_and(|pattern| pattern.captures == 0)
}

/// Checks that an `if` with this pattern does the same as its statements without it. They must be rewrites.
pub fn check(pattern: &[u8], rules: &[Node], entering: Entering, keeps_captures: bool) -> Discharged<()> {
    let Some(first) = rules.first().filter(|_| rules.iter().all(Node::is_rewrite)) else {
        return Err(Refutation::new("a filter has something other than rewrites behind it"));
    };
    if keeps_captures && may_give_up(first.word(1)) {
        return Err(Refutation::new("PCRE may give up on the first rule behind a filter, which leaves its captures"));
    }
    check_passing(pattern, &rules.iter().collect::<Vec<_>>(), entering, false)
}

/// Checks that a pattern matches all URIs that one of the rules may match, and no others if `is_exact`, or if a true `if`
/// would matter.
pub fn check_passing(pattern: &[u8], rules: &[&Node], entering: Entering, is_exact: bool) -> Discharged<()> {
    let filter = Filter::read(pattern).map_err(|problem| match problem {
        NoFilter::SetsAName => Refutation::new("a filter sets a variable by a named group"),
        NoFilter::Unknown => Refutation::new("it is unknown what a filter matches, or PCRE may give up on it"),
    })?;
    for rule in rules {
        filter.lets_pass(rule.word(1)).map_err(|TurnedAway(counterexample)| Refutation {
            counterexample,
            ..Refutation::new("a filter turns away what a rule behind it may match")
        })?;
    }
    if entering == Entering::All && !is_exact {
        return Ok(());
    }
    for rule in rules {
        surroundings::check(entering, rule)?;
        if !rule.is_rule() {
            return Err(Refutation::new("a rule in an `if` goes on without the location's try_files"));
        }
    }
    if filter.is_exact(&rules.iter().map(|rule| rule.word(1)).collect::<Vec<_>>()) {
        return Ok(());
    }
    Err(Refutation::new("a filter lets pass what no rule behind it may match"))
}
