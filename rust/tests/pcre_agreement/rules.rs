//! Witnesses and dead rules agree with PCRE2.

use crate::first_match::first_by_loop;
use crate::random::{Random, all_strings, rounds};
use crate::{answer, both, random, random_pattern};
use nginxopt_native::first_match::{First, FirstMatch};
use nginxopt_native::language::{Limits, Liveness, Question, Witness, liveness, witness};
use nginxopt_native::pcre::Regex;
use nginxopt_native::syntax::{Translation, parse};

/// An exact translation with its regex.
struct Rule {
    text: String,
    regex: Regex,
    translation: Translation,
}

fn exact_rule(random: &mut Random) -> Rule {
    loop {
        let text = match random.below(3) {
            0 => random::rule(random),
            1 => format!("^/{}", random::structured(random, 2)),
            _ => format!("^/{}$", random::structured(random, 3)),
        };
        let Some((regex, pattern)) = both(&text) else {
            continue;
        };
        let translation = pattern.translate();
        if translation.exact {
            return Rule { text, regex, translation };
        }
    }
}

/// PCRE2 confirms each witness, no shorter one exists, and none is found where there is none.
#[test]
fn witnesses() {
    let mut random = Random::new(4);
    let universe = all_strings("/", b"ab/\n1A", 4);
    let (mut found, mut nothing, mut unknown) = (0u64, 0u64, 0u64);
    for _ in 0..rounds(1_500) {
        let (rule, other) = (exact_rule(&mut random), exact_rule(&mut random));
        let question = *random.pick(&[Question::Outside, Question::Inside]);
        let inside = question == Question::Inside;
        let is_answer =
            |uri: &[u8]| answer(&rule.regex, uri) == Some(true) && answer(&other.regex, uri) == Some(inside);
        let shortest = universe.iter().find(|uri| is_answer(uri));
        let name = format!("{question:?} {:?} {:?}", rule.text, other.text);
        match witness(question, &rule.translation.hir, &[&other.translation.hir], &Limits::default()) {
            Witness::Found(uri) => {
                found += 1;
                assert!(is_answer(&uri), "{name}: {uri:?}");
                assert!(uri.starts_with(b"/") && !uri.contains(&0), "{name}: {uri:?}");
                assert!(shortest.is_none_or(|shortest| uri.len() <= shortest.len()), "{name}: {uri:?}");
            }
            Witness::Nothing => {
                nothing += 1;
                assert_eq!(shortest, None, "{name}");
            }
            Witness::Unknown => unknown += 1,
        }
    }
    assert!(found > 100 && nothing > 100 && unknown * 20 < found, "{found} {nothing} {unknown}");
    println!("{found} witnesses, {nothing} proofs of none, {unknown} unknown");
}

/// A live rule is the first to match its URI; a dead rule is the first for no URI, and its covers match all of its
/// URIs.
#[test]
fn dead_rules() {
    let mut random = Random::new(5);
    let universe = all_strings("/", b"ab/\n.", 4);
    let (mut live, mut dead, mut unknown) = (0u64, 0u64, 0u64);
    for _ in 0..rounds(400) {
        let texts: Vec<String> = (0..5).map(|_| random_pattern(&mut random)).collect();
        let patterns: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        let regexes: Vec<_> = patterns.iter().map(|text| Regex::new(text).map_err(|error| error.code)).collect();
        let languages: Vec<_> = patterns.iter().map(|text| Some(parse(text).ok()?.translate())).collect();
        let index = FirstMatch::new(&patterns).unwrap();
        for rule in 0..patterns.len() {
            if regexes[..=rule].iter().any(Result::is_err) {
                break;
            }
            match liveness(rule, &languages, |uri| index.first(uri, rule + 1), &Limits::default()) {
                Liveness::Live(uri) => {
                    live += 1;
                    assert_eq!(first_by_loop(&regexes[..=rule], &uri), Some(First::Match(rule)), "{texts:?} {uri:?}");
                }
                Liveness::Dead { by, example } => {
                    dead += 1;
                    let reaches = |uri: &&Vec<u8>| first_by_loop(&regexes[..=rule], uri) == Some(First::Match(rule));
                    assert_eq!(universe.iter().find(reaches), None, "{texts:?} {rule}");
                    let taken = by.first().map_or(First::None, |&cover| First::Match(cover));
                    assert!(example.is_empty() || index.first(&example, rule) == taken, "{texts:?} {rule}");
                }
                Liveness::Unknown => unknown += 1,
            }
        }
    }
    assert!(live > 50 && dead > 20, "{live} {dead} {unknown}");
    println!("{live} live, {dead} dead, {unknown} unknown");
}
