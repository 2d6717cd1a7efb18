//! Lists of nginx's directives, which `build.rs` takes from the tables of facts (`nginxopt/facts`).

include!(concat!(env!("OUT_DIR"), "/facts.rs"));
