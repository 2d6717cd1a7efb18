"""Classifies the directives that the request model does not simulate by their effect on the outcome of a request.

Some have no effect. For others, the model reports that it does not know the outcome from a certain point on. Directives
that are not listed here may do anything and do it first, as an unknown module may answer in any phase.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from nginxopt.semantics.directives import NAMES
from nginxopt.text.escape import unicode

When = Literal["first", "in order", "after", "body", "headers", "response"]
"""When a directive that is not simulated takes effect.

- `first`: before the rewrite script of a level.
- `in order`: at its place in the script.
- `after`: after the script, before or as the handler.
- `body`, `headers`, `response`: on the outgoing response: its body, its headers except `Location`, or all of it.
"""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a directive that is not simulated.

    `reason` is a phrase that names the cause in messages. `is_inherited`: whether inner locations inherit it.
    """

    when: When
    reason: str
    is_inherited: bool = True


IGNORED: dict[str, str] = {
    "logs": """
        access_log error_log log_format log_not_found log_subrequest open_log_file_cache rewrite_log
        uninitialized_variable_warn session_log session_log_format session_log_zone log_by_lua log_by_lua_block
        log_by_lua_file
    """,
    "sizes of buffers, pools and tables": """
        client_body_buffer_size client_body_in_single_buffer connection_pool_size directio
        directio_alignment map_hash_bucket_size map_hash_max_size output_buffers postpone_output read_ahead
        referer_hash_bucket_size referer_hash_max_size request_pool_size server_names_hash_bucket_size
        server_names_hash_max_size subrequest_output_buffer_size types_hash_bucket_size types_hash_max_size
        variables_hash_bucket_size variables_hash_max_size
    """,
    "connections, timeouts and the way bytes are sent": """
        aio aio_write auth_delay chunked_transfer_encoding client_body_early_read client_body_timeout
        client_header_timeout early_hints http2 http2_body_preread_size http2_chunk_size http2_idle_timeout
        http2_max_concurrent_pushes http2_max_concurrent_streams http2_max_field_size http2_max_header_size
        http2_max_requests http2_pool_size http2_push http2_push_preload http2_recv_buffer_size http2_recv_timeout
        http2_streams_index_size http3 http3_hq http3_max_concurrent_streams http3_stream_buffer_size
        keepalive_disable keepalive_min_timeout keepalive_requests keepalive_time keepalive_timeout limit_rate
        limit_rate_after lingering_close lingering_time lingering_timeout max_ranges quic_active_connection_id_limit
        quic_gso quic_host_key quic_retry reset_timedout_connection resolver resolver_timeout send_lowat send_timeout
        sendfile sendfile_max_chunk spdy_chunk_size spdy_headers_comp ssl ssl_alpn ssl_buffer_size ssl_certificate
        ssl_certificate_cache ssl_certificate_compression ssl_certificate_key ssl_ciphers ssl_client_certificate
        ssl_conf_command ssl_crl ssl_dhparam ssl_early_data ssl_ecdh_curve ssl_ech_file ssl_key_log
        ssl_object_cache_inheritable ssl_ocsp ssl_ocsp_cache ssl_ocsp_responder ssl_password_file
        ssl_prefer_server_ciphers ssl_protocols ssl_session_cache ssl_session_ticket_key ssl_session_tickets
        ssl_session_timeout ssl_stapling ssl_stapling_file ssl_stapling_responder ssl_stapling_verify
        ssl_trusted_certificate ssl_verify_depth tcp_nodelay tcp_nopush
    """,
    "the encoding of a body, which decodes to the same": """
        brotli brotli_buffers brotli_comp_level brotli_min_length brotli_static brotli_types brotli_window gunzip
        gunzip_buffers gzip gzip_buffers gzip_comp_level gzip_disable gzip_hash gzip_http_version gzip_min_length
        gzip_no_buffer gzip_proxied gzip_types gzip_vary gzip_window postpone_gzipping zstd zstd_comp_level
        zstd_min_length zstd_static zstd_types
    """,
    "parameters of another directive, by which that takes effect": """
        addition_types auth_basic_user_file autoindex_exact_size autoindex_format autoindex_localtime
        client_body_in_file_only client_body_temp_path create_full_put_path dav_access f4f_buffer_size
        fancyindex_css_href fancyindex_exact_size fancyindex_footer fancyindex_header fancyindex_localtime
        fancyindex_name_length hls_buffers hls_forward_args hls_fragment hls_mp4_buffer_size hls_mp4_max_buffer_size
        image_filter_buffer image_filter_interlace image_filter_jpeg_quality image_filter_sharpen
        image_filter_transparency image_filter_webp_quality limit_conn_dry_run limit_conn_log_level limit_conn_status
        limit_conn_zone limit_req_dry_run limit_req_log_level limit_req_status limit_req_zone limit_zone
        min_delete_depth mirror_request_body mp4_buffer_size mp4_limit_rate mp4_limit_rate_after mp4_max_buffer_size
        mp4_start_key_frame open_file_cache open_file_cache_errors open_file_cache_events open_file_cache_min_uses
        open_file_cache_valid real_ip_recursive ssi_ignore_recycled_buffers ssi_last_modified ssi_min_file_chunk
        ssi_silent_errors ssi_types ssi_value_length sub_filter_last_modified sub_filter_once sub_filter_types
        subs_filter_bypass subs_filter_types xml_entities xml_external_entities xslt_last_modified xslt_param
        xslt_string_param xslt_types add_trailer_inherit auth_jwt_claim_set auth_jwt_header_set auth_jwt_key_cache
        auth_jwt_key_file auth_jwt_key_request auth_jwt_leeway auth_jwt_type modsecurity_rules modsecurity_rules_file
        modsecurity_rules_remote modsecurity_transaction_id js_fetch_buffer_size js_fetch_ciphers js_fetch_keepalive
        js_fetch_keepalive_requests js_fetch_keepalive_time js_fetch_keepalive_timeout
        js_fetch_max_response_buffer_size js_fetch_protocols js_fetch_proxy js_fetch_timeout
        js_fetch_trusted_certificate js_fetch_verify js_fetch_verify_depth js_context_reuse js_context_reuse_max_size
        js_engine js_import js_include js_path js_preload_object js_shared_dict_zone js_periodic perl_modules
        perl_require init_by_lua init_by_lua_block init_by_lua_file init_worker_by_lua init_worker_by_lua_block
        init_worker_by_lua_file exit_worker_by_lua_block exit_worker_by_lua_file ssl_certificate_by_lua_block
        ssl_certificate_by_lua_file ssl_session_fetch_by_lua_block ssl_session_fetch_by_lua_file
        ssl_session_store_by_lua_block ssl_session_store_by_lua_file access_by_lua_no_postpone
        precontent_by_lua_no_postpone rewrite_by_lua_no_postpone
    """,
    "headers that are no part of an outcome": """
        add_trailer charset charset_map charset_types etag if_modified_since override_charset server_tokens
        source_charset userid userid_domain userid_expires userid_flags userid_mark userid_name userid_p3p userid_path
        userid_service msie_padding
    """,
    "values of variables of its module, which are not known": """
        ancient_browser ancient_browser_value geoip_city geoip_country geoip_org geoip_proxy geoip_proxy_recursive
        modern_browser modern_browser_value secure_link secure_link_md5 secure_link_secret valid_referers geoip2_proxy
        geoip2_proxy_recursive
    """,
    "measures, state and what happens after the response": """
        oidc_provider acme_certificate acme_issuer acme_shared_zone health_check keyval_zone match mgmt otel_exporter
        otel_resource_attr otel_service_name otel_span_attr otel_span_name otel_trace otel_trace_context post_action
        proxy_cache_path fastcgi_cache_path uwsgi_cache_path scgi_cache_path status_format status_zone
        vhost_traffic_status vhost_traffic_status_dump vhost_traffic_status_filter vhost_traffic_status_filter_by_host
        vhost_traffic_status_filter_by_set_key vhost_traffic_status_zone vhost_traffic_status_histogram_buckets
        opentracing opentracing_tag opentracing_load_tracer opentracing_operation_name
        opentracing_propagate_context opentracing_trace_locations opentracing_location_operation_name
    """,
}
"""The directives that change no outcome, grouped by what they set."""

