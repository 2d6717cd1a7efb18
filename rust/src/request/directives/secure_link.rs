//! `secure_link`, `secure_link_md5` and `secure_link_secret`.

use std::sync::Arc;

use crate::request::bytes::Bytes;
use crate::request::refused::Refused;
use crate::request::setting::{self, Own, Setting};
use crate::request::site::Node;
use crate::request::value::Value;
use crate::request::variables::Variables;

/// How links are protected at a level.
#[derive(Clone, Debug, Default)]
pub struct SecureLink {
    /// The hash in base64url, and perhaps the time after a comma.
    pub link: Option<Arc<(Node, Value)>>,
    /// What the hash is of.
    pub hashed: Option<Arc<Value>>,
    pub secret: Option<Bytes>,
}

impl SecureLink {
    /// `ngx_http_secure_link_merge_conf`: a secret replaces the other two, and is inherited where neither is in force.
    pub fn read(
        own: &Own,
        outer: &Setting<SecureLink>,
        variables: &mut Variables,
    ) -> Result<Setting<SecureLink>, Refused> {
        let directives = ["secure_link", "secure_link_md5", "secure_link_secret"].map(|name| own.last(name));
        let [link, hashed, secret] = match directives {
            [Ok(None), Ok(None), Ok(None)] => return Ok(outer.clone()),
            [Ok(link), Ok(hashed), Ok(secret)] => [link, hashed, secret],
            [Err(unknown), ..] | [_, Err(unknown), _] | [.., Err(unknown)] => return Ok(Err(unknown)),
        };
        if let Some(secret) = secret {
            let secret = Some(setting::argument(secret, 0).into());
            return Ok(Ok(SecureLink { secret, ..SecureLink::default() }));
        }
        let mut both = match outer {
            Ok(outer) => SecureLink { secret: None, ..outer.clone() },
            Err(unknown) if link.is_none() || hashed.is_none() => return Ok(Err(unknown.clone())),
            Err(_) => SecureLink::default(),
        };
        let mut parse = |directive| {
            let value = Value::parse(setting::argument(directive, 0), variables);
            value.map_err(|message| Refused::new(directive.node, message))
        };
        if let Some(directive) = link {
            both.link = Some(Arc::new((directive.node, parse(directive)?)));
        }
        if let Some(directive) = hashed {
            both.hashed = Some(Arc::new(parse(directive)?));
        }
        Ok(Ok(both))
    }
}
