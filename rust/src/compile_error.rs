//! The patterns with which nginx does not start.

use crate::pcre::Regex;
use crate::syntax;

/// What PCRE2 says of a pattern that it does not compile. It is asked only about those that no PCRE is known to
/// compile.
pub fn compile_error(pattern: &[u8]) -> Option<String> {
    syntax::parse(pattern).err().filter(|refusal| refusal.is_error)?;
    Some(Regex::new(pattern).err()?.to_string())
}
