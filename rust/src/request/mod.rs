//! What becomes of a request: one model of how nginx answers, from the bytes of the request to the response.
//!
//! [`site`] is a configuration as nginx runs it: lowered once from the text, includes followed, inheritance applied.
//! [`outcome`] is what the model says of a request: the response, or the handler with the URI that reaches it, or that
//! it is unknown, and why; and the steps that led there.
//!
//! What the configuration does not tell is never guessed: a statement that is not understood is [`site::Opaque`], and a
//! question about the [`world`] (whether a file exists, what an upstream answers) is asked, or makes the outcome
//! unknown.

pub mod access;
pub mod answer;
pub mod build;
pub mod bytes;
pub mod checks;
pub mod conditional;
pub mod content;
pub mod errors;
pub mod evaluate;
pub mod fastcgi;
pub mod files;
pub mod handler;
pub mod headers;
pub mod hosts;
pub mod levels;
pub mod locations;
pub mod model;
pub mod names;
pub mod outcome;
pub mod pass;
pub mod paths;
pub mod patterns;
pub mod real_ip;
pub mod record;
pub mod redirects;
pub mod refused;
pub mod request_variables;
pub mod response;
pub mod rules;
pub mod run;
pub mod script;
pub mod servers;
pub mod setting;
pub mod site;
pub mod starts;
pub mod state;
pub mod tables;
pub mod tally;
pub mod try_files;
pub mod uri;
pub mod value;
pub mod variables;
pub mod wire;
pub mod world;

#[cfg(test)]
mod tests;
