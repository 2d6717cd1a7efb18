//! A portable pattern means the same in every available PCRE; constructs known to differ are refused.
//!
//! `cargo test` makes rounds for a few seconds; `NGINXOPT_FUZZ`, `NGINXOPT_SEED` and `-- --nocapture` are as in
//! `pcre_agreement`, and `NGINXOPT_PCRE` names further libraries.

mod libraries;
mod random;

use libraries::{Code, Library, Says};
use nginxopt_native::syntax::{Ast, Pattern, Refusal, begins, parse, parse_to_match, prefix};
use random::{Random, rounds};

/// A string that the pattern may match, ignoring its assertions.
fn sample(random: &mut Random, ast: &Ast, out: &mut Vec<u8>) {
    match ast {
        Ast::Byte(byte) => out.push(*byte),
        Ast::Class(set) => {
            let members: Vec<u8> = set.iter().collect();
            let plain: Vec<u8> = members.iter().copied().filter(u8::is_ascii_graphic).collect();
            let from = if plain.is_empty() || random.one_in(6) { &members } else { &plain };
            out.push(*random.pick(from));
        }
        Ast::Concat(items) => items.iter().for_each(|item| sample(random, item, out)),
        Ast::Alternation(branches) => {
            let branch = random.pick(branches);
            sample(random, branch, out);
        }
        Ast::Repeat { min, max, sub, .. } => {
            let most = max.unwrap_or(min + 3).min(min + 4);
            let count = *min as usize + random.below((most - min) as usize + 1);
            (0..count.min(40)).for_each(|_| sample(random, sub, out));
        }
        Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => sample(random, sub, out),
        Ast::Dollar if random.one_in(4) => out.push(b'\n'),
        _ => {}
    }
}

/// Subjects that match, nearly match, or are anything.
fn subjects(random: &mut Random, text: &str, pattern: Option<&Pattern>) -> Vec<Vec<u8>> {
    let mut subjects = Vec::new();
    for place in 0..12 {
        let mut subject = Vec::new();
        match pattern {
            Some(pattern) if place % 3 > 0 => sample(random, &pattern.ast, &mut subject),
            _ => subject = random::subject(random, text),
        }
        if place % 4 == 2 && !subject.is_empty() {
            let at = random.below(subject.len());
            subject[at] = *random.pick(b"aAbB/.-_ 1\n\x0b\xe9");
        }
        if place % 5 == 3 {
            subject.insert(0, *random.pick(b"a/x\n"));
        }
        subjects.push(subject);
    }
    subjects
}

fn compile<'l>(libraries: &'l [Library], text: &str, jit: bool) -> Vec<Result<Code<'l>, i32>> {
    libraries.iter().map(|library| library.compile(text.as_bytes(), jit)).collect()
}

/// Every library compiles a portable pattern, and all give the same groups on subjects that it settles.
#[test]
fn portable_patterns_agree() {
    agree(Random::new(21), random::any_pattern, parse, 4);
}

/// So they do for patterns that are only matched: those with references and positive lookaheads.
#[test]
fn patterns_to_match_agree() {
    let text = |random: &mut Random| {
        let [before, inside, behind] = [(); 3].map(|()| random::part(random));
        if random.one_in(4) {
            format!("{before}({inside})\\1{behind}")
        } else {
            format!("^{before}(?={inside}){behind}")
        }
    };
    agree(Random::new(24), text, parse_to_match, 12);
}

