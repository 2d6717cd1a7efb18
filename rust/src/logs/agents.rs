//! What a `User-Agent` tells: the name of a robot, and how long nginx looks for names of browsers in it.

/// What the names of robots have in them.
const ROBOTS: [&[u8]; 5] = [b"bot", b"crawl", b"spider", b"slurp", b"fetcher"];

/// Returns the name by which a robot calls itself in its User-Agent.
pub fn robot(agent: &[u8]) -> Option<&[u8]> {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let mut words = agent.split(|byte| !is_of_name(byte)).filter(|word| word.len() > 2);
    let has = |word: &[u8], part: &[u8]| word.windows(part.len()).any(|each| each.eq_ignore_ascii_case(part));
    // A name rather than the host of a page about it (`http://www.google.com/bot.html`).
    words.find(|word| !word.contains(&b'.') && ROBOTS.iter().any(|part| has(word, part)))
}

/// The cost of a User-Agent: its bytes, and those that nginx reads to find the names of browsers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agent {
    pub length: u32,
    pub scanned: u32,
}

impl Agent {
    /// Returns the cost of a User-Agent as it is logged; `-` is none.
    pub fn of(logged: &[u8]) -> Agent {
        let sent = if logged == b"-" { &b""[..] } else { logged };
        Agent { length: u32::try_from(sent.len()).unwrap_or(u32::MAX), scanned: scanned(sent) }
    }
}

/// Returns the bytes that nginx reads of a User-Agent to find the names of browsers in it
/// (`ngx_http_process_user_agent`).
fn scanned(agent: &[u8]) -> u32 {
    let mut read = 0;
    let mut has = |name: &[u8]| {
        let found = memchr::memmem::find(agent, name);
        read += found.map_or(agent.len(), |at| at + name.len());
        found.is_some()
    };
    let is_old = has(b"MSIE ");
    // One of them sets what the next is asked for only without.
    let _ = has(b"Opera") || is_old || has(b"Gecko/") || has(b"Chrome/") || {
        let is_apple = has(b"Safari/") && has(b"Mac OS X");
        is_apple || has(b"Konqueror")
    };
    u32::try_from(read).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots() {
        let google = b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
        assert_eq!(robot(google), Some(&b"Googlebot"[..]));
        assert_eq!(robot(b"Baiduspider-image"), Some(&b"Baiduspider-image"[..]));
        assert_eq!(robot(b"Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/115.0"), None);
    }

    /// Each name is searched from the start, until one of them is found.
    #[test]
    fn names_of_browsers() {
        assert_eq!(scanned(b""), 0);
        assert_eq!(scanned(b"curl/8.5.0"), 6 * 10);
        assert_eq!(scanned(b"Mozilla/4.0 (MSIE 6.0)"), 18 + 22);
        assert_eq!(scanned(b"Opera/9"), 7 + 5);
        assert_eq!(scanned(b"rv:140.0) Gecko/20100101"), 2 * 24 + 16);
        assert_eq!(scanned(b"like Gecko) Chrome/140"), 3 * 22 + 19);
        assert_eq!(scanned(b"(Mac OS X) Safari/604"), 4 * 21 + 18 + 9);
        assert_eq!(scanned(b"(X11) Safari/604"), 4 * 16 + 13 + 16 + 16);
    }
}
