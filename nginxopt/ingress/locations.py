"""Writes the locations of a server (`nginx.tmpl`, template.go), with what the controller's Lua does there."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from urllib.parse import parse_qs, urlsplit

from nginxopt.ingress.annotations import AnnotationValues
from nginxopt.ingress.model import DEFAULT_BACKEND, IngressServer, Location
from nginxopt.ingress.settings import TIMEOUTS, ControllerSettings, common_headers, common_settings, proxy_settings
from nginxopt.ingress.writing import EmittedLines, quoted
from nginxopt.text.display import printable

BY_ADDRESS = "$limit_key_"
"""The beginning of the names of variables that are empty for clients without a limit."""

_CORS_METHODS = "GET, PUT, POST, DELETE, PATCH, OPTIONS"
_CORS_HEADERS = (
    "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization"
)
_CORS_AGE = 1_728_000
_ENDS_SCRIPT = re.compile(r"(?:^|[;{}\s])break\s*;")
_RETURN = re.compile(r"(?:^|[;{}\s])return\s")
_REWRITE = re.compile(r"(?:^|[{}\s])rewrite\s")
_ENDING_FLAGS = ("redirect", "permanent", "last")
_BURST = 5
_FIRST_CODE, _LAST_CODE = 300, 308


class LocationWriter:
    """Writes the locations of one server.

    Attributes:
        notes: What the text does not do as the controller does.
    """

    def __init__(
        self,
        lines: EmittedLines,
        server: IngressServer,
        targets: Mapping[str, str],
        settings: ControllerSettings,
        used: frozenset[str],
    ) -> None:
        self.notes: list[str] = []
        self._signing: dict[str, None] = {}
        self._lines = lines
        self._server = server
        self._targets = targets
        self._settings = settings
        self._used = used
        self._are_patterns = any(location.is_pattern for location in server.locations)
        self._between = server.snippet + settings.text("server-snippet") + settings.text("http-snippet")

    def write(self) -> None:
        """Write all locations."""
        self._write_mirrors()
        self._write_errors()
        roots = {location.values.text("app-root") for location in self._server.locations} - {""}
        for root in sorted(roots):
            with self._lines.block("if ($uri = /)"):
                self._lines.add(f"return 302 $scheme://$http_host{root};")
        for location in self._server.locations:
            self._lines.gap()
            self._write_auth(location)
            self._write(location)
        self.notes += self._signing

    def _write(self, location: Location) -> None:
        lines = self._lines
        if location.ingress is not None:
            lines.add(f"# Ingress {location.ingress.key}, {printable(location.ingress.place)}")
        with lines.block(f"location {self._path(location)}"):
            self._set_variables(location)
            if location.values.is_denied:
                self._redirect_to_https(location)
                lines.add("return 503;")
                return
            self._restrict(location)
            self._allow_origins(location)
            self._authenticate(location)
            self._limit(location)
            self._pass_headers(location)
            self._set_proxy(location)
            self._answer(location)

    def _path(self, location: Location) -> str:
        path = location.path.replace("\\", "\\\\").replace('"', '\\"')
        if self._are_patterns:
            return f'~* "^{path}"'
        return f'= "{path}"' if location.kind == "Exact" else f'"{path}"'

    def _set_variables(self, location: Location) -> None:
        """Set the variables of the controller that snippets or the log use."""
        ingress, backend = location.ingress, location.backend
        known = {
            "namespace": ingress.namespace if ingress else "",
            "ingress_name": ingress.name if ingress else "",
            "service_name": backend.service if backend else "",
            "service_port": backend.port if backend else "",
            "location_path": (location.ingress_path or location.path).replace("$", "${literal_dollar}"),
            "proxy_upstream_name": location.upstream,
            "proxy_host": location.upstream,
        }
        self._lines.add(*(f"set ${name} {quoted(text)};" for name, text in known.items() if name in self._used))

    def _restrict(self, location: Location) -> None:
        """Deny and allow addresses."""
        for name, word in (("denylist-source-range", "deny"), ("allowlist-source-range", "allow")):
            default = self._settings.list(name.replace("allowlist", "whitelist"))
            addresses = [part.strip() for part in location.values.text(name).split(",") if part.strip()] or default
            self._lines.add(*(f"{word} {address};" for address in sorted(addresses)))
            if addresses and word == "allow":
                self._lines.add("deny all;")

    def _is_restricted(self, location: Location) -> bool:
        """Return whether anything is decided between the script and the answer."""
        values, settings = location.values, self._settings
        names = (
            *("denylist-source-range", "allowlist-source-range", "auth-url", "auth-type"),
            *("limit-connections", "limit-rps", "limit-rpm"),
        )
        ranges = settings.text("whitelist-source-range") + settings.text("denylist-source-range")
        return any(values.text(name) for name in names) or bool(ranges or settings.text("block-cidrs"))

    def _allow_origins(self, location: Location) -> None:
        """Answer preflight requests, and add the headers of CORS."""
        values = location.values
        if not values.flag("enable-cors"):
            return
        origins = [part.strip() for part in values.text("cors-allow-origin", "*").split(",") if part.strip()]
        self._lines.add("set $cors '';")
        if "*" in origins:
            self._lines.add("set $http_origin *;", "set $cors 'true';")
        elif origins:
            with self._lines.block(f"if ($http_origin ~* ({'|'.join(map(_origin, origins))})$)"):
                self._lines.add("set $cors 'true';")
        with self._lines.block("if ($request_method = 'OPTIONS')"):
            self._lines.add("set $cors ${cors}options;")
        with self._lines.block("if ($cors ~ true)"):
            self._lines.add("set $cors_origin $http_origin;")
            self._lines.add(*(f"set {name} {quoted(text)};" for name, _, text in _cors(values)))
        with self._lines.block('if ($cors = "trueoptions")'):
            self._lines.add("return 204;")
        # Headers in a block would displace those of the location.
        added = [("$cors_origin", "Allow-Origin"), *((name, header) for name, header, _ in _cors(values))]
        self._lines.add(*(f"add_header Access-Control-{header} {name} always;" for name, header in added))

    def _hsts(self) -> Iterator[str]:
        if self._settings.flag("hsts"):
            yield HSTS

    def _has_auth(self, location: Location) -> bool:
        exempt = self._settings.list("no-auth-locations")
        return not any(location.path.startswith(path) for path in exempt)

    def _authenticate(self, location: Location) -> None:
        values, lines = location.values, self._lines
        if not self._has_auth(location):
            return
        if values.text("auth-url"):
            always = " always" if values.flag("auth-always-set-cookie") else ""
            lines.add(
                f"auth_request {_auth_path(location)};",
                "auth_request_set $auth_cookie $upstream_http_set_cookie;",
                f"add_header Set-Cookie $auth_cookie{always};",
            )
            headers = [part.strip() for part in values.text("auth-response-headers").split(",") if part.strip()]
            for number, header in enumerate(headers):
                variable = header.lower().replace("-", "_")
                lines.add(f"auth_request_set $authHeader{number} $upstream_http_{variable};")
                lines.add(f"{_set_header(location)} '{header}' $authHeader{number};")
            if values.text("auth-signin"):
                lines.add("set $escaped_request_uri $request_uri;", f"error_page 401 = {_signin(location)};")
        if values.text("auth-type") and location.ingress is not None:
            secret = values.text("auth-secret").replace("/", "-")
            name = secret if "/" in values.text("auth-secret") else f"{location.ingress.namespace}-{secret}"
            directive = "auth_digest" if "digest" in values.text("auth-type") else "auth_basic"
            lines.add(
                f"{directive} {quoted(values.text('auth-realm'))};",
                f"{directive}_user_file /etc/ingress-controller/auth/{name}.passwd;",
                f'{_set_header(location)} Authorization "";',
            )

    def _write_auth(self, location: Location) -> None:
        """Write the location that asks the auth server, and the one that leads to the login."""
        values, lines = location.values, self._lines
        if not values.text("auth-url") or location.values.is_denied or not self._has_auth(location):
            return
        url = values.text("auth-url")
        with lines.block(f"location = {_auth_path(location)}"):
            method = values.text("auth-method")
            lines.add(
                *("internal;", "access_log off;", "proxy_intercept_errors off;", "proxy_pass_request_body off;"),
                'proxy_set_header Content-Length "";',
                'proxy_set_header X-Forwarded-Proto "";',
                "proxy_set_header X-Request-ID $req_id;",
            )
            if method:
                lines.add(f"proxy_method {method};", "proxy_set_header X-Original-URI $request_uri;")
                lines.add("proxy_set_header X-Scheme $pass_access_scheme;")
            redirect = values.text("auth-request-redirect", "$request_uri")
            lines.add(
                f"proxy_set_header Host {_host(url)};",
                "proxy_set_header X-Original-URL $scheme://$http_host$request_uri;",
                "proxy_set_header X-Original-Method $request_method;",
                'proxy_set_header X-Sent-From "nginx-ingress-controller";',
                "proxy_set_header X-Real-IP $remote_addr;",
                f"proxy_set_header X-Forwarded-For {common_headers(self._settings)['X-Forwarded-For']};",
                f"proxy_set_header X-Auth-Request-Redirect {redirect};",
                *("proxy_ssl_server_name on;", "proxy_http_version 1.1;"),
                *(f"proxy_set_header {name} {value};" for name, value in self._client_headers()),
            )
            # The subrequest has the length of the request, for which the limit counts once more.
            lines.settings(self._own_settings(values, "client_max_body_size"))
            lines.text(values.text("auth-snippet"))
            lines.add(f"set $target {quoted(url)};", "proxy_pass $target;")
        if values.text("auth-signin"):
            with lines.block(f"location {_signin(location)}"):
                lines.add("internal;", "add_header Set-Cookie $auth_cookie;")
                self._allow_origins(location)
                lines.add(f"return 302 {self._login(location)};")
            key = location.ingress.key if location.ingress else self._server.host
            note = f"{key}: auth-signin: the address to return to is not escaped, which takes a module (set_escape_uri)"
            self._signing.setdefault(note)

    def _login(self, location: Location) -> str:
        """Return the URL of the login, with the address to return to (`buildAuthSignURL`)."""
        url = location.values.text("auth-signin")
        parameter = location.values.text("auth-signin-redirect-param", "rd")
        query = _query(url)
        if any(query.get(parameter, ())):
            return url
        return f"{url}{'&' if query else '?'}{parameter}=$pass_access_scheme://$http_host$escaped_request_uri"

    def _limit(self, location: Location) -> None:
        """Limit requests, connections and the rate of answers (`buildRateLimit`)."""
        for zone in zones(location):
            if zone.kind == "conn":
                self._lines.add(f"limit_conn {zone.name} {zone.limit};")
            else:
                burst = zone.limit * location.values.number("limit-burst-multiplier", _BURST)
                self._lines.add(f"limit_req zone={zone.name} burst={burst} nodelay;")
        for name, directive in (("limit-rate-after", "limit_rate_after"), ("limit-rate", "limit_rate")):
            rate = location.values.number(name, self._settings.number(name))
            if rate > 0:
                self._lines.add(f"{directive} {rate}k;")

    def _pass_headers(self, location: Location) -> None:
        """Write the headers of a location, unless those of http are the same, and nothing around hides them."""
        values = location.values
        host = values.text("upstream-vhost")
        headers = common_headers(self._settings) | {"Host": quoted(host) if host else "$best_http_host"}
        headers["Connection"] = values.text("connection-proxy-header", headers["Connection"])
        headers.update(self._client_headers())
        directive = _set_header(location)
        if headers != common_headers(self._settings) or self._has_own(location, directive):
            self._lines.add(*(f"{directive} {header} {value};" for header, value in headers.items()))

    def _client_headers(self) -> Iterator[tuple[str, str]]:
        """Yield headers of the certificate of a client, where the server asks for one."""
        client = self._server.client
        if client is None:
            return
        if client.flag("auth-tls-pass-certificate-to-upstream"):
            yield "ssl-client-cert", "$ssl_client_escaped_cert"
        yield "ssl-client-verify", "$ssl_client_verify"
        yield "ssl-client-subject-dn", "$ssl_client_s_dn"
        yield "ssl-client-issuer-dn", "$ssl_client_i_dn"

    def _has_own(self, location: Location, directive: str) -> bool:
        """Return whether a location cannot inherit a directive from http: it has others, or something between has."""
        values = location.values
        if directive == "grpc_set_header" or directive in self._between:
            return True
        if directive == "add_header":
            mine = values.flag("enable-cors") or values.text("auth-url")
        else:
            signed = values.text("auth-type") or values.text("auth-response-headers")
            mine = signed or values.text("x-forwarded-prefix")
        snippets = values.text("configuration-snippet") + self._settings.text("location-snippet")
        return bool(mine) or directive in snippets

    def _set_proxy(self, location: Location) -> None:
        """Set sizes and times of the connection to the backend, where they are not those of http."""
        values, lines = location.values, self._lines
        own = dict(proxy_settings(self._settings, values))
        lines.settings(self._own_settings(values, *own))
        lines.settings(
            [
                ("client_body_buffer_size", values.text("client-body-buffer-size")),
                ("satisfy", values.text("satisfy")),
                ("access_log", "" if values.flag("enable-access-log", default=True) else "off"),
                ("rewrite_log", "on" if values.flag("enable-rewrite-log") else ""),
                ("port_in_redirect", "on" if values.flag("use-port-in-redirects") else ""),
                ("absolute_redirect", "off" if values.flag("relative-redirects") else ""),
            ]
        )
        if values.text("backend-protocol").upper() in ("GRPC", "GRPCS"):
            lines.settings((f"grpc_{kind}_timeout", own[f"proxy_{kind}_timeout"]) for kind in TIMEOUTS)
        if mirror := mirror_path(location):
            lines.add(f"mirror {mirror};", f"mirror_request_body {values.text('mirror-request-body', 'on')};")
        self._set_backend_tls(location)
        codes = _codes(values.text("custom-http-errors"))
        if codes and not values.flag("disable-proxy-intercept-errors"):
            lines.add("proxy_intercept_errors on;")
        lines.add(*(f"error_page {code} = @custom_{_error_backend(location)}_{code};" for code in codes))

    def _own_settings(self, values: AnnotationValues, *names: str) -> Iterator[tuple[str, str]]:
        """Yield those settings of a backend that a location does not have from http."""
        common = dict(common_settings(self._settings))
        for name, value in proxy_settings(self._settings, values):
            if name in names and (common.get(name) != value or name in self._between):
                yield name, value

    def _set_backend_tls(self, location: Location) -> None:
        values, ingress = location.values, location.ingress
        secret = values.text("proxy-ssl-secret")
        if secret and ingress is not None:
            file = f"/etc/ingress-controller/ssl/{_full(secret, ingress.namespace)}.pem"
            self._lines.settings(
                [
                    ("proxy_ssl_certificate", file),
                    ("proxy_ssl_certificate_key", file),
                    ("proxy_ssl_trusted_certificate", file),
                    ("proxy_ssl_ciphers", values.text("proxy-ssl-ciphers", "DEFAULT")),
                    ("proxy_ssl_protocols", values.text("proxy-ssl-protocols", "TLSv1.2")),
                    ("proxy_ssl_verify", values.text("proxy-ssl-verify", "off")),
                    ("proxy_ssl_verify_depth", values.number("proxy-ssl-verify-depth", 1)),
                ]
            )
        self._lines.settings(
            (name.replace("-", "_"), values.text(name)) for name in ("proxy-ssl-name", "proxy-ssl-server-name")
        )

    def _answer(self, location: Location) -> None:
        """Write what decides the answer: snippets, redirects, what Lua does after them, and the backend."""
        values, lines = location.values, self._lines
        snippets = [values.text("configuration-snippet"), self._settings.text("location-snippet")]
        own = "\n".join(snippets)
        ends, answers = _ends(own)
        is_first = ends and not answers
        if ends and answers and self._redirects_to_https(location):
            self.notes.append(
                f"{self._server.host}{location.path}: the snippet ends the script and answers: a redirect to https,"
                " which the controller makes after a break, is not made here"
            )
        if self._has_own(location, "add_header"):
            lines.add(*self._hsts())
        if is_first:
            self._redirect_to_https(location)
        for snippet in snippets:
            lines.text(snippet)
        url, code = _redirect(location)
        if url:
            lines.add(f"return {code} {url};")
            return
        if not is_first:
            self._redirect_to_https(location)
        self._pass(location)

    def _redirects_to_https(self, location: Location) -> bool:
        """Return whether requests of http are redirected (`redirect_to_https` of lua_ingress.lua)."""
        exempt = self._settings.list("no-tls-redirect-locations")
        if any(location.path.startswith(path) for path in exempt):
            return False
        values, settings = location.values, self._settings
        if values.flag("force-ssl-redirect", settings.flag("force-ssl-redirect")):
            return True
        return self._server.has_certificate and values.flag("ssl-redirect", settings.flag("ssl-redirect"))

    def _redirect_to_https(self, location: Location) -> None:
        if not self._redirects_to_https(location):
            return
        values, settings = location.values, self._settings
        keeps_slash = values.flag("preserve-trailing-slash", settings.flag("preserve-trailing-slash"))
        port = ":443" if values.flag("use-port-in-redirects") else ""
        uri = "$request_uri" if keeps_slash else "$ingress_redirect_uri"
        with self._lines.block("if ($pass_access_scheme = http)"):
            self._lines.add(
                f"return {settings.number('http-redirect-code')} https://$ingress_redirect_host{port}{uri};"
            )

    def _pass(self, location: Location) -> None:
        """Pass the request on to the backend; the default backend of the controller answers 404."""
        values, lines = location.values, self._lines
        is_default = location.backend is None
        if is_default and not self._is_restricted(location):
            lines.add("return 404;")
            return
        target = values.text("rewrite-target")
        if target and target != location.path:
            path = location.path.replace("\\", "\\\\").replace('"', '\\"')
            lines.add(f'rewrite "(?i){path}" {target} break;')
            prefix = values.text("x-forwarded-prefix")
            if prefix:
                lines.add(f"{_set_header(location)} X-Forwarded-Prefix {quoted(prefix)};")
        protocol = "" if is_default else values.text("backend-protocol", "HTTP").upper()
        directive, scheme = _PROTOCOLS.get(protocol, _PROTOCOLS["HTTP"])
        if directive == "fastcgi_pass":
            lines.add("include /etc/nginx/fastcgi_params;")
            if values.text("fastcgi-index"):
                lines.add(f"fastcgi_index {quoted(values.text('fastcgi-index'))};")
        lines.add(f"{directive} {scheme}{self._targets.get(location.upstream, location.upstream)};")

    def _write_mirrors(self) -> None:
        done: set[str] = set()
        for location in self._server.locations:
            path, target = mirror_path(location), location.values.text("mirror-target")
            if not path or path in done:
                continue
            done.add(path)
            host = location.values.text("mirror-host", _host(target))
            with self._lines.block(f"location = {path}"):
                self._lines.add("internal;", f"proxy_set_header Host {quoted(host)};", f"proxy_pass {quoted(target)};")

    def _write_errors(self) -> None:
        """Write the locations that ask a backend for the page of an error (`CUSTOM_ERRORS`)."""
        wanted = {
            (_error_backend(location), code)
            for location in self._server.locations
            for code in _codes(location.values.text("custom-http-errors"))
        }
        wanted |= {(DEFAULT_BACKEND, code) for code in _codes(self._settings.text("custom-http-errors"))}
        for backend, code in sorted(wanted):
            with self._lines.block(f"location @custom_{backend}_{code}"):
                self._lines.add(
                    *("internal;", "proxy_intercept_errors off;", f"proxy_set_header X-Code {code};"),
                    "proxy_set_header X-Format $http_accept;",
                    "proxy_set_header X-Original-URI $request_uri;",
                    *(f"proxy_set_header {header} ${name};" for name, header in ERROR_HEADERS.items()),
                    "proxy_set_header X-Request-ID $req_id;",
                    "proxy_set_header X-Forwarded-For $remote_addr;",
                    "proxy_set_header Host $best_http_host;",
                    *("rewrite (.*) / break;", f"proxy_pass http://{backend};"),
                )


def _cors(values: AnnotationValues) -> Iterator[tuple[str, str, str]]:
    """Yield headers of CORS but that of the origin, each with its variable, which is empty for other origins."""
    headers = [
        ("credentials", "Allow-Credentials", "true" if values.flag("cors-allow-credentials", default=True) else ""),
        ("methods", "Allow-Methods", values.text("cors-allow-methods", _CORS_METHODS)),
        ("headers", "Allow-Headers", values.text("cors-allow-headers", _CORS_HEADERS)),
        ("exposed", "Expose-Headers", values.text("cors-expose-headers")),
        ("age", "Max-Age", str(values.number("cors-max-age", _CORS_AGE))),
    ]
    yield from ((f"$cors_{name}", header, text) for name, header, text in headers if text)


HSTS = "add_header Strict-Transport-Security $ingress_hsts always;"
ERROR_HEADERS: Mapping[str, str] = {
    "namespace": "X-Namespace",
    "ingress_name": "X-Ingress-Name",
    "service_name": "X-Service-Name",
    "service_port": "X-Service-Port",
}
"""The variables that say whose error it is, and the headers in which a Service for pages of errors gets them."""
_PROTOCOLS = {
    "HTTP": ("proxy_pass", "http://"),
    "HTTPS": ("proxy_pass", "https://"),
    "AUTO_HTTP": ("proxy_pass", "$scheme://"),
    "GRPC": ("grpc_pass", "grpc://"),
    "GRPCS": ("grpc_pass", "grpcs://"),
    "FCGI": ("fastcgi_pass", ""),
}
"""The directive that passes requests on, and the scheme (`buildProxyPass`)."""


class LimitZone:
    """A zone of a limit (`ratelimit`): its name, its kind (`conn`, `rps`, `rpm`) and the limit."""

    def __init__(self, key: str, kind: str, limit: int) -> None:
        self.name = f"{key}_{kind}"
        self.kind = kind
        self.limit = limit


def zones(location: Location) -> Iterator[LimitZone]:
    """Yield the zones of the limits of a location."""
    if location.ingress is None:
        return
    key = f"{location.ingress.namespace}_{location.ingress.name}"
    for name, kind in (("limit-connections", "conn"), ("limit-rps", "rps"), ("limit-rpm", "rpm")):
        limit = location.values.number(name)
        if limit > 0:
            yield LimitZone(key, kind, limit)


def mirror_path(location: Location) -> str:
    """Return the path of the location that mirrors requests; nothing without one."""
    if not location.values.text("mirror-target") or location.ingress is None:
        return ""
    return f"/_mirror-{location.ingress.namespace}-{location.ingress.name}"


def error_services(location: Location) -> str:
    """Return the Service that `default-backend` names, if it makes pages of errors."""
    return location.values.text("default-backend") if location.values.text("custom-http-errors") else ""


def _error_backend(location: Location) -> str:
    service = error_services(location)
    if not service or location.ingress is None:
        return DEFAULT_BACKEND
    return f"custom-default-backend-{_full(service, location.ingress.namespace)}"


def _full(name: str, namespace: str) -> str:
    return name.replace("/", "-") if "/" in name else f"{namespace}-{name}"


def _codes(text: str) -> list[int]:
    return [int(part) for part in text.replace(" ", "").split(",") if re.fullmatch("[0-9]{1,9}", part)]


@lru_cache  # the locations of an Ingress have the same
def _ends(snippet: str) -> tuple[bool, bool]:
    """Return whether a snippet ends the script of nginx, and whether it answers."""
    rewrites = ((_REWRITE.search(part), part) for part in snippet.split(";")[:-1])
    words = (part[found.end() - 1 :].split() for found, part in rewrites if found)
    answers = bool(_RETURN.search(snippet)) or any(each and each[-1] in _ENDING_FLAGS for each in words)
    return bool(_ENDS_SCRIPT.search(snippet)), answers


def _host(url: str) -> str:
    """Return the host of a URL; nothing for a text that has none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _query(url: str) -> Mapping[str, Sequence[str]]:
    """Return the arguments of a URL."""
    try:
        return parse_qs(urlsplit(url).query)
    except ValueError:
        return {}


def _origin(origin: str) -> str:
    r"""Return the pattern of an origin; its `*` is one label (`buildOriginRegex`)."""
    escaped = re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", origin)
    label = escaped.replace(r"\*", r"[A-Za-z0-9\-]+", 1)
    return f"({label})"


def _set_header(location: Location) -> str:
    is_grpc = location.values.text("backend-protocol") in ("GRPC", "GRPCS")
    return "grpc_set_header" if is_grpc else "proxy_set_header"


def _auth_path(location: Location) -> str:
    path = base64.urlsafe_b64encode(location.path.encode()).decode().rstrip("=")
    return f"/_external-auth-{path}-{location.kind}"


def _signin(location: Location) -> str:
    text = location.path + location.values.text("auth-signin")
    return f"@{hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()}"


def _redirect(location: Location) -> tuple[str, int]:
    """Return the URL and the status of the redirect of a location (`redirect.Parse`); no URL without one."""
    values = location.values
    for kind, default, last in (("temporal", 302, 307), ("permanent", 301, _LAST_CODE)):
        url = values.text(f"{kind}-redirect")
        if url:
            code = values.number(f"{kind}-redirect-code", default)
            return url, code if _FIRST_CODE <= code <= last else default
    return "", 0
