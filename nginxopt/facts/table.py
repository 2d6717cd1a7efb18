"""What nginx declares of each directive and variable, release by release, and what else is known of directives.

docs/directives.py derives directives.tsv from the `ngx_command_t` declarations in nginx's source: all modules of its
tree, releases 1.10.0 to 1.31.5. The directives of NGINX Plus and of third-party modules are missing (see `vendors`).
facts.tsv is kept by hand.
"""

from __future__ import annotations

import pkgutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from nginxopt.records import record
from nginxopt.version import Version

_PLACES = (
    *("main", "events", "http", "http/server", "http/location", "http/upstream"),
    *("http/server/if", "http/location/if", "http/location/limit_except"),
    *("mail", "mail/server", "stream", "stream/server", "stream/upstream"),
)
PLACES: Mapping[str, int] = {place: 1 << number for number, place in enumerate(_PLACES)}
"""The bit of each place. Locations at any depth are one place."""
_ANYWHERE = (1 << len(_PLACES)) - 1


Compared = Literal["flag", "name", "set", "size", "offset", "milliseconds", "seconds", "number", "text"]
"""How values compare: a `flag` or a `name` without regard to case, a `set` in any order as well, sizes and times by
what they amount to (an `offset` is a size that may be in gigabytes), and a `text` word by word.
"""

_COMPARED: Mapping[str, Compared] = {
    "ngx_conf_set_flag_slot": "flag",
    "ngx_conf_set_enum_slot": "name",
    "ngx_conf_set_bitmask_slot": "set",
    "ngx_conf_set_size_slot": "size",
    "ngx_conf_set_off_slot": "offset",
    "ngx_conf_set_msec_slot": "milliseconds",
    "ngx_conf_set_sec_slot": "seconds",
    "ngx_conf_set_num_slot": "number",
}
"""How the setters of nginx's core read values (ngx_conf_file.c); others may keep the words."""


@record(eq=True)
class Declaration:
    """The declaration of a directive by one module, which is the same in a range of releases.

    Attributes:
        name: The directive.
        module: The module that declares it, such as `ngx_http_gzip_filter_module`.
        places: The places where it is allowed, as bits of `PLACES`.
        arguments: The number of arguments: `1,2`, `2+`, or `flag` for a single `on` or `off`.
        has_block: Whether it has a block.
        setter: The function that sets it, such as `ngx_conf_set_size_slot`; after a blank what checks the value behind
            it: another function, or the smallest and the largest number, such as `1..9`.
        values: The kind of its arguments: `size`, `time`, `number`, or a list of all values such as `on|off`;
            `obsolete` if nginx reports that the directive has no effect. Empty if unknown.
        default: The default as written in a configuration; `4k|8k` if it depends on the machine. Empty if unknown.
        is_once: Whether nginx refuses it twice in one block, whatever its arguments.
        since: The first release with this declaration; None if the oldest of the table has it.
        until: The first release without it; None if the newest has it.
    """

    name: str
    module: str
    places: int
    arguments: str
    has_block: bool
    setter: str
    values: str
    default: str
    is_once: bool
    since: Version | None
    until: Version | None

    @property
    def compared(self) -> Compared:
        """How nginx reads the arguments: whether different words may say the same."""
        return _COMPARED.get(self.setter.partition(" ")[0], "text")

    def is_in(self, release: Version) -> bool:
        """Return whether a release has this declaration."""
        is_early = self.since is not None and release < self.since
        return not is_early and (self.until is None or release < self.until)

    def takes(self, count: int) -> bool:
        """Return whether the directive accepts `count` arguments."""
        return _takes(self.arguments, count)


@cache
def _takes(arguments: str, count: int) -> bool:
    if arguments == "flag":
        return count == 1
    if arguments.endswith("+"):
        return count >= int(arguments[:-1])
    return str(count) in arguments.split(",")


@lru_cache(maxsize=1 << 12)
def declarations(name: str) -> tuple[Declaration, ...]:
    """Return the declarations of a directive, those of the oldest release first; empty if no release has it."""
    every = map(parse, _rows().get(name, ()))
    return tuple(sorted(every, key=lambda row: (row.since is not None, row.since)))


@cache
def turning_points() -> frozenset[Version]:
    """Return the releases that changed a declaration."""
    every = (declaration for name in names() for declaration in declarations(name))
    return frozenset(release for row in every for release in (row.since, row.until) if release)


