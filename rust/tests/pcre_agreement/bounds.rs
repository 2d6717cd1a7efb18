//! Runs patterns on which PCRE should always answer on long subjects.

use nginxopt_native::first_match::Bounds;
use nginxopt_native::pcre::{MatchOutcome, Regex};

use crate::random::{Random, rounds, wild};
use crate::{LIMIT, both};

/// What patterns are made of.
const UNITS: [&str; 14] = ["/", "a", "b", "1", "-", "a/", "ab", "a1", "/a-", "index.php", ".", "\n", "A_", "aa/b"];

/// The lengths of subjects, in bytes: from all places, and from the first.
const SHORT: usize = 4_000;
const LONG: usize = 65_000;

/// PCRE2 answers within its limit on subjects of up to 65,536 bytes that repeat what patterns are made of.
#[test]
fn long_subjects() {
    let mut random = Random::new(23);
    let mut answered = 0;
    for _ in 0..rounds(4_000) {
        let text = wild(&mut random);
        let Some((regex, pattern)) = both(&text) else { continue };
        if !Bounds::of(&pattern, &pattern.translate().hir).always_answers {
            continue;
        }
        let unit = [*random.pick(&UNITS), *random.pick(&UNITS)].concat();
        let end = *random.pick(&UNITS);
        let subject = |length: usize| format!("/{}{end}", unit.repeat(length / unit.len())).into_bytes();
        let check = |regex: &Regex, length: usize| {
            let outcome = regex.is_match(&subject(length), LIMIT);
            assert!(matches!(outcome, MatchOutcome::Yes | MatchOutcome::No), "{text} {unit}: {outcome:?}");
        };
        // The limit counts anew from each place, but all of them take the square of the length.
        check(&regex, SHORT);
        if let Ok(first_place) = Regex::new(format!("^(?:{text})").as_bytes()) {
            check(&first_place, LONG);
        }
        answered += 1;
    }
    println!("{answered} answers");
    assert!(answered > 500);
}
