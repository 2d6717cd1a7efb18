//! Runs PCRE2 itself, as nginx does.
//!
//! nginx compiles a pattern with `pcre2_compile()` and no options, in a default context, and matches with
//! `pcre2_match()` at the default limits (`ngx_regex_compile`, `ngx_regex_exec`). This module makes the same calls, on
//! bytes. It uses the bindings `pcre2-sys`, because the crate `pcre2` accepts only patterns in UTF-8 and keeps a match
//! block of some 20 kB for every pattern. JIT is off, as `pcre_jit` is by default in nginx.
//!
//! nginx may be linked with other versions of the library. [`crate::syntax`] decides for which patterns the answers of
//! this one hold for all. Matches never get all of nginx's 10,000,000 calls of `match()`, which take a second; the
//! result of a match that needs more than [`Regex::is_match`] allows is unknown.

use std::cell::RefCell;
use std::fmt;
use std::ptr::{self, NonNull};

use crate::work::{memory, spend};
use pcre2_sys as sys;

/// The answer of PCRE2 for one subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchOutcome {
    /// The pattern matches.
    Yes,
    /// It does not.
    No,
    /// PCRE2 gave up with this code, which is negative. For example, -47 is the match limit.
    Error(i32),
}

/// The error of PCRE2 for a pattern that it does not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// The code of PCRE2, positive.
    pub code: i32,
    /// The offset in the pattern, in bytes.
    pub offset: usize,
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", message(self.code), self.offset)
    }
}

impl std::error::Error for CompileError {}

/// The message of PCRE2 for one of its codes, as in nginx's log.
pub fn message(code: i32) -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: the pointer and the length are those of the buffer.
    let length = unsafe { sys::pcre2_get_error_message_8(code, buffer.as_mut_ptr(), buffer.len()) };
    match usize::try_from(length) {
        Ok(length) => String::from_utf8_lossy(&buffer[..length]).into_owned(),
        Err(_) => format!("PCRE2 error {code}"),
    }
}

/// A compiled pattern.
pub struct Regex {
    code: NonNull<sys::pcre2_code_8>,
}

// SAFETY: compiled code is not changed after `pcre2_compile`, and several threads may match with it at once
// (pcre2api, "Multithreading"); the match block, which they may not share, belongs to the thread.
unsafe impl Send for Regex {}
unsafe impl Sync for Regex {}

/// The code of `pcre2_compile` without memory (ERR21), which is no fault of a pattern.
const HEAP_FAILED: i32 = 121;

impl Regex {
    /// Compiles a pattern, any bytes. Some microseconds. Panics if there is no memory.
    pub fn new(pattern: &[u8]) -> Result<Regex, CompileError> {
        Regex::with_options(pattern, 0)
    }

    /// As [`Regex::new`], with the option that nginx sets for `~*` (`NGX_REGEX_CASELESS`).
    pub fn caseless(pattern: &[u8]) -> Result<Regex, CompileError> {
        Regex::with_options(pattern, sys::PCRE2_CASELESS)
    }

    fn with_options(pattern: &[u8], options: u32) -> Result<Regex, CompileError> {
        let (mut code, mut offset) = (0, 0);
        // SAFETY: the pattern is valid for its length and copied; a null context means the defaults.
        let compiled = unsafe {
            sys::pcre2_compile_8(pattern.as_ptr(), pattern.len(), options, &mut code, &mut offset, ptr::null_mut())
        };
        assert!(code != HEAP_FAILED, "{}", memory::LACKING);
        let regex = NonNull::new(compiled).map(|code| Regex { code }).ok_or(CompileError { code, offset })?;
        memory::note(regex.size());
        Ok(regex)
    }

    /// The number of capturing groups, named ones included.
    pub fn group_count(&self) -> u32 {
        self.number(sys::PCRE2_INFO_CAPTURECOUNT)
    }

    /// The names of the named groups, with their numbers, in the order of the names.
    pub fn names(&self) -> Vec<(Vec<u8>, usize)> {
        let (count, size) = (self.number(sys::PCRE2_INFO_NAMECOUNT), self.number(sys::PCRE2_INFO_NAMEENTRYSIZE));
        let mut table: *const u8 = ptr::null();
        // SAFETY: the code is valid, and this piece of information is a pointer into it (pcre2api).
        let code = unsafe {
            sys::pcre2_pattern_info_8(self.code.as_ptr(), sys::PCRE2_INFO_NAMETABLE, (&raw mut table).cast())
        };
        if code != 0 || count == 0 {
            return Vec::new();
        }
        // SAFETY: the table has so many entries of this size: a number in two bytes, and a name that ends in NUL.
        let table = unsafe { std::slice::from_raw_parts(table, (count * size) as usize) };
        let entry = |entry: &[u8]| {
            let name = entry[2..].iter().copied().take_while(|byte| *byte != 0).collect();
            (name, usize::from(u16::from_be_bytes([entry[0], entry[1]])))
        };
        table.chunks_exact(size as usize).map(entry).collect()
    }

