//! Patterns on which PCRE is said to answer always, on long subjects.

use nginxopt_native::first_match::Bounds;
use nginxopt_native::pcre::MatchOutcome;

use crate::random::{Random, rounds, wild};
use crate::{LIMIT, both};

/// PCRE2 answers within its limit on subjects of 65,536 bytes that repeat what patterns are made of.
#[test]
fn long_subjects() {
    let mut random = Random::new(23);
    let mut answered = 0;
    for _ in 0..rounds(200) {
        let text = wild(&mut random);
        let Some((regex, pattern)) = both(&text) else { continue };
        if !Bounds::of(&pattern, &pattern.translate().hir).always_answers {
            continue;
        }
        let units: Vec<&str> =
            vec!["/", "a", "b", "1", "-", "a/", "ab", "a1", "/a-", "index.php", ".", "\n", "A_", "aa/b"];
        let unit = [*random.pick(&units), *random.pick(&units)].concat();
        let mut subject = unit.repeat(65_000 / unit.len()).into_bytes();
        subject.insert(0, b'/');
        subject.extend_from_slice(random.pick(&units).as_bytes());
        let outcome = regex.is_match(&subject, LIMIT);
        assert!(matches!(outcome, MatchOutcome::Yes | MatchOutcome::No), "{text} {unit}: {outcome:?}");
        answered += 1;
    }
    println!("{answered} answers");
    assert!(answered > 25);
}
