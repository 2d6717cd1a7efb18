"""Decides which sources of maps are stable: they have the same value if they are evaluated several times in a lookup.

Each map of a tree evaluates the source. This happens between two events of nginx's event loop. So a variable is stable
unless it depends on the time, the kernel, other workers, code, or captures, which the patterns of the tree change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from nginxopt.config import Config, Directive, Scope
from nginxopt.facts import group
from nginxopt.rewrite.evaluations import DEEPEST
from nginxopt.rewrite.kinds.maps.reading import groups, http_maps, variables
from nginxopt.rewrite.surroundings import is_known

_NAMES = """\
    ancient_browser args binary_remote_addr body_bytes_sent bytes_sent connection connection_requests content_length
    content_type document_uri host hostname http2 http3 https invalid_referer is_args limit_conn_status
    limit_req_status modern_browser msie nginx_version pid proxy_add_x_forwarded_for proxy_host proxy_port
    proxy_protocol_addr proxy_protocol_port proxy_protocol_server_addr proxy_protocol_server_port query_string quic
    realip_remote_addr realip_remote_port remote_addr remote_port remote_user request request_completion request_id
    request_length request_method request_port request_uri scheme server_addr server_name server_port server_protocol
    ssl_alpn_protocol ssl_cipher ssl_ciphers ssl_client_fingerprint ssl_client_i_dn ssl_client_i_dn_legacy
    ssl_client_s_dn ssl_client_s_dn_legacy ssl_client_serial ssl_client_v_end ssl_client_v_start ssl_client_verify
    ssl_curve ssl_curves ssl_early_data ssl_protocol ssl_server_name ssl_session_reused status upstream_addr
    upstream_cache_status upstream_status uri
    """
_STABLE = frozenset(_NAMES.split())
"""The stable variables of nginx's modules: those that depend on the request, the connection or the configuration.

