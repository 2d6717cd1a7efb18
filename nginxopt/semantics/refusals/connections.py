"""Setters of connections: where nginx listens, the servers of upstreams, and the `*_pass` directives that use them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.semantics.refusals.cycle import cache_of_files
from nginxopt.semantics.refusals.setters import PAGE, Listened, Stated, parameter, pattern_error, setter
from nginxopt.semantics.values import addresses, binds, milliseconds, number, parse_address, parse_url, seconds, size
from nginxopt.text import encode
from nginxopt.version import Version

# Listens: parameters, the combinations that nginx refuses, and addresses that are listed twice.

_QUIC = Version(1, 25, 0)
_MULTIPATH = Version(1, 31, 0)
_AS_HTTP = Version(1, 25, 5)
"""The first release in which stream has virtual servers, and the messages of http."""
_PLAIN = {
    "http": ("default_server", "default", "bind", "deferred", "reuseport", "ssl", "http2", "proxy_protocol"),
    "stream": ("udp", "bind", "deferred", "reuseport", "ssl", "proxy_protocol"),
    "mail": ("bind", "ssl", "proxy_protocol"),
}
_INCOMPATIBLE = ("fastopen", "backlog", "accept_filter", "deferred", "multipath", "ssl", "http2", "so_keepalive")
"""Parameters that no datagram socket can have, in the order of nginx's checks; `proxy_protocol` is the last."""
_Value = Callable[[str], object]


def _backlog(text: str) -> int | None:
    """Return a number that is neither 0 nor -1 in the 32 bits that nginx has for it; None for any other text."""
    count = number(text)
    return None if count is None or count & 0xFFFFFFFF in (0, 0xFFFFFFFF) else count


_VALUES: Mapping[str, _Value] = {
    "fastopen": number,
    "backlog": _backlog,
    "rcvbuf": size,
    "sndbuf": size,
}


_OF_MAIL = ("backlog", "rcvbuf", "sndbuf")


@setter("ngx_http_core_listen", "ngx_stream_core_listen", "ngx_mail_core_listen")
def _listen(stated: Stated) -> Iterator[str]:
    address, *words = stated.args
    if not addresses(stated.args, stated.reading.target):
        yield f'{_error(address)} in "{address}" of the "listen" directive'
    for word in words:
        message = _of_listen(stated, str(word))
        if message is not None:
            yield message
            return
    datagram = next((word for word in ("quic", "udp") if word in words), None)
    names = {word.partition("=")[0] for word in words}
    wrong = next((name for name in (*_INCOMPATIBLE, "proxy_protocol") if name in names), None)
    if datagram and wrong:
        yield stated.says(f'"{wrong}" parameter is incompatible with "{datagram}"')
        return
    yield from _taken(stated, tuple(map(str, words)))


def _taken(stated: Stated, words: tuple[str, ...]) -> Iterator[str]:
    """Record the addresses of a `listen`; yield what nginx says of one that it has already
    (`ngx_http_add_addresses`)."""
    is_pair = stated.protocol == "mail" or (stated.protocol == "stream" and stated.reading.target < _AS_HTTP)
    for address in addresses(stated.args, stated.reading.target):
        known = stated.reading.listens.setdefault((stated.protocol, address), Listened())
        if known.servers and is_pair:
            yield f'duplicate "{address.numeric}" address and port pair'
            return
        if stated.level in known.servers:
            yield f"a duplicate listen {address.numeric}"
            return
        known.servers.add(stated.level)
        if binds(words):
            if known.is_set:
                yield f"duplicate listen options for {address.numeric}"
                return
            known.is_set = True
        if "default_server" in words or "default" in words:
            if known.has_default:
                yield f"a duplicate default server for {address.numeric}"
                return
            known.has_default = True


def _error(text: str) -> str:
    """Return what is wrong with an address that nginx refuses."""
    port = number(text)
    if port is not None:
        return "invalid port"
    first, _, last = text.partition("-")
    low, high = number(first.rpartition(":")[2]), number(last)
    if low is not None and high is not None:
        return "invalid port range" if low > high and 1 <= high <= 65_535 else "invalid port"
    return parse_url(text).error or "invalid host"


