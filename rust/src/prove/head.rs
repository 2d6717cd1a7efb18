//! Finds what a match of a pattern must begin with.
//!
//! The *head* is the beginning of a pattern that takes few tries: up to an unbounded repetition, which may take many,
//! or a construct that is not read exactly. PCRE tries the parts of a pattern in order. If no way through the head
//! matches a subject, PCRE gets no further, and gives up only if it would give up on the head alone.

use crate::syntax::{Ast, Pattern};

/// Of the least rounds of a repetition, the head has at most this many, or one if a round has more than [`FEW_NODES`]
/// nodes.
const MOST_ROUNDS: u32 = 10;
const FEW_NODES: usize = 100;
/// The head ends at this many nodes.
const MOST_NODES: usize = 2_000;

/// Returns the head of a pattern, as a pattern. Each match of `pattern` begins with a match of the head, and an attempt
/// goes beyond the head only if the head matches. O([`MOST_NODES`]) nodes for each part.
pub fn of(pattern: &Pattern) -> Pattern {
    let Ways { mut ended, through } = ways(&pattern.ast);
    ended.extend(through);
    Pattern { ast: Ast::Alternation(ended), spaces: false, looks: Vec::new(), ..pattern.clone() }
}

/// The ways into a node: those on which the head ends in it, and those that lead through.
struct Ways {
    ended: Vec<Ast>,
    through: Option<Ast>,
}

fn ways(ast: &Ast) -> Ways {
    match ast {
        Ast::Concat(parts) => one_after_the_other(parts.iter().map(ways)),
        Ast::Alternation(branches) => {
            let (mut ended, mut through) = (Vec::new(), Vec::new());
            for branch in branches.iter().map(ways) {
                ended.extend(branch.ended);
                through.extend(branch.through);
            }
            Ways { ended, through: (!through.is_empty()).then_some(Ast::Alternation(through)) }
        }
        Ast::Repeat { max: Some(0), .. } => Ways { ended: Vec::new(), through: Some(Ast::Empty) },
        Ast::Repeat { min: 0, max: Some(1), sub, .. } => {
            let Ways { ended, through } = ways(sub);
            let through = through.into_iter().chain([Ast::Empty]).collect();
            Ways { ended, through: Some(Ast::Alternation(through)) }
        }
        Ast::Repeat { min, max, sub, .. } => {
            let most = if size(sub) <= FEW_NODES { MOST_ROUNDS } else { 1 };
            let rounds = most.min(*min);
            let least = (0..rounds).map(|_| ways(sub));
            if rounds < *min {
                return one_after_the_other(least.chain([Ways { ended: vec![Ast::Empty], through: None }]));
            }
            // Another round may be entered. Rounds after that are not looked at.
            let more = (*max != Some(*min)).then(|| {
                let Ways { mut ended, through } = ways(sub);
                ended.extend(through);
                Ways { ended, through: Some(Ast::Empty) }
            });
            one_after_the_other(least.chain(more))
        }
        Ast::Capture { sub, .. } => ways(sub),
        Ast::Superset { .. } => Ways { ended: vec![Ast::Empty], through: None },
        leaf => Ways { ended: Vec::new(), through: Some(leaf.clone()) },
    }
}

fn one_after_the_other(parts: impl Iterator<Item = Ways>) -> Ways {
    let (mut ended, mut before) = (Vec::new(), Vec::new());
    let mut nodes = 0;
    for part in parts {
        for end in part.ended {
            nodes += before.iter().map(size).sum::<usize>() + size(&end);
            ended.push(Ast::Concat(before.iter().cloned().chain([end]).collect()));
        }
        let Some(through) = part.through else { return Ways { ended, through: None } };
        nodes += size(&through);
        before.push(through);
        if nodes > MOST_NODES {
            ended.push(Ast::Concat(before));
            return Ways { ended, through: None };
        }
    }
    Ways { ended, through: Some(Ast::Concat(before)) }
}

/// The number of nodes of a tree, with a repetition counted as often as the head has it.
fn size(ast: &Ast) -> usize {
    match ast {
        Ast::Concat(parts) | Ast::Alternation(parts) => 1 + parts.iter().map(size).sum::<usize>(),
        Ast::Repeat { min, sub, .. } => 1 + size(sub) * (1 + *min.min(&MOST_ROUNDS) as usize),
        Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => 1 + size(sub),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::prove::work::ends_in_time;
    use crate::syntax;

    fn may_begin(pattern: &str, subject: &str) -> bool {
        let head = of(&syntax::parse(pattern.as_bytes()).unwrap());
        assert!(ends_in_time(&head.ast, 8_192), "{pattern}");
        regex_automata::meta::Regex::builder()
            .configure(regex_automata::meta::Config::new().utf8_empty(false))
            .build_from_hir(&head.translate().hir)
            .unwrap()
            .is_match(subject)
    }

    /// A head has the ways that end in a repetition and those without one. PCRE answers on it in time.
    #[test]
    fn heads() {
        for (pattern, subject) in [
            ("^/(a+)+$", "/aax"),
            ("^/x?(a+)+$", "/xa"),
            ("^/(?:x(a+)+)?zz(b+)+d", "/xaa"),
            ("^/(?:x(a+)+)?zz(b+)+d", "/zzbb"),
            ("^/(?:ab){3,}(c+)+", "/abababab"),
            ("^/(?:ab){2}(c+)+", "/ababc"),
            ("^/(?:ab){0}c(c+)+", "/cc"),
            ("^/(?:(a+)*|b)c", "/c"),
            ("^/(?:(a+)*|b)c", "/a"),
            ("^/([ab]+)*c", "/b"),
            ("^/a*c", "/c"),
            ("^/a{2,}c", "/aac"),
            ("^/a{20}c", "/aaaaaaaaaa"),
            ("^/(?!x)(a+)+", "/x"),
            ("^/a$\n?(b+)+", "/a\nb"),
            ("(a+)+$", "/x/a"),
        ] {
            assert!(may_begin(pattern, subject), "{pattern} {subject}");
        }
        for (pattern, subject) in [
            ("^/(a+)+$", "/bb"),
            ("^/x?(a+)+$", "/xx"),
            ("^/(?:x(a+)+)?zz(b+)+d", "/old"),
            ("^/(?:x(a+)+)?zz(b+)+d", "/x"),
            ("^/(?:ab){3,}(c+)+", "/abab"),
            ("^/(?:ab){2}(c+)+", "/abab"),
            ("^/(?:ab){0}c(c+)+", "/abc"),
            ("^/b(?!x)(a+)+", "/x"),
            ("(a+)+$", "/x/b"),
            ("^/(?:(a+)*|b)c", "/d"),
            ("^/([ab]+)*c", "/d"),
            ("^/a{2,}c", "/aab"),
            ("^/a{20}c", "/aaaaaaaaa"),
        ] {
            assert!(!may_begin(pattern, subject), "{pattern} {subject}");
        }
    }

    /// A head is never much larger than its pattern.
    #[test]
    fn sizes() {
        for pattern in
            ["((((((a*|b){9}){9}){9}){9}){9}){9}", "((((((a{10}){10}){10}){10}){10}){10})", &"(a*|b)".repeat(600)]
        {
            let head = of(&syntax::parse(pattern.as_bytes()).unwrap());
            assert!(super::size(&head.ast) < 50_000, "{pattern}: {}", super::size(&head.ast));
        }
    }
}
