use proptest::prelude::*;

use super::decode::decode_slowly;
use super::{Escape, argument, decode, decode_unsafe, escape, extension, redirect_target};

const OLD: (u32, u32, u32) = (1, 21, 0);
const NEW: (u32, u32, u32) = (1, 21, 1);

fn escaped(text: &[u8], kind: Escape, version: (u32, u32, u32)) -> String {
    String::from_utf8(escape(text, kind, version)).expect("ASCII")
}

/// Escaping a path leaves the separators of arguments. `"<>\^{|}` and the backquote are escaped since 1.21.1.
#[test]
fn escapes() {
    let text = b" #%?&+;\"<>\\^`{|}~!*'()@:,=$[]\x1f\x7f\xff/a-._";
    assert_eq!(
        escaped(text, Escape::Uri, NEW),
        "%20%23%25%3F&+;%22%3C%3E%5C%5E%60%7B%7C%7D~!*'()@:,=$[]%1F%7F%FF/a-._"
    );
    assert_eq!(escaped(text, Escape::Uri, OLD), "%20%23%25%3F&+;\"<>\\^`{|}~!*'()@:,=$[]%1F%7F%FF/a-._");
    assert_eq!(
        escaped(text, Escape::Args, NEW),
        "%20%23%25%3F%26%2B%3B%22%3C%3E%5C%5E%60%7B%7C%7D~!*'()@:,=$[]%1F%7F%FF/a-._"
    );
    assert_eq!(escaped(text, Escape::Args, OLD), "%20%23%25%3F%26%2B%3B\"<>\\^`{|}~!*'()@:,=$[]%1F%7F%FF/a-._");
    assert_eq!(escaped(b" &/~!*:a-._'", Escape::Component, NEW), "%20%26%2F~%21%2A%3Aa-._%27");
}

/// In the `Location` of a rewrite, escapes from `%26` to `%7E` are decoded, up to the first `?`, and a client's `%3F`
/// is such a `?`.
#[test]
fn targets_of_redirects() {
    for (text, target) in [
        ("/t/a%3Fb%20c", "/t/a?b%20c"),
        ("/%41%2f%7e%7E%26", "/A/~~&"),
        ("/%25%24%7f%80%00", "/%25%24%7f%80%00"),
        ("/a?%41", "/a?%41"),
        ("/%3F%41", "/?%41"),
        ("/%zz", "/zz"),
        ("/%4z1", "/1"),
        ("/a%", "/a"),
        ("/a%4", "/a"),
        ("/%%41", "/%41"),
    ] {
        assert_eq!(redirect_target(text.as_bytes()), target.as_bytes(), "{text}");
    }
}

/// `$arg_x` is the first argument of the name, in any case, with an equals sign.
#[test]
fn arguments() {
    let args = b"a&B=1&b=2&ab=3&=4&c=&d=5=6";
    let value = |name: &str| argument(args, name.as_bytes()).map(|value| String::from_utf8(value.to_vec()).unwrap());
    assert_eq!((value("b"), value("ab"), value("a")), (Some("1".into()), Some("3".into()), None));
    assert_eq!((value("c"), value("D"), value("")), (Some(String::new()), Some("5=6".into()), None));
}

/// The extension of a changed path begins after its third byte at the earliest, and not at the start of a segment.
#[test]
fn extensions() {
    for (path, expected) in
        [("/a.b", "b"), ("/.b", ""), ("/a/.b", ""), ("/a.b/c", ""), ("/a..b", "b"), ("a.b", ""), ("", "")]
    {
        assert_eq!(extension(path.as_bytes()), expected.as_bytes(), "{path}");
    }
}

/// A URI from a response or the configuration is decoded once. If it leaves the folder, it is refused.
#[test]
fn unsafe_uris() {
    let decoded = |uri: &str| decode_unsafe(uri.as_bytes());
    assert_eq!(decoded("/a%20b?x%20"), Some((b"/a b".to_vec(), b"x%20".to_vec())));
    assert_eq!(decoded("/a%3Fb"), Some((b"/a?b".to_vec(), Vec::new())));
    assert_eq!(decoded("/.../..a?/../"), Some((b"/.../..a".to_vec(), b"/../".to_vec())));
    for uri in ["", "?x", "..", "../a", "/a/../b", "/a/..", "/%2e%2e/a", "/a%2f../b", "/a%00"] {
        assert_eq!(decoded(uri), None, "{uri}");
    }
}

/// Escapes a decoded path, as a request for it would.
fn asked_for(path: &[u8]) -> Vec<u8> {
    escape(path, Escape::Uri, NEW)
}

proptest! {
    /// A decoded path is normal: escaped and decoded once more, it is the same.
    #[test]
    fn decoding_is_idempotent(target in "/[a%./?#+\\\\253fFEeA-]{0,12}", merge: bool) {
        if let Some(uri) = decode(target.as_bytes(), merge) {
            let again = decode(&asked_for(&uri.path), merge).expect("a path that nginx takes");
            prop_assert_eq!(&again.path, &uri.path);
            prop_assert_eq!(again.extension(), uri.extension());
            prop_assert!(uri.path.starts_with(b"/"));
        }
    }

    /// The fast path for plain targets gives the same result as the decoder.
    #[test]
    fn plain_targets(target in "[/a.?#+%-]{0,10}", merge: bool) {
        prop_assert_eq!(decode(target.as_bytes(), merge), decode_slowly(target.as_bytes(), merge));
    }

    /// Decoding reverses escaping.
    #[test]
    fn escapes_are_decoded(segments in prop::collection::vec("[^/\0.]{1,4}", 1..4)) {
        let path = format!("/{}", segments.join("/"));
        let decoded = decode(&asked_for(path.as_bytes()), true).expect("a path that nginx takes");
        prop_assert_eq!(decoded.path, path.as_bytes());
    }
}