def _of_listen(stated: Stated, word: str) -> str | None:
    name, equals, value = word.partition("=")
    protocol, target = stated.protocol, stated.reading.target
    if not equals:
        return None if _is_known(word, protocol, target) else _unknown(word, protocol, target)
    if word.startswith("ipv6only=o"):
        return None if value in ("on", "off") else f'invalid ipv6only flags "{value}"'
    if name == "so_keepalive":
        return None if value in ("on", "off") or _is_tunable(value) else f'invalid so_keepalive value: "{value}"'
    if name == "accept_filter" and protocol != "mail":
        return None
    if name in _VALUES and (protocol != "mail" or name in _OF_MAIL):
        return None if _VALUES[name](value) is not None else f'invalid {name} "{word}"'
    return _unknown(word, protocol, target)


def _is_known(word: str, protocol: str, target: Version) -> bool:
    if word == "quic":
        return protocol == "http" and target >= _QUIC
    if word == "multipath":
        return target >= _MULTIPATH
    if word == "default_server" and protocol == "stream":
        return target >= _AS_HTTP
    return word in _PLAIN[protocol]


def _unknown(word: str, protocol: str, target: Version) -> str:
    is_old = protocol == "stream" and target < _AS_HTTP
    return f'the invalid "{word}" parameter' if is_old else f'invalid parameter "{word}"'


def _is_tunable(value: str) -> bool:
    """Return whether nginx accepts a `so_keepalive=idle:interval:count`; at least one of these must not be 0."""
    idle, _, rest = value.partition(":")
    interval, _, count = rest.partition(":")
    known = [0 if not text else reads(text) for text, reads in ((idle, seconds), (interval, seconds), (count, number))]
    return None not in known and any(known)


# Upstreams, and what names one.

_MOST_ROUTE = 32
RESOLVES = Version(1, 27, 3)
"""The first release that resolves names of servers at run time."""
_SINCE = {
    "resolve": RESOLVES,
    "service": RESOLVES,
    "route": Version(1, 29, 6),
    "drain": Version(1, 29, 6),
}
"""The parameters of servers that once only NGINX Plus had, with nginx's first release with each."""
_NUMBERS = ("weight", "max_conns", "max_fails")
_WITHOUT_BACKUP = ("hash", "ip_hash", "random")
"""The methods before whose servers no `backup` may stand (`NGX_HTTP_UPSTREAM_BACKUP`)."""
_SAMESITE = ("strict", "lax", "none")


@setter("ngx_http_upstream_server", "ngx_stream_upstream_server")
def _server(stated: Stated) -> Iterator[str]:
    address, *words = stated.args
    for word in words:
        message = _of_word(stated, str(word))
        if message is not None:
            yield message
            return
    service = next((word.partition("=")[2] for word in words if word.startswith("service=")), None)
    if service is not None and "resolve" not in words:
        yield f'service upstream "{address}" requires "resolve" parameter'
        return
    url = parse_url(address)
    if url.error is not None:
        yield f'{url.error} in upstream "{address}"'
    elif stated.protocol == "stream" and url.port is None and service is None:
        yield f'no port in upstream "{address}"'
    elif service is not None and url.port is not None:
        yield f'service upstream "{address}" may not have port'
    elif service is not None and url.is_numeric:
        yield f'service upstream "{address}" requires domain name'


def _of_word(stated: Stated, word: str) -> str | None:
    name, equals, value = word.partition("=")
    if word == "backup":
        method = _method(stated)
        return f'balancing method does not support parameter "{word}"' if method in _WITHOUT_BACKUP else None
    if word == "down":
        return None
    if equals and name in _NUMBERS:
        count = number(value)
        return f'invalid parameter "{word}"' if count is None or (name == "weight" and not count) else None
    if equals and name == "fail_timeout":
        return f'invalid parameter "{word}"' if seconds(value) is None else None
    since = _SINCE.get(name)
    if since is not None and not _has(stated, since):
        return f'invalid parameter "{word}"'
    if stated.protocol == "http" and equals and name == "route":
        if not value:
            return "route is empty"
        return f"route is longer than {_MOST_ROUTE}" if len(value) > _MOST_ROUTE else None
    if equals and name == "service":
        return None if value else "service is empty"
    if word == "resolve" or (word == "drain" and stated.protocol == "http"):
        return None
    if (word == "drain" or (equals and name == "slow_start")) and not _is_plain(stated):
        return None
    return f'invalid parameter "{word}"'


def _is_plain(stated: Stated) -> bool:
    """Return whether nothing shows a vendor, which has more parameters."""
    return stated.reading.is_of_nginx and not stated.reading.target.build


def _has(stated: Stated, since: Version) -> bool:
    """Return whether the build has a parameter that NGINX Plus always had, and nginx has had since that release."""
    return stated.reading.target >= since or not _is_plain(stated)


