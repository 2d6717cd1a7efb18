//! A model of how nginx answers a request, from the bytes of the request to the response.
//!
//! The input is a [`site`]: a configuration as nginx runs it, with includes followed and inheritance applied. The
//! result is an [`outcome`]: the response, or the handler and the URI that reaches it, or the reason why the outcome is
//! unknown. It also has the steps that led there.
//!
//! Of the three readers of the rewrite module in this crate, this is the *model*: it runs all statements of a site as
//! nginx does, for one request after the other. The planner ([`crate::rewrite`]) reads only rules that it may replace,
//! and the prover ([`crate::prove`]) only those and what replaces them, for all requests at once. The model shares
//! nothing with either, because tests compare the rules before and after with it: a fault of the planner or the prover
//! must not be its fault, too.
//!
//! The model never guesses. A statement that it does not understand is [`site::Opaque`]. If the answer depends on the
//! [`world`] (whether a file exists, what an upstream answers) and the world does not say, the outcome is unknown.

pub mod access;
pub mod answer;
pub mod branches;
pub mod build;
pub mod bytes;
pub mod checks;
pub mod conditional;
pub mod content;
pub mod credentials;
pub mod dav;
pub mod directives;
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
mod secure_link;
pub mod servers;
pub mod setting;
pub mod settle;
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
