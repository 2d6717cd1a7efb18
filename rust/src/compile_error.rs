//! Finds patterns that PCRE does not compile, with which nginx does not start.

use crate::pcre::Regex;
use crate::syntax;

/// Returns the message of PCRE2 for a pattern that it does not compile. `None` unless all PCREs are known to refuse the
/// pattern.
pub fn compile_error(pattern: &[u8]) -> Option<String> {
    syntax::parse(pattern).err().filter(|refusal| refusal.is_error)?;
    Some(Regex::new(pattern).err()?.to_string())
}
