//! Decides which rules of a run a map can answer, and which stay.
//!
//! A rule is *moved* when the strings it matches are few enough to list; each string becomes a key, owned by the first
//! rule that matches it. A string that an earlier kept rule matches is left out of the map: the kept rule answers it.
//! Rules that differ only in letter case go to different *tiers* of maps, because nginx folds the case of map keys.

use crate::first_match::ReadPatterns;
use crate::parallel;
use crate::phase::Phase;
use crate::rewrite::assignment::Assignment;
use crate::rewrite::candidate::{self, Candidate, Movable};
use crate::rewrite::options::Options;
use crate::rewrite::plan::{BadPattern, Plan};
use crate::rewrite::reason::Reason;
use crate::rewrite::runs::Run;

/// After this many rounds, rules stay that a declared reading changes.
const MOST_ROUNDS: usize = 8;

/// Plans a run. Linear in the rules, except for PCRE2 on strings that kept rules may match.
pub fn plan(run: &Run, options: &Options) -> Result<Plan, BadPattern> {
    let judge = |index: usize| {
        candidate::judge(&run.rules[index], options).map_err(|message| BadPattern { rule: index, message })
    };
    let parts = parallel::ranges(run.rules.len(), |places| places.map(judge).collect::<Result<Vec<_>, _>>());
    let mut candidates: Vec<Candidate> = Vec::with_capacity(run.rules.len());
    for part in parts {
        candidates.extend(part?);
    }
    // Rules whose keys would overload nginx's hash tables stay. The other rules then have other maps, so check again. A
    // rule that stays does so as it is written, and may then match more than as declared, so check the others again.
    let mut rounds = 0;
    loop {
        let kept: Vec<usize> = (0..candidates.len()).filter(|rule| candidates[*rule].is_err()).collect();
        let patterns = ReadPatterns::of(&kept.iter().map(|rule| &*run.rules[*rule].pattern).collect::<Vec<_>>());
        // As `Plan::stands_before` says. What an earlier compilation left stays, so that a second one changes nothing.
        let is_behind = options.phase == Phase::Location && options.captures_matter && !run.is_behind;
        let assignment = Assignment::make(&candidates, &kept, &patterns, is_behind)?;
        let as_written = assignment.staying_as_written(&candidates);
        let crowded = if as_written.is_empty() { assignment.crowded() } else { Vec::new() };
        if as_written.is_empty() && crowded.is_empty() {
            return Ok(Plan { patterns: Some(patterns), ..assignment.into_plan(run, candidates) });
        }
        for (rule, reason) in as_written {
            candidates[rule] = Err(reason);
        }
        for rule in crowded {
            candidates[rule] = Err(Reason::HashCollision);
        }
        rounds += 1;
        if rounds == MOST_ROUNDS {
            let is_declared = |candidate: &&mut Candidate| candidate.as_ref().is_ok_and(Movable::is_read_otherwise);
            candidates.iter_mut().filter(is_declared).for_each(|candidate| *candidate = Err(Reason::TooMuchWork));
        }
    }
}