    /// The bytes that the code takes.
    fn size(&self) -> i64 {
        let mut size = 0usize;
        // SAFETY: the code is valid, and this piece of information is a `size_t` (pcre2api).
        let code =
            unsafe { sys::pcre2_pattern_info_8(self.code.as_ptr(), sys::PCRE2_INFO_SIZE, (&raw mut size).cast()) };
        assert_eq!(code, 0, "PCRE2 tells of a pattern it compiled");
        size as i64
    }

    /// A piece of information that is a `uint32_t` (pcre2api).
    fn number(&self, what: u32) -> u32 {
        let mut number = 0u32;
        // SAFETY: the code is valid, and `what` is one of those that fill a `uint32_t`.
        let code = unsafe { sys::pcre2_pattern_info_8(self.code.as_ptr(), what, (&raw mut number).cast()) };
        assert_eq!(code, 0, "PCRE2 tells of a pattern it compiled");
        number
    }

    /// Whether the pattern matches somewhere in the subject, with at most `calls` calls of `match()` from any one place
    /// of it. 10,000 calls take some ms.
    pub fn is_match(&self, subject: &[u8], calls: u32) -> MatchOutcome {
        // Code 0 is a match with more groups than the block has room for.
        MATCH_BLOCK.with_borrow_mut(|block| self.execute(subject, block, calls)).map_or_else(
            |code| {
                if code == sys::PCRE2_ERROR_NOMATCH { MatchOutcome::No } else { MatchOutcome::Error(code) }
            },
            |_| MatchOutcome::Yes,
        )
    }

    /// The groups of the first match; `None` if the pattern does not match.
    ///
    /// Groups after the last one that took part are left out. The error is PCRE2's negative code.
    pub fn captures(&self, subject: &[u8], calls: u32) -> Result<Option<GroupRanges>, i32> {
        MATCH_BLOCK.with_borrow_mut(|block| {
            block.make_room(self.group_count() + 1);
            match self.execute(subject, block, calls) {
                Ok(groups) => Ok(Some(block.captures(groups))),
                Err(sys::PCRE2_ERROR_NOMATCH) => Ok(None),
                Err(code) => Err(code),
            }
        })
    }

    /// The number of groups matched, plus one; 0 if the block has no room for all. The error is PCRE2's code.
    fn execute(&self, subject: &[u8], block: &mut MatchBlock, calls: u32) -> Result<usize, i32> {
        let (pattern, block) = (self.code.as_ptr(), block.0.as_ptr());
        let code = CONTEXT.with(|Context(context)| {
            let context = context.as_ptr();
            // SAFETY: pattern, block and context are valid, and the subject is valid for its length.
            unsafe {
                sys::pcre2_set_match_limit_8(context, calls);
                sys::pcre2_match_8(pattern, subject.as_ptr(), subject.len(), 0, 0, block, context)
            }
        });
        assert!(code != sys::PCRE2_ERROR_NOMEMORY, "{}", memory::LACKING);
        // What a match took is not known, unless it was all that it may take.
        spend(if code == sys::PCRE2_ERROR_MATCHLIMIT { calls as usize } else { 4 + subject.len() / 16 });
        usize::try_from(code).map_err(|_| code)
    }
}

impl Drop for Regex {
    fn drop(&mut self) {
        memory::note(-self.size());
        // SAFETY: the code came from `pcre2_compile_8` and is freed once.
        unsafe { sys::pcre2_code_free_8(self.code.as_ptr()) }
    }
}

/// The byte ranges of a match: the whole first, then the groups; `None` for a group that took no part.
pub type GroupRanges = Vec<Option<std::ops::Range<usize>>>;

/// PCRE2's scratch memory, which also has the groups of the last match.
struct MatchBlock(NonNull<sys::pcre2_match_data_8>);

/// The limits of a match.
struct Context(NonNull<sys::pcre2_match_context_8>);

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context came from PCRE2 and is freed once.
        unsafe { sys::pcre2_match_context_free_8(self.0.as_ptr()) }
    }
}

thread_local! {
    /// The context of a thread. Its limit is set before each match.
    static CONTEXT: Context = Context(
        // SAFETY: a null context means the default allocator.
        NonNull::new(unsafe { sys::pcre2_match_context_create_8(ptr::null_mut()) }).expect(memory::LACKING),
    );

    /// The block for all matches of a thread, because allocating one takes longer than most matches.
    static MATCH_BLOCK: RefCell<MatchBlock> = RefCell::new(MatchBlock::with_room(1));
}