def _method(stated: Stated) -> str | None:
    """Return the method that the upstream has when nginx reads a server."""
    found = None
    for directive in stated.level.directives:
        if directive is stated.directive:
            return found
        if directive.name in (*_WITHOUT_BACKUP, "least_conn", "least_time"):
            found = str(directive.name)
    return found


@setter("ngx_http_upstream_keepalive")
def _keepalive(stated: Stated) -> Iterator[str]:
    count = number(stated.args[0])
    is_zero_fine = stated.reading.target >= _LOCAL
    if count is None or (count == 0 and not is_zero_fine):
        yield f'invalid value "{stated.args[0]}" in "keepalive" directive'
    elif len(stated.args) > 1 and stated.args[1] != "local":
        yield f'invalid parameter "{stated.args[1]}"'


_LOCAL = Version(1, 29, 7)


@setter("ngx_http_upstream_hash", "ngx_stream_upstream_hash")
def _hash(stated: Stated) -> Iterator[str]:
    if len(stated.args) > 1 and stated.args[1] != "consistent":
        yield f'invalid parameter "{stated.args[1]}"'


@setter("ngx_http_upstream_random", "ngx_stream_upstream_random")
def _random(stated: Stated) -> Iterator[str]:
    for word, known in zip(stated.args, (("two",), ("least_conn",)), strict=False):
        if word not in known and (_is_plain(stated) or not word.startswith("least_time")):
            yield f'invalid parameter "{word}"'
            return


_TIMES = {"http": ("header", "last_byte"), "stream": ("connect", "first_byte", "last_byte")}


@setter("ngx_http_upstream_least_time", "ngx_stream_upstream_least_time")
def _least_time(stated: Stated) -> Iterator[str]:
    if len(stated.args) > 1 and stated.args[1] != "inflight":  # before the setter of nginx's core, which counts
        yield f'invalid parameter "{stated.args[1]}"'
    elif stated.level.own("least_time")[0] is not stated.directive:
        yield stated.says("is duplicate")
    elif stated.args[0].lower() not in _TIMES[stated.protocol]:
        yield f'invalid value "{stated.args[0]}"'


@setter("ngx_http_upstream_bind_set_slot", "ngx_stream_proxy_bind")
def _bind(stated: Stated) -> Iterator[str]:
    address, *words = stated.args
    if address == "off" and not words:
        return
    if "$" not in address and not parse_address(address):
        yield f'invalid address "{address}"'
    elif words and words[0] != "transparent":
        yield f'invalid parameter "{words[0]}"'


@setter("ngx_http_upstream_param_set_slot")
def _param(stated: Stated) -> Iterator[str]:
    if len(stated.args) == 3 and stated.args[2] != "if_not_empty":
        yield f'invalid parameter "{stated.args[2]}"'


@setter("ngx_http_upstream_sticky")
def _sticky(stated: Stated) -> Iterator[str]:
    kind, *words = stated.args
    if kind == "route":
        wrong = next((word for word in words if not word.startswith("$")), None)
        if wrong is not None:
            yield f'invalid variable name "{wrong}"'
    elif kind == "cookie":
        yield from _cookie(stated, list(map(str, words)))
    elif kind == "learn":
        yield from _learn(stated, list(map(str, words)))
    else:
        yield f'unknown parameter "{kind}"'


def _cookie(stated: Stated, words: list[str]) -> Iterator[str]:
    if not words or not words[0]:
        yield stated.says("empty cookie name")
        return
    seen: set[str] = set()
    for word in words[1:]:
        name, equals, value = word.partition("=")
        is_flag = word in ("httponly", "secure")
        if not is_flag and (not equals or name not in ("domain", "path", "expires", "samesite")):
            yield f'unknown parameter "{word}"'
            return
        if name in seen:
            yield stated.says(f'parameter "{name}" is duplicate')
            return
        seen.add(name)
        if name in ("domain", "path") and not value:
            yield stated.says(f'no value for "{name}"')
            return
        if name == "expires" and value != "max" and seconds(value) is None:
            yield stated.says('invalid "expires" parameter value')
            return
        if name == "samesite" and "$" not in value and value.lower() not in _SAMESITE:
            yield stated.says('invalid "samesite" parameter value')
            return


