//! The native core of nginxopt. This file is the border to Python and holds no logic of its own:
//! it converts arguments, releases the GIL and converts results.
//!
//! The modules, in the order of the data: patterns are read by [`syntax`], their languages are compared by [`language`],
//! and [`first_match`] asks PCRE2 itself, through [`pcre`].

pub mod first_match;
pub mod language;
pub mod pcre;
pub mod syntax;
