"""What nginx requires of a directive: where it may stand, with how many arguments, and how often (`ngx_command_t`).

crossplane has the tables of nginx 1.17; what came later and what a block may repeat is here, as nginx 1.22.1 and 1.31.3
say (`nginx -t`). Directives of NGINX Plus and of other modules are not in the tables: nothing is required of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from crossplane.analyzer import (
    DIRECTIVES,
    NGX_CONF_1MORE,
    NGX_CONF_2MORE,
    NGX_CONF_ANY,
    NGX_CONF_BLOCK,
    NGX_CONF_FLAG,
    NGX_CONF_TAKE1,
    NGX_CONF_TAKE2,
    NGX_CONF_TAKE123,
    NGX_CONF_TAKE1234,
    NGX_HTTP_LIF_CONF,
    NGX_HTTP_LMT_CONF,
    NGX_HTTP_LOC_CONF,
    NGX_HTTP_MAIN_CONF,
    NGX_HTTP_SIF_CONF,
    NGX_HTTP_SRV_CONF,
    NGX_HTTP_UPS_CONF,
    NGX_MAIN_CONF,
)

from nginxopt.config import Directive
from nginxopt.version import Version

_PLACES: Mapping[tuple[str, str], int] = {
    ("main", ""): NGX_MAIN_CONF,
    ("http", "main"): NGX_HTTP_MAIN_CONF,
    ("server", "http"): NGX_HTTP_SRV_CONF,
    ("location", "server"): NGX_HTTP_LOC_CONF,
    ("location", "location"): NGX_HTTP_LOC_CONF,
    ("if", "server"): NGX_HTTP_SIF_CONF,
    ("if", "location"): NGX_HTTP_LIF_CONF,
    ("limit_except", "location"): NGX_HTTP_LMT_CONF,
    ("upstream", "http"): NGX_HTTP_UPS_CONF,
}
"""The bit of a block by its name and that of the block around it."""

_SERVER = NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF
_LOCATION = _SERVER | NGX_HTTP_LOC_CONF

_ADDED: tuple[tuple[str, int, str], ...] = (
    ("1.17.10", _LOCATION | NGX_CONF_TAKE1, "auth_delay"),
    ("1.19.0", _SERVER | NGX_CONF_TAKE1, "ssl_ocsp ssl_ocsp_cache ssl_ocsp_responder"),
    ("1.19.3", _LOCATION | NGX_CONF_TAKE1234, "proxy_cookie_flags"),
    ("1.19.3", _LOCATION | NGX_CONF_TAKE123, "userid_flags"),
    ("1.19.4", _LOCATION | NGX_CONF_TAKE2, "grpc_ssl_conf_command proxy_ssl_conf_command uwsgi_ssl_conf_command"),
    ("1.19.4", _SERVER | NGX_CONF_TAKE2, "ssl_conf_command"),
    ("1.19.4", _SERVER | NGX_CONF_FLAG, "ssl_reject_handshake"),
    ("1.19.10", _LOCATION | NGX_HTTP_UPS_CONF | NGX_CONF_TAKE1, "keepalive_time"),
    ("1.21.4", _LOCATION | NGX_CONF_FLAG, "mp4_start_key_frame"),
    ("1.25.1", _SERVER | NGX_CONF_FLAG, "http2"),
    ("1.27.2", _LOCATION | NGX_CONF_FLAG, "proxy_pass_trailers"),
    ("1.27.4", _LOCATION | NGX_CONF_TAKE1, "keepalive_min_timeout"),
    ("1.27.4", _SERVER | NGX_CONF_TAKE123, "ssl_certificate_cache"),
    ("1.27.4", _LOCATION | NGX_CONF_TAKE123, "grpc_ssl_certificate_cache proxy_ssl_certificate_cache"),
    ("1.27.4", _LOCATION | NGX_CONF_TAKE123, "uwsgi_ssl_certificate_cache"),
    ("1.29.0", _LOCATION | NGX_CONF_1MORE, "early_hints"),
    ("1.29.1", _SERVER | NGX_CONF_FLAG, "ssl_certificate_compression"),
    ("1.29.3", _LOCATION | NGX_HTTP_LIF_CONF | NGX_CONF_TAKE1, "add_header_inherit add_trailer_inherit"),
    ("1.29.4", _SERVER | NGX_CONF_TAKE1, "ssl_ech_file"),
    ("1.29.8", _SERVER | NGX_CONF_TAKE1, "max_headers"),
)
"""The directives that crossplane has not, with the version that brought them (CHANGES) and their masks."""

_RESOLVERS, _RESOLVED = ("resolver", "resolver_timeout"), Version(1, 27, 3)
"""What an upstream may have, and since when (CHANGES)."""

_GONE = {"ssl": Version(1, 25, 1)}
"""The first version without a directive (CHANGES)."""

_FLAGS = ("limit_conn_dry_run", "limit_req_dry_run", "uwsgi_cache_background_update")
_NO_FLAGS = ("http2_push", "http2_push_preload", "proxy_next_upstream")
"""Where crossplane is wrong about `on` and `off`."""

_WIDER = {"keepalive": NGX_CONF_TAKE2, "resolver_timeout": NGX_HTTP_UPS_CONF}
"""What later versions added to the masks of crossplane."""

_FOREIGN = ("auth_jwt", "js_", "keyval", "hls", "f4f", "session_log", "status", "zone_sync", "spdy_")
_UNCHECKED = """
    api fastcgi_cache_purge health_check include limit_req_zone limit_zone match memcached_force_ranges
    mp4_limit_rate mp4_limit_rate_after proxy_cache_purge scgi_cache_purge state sticky upstream_conf uwsgi_cache_purge