@cache
def names() -> frozenset[str]:
    """Return the names of the directives of all releases."""
    return frozenset(_rows())


@cache
def obsolete_names() -> tuple[str, ...]:
    """Return the names of the directives that have no effect in some release."""
    return tuple(name for name, rows in _rows().items() if any("\tobsolete\t" in row for row in rows))


@cache
def _rows() -> Mapping[str, list[str]]:
    return lines("directives.tsv")


def lines(table: str) -> Mapping[str, list[str]]:
    """Return the lines of a table by directive. They are parsed on demand, as a run needs few of them."""
    rows: dict[str, list[str]] = defaultdict(list)
    data = pkgutil.get_data("nginxopt.facts", table)  # importlib.resources would load zipfile
    assert data is not None, f"{table} belongs to the package"
    for row in data.decode().splitlines()[1:]:
        rows[row.partition("\t")[0]].append(row)
    return dict(rows)


def parse(row: str) -> Declaration:
    """Return the declaration in a line of a table."""
    name, module, places, arguments, setter, values, default, repeated, since, until = row.split("\t")
    bits = (_ANYWHERE if place == "any" else PLACES[place] for place in places.split())
    count, _, block = arguments.partition(" ")
    return Declaration(
        name,
        module,
        sum(bits),
        count,
        block == "{",
        setter,
        values,
        default,
        not repeated,
        Version.parse(since) if since else None,
        Version.parse(until) if until else None,
    )


# The variables: the `ngx_http_variable_t` and `ngx_stream_variable_t` of nginx's modules.

_HTTP = """
    ancient_browser arg_ args binary_remote_addr body_bytes_sent bytes_sent connection connection_requests
    connection_time connections_active connections_reading connections_waiting connections_writing
    content_length content_type cookie_ date_gmt date_local document_root document_uri fastcgi_path_info
    fastcgi_script_name gzip_ratio host hostname http2 http3 http_ https invalid_referer is_args is_request_port
    limit_conn_status limit_rate limit_req_status modern_browser msec msie nginx_version pid pipe
    proxy_add_x_forwarded_for proxy_host proxy_port proxy_protocol_addr proxy_protocol_port
    proxy_protocol_server_addr proxy_protocol_server_port proxy_protocol_tlv_ query_string realip_remote_addr
    realip_remote_port realpath_root remote_addr remote_port remote_user request request_body request_body_file
    request_completion request_filename request_id request_length request_method request_port request_time
    request_uri scheme secure_link secure_link_expires sent_http_ sent_trailer_ server_addr server_name
    server_port server_protocol slice_range ssl_alpn_protocol ssl_cipher ssl_ciphers ssl_client_cert
    ssl_client_escaped_cert ssl_client_fingerprint ssl_client_i_dn ssl_client_i_dn_legacy ssl_client_raw_cert
    ssl_client_s_dn ssl_client_s_dn_legacy ssl_client_serial ssl_client_sigalg ssl_client_v_end ssl_client_v_remain
    ssl_client_v_start ssl_client_verify ssl_curve ssl_curves ssl_early_data ssl_ech_outer_server_name
    ssl_ech_status ssl_protocol ssl_server_name ssl_sigalg ssl_sigalgs
    ssl_session_id ssl_session_reused status tcpinfo_rcv_space tcpinfo_rtt tcpinfo_rttvar tcpinfo_snd_cwnd
    time_iso8601 time_local uid_got uid_reset uid_set upstream_addr upstream_bytes_received upstream_bytes_sent
    upstream_cache_last_modified upstream_cache_status upstream_connect_time upstream_cookie_
    upstream_header_time upstream_http_ upstream_response_length upstream_response_time upstream_status
    upstream_trailer_ uri
"""

