"""Writes the configuration: http, upstreams and servers (`nginx.tmpl`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from nginxopt.ingress.annotations import AnnotationValues
from nginxopt.ingress.canaries import Canary, write_canaries
from nginxopt.ingress.locations import (
    BY_ADDRESS,
    ERROR_HEADERS,
    HSTS,
    LocationWriter,
    error_services,
    zones,
)
from nginxopt.ingress.model import ANY_HOST, DEFAULT_BACKEND, IngressServer, Location
from nginxopt.ingress.settings import ControllerSettings, common_headers, common_settings
from nginxopt.ingress.writing import EmittedLines, quoted
from nginxopt.version import Version

HTTP2 = Version(1, 25, 1)
"""The first release with the directive `http2`."""

_CERTIFICATES = "/etc/ingress-controller/ssl"
_FALLBACK_PORT = 8181
_VARIABLE = re.compile(r"\$\{?([a-z_]+)")
_LOG = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
    '"$http_user_agent" $request_length $request_time [$proxy_upstream_name] $upstream_addr '
    "$upstream_response_length $upstream_response_time $upstream_status $req_id"
)


class IngressEmission:
    """The text of a configuration.

    Attributes:
        notes: What it does not do as the controller does.
    """

    def __init__(
        self,
        servers: Sequence[IngressServer],
        canaries: Mapping[str, Canary],
        settings: ControllerSettings,
        version: Version,
    ) -> None:
        self.notes: list[str] = []
        self._servers = servers
        self._canaries = canaries
        self._targets: Mapping[str, str] = {}
        self._settings = settings
        self._version = version
        self._lines = EmittedLines()
        self._hosts = frozenset(server.host for server in servers)
        self._locations = [location for server in servers for location in server.locations]
        self._used = frozenset(_VARIABLE.findall("\n".join(dict.fromkeys(self._snippets())))) | {"proxy_upstream_name"}
        name = "custom-http-errors"
        if settings.text(name) or any(location.values.text(name) for location in self._locations):
            self._used |= ERROR_HEADERS.keys()

    def render(self, head: Sequence[str]) -> str:
        """Return the text, which begins with the comments `head`."""
        lines, settings = self._lines, self._settings
        lines.add(*(f"# {line}" for line in head))
        lines.settings([("worker_processes", settings.text("worker-processes"))])
        lines.add(f"worker_rlimit_nofile {4 * settings.number('max-worker-connections')};")
        lines.text(settings.text("main-snippet"))
        lines.gap()
        with lines.block("events"):
            lines.add("multi_accept on;", f"worker_connections {settings.number('max-worker-connections')};")
        lines.gap()
        with lines.block("http"):
            self._write_http()
            self._write_maps()
            self._targets = write_canaries(lines, self._canaries)
            self._write_upstreams()
            self._write_limits()
            for server in self._servers:
                self._write_www(server)
            for server in self._servers:
                self._write_server(server)
            self._write_fallback()
        return lines.render()

    def _snippets(self) -> Iterator[str]:
        """Yield all text of others in which variables of the controller may be."""
        yield _LOG
        for key in ("http-snippet", "server-snippet", "location-snippet"):
            yield self._settings.text(key)
        for server in self._servers:
            yield server.snippet
        for location in self._locations:
            for name in ("configuration-snippet", "auth-snippet", "upstream-vhost", "auth-url", "auth-signin"):
                yield location.values.text(name)

    def _write_http(self) -> None:
        lines, settings = self._lines, self._settings
        self._trust_proxies()
        lines.settings(
            [
                *(("tcp_nopush", "on"), ("tcp_nodelay", "on"), ("log_subrequest", "on")),
                ("reset_timedout_connection", "on"),
                ("keepalive_timeout", f"{settings.number('keep-alive')}s"),
                ("keepalive_requests", settings.number("keep-alive-requests")),
                *((name.replace("-", "_"), settings.text(name)) for name in _AS_NAMED),
                *((name.replace("-", "_"), f"{settings.number(name)}s") for name in _SECONDS),
                ("types_hash_max_size", 2048),
                ("server_names_hash_max_size", settings.number("server-name-hash-max-size")),
                ("server_names_hash_bucket_size", settings.text("server-name-hash-bucket-size") or self._bucket()),
                ("underscores_in_headers", _on(settings.flag("enable-underscores-in-headers"))),
                ("ignore_invalid_headers", _on(settings.flag("ignore-invalid-headers"))),
                ("limit_req_status", settings.number("limit-req-status-code")),
                ("limit_conn_status", settings.number("limit-conn-status-code")),
                ("include", "/etc/nginx/mime.types"),
                ("server_tokens", _on(settings.flag("server-tokens"))),
                ("uninitialized_variable_warn", "off"),
                ("server_name_in_redirect", "off"),
                ("port_in_redirect", "off"),
                ("proxy_ssl_session_reuse", "on"),
                ("log_format", f"upstreaminfo '{_LOG}'"),
                (
                    "access_log",
                    "off" if settings.flag("disable-access-log") else "/var/log/nginx/access.log upstreaminfo",
                ),
                ("absolute_redirect", "off" if settings.flag("relative-redirects") else ""),
            ]
        )
        if settings.flag("use-gzip"):
            lines.settings((directive, settings.text(key)) for key, directive in _GZIP)
            lines.add("gzip on;", "gzip_http_version 1.1;", "gzip_proxied any;", "gzip_vary on;")
        lines.settings(
            [
                *((name.replace("-", "_"), settings.text(name)) for name in ("ssl-protocols", "ssl-ciphers")),
                ("ssl_early_data", _on(settings.flag("ssl-early-data"))),
                *(("ssl_session_cache", "shared:SSL:10m"), ("ssl_session_timeout", "10m")),
                *(("ssl_session_tickets", "off"), ("ssl_buffer_size", "4k")),
                ("ssl_prefer_server_ciphers", "on"),
                ("ssl_certificate", f"{_CERTIFICATES}/default-fake-certificate.pem"),
                ("ssl_certificate_key", f"{_CERTIFICATES}/default-fake-certificate.pem"),
            ]
        )
        snippet = settings.text("http-snippet")
        lines.settings(common_settings(settings))
        if "proxy_set_header" not in snippet:
            lines.add(*(f"proxy_set_header {name} {value};" for name, value in common_headers(settings).items()))
        if settings.flag("hsts") and "add_header" not in snippet:
            lines.add(HSTS)
        hidden = [*settings.list("hide-headers"), *(["Strict-Transport-Security"] if settings.flag("hsts") else [])]
        lines.add(*(f"proxy_hide_header {header};" for header in hidden))
        codes = settings.list("custom-http-errors")
        lines.add(*(f"error_page {code} = @custom_{DEFAULT_BACKEND}_{code};" for code in codes))
        if codes:
            lines.add("proxy_intercept_errors on;")
        if any(location.values.text("auth-url") for location in self._locations):
            lines.add("resolver 10.96.0.10 valid=30s; # the DNS of the cluster")
        lines.add(*(f"deny {address};" for address in settings.list("block-cidrs")))
        lines.text(snippet)

    def _bucket(self) -> int:
        """Return the size of a bucket of names of servers, as the controller computes it: a power of two."""
        names = {id(server.aliases): server.aliases for server in self._servers}  # those of an Ingress are one list
        longest = max(
            len(name) for each in ([server.host for server in self._servers], *names.values()) for name in each
        )
        return max(64, 1 << (longest + 17).bit_length())

    def _trust_proxies(self) -> None:
        """Take the address of the client from proxies, if the controller does."""
        settings = self._settings
        trusts = settings.flag("use-forwarded-headers") or settings.flag("enable-real-ip")
        by_protocol = settings.flag("use-proxy-protocol")
        if trusts or by_protocol:
            header = "proxy_protocol" if by_protocol else settings.text("forwarded-for-header")
            self._lines.add(f"real_ip_header {header};", "real_ip_recursive on;")
            self._lines.add(*(f"set_real_ip_from {address};" for address in settings.list("proxy-real-ip-cidr")))

    def _write_maps(self) -> None:
        """Write the variables that Lua sets (`rewrite` of lua_ingress.lua), and those of the template."""
        settings = self._settings
        forwarded = settings.flag("use-forwarded-headers")
        by_protocol = settings.flag("use-proxy-protocol")
        own_scheme = "$ingress_scheme" if by_protocol else "$scheme"
        keeps = settings.number("upstream-keepalive-connections") > 0
        self._map("$http_upgrade", "$connection_upgrade", "default upgrade;", "'' '';" if keeps else "'' close;")
        self._map("$http_x_request_id", "$req_id", "default $http_x_request_id;", '"" $request_id;')
        self._map("$http_host", "$ingress_host", "default $http_host;", '"" $host;')
        if by_protocol:
            self._map("$proxy_protocol_server_port", "$ingress_scheme", "default $scheme;", "443 https;")
        if forwarded:
            first = '"~^(?<first_forwarded_host>[^,]*)" $first_forwarded_host;'
            scheme = "default $http_x_forwarded_proto;"
            self._map("$http_x_forwarded_proto", "$pass_access_scheme", scheme, f'"" {own_scheme};')
            self._map("$http_x_forwarded_port", "$pass_port", "default $http_x_forwarded_port;", '"" $server_port;')
            self._map("$http_x_forwarded_host", "$best_http_host", '"" $ingress_host;', first)
            if settings.flag("compute-full-forwarded-for"):
                both = 'default "$http_x_forwarded_for, $realip_remote_addr";'
                self._map("$http_x_forwarded_for", "$full_x_forwarded_for", both, '"" $realip_remote_addr;')
        else:
            self._map("$scheme", "$pass_access_scheme", f"default {own_scheme};")
            self._map("$server_port", "$pass_port", "default $server_port;")
            self._map("$ingress_host", "$best_http_host", "default $ingress_host;")
        self._map("$best_http_host", "$ingress_redirect_host", '"~^(?<redirect_host>[^:]*)" $redirect_host;')
        slash = '"~^(?<redirect_uri>.*)/$" $redirect_uri;'
        self._map("$request_uri", "$ingress_redirect_uri", "default $request_uri;", slash)
        if settings.flag("hsts"):
            value = f"max-age={settings.text('hsts-max-age')}"
            value += "; includeSubDomains" if settings.flag("hsts-include-subdomains") else ""
            value += "; preload" if settings.flag("hsts-preload") else ""
            self._map("$scheme", "$ingress_hsts", f"https {quoted(value)};")
        if self._used & {"literal_dollar", "location_path"}:
            with self._lines.block("geo $literal_dollar"):
                self._lines.add('default "$";')
        for key, source, name in _BLOCKED:
            values = settings.list(key)
            if values:
                self._map(source, name, "default 0;", *(f"{value} 1;" for value in values))

    def _map(self, source: str, name: str, *rows: str) -> None:
        with self._lines.block(f"map {source} {name}"):
            self._lines.add(*rows)

    def _write_upstreams(self) -> None:
        """Write an upstream for each Service; nginx is not told its addresses, which a balancer in Lua chooses from."""
        services: dict[str, AnnotationValues | None] = {}
        for location in self._locations:
            if location.backend is not None:
                services.setdefault(location.upstream, location.values)
            service = error_services(location)
            if service and location.ingress is not None:
                services.setdefault(f"custom-default-backend-{location.ingress.namespace}-{service}", None)
        for canary in self._canaries.values():
            services.setdefault(canary.upstream, canary.values)
        for name in sorted(services):
            self._lines.gap()
            with self._lines.block(f"upstream {name}"):
                first = services[name]
                by = "" if first is None else first.text("upstream-hash-by")
                if by:
                    self._lines.add(f"hash {quoted(by)} consistent;")
                self._lines.add("server 0.0.0.1; # in place of the pods")
                self._write_keepalive()
        self._lines.gap()
        with self._lines.block(f"upstream {DEFAULT_BACKEND}"):
            self._lines.add(f"server 127.0.0.1:{_FALLBACK_PORT};")

    def _write_keepalive(self) -> None:
        settings = self._settings
        connections = settings.number("upstream-keepalive-connections")
        if connections:
            self._lines.add(
                f"keepalive {connections};",
                f"keepalive_time {settings.text('upstream-keepalive-time')};",
                f"keepalive_timeout {settings.number('upstream-keepalive-timeout')}s;",
                f"keepalive_requests {settings.number('upstream-keepalive-requests')};",
            )

    def _write_limits(self) -> None:
        """Write the zones of limits, and for each Ingress which clients have none."""
        done: set[str] = set()
        keys: dict[str, str] = {}
        for location in self._locations:
            for zone in zones(location):
                if zone.name in done:
                    continue
                done.add(zone.name)
                key = self._limit_key(location, keys)
                if zone.kind == "conn":
                    self._lines.add(f"limit_conn_zone {key} zone={zone.name}:5m;")
                else:
                    rate = f"{zone.limit}r/{zone.kind[-1]}"
                    self._lines.add(f"limit_req_zone {key} zone={zone.name}:5m rate={rate};")

    def _limit_key(self, location: Location, keys: dict[str, str]) -> str:
        allowed = [part.strip() for part in location.values.text("limit-allowlist").split(",") if part.strip()]
        default = self._settings.text("limit-conn-zone-variable")
        if not allowed or location.ingress is None:
            return default
        if location.ingress.key not in keys:
            keys[location.ingress.key] = name = f"{BY_ADDRESS}{len(keys) + 1}"
            with self._lines.block(f"geo $remote_addr {name}_free"):
                self._lines.add("default 0;", *(f"{address} 1;" for address in allowed))
            self._map(f"{name}_free", name, f"0 {default};", '1 "";')
        return keys[location.ingress.key]

    def _listen(self, host: str) -> None:
        options = " proxy_protocol" if self._settings.flag("use-proxy-protocol") else ""
        options += " default_server" if host == ANY_HOST else ""
        http2 = self._settings.flag("use-http2")
        old = " http2" if http2 and self._version < HTTP2 else ""
        for address in ("", "[::]:"):
            self._lines.add(f"listen {address}80{options};", f"listen {address}443{options} ssl{old};")
        if http2 and not old:
            self._lines.add("http2 on;")

    def _write_www(self, server: IngressServer) -> None:
        """Write the server that redirects from the name with or without `www.` (ngx_srv_redirect.lua)."""
        if not server.has_www:
            return
        other = server.host.removeprefix("www.") if server.host.startswith("www.") else f"www.{server.host}"
        if other in self._hosts:
            return
        self._lines.gap()
        with self._lines.block("server"):
            self._lines.add(f"server_name {quoted(other)};")
            self._listen(other)
            self._block()
            scheme = "$pass_access_scheme" if self._settings.flag("use-forwarded-headers") else "$scheme"
            url = f"{scheme}://{server.host}:$pass_port$ingress_redirect_uri"
            self._lines.add(f"return {self._settings.number('http-redirect-code')} {url};")

    def _block(self) -> None:
        for key, _, name in _BLOCKED:
            if self._settings.list(key):
                with self._lines.block(f"if ({name})"):
                    self._lines.add("return 403;")

    def _write_server(self, server: IngressServer) -> None:
        lines = self._lines
        lines.gap()
        with lines.block("server"):
            names = " ".join(map(quoted, (_server_name(server.host), *server.aliases)))
            lines.add(f"server_name {names};")
            self._listen(server.host)
            self._block()
            if server.secret:
                file = f"{_CERTIFICATES}/{server.secret.replace('/', '-')}.pem"
                lines.add(f"ssl_certificate {file};", f"ssl_certificate_key {file};")
            if server.host == ANY_HOST and self._settings.flag("ssl-reject-handshake"):
                lines.add("ssl_reject_handshake on;")
            self._check_clients(server)
            lines.settings([("ssl_ciphers", server.ciphers), ("ssl_prefer_server_ciphers", server.prefers_ciphers)])
            lines.add('set $proxy_upstream_name "-";')
            lines.text(server.snippet)
            writer = LocationWriter(lines, server, self._targets, self._settings, self._used)
            writer.write()
            self.notes += writer.notes
            if server.host == ANY_HOST:
                self._write_checks()
            lines.text(self._settings.text("server-snippet"))

    def _write_checks(self) -> None:
        """Write what the controller adds for the health checks of balancers, and for monitors.

        No location of an Ingress has such a name: those are `= /healthz` and `/healthz/`.
        """
        with self._lines.block("location /healthz"):
            self._lines.add("access_log off;", "return 200;")
        with self._lines.block("location /nginx_status"):
            # Addresses of its own get the page of a module that not every nginx has.
            self._lines.add("access_log off;", "return 403;")

    def _check_clients(self, server: IngressServer) -> None:
        """Check the certificates of clients (`auth-tls-secret`)."""
        client: AnnotationValues | None = server.client
        if client is None:
            return
        match = client.text("auth-tls-match-cn")
        if match:
            with self._lines.block(f"if ($ssl_client_s_dn !~ {quoted(match)})"):
                self._lines.add('return 403 "client certificate unauthorized";')
        secret = client.text("auth-tls-secret").replace("/", "-")
        self._lines.settings(
            [
                ("ssl_client_certificate", f"{_CERTIFICATES}/ca-{secret}.pem"),
                ("ssl_verify_client", client.text("auth-tls-verify-client", "on")),
                ("ssl_verify_depth", client.number("auth-tls-verify-depth", 1)),
            ]
        )
        page = client.text("auth-tls-error-page")
        if page:
            self._lines.add(f"error_page 495 496 = {page};")

    def _write_fallback(self) -> None:
        """Write the server that stands for the default backend of the controller."""
        self._lines.gap()
        with self._lines.block("server"):
            self._lines.add(f"listen 127.0.0.1:{_FALLBACK_PORT} default_server;", "access_log off;", "return 404;")


_AS_NAMED = (
    *("client-header-buffer-size", "large-client-header-buffers", "client-body-buffer-size"),
    *("map-hash-bucket-size", "variables-hash-bucket-size", "variables-hash-max-size", "default-type"),
)
_SECONDS = ("client-header-timeout", "client-body-timeout")
_GZIP = (("gzip-level", "gzip_comp_level"), ("gzip-min-length", "gzip_min_length"), ("gzip-types", "gzip_types"))
_BLOCKED = (
    ("block-user-agents", "$http_user_agent", "$block_ua"),
    ("block-referers", "$http_referer", "$block_ref"),
)
"""The settings that refuse clients by a header: the key, the header, and the variable."""


def _on(flag: bool) -> str:
    return "on" if flag else "off"


def _server_name(host: str) -> str:
    r"""Return the name of a server; a wildcard is one label, as a pattern (`buildServerName`)."""
    if not host.startswith("*"):
        return host
    rest = host.replace("*.", "", 1).replace(".", r"\.")
    return rf"~^(?<subdomain>[\w-]+)\.{rest}$"
