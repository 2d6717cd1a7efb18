//! Tests of the model, statement by statement. Each is verified on nginx 1.22.1 and 1.31.3.

mod access;
mod branches;
mod captures;
mod conditional;
mod errors;
mod fixture;
mod headers;
mod internal;
mod passed;
mod scripts;
mod served;
mod servers;
mod starts;
mod tried;
mod values;

pub(super) use fixture::{Asked, ask};
