//! `$secure_link` and `$secure_link_expires` (`ngx_http_secure_link_module.c`).

use crate::request::credentials;
use crate::request::outcome::Unknown;
use crate::request::record::Recorder;
use crate::request::run::Run;
use crate::request::setting;

impl<R: Recorder> Run<'_, R> {
    /// `$secure_link`: `1` if the hash is right, `0` if the link has expired as well, and with a secret, the rest of the
    /// URI. Empty for a wrong hash.
    pub fn secure_link(&mut self) -> Result<Vec<u8>, Unknown> {
        let settings = self.settings().secure_link.clone()?;
        if let Some(secret) = settings.secret {
            return Ok(linked(&self.head.unparsed_uri, &secret).unwrap_or_default().to_vec());
        }
        let (Some(link), Some(hashed)) = (settings.link, settings.hashed) else { return Ok(Vec::new()) };
        let (node, link) = &*link;
        let link = self.evaluate(link)?;
        let (hash, expires) = match link.iter().position(|byte| *byte == b',') {
            None => (&link[..], None),
            Some(comma) => {
                let text = &link[comma + 1..];
                let Some(expires) = setting::number(text).filter(|time| (1..=i64::MAX as u64).contains(time)) else {
                    return Ok(Vec::new());
                };
                self.state.link_expires = Some(text.to_vec());
                (&link[..comma], Some(expires))
            }
        };
        let Some(hash) = credentials::decode_url(hash).filter(|decoded| hash.len() <= 24 && decoded.len() == 16) else {
            return Ok(Vec::new());
        };
        let hashed = self.evaluate(&hashed)?;
        if md5::compute(hashed).0 != *hash {
            return Ok(Vec::new());
        }
        Ok(match expires {
            Some(time) if self.happens(format!("the link has expired ({time})"), *node)? => b"0".to_vec(),
            _ => b"1".to_vec(),
        })
    }
}

/// What stands behind the hash of a URI, `/prefix/hash/link`, if the hash is that of the link and the secret
/// (`ngx_http_secure_link_old_variable`).
fn linked<'u>(uri: &'u [u8], secret: &[u8]) -> Option<&'u [u8]> {
    let mut parts = uri.get(1..)?.splitn(3, |byte| *byte == b'/').skip(1);
    let (hash, link) = (parts.next()?, parts.next()?);
    let is_right = hash.len() == 32
        && !link.is_empty()
        && format!("{:x}", md5::compute([link, secret].concat())).as_bytes().eq_ignore_ascii_case(hash);
    is_right.then_some(link)
}
