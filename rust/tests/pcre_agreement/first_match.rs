//! The index over patterns agrees with a plain loop over them.

use crate::random::{Random, rounds};
use crate::{LIMIT, case_variants, random, random_pattern};
use nginxopt_native::first_match::{Doubt, First, FirstMatch};
use nginxopt_native::pcre::{MatchOutcome, Regex};
use nginxopt_native::syntax::parse;

/// Finds the first pattern that matches by a plain loop. The index is `None` if none matches, and there is no answer if
/// PCRE2 gives up.
pub fn first_by_loop(regexes: &[Result<Regex, i32>], subject: &[u8]) -> Option<First> {
    for (index, regex) in regexes.iter().enumerate() {
        match regex.as_ref().ok()?.is_match(subject, LIMIT) {
            MatchOutcome::Yes => return Some(First::Match(index)),
            MatchOutcome::No => {}
            MatchOutcome::Error(_) => return None,
        }
    }
    Some(First::None)
}

/// Whether the index agrees with the loop. The index may be in doubt about a pattern if no earlier one matches, but
/// about a portable pattern only for lack of time or stack.
fn agrees(found: First, regexes: &[Result<Regex, i32>], texts: &[String], subject: &[u8]) -> bool {
    match found {
        First::Unknown(index, doubt) => {
            let portable = parse(texts[index].as_bytes());
            let is_justified = match doubt {
                Doubt::Unportable => portable.as_ref().map_or(true, |pattern| !pattern.settles(subject)),
                Doubt::Effort => portable.is_ok(),
            };
            is_justified && matches!(first_by_loop(&regexes[..index], subject), Some(First::None))
        }
        found => first_by_loop(regexes, subject) == Some(found),
    }
}

/// The index finds what a loop over all patterns finds, and is seldom in doubt about a portable pattern.
#[test]
fn first_matches() {
    let mut random = Random::new(6);
    let (mut compared, mut unportable, mut long) = (0u64, 0u64, 0u64);
    for _ in 0..rounds(1_500) {
        let texts: Vec<String> = (0..1 + random.below(12)).map(|_| random_pattern(&mut random)).collect();
        let patterns: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        let regexes: Vec<_> = patterns.iter().map(|text| Regex::new(text).map_err(|error| error.code)).collect();
        let index = FirstMatch::new(&patterns).unwrap();
        // A pattern that PCRE2 does not compile is an error only when tried; a running nginx has none.
        let limit = regexes.iter().position(Result::is_err).unwrap_or(regexes.len());
        for _ in 0..24 {
            let near = random.pick(&texts).clone();
            let subject = random::subject(&mut random, &near);
            let limit = random.below(limit + 1);
            let found = index.first(&subject, limit);
            assert!(agrees(found, &regexes[..limit], &texts, &subject), "{texts:?} {subject:?}: {found:?}");
            compared += 1;
            unportable += u64::from(matches!(found, First::Unknown(_, Doubt::Unportable)));
            long += u64::from(matches!(found, First::Unknown(_, Doubt::Effort)));
        }
    }
    assert!(unportable * 2 < compared && long * 100 < compared, "{compared} {unportable} {long}");
    println!("{compared} comparisons, {unportable} behind what is not portable, {long} behind what takes long");
}

/// If the index finds that no spelling of a string matches, PCRE2 matches none of them; and it does find some.
#[test]
fn spellings() {
    let mut random = Random::new(12);
    let (mut never, mut may) = (0u64, 0u64);
    for _ in 0..rounds(3_000) {
        let texts: Vec<String> = (0..4).map(|_| random_pattern(&mut random)).collect();
        let patterns: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        let regexes: Vec<_> = patterns.iter().map(|text| Regex::new(text)).collect();
        if regexes.iter().any(Result::is_err) {
            continue;
        }
        let index = FirstMatch::new(&patterns).unwrap();
        let source = random.pick(&texts).clone();
        for _ in 0..10 {
            let mut subject = random::subject(&mut random, &source).to_ascii_lowercase();
            subject.truncate(6);
            if index.may_match_some_case(&subject, 0..patterns.len()) {
                may += 1;
                continue;
            }
            never += 1;
            for variant in case_variants(&subject) {
                let all_no = regexes.iter().flatten().all(|regex| regex.is_match(&variant, LIMIT) == MatchOutcome::No);
                assert!(all_no, "{texts:?} {variant:?}");
            }
        }
    }
    assert!(never > 300 && may > 300, "{never} {may}");
    println!("{never} strings of no pattern, {may} of some");
}

/// A pattern that may use up the match limit is never passed over.
#[test]
fn match_limits() {
    let mut random = Random::new(7);
    let mut errors = 0u64;
    for _ in 0..rounds(40) {
        let inner = *random.pick(&["a+", "(a|a)*", "a?a?", "(a*b?)", "[ab]+", "(?:a|ab)", "(.*)a(.*)", ".*.*.*"]);
        let outer = *random.pick(&["*", "+", "{40}", ""]);
        let end = *random.pick(&["[^x]foo", "[!?]$", "(foo|bar)", "$"]);
        let text = format!("{}({inner}){outer}{end}", random.pick(&["^/", "/", "^/foo", ""]));
        let regex = Regex::new(text.as_bytes()).expect("a pattern that PCRE2 takes");
        let index = FirstMatch::new(&[text.as_bytes()]).unwrap();
        let filler = *random.pick(&["a", "ab", "a/"]);
        let subject = format!("/{}{}", filler.repeat(10 + random.below(30)), random.pick(&["oof", "r", "", "!x"]));
        let found = index.first(subject.as_bytes(), 1);
        match regex.is_match(subject.as_bytes(), LIMIT) {
            MatchOutcome::Error(_) => {
                errors += 1;
                assert_eq!(found, First::Unknown(0, Doubt::Effort), "{text:?} {subject:?}");
            }
            _ => assert!(
                agrees(found, &[Ok(regex)], std::slice::from_ref(&text), subject.as_bytes()),
                "{text:?} {subject:?}"
            ),
        }
    }
    assert!(errors > 0);
    println!("{errors} match limits");
}
