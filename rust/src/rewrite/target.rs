//! The replacement and flag of one `rewrite`, read as `ngx_http_rewrite` and `ngx_http_script_compile` read them.
//!
//! Of the three readers of the rewrite module in this crate, this is the *planner's*: it keeps the text of a replacement,
//! to write it again, and runs nothing. The prover has its own ([`crate::prove::target`]), so that a rule that the
//! planner misreads does not pass the proof; the model of requests ([`crate::request`]) runs whole scripts.

use std::borrow::Cow;

/// What a terminal rule does with the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// `permanent`: a 301.
    Permanent,
    /// `redirect`, or a replacement that starts with `http://`, `https://` or `$scheme`: a 302.
    Redirect,
    /// `last`: look for a location again.
    Last,
    /// `break`: stay in this location.
    Break,
}

impl Action {
    /// Its flag.
    pub fn flag(self) -> &'static str {
        match self {
            Action::Permanent => "permanent",
            Action::Redirect => "redirect",
            Action::Last => "last",
            Action::Break => "break",
        }
    }

    /// Whether it redirects the client, so that the target is escaped and unescaped as a redirect.
    pub fn is_redirect(self) -> bool {
        matches!(self, Action::Permanent | Action::Redirect)
    }
}

/// A piece of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Bytes that stand for themselves.
    Text(&'a [u8]),
    /// `$name`, or `${name}`: a target that starts with `$scheme` redirects, and one that starts with `${scheme}` does
    /// not.
    Variable { name: &'a [u8], braces: bool },
    /// `$1` to `$9`.
    Capture(u8),
}

impl Part<'_> {
    /// The length of its text.
    pub fn length(&self) -> usize {
        match self {
            Part::Text(text) => text.len(),
            Part::Variable { name, braces } => name.len() + if *braces { 3 } else { 1 },
            Part::Capture(_) => 2,
        }
    }
}

/// A replacement, split as nginx splits it when it reads the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// The part before the first `?`.
    pub path: Vec<Part<'a>>,
    /// The part after the first `?`, if there is one.
    pub args: Option<Vec<Part<'a>>>,
    /// Whether a trailing `?` drops the client's arguments.
    pub drop_args: bool,
}

impl<'a> Target<'a> {
    /// The pieces of the path and of the arguments.
    pub fn parts(&self) -> impl Iterator<Item = &Part<'a>> {
        self.path.iter().chain(self.args.iter().flatten())
    }
}

/// Why a rule does not end the script or cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTerminal {
    /// No flag and no redirect: the next rule sees the new URI.
    NoFlag,
    /// `break` with a replacement that is a redirect by itself, which is a special case.
    BreakRedirect,
    /// nginx refuses the directive.
    Refused,
}

/// The action of a rule with this replacement and flag, if it ends the script.
pub fn action(replacement: &[u8], flag: Option<&[u8]>) -> Result<Action, NotTerminal> {
    match (flag, is_redirect(replacement)) {
        (Some(b"permanent"), _) => Ok(Action::Permanent),
        (Some(b"redirect"), _) | (None | Some(b"last"), true) => Ok(Action::Redirect),
        (Some(b"last"), false) => Ok(Action::Last),
        (Some(b"break"), false) => Ok(Action::Break),
        (Some(b"break"), true) => Err(NotTerminal::BreakRedirect),
        (None, false) => Err(NotTerminal::NoFlag),
        (Some(_), _) => Err(NotTerminal::Refused),
    }
}

/// Whether a replacement is a redirect whatever its flag says (`ngx_http_rewrite`): its text is compared, not its
/// value.
pub fn is_redirect(replacement: &[u8]) -> bool {
    [&b"http://"[..], b"https://", b"$scheme"].iter().any(|start| replacement.starts_with(start))
}

/// Splits a replacement into the texts of its path and of its arguments. [`text`] writes the same texts from the parts
/// that [`parse`] returns.
pub fn split(replacement: &[u8]) -> (&[u8], Option<&[u8]>) {
    let (path, args, _) = pieces(replacement);
    (path, args)
}

/// Returns the part before the first `?`, the part after it, and whether a last `?` drops the client's arguments.
fn pieces(replacement: &[u8]) -> (&[u8], Option<&[u8]>, bool) {
    let (text, drop_args) = match replacement.split_last() {
        Some((b'?', rest)) => (rest, true),
        _ => (replacement, false),
    };
    match memchr::memchr(b'?', text) {
        Some(at) => (&text[..at], Some(&text[at + 1..]), drop_args),
        None => (text, None, drop_args),
    }
}

/// Splits a replacement; `None` where nginx would refuse it (`$` without a name).
pub fn parse(replacement: &[u8]) -> Option<Target<'_>> {
    let (path, args, drop_args) = pieces(replacement);
    let args = match args {
        Some(args) => Some(parts(args)?),
        None => None,
    };
    Some(Target { path: parts(path)?, args, drop_args })
}

fn parts(text: &[u8]) -> Option<Vec<Part<'_>>> {
    let mut out = Vec::with_capacity(1);
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'$', rest) {
        if at > 0 {
            out.push(Part::Text(&rest[..at]));
        }
        let (part, length) = variable(&rest[at + 1..])?;
        out.push(part);
        rest = &rest[at + 1 + length..];
    }
    if !rest.is_empty() {
        out.push(Part::Text(rest));
    }
    Some(out)
}

