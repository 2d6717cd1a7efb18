//! The PCRE libraries of this machine, each called as nginx calls it (`ngx_regex_compile`, `ngx_regex_exec`).
//!
//! These are PCRE2 as it is linked here, PCRE1 and PCRE2 of the system, and the libraries in `NGINXOPT_PCRE`, a list of
//! paths separated by colons. A missing library is reported.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use pcre2_sys as sys;

/// The system's library files, as nginx names them.
const OF_THE_SYSTEM: [&str; 2] = ["libpcre.so.3", "libpcre2-8.so.0"];

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// `RTLD_NOW`; names of one library stay unknown to the others.
const NOW: c_int = 2;

/// The answer of a library for a subject: the groups of the first match, no match, or an error of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    Match(Vec<Option<(usize, usize)>>),
    NoMatch,
    Gives(i32),
}

pub struct Library {
    pub name: String,
    calls: Calls,
}

enum Calls {
    One(One),
    Two(Two),
}

type CompileOne =
    unsafe extern "C" fn(*const c_char, c_int, *mut c_int, *mut *const c_char, *mut c_int, *const u8) -> *mut c_void;
type StudyOne = unsafe extern "C" fn(*const c_void, c_int, *mut *const c_char) -> *mut c_void;
type ExecOne =
    unsafe extern "C" fn(*const c_void, *const c_void, *const c_char, c_int, c_int, c_int, *mut c_int, c_int) -> c_int;

/// PCRE1.
struct One {
    compile: CompileOne,
    study: StudyOne,
    exec: ExecOne,
    free_study: unsafe extern "C" fn(*mut c_void),
    free: *const unsafe extern "C" fn(*mut c_void),
}

type CompileTwo =
    unsafe extern "C" fn(*const u8, usize, u32, *mut c_int, *mut usize, *mut c_void) -> *mut sys::pcre2_code_8;
type MatchTwo = unsafe extern "C" fn(
    *const sys::pcre2_code_8,
    *const u8,
    usize,
    usize,
    u32,
    *mut sys::pcre2_match_data_8,
    *mut c_void,
) -> c_int;

/// PCRE2.
struct Two {
    compile: CompileTwo,
    jit: unsafe extern "C" fn(*mut sys::pcre2_code_8, u32) -> c_int,
    matches: MatchTwo,
    data: unsafe extern "C" fn(*const sys::pcre2_code_8, *mut c_void) -> *mut sys::pcre2_match_data_8,
    offsets: unsafe extern "C" fn(*mut sys::pcre2_match_data_8) -> *mut usize,
    free: unsafe extern "C" fn(*mut sys::pcre2_code_8),
    free_data: unsafe extern "C" fn(*mut sys::pcre2_match_data_8),
}

/// A pattern that a library has compiled.
pub struct Code<'l> {
    calls: &'l Calls,
    code: *mut c_void,
    /// What studying gave (PCRE1), or the block of a match (PCRE2).
    more: *mut c_void,
}

impl Library {
    /// The available libraries; the first is the one linked here.
    pub fn all() -> Vec<Library> {
        let named = std::env::var("NGINXOPT_PCRE").unwrap_or_default();
        let named = named.split(':').filter(|path| !path.is_empty()).map(str::to_owned);
        let mut libraries = vec![Library { name: "as linked".to_owned(), calls: Calls::Two(Two::linked()) }];
        for path in OF_THE_SYSTEM.map(str::to_owned).into_iter().chain(named) {
            match Library::open(&path) {
                Some(library) => libraries.push(library),
                None => {
                    eprintln!("skipped: there is no {path} on this machine (apt-get install libpcre3 libpcre2-8-0)")
                }
            }
        }
        libraries
    }

    fn open(path: &str) -> Option<Library> {
        let text = CString::new(path).ok()?;
        // SAFETY: the path ends with a zero byte; a library is never closed.
        let library = unsafe { dlopen(text.as_ptr(), NOW) };
        if library.is_null() {
            return None;
        }
        let symbol = |name: &CStr| {
            // SAFETY: the library is open, and the name ends with a zero byte.
            let found = unsafe { dlsym(library, name.as_ptr()) };
            (!found.is_null()).then_some(found)
        };
        let calls = if symbol(c"pcre2_compile_8").is_some() {
            Calls::Two(Two::of(&symbol)?)
        } else {
            Calls::One(One::of(&symbol)?)
        };
        Some(Library { name: path.to_owned(), calls })
    }

    /// Compiles a pattern, without options, and with JIT if asked; the error is the library's code.
    pub fn compile(&self, pattern: &[u8], jit: bool) -> Result<Code<'_>, i32> {
        let (code, more) = match &self.calls {
            Calls::One(one) => one.compile(pattern, jit)?,
            Calls::Two(two) => two.compile(pattern, jit)?,
        };
        Ok(Code { calls: &self.calls, code, more })
    }
}

impl One {
    fn of(symbol: &dyn Fn(&CStr) -> Option<*mut c_void>) -> Option<One> {
        // SAFETY: the symbols are those of pcre.h.
        unsafe {
            Some(One {
                compile: std::mem::transmute::<*mut c_void, CompileOne>(symbol(c"pcre_compile2")?),
                study: std::mem::transmute::<*mut c_void, StudyOne>(symbol(c"pcre_study")?),
                exec: std::mem::transmute::<*mut c_void, ExecOne>(symbol(c"pcre_exec")?),
                free_study: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(symbol(
                    c"pcre_free_study",
                )?),
                free: symbol(c"pcre_free")?.cast_const().cast(),
            })
        }
    }

