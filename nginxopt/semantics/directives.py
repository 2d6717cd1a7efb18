"""The names of the directives of nginx, NGINX Plus and common modules, and corrections of misspelt names.

The names come from `nginxopt.config.declarations` (nginx), crossplane (NGINX Plus up to 2019), nginx.org/en/docs (later
directives of NGINX Plus, and other modules of the nginx project), and the source of third-party modules. The list of
modules is incomplete, so a name that is missing here is not necessarily wrong.
"""

from __future__ import annotations

from functools import cache, lru_cache

from crossplane.analyzer import DIRECTIVES

from nginxopt.config.declarations import names

ROWS = frozenset(["map", "geo", "geoip2", "num_map", "split_clients", "types", "charset_map", "match"])
"""Blocks whose statements are not directives, but rows of data."""

_PLUS = """
    auth_jwt_key_cache auth_jwt_require auth_jwt_type auth_oidc auth_require client_id client_secret config_url
    connect_timeout cookie_name enforce_initial_report error_log_tag extra_auth_args fastcgi_allow_upstream
    fastcgi_bind_dynamic fastcgi_request_dynamic frontchannel_logout_uri grpc_allow_upstream grpc_bind_dynamic
    grpc_request_dynamic grpc_ssl_key_log header internal_redirect issuer license_token logout_token_hint
    logout_uri memcached_allow_upstream memcached_bind_dynamic mgmt mqtt mqtt_buffers mqtt_preread
    mqtt_rewrite_buffer_size mqtt_set_connect num_map oidc_provider pkce post_logout_uri proxy_allow_upstream
    proxy_bind_dynamic proxy_password proxy_request_dynamic proxy_session_drop proxy_ssl_key_log proxy_username
    read_timeout redirect_uri scgi_allow_upstream scgi_bind_dynamic scgi_request_dynamic scope session_store
    session_timeout ssl_key_log ssl_name ssl_server_name ssl_verify stall_threshold state_path
    trusted_certificate tunnel_allow_upstream tunnel_bind_dynamic usage_report userinfo uuid_file
    uwsgi_allow_upstream uwsgi_bind_dynamic uwsgi_request_dynamic uwsgi_ssl_key_log zone_sync_ssl_conf_command
"""

_MODULES = """
    accept_terms_of_service access_by_lua access_by_lua_block access_by_lua_file access_by_lua_no_postpone
    account_key acme_certificate acme_issuer acme_shared_zone app_protect_app_name
    app_protect_compressed_requests_action app_protect_config_set_timeout app_protect_cookie_seed
    app_protect_cpu_thresholds app_protect_custom_log_attribute app_protect_enable app_protect_enforcer_address
    app_protect_enforcer_memory_limit_mb app_protect_failure_mode_action app_protect_global_settings
    app_protect_logging_str app_protect_physical_memory_util_thresholds app_protect_policy_file
    app_protect_reconnect_period_seconds app_protect_request_buffer_overflow_action
    app_protect_response_enforcement_disable app_protect_security_log app_protect_security_log_enable
    app_protect_streaming_buffer_watermarks app_protect_user_defined_signatures balancer_by_lua_block
    balancer_by_lua_file balancer_keepalive body_filter_by_lua body_filter_by_lua_block body_filter_by_lua_file
    challenge common_name_in_csr contact content_by_lua content_by_lua_block content_by_lua_file
    exit_worker_by_lua_block exit_worker_by_lua_file external_account_key geoip2 geoip2_proxy
    geoip2_proxy_recursive header header_filter_by_lua header_filter_by_lua_block header_filter_by_lua_file
    init_by_lua init_by_lua_block init_by_lua_file init_worker_by_lua init_worker_by_lua_block
    init_worker_by_lua_file js_body_filter js_context_reuse js_context_reuse_max_size js_engine
    js_fetch_buffer_size js_fetch_ciphers js_fetch_keepalive js_fetch_keepalive_requests js_fetch_keepalive_time
    js_fetch_keepalive_timeout js_fetch_max_response_buffer_size js_fetch_protocols js_fetch_proxy
    js_fetch_timeout js_fetch_trusted_certificate js_fetch_verify js_fetch_verify_depth js_header_filter
    js_import js_load_http_native_module js_load_stream_native_module js_periodic js_preload_object
    js_shared_dict_zone js_var log_by_lua log_by_lua_block log_by_lua_file lua_capture_error_log
    lua_check_client_abort lua_code_cache lua_http10_buffering lua_load_resty_core lua_malloc_trim
    lua_max_pending_timers lua_max_running_timers lua_need_request_body lua_package_cpath lua_package_path
    lua_regex_cache_max_entries lua_regex_match_limit lua_sa_restart lua_shared_dict lua_socket_buffer_size
    lua_socket_connect_timeout lua_socket_keepalive_timeout lua_socket_log_errors lua_socket_pool_size
    lua_socket_read_timeout lua_socket_send_lowat lua_socket_send_timeout lua_ssl_certificate
    lua_ssl_certificate_key lua_ssl_ciphers lua_ssl_conf_command lua_ssl_crl lua_ssl_key_log lua_ssl_protocols
    lua_ssl_trusted_certificate lua_ssl_verify_depth lua_thread_cache_max_entries
    lua_transform_underscores_in_response_headers lua_upstream_skip_openssl_default_verify lua_use_default_type
    lua_worker_thread_vm_pool_size more_clear_headers more_clear_input_headers more_set_headers
    more_set_input_headers otel_exporter otel_resource_attr otel_service_name otel_span_attr otel_span_name
    otel_trace otel_trace_context precontent_by_lua_block precontent_by_lua_file precontent_by_lua_no_postpone
    preferred_chain profile proxy_ssl_certificate_by_lua_block proxy_ssl_certificate_by_lua_file
    proxy_ssl_verify_by_lua_block proxy_ssl_verify_by_lua_file rewrite_by_lua rewrite_by_lua_block
    rewrite_by_lua_file rewrite_by_lua_no_postpone server_rewrite_by_lua_block server_rewrite_by_lua_file
    set_by_lua set_by_lua_block set_by_lua_file ssl_certificate_by_lua_block ssl_certificate_by_lua_file
    ssl_client_hello_by_lua_block ssl_client_hello_by_lua_file ssl_session_fetch_by_lua_block
    ssl_session_fetch_by_lua_file ssl_session_store_by_lua_block ssl_session_store_by_lua_file ssl_verify
    state_path trusted_certificate uri
"""

