//! Translations agree with PCRE2.

use crate::random::{Random, rounds};
use crate::{answer, both, case_variants, matcher, random, random_pattern};

/// An exact translation matches what PCRE2 matches; another matches at least that. Groups are counted alike.
#[test]
fn translations() {
    let mut random = Random::new(1);
    let (mut patterns, mut exact, mut compared, mut matched) = (0u64, 0u64, 0u64, 0u64);
    for _ in 0..rounds(60_000) {
        let text = random_pattern(&mut random);
        let Some((regex, pattern)) = both(&text) else {
            continue;
        };
        assert_eq!(pattern.captures, group_count(&text), "{text:?}");
        let translation = pattern.translate();
        let Some(automaton) = matcher(&translation) else {
            continue;
        };
        patterns += 1;
        exact += u64::from(translation.exact);
        for _ in 0..16 {
            let subject = random::subject(&mut random, &text);
            let Some(expected) = answer(&regex, &subject) else {
                continue;
            };
            let found = automaton.is_match(&subject);
            assert!(
                found == expected || found && !translation.exact,
                "{text:?} on {:?}: PCRE2 says {expected}, the translation {found}",
                subject.escape_ascii().to_string()
            );
            compared += 1;
            matched += u64::from(expected);
        }
    }
    assert!(exact * 2 > patterns && matched * 10 > compared, "{patterns} {exact} {compared} {matched}");
    println!("{compared} comparisons, {matched} matches; {patterns} patterns, {exact} exact");
}

/// The number of groups by PCRE2's own count.
fn group_count(text: &str) -> u32 {
    let (mut code, mut offset, mut count) = (0, 0, 0u32);
    // SAFETY: the text is valid for its length, and the number is what PCRE2 writes for this question.
    unsafe {
        let null = std::ptr::null_mut;
        let compiled = pcre2_sys::pcre2_compile_8(text.as_ptr(), text.len(), 0, &mut code, &mut offset, null());
        assert!(!compiled.is_null(), "{text:?}");
        let into = (&raw mut count).cast();
        pcre2_sys::pcre2_pattern_info_8(compiled, pcre2_sys::PCRE2_INFO_CAPTURECOUNT, into);
        pcre2_sys::pcre2_code_free_8(compiled);
    }
    count
}

/// A folded translation matches what has a case variant that PCRE2 matches.
#[test]
fn folded_translations() {
    let mut random = Random::new(2);
    let mut compared = 0u64;
    for _ in 0..rounds(10_000) {
        let text = random_pattern(&mut random);
        let Some((regex, pattern)) = both(&text) else {
            continue;
        };
        let translation = pattern.translate_folded();
        assert_eq!(translation.exact, pattern.translate().exact, "{text:?}");
        let Some(automaton) = matcher(&translation) else {
            continue;
        };
        for _ in 0..4 {
            let subject = random::subject(&mut random, &text);
            let answers: Option<Vec<bool>> =
                case_variants(&subject).iter().map(|variant| answer(&regex, variant)).collect();
            let Some(answers) = answers else { continue };
            let expected = answers.contains(&true);
            let found = automaton.is_match(&subject);
            assert!(found == expected || found && !translation.exact, "{text:?} on {subject:?}");
            compared += 1;
        }
    }
    assert!(compared > 0);
    println!("{compared} comparisons");
}
