//! Finds patterns that PCRE does not compile, with which nginx does not start.

use pcre2_sys as sys;

use crate::pcre::{CompileError, Regex};
use crate::syntax;

/// Returns the message of PCRE2 for a pattern that it does not compile. `None` unless all PCREs are known to refuse the
/// pattern.
pub fn compile_error(pattern: &[u8]) -> Option<String> {
    let refusal = syntax::parse(pattern).err()?;
    let error = Regex::new(pattern).err()?;
    (refusal.is_error || is_of_every_release(error, pattern)).then(|| error.to_string())
}

/// Whether each release of PCRE and PCRE2 refuses a pattern for which this one has an error, as far as its code tells.
///
/// Not among these codes: what a later release reads (look-behinds of some lengths, options, verbs, names of over 32
/// characters), and what PCRE reads, or read, but not PCRE2 (`\8`, `\y`, `\x{zz}`, `(?''a)`, names that begin with a
/// digit).
fn is_of_every_release(error: CompileError, pattern: &[u8]) -> bool {
    match u32::try_from(error.code) {
        Ok(sys::PCRE2_ERROR_BAD_SUBPATTERN_REFERENCE) => !is_behind_number(&pattern[..error.offset]),
        Ok(sys::PCRE2_ERROR_SUBPATTERN_NAME_EXPECTED) => !pattern[..error.offset].ends_with(b"'"),
        Ok(code) => EVERY_RELEASE.contains(&code),
        Err(_) => false,
    }
}

const EVERY_RELEASE: [u32; 18] = [
    sys::PCRE2_ERROR_END_BACKSLASH,
    sys::PCRE2_ERROR_END_BACKSLASH_C,
    sys::PCRE2_ERROR_QUANTIFIER_OUT_OF_ORDER,
    sys::PCRE2_ERROR_QUANTIFIER_TOO_BIG,
    sys::PCRE2_ERROR_MISSING_SQUARE_BRACKET,
    sys::PCRE2_ERROR_CLASS_RANGE_ORDER,
    sys::PCRE2_ERROR_POSIX_CLASS_NOT_IN_CLASS,
    sys::PCRE2_ERROR_POSIX_NO_SUPPORT_COLLATING,
    sys::PCRE2_ERROR_UNKNOWN_POSIX_CLASS,
    sys::PCRE2_ERROR_MISSING_CLOSING_PARENTHESIS,
    sys::PCRE2_ERROR_UNMATCHED_CLOSING_PARENTHESIS,
    sys::PCRE2_ERROR_MISSING_COMMENT_CLOSING,
    sys::PCRE2_ERROR_LOOKBEHIND_NOT_FIXED_LENGTH, // one without a limit: PCRE2 10.43 and later read the others
    sys::PCRE2_ERROR_TOO_MANY_CONDITION_BRANCHES,
    sys::PCRE2_ERROR_CALLOUT_NUMBER_TOO_BIG,
    sys::PCRE2_ERROR_MISSING_CALLOUT_CLOSING,
    sys::PCRE2_ERROR_MISSING_NAME_TERMINATOR,
    sys::PCRE2_ERROR_PARENS_QUERY_R_MISSING_CLOSING,
];

/// Whether a text ends in a backslash with digits, which may be an octal number or stand for themselves.
fn is_behind_number(text: &[u8]) -> bool {
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    text[..text.len() - digits].ends_with(b"\\")
}
