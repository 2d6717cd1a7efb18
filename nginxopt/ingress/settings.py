"""The settings of the controller: its ConfigMap, what holds without one (config.go), and the directives of backends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from nginxopt.config.includes import source
from nginxopt.errors import InputError
from nginxopt.ingress.annotations import AnnotationValues
from nginxopt.ingress.documents import documents, mapping
from nginxopt.records import record

_DEFAULTS: Mapping[str, str] = {
    "allow-snippet-annotations": "false",
    "annotations-risk-level": "",
    "block-cidrs": "",
    "block-referers": "",
    "block-user-agents": "",
    "client-body-buffer-size": "8k",
    "client-body-timeout": "60",
    "client-header-buffer-size": "1k",
    "client-header-timeout": "60",
    "compute-full-forwarded-for": "false",
    "custom-http-errors": "",
    "default-type": "text/html",
    "denylist-source-range": "",
    "disable-access-log": "false",
    "enable-real-ip": "false",
    "enable-underscores-in-headers": "false",
    "force-ssl-redirect": "false",
    "forwarded-for-header": "X-Forwarded-For",
    "generate-request-id": "true",
    "gzip-level": "1",
    "gzip-min-length": "256",
    "gzip-types": "application/atom+xml application/javascript application/x-javascript application/json"
    " application/rss+xml application/vnd.ms-fontobject application/x-font-ttf application/x-web-app-manifest+json"
    " application/xhtml+xml application/xml font/opentype image/svg+xml image/x-icon text/css text/javascript"
    " text/plain text/x-component",
    "hide-headers": "",
    "hsts": "true",
    "hsts-include-subdomains": "true",
    "hsts-max-age": "31536000",
    "hsts-preload": "false",
    "http-redirect-code": "308",
    "http-snippet": "",
    "ignore-invalid-headers": "true",
    "keep-alive": "75",
    "keep-alive-requests": "1000",
    "large-client-header-buffers": "4 8k",
    "limit-conn-status-code": "503",
    "limit-conn-zone-variable": "$binary_remote_addr",
    "limit-rate": "0",
    "limit-rate-after": "0",
    "limit-req-status-code": "503",
    "location-snippet": "",
    "main-snippet": "",
    "map-hash-bucket-size": "64",
    "max-worker-connections": "16384",
    "no-auth-locations": "/.well-known/acme-challenge",
    "no-tls-redirect-locations": "/.well-known/acme-challenge",
    "preserve-trailing-slash": "false",
    "proxy-add-original-uri-header": "false",
    "proxy-body-size": "1m",
    "proxy-buffer-size": "4k",
    "proxy-buffering": "off",
    "proxy-buffers-number": "4",
    "proxy-busy-buffers-size": "",
    "proxy-connect-timeout": "5",
    "proxy-cookie-domain": "off",
    "proxy-cookie-path": "off",
    "proxy-http-version": "1.1",
    "proxy-max-temp-file-size": "1024m",
    "proxy-next-upstream": "error timeout",
    "proxy-next-upstream-timeout": "0",
    "proxy-next-upstream-tries": "3",
    "proxy-read-timeout": "60",
    "proxy-real-ip-cidr": "0.0.0.0/0",
    "proxy-redirect-from": "off",
    "proxy-redirect-to": "off",
    "proxy-request-buffering": "on",
    "proxy-send-timeout": "60",
    "relative-redirects": "false",
    "retry-non-idempotent": "false",
    "server-name-hash-bucket-size": "",
    "server-name-hash-max-size": "1024",
    "server-snippet": "",
    "server-tokens": "false",
    "ssl-ciphers": "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384"
    ":ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
    ":DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384",
    "ssl-early-data": "false",
    "ssl-protocols": "TLSv1.2 TLSv1.3",
    "ssl-redirect": "true",
    "ssl-reject-handshake": "false",
    "upstream-keepalive-connections": "320",
    "upstream-keepalive-requests": "10000",
    "upstream-keepalive-time": "1h",
    "upstream-keepalive-timeout": "60",
    "use-forwarded-headers": "false",
    "use-gzip": "false",
    "use-http2": "true",
    "use-proxy-protocol": "false",
    "variables-hash-bucket-size": "256",
    "variables-hash-max-size": "2048",
    "whitelist-source-range": "",
    "worker-processes": "auto",
}
"""The keys that the configuration follows, and what they are without a ConfigMap."""

_FREE = ("http-snippet", "main-snippet", "location-snippet", "server-snippet")
_NUMBER = re.compile(r"[0-9]{1,18}")
_NO_WORDS = re.compile(r"[;{}\n\r]")


@record()
class ControllerSettings:
    """The settings of a controller.

    Attributes:
        values: The values of its ConfigMap.
        is_stated: Whether there is a ConfigMap.
        notes: The keys that have no part in the configuration.
    """

    values: Mapping[str, str]
    is_stated: bool = False
    notes: tuple[str, ...] = ()

    def text(self, key: str) -> str:
        """Return a value."""
        return self.values.get(key, _DEFAULTS[key])

    def number(self, key: str) -> int:
        """Return a value that is a number; the default for another one, as the controller does."""
        text = self.text(key).strip()
        return int(text if _NUMBER.fullmatch(text) else _DEFAULTS[key])

    def flag(self, key: str) -> bool:
        """Return a value that is true or false."""
        return self.text(key).strip().lower() in ("true", "1", "t")

    def list(self, key: str) -> Sequence[str]:
        """Return a value that is a list with commas."""
        return [part.strip() for part in self.text(key).split(",") if part.strip()]


def settings_of(path: str | None) -> ControllerSettings:
    """Return the settings of a manifest with a ConfigMap; those without one for None. Raises `InputError`."""
    if path is None:
        return ControllerSettings({})
    text = source(path)
    found = [document for _, document in documents(text) if mapping(document).get("kind") == "ConfigMap"]
    if len(found) != 1:
        message = f"{len(found)} ConfigMaps in the file: name a file with that of the controller" if found else None
        raise InputError(message or "no ConfigMap in the file", path=text.path)
    values = {key: _value(text.path, key, value) for key, value in mapping(found[0].get("data")).items()}
    unknown = sorted(set(values) - set(_DEFAULTS))
    return ControllerSettings(
        values, is_stated=True, notes=tuple(f"{key} of the ConfigMap: left out" for key in unknown)
    )


def _value(path: str, key: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{key} is not a text: write it in quotes", path=path)
    if key not in _FREE and key in _DEFAULTS and _NO_WORDS.search(value):
        raise InputError(f"{key} has characters that no value has", path=path)
    return value


# The directives of backends.

_SAME = (
    *("proxy-buffering", "proxy-buffer-size", "proxy-busy-buffers-size", "proxy-max-temp-file-size"),
    *("proxy-request-buffering", "proxy-http-version", "proxy-cookie-domain", "proxy-cookie-path"),
    *("proxy-next-upstream-timeout", "proxy-next-upstream-tries"),
)
"""The settings of backends whose directives have the same names."""

TIMEOUTS = ("connect", "send", "read")
"""The timeouts of a backend: `proxy_connect_timeout` and so on."""


def common_headers(settings: ControllerSettings) -> dict[str, str]:
    """Return the headers that every backend gets."""
    forwarded = settings.flag("use-forwarded-headers") and settings.flag("compute-full-forwarded-for")
    original = settings.text("forwarded-for-header").lower().replace("-", "_")
    return {
        "Host": "$best_http_host",
        "Upgrade": "$http_upgrade",
        "Connection": "$connection_upgrade",
        "X-Request-ID": "$req_id",
        "X-Real-IP": "$remote_addr",
        "X-Forwarded-For": "$full_x_forwarded_for" if forwarded else "$remote_addr",
        "X-Forwarded-Host": "$best_http_host",
        "X-Forwarded-Port": "$pass_port",
        "X-Forwarded-Proto": "$pass_access_scheme",
        "X-Forwarded-Scheme": "$pass_access_scheme",
        **({"X-Original-URI": "$request_uri"} if settings.flag("proxy-add-original-uri-header") else {}),
        "X-Scheme": "$pass_access_scheme",
        "X-Original-Forwarded-For": f"$http_{original}",
        "X-Original-Forwarded-Host": "$http_x_forwarded_host",
        "Proxy": '""',
    }


def common_settings(settings: ControllerSettings) -> Iterator[tuple[str, str]]:
    """Yield the settings of backends that stand in http, as no snippet there has them."""
    snippet = settings.text("http-snippet")
    return (pair for pair in proxy_settings(settings, None) if pair[0] not in snippet)


def proxy_settings(settings: ControllerSettings, values: AnnotationValues | None) -> Iterator[tuple[str, str]]:
    """Yield the settings of a backend: those of the ConfigMap, unless annotations have others."""

    def either(name: str) -> str:
        default = settings.text(name)
        return default if values is None else values.text(name, default)

    size = either("proxy-buffer-size")
    next_upstream = [word for word in either("proxy-next-upstream").split() if word != "non_idempotent"]
    if settings.flag("retry-non-idempotent") or "non_idempotent" in either("proxy-next-upstream"):
        next_upstream.append("non_idempotent")
    yield "client_max_body_size", either("proxy-body-size")
    for kind in TIMEOUTS:
        yield f"proxy_{kind}_timeout", f"{either(f'proxy-{kind}-timeout')}s"
    yield "proxy_buffers", f"{either('proxy-buffers-number')} {size}"
    yield "proxy_next_upstream", " ".join(next_upstream)
    for name in _SAME:
        yield name.replace("-", "_"), either(name)
    start, end = either("proxy-redirect-from"), either("proxy-redirect-to")
    if start in ("default", "off"):
        yield "proxy_redirect", "off"  # by default, what begins with the balancer's name is rewritten: nothing does
    elif end != "off":
        yield "proxy_redirect", f"{start} {end}"
