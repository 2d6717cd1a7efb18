//! The variables of FastCGI (`ngx_http_fastcgi_module.c`), which have values in every location.

use crate::request::outcome::Unknown;
use crate::request::record::Recorder;
use crate::request::run::Run;
use crate::request::site::Node;
use crate::request::variables::{RequestVariable, Source, VariableId};

impl<R: Recorder> Run<'_, R> {
    /// `$fastcgi_script_name`: with `fastcgi_index` after a final slash.
    pub fn fastcgi_script_name(&mut self) -> Result<Vec<u8>, Unknown> {
        let (mut name, _) = self.fastcgi_split()?;
        if name.ends_with(b"/") {
            name.extend_from_slice(&self.settings().fastcgi_index.clone()?);
        }
        Ok(name)
    }

    /// `$fastcgi_path_info`
    pub fn fastcgi_path_info(&mut self) -> Result<Vec<u8>, Unknown> {
        self.fastcgi_split().map(|(_, info)| info)
    }

    /// Fails if a pattern would be matched against an empty `$fastcgi_path_info`. This value is a null pointer, and
    /// versions of PCRE2 differ on whether such a subject is an error.
    pub fn check_path_info(&self, variable: VariableId, subject: &[u8], node: Node) -> Result<(), Unknown> {
        let source = &self.model.sources[variable];
        if !subject.is_empty() || !matches!(source, Source::Request(RequestVariable::FastcgiPathInfo)) {
            return Ok(());
        }
        let reason = "a pattern on an empty $fastcgi_path_info".to_owned();
        Err(Unknown { reason, node: Some(node), question: None })
    }

    /// Splits the URI into script name and path info. Later uses get the same values (`ngx_http_fastcgi_split`).
    fn fastcgi_split(&mut self) -> Result<(Vec<u8>, Vec<u8>), Unknown> {
        if let Some(split) = &self.state.fastcgi {
            return Ok(split.clone());
        }
        let split = self.split_uri()?;
        if !split.0.is_empty() {
            self.state.fastcgi = Some(split.clone());
        }
        Ok(split)
    }

    fn split_uri(&self) -> Result<(Vec<u8>, Vec<u8>), Unknown> {
        let uri = &self.state.uri;
        let Some(pattern) = self.settings().fastcgi_split.clone()? else { return Ok((uri.clone(), Vec::new())) };
        let Some(index) = pattern.first(uri, 0..1)? else { return Ok((uri.clone(), Vec::new())) };
        let captures = pattern.captures(index, uri)?;
        let group = |number: usize| captures.groups.get(number).cloned().flatten().unwrap_or_default().0;
        Ok((group(1), group(2)))
    }
}