def _learn(stated: Stated, words: list[str]) -> Iterator[str]:
    zone, timeout = None, None
    variables = {"create": False, "lookup": False}
    for word in words:
        known = parameter(word, ("zone", "timeout", "create", "lookup"))
        if word == "header":
            continue
        if known is None:
            yield f'unknown parameter "{word}"'
            return
        name, value = known
        message = None
        if name == "zone":
            message = "duplicate zone" if zone else _of_zone(value)
            zone = zone or value
        elif name == "timeout":
            message = "duplicate timeout" if timeout else None if milliseconds(value) else "invalid timeout"
            timeout = value
        elif not value.startswith("$"):
            message = f'missing variable in the "{name}" parameter'
        else:
            variables[name] = True
        if message is not None:
            yield stated.says(message)
            return
    for name in ("lookup", "create"):
        if not variables[name]:
            yield stated.says(f'"{name}" parameter is not specified')
            return
    if zone is None:
        yield stated.says('"zone" parameter is not specified')
        return
    name, _, text = zone.partition(":")
    for message in stated.reading.add_zone(name, size(text) or 0, stated.module):
        yield message
        return
    entry = stated.reading.zones[name]
    if entry.user is not None:
        yield f'sticky zone "{name}" is already used in upstream "{entry.user}"'
    entry.user = str(stated.level.args[0]) if stated.level.args else ""


def _of_zone(value: str) -> str | None:
    name, colon, text = value.partition(":")
    if not colon:
        return "zone size is not specified"
    if not name:
        return "zone name is not specified"
    each = size(text)
    if each is None:
        return "invalid zone size"
    return "zone is too small" if each < 8 * PAGE else None


# Gateways (proxy, fastcgi, uwsgi, scgi, grpc, memcached, tunnel): targets, caches, stores, rewriting of answers.

_SCHEMES = {
    "ngx_http_proxy_pass": ("http://", "https://"),
    "ngx_http_grpc_pass": ("grpc://", "grpcs://"),
    "ngx_http_uwsgi_pass": ("uwsgi://", "suwsgi://"),
}
_URI_IS_WRONG = (
    '"proxy_pass" cannot have URI part in location given by regular expression, or inside named location, '
    'or inside "if" statement, or inside "limit_except" block'
)
_CODES = lazy.pattern(r"[0-9]+")


@setter("ngx_http_proxy_pass")
def _proxy_pass(stated: Stated) -> Iterator[str]:
    url = str(stated.args[0])
    if "$" in url:
        return
    scheme = next((scheme for scheme in _SCHEMES["ngx_http_proxy_pass"] if url.lower().startswith(scheme)), None)
    if scheme is None:
        yield "invalid URL prefix"
        return
    target = parse_url(url[len(scheme) :], uri=True)
    if target.error is not None:
        yield f'{target.error} in upstream "{url[len(scheme) :]}"'
    elif target.uri and _has_no_prefix(stated):
        yield _URI_IS_WRONG


def _has_no_prefix(stated: Stated) -> bool:
    """Return whether the location has no path that a URI part could replace."""
    level = stated.level
    if level.kind in ("if", "limit_except"):
        return True
    return level.kind == "location" and _is_regex_or_named(level.args)


def _is_regex_or_named(args: Sequence[str]) -> bool:
    if len(args) == 2:
        return args[0] in ("~", "~*")
    return bool(args) and args[0][:1] in ("@", "~")


@setter(
    "ngx_http_fastcgi_pass",
    "ngx_http_scgi_pass",
    "ngx_http_uwsgi_pass",
    "ngx_http_grpc_pass",
    "ngx_http_memcached_pass",
    "ngx_http_tunnel_pass",
    "ngx_stream_proxy_pass",
)
def _pass(stated: Stated) -> Iterator[str]:
    url = str(stated.args[0]) if stated.args else ""
    takes_variables = stated.declaration.setter != "ngx_http_memcached_pass"
    if ("$" in url and takes_variables) or not stated.args:
        return
    for scheme in _SCHEMES.get(stated.declaration.setter, ()):
        if url.lower().startswith(scheme):
            url = url[len(scheme) :]
            break
    error = parse_url(url).error
    if error is not None:
        yield f'{error} in upstream "{url}"'


@setter("ngx_stream_pass")
def _stream_pass(stated: Stated) -> Iterator[str]:
    address = str(stated.args[0])
    if "$" in address:
        return
    url = parse_url(address)
    if url.error is not None:
        yield f'{url.error} in "{address}" of the "pass" directive'
    elif not url.is_numeric:
        yield stated.says("has no addresses")
    elif url.port is None:
        yield stated.says("has no port")


@setter("ngx_http_proxy_store", "ngx_http_fastcgi_store", "ngx_http_scgi_store", "ngx_http_uwsgi_store")
def _store(stated: Stated) -> Iterator[str]:
    path = stated.args[0]
    if path == "off":
        return
    if not path and stated.reading.target >= _EMPTY_STORE:
        yield "empty path"
    elif any(other.args[:1] != ("off",) for other in _stated_before(stated, stated.name.replace("store", "cache"))):
        yield stated.says(f'is incompatible with "{stated.name.replace("store", "cache")}"')