"""
"""Directives of NGINX Plus and njs, old ones, and those with which crossplane or nginx has its own way."""

_REPEATED = """
    access_log add_header add_trailer addition_types allow ancient_browser ancient_browser_value auth_request_set break
    charset_map charset_types dav_methods deny early_hints empty_gif env error_log error_page flv geo gzip_disable
    gzip_proxied gzip_types http2_push if include index keepalive_disable limit_conn limit_conn_zone
    limit_req limit_req_zone listen load_module location log_format map mirror modern_browser modern_browser_value mp4
    perl_modules perl_require perl_set proxy_cookie_domain proxy_cookie_flags proxy_cookie_path proxy_redirect return
    rewrite server server_name set set_real_ip_from split_clients ssi_types ssl_certificate ssl_certificate_key
    ssl_conf_command ssl_ech_file ssl_protocols ssl_session_cache ssl_session_ticket_key stub_status sub_filter
    sub_filter_types thread_pool types upstream userid_flags valid_referers xslt_param xslt_string_param
    xslt_stylesheet xslt_types image_filter geoip_proxy fastcgi_catch_stderr fastcgi_split_path_info
"""
_REPEATED_NAMES = frozenset(_REPEATED.split())
_REPEATED_PARTS = (
    "_cache_bypass", "_cache_methods", "_cache_path", "_cache_use_stale", "_cache_valid", "_hide_header",
    "_ignore_headers", "_next_upstream", "_no_cache", "_param", "_pass_header", "_set_header", "_ssl_conf_command",
    "_ssl_protocols",
)  # fmt: skip
_REPEATED_STARTS = ("http2_", "spdy_")


@dataclass(frozen=True, slots=True)
class Command:
    """What nginx requires of a directive.

    Attributes:
        masks: The bits of its forms: where it may stand, its arguments, whether it has a block.
        since: The version that brought it; None for one that all have.
        until: The first version without it.
    """

    masks: tuple[int, ...]
    since: Version | None = None
    until: Version | None = None


def _commands() -> Iterator[tuple[str, Command]]:
    unchecked = _UNCHECKED.split()
    for name, masks in DIRECTIVES.items():
        if name not in unchecked and not name.startswith(_FOREIGN):
            yield name, Command(tuple(_mended(name, mask) for mask in masks), until=_GONE.get(name))
    for since, mask, names in _ADDED:
        for name in names.split():
            yield name, Command((mask,), Version.parse(since))


def _mended(name: str, mask: int) -> int:
    mask = int(mask | _WIDER.get(name, 0))
    if name in _FLAGS:
        return int(mask & ~NGX_CONF_TAKE1 | NGX_CONF_FLAG)
    return int(mask & ~NGX_CONF_FLAG | NGX_CONF_TAKE1) if name in _NO_FLAGS else mask


COMMANDS: Mapping[str, Command] = dict(_commands())
"""The directives of which something is required."""


def fault(directive: Directive, kind: str, around: str, target: Version, extra: frozenset[str]) -> str | None:
    """Return why nginx refuses a directive in a block of the kind, as it says it; None if it does not.

    `around` is the kind of the block around that one, and `extra` are directives that the build has besides those of
    its version. Values other than `on` and `off` are not looked at. As `ngx_conf_handler` does.
    """
    command, place = COMMANDS.get(directive.name), _PLACES.get((kind, around))
    if command is None or place is None:
        return None
    if not _exists(command, target) and directive.name not in extra:
        return f'unknown directive "{directive.name}"'
    masks = [mask for mask in command.masks if mask & place]
    is_early = place == NGX_HTTP_UPS_CONF and directive.name in _RESOLVERS and target < _RESOLVED
    if not masks or is_early:
        return f'"{directive.name}" directive is not allowed here'
    masks = [mask for mask in masks if bool(mask & NGX_CONF_BLOCK) == (directive.block is not None)]
    if not masks:
        return _without_end(directive)
    masks = [mask for mask in masks if _takes(mask, len(directive.args))]
    if not masks:
        return f'invalid number of arguments in "{directive.name}" directive'
    if all(mask & NGX_CONF_FLAG for mask in masks) and directive.args[0].lower() not in ("on", "off"):
        value = directive.args[0]
        return f'invalid value "{value}" in "{directive.name}" directive, it must be "on" or "off"'
    return None


def is_once(name: str) -> bool:
    """Return whether nginx refuses a second directive of that name in one block."""
    is_repeated = name in _REPEATED_NAMES or name.endswith(_REPEATED_PARTS) or name.startswith(_REPEATED_STARTS)
    return name in COMMANDS and (name == "http2" or not is_repeated)


def _exists(command: Command, target: Version) -> bool:
    is_early = command.since is not None and target < command.since
    return not is_early and (command.until is None or target < command.until)


def _without_end(directive: Directive) -> str:
    if directive.block is None:
        return f'directive "{directive.name}" has no opening "{{"'
    return f'directive "{directive.name}" is not terminated by ";"'


def _takes(mask: int, count: int) -> bool:
    """Return whether a form takes so many arguments."""
    return bool(
        mask & NGX_CONF_ANY
        or (mask & NGX_CONF_1MORE and count >= 1)
        or (mask & NGX_CONF_2MORE and count >= 2)
        or (mask & NGX_CONF_FLAG and count == 1)
        or (count <= 7 and mask >> count & 1)
    )
