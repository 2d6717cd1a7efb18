//! What becomes of a request: one model of how nginx answers, from the bytes of the request to the response.
//!
//! [`site`] is a configuration as nginx runs it: lowered once from the text, includes followed, inheritance applied.
//! [`outcome`] is what the model says of a request: the response, or the handler with the URI that reaches it, or that
//! it is unknown, and why; and the steps that led there.
//!
//! What the configuration does not tell is never guessed: a statement that is not understood is [`site::Opaque`], and a
//! question about the [`world`] (whether a file exists, what an upstream answers) is asked, or makes the outcome unknown.

pub mod bytes;
pub mod hosts;
pub mod locations;
pub mod names;
pub mod outcome;
pub mod patterns;
pub mod refused;
pub mod rules;
pub mod site;
pub mod tables;
pub mod uri;
pub mod wire;
pub mod world;
