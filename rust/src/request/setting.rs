//! Reads the directives in force at a level, by name.

use crate::request::outcome::Unknown;
use crate::request::site::{Level, Site, Stated};

/// The value of a setting, or why it is unknown: a part of the configuration that was not read may decide it.
pub type Setting<T> = Result<T, Unknown>;

/// Borrows the value of a setting. Sharing it instead would have all threads count its owners in one place.
pub fn known<T>(setting: &Setting<T>) -> Result<&T, Unknown> {
    setting.as_ref().map_err(Unknown::clone)
}

/// The settings that a level itself states.
pub struct Own<'s> {
    pub site: &'s Site,
    pub level: &'s Level,
}

impl<'s> Own<'s> {
    /// The directives of a name that the level itself states. Fails if they are unknown.
    pub fn all(&self, name: &str) -> Setting<Vec<&'s Stated>> {
        match self.level.settings.get(name) {
            None => Ok(Vec::new()),
            Some(Some(directives)) => Ok(directives.iter().map(|id| &self.site.directives[*id]).collect()),
            Some(None) => Err(self.unread(name)),
        }
    }

    /// Why a setting is unknown: the include that is missing.
    fn unread(&self, name: &str) -> Unknown {
        let may_be = || (format!("{name} may be in a part that was not read"), self.level.node);
        let first = self.level.opaque.first();
        let (reason, node) = first.map_or_else(may_be, |opaque| (opaque.reason.clone(), opaque.node));
        Unknown { reason, node: Some(node), question: None }
    }

    /// The last directive of a name.
    pub fn last(&self, name: &str) -> Setting<Option<&'s Stated>> {
        self.all(name).map(|directives| directives.last().copied())
    }

    /// Returns the result of `read` for the directives of a name, or `outer` if there are none.
    pub fn merge<T: Clone>(&self, name: &str, outer: &Setting<T>, read: impl FnOnce(&[&'s Stated]) -> T) -> Setting<T> {
        match self.all(name) {
            Ok(directives) if directives.is_empty() => outer.clone(),
            Ok(directives) => Ok(read(&directives)),
            Err(unknown) => Err(unknown),
        }
    }

    /// Reads a directive that is `on` or `off`.
    pub fn flag(&self, name: &str, outer: &Setting<bool>) -> Setting<bool> {
        self.merge(name, outer, |directives| is_on(directives[0]))
    }
}

/// Whether the first argument is `on`, ignoring case.
pub fn is_on(directive: &Stated) -> bool {
    directive.args.first().is_some_and(|argument| argument.eq_ignore_ascii_case(b"on"))
}

/// The argument at an index. Empty if there is none.
pub fn argument(directive: &Stated, index: usize) -> &[u8] {
    directive.args.get(index).map_or(b"", |argument| &argument.0)
}

/// Parses a size in bytes such as `8k`, `1m` or `2g` (`ngx_parse_offset`).
pub fn size(text: &[u8]) -> Option<u64> {
    let (digits, factor) = match text.split_last()? {
        (b'k' | b'K', digits) => (digits, 1 << 10),
        (b'm' | b'M', digits) => (digits, 1 << 20),
        (b'g' | b'G', digits) => (digits, 1 << 30),
        _ => (text, 1),
    };
    number(digits).and_then(|number| number.checked_mul(factor))
}

/// Parses a rate in bytes per second, which may not have the unit `g` (`ngx_parse_size`).
pub fn rate(text: &[u8]) -> Option<u64> {
    size(text).filter(|_| !matches!(text.last(), Some(b'g' | b'G')))
}

/// Parses a decimal number (`ngx_atoi`).
pub fn number(text: &[u8]) -> Option<u64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    /// Sizes have a unit or none.
    #[test]
    fn sizes() {
        for (text, size) in [("8k", Some(8192)), ("1M", Some(1 << 20)), ("0", Some(0)), ("2g", Some(2 << 30))] {
            assert_eq!(super::size(text.as_bytes()), size, "{text}");
        }
        for text in ["", "k", "1x", "-1", "1 k"] {
            assert_eq!(super::size(text.as_bytes()), None, "{text}");
        }
    }
}