impl MatchBlock {
    /// A block for the whole match and `pairs - 1` groups. Panics if there is no memory, as Rust's own allocations do.
    fn with_room(pairs: u32) -> MatchBlock {
        // SAFETY: a null context means the default allocator.
        let block = unsafe { sys::pcre2_match_data_create_8(pairs, ptr::null_mut()) };
        MatchBlock(NonNull::new(block).expect(memory::LACKING))
    }

    fn make_room(&mut self, pairs: u32) {
        // SAFETY: the block is valid.
        if unsafe { sys::pcre2_get_ovector_count_8(self.0.as_ptr()) } < pairs {
            *self = MatchBlock::with_room(pairs);
        }
    }

    fn captures(&self, groups: usize) -> GroupRanges {
        // SAFETY: after a match, the block holds `groups` pairs of offsets.
        let offsets =
            unsafe { std::slice::from_raw_parts(sys::pcre2_get_ovector_pointer_8(self.0.as_ptr()), 2 * groups) };
        let range = |pair: &[usize]| (pair[0] != usize::MAX).then(|| pair[0]..pair[1]);
        offsets.chunks_exact(2).map(range).collect()
    }
}

impl Drop for MatchBlock {
    fn drop(&mut self) {
        // SAFETY: the block came from PCRE2 and is freed once.
        unsafe { sys::pcre2_match_data_free_8(self.0.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::{MatchOutcome, Regex};

    fn regex(pattern: &[u8]) -> Regex {
        Regex::new(pattern).expect("a pattern that PCRE2 takes")
    }

    /// A search works on bytes, without regard to UTF-8, and `$` matches before a final newline.
    #[test]
    fn bytes() {
        assert_eq!(regex(b"^/\xe9.$").is_match(b"/\xe9\xff\n", 10_000), MatchOutcome::Yes);
        assert_eq!(regex(b"^/a$").is_match(b"/A", 10_000), MatchOutcome::No);
        assert_eq!(regex(b"").is_match(b"", 10_000), MatchOutcome::Yes);
        assert_eq!(regex(b"(a)(b)(c)").is_match(b"/abc", 10_000), MatchOutcome::Yes);
    }

    /// Reaching the match limit is an outcome, and the next match on the thread is not affected.
    #[test]
    fn match_limit() {
        let regex = regex(b"^/(a+)+$");
        let subject = [b"/".as_slice(), &[b'a'; 40], b"!"].concat();
        assert_eq!(regex.is_match(&subject, 10_000), MatchOutcome::Error(-47));
        assert_eq!(regex.captures(&subject, 10_000), Err(-47));
        assert_eq!(regex.is_match(b"/aaa", 10_000), MatchOutcome::Yes);
        assert_eq!(super::message(-47), "match limit exceeded");
    }

    /// Groups come with their ranges; one that took no part has none.
    #[test]
    fn captures() {
        let regex = regex(b"/(a)|/(b)(c)?(d)?");
        assert_eq!(regex.captures(b"x/b", 10_000), Ok(Some(vec![Some(1..3), None, Some(2..3)])));
        assert_eq!(regex.captures(b"/a", 10_000), Ok(Some(vec![Some(0..2), Some(1..2)])));
        assert_eq!(regex.captures(b"/c", 10_000), Ok(None));
    }

    /// The block of a thread grows for a pattern with more groups than any before, and still serves one with fewer.
    #[test]
    fn many_groups() {
        let (many, few) = (regex("(a)".repeat(70).as_bytes()), regex(b"(b)(c)?"));
        for _ in 0..2 {
            assert_eq!(few.captures(b"xb", 10_000), Ok(Some(vec![Some(1..2), Some(1..2)])));
            let groups = many.captures(&[b'a'; 70], 10_000).unwrap().unwrap();
            assert_eq!((groups.len(), groups[70].clone()), (71, Some(69..70)));
        }
    }

    /// Names come with the numbers of their groups; letters match in any case if requested.
    #[test]
    fn names() {
        let regex = super::Regex::caseless(b"(x)(?<beta>b)|(?<alpha>a)").unwrap();
        assert_eq!(regex.names(), [(b"alpha".to_vec(), 3), (b"beta".to_vec(), 2)]);
        assert_eq!(
            (regex.is_match(b"XB", 100), super::Regex::new(b"a").unwrap().names().len()),
            (MatchOutcome::Yes, 0)
        );
    }

    /// For a pattern that PCRE2 does not compile, the error says where and why.
    #[test]
    fn compile_error() {
        let error = Regex::new(b"^/(a").err().expect("an error");
        assert_eq!((error.code > 0, error.offset), (true, 4));
        assert_eq!(error.to_string(), "missing closing parenthesis at byte 4");
    }
}