    fn compile(&self, pattern: &[u8], jit: bool) -> Result<(*mut c_void, *mut c_void), i32> {
        let Ok(text) = CString::new(pattern) else { return Err(0) };
        let (mut code, mut message, mut offset) = (0, ptr::null(), 0);
        // SAFETY: the text ends with a zero byte, and the places to write to are valid.
        unsafe {
            let compiled = (self.compile)(text.as_ptr(), 0, &mut code, &mut message, &mut offset, ptr::null());
            if compiled.is_null() {
                return Err(code);
            }
            Ok((compiled, (self.study)(compiled, c_int::from(jit), &mut message)))
        }
    }
}

impl Two {
    fn linked() -> Two {
        // SAFETY: a context is always null here, whatever its type is.
        unsafe {
            Two {
                compile: std::mem::transmute::<*const (), CompileTwo>(sys::pcre2_compile_8 as *const ()),
                jit: sys::pcre2_jit_compile_8,
                matches: std::mem::transmute::<*const (), MatchTwo>(sys::pcre2_match_8 as *const ()),
                data: std::mem::transmute::<
                    *const (),
                    unsafe extern "C" fn(*const sys::pcre2_code_8, *mut c_void) -> *mut sys::pcre2_match_data_8,
                >(sys::pcre2_match_data_create_from_pattern_8 as *const ()),
                offsets: sys::pcre2_get_ovector_pointer_8,
                free: sys::pcre2_code_free_8,
                free_data: sys::pcre2_match_data_free_8,
            }
        }
    }

    fn of(symbol: &dyn Fn(&CStr) -> Option<*mut c_void>) -> Option<Two> {
        // SAFETY: the symbols are those of pcre2.h.
        unsafe {
            Some(Two {
                compile: std::mem::transmute_copy(&symbol(c"pcre2_compile_8")?),
                jit: std::mem::transmute_copy(&symbol(c"pcre2_jit_compile_8")?),
                matches: std::mem::transmute_copy(&symbol(c"pcre2_match_8")?),
                data: std::mem::transmute_copy(&symbol(c"pcre2_match_data_create_from_pattern_8")?),
                offsets: std::mem::transmute_copy(&symbol(c"pcre2_get_ovector_pointer_8")?),
                free: std::mem::transmute_copy(&symbol(c"pcre2_code_free_8")?),
                free_data: std::mem::transmute_copy(&symbol(c"pcre2_match_data_free_8")?),
            })
        }
    }

    fn compile(&self, pattern: &[u8], jit: bool) -> Result<(*mut c_void, *mut c_void), i32> {
        let (mut code, mut offset) = (0, 0);
        // SAFETY: the pattern is valid for its length; a null context means the defaults.
        unsafe {
            let compiled = (self.compile)(pattern.as_ptr(), pattern.len(), 0, &mut code, &mut offset, ptr::null_mut());
            if compiled.is_null() {
                return Err(code);
            }
            if jit {
                (self.jit)(compiled, sys::PCRE2_JIT_COMPLETE);
            }
            Ok((compiled.cast(), (self.data)(compiled, ptr::null_mut()).cast()))
        }
    }
}

impl Code<'_> {
    /// Runs it. `groups` is how many the pattern has.
    pub fn says(&self, subject: &[u8], groups: usize) -> Says {
        let mut ends = vec![0; 3 * (groups + 1)];
        let text = [subject, b"\0"].concat(); // JIT reads from the start of an empty subject, too
        // SAFETY: code and block are valid, the subject is valid for its length, and `ends` has three numbers a group.
        let (code, offsets) = unsafe {
            match self.calls {
                Calls::One(one) => {
                    let (length, room) = (subject.len() as c_int, ends.len() as c_int);
                    let code =
                        (one.exec)(self.code, self.more, text.as_ptr().cast(), length, 0, 0, ends.as_mut_ptr(), room);
                    (code, ends.iter().map(|end| *end as usize).collect::<Vec<_>>())
                }
                Calls::Two(two) => {
                    let (code, block) = (self.code.cast(), self.more.cast());
                    let code = (two.matches)(code, text.as_ptr(), subject.len(), 0, 0, block, ptr::null_mut());
                    let count = usize::try_from(2 * code).unwrap_or(0);
                    (code, std::slice::from_raw_parts((two.offsets)(block), count).to_vec())
                }
            }
        };
        match usize::try_from(code) {
            Ok(groups) => {
                let pair = |pair: &[usize]| (pair[0] as c_int >= 0).then_some((pair[0], pair[1]));
                Says::Match(offsets[..2 * groups].chunks_exact(2).map(pair).collect())
            }
            Err(_) if code == -1 => Says::NoMatch,
            Err(_) => Says::Gives(code),
        }
    }
}

impl Drop for Code<'_> {
    fn drop(&mut self) {
        // SAFETY: both came from this library and are freed once.
        unsafe {
            match self.calls {
                Calls::One(one) => {
                    if !self.more.is_null() {
                        (one.free_study)(self.more);
                    }
                    (*one.free)(self.code);
                }
                Calls::Two(two) => {
                    (two.free_data)(self.more.cast());
                    (two.free)(self.code.cast());
                }
            }
        }
    }
}
