//! Reads the settings of every level once: the values in force there, whether stated or inherited.

mod settings;

use std::sync::Arc;

use crate::request::directives::access::{self, Address};
use crate::request::directives::error_page::ErrorPage;
use crate::request::directives::fastcgi;
use crate::request::directives::headers::{AddHeader, Expires};
use crate::request::directives::root::Root;
use crate::request::directives::secure_link::SecureLink;
use crate::request::directives::try_files::TryFiles;
use crate::request::handler::{Handler, Pass};
use crate::request::outcome::Unknown;
use crate::request::refused::Refused;
use crate::request::setting::{self, Own, Setting};
use crate::request::site::{Kind, LevelId, Site, Stated};
use crate::request::value::Value;
use crate::request::variables::Variables;

pub use settings::{GzipStatic, Settings, Verify};

use settings::Switched;

/// Returns the settings of all levels, by their number. Fails with the message of nginx for a directive that it
/// refuses.
pub fn read(site: &Site, variables: &mut Variables) -> Result<Vec<Settings>, Refused> {
    let mut read: Vec<Option<Settings>> = vec![None; site.levels.len()];
    for level in 0..site.levels.len() {
        let mut path = vec![level];
        while let Some(parent) = site.levels[*path.last().expect("a level")].parent.filter(|id| read[*id].is_none()) {
            path.push(parent);
        }
        for level in path.into_iter().rev().filter(|level| *level < site.levels.len()) {
            if read[level].is_none() {
                let outer = site.levels[level].parent.and_then(|parent| read[parent].clone());
                read[level] = Some(Reader { site, level, variables }.settings(outer)?);
            }
        }
    }
    Ok(read.into_iter().flatten().collect())
}

struct Reader<'a> {
    site: &'a Site,
    level: LevelId,
    variables: &'a mut Variables,
}

