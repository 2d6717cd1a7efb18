//! What directives state whose values are read once, before any request: one file for each group of them.

pub mod access;
pub mod error_page;
pub mod fastcgi;
pub mod headers;
pub mod limit_except;
pub mod root;
pub mod secure_link;
pub mod try_files;
pub mod wire;
