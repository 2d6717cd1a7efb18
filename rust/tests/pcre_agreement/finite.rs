//! Lists of strings agree with PCRE2.

use crate::random::{Random, all_strings, rounds};
use crate::{LIMIT, answer, both, random};
use nginxopt_native::language::{Finite, finite, finite_spelled};
use nginxopt_native::pcre::{MatchOutcome, Regex};
use nginxopt_native::syntax::{Hir, Translation, literal, parse};

/// A finite language has exactly those strings over a small alphabet that PCRE2 matches.
#[test]
fn finite_languages() {
    let mut random = Random::new(3);
    let universe = all_strings("", b"/abA.\n", 5);
    let (mut languages, mut compared) = (0u64, 0u64);
    for _ in 0..rounds(4_000) {
        let text = if random.one_in(2) { random::rule(&mut random) } else { random::pattern(&mut random) };
        let Some((regex, pattern)) = both(&text) else {
            continue;
        };
        let translation = pattern.translate();
        let Finite::Strings { strings, any_case } = finite(&translation.hir, 256) else {
            continue;
        };
        languages += 1;
        let listed = |string: &[u8]| {
            if any_case { strings.contains(&string.to_ascii_lowercase()) } else { strings.iter().any(|s| s == string) }
        };
        for string in universe.iter().step_by(1 + random.below(7)) {
            let expected = answer(&regex, string).expect("no match limit on short strings");
            assert!(!expected || listed(string), "{text:?} lacks {string:?}");
            compared += 1;
        }
        if has_only_ends(&translation) {
            for string in &strings {
                let variants =
                    if any_case { vec![string.clone(), string.to_ascii_uppercase()] } else { vec![string.clone()] };
                let matched = variants.iter().all(|variant| regex.is_match(variant, LIMIT) == MatchOutcome::Yes);
                assert!(matched, "{text:?} has {string:?}");
            }
        }
        assert_spelled(&translation.hir, &strings, any_case);
    }
    assert!(languages > 100);
    println!("{compared} comparisons, {languages} finite languages");
}

/// Whether the list is the language itself: the translation is exact, and no word boundary was left out.
fn has_only_ends(translation: &Translation) -> bool {
    use regex_syntax::hir::Look;
    let looks = translation.hir.properties().look_set();
    translation.exact && looks.iter().all(|look| matches!(look, Look::Start | Look::End))
}

/// Spelled out, the list has each string once, and folds to the other list.
fn assert_spelled(hir: &Hir, strings: &[Vec<u8>], any_case: bool) {
    let Finite::Strings { strings: mut spelled, any_case: false } = finite_spelled(hir, 100_000) else {
        return;
    };
    let count = spelled.len();
    spelled.sort();
    spelled.dedup();
    assert_eq!(spelled.len(), count);
    if any_case {
        spelled.iter_mut().for_each(|string| string.make_ascii_lowercase());
        spelled.sort();
        spelled.dedup();
    }
    let mut strings = strings.to_vec();
    strings.sort();
    assert_eq!(spelled, strings);
}

/// Literals have the strings that the general reader finds, in the same order; other patterns are not literals.
#[test]
fn literals() {
    let mut random = Random::new(11);
    let mut literals = 0u64;
    for _ in 0..rounds(40_000) {
        let pattern = near_literal(&mut random);
        let Some(literal) = literal(&pattern) else {
            continue;
        };
        literals += 1;
        let shown = pattern.escape_ascii();
        let general = parse(&pattern).unwrap_or_else(|refusal| panic!("{shown}: {refusal}"));
        assert!(general.captures == 0 && !general.named, "{shown}");
        let translation = general.translate();
        assert!(translation.exact, "{shown}");
        let strings: Vec<Vec<u8>> = literal.strings().collect();
        let regex = Regex::new(&pattern).expect("a pattern that PCRE2 takes");
        assert!(strings.iter().all(|string| regex.is_match(string, LIMIT) == MatchOutcome::Yes), "{shown}");
        assert_eq!(finite(&translation.hir, 64), Finite::Strings { strings, any_case: false }, "{shown}");
    }
    assert!(literals > 1_000);
    println!("{literals} literals");
}

/// A literal or nearly one, of any bytes.
fn near_literal(random: &mut Random) -> Vec<u8> {
    let mut pattern = if random.one_in(20) { Vec::new() } else { b"^".to_vec() };
    for _ in 0..random.below(6) {
        match random.below(8) {
            0 => pattern.push(random.below(256) as u8),
            1 => pattern.extend([b'\\', random.below(256) as u8]),
            2 => pattern.extend([b'\\', *random.pick(br"./-_$?\\^{#")]),
            _ => pattern.push(*random.pick(b"/ab1-_ ]}~#,=")),
        }
    }
    pattern.extend_from_slice(random.pick::<&[u8]>(&[b"", b"", b"", b"?", b"/?"]));
    pattern.extend_from_slice(random.pick::<&[u8]>(&[b"$", b"$", br"\z", br"\z", br"\Z", b""]));
    pattern
}