_FAMILIES = ("proxy_", "fastcgi_", "uwsgi_", "scgi_", "grpc_", "memcached_", "lua_", "tunnel_", "app_protect_")
"""Known directives with these prefixes change no outcome either, unless they are listed below: they set how a request
is passed on. The model reads those that decide whether and where it is.
"""

_HANDLERS = """
    api content_by_lua content_by_lua_block content_by_lua_file echo f4f fancyindex hls internal_redirect js_content
    perl push_stream_publisher push_stream_subscriber status upstream_conf vhost_traffic_status_display
"""
_AFTER = """
    access_by_lua access_by_lua_block access_by_lua_file auth_jwt auth_jwt_require auth_oidc
    auth_require disable_symlinks js_access precontent_by_lua_block precontent_by_lua_file rewrite_by_lua
    rewrite_by_lua_block rewrite_by_lua_file tunnel_pass image_filter xslt_stylesheet slice
"""
_IN_ORDER = "set_by_lua set_by_lua_block set_by_lua_file"
_BODY = """
    add_after_body add_before_body body_filter_by_lua body_filter_by_lua_block body_filter_by_lua_file
    js_body_filter ssi sub_filter subs_filter
"""
_RESPONSE = """
    header_filter_by_lua header_filter_by_lua_block header_filter_by_lua_file js_header_filter
"""
_HEADERS = ("more_clear_headers", "more_set_headers")
_FIRST = """
    app_protect_enable modsecurity more_clear_input_headers more_set_input_headers proxy_wasm
    server_rewrite_by_lua_block server_rewrite_by_lua_file ssl_client_hello_by_lua_block ssl_client_hello_by_lua_file
    ssl_reject_handshake ssl_verify_client
"""