_STREAM = """
    binary_remote_addr bytes_received bytes_sent connection hostname limit_conn_status msec nginx_version pid
    protocol proxy_protocol_addr proxy_protocol_port proxy_protocol_server_addr proxy_protocol_server_port
    proxy_protocol_tlv_ realip_remote_addr realip_remote_port remote_addr remote_port server_addr server_name
    server_port session_time ssl_alpn_protocol ssl_cipher ssl_ciphers ssl_client_cert ssl_client_escaped_cert
    ssl_client_fingerprint ssl_client_i_dn ssl_client_raw_cert ssl_client_s_dn ssl_client_serial ssl_client_sigalg
    ssl_client_v_end ssl_client_v_remain ssl_client_v_start ssl_client_verify ssl_curve ssl_curves
    ssl_ech_outer_server_name ssl_ech_status ssl_preread_alpn_protocols ssl_preread_protocol ssl_preread_server_name
    ssl_protocol ssl_server_name ssl_session_id ssl_session_reused ssl_sigalg ssl_sigalgs status time_iso8601
    time_local upstream_addr upstream_bytes_received upstream_bytes_sent upstream_connect_time
    upstream_first_byte_time upstream_session_time
"""

HTTP_VARIABLES = frozenset(_HTTP.split())
"""The variables of http; a name that ends with `_` is the prefix of variables such as `$arg_name`."""

STREAM_VARIABLES = frozenset(_STREAM.split())
"""The variables of stream, likewise."""

_HEADERS = """
    http_cookie http_host http_referer http_user_agent http_via http_x_forwarded_for sent_http_cache_control
    sent_http_connection sent_http_content_length sent_http_content_type sent_http_keep_alive sent_http_last_modified
    sent_http_location sent_http_transfer_encoding
"""
"""The variables of headers that http's core lists by name."""

_CHANGEABLE = """
    ancient_browser args invalid_referer limit_rate modern_browser msie proxy_host proxy_port uid_reset
"""
"""Variables that directives may define as well (`NGX_HTTP_VAR_CHANGEABLE`), or that they define."""

_OF_OPTIONS = ("connections_", "http2", "http3", "realip_", "secure_", "slice_", "ssl_", "tcpinfo_")
"""The beginnings of variables that not every build has."""

_FIXED = {
    kind: frozenset(name for name in known - set(_CHANGEABLE.split()) if not name.startswith(_OF_OPTIONS))
    for kind, known in (("http", HTTP_VARIABLES | set(_HEADERS.split())), ("stream", STREAM_VARIABLES))
}

_SINCE = {
    "http": {
        **dict.fromkeys(("request_port", "is_request_port"), Version(1, 29, 3)),
        **dict.fromkeys(("proxy_protocol_server_addr", "proxy_protocol_server_port"), Version(1, 17, 6)),
        **dict.fromkeys(("limit_conn_status", "limit_req_status"), Version(1, 17, 6)),
        **dict.fromkeys(("proxy_protocol_port", "request_id"), Version(1, 11, 0)),
        "connection_time": Version(1, 19, 10),
        "upstream_bytes_received": Version(1, 11, 4),
        "upstream_bytes_sent": Version(1, 15, 8),
    },
    "stream": {
        **dict.fromkeys(("proxy_protocol_server_addr", "proxy_protocol_server_port"), Version(1, 17, 6)),
        "limit_conn_status": Version(1, 17, 6),
        "server_name": Version(1, 25, 5),
    },
}
"""The releases that brought variables after directives of the same module (CHANGES)."""


def is_variable(name: str, kind: str, target: Version) -> bool:
    """Return whether a variable of http or stream, in lower case, is one of nginx that a release has."""
    known = HTTP_VARIABLES if kind == "http" else STREAM_VARIABLES
    return name in known and not target < _SINCE[kind].get(name, target)


def is_fixed_variable(name: str, kind: str, target: Version) -> bool:
    """Return whether a release has a variable, in lower case, that no directive of http or stream may define.

    It is of the core, or of a module that is in every build.
    """
    return name in _FIXED[kind] and not target < _SINCE[kind].get(name, target)


# What no declaration says.

GATEWAYS = ("proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached", "tunnel")
"""The modules whose directives share a line: `@_bind` is `proxy_bind`, `fastcgi_bind` ..."""

Column = Literal["effect", "model", "inherited", "variables", "hidden", "code"]

