//! How versions and builds of nginx differ.

use crate::request::outcome::Unknown;
use crate::request::site::Build;

impl Build {
    /// Whether a script still escapes `$1` after a rewrite with arguments: until 1.31.0 (CVE-2026-42945).
    pub fn keeps_is_args(&self) -> bool {
        let is_stable = self.version >= (1, 30, 1) && self.version < (1, 31, 0);
        !(self.version >= (1, 31, 0) || is_stable || self.fixes.contains("CVE-2026-42945"))
    }

    /// Whether an `alias` gives no path after a rewrite without a flag has changed the URI: since 1.30.6, and in a
    /// later 1.31 (CVE-2026-15176).
    pub fn checks_alias(&self) -> Result<bool, Unknown> {
        let is_stable = self.version >= (1, 30, 6) && self.version < (1, 31, 0);
        if is_stable || self.fixes.contains("CVE-2026-15176") {
            return Ok(true);
        }
        if self.version < (1, 31, 5) {
            return Ok(false);
        }
        let reason = "whether this nginx allows an alias after a rewrite".to_owned();
        Err(Unknown { reason, node: None, question: None })
    }

    /// Whether a value is cut off if a map makes it shorter while it is written: since 1.31.3.
    pub fn cuts_values(&self) -> bool {
        self.version >= (1, 31, 3)
    }

    /// Whether `proxy_pass` works if the URI is shorter than the name of the location: since 1.28.1 and 1.29.4. Before,
    /// nginx reads beyond the URI, and mostly crashes.
    pub fn cuts_short_uris(&self) -> bool {
        let is_stable = self.version >= (1, 28, 1) && self.version < (1, 29, 0);
        is_stable || self.version >= (1, 29, 4)
    }

    /// Whether nginx escapes the name of the location to which it redirects: since 1.21.0.
    pub fn escapes_names(&self) -> bool {
        self.version >= (1, 21, 0)
    }

    /// Whether `$http_x` has the values of all headers of a name: since 1.23.0.
    pub fn joins_headers(&self) -> bool {
        self.version >= (1, 23, 0)
    }

    /// Whether a comma separates cookies, too: until 1.29.6.
    pub fn splits_cookies_at_commas(&self) -> bool {
        self.version < (1, 29, 6)
    }
}