/// Of the questions, one in `matching` must have a match.
fn agree(
    mut random: Random,
    text: impl Fn(&mut Random) -> String,
    parse: fn(&[u8]) -> Result<Pattern, Refusal>,
    matching: u64,
) {
    let libraries = Library::all();
    let (mut portable, mut compared, mut matched, mut of_jit, mut differ) = (0u64, 0u64, 0u64, 0u64, Vec::new());
    for _ in 0..rounds(20_000) {
        let text = text(&mut random);
        let Ok(pattern) = parse(text.as_bytes()) else { continue };
        portable += 1;
        let codes = compile(&libraries, &text, false);
        let refused = codes.iter().zip(&libraries).find(|(code, _)| code.is_err());
        assert!(refused.is_none(), "{text:?} is refused by {}", refused.expect("one").1.name);
        let jit = compile(&libraries, &text, true);
        for subject in subjects(&mut random, &text, Some(&pattern)) {
            if !pattern.settles(&subject) {
                continue;
            }
            let says = |code: &Result<Code, i32>| {
                code.as_ref().ok().map(|code| code.says(&subject, pattern.captures as usize))
            };
            let expected = says(&codes[0]).expect("a pattern that PCRE2 takes");
            matched += u64::from(matches!(expected, Says::Match(_)));
            for (code, library) in codes.iter().zip(&libraries) {
                compared += 1;
                let found = says(code).expect("a pattern that the library takes");
                assert_eq!(found, expected, "{text:?} on {:?}: {}", subject.escape_ascii().to_string(), library.name);
            }
            for (code, library) in jit.iter().zip(&libraries) {
                of_jit += 1;
                if says(code).as_ref() != Some(&expected) {
                    differ.push(format!(
                        "{text:?} on {:?}: JIT of {}",
                        subject.escape_ascii().to_string(),
                        library.name
                    ));
                }
            }
        }
    }
    assert!(
        portable > 3_000 && matched * matching > compared / libraries.len() as u64,
        "{portable} {compared} {matched}"
    );
    let names: Vec<_> = libraries.iter().map(|library| library.name.as_str()).collect();
    println!("{portable} portable patterns, {compared} comparisons in {}, {matched} matches", names.join(", "));
    println!("{of_jit} with JIT, {} differ", differ.len());
    differ.iter().take(10).for_each(|one| println!("  {one}"));
}

/// A pattern reported as an error is one for every library.
#[test]
fn errors_are_errors_everywhere() {
    let libraries = Library::all();
    let mut random = Random::new(22);
    let mut errors = 0u64;
    for _ in 0..rounds(20_000) {
        let text = random::any_pattern(&mut random);
        let Err(refusal) = parse(text.as_bytes()) else { continue };
        if refusal.is_error {
            errors += 1;
            let codes = compile(&libraries, &text, false);
            let takes = codes.iter().zip(&libraries).find(|(code, _)| code.is_ok());
            assert!(takes.is_none(), "{text:?} is taken by {}: {refusal}", takes.expect("one").1.name);
        }
    }
    assert!(errors > 200, "{errors}");
    println!("{errors} errors");
}

/// However a library reads a refused pattern, its matches begin with the prefix.
#[test]
fn prefixes_bound_every_library() {
    let libraries = Library::all();
    let mut random = Random::new(23);
    let (mut bounded, mut matched) = (0u64, 0u64);
    for _ in 0..rounds(30_000) {
        let text = random::odd_rule(&mut random);
        let prefix = prefix(text.as_bytes());
        if prefix.is_empty() || parse(text.as_bytes()).is_ok() {
            continue;
        }
        bounded += 1;
        let codes = compile(&libraries, &text, false);
        for subject in subjects(&mut random, &text, None) {
            let subject = if random.one_in(2) { [prefix.as_slice(), &subject].concat() } else { subject };
            for (code, library) in
                codes.iter().zip(&libraries).filter_map(|(code, library)| Some((code.as_ref().ok()?, library)))
            {
                if matches!(code.says(&subject, 20), Says::Match(_)) {
                    matched += 1;
                    let shown = subject.escape_ascii();
                    assert!(begins(&subject, &prefix), "{text:?} on \"{shown}\": {} finds a match", library.name);
                }
            }
        }
    }
    assert!(bounded > 1_000 && matched > 500, "{bounded} {matched}");
    println!("{bounded} patterns, {matched} matches");
}

