//! The built-in variables of nginx.

/// The variables of nginx's modules (nginx.org, "Alphabetical index of variables", 1.29), except [`COMPUTED`].
const OWN: &str = "ancient_browser args binary_remote_addr body_bytes_sent bytes_received bytes_sent connection \
    connection_requests connection_time connections_active connections_reading connections_waiting \
    connections_writing content_length content_type date_gmt date_local document_root document_uri \
    fastcgi_path_info fastcgi_script_name geoip_area_code geoip_city geoip_city_continent_code \
    geoip_city_country_code geoip_city_country_code3 geoip_city_country_name geoip_country_code \
    geoip_country_code3 geoip_country_name geoip_dma_code geoip_latitude geoip_longitude geoip_org \
    geoip_postal_code geoip_region geoip_region_name gzip_ratio host hostname http2 http3 https \
    invalid_referer is_args limit_conn_status limit_rate limit_req_status memcached_key \
    modern_browser msec msie nginx_version otel_parent_id otel_parent_sampled otel_span_id otel_trace_id pid pipe \
    protocol proxy_add_x_forwarded_for proxy_host proxy_internal_chunked proxy_internal_body_length proxy_port \
    proxy_protocol_addr proxy_protocol_port proxy_protocol_server_addr proxy_protocol_server_port query_string \
    quic realip_remote_addr realip_remote_port realpath_root remote_addr remote_port remote_user request \
    request_body request_body_file request_completion request_filename request_id request_length request_method \
    request_port request_time request_uri scheme secure_link secure_link_expires server_addr server_name \
    server_port server_protocol session_log_binary_id session_log_id session_time slice_range spdy \
    spdy_request_priority ssl_alpn_protocol ssl_cipher ssl_ciphers ssl_client_cert ssl_client_escaped_cert \
    ssl_client_fingerprint ssl_client_i_dn ssl_client_i_dn_legacy ssl_client_raw_cert ssl_client_s_dn \
    ssl_client_s_dn_legacy ssl_client_serial ssl_client_sigalg ssl_client_v_end ssl_client_v_remain \
    ssl_client_v_start ssl_client_verify ssl_curve ssl_curves ssl_early_data ssl_ech_outer_server_name \
    ssl_ech_status ssl_preread_alpn_protocols ssl_preread_protocol ssl_preread_server_name ssl_protocol \
    ssl_server_cert_type ssl_server_name ssl_session_id ssl_session_reused ssl_sigalg status tcpinfo_rcv_space \
    tcpinfo_rtt tcpinfo_rttvar tcpinfo_snd_cwnd time_iso8601 time_local uid_got uid_reset uid_set \
    upstream_addr upstream_bytes_received upstream_bytes_sent upstream_cache_age upstream_cache_key \
    upstream_cache_last_modified upstream_cache_etag upstream_cache_status upstream_connect_time \
    upstream_first_byte_time upstream_header_time upstream_last_addr upstream_last_server_name \
    upstream_queue_time upstream_response_length upstream_response_time upstream_session_time upstream_status uri";

/// Prefixes of computed variables. nginx computes a variable whose name starts like this, whatever follows
/// (`ngx_http_core_variables`, `ngx_http_upstream_vars`).
const COMPUTED: [&str; 9] = [
    "arg_",
    "cookie_",
    "http_",
    "proxy_protocol_tlv_",
    "sent_http_",
    "sent_trailer_",
    "upstream_cookie_",
    "upstream_http_",
    "upstream_trailer_",
];

/// The variables of [`OWN`] that a configuration may define anew, because nginx lets it change them
/// (`NGX_HTTP_VAR_CHANGEABLE`).
const CHANGEABLE: [&str; 3] = ["args", "limit_rate", "memcached_key"];

/// Variables with a prefix of [`COMPUTED`] that nginx defines individually, so that no map can replace them.
const FIXED: [&str; 6] =
    ["http_cookie", "http_host", "http_referer", "http_user_agent", "http_via", "http_x_forwarded_for"];

/// The variables of [`OWN`] that are not in the table of variables: those of the stream module and of dynamic or
/// commercial modules, and those that are only looked up when the configuration is read (`NGX_HTTP_VAR_NOHASH`).
const UNHASHED: &str = "bytes_received fastcgi_path_info fastcgi_script_name invalid_referer memcached_key protocol \
    proxy_add_x_forwarded_for proxy_internal_chunked proxy_internal_body_length session_log_binary_id \
    session_log_id session_time spdy spdy_request_priority upstream_cache_age upstream_cache_etag \
    upstream_cache_key upstream_cache_last_modified upstream_first_byte_time upstream_last_server_name \
    upstream_queue_time upstream_session_time";
const UNHASHED_STARTS: [&str; 3] = ["geoip_", "otel_", "ssl_preread_"];

/// The variables that nginx defines individually for headers of a response (`ngx_http_core_variables`).
const SENT: &str = "sent_http_cache_control sent_http_connection sent_http_content_length sent_http_content_type \
    sent_http_keep_alive sent_http_last_modified sent_http_link sent_http_location sent_http_transfer_encoding";

/// Returns the names that nginx itself puts into its table of variables (`ngx_http_variables_init_vars`), in a usual
/// build of any version.
pub fn hashed() -> impl Iterator<Item = &'static str> {
    let is_hashed = |name: &&str| {
        !UNHASHED.split_ascii_whitespace().any(|other| other == *name)
            && !UNHASHED_STARTS.iter().any(|start| name.starts_with(start))
    };
    let own = OWN.split_ascii_whitespace().filter(is_hashed);
    own.chain(FIXED).chain(SENT.split_ascii_whitespace())
}

/// Whether `name`, in lower case, is a built-in variable.
pub fn is_own(name: &str) -> bool {
    is_listed(name) || COMPUTED.iter().any(|start| name.starts_with(start))
}

/// Whether the values of a map's source never contain a newline.
pub fn has_no_newline(source: &[u8]) -> bool {
    // A newline ends the request line, HTTP/2 refuses one in a path, and an escaped one stays escaped. nginx never changes
    // the variable (`unparsed_uri` in `ngx_http_core_variables`).
    source.eq_ignore_ascii_case(b"$request_uri") || source.eq_ignore_ascii_case(b"${request_uri}")
}

/// Whether reading `$name` certainly leaves `$1` to `$9` as they are. A map with a regex may set them.
pub fn keeps_captures(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    let own = |name: &str| FIXED.contains(&name) || (is_listed(name) && !CHANGEABLE.contains(&name));
    std::str::from_utf8(&name).is_ok_and(own)
}

fn is_listed(name: &str) -> bool {
    OWN.split_ascii_whitespace().any(|own| own == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every variable that a map can define may set captures, including names that nginx computes only if nothing
    /// defines them.
    #[test]
    fn captures() {
        for name in ["host", "Scheme", "http_host"] {
            assert!(keeps_captures(name.as_bytes()), "{name}");
        }
        for name in ["site", "args", "arg_v", "http_x"] {
            assert!(!keeps_captures(name.as_bytes()), "{name}");
        }
    }
}
