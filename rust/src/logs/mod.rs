//! Reads access logs in bounded memory, asks the model what became of each request, and adds up what it took.
//!
//! A piece of a log takes three steps. A [`reader`] splits its lines, and [`Digest::add`] numbers the different requests. Requests
//! that differ in more than their target are a group, and [`Digest::place`] takes the sites that each new group may go
//! to, which the caller knows. [`Digest::settle`] asks the model once for each different request, and adds every line to
//! the cell of its outcome. Cells are few, whatever the log's size, and two digests of the same site add up.
//!
//! [`requests`] counts different requests only.

pub mod agents;
pub mod cells;
pub mod columns;
pub mod digest;
pub mod format;
pub mod histogram;
pub mod reader;
pub mod requests;
pub mod value;
pub mod wrapping;
