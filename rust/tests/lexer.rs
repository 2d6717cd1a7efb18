//! The lexer's laws and nginx's token rules by example. The same rules are tested on the nginx binary in
//! `tests/nginx/test_lexer_nginx.py`.

use nginxopt_native::lexer::bulk::{Bulk, FoldedEvent, Folding};
use nginxopt_native::lexer::{CONF_BUFFER, Checkpoint, Event, LexErrorKind, Lexer};
use proptest::prelude::*;

/// The values of the words of the only statement in `text`.
fn words(text: &str) -> Vec<String> {
    let mut lexer = Lexer::new(text.as_bytes());
    let Some(Ok(Event::Statement { words, .. })) = lexer.next() else {
        panic!("no statement in {text:?}");
    };
    assert!(lexer.next().is_none(), "more than one statement in {text:?}");
    words.iter().map(|word| String::from_utf8(word.value.to_vec()).expect("a text")).collect()
}

/// Kind and line of the error in `bytes`.
fn refusal(bytes: &[u8]) -> (LexErrorKind, u32) {
    let error = Lexer::new(bytes).find_map(Result::err).expect("an error");
    (error.kind, error.line)
}

/// Quotes are removed, and only the six escapes are replaced.
#[test]
fn values() {
    assert_eq!(words(r#"a "b c" 'd"' "" e"f;"#), ["a", "b c", "d\"", "", "e\"f"]);
    assert_eq!(words(r#"a\t\r\n\\\"\' "\.\x\;";"#), ["a\t\r\n\\\"'", r"\.\x\;"]);
    assert_eq!(words(r"a\ b c\;d e\{f;"), [r"a\ b", r"c\;d", r"e\{f"]);
}

/// A `{` belongs to the word after `$` only, and `}` and `#` belong to a word that has begun.
#[test]
fn braces_in_words() {
    assert_eq!(words("a ${b}c d$e${{f g}h i#j;"), ["a", "${b}c", "d$e${{f", "g}h", "i#j"]);
    let events: Vec<_> = Lexer::new(b"a$x{b;}").map(|event| event.expect("no error")).collect();
    assert!(matches!(&events[0], Event::Open { words, end: 4 } if words[0].value.as_ref() == b"a$x"));
    assert!(matches!(events[2], Event::Close { start: 6, line: 1 }));
}

/// A `)` directly after a closing quote begins a word; anything else there is refused.
#[test]
fn after_a_quote() {
    assert_eq!(words(r#"if ($a = "b");"#), ["if", "($a", "=", "b", ")"]);
    assert_eq!(refusal(b"a \"b\"c;"), (LexErrorKind::AfterQuote { byte: b'c', start: 2 }, 1));
}

/// Spans hold the word as written, quotes included, and lines count every line feed.
#[test]
fn spans_and_lines() {
    let text = b"\r\nname \"a\nb\" c\\\nd # why\n e;";
    let events: Vec<_> = Lexer::new(text).map(|event| event.expect("no error")).collect();
    assert_eq!(events[0], Event::Comment { start: 18, end: 23, line: 4 });
    let Event::Statement { words, end } = &events[1] else { panic!() };
    let read: Vec<_> = words.iter().map(|w| (&text[w.start..w.end], w.line, w.quoted)).collect();
    let expected: [(&[u8], u32, bool); 4] =
        [(b"name", 2, false), (b"\"a\nb\"", 2, true), (b"c\\\nd", 3, false), (b"e", 5, false)];
    assert_eq!(read, expected);
    assert_eq!(*end, text.len());
}

/// Message, offset, place of what is unfinished, and line of the error in `text`.
fn refused(text: &[u8]) -> (String, usize, Option<usize>, u32) {
    let mut lexer = Lexer::new(text);
    let error = lexer.find_map(Result::err).expect("an error");
    assert!(lexer.next().is_none(), "the lexer goes on after an error");
    (error.to_string(), error.offset, error.kind.opened_at(), error.line)
}

/// Each refusal has nginx's words and the place of what is unfinished.
#[test]
fn refusals() {
    let check = |text: &[u8], message: &str, offset, opened_at, line| {
        let expected = (message.to_owned(), offset, opened_at, line);
        assert_eq!(refused(text), expected, "{}", text.escape_ascii());
    };
    check(b";", r#"unexpected ";""#, 0, None, 1);
    check(b"a; {", r#"unexpected "{""#, 3, None, 1);
    check(b"\n}", r#"unexpected "}""#, 1, None, 2);
    check(b"a { b }", r#"unexpected "}""#, 6, Some(4), 1);
    check(b"a 'b'\xff;", "unexpected \"\u{fffd}\"", 5, Some(2), 1);

    let in_statement = r#"unexpected end of file, expecting ";" or "}""#;
    check(b"a\n", in_statement, 2, Some(0), 2);
    check(b"a b", in_statement, 3, Some(0), 1);
    check(b"a b\\", in_statement, 4, Some(0), 1);
    check(b"a 'b\nc", in_statement, 6, Some(2), 2);
    check(b"a 'b\\", in_statement, 5, Some(2), 1);

    let in_block = r#"unexpected end of file, expecting "}""#;
    check(b"a { b { c; }\n", in_block, 13, Some(2), 2);
    check(b"a_by_lua_block {\n \"}\"", in_block, 21, Some(15), 2);
}

/// A word and what ends it fit into nginx's buffer or are refused, by the byte; so does a comment.
#[test]
fn buffer() {
    let accepted = |prefix: &str, length: usize, suffix: &str| {
        let text = format!("\n a\n {prefix}{}{suffix}", "w".repeat(length));
        match Lexer::new(text.as_bytes()).find_map(Result::err) {
            None => true,
            Some(error) => {
                assert!(error.to_string().starts_with("too long parameter"), "{error}");
                assert_eq!(error.line, 3);
                false
            }
        }
    };
    let longest = |prefix: &str, suffix: &str| {
        let length = (CONF_BUFFER - 8..CONF_BUFFER + 8).rfind(|&length| accepted(prefix, length, suffix));
        length.expect("some length is accepted")
    };
    assert_eq!(longest("", ";"), 4095);
    assert_eq!(longest("", " ;"), 4094);
    assert_eq!(longest("\"", "\";"), 4094);
    assert_eq!(longest("\"", "\" ;"), 4093);
    assert_eq!(longest("#", "\n;"), 4094);
    assert_eq!(longest("\\", ";"), 4094);
}

/// A byte order mark is part of the first word, as nginx has it.
#[test]
fn byte_order_mark() {
    assert_eq!(words("\u{feff}# user;"), ["\u{feff}#", "user"]);
}

/// The body of a Lua block is one word that ends at the brace that balances, not at those in strings and comments.
#[test]
fn lua_blocks() {
    let body = " if a then b{ c = '}' } end -- }\n --[[ } ]] d = [=[ }]] ]=] e = t[u[1]] it's \n";
    let text = format!("content_by_lua_block {{{body}}} set_by_lua_block $x {{}} a;");
    let events: Vec<_> = Lexer::new(text.as_bytes()).map(|event| event.expect("no error")).collect();
    assert_eq!(events.len(), 3);
    let Event::Statement { words, end } = &events[0] else { panic!() };
    assert_eq!((words.len(), words[1].value.as_ref(), words[1].quoted), (2, body.as_bytes(), true));
    assert_eq!((text.as_bytes()[words[1].start], words[1].end), (b'{', *end));
    assert!(matches!(&events[2], Event::Statement { words, .. } if words[0].line == 3));
}

/// A value is borrowed from the file unless an escape was replaced in it.
#[test]
fn values_are_borrowed() {
    let Some(Ok(Event::Statement { words, .. })) = Lexer::new(br"a '\.b' c\\d;").next() else { panic!() };
    let owned: Vec<_> = words.iter().map(|word| matches!(word.value, std::borrow::Cow::Owned(_))).collect();
    assert_eq!(owned, [false, false, true]);
}

proptest! {
    /// Any bytes are read to their end or refused, with spans in order and inside the file.
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(proptest::sample::select(b"ab \n\t;{}\"'\\$#)\r\xff\0".to_vec()), 0..60)) {
        let mut last = 0;
        for event in Lexer::new(&bytes) {
            let Ok(event) = event else { break };
            if let Event::Statement { words, end } | Event::Open { words, end } = event {
                prop_assert!(!words.is_empty());
                for word in &words {
                    prop_assert!(last <= word.start && word.start < word.end && word.end <= end);
                    last = word.end;
                }
                prop_assert!(end <= bytes.len());
            }
        }
    }

    /// What is written in double quotes with the six escapes is read back.
    #[test]
    fn quoting_round_trip(values in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 1..5)) {
        let mut text = Vec::new();
        for value in &values {
            text.push(b'"');
            for &byte in value {
                match byte {
                    b'"' | b'\\' => text.extend([b'\\', byte]),
                    b'\n' => text.extend(b"\\n"),
                    b'\r' => text.extend(b"\\r"),
                    b'\t' => text.extend(b"\\t"),
                    _ => text.push(byte),
                }
            }
            text.extend(b"\" ");
        }
        text.push(b';');
        let Some(Ok(Event::Statement { words, .. })) = Lexer::new(&text).next() else {
            return Err(TestCaseError::fail("refused"));
        };
        let read: Vec<_> = words.iter().map(|word| word.value.to_vec()).collect();
        prop_assert_eq!(read, values);
    }
}

/// A run is folded from `least` rewrites on; comments belong to it only where rewrites follow, and reading goes on.
#[test]
fn long_runs_are_folded() {
    let text = b"location / {\n # a\n rewrite a b;\n # c\n rewrite c # d\n e;\n # f\n set $a b; }\nrewrite g h;";
    let read = |least| {
        let items = Folding::new(text, least, Checkpoint::default());
        items.map(|item| item.expect("no error")).collect::<Vec<_>>()
    };
    let folded = read(2);
    assert_eq!(folded.len(), 7);
    assert_eq!(folded[2], FoldedEvent::Bulk(Bulk { start: 19, end: 55, line: 3, count: 2 }));
    assert!(matches!(folded[3], FoldedEvent::Event(Event::Comment { start: 57, line: 7, .. })));
    let events: Vec<_> = Lexer::new(text).map(|event| FoldedEvent::Event(event.expect("no error"))).collect();
    assert_eq!(read(3), events);
    assert_eq!(read(0), events);
}

proptest! {
    /// Folding loses nothing: unfolded again, the items are the events, and an error stays where it is.
    #[test]
    fn folding_is_reversible(
        parts in proptest::collection::vec(proptest::sample::select(
            vec!["rewrite a b;", "rewrite \"c\" # d\n e;", "\n# f\n", "set g h;", "if (i) {", "}", " ", "rewrite {", ";"]
        ), 0..24),
        least in 1_usize..4,
    ) {
        let text = parts.concat();
        let bytes = text.as_bytes();
        let mut unfolded = Vec::new();
        for item in Folding::new(bytes, least, Checkpoint::default()) {
            match item {
                Ok(FoldedEvent::Event(event)) => unfolded.push(Ok(event)),
                Ok(FoldedEvent::Bulk(bulk)) => {
                    let events = Lexer::resume(&bytes[..bulk.end], Checkpoint::at(bulk.start, bulk.line));
                    let before = unfolded.len();
                    unfolded.extend(events);
                    let statements = unfolded[before..].iter().filter(|e| matches!(e, Ok(Event::Statement { .. })));
                    prop_assert_eq!(statements.count(), bulk.count);
                    prop_assert!(bulk.count >= least);
                }
                Err(error) => unfolded.push(Err(error)),
            }
        }
        prop_assert_eq!(unfolded, Lexer::new(bytes).collect::<Vec<_>>());
    }
}

/// Open blocks are never copied: with a copy for each event or batch, two million would take a week.
#[test]
fn a_million_blocks_in_each_other_are_read() {
    let depth = 1_000_000;
    let text = [b"a{".repeat(depth), b"rewrite b c;".to_vec(), b"}".repeat(depth)].concat();
    for least in [0, 1] {
        let mut items = 0;
        let mut from = Checkpoint::default();
        loop {
            let mut folding = Folding::new(&text, least, from);
            let read = folding.by_ref().take(512).filter(Result::is_ok).count();
            items += read;
            if read < 512 {
                break;
            }
            assert!(folding.is_between());
            from = folding.into_checkpoint();
        }
        assert_eq!(items, 2 * depth + 1);
    }
}