impl Reader<'_> {
    fn settings(&mut self, outer: Option<Settings>) -> Result<Settings, Refused> {
        let level = &self.site.levels[self.level];
        let outer = outer.unwrap_or_else(|| Settings::of_nginx(level.node, &self.site.build.prefix));
        let own = Own { site: self.site, level };
        let passes = self.passes(&own, &outer)?;
        let opaque = level.opaque.first().map(|opaque| Unknown {
            reason: opaque.reason.clone(),
            node: Some(opaque.node),
            question: None,
        });
        Ok(Settings {
            node: level.node,
            kind: level.kind,
            root: self.root(&own, &outer)?,
            index: self.index(&own, &outer)?,
            autoindex: own.flag("autoindex", &outer.autoindex),
            gzip_static: own.merge("gzip_static", &outer.gzip_static, |directives| {
                match &*setting::argument(directives[0], 0).to_ascii_lowercase() {
                    b"always" => GzipStatic::Always,
                    b"on" => GzipStatic::IfAccepted,
                    _ => GzipStatic::Off,
                }
            }),
            msie_refresh: own.flag("msie_refresh", &outer.msie_refresh),
            random_index: own.flag("random_index", &outer.random_index),
            dav_methods: own.merge("dav_methods", &outer.dav_methods, |directives| {
                directives.iter().flat_map(|directive| directive.args.iter().map(|method| method.0.clone())).collect()
            }),
            creates_put_path: own.flag("create_full_put_path", &outer.creates_put_path),
            min_delete_depth: own.merge("min_delete_depth", &outer.min_delete_depth, |directives| {
                setting::number(setting::argument(directives[0], 0)).unwrap_or(0)
            }),
            try_files: self.try_files(&own)?,
            internal: own.merge("internal", &outer.internal, |_| true),
            max_body_size: own.merge("client_max_body_size", &outer.max_body_size, |directives| {
                setting::size(setting::argument(directives[0], 0)).unwrap_or(0)
            }),
            access: access::read(&own, &outer.access),
            satisfies_any: own.merge("satisfy", &outer.satisfies_any, |directives| {
                setting::argument(directives[0], 0).eq_ignore_ascii_case(b"any")
            }),
            auth_basic: self.unless_off("auth_basic", &own, &outer.auth_basic)?,
            auth_basic_user_file: self.value("auth_basic_user_file", &own, &outer.auth_basic_user_file)?,
            auth_request: own.merge("auth_request", &outer.auth_request, |directives| {
                let uri = setting::argument(directives[0], 0);
                (uri != b"off").then(|| Arc::new((directives[0].node, Value::text(uri))))
            }),
            handler: Handler::of(&own, passes.as_deref().unwrap_or_default()),
            passes,
            proxy_method: self.value("proxy_method", &own, &outer.proxy_method)?,
            proxy_cache: self.unless_off("proxy_cache", &own, &outer.proxy_cache)?,
            proxy_cache_convert_head: own.flag("proxy_cache_convert_head", &outer.proxy_cache_convert_head),
            error_pages: self.error_pages(&own, &outer)?,
            recursive_error_pages: own.flag("recursive_error_pages", &outer.recursive_error_pages),
            add_headers: self.add_headers(&own, &outer)?,
            expires: self.expires(&own, &outer)?,
            absolute_redirect: own.flag("absolute_redirect", &outer.absolute_redirect),
            port_in_redirect: own.flag("port_in_redirect", &outer.port_in_redirect),
            server_name_in_redirect: own.flag("server_name_in_redirect", &outer.server_name_in_redirect),
            fastcgi_index: own
                .merge("fastcgi_index", &outer.fastcgi_index, |directives| setting::argument(directives[0], 0).into()),
            fastcgi_split: match own.last("fastcgi_split_path_info") {
                Ok(None) => outer.fastcgi_split.clone(),
                Ok(Some(directive)) => Ok(Some(fastcgi::split(directive)?)),
                Err(unknown) => Err(unknown),
            },
            real_ip_from: own.merge("set_real_ip_from", &outer.real_ip_from, |directives| {
                directives.iter().filter_map(|directive| Address::read(directive, true)).collect()
            }),
            real_ip_header: own.merge("real_ip_header", &outer.real_ip_header, |directives| {
                setting::argument(directives[0], 0).to_ascii_lowercase().into()
            }),
            secure_link: SecureLink::read(&own, &outer.secure_link, self.variables)?,
            verifies_client: own.merge("ssl_verify_client", &outer.verifies_client, |directives| {
                match &*setting::argument(directives[0], 0).to_ascii_lowercase() {
                    b"off" => Verify::Never,
                    b"on" => Verify::Always,
                    _ => Verify::IfSent,
                }
            }),
            opaque,
        })
    }

    /// Reads the value of a directive. Fails with the message of nginx.
    fn parse(&mut self, directive: &Stated, text: &[u8]) -> Result<Value, Refused> {
        Value::parse(text, self.variables).map_err(|message| Refused::new(directive.node, message))
    }

    fn value(
        &mut self,
        name: &str,
        own: &Own,
        outer: &Setting<Option<Arc<Value>>>,
    ) -> Result<Setting<Option<Arc<Value>>>, Refused> {
        Ok(match own.last(name) {
            Ok(None) => outer.clone(),
            Ok(Some(directive)) => Ok(Some(Arc::new(self.parse(directive, setting::argument(directive, 0))?))),
            Err(unknown) => Err(unknown),
        })
    }

    /// Reads a directive with one value, or `off`.
    fn unless_off(&mut self, name: &str, own: &Own, outer: &Setting<Switched>) -> Result<Setting<Switched>, Refused> {
        Ok(match own.last(name) {
            Ok(None) => outer.clone(),
            Ok(Some(directive)) => match setting::argument(directive, 0) {
                b"off" => Ok(None),
                text => Ok(Some(Arc::new((directive.node, self.parse(directive, text)?)))),
            },
            Err(unknown) => Err(unknown),
        })
    }

    fn root(&mut self, own: &Own, outer: &Settings) -> Result<Setting<Arc<Root>>, Refused> {
        let (root, alias) = match (own.last("root"), own.last("alias")) {
            (Err(unknown), _) | (_, Err(unknown)) => return Ok(Err(unknown)),
            (Ok(root), Ok(alias)) => (root, alias),
        };
        let Some(directive) = alias.or(root) else { return Ok(outer.root.clone()) };
        let root = Root::read(directive, alias.map(|_| own.level), &self.site.build.prefix, self.variables)?;
        Ok(Ok(Arc::new(root)))
    }

    fn index(&mut self, own: &Own, outer: &Settings) -> Result<Setting<Arc<[Value]>>, Refused> {
        let directives = match own.all("index") {
            Ok(directives) if directives.is_empty() => return Ok(outer.index.clone()),
            Ok(directives) => directives,
            Err(unknown) => return Ok(Err(unknown)),
        };
        let mut values = Vec::new();
        for directive in directives {
            for text in &directive.args {
                values.push(self.parse(directive, text)?);
            }
        }
        Ok(Ok(values.into()))
    }

    fn try_files(&mut self, own: &Own) -> Result<Setting<Option<Arc<TryFiles>>>, Refused> {
        Ok(match own.last("try_files") {
            Ok(None) => Ok(None),
            Ok(Some(directive)) => Ok(Some(Arc::new(TryFiles::read(directive, self.variables)?))),
            Err(unknown) => Err(unknown),
        })
    }

    fn passes(&mut self, own: &Own, outer: &Settings) -> Result<Setting<Arc<[Pass]>>, Refused> {
        let inherits = matches!(own.level.kind, Kind::If | Kind::LimitExcept);
        let mut passes: Vec<Pass> = match (&outer.passes, inherits) {
            (Ok(passes), true) => passes.to_vec(),
            (Err(unknown), true) => return Ok(Err(unknown.clone())),
            (_, false) => Vec::new(),
        };
        for (handler, name) in Handler::PASSES {
            match own.last(name) {
                Ok(None) => {}
                Ok(Some(directive)) => {
                    passes.retain(|pass| pass.handler != handler);
                    passes.push(Pass::read(handler, directive, own.level, self.variables)?);
                }
                Err(unknown) => return Ok(Err(unknown)),
            }
        }
        Ok(Ok(passes.into()))
    }

    fn error_pages(&mut self, own: &Own, outer: &Settings) -> Result<Setting<Arc<[ErrorPage]>>, Refused> {
        let directives = match own.all("error_page") {
            Ok(directives) if directives.is_empty() => return Ok(outer.error_pages.clone()),
            Ok(directives) => directives,
            Err(unknown) => return Ok(Err(unknown)),
        };
        let mut pages = Vec::new();
        for directive in directives {
            pages.extend(ErrorPage::read(directive, self.variables)?);
        }
        Ok(Ok(pages.into()))
    }

    /// The headers of a level replace those of the level around it, unless `add_header_inherit` says otherwise (since
    /// 1.29.3).
    fn add_headers(&mut self, own: &Own, outer: &Settings) -> Result<Setting<Arc<[AddHeader]>>, Refused> {
        let mut headers = Vec::new();
        let directives = match own.all("add_header") {
            Ok(directives) => directives,
            Err(unknown) => return Ok(Err(unknown)),
        };
        for directive in &directives {
            headers.push(AddHeader::read(directive, self.variables)?);
        }
        let inherit = match self.in_force("add_header_inherit") {
            Ok(directive) => {
                directive.map_or(b"on".to_vec(), |directive| setting::argument(directive, 0).to_ascii_lowercase())
            }
            Err(unknown) => return Ok(Err(unknown)),
        };
        let outer = match &outer.add_headers {
            _ if inherit == b"off" => return Ok(Ok(headers.into())),
            _ if !headers.is_empty() && inherit != b"merge" => return Ok(Ok(headers.into())),
            Err(unknown) => return Ok(Err(unknown.clone())),
            Ok(outer) => outer,
        };
        headers.extend(outer.iter().cloned());
        Ok(Ok(headers.into()))
    }

    /// The directive of this name that is in force at the level.
    fn in_force(&self, name: &str) -> Setting<Option<&Stated>> {
        let mut level = Some(self.level);
        while let Some(id) = level {
            let own = Own { site: self.site, level: &self.site.levels[id] };
            if let Some(directive) = own.last(name)? {
                return Ok(Some(directive));
            }
            level = own.level.parent;
        }
        Ok(None)
    }

    fn expires(&mut self, own: &Own, outer: &Settings) -> Result<Setting<Option<Arc<Expires>>>, Refused> {
        Ok(match own.last("expires") {
            Ok(None) => outer.expires.clone(),
            Ok(Some(directive)) => Ok(Expires::read(directive, self.variables)?.map(Arc::new)),
            Err(unknown) => Err(unknown),
        })
    }
}
