//! The model of requests: any site as JSON, which Python writes, is a model or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nginxopt_native::request::model::Model;
use nginxopt_native::request::site::Site;

fuzz_target!(|input: (&str, Vec<Vec<u8>>)| {
    if let Ok(site) = serde_json::from_str::<Site>(input.0) {
        let _ = Model::new(site, &input.1);
    }
});