GROUPS: Mapping[str, str] = {
    "again": "may run the script of a server again, besides those that pass requests on or lead them to a URI",
    "allow": "one list of rules of access (ngx_http_access_merge_loc_conf)",
    "answer": "what the answer of a `return` depends on",
    "asking": "makes nginx ask other servers than those of upstreams",
    "balancing": "methods that choose a server of an upstream",
    "beside": "relative files start from the folder of nginx.conf (`ngx_conf_full_name` with `conf_prefix`)",
    "block": "blocks with directives of nginx inside",
    "browser": "what decides the variables of ngx_http_browser_module",
    "cache": "names the cache of responses",
    "captures": "where configurations use `$1`",
    "client_body": "how the body of a request is kept, which variables show",
    "defines": "defines a variable",
    "early": "what nginx looks at before the script of a server",
    "elsewhere": "answers with something else than the file of the URI",
    "error_log": "what decides the lines of the error log",
    "fields": "adds a field by its first argument, the name",
    "job": "what gives a server that only passes requests on a purpose",
    "keepalive": "how long connections of clients stay open",
    "kept": "defines a variable whose value is kept for the request",
    "late": "may fail after nginx has discarded the body of a request",
    "leads": "by any of its arguments, nginx leads a request to a URI",
    "named_file": "beside it an `alias` may name another file than a `root`",
    "no_error": "settings for answers that are no errors",
    "of_files": "settings for the bytes of a file",
    "of_server": "what tells the content of a server, where a file may be that of several blocks",
    "pass": "passes requests on to an upstream",
    "pattern": "has patterns whose named groups are variables",
    "pool": "may stand in an upstream beside a pool of connections",
    "real_ip": "what decides the address of a client",
    "root": "one field (ngx_http_core_root)",
    "rows": "blocks whose statements are no directives, but rows of data",
    "secure_link": "what decides the variables of ngx_http_secure_link_module",
    "stateful": "responses depend on the requests before",
    "subrequest": "makes a subrequest",
    "text": "takes any text, words of a template as well",
    "tls_choice": "what a server and a client agree on",
    "tls_client": "how certificates of clients are checked",
    "tls_session": "how sessions are resumed",
    "untried": "was not tested for inheritance by an `if`: directives of NGINX Plus, and those that run code",
    "userid": "what decides the variables of ngx_http_userid_filter_module",
    "written": "names a file or folder that nginx writes to",
}
"""The groups of directives that belong together, with what they have in common."""


class DirectiveFact(NamedTuple):
    """What is known of a directive; the columns are those of the package's docstring."""

    name: str
    effect: str
    model: str
    inherited: str
    variables: str
    hidden: str
    code: str
    off: str
    groups: str
    default: str
    instead: str
    description: str


def fact(name: str) -> DirectiveFact | None:
    """Return what is known of a directive; None if nothing is."""
    return _facts().get(name)


def known() -> frozenset[str]:
    """Return the names of the directives of which something is known, those of other modules among them."""
    return frozenset(_facts())


@cache
def group(name: str) -> frozenset[str]:
    """Return the directives of a group, one of `GROUPS`."""
    return _groups()[name]


@cache
def having(column: Column, *values: str) -> frozenset[str]:
    """Return the directives that have one of these values in a column."""
    return frozenset(row.name for row in _facts().values() if getattr(row, column) in values)


@cache
def script() -> frozenset[str]:
    """Return the directives of nginx's rewrite module that are statements: `break`, `if`, ..."""
    return having("effect", "script") & names()


@cache
def _groups() -> Mapping[str, frozenset[str]]:
    groups: dict[str, set[str]] = defaultdict(set)
    for row in _facts().values():
        for name in row.groups.split():
            groups[name].add(row.name)
    return {name: frozenset(members) for name, members in groups.items()}


@cache
def _facts() -> Mapping[str, DirectiveFact]:
    table = pkgutil.get_data("nginxopt.facts", "facts.tsv")  # importlib.resources would load zipfile
    assert table is not None, "facts.tsv belongs to the package"
    stated = [DirectiveFact(*line.split("\t")) for line in table.decode().splitlines()[1:]]
    facts = {row.name: row for shared in stated if shared.name.startswith("@") for row in _of_gateways(shared)}
    for row in stated:
        if not row.name.startswith("@"):
            shared = facts.get(row.name)
            facts[row.name] = row if row.description or shared is None else row._replace(description=shared.description)
    return facts


def _of_gateways(shared: DirectiveFact) -> Iterator[DirectiveFact]:
    """Yield what a line with `@` says of each directive of nginx that it stands for."""
    for gateway in GATEWAYS:
        name = shared.name.replace("@", gateway)
        if name in names():
            yield shared._replace(name=name)