_OFF = {
    **dict.fromkeys(
        (
            *("app_protect_enable", "auth_jwt", "auth_oidc", "disable_symlinks", "f4f", "fancyindex", "image_filter"),
            *("modsecurity", "ssi", "ssl_reject_handshake"),
        ),
        ("off",),
    ),
    "slice": ("0",),
    "ssl_verify_client": ("off", "optional", "optional_no_ca"),
}
"""Arguments with which a directive has no effect. For `optional`, this assumes a client without a certificate."""

_MODULES = {"_by_lua": "Lua", "js_": "JavaScript", "perl": "Perl"}


def effect(name: str, args: tuple[str, ...] = ()) -> Effect | None:
    """Return the effect of a directive; None if it changes no outcome.

    Must not be called for directives that the model reads.
    """
    if name in _ignored() or is_off(name, args):
        return None
    when = _by_name().get(name)
    if name in _HEADERS:
        when = "response" if any("location" in arg.lower() for arg in args) else "headers"
    if when is None and name in NAMES and name.startswith(_FAMILIES):
        return None
    return Effect(when or "first", _reason(name), is_inherited=name not in _own())


def is_off(name: str, args: tuple[str, ...]) -> bool:
    """Return whether the arguments of a directive are those with which it has no effect."""
    return bool(args) and args[0] in _OFF.get(name, ())


@cache
def listed() -> frozenset[str]:
    """Return the directives whose effect is known, be it one or none."""
    return _ignored() | _by_name().keys() | set(_HEADERS)


def _reason(name: str) -> str:
    for part, language in _MODULES.items():
        if part in name:
            return f"{language} ({name})"
    return f"{name} is not modelled" if name in NAMES or name in _by_name() else f'unknown directive "{unicode(name)}"'


@cache
def _ignored() -> frozenset[str]:
    return frozenset(name for names in IGNORED.values() for name in names.split())


@cache
def _own() -> frozenset[str]:
    return frozenset(_HANDLERS.split())


@cache
def _by_name() -> dict[str, When]:
    lists: dict[When, str] = {
        "after": _AFTER + _HANDLERS,
        "in order": _IN_ORDER,
        "body": _BODY,
        "response": _RESPONSE,
        "first": _FIRST,
    }
    return {name: when for when, names in lists.items() for name in names.split()}