/// Patterns on which releases of PCRE differ, with a subject, patterns that only some compile, and patterns that hit
/// bugs of a release. Two or more available libraries differ in most of them.
const DIFFERENT: &[(&str, &[u8])] = &[
    ("^/id/[0-9]{,3}$", b"/id/42"),
    ("^/a{1, 3}$", b"/aa"),
    ("^/a{ 1}$", b"/a"),
    (r"^/\p{Greek}$", b"/\xb7"),
    (r"^/\p{Han}$", b"/\xb7"),
    (r"(?i)^/\p{Lu}$", b"/a"),
    (r"^/\x$", b"/\0"),
    (r"^/a\b{ 1}$", b"/a{ 1}"),
    (r"^/\i$", b"/i"),
    (r"^/[\w-.]$", b"/-"),
    (r"^/[a-\d]$", b"/-"),
    (r"^/\x{41$", b"/x{41"),
    (r"^/\o{}$", b"/o{}"),
    (r"^/\8$", b"/8"),
    (r"^/[\8]$", b"/8"),
    (r"^/\x{ 41 }$", b"/A"),
    ("^/(?<abcdefghijklmnopqrstuvwxyzabcdefg>a)$", b"/a"),
    (r"^/(?<=a?)b", b"/b"),
    (r"^/(?=a\K)", b"/a"),
    ("^/(?xx)a b$", b"/ab"),
    ("^/(?^)a$", b"/a"),
    ("(*NUL)^/a$", b"/a"),
    ("^/(?:a|ab(?R)?)c", b"/ac"),
    (r"^/(a\1?){4}$", b"/aaaaaa"),
    ("^/a(?#c)+$", b"/aa"),
    ("^/(?[a-z])$", b"/a"),
    (r"^/\N{U+41}$", b"/A"),
    ("^/[[:<:]]a", b"/a"),
    ("(?m)^b$", b"/a\nb"),
    ("^/(a|ab){1}+c", b"/abc"),
    ("^/(?>a)$", b"/a"),
    ("^/[Aa]{2}$", b"/aa"),
    ("a{1,3}?b", b"aab"),
    ("((?i)A)(?m)B", b"ab"),
    (r"(?=(a))\1?b", b"ab"),
    ("(?=a)(a|)+a", b"a"),
];

/// Patterns known to differ are refused.
#[test]
fn known_differences_are_refused() {
    let libraries = Library::all();
    let mut seen = 0;
    for (text, subject) in DIFFERENT {
        assert!(parse(text.as_bytes()).is_err_and(|refusal| !refusal.is_error), "{text}");
        let codes = compile(&libraries, text, false);
        let says: Vec<_> = codes.iter().map(|code| code.as_ref().ok().map(|code| code.says(subject, 9))).collect();
        seen += usize::from(says.iter().any(|one| *one != says[0]));
    }
    assert!(libraries.len() < 3 || seen >= 15, "only {seen} differ in the libraries at hand");
    println!("{seen} of {} differ in the libraries at hand", DIFFERENT.len());
}

/// The vertical tab may or may not be a space: a subject with one is not settled where that matters.
#[test]
fn the_vertical_tab_is_not_settled() {
    for text in [r"^/\s$", r"^/\S$", r"[^\s]", r"[\s\S]", r"a\s*b"] {
        assert!(!parse(text.as_bytes()).expect(text).settles(b"/\x0b"), "{text}");
    }
}

/// On subjects of any length that a pattern settles, no library runs out of its stack, JIT included.
#[test]
fn stacks_suffice() {
    let libraries = Library::all();
    let (mut asked, mut unsettled) = (0, 0);
    let groups = [
        "(?:a|b)*",
        "(?:[^x]|y)*z",
        "(?:/[^/]+)+",
        "([^/]*/)*x",
        "(a(b)?)*",
        "(?:(?:a|b)(?:c|d)?)*",
        "(a|(b|(c|d)))+",
        "((a)|(b))*?z",
        "(a){3000}",
        "(?:ab?){0,900}c",
        "(?!(?:a|b)*z)a",
        "[^x]*z",
        "(.*)a(.*)b(.*)",
    ];
    for text in groups.iter().flat_map(|group| [format!("^/{group}$"), format!("^/({group})\\z")]) {
        let pattern = parse(text.as_bytes()).expect(&text);
        for (jit, library) in libraries.iter().flat_map(|library| [(false, library), (true, library)]) {
            let code = library.compile(text.as_bytes(), jit).unwrap_or_else(|_| panic!("{text}"));
            for (filler, length) in ["ab", "a", "/a", "ac", "b"]
                .iter()
                .flat_map(|f| [60, 120, 250, 500, 1_000, 2_600, 8_000].map(|l| (f, l)))
            {
                let mut subject = format!("/{}", filler.repeat(length / filler.len()));
                subject.truncate(length);
                if !pattern.settles(subject.as_bytes()) {
                    unsettled += 1;
                    continue;
                }
                asked += 1;
                let says = code.says(subject.as_bytes(), pattern.captures as usize);
                let is_answer = !matches!(says, Says::Gives(code) if code != -47 && code != -8);
                assert!(is_answer, "{text} on {length} bytes of {filler}: {says:?} of {} {jit}", library.name);
            }
        }
    }
    assert!(asked > 1_000 && unsettled > 1_000, "{asked} {unsettled}");
    println!("{asked} questions, {unsettled} not settled");
}
