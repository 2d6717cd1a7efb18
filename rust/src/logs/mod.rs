//! Reads access logs in bounded memory, asks the model what became of each request, and adds up what it took.
//!
//! A piece of a log takes three steps. [`Digest::read`] splits its lines and numbers the different requests;
//! [`Digest::place`] is told where those go that differ in more than the target, as only the caller knows the site;
//! [`Digest::settle`] asks the model once for each different request, and adds every line to the cell of its outcome.
//! Cells are few, whatever the log's size, and two digests of the same site add up.

pub mod cells;
pub mod columns;
pub mod digest;
pub mod format;
pub mod histogram;
pub mod value;
pub mod wrapping;
