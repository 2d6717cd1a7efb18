//! What is in force at a level.

use std::sync::Arc;

use crate::request::bytes::Bytes;
use crate::request::directives::access::Address;
use crate::request::directives::error_page::ErrorPage;
use crate::request::directives::headers::{AddHeader, Expires};
use crate::request::directives::root::Root;
use crate::request::directives::secure_link::SecureLink;
use crate::request::directives::try_files::TryFiles;
use crate::request::handler::{Handler, Pass};
use crate::request::outcome::Unknown;
use crate::request::patterns::Patterns;
use crate::request::setting::Setting;
use crate::request::site::{Kind, Node};
use crate::request::value::Value;

/// A directive with a value; `None` if it is off.
pub(super) type Switched = Option<Arc<(Node, Value)>>;

/// What is in force at a level.
#[derive(Clone)]
pub struct Settings {
    pub node: Node,
    pub kind: Kind,
    pub root: Setting<Arc<Root>>,
    pub index: Setting<Arc<[Value]>>,
    pub autoindex: Setting<bool>,
    pub gzip_static: Setting<GzipStatic>,
    pub msie_refresh: Setting<bool>,
    pub random_index: Setting<bool>,
    /// The methods of `dav_methods`.
    pub dav_methods: Setting<Arc<[Vec<u8>]>>,
    /// `create_full_put_path`
    pub creates_put_path: Setting<bool>,
    pub min_delete_depth: Setting<u64>,
    pub try_files: Setting<Option<Arc<TryFiles>>>,
    pub internal: Setting<bool>,
    /// 0 is no limit.
    pub max_body_size: Setting<u64>,
    pub access: Setting<Arc<[Address]>>,
    pub satisfies_any: Setting<bool>,
    /// The realm; `None` if it is off.
    pub auth_basic: Setting<Switched>,
    pub auth_basic_user_file: Setting<Option<Arc<Value>>>,
    /// The URI; `None` if it is off.
    pub auth_request: Setting<Switched>,
    /// The handler that the level itself states, or that a `limit_except` inherits.
    pub handler: Setting<Option<(Handler, Node)>>,
    /// The servers to which requests are passed on, at most one for each handler.
    pub passes: Setting<Arc<[Pass]>>,
    pub proxy_method: Setting<Option<Arc<Value>>>,
    /// The zone of the cache; `None` if it is off.
    pub proxy_cache: Setting<Switched>,
    /// Whether HEAD is passed on as GET to fill the cache.
    pub proxy_cache_convert_head: Setting<bool>,
    pub error_pages: Setting<Arc<[ErrorPage]>>,
    pub recursive_error_pages: Setting<bool>,
    pub add_headers: Setting<Arc<[AddHeader]>>,
    pub expires: Setting<Option<Arc<Expires>>>,
    pub absolute_redirect: Setting<bool>,
    pub port_in_redirect: Setting<bool>,
    pub server_name_in_redirect: Setting<bool>,
    pub fastcgi_index: Setting<Bytes>,
    /// `fastcgi_split_path_info`
    pub fastcgi_split: Setting<Option<Arc<Patterns>>>,
    /// The trusted proxies, and the header in which they send the address of the client.
    pub real_ip_from: Setting<Arc<[Address]>>,
    pub real_ip_header: Setting<Arc<[u8]>>,
    pub secure_link: Setting<SecureLink>,
    /// `ssl_verify_client`
    pub verifies_client: Setting<Verify>,
    /// A directive that is not understood, so that any answer is possible.
    pub opaque: Option<Unknown>,
}

/// Whether a file with `.gz` behind its name is sent instead of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GzipStatic {
    Off,
    /// To clients that accept it.
    IfAccepted,
    Always,
}

/// Whether nginx verifies the certificate of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    Never,
    /// If the client sends a certificate, it must be valid.
    IfSent,
    /// The client must send a certificate.
    Always,
}

impl Settings {
    /// What nginx does by default.
    pub(super) fn of_nginx(node: Node, prefix: &[u8]) -> Settings {
        Settings {
            node,
            kind: Kind::Http,
            root: Ok(Arc::new(Root::default_of(prefix))),
            index: Ok([Value::text(b"index.html")].into()),
            autoindex: Ok(false),
            gzip_static: Ok(GzipStatic::Off),
            msie_refresh: Ok(false),
            random_index: Ok(false),
            dav_methods: Ok([].into()),
            creates_put_path: Ok(false),
            min_delete_depth: Ok(0),
            try_files: Ok(None),
            internal: Ok(false),
            max_body_size: Ok(1 << 20),
            access: Ok([].into()),
            satisfies_any: Ok(false),
            auth_basic: Ok(None),
            auth_basic_user_file: Ok(None),
            auth_request: Ok(None),
            handler: Ok(None),
            passes: Ok([].into()),
            proxy_method: Ok(None),
            proxy_cache: Ok(None),
            proxy_cache_convert_head: Ok(true),
            error_pages: Ok([].into()),
            recursive_error_pages: Ok(false),
            add_headers: Ok([].into()),
            expires: Ok(None),
            absolute_redirect: Ok(true),
            port_in_redirect: Ok(true),
            server_name_in_redirect: Ok(false),
            fastcgi_index: Ok(Bytes::default()),
            fastcgi_split: Ok(None),
            real_ip_from: Ok([].into()),
            real_ip_header: Ok((*b"x-real-ip").into()),
            secure_link: Ok(SecureLink::default()),
            verifies_client: Ok(Verify::Never),
            opaque: None,
        }
    }
}
