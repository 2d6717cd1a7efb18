//! What is said of patterns agrees with PCRE2, on random patterns and subjects.
//!
//! `cargo test` makes rounds for a few seconds. `NGINXOPT_FUZZ=100 cargo test --release --test pcre_agreement` makes a
//! hundred times as many; `NGINXOPT_SEED=7` makes other ones. With `-- --nocapture`, each test tells what it compared.

mod random;

use nginxopt_native::first_match::{Doubt, First, FirstMatch};
use nginxopt_native::language::{Finite, Limits, Question, Verdict, Witness, finite, finite_spelled, verdict, witness};
use nginxopt_native::pcre::{MatchOutcome, Regex};
use nginxopt_native::syntax::{Hir, Pattern, Readings, Translation, literal, parse, read_as};
use random::{Random, all_strings, rounds};
use regex_automata::meta;

/// The match limit of PCRE where nginx runs it.
const LIMIT: u32 = 10_000_000;

/// A matcher of a translation; `None` if it is too large to be built.
fn matcher(translation: &Translation) -> Option<meta::Regex> {
    let config = meta::Config::new().utf8_empty(false).nfa_size_limit(Some(4 << 20));
    meta::Builder::new().configure(config).build_from_hir(&translation.hir).ok()
}

/// A pattern that both PCRE2 and the parser take.
fn both(text: &str) -> Option<(Regex, Pattern)> {
    Some((Regex::new(text.as_bytes()).ok()?, parse(text.as_bytes()).ok()?))
}

fn random_pattern(random: &mut Random) -> String {
    match random.below(3) {
        0 => random::soup(random),
        1 => random::pattern(random),
        _ => random::rule(random),
    }
}

/// The answer of PCRE2; `None` if it gave up.
fn answer(regex: &Regex, subject: &[u8]) -> Option<bool> {
    match regex.is_match(subject, LIMIT) {
        MatchOutcome::Yes => Some(true),
        MatchOutcome::No => Some(false),
        MatchOutcome::Error(_) => None,
    }
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

/// All strings that differ from one by the case of ASCII letters.
fn case_variants(string: &[u8]) -> Vec<Vec<u8>> {
    string.iter().fold(vec![Vec::new()], |variants, byte| {
        let cases = [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
        let cases = if cases[0] == cases[1] { &cases[..1] } else { &cases[..] };
        let longer = |variant: &Vec<u8>| cases.iter().map(|case| [variant, &[*case][..]].concat()).collect();
        variants.iter().flat_map(|variant: &Vec<u8>| -> Vec<Vec<u8>> { longer(variant) }).collect()
    })
}

/// A finite language holds, of all strings over a small alphabet, those that PCRE2 matches, and no others at all.
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

/// What is read as a literal is what the general way reads, string by string in the same order; and nothing else is.
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

/// A pattern that is a literal or nearly one, of any bytes.
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

/// A witness is what was asked for by PCRE2's word, no shorter one exists, and where there is none none is found.
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

/// The first of some patterns by a plain loop; `None` for the index if none matches, and no answer if PCRE2 gives up.
fn first_by_loop(regexes: &[Result<Regex, i32>], subject: &[u8]) -> Option<First> {
    for (index, regex) in regexes.iter().enumerate() {
        match regex.as_ref().ok()?.is_match(subject, LIMIT) {
            MatchOutcome::Yes => return Some(First::Match(index)),
            MatchOutcome::No => {}
            MatchOutcome::Error(_) => return None,
        }
    }
    Some(First::None)
}

/// Whether what the index says is what the loop finds. It may be in doubt of a pattern, if none before it matches; and
/// of a portable one for want of time or stack only.
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

/// A live rule is the first that matches its URI; of a dead one, no URI is, and its covers leave nothing over.
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
            match verdict(rule, &languages, |uri| index.first(uri, rule + 1), &Limits::default()) {
                Verdict::Live(uri) => {
                    live += 1;
                    assert_eq!(first_by_loop(&regexes[..=rule], &uri), Some(First::Match(rule)), "{texts:?} {uri:?}");
                }
                Verdict::Dead { by, example } => {
                    dead += 1;
                    let reaches = |uri: &&Vec<u8>| first_by_loop(&regexes[..=rule], uri) == Some(First::Match(rule));
                    assert_eq!(universe.iter().find(reaches), None, "{texts:?} {rule}");
                    let taken = by.first().map_or(First::None, |&cover| First::Match(cover));
                    assert!(example.is_empty() || index.first(&example, rule) == taken, "{texts:?} {rule}");
                }
                Verdict::Unknown => unknown += 1,
            }
        }
    }
    assert!(live > 50 && dead > 20, "{live} {dead} {unknown}");
    println!("{live} live, {dead} dead, {unknown} unknown");
}

/// Where the index says that no spelling of a string is matched, PCRE2 says so of each; and it does say it.
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
            if index.may_match_some_case(&subject, patterns.len()) {
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

/// The index finds what a loop over all patterns finds, and is seldom in doubt of one that is portable.
#[test]
fn first_matches() {
    let mut random = Random::new(6);
    let (mut compared, mut unportable, mut long) = (0u64, 0u64, 0u64);
    for _ in 0..rounds(1_500) {
        let texts: Vec<String> = (0..1 + random.below(12)).map(|_| random_pattern(&mut random)).collect();
        let patterns: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        let regexes: Vec<_> = patterns.iter().map(|text| Regex::new(text).map_err(|error| error.code)).collect();
        let index = FirstMatch::new(&patterns).unwrap();
        // A pattern that PCRE2 does not take is an error only where it is asked, and none is in a running nginx.
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

/// What each reading may change: nothing but case, nothing but less, nothing but strings with a final newline.
#[test]
fn declared_readings() {
    let mut random = Random::new(8);
    let mut changed = 0u64;
    for _ in 0..rounds(15_000) {
        let text = random_pattern(&mut random);
        let Some((regex, _)) = both(&text) else {
            continue;
        };
        let which = random.below(4);
        let readings = Readings {
            ignore_case: which == 0,
            literal_dots: which == 1,
            literal_ends: which == 2,
            drop_newline_twins: which == 3,
        };
        let Ok(read) = read_as(text.as_bytes(), &readings) else {
            continue; // it is not portable as it would be read
        };
        let expected = if which == 0 { Some(format!("(?i){text}").into_bytes()) } else { read.clone() };
        changed += u64::from(read.is_some());
        let compile =
            |text: &Option<Vec<u8>>| text.as_ref().map(|text| Regex::new(text).expect("a reading is a pattern"));
        let (read, expected) = (compile(&read), compile(&expected));
        for _ in 0..8 {
            let subject = random::subject(&mut random, &text);
            let as_is = answer(&regex, &subject);
            let now = read.as_ref().map_or(as_is, |read| answer(read, &subject));
            let holds = match which {
                0 => now == answer(expected.as_ref().expect("a text"), &subject),
                3 if subject.last() != Some(&b'\n') => now == as_is,
                _ => now <= as_is,
            };
            assert!(holds, "{text:?} {readings:?} on {:?}", subject.escape_ascii().to_string());
        }
    }
    assert!(changed > 1_000);
    println!("{changed} patterns changed");
}