/// The message of nginx for a replacement that [`parse`] cannot split (`ngx_http_script_compile`).
pub fn refusal(replacement: &[u8]) -> String {
    let mut rest = replacement;
    while let Some(at) = memchr::memchr(b'$', rest) {
        rest = &rest[at + 1..];
        match (variable(rest), rest) {
            (Some((_, length)), _) => rest = &rest[length..],
            (None, [b'{', name @ ..]) => {
                let name = String::from_utf8_lossy(&name[..name_length(name)]);
                return format!("the closing bracket in \"{name}\" variable is missing");
            }
            (None, _) => break,
        }
    }
    "invalid variable name".to_owned()
}

/// Reads the variable at the start of `rest`, which is after its `$`. Also returns how many bytes it takes.
fn variable(rest: &[u8]) -> Option<(Part<'_>, usize)> {
    match rest.first()? {
        digit @ b'1'..=b'9' => Some((Part::Capture(digit - b'0'), 1)),
        b'{' => {
            let length = name_length(&rest[1..]);
            (length > 0 && rest.get(1 + length) == Some(&b'}'))
                .then(|| (Part::Variable { name: &rest[1..1 + length], braces: true }, length + 2))
        }
        _ => {
            let length = name_length(rest);
            (length > 0).then(|| (Part::Variable { name: &rest[..length], braces: false }, length))
        }
    }
}

fn name_length(rest: &[u8]) -> usize {
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    rest.iter().take_while(|byte| in_name(byte)).count()
}

/// Writes `parts` as text. Writes `${name}` also where a plain `$name` would run into what follows.
pub fn text<'a>(parts: &[Part<'a>]) -> Cow<'a, [u8]> {
    if let [Part::Text(text)] = parts {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        match part {
            Part::Text(text) => out.extend_from_slice(text),
            Part::Capture(digit) => out.extend_from_slice(&[b'$', b'0' + digit]),
            Part::Variable { name, braces } => {
                let runs_on = matches!(parts.get(at + 1), Some(Part::Text(next)) if name_length(next) > 0);
                if *braces || runs_on {
                    out.extend_from_slice(b"${");
                    out.extend_from_slice(name);
                    out.push(b'}');
                } else {
                    out.push(b'$');
                    out.extend_from_slice(name);
                }
            }
        }
    }
    Cow::Owned(out)
}

/// Whether `parts` may give the empty string: none of them is certain not to be empty.
pub fn may_be_empty(parts: &[Part]) -> bool {
    !parts.iter().any(|part| matches!(part, Part::Text(_)))
}

/// Whether a captured byte is copied as it is, whether or not nginx escapes the capture.
///
/// `ngx_http_script_copy_capture_code` escapes with `NGX_ESCAPE_ARGS` when the request had `%XX` or `+`; the bytes
/// listed here are outside that table in every version.
pub fn is_never_escaped(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~/,:=@!*()'".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The implicit redirect is textual and overrides `last`; `${scheme}` and `HTTP://` are not redirects.
    #[test]
    fn actions() {
        assert_eq!(action(b"http://a/", None), Ok(Action::Redirect));
        assert_eq!(action(b"$scheme_x/h", Some(b"last")), Ok(Action::Redirect));
        assert_eq!(action(b"https://a/", Some(b"permanent")), Ok(Action::Permanent));
        assert_eq!(action(b"${scheme}://a/", None), Err(NotTerminal::NoFlag));
        assert_eq!(action(b"HTTP://a/", None), Err(NotTerminal::NoFlag));
        assert_eq!(action(b"https://a/", Some(b"break")), Err(NotTerminal::BreakRedirect));
        assert_eq!(action(b"/a", Some(b"Permanent")), Err(NotTerminal::Refused));
    }

    /// Only the first `?` splits, one last `?` drops the client's arguments, `$10` is `$1` and a `0`.
    #[test]
    fn parsed() {
        let target = parse(b"/a$1?b=$10&c=${d}e??").unwrap();
        assert_eq!(target.path, [Part::Text(b"/a"), Part::Capture(1)]);
        let args = target.args.unwrap();
        assert_eq!(
            args,
            [
                Part::Text(b"b="),
                Part::Capture(1),
                Part::Text(b"0&c="),
                Part::Variable { name: b"d", braces: true },
                Part::Text(b"e?")
            ]
        );
        assert!(target.drop_args);
        assert_eq!(text(&args).as_ref(), b"b=$10&c=${d}e?");
        assert_eq!(text(&parse(b"${scheme}/$x").unwrap().path).as_ref(), b"${scheme}/$x");
        assert_eq!(parse(b"/a$"), None);
        assert_eq!(parse(b"/a$-"), None);
        assert_eq!(parse(b"/a${b"), None);
        assert_eq!(refusal(b"/$x/a${b"), "the closing bracket in \"b\" variable is missing");
        assert_eq!(refusal(b"/a$-${b"), "invalid variable name");
    }

    /// The texts of all short replacements are those of their parts.
    #[test]
    fn written_again() {
        const BYTES: &[u8] = b"/?$1x_{}";
        let mut read = 0;
        for number in 0..BYTES.len().pow(6) {
            let replacement: Vec<u8> = (0..6).map(|at| BYTES[number >> (3 * at) & 7]).collect();
            for start in 0..6 {
                let Some(target) = parse(&replacement[start..]) else { continue };
                let (path, args) = split(&replacement[start..]);
                assert_eq!(text(&target.path), path, "{}", replacement.escape_ascii());
                assert_eq!(target.args.map(|args| text(&args).into_owned()).as_deref(), args);
                read += 1;
            }
        }
        assert!(read > 500_000, "{read}");
    }
}