Not among them are variables that depend on the time ($msec, $request_time, $time_local, $date_gmt, $connection_time,
$upstream_response_time), the kernel or all workers ($tcpinfo_rtt, $connections_active), the file system
($realpath_root), or other directives ($document_root, $request_filename, $secure_link).
"""
_OWN = _STABLE | {"http_cookie", "http_host", "http_referer", "http_user_agent", "http_via", "http_x_forwarded_for"}
"""The variables, some of them headers, that no map or `set` may redefine. The exception is `$args`."""
_OTHER_SETTABLE = frozenset(["limit_rate", "memcached_key"])
"""Other variables of nginx that a `set` may change, like `$args` (`NGX_HTTP_VAR_CHANGEABLE`)."""
_STABLE_PREFIXES = (
    "arg_", "cookie_", "geoip_", "http_", "proxy_protocol_tlv_", "sent_http_", "sent_trailer_", "upstream_cookie_",
    "upstream_http_", "upstream_trailer_",
)  # fmt: skip
"""The prefixes of variables that nginx looks up in headers, arguments and cookies."""


_CONSTANT = frozenset(
    ["args", "document_uri", "host", "is_args", "query_string", "request_method", "request_uri", "scheme",
     "server_name", "server_port", "uri"]
)  # fmt: skip
_CONSTANT_PREFIXES = ("arg_", "cookie_", "http_")


def is_constant(name: str) -> bool:
    """Return whether an early first evaluation of a variable cannot change its value later in the request.

    It never changes, or nginx does not cache it (`NGX_HTTP_VAR_NOCACHEABLE`).
    """
    return name in _CONSTANT or name.startswith(_CONSTANT_PREFIXES)


@dataclass(frozen=True)
class Definitions:
    """The variables that a configuration defines, by name in lower case.

    Attributes:
        maps: The maps that define a variable.
        cached: Variables of directives whose value nginx keeps for the request, such as `set`.
        in_rows: Named groups in rows of maps.
        in_patterns: Named groups in other patterns.
        by_others: Variables of other directives, such as `js_set`.
        is_complete: Whether the whole configuration was read.
    """

    maps: Mapping[str, list[Scope]] = field(default_factory=dict)
    cached: frozenset[str] = frozenset()
    in_rows: frozenset[str] = frozenset()
    in_patterns: frozenset[str] = frozenset()
    by_others: frozenset[str] = frozenset()
    is_complete: bool = False

    def is_stable(self, value: str) -> bool:
        """Return whether all variables of a value are stable."""
        return all(self._is_stable(name, frozenset()) for name in variables(value))

    def is_own(self, value: str) -> bool:
        """Return whether all variables of a value are nginx's own, and no `set` of another variable changes them.

        Text that was not read may define variables such as `$arg_x`.
        """
        defined = {*self.maps, *self.cached, *self.in_rows, *self.in_patterns, *self.by_others}
        prefixes = _STABLE_PREFIXES if self.is_complete else ()
        names = variables(value)
        return names.isdisjoint(defined) and all(name in _OWN or name.startswith(prefixes) for name in names)

    def is_only_kept(self, name: str) -> bool:
        """Return whether a variable gets its value only by `set`, and not from a map, group or module."""
        elsewhere = {*self.maps, *self.in_rows, *self.in_patterns, *self.by_others, *_STABLE, *_OTHER_SETTABLE}
        return name not in elsewhere and not name.startswith(_STABLE_PREFIXES)

    def _is_stable(self, name: str, above: frozenset[str]) -> bool:
        """Return whether a variable is stable; the evaluation of the variables `above` led to it."""
        if name in above or len(above) >= DEEPEST or name in self.in_rows or name in self.by_others or name.isdigit():
            return False
        if name in self.maps:
            return all(self._is_stable_map(scope, above | {name}) for scope in self.maps[name])
        return name in self.cached or name in self.in_patterns or name in _STABLE or name.startswith(_STABLE_PREFIXES)

    def _is_stable_map(self, scope: Scope, above: frozenset[str]) -> bool:
        """Return whether the variable of a map is stable. Unless the map is `volatile`, nginx keeps its value."""
        if not any(row.name == "volatile" and not row.args for row in scope.directives):
            return True
        assert scope.opener is not None
        names = variables(str(scope.opener.args[0]))
        for row in scope.directives:
            names |= {name for name in _names_of(row) if not (row.name.startswith("~") and name.isdigit())}
        return all(self._is_stable(name, above) for name in names)


def definitions(config: Config) -> Definitions:
    """Return the variables that a configuration defines in http."""
    maps: dict[str, list[Scope]] = {}
    for scope in http_maps(config):
        if scope.opener is not None and len(scope.opener.args) == 2:
            maps.setdefault(_name(str(scope.opener.args[1])), []).append(scope)
    in_rows = {
        name for scopes in maps.values() for scope in scopes for row in scope.directives for name in groups(row.name)
    }
    kinds: dict[str, set[str]] = {"cached": set(), "patterns": set(), "others": set()}
    for directive, scope in config.walk():
        if scope.context[:1] != ("stream",) and scope.context[-1:] != ("map",):
            for kind, name in _defined(directive):
                kinds[kind].add(name)
    names = (frozenset(kinds["cached"]), frozenset(in_rows), frozenset(kinds["patterns"]), frozenset(kinds["others"]))
    return Definitions(maps, *names, is_complete=is_known(config))


_SETTERS = {name: -1 if name in group("rows") else 0 for name in group("kept")}
"""The directives that define a variable whose value nginx keeps for the request, and the index of its name."""
_MATCHING = group("pattern")
"""The directives with patterns whose groups are variables."""


def _defined(directive: Directive) -> Iterator[tuple[str, str]]:
    """Yield the variables that a directive defines, with their kinds."""
    if directive.name in _SETTERS and directive.args:
        yield "cached", _name(str(directive.args[_SETTERS[str(directive.name)]]))
    elif directive.name in _MATCHING:
        yield from (("patterns", name) for word in directive.args for name in groups(word))
    elif directive.name.endswith("_set") or directive.name.startswith(("set_", "js_", "perl_")):
        yield from (("others", _name(str(word))) for word in directive.args[:2] if word.startswith("$"))


def _names_of(row: Directive) -> set[str]:
    return {name for word in row.args for name in variables(word)}


def _name(word: str) -> str:
    """Return the name of a variable without its `$`, in lower case."""
    return word.removeprefix("$").lower()