@setter("ngx_http_proxy_cache", "ngx_http_fastcgi_cache", "ngx_http_scgi_cache", "ngx_http_uwsgi_cache")
def _cache(stated: Stated) -> Iterator[str]:
    zone = str(stated.args[0])
    if zone == "off":
        return
    store = stated.name.replace("cache", "store")
    if any(other.args[:1] != ("off",) for other in _stated_before(stated, store)):
        yield stated.says(f'is incompatible with "{store}"')
    elif "$" not in zone:
        yield from stated.reading.add_zone(zone, 0, stated.module)


def _stated_before(stated: Stated, name: str) -> Iterator[Directive]:
    end = stated.directive
    here = stated.level.own(name)
    if not here:
        return
    for directive in stated.level.directives:
        if directive is end:
            return
        if directive.name == name:
            yield directive


@setter("ngx_http_file_cache_valid_set_slot")
def _cache_valid(stated: Stated) -> Iterator[str]:
    *codes, time = stated.args
    if seconds(time) is None:
        yield f'invalid time value "{time}"'
        return
    wrong = next((code for code in codes if code != "any" and not 100 <= (number(code) or 0) <= 599), None)
    if wrong is not None:
        yield f'invalid status "{wrong}"'


@setter("ngx_http_proxy_redirect")
def _proxy_redirect(stated: Stated) -> Iterator[str]:
    args = stated.args
    before = list(_stated_before(stated, "proxy_redirect"))
    if any(other.args == ("off",) for other in before) or (args == ("off",) and before):
        yield stated.says("is duplicate")
        return
    if len(args) != 1 or args[0] == "off":
        return
    if args[0] != "default":
        yield f'invalid parameter "{args[0]}"'
        return
    passes = list(_stated_before(stated, "proxy_pass"))
    if any("$" in other.args[0] for other in passes if other.args):
        yield '"proxy_redirect default" cannot be used with "proxy_pass" directive with variables'
    elif not passes:
        yield '"proxy_redirect default" should be placed after the "proxy_pass" directive'


@setter("ngx_http_proxy_cookie_domain", "ngx_http_proxy_cookie_path", "ngx_http_proxy_cookie_flags")
def _proxy_cookie(stated: Stated) -> Iterator[str]:
    args = stated.args
    before = list(_stated_before(stated, stated.name))
    if any(other.args == ("off",) for other in before) or (args == ("off",) and before):
        yield stated.says("is duplicate")
    elif len(args) == 1 and args[0] != "off":
        yield f'invalid parameter "{args[0]}"'


@setter(
    "ngx_http_ssl_certificate_cache",
    "ngx_stream_ssl_certificate_cache",
    "ngx_http_proxy_ssl_certificate_cache",
    "ngx_http_grpc_ssl_certificate_cache",
    "ngx_http_uwsgi_ssl_certificate_cache",
    "ngx_stream_proxy_ssl_certificate_cache",
)
def _certificate_cache(stated: Stated) -> Iterator[str]:
    if next(_stated_before(stated, stated.name), None) is not None:
        yield stated.says("is duplicate")
    else:
        yield from cache_of_files(stated, ("max", "inactive", "valid"), article="the ", least=1)


@setter("ngx_http_set_complex_value_size_slot", "ngx_stream_set_complex_value_size_slot")
def _rate(stated: Stated) -> Iterator[str]:
    if "$" not in stated.args[0] and size(stated.args[0]) is None:
        yield stated.says("invalid value")


_EMPTY_STORE = Version(1, 23, 0)


@setter("ngx_http_fastcgi_split_path_info")
def _split_path_info(stated: Stated) -> Iterator[str]:
    pattern = str(stated.args[0])
    if groups(pattern) not in (2, None):
        yield f'pattern "{pattern}" must have 2 captures'


def groups(pattern: str) -> int | None:
    """Return the number of capturing groups of a pattern; None if counting parentheses does not tell."""
    if re.search(r"\\[QE]|\(\?[|#(^a-z-]*[x|#(]|\(\*|\[\^?\]|\[:", pattern) or pattern_error(encode(pattern)):
        return None
    bare = re.sub(r"\\.|\[\^?(?:\\.|[^\]\\])*\]", "", pattern, flags=re.DOTALL)
    return len(re.findall(r"\((?!\?)|\(\?P?<(?![=!])|\(\?'", bare))
