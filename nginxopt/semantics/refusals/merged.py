"""What nginx refuses at the end of a block of http, stream or mail, or at the end of the file.

At that point nginx merges the settings of levels, sets up upstreams, addresses and TLS, and looks for names that
nothing has declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nginxopt.config import Directive
from nginxopt.facts import group
from nginxopt.facts.lexicon import ROWS
from nginxopt.semantics.inherit import Level, Setting
from nginxopt.semantics.refusals.connections import RESOLVES, groups
from nginxopt.semantics.refusals.http import is_name_or_wildcard, keys_of
from nginxopt.semantics.refusals.setters import PAGE, ReadState
from nginxopt.semantics.values import (
    PORT,
    Address,
    addresses,
    endpoints,
    number,
    parse_url,
    read_listens,
    size,
    sockets,
)
from nginxopt.version import Version

Found = Iterator[tuple[Directive, str]]

NO_SERVERS = "no servers are inside upstream"
"""What nginx says at the end of an upstream."""

_DEFAULT_CONNECTIONS = 512
_BUFFERED = ("proxy", "fastcgi", "scgi", "uwsgi")
_SIZES = ("buffer_size", "buffers", "busy_buffers_size", "temp_file_write_size", "max_temp_file_size")
_COMPARED = 'the maximum of the value of "{0}_buffer_size" and one of the "{0}_buffers"'
_POOL = 256 * 2  # connection_pool_size where pointers have eight bytes
_HEADERS = 8192
_TRUSTED = Version(1, 29, 0)
"""The first release in which `ssl_trusted_certificate` suffices for `ssl_verify_client`."""
_SSL_GONE = Version(1, 25, 1)
_HANDLER_NEEDED = Version(1, 25, 0)
_VIRTUAL_STREAM = Version(1, 25, 5)
_DEFAULT_CACHES = 1024 * 1024 * 1024
_HANDLERS_OF_STREAM = ("proxy_pass", "return", "pass", "js_access", "content_by_lua_block", "content_by_lua_file")
_SPECIAL = ("none", "blocked", "server_names")
_MAIL_PORTS = {110: "pop3", 995: "pop3", 143: "imap", 993: "imap", 25: "smtp", 587: "smtp", 465: "smtp"}


def of_protocol(level: Level, reading: ReadState) -> Found:
    """Yield what nginx refuses at the end of a block of http, stream or mail."""
    servers = [inner for inner in level.levels if inner.kind == "server"]
    yield from _of_upstreams(level, reading)
    if level.kind == "http":
        yield from _of_http(level, servers, reading)
    if level.kind == "stream":
        yield from _of_stream(servers, reading)
    if level.kind == "mail":
        yield from _of_mail(servers)
    yield from _of_tls(level, servers, reading)


def of_file(root: Level, reading: ReadState) -> Found:
    """Yield zones without a size and thread pools that nothing declares, which nginx refuses at the end of the file."""
    if not reading.declares_all:
        return
    yield from _of_connections(root, reading)
    zones = {name for name, zone in reading.zones.items() if not zone.size}
    pools = {name for name, declared in reading.pools.items() if declared is None and name != "default"}
    if not zones and not pools:
        return
    for level in root.walk():
        for directive in level.directives if level.kind not in ROWS else ():
            for word in directive.args:
                zone = word.removeprefix("zone=") if directive.name == "limit_req" else str(word)
                name = word.removeprefix("threads=")
                if zone in zones and _uses_zone(directive, word):
                    zones.discard(zone)
                    yield directive, f'zero size shared memory zone "{zone}"'
                elif word.startswith("threads=") and name in pools:
                    pools.discard(name)
                    yield directive, f'unknown thread pool "{name}"'


def _of_connections(root: Level, reading: ReadState) -> Found:
    """Yield a `worker_connections` below the number of listening sockets (`ngx_event_init_conf`)."""
    events = next((level for level in root.levels if level.kind == "events"), None)
    stated = next(iter(events.own("worker_connections") if events is not None else ()), None)
    if events is None or events.opener is None:
        return
    count = number(stated.args[0]) if stated is not None and len(stated.args) == 1 else _DEFAULT_CONNECTIONS
    if count is None or (stated is None and not reading.listens):
        return
    listening = _sockets(root, reading)
    if count < listening + 1:
        yield stated or events.opener, f"{count} worker_connections are not enough for {listening} listening sockets"


def _sockets(root: Level, reading: ReadState) -> int:
    """Return the number of listening sockets."""
    count = 0
    for outer in root.levels:
        servers = [level for level in outer.levels if level.kind == "server"]
        if outer.kind == "http":
            count += len(sockets(endpoints(read_listens(servers)).values()))
        elif outer.kind in ("stream", "mail"):
            count += len({address for server in servers for address in _addresses(server, reading)})
    return count


def _uses_zone(directive: Directive, word: str) -> bool:
    name = str(directive.name)
    if name == "limit_req":
        return word.startswith("zone=")
    is_first = word is directive.args[0]
    return is_first and (name in ("zone", "limit_conn") or name.endswith("_cache"))


def _of_upstreams(outer: Level, reading: ReadState) -> Found:
    names: set[str] = set()
    for level in outer.levels:
        if level.kind != "upstream" or level.opener is None or not level.args:
            continue
        name = str(level.args[0])
        if name.lower() in names:
            yield level.opener, f'duplicate upstream "{name}"'
        names.add(name.lower())
        if level.is_open or level.own("state"):
            continue
        servers = level.own("server")
        if not servers and level.own("zone") and not reading.is_of_nginx:
            continue  # NGINX Plus may add servers at run time
        if not servers:
            yield level.opener, NO_SERVERS
        elif all("backup" in server.args for server in servers):
            yield level.opener, f'no servers in upstream "{name}"'
        elif (reading.target >= RESOLVES or reading.target.build) and any(map(_resolves, servers)):
            yield from _of_resolving(level, name, outer)
    if not outer.is_open:
        yield from _of_ports(outer, names)


def _resolves(server: Directive) -> bool:
    return "resolve" in server.args[1:] and not parse_url(server.args[0]).is_numeric


def _of_resolving(level: Level, name: str, outer: Level) -> Found:
    assert level.opener is not None
    if not level.own("zone"):
        place = level.opener.located("")[len(" in ") :]
        yield (
            level.opener,
            (f'resolving names at run time requires upstream "{name}" in {place} to be in shared memory'),
        )
    elif not level.own("resolver") and not outer.own("resolver") and not outer.is_open:
        yield level.opener, f'no resolver defined to resolve names at run time in upstream "{name}"'


def _of_ports(outer: Level, names: set[str]) -> Found:
    """Yield passes that name an upstream with a port, or a server without one.

    A server that another pass names with a port has that one (`ngx_http_upstream_add`).
    """
    without: list[tuple[Directive, str]] = []
    stated: set[str] = set()
    passes = _PASSES & outer.names_anywhere
    for level in outer.walk():
        for name in passes & level.names if level.kind not in ROWS else ():
            for directive in level.own(name):
                target = str(directive.args[0]) if directive.args else ""
                _, mark, rest = target.partition("://")
                url = parse_url(rest if mark else target, uri=name == "proxy_pass" and bool(mark))
                host = url.host.lower()
                if ("$" in target and name != "memcached_pass") or url.error is not None:
                    continue
                if url.port and host in names:
                    yield directive, f'upstream "{url.host}" may not have port {url.port}'
                elif url.port is None and (outer.kind == "stream" or name in _WITHOUT_PORT):
                    without.append((directive, url.host))
                else:
                    stated.add(host)
    for directive, host in without:
        if host.lower() not in names | stated:
            yield directive, f'no port in upstream "{host}"'


_PASSES = group("pass") | {"tunnel_pass"}
_WITHOUT_PORT = _PASSES - {"proxy_pass"}
"""Passes that have no default port."""


def _of_http(http: Level, servers: list[Level], reading: ReadState) -> Found:
    if not servers:
        return
    said: set[tuple[int, str]] = set()
    stated = http.names_anywhere
    gateways = [gateway for gateway in _BUFFERED if any(name.startswith(f"{gateway}_") for name in stated)]
    for level in _merging(http):
        for directive, message in _of_level(level, gateways, reading):
            if (id(directive), message) not in said:
                said.add((id(directive), message))
                yield directive, message
    if "source_charset" in stated and reading.declares_all:
        yield from _of_charsets(http)
    yield from _of_server_names(servers, reading)


def _of_charsets(http: Level) -> Found:
    """Yield pairs of `charset` and `source_charset` without a `charset_map` (`ngx_http_charset_postconfiguration`).

    `off` means no charset only in `charset`.
    """
    tables = [{word.lower() for word in directive.args} for directive in http.own("charset_map")]
    said: set[str] = set()
    for level in _merging(http):
        charset, source = level.setting("charset"), level.setting("source_charset")
        if charset.value is None or source.value is None or not (charset.known and source.known):
            continue
        pair = {charset.value.lower(), source.value.lower()}
        if charset.value == "off" or "$" in charset.value + source.value or len(pair) == 1 or pair in tables:
            continue
        message = f'no "charset_map" between the charsets "{source.value}" and "{charset.value}"'
        if charset.directive is not None and message not in said:
            said.add(message)
            yield charset.directive, message


def _merging(http: Level) -> Iterator[Level]:
    """Yield the levels that nginx merges into: servers and all inside of them."""
    for server in http.levels:
        if server.kind == "server":
            yield from (level for level in server.walk() if level.kind in ("server", "location", "if", "limit_except"))


def _of_level(level: Level, gateways: Iterable[str], reading: ReadState) -> Found:
    """Yield what nginx refuses of a level. `gateways` are those whose directives stand anywhere."""
    is_server = level.kind == "server"
    names = level.names
    if is_server:
        yield from _of_header_buffers(level)
    for gateway in gateways:
        if is_server or any(f"{gateway}_{name}" in names for name in _SIZES):
            yield from _of_buffers(level, gateway)
        if (is_server or f"{gateway}_cache" in names) and reading.declares_all:
            yield from _of_cache(level, gateway, reading)
        if f"{gateway}_pass" in names:
            yield from _of_upstream_tls(level, gateway)
    if "grpc_pass" in names:
        yield from _of_upstream_tls(level, "grpc")
    if "secure_link_secret" in names and ("secure_link" in names or "secure_link_md5" in names):
        message = '"secure_link_secret" cannot be mixed with "secure_link" and "secure_link_md5"'
        yield level.own("secure_link_secret")[0], message
    if "valid_referers" in names:
        yield from _of_referers(level)


def _of_header_buffers(server: Level) -> Found:
    pool, buffers = server.setting("connection_pool_size"), server.setting("large_client_header_buffers")
    directive = buffers.directive or pool.directive
    if directive is None or not pool.known or not buffers.known:
        return
    least = _size(pool, _POOL)
    each = size(buffers.directive.args[1]) if buffers.directive and len(buffers.directive.args) > 1 else _HEADERS
    if least is not None and each is not None and each < least:
        yield (
            directive,
            ('the "large_client_header_buffers" size must be equal to or greater than "connection_pool_size"'),
        )


def _of_buffers(level: Level, gateway: str) -> Found:
    settings = {name: level.setting(f"{gateway}_{name}") for name in _SIZES}
    if not any(setting.is_set for setting in settings.values()) or not all(s.known for s in settings.values()):
        return
    buffers = settings["buffers"].directive
    count = number(buffers.args[0]) if buffers and len(buffers.args) == 2 else 8
    each = size(buffers.args[1]) if buffers and len(buffers.args) == 2 else PAGE
    one = _size(settings["buffer_size"], PAGE)
    if count is None or each is None or one is None:
        return
    largest = max(one, each)
    if buffers is not None and count < 2:
        yield buffers, f'there must be at least 2 "{gateway}_buffers"'
        return
    first = next(setting.directive for setting in settings.values() if setting.directive)
    compared = _COMPARED.format(gateway)
    busy = _size(settings["busy_buffers_size"], 2 * largest)
    if busy is not None and busy < largest:
        at = settings["busy_buffers_size"].directive or first
        yield at, f'"{gateway}_busy_buffers_size" must be equal to or greater than {compared}'
        return
    if busy is not None and busy > (count - 1) * each:
        at = settings["busy_buffers_size"].directive or first
        message = f'must be less than the size of all "{gateway}_buffers" minus one buffer'
        yield at, f'"{gateway}_busy_buffers_size" {message}'
        return
    written = _size(settings["temp_file_write_size"], 2 * largest)
    if written is not None and written < largest:
        at = settings["temp_file_write_size"].directive or first
        yield at, f'"{gateway}_temp_file_write_size" must be equal to or greater than {compared}'
        return
    most = _size(settings["max_temp_file_size"], _DEFAULT_CACHES)
    if most is not None and most and most < largest:
        at = settings["max_temp_file_size"].directive or first
        yield (
            at,
            (
                f'"{gateway}_max_temp_file_size" must be equal to zero to disable temporary files usage '
                f"or must be equal to or greater than {compared}"
            ),
        )


def _size(setting: Setting, default: int) -> int | None:
    return size(setting.directive.args[0]) if setting.directive and setting.directive.args else default


def _of_cache(level: Level, gateway: str, reading: ReadState) -> Found:
    setting = level.setting(f"{gateway}_cache")
    directive = setting.directive
    if directive is None or not setting.known or not directive.args:
        return
    name = str(directive.args[0])
    if name == "off" or "$" in name:
        return
    zone = reading.zones.get(name)
    if zone is not None and zone.user is None and not zone.size:
        yield directive, f'"{gateway}_cache" zone "{name}" is unknown'


def _of_upstream_tls(level: Level, gateway: str) -> Found:
    target = next((str(each.args[0]) for each in level.own(f"{gateway}_pass") if each.args), "")
    if "$" in target or target.lower().startswith(("https://", "grpcs://", "suwsgi://")):
        yield from _of_peer(level, gateway)


def _of_peer(level: Level, gateway: str) -> Found:
    """Yield what nginx refuses of the TLS to an upstream (`ngx_http_proxy_set_ssl`)."""
    certificate, key = level.setting(f"{gateway}_ssl_certificate"), level.setting(f"{gateway}_ssl_certificate_key")
    if certificate.directive and certificate.directive.args and certificate.directive.args[0] and key.is_unset:
        name = certificate.directive.args[0]
        message = f'no "{gateway}_ssl_certificate_key" is defined for certificate "{name}"'
        yield certificate.directive, message
    verify, trusted = level.setting(f"{gateway}_ssl_verify"), level.setting(f"{gateway}_ssl_trusted_certificate")
    if verify.directive and verify.value is not None and verify.value.lower() == "on" and trusted.is_unset:
        yield verify.directive, f"no {gateway}_ssl_trusted_certificate for {gateway}_ssl_verify"


def _of_referers(level: Level) -> Found:
    words = [word for directive in level.own("valid_referers") for word in directive.args]
    server = level.around("server")
    if "server_names" in words and server is not None:
        seen = {key for word in words if word not in _SPECIAL for key in keys_of(word.partition("/")[0].lower())}
        for directive in server.own("server_name"):
            for name in (word.lower() for word in directive.args if word and not word.startswith("~")):
                if not seen.isdisjoint(keys_of(name)):
                    yield level.own("valid_referers")[0], f'conflicting parameter "{name}"'
                    return
                seen.update(keys_of(name))
    special = {"none", "blocked"}
    has_names = any(word not in special and not word.startswith("~") for word in words)
    if special & set(words) and not has_names:
        message = (
            'the "none" or "blocked" referers are specified in the "valid_referers" directive without any valid referer'
        )
        yield level.own("valid_referers")[0], message


def of_locations(http: Level) -> Found:
    """Yield second locations of a level."""
    for level in http.walk():
        for _, second in level.second_locations() if level.kind in ("server", "location") else ():
            if second.opener is not None:
                yield second.opener, f'duplicate location "{second.path}"'


def _of_server_names(servers: list[Level], reading: ReadState) -> Found:
    """Yield names that nginx cannot put into a hash. It makes one for an address with several servers, or with a server
    whose pattern has captures (`ngx_http_optimize_servers`, `ngx_http_server_names`)."""
    at: dict[Address, list[Level]] = {}
    for server in servers:
        for address in _addresses(server, reading):
            at.setdefault(address, []).append(server)
    said: set[int] = set()
    for address, sharing in at.items():
        if len(sharing) < 2 and not _captures(sharing[0]):
            continue
        for server in sharing:
            for directive in server.own("server_name"):
                wrong = next((word for word in directive.args if not _is_fine(word)), None)
                if wrong is not None and id(directive) not in said:
                    said.add(id(directive))
                    yield directive, f'invalid server name or wildcard "{wrong}" on {address.numeric}'


def _captures(server: Level) -> bool:
    """Return whether the last pattern among the names of a server has captures: nginx asks for the last one only."""
    words = [word for directive in server.own("server_name") for word in directive.args if word.startswith("~")]
    return bool(words) and bool(groups(words[-1][1:]))


def _is_fine(name: str) -> bool:
    return name.startswith("~") or name == "" or is_name_or_wildcard(name.lower())


def _addresses(server: Level, reading: ReadState) -> Iterable[Address]:
    listens = server.own("listen")
    if not listens and not server.is_open:
        return (Address("inet", "0.0.0.0", PORT),)
    found = (address for listen in listens if listen.args for address in addresses(listen.args, reading.target))
    return dict.fromkeys(found)


def _of_stream(servers: list[Level], reading: ReadState) -> Found:
    for server in servers:
        if server.opener is None or server.is_open:
            continue
        if not server.own("listen"):
            yield server.opener, 'no "listen" is defined for server'
            continue
        if _is_on(server.setting("proxy_ssl")):
            yield from _of_peer(server, "proxy")
        if reading.target < _HANDLER_NEEDED and not any(server.own(name) for name in _HANDLERS_OF_STREAM):
            yield server.opener, "no handler for server"
    if reading.target >= _VIRTUAL_STREAM:
        yield from _of_server_names(servers, reading)


def _of_mail(servers: list[Level]) -> Found:
    for server in servers:
        if server.opener is None or server.is_open:
            continue
        if not server.own("listen"):
            yield server.opener, 'no "listen" is defined for server'
            continue
        if server.setting("protocol").is_unset and not _is_known_port(server):
            yield server.opener, "unknown mail protocol for server"
        elif server.setting("auth_http").is_unset:
            yield server.opener, 'no "auth_http" is defined for server'
        yield from _of_mail_tls(server)


def _of_mail_tls(server: Level) -> Found:
    """Yield what nginx refuses of the TLS of a mail server (`ngx_mail_ssl_merge_conf`)."""
    assert server.opener is not None
    certificates, keys = server.setting("ssl_certificate"), server.setting("ssl_certificate_key")
    starttls = server.setting("starttls")
    if _listens_with(server, "ssl"):
        mode, at = "listen ... ssl", _tls_listen(server)
    elif starttls.directive is not None and starttls.value in ("on", "only"):
        mode, at = "starttls", starttls.directive
    else:
        return
    if certificates.is_unset:
        yield at, f'no "ssl_certificate" is defined for the "{mode}" directive'
    elif keys.is_unset:
        yield at, f'no "ssl_certificate_key" is defined for the "{mode}" directive'
    elif len(keys.directives) < len(certificates.directives) and keys.known:
        last = certificates.directives[-1]
        yield at, f'no "ssl_certificate_key" is defined for certificate "{last.args[0]}" and the "{mode}" directive'


def _tls_listen(server: Level) -> Directive:
    """Return the last `listen` of a server that has TLS, or the server."""
    listens = [listen for listen in server.own("listen") if "ssl" in listen.args]
    assert server.opener is not None
    return listens[-1] if listens else server.opener


def _is_known_port(server: Level) -> bool:
    ports = {number(str(listen.args[0]).rpartition(":")[2]) for listen in server.own("listen") if listen.args}
    return not ports.isdisjoint(_MAIL_PORTS)


def _of_tls(outer: Level, servers: list[Level], reading: ReadState) -> Found:
    for server in servers:
        yield from _of_certificates(server, reading)
        ssl, has_none = server.setting("ssl"), server.setting("ssl_certificate").is_unset and not _rejects(server)
        if reading.target < _SSL_GONE and ssl.directive is not None and _is_on(ssl) and has_none:
            yield ssl.directive, 'no "ssl_certificate" is defined for the "ssl" directive'
    if outer.kind in ("http", "stream"):
        yield from _of_default_servers(outer, servers, reading)


def _of_certificates(server: Level, reading: ReadState) -> Found:
    """Yield what nginx refuses of the certificates of a server (`ngx_http_ssl_merge_srv_conf`)."""
    certificates, keys = server.setting("ssl_certificate"), server.setting("ssl_certificate_key")
    verify = server.setting("ssl_verify_client")
    if not certificates.is_set or not certificates.known or not keys.known:
        return
    is_mail = server.parent is not None and server.parent.kind == "mail"
    if is_mail and server.setting("starttls").value not in ("on", "only") and not _listens_with(server, "ssl"):
        return
    if len(keys.directives) < len(certificates.directives):
        last = certificates.directives[-1]
        if not is_mail and last.args:
            message = f'no "ssl_certificate_key" is defined for certificate "{last.args[0]}"'
            ssl = server.setting("ssl") if reading.target < _SSL_GONE else None
            if ssl is not None and ssl.directive is not None and _is_on(ssl):
                yield ssl.directive, f'{message} and the "ssl" directive'
            else:
                yield last, message
        return
    if verify.directive and verify.value in ("on", "optional"):
        client, trusted = server.setting("ssl_client_certificate"), server.setting("ssl_trusted_certificate")
        if client.is_unset and (trusted.is_unset or reading.target < _TRUSTED):
            either = " or ssl_trusted_certificate" if reading.target >= _TRUSTED else ""
            yield verify.directive, f"no ssl_client_certificate{either} for ssl_verify_client"
    ocsp = server.setting("ssl_ocsp")
    if ocsp.directive and ocsp.value in ("on", "leaf"):
        if verify.value == "optional_no_ca":
            yield ocsp.directive, '"ssl_ocsp" is incompatible with "ssl_verify_client optional_no_ca"'
        yield from _of_responder(server)
    stapling, compression = server.setting("ssl_stapling"), server.setting("ssl_certificate_compression")
    if stapling.directive and _is_on(stapling) and _is_on(compression):
        yield stapling.directive, '"ssl_stapling" is incompatible with "ssl_certificate_compression"'


def _of_responder(server: Level) -> Found:
    responder = server.setting("ssl_ocsp_responder").directive
    if responder is None or not responder.args:
        return
    url = str(responder.args[0])
    if not url.lower().startswith("http://"):
        yield responder, f'invalid URL prefix in OCSP responder "{url}" in "ssl_ocsp_responder"'
        return
    error = parse_url(url[7:], uri=True).error
    if error is not None:
        yield responder, f'{error} in OCSP responder "{url[7:]}" in "ssl_ocsp_responder"'


def _is_on(setting: Setting) -> bool:
    return setting.directive is not None and setting.value is not None and setting.value.lower() == "on"


def _listens_with(server: Level, word: str) -> bool:
    return any(word in listen.args for listen in server.own("listen"))


def _of_default_servers(outer: Level, servers: list[Level], reading: ReadState) -> Found:
    """Yield default servers of TLS addresses without a certificate (`ngx_http_ssl_init`)."""
    if outer.is_open or any(server.is_open for server in servers):
        return
    sharing: dict[Address, list[Level]] = {}
    default: dict[Address, Level] = {}
    tls: dict[Address, str] = {}
    for server in servers:
        for listen in server.own("listen"):
            for address in addresses(listen.args, reading.target) if listen.args else ():
                known = sharing.setdefault(address, [])
                if server not in known[-1:]:
                    known.append(server)
                default.setdefault(address, server)
                if "default_server" in listen.args or "default" in listen.args:
                    default[address] = server
                if "ssl" in listen.args or "quic" in listen.args:
                    tls[address] = "quic" if "quic" in listen.args else "ssl"
    said: set[Level] = set()
    for address, name in tls.items():
        for server, message in _without_certificate(default[address], sharing[address], name):
            if server not in said and server.opener is not None:
                said.add(server)
                is_at_listen = outer.kind == "stream" and reading.target < _VIRTUAL_STREAM
                yield _tls_listen(server) if is_at_listen else server.opener, message


def _without_certificate(default: Level, sharing: list[Level], name: str) -> Iterator[tuple[Level, str]]:
    missing = f'no "ssl_certificate" is defined for the "listen ... {name}" directive'
    certificate = default.setting("ssl_certificate")
    if certificate.is_set:
        protocols = default.setting("ssl_protocols").directive
        if name == "quic" and protocols is not None and "tlsv1.3" not in [word.lower() for word in protocols.args]:
            yield default, f'"ssl_protocols" must enable TLSv1.3 for the "listen ... {name}" directive'
    elif certificate.is_unset and not _rejects(default):
        yield default, missing
    elif certificate.is_unset:
        for server in sharing:
            if server.setting("ssl_certificate").is_unset and not _rejects(server):
                yield server, missing
                return


def _rejects(server: Level) -> bool:
    setting = server.setting("ssl_reject_handshake")
    return not setting.known or _is_on(setting)