# Directives of modules, and a removed one, whose names look like misspelt directives of nginx.
_LOOKALIKES = """
    client limit_zone proxy_wasm subs_filter subs_filter_bypass subs_filter_types unzip
"""

BLOCKS = frozenset(["events", "http", "stream", "mail", "server", "location", "if", "limit_except", "upstream"])
"""Blocks whose statements are directives of nginx. In others, such as `map` or those of modules, they may be values."""

PLUS = frozenset(_PLUS.split())
"""The directives of NGINX Plus that are missing in crossplane."""

NGINX = names() | frozenset(DIRECTIVES) | PLUS
"""The directives of nginx from 1.10.0 to 1.31.5 and of NGINX Plus."""

NAMES = NGINX | frozenset([*_MODULES.split(), *_LOOKALIKES.split()])
"""The directives of nginx, NGINX Plus, and the most common modules."""

_SHORTEST = 4
_LONG = 8

FOREIGN = frozenset(["elif", "else", "elseif", "endif"])
"""Words of other languages that no module of nginx uses."""


def _letters(name: str) -> int:
    """Return the set of letters of a name as bits, which some letters share. One typo changes at most two bits."""
    bits = 0
    for letter in name:
        bits |= 1 << (ord(letter) & 63)
    return bits


@cache
def _letters_of_names() -> dict[str, int]:
    return {name: _letters(name) for name in NAMES}


def is_misspelt(name: str) -> bool:
    """Return whether most likely no module has a directive with this name: it is misspelt, or a word of another
    language."""
    return name in FOREIGN or (name not in NAMES and bool(nearest(name)))


@lru_cache(maxsize=1 << 10)
def nearest(name: str) -> tuple[str, ...]:
    """Return the directives of nginx that an unknown name may be a misspelling of, in alphabetical order.

    One letter may be wrong, missing, superfluous or swapped with the next; in names of eight or more characters, two.
    Empty for a name of less than four characters, which would be similar to too many.
    """
    if len(name) < _SHORTEST:
        return ()
    limit = 2 if len(name) >= _LONG else 1
    letters = _letters(name)
    likely = (
        known
        for known, others in _letters_of_names().items()
        if abs(len(known) - len(name)) <= limit and (letters ^ others).bit_count() <= 2 * limit
    )
    near = {known: _distance(name, known) for known in likely}
    least = min(near.values(), default=limit + 1)
    return tuple(sorted(known for known, distance in near.items() if distance == least <= limit))


def _distance(name: str, other: str) -> int:
    """Return the optimal string alignment distance: letters inserted, deleted, replaced, or swapped with the next."""
    before, last = [0] * (len(other) + 1), list(range(len(other) + 1))
    for row, letter in enumerate(name, 1):
        line = [row]
        for column, target in enumerate(other, 1):
            cost = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != target))
            if row > 1 and column > 1 and letter == other[column - 2] and name[row - 2] == target:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        before, last = last, line
    return last[-1]
