"""Values that stand for those that nobody knows: what a rule says of a template must hold for each of them.

For each place there are some: those that nginx takes there, with the ones that make a difference to nginx first. The
first value of a name or path is a mark that no other text has, so that it can be shown as the tag again.
"""

from __future__ import annotations

import re
from functools import cache

from nginxopt.config.declarations import declarations
from nginxopt.config.templates.placing import Place

MARK = "nginxopt-tag"

SCHEMES = 12
"""The number of ways to give values to all tags: in the first ones all tags have the same, in the others not."""

_ALIKE = 9

_TYPES = {
    "size": ("4k", "0", "1", "8k", "64k", "1m", "16m", "1g"),
    "time": ("60s", "0", "1s", "75s", "10m", "1h", "2h", "365d"),
    "number": ("4", "0", "1", "2", "64", "512", "1024", "100000"),
    "number size": ("4", "0", "1", "8", "16", "64", "256", "1024"),
}
_HOSTS = ("", "beta.example.com", "10.0.0.1", "127.0.0.1", "localhost", "gamma", "delta.internal", "a.b")
_PORTS = ("8080", "80", "443", "9000", "3000", "8443", "5000", "1")
_AMOUNTS = ("10", "0", "1", "2", "32", "100", "1000", "60")
_NAMES = ("", "beta", "/srv/beta", "1", "0", "on", "off", "x.y", "$http_x_beta")
_PARTS = ("", "beta", "1", "a.b", "0", "gamma-2", "delta", "b/c")
_OPTIONS = (" ", "ssl", "default_server", "on", "off", "always", "permanent", "x=1")
_LISTENS = ("8080", "80", "443", "127.0.0.1:8080", "[::]:80", "*:443", "localhost:9000", "unix:/run/beta.sock")

_WHOLE = {
    "listen": _LISTENS,
    "server_name": ("", "_", "beta.example.com", "*.example.com", "localhost", ".example.org", "www.beta.example", '""'),
    "server": ("", "127.0.0.1:8080", "beta.example.com", "10.0.0.1:80", "unix:/run/beta.sock", "backend", "localhost"),
    "proxy_pass": ("http://127.0.0.1:8080", "http://beta.example.com", "https://beta.example.com/x", "http://backend", "$beta"),
    "return": ("404", "200", "204", "301", "444", "403", "500"),
    "proxy_http_version": ("1.1", "1.0", "2"),
    "worker_processes": ("auto", "1", "2", "4", "64"),
    "access_log": ("/var/log/nginx/beta.log", "off", "/dev/stdout", "/var/log/nginx/$host.log", "syslog:server=10.0.0.1"),
    "error_log": ("/var/log/nginx/beta.log", "stderr", "/dev/null", "off"),
    "allow": ("10.0.0.0/8", "all", "127.0.0.1", "203.0.113.7", "2001:db8::/32", "0.0.0.0/0"),
    "deny": ("10.0.0.0/8", "all", "127.0.0.1", "203.0.113.7", "2001:db8::/32", "0.0.0.0/0"),
    "location": ("/beta", "/", "/beta/", "= /", "@beta", "/static/"),
    "resolver": ("10.0.0.2", "127.0.0.11", "[::1]", "dns.example.com"),
    "root": ("/srv/beta", "/", "html", "/usr/share/nginx/html", "$beta"),
    "alias": ("/srv/beta", "/srv/beta/", "/", "$beta"),
}  # fmt: skip


def value(place: Place, scheme: int, number: int) -> str:
    """Return the value of the tag `number` in a place, for one of the `SCHEMES`."""
    choices = candidates(place)
    chosen = choices[(scheme if scheme < _ALIKE else scheme + number * (scheme - _ALIKE + 1)) % len(choices)]
    chosen = chosen.strip('"') if place.is_quoted else chosen
    return chosen or ("" if place.is_quoted and scheme else f"{MARK}-{number}-")


def candidates(place: Place) -> tuple[str, ...]:
    """Return the values for a place; an empty one stands for the mark."""
    if place.before or place.after or (place.directive == "listen" and "port" in place.tag.lower()):
        return _parts(place)
    if place.index == 0 or place.directive in ("server_name", "allow", "deny"):
        return _first(place.directive)
    if place.count > 1 and place.index > 0:
        return _further(place)
    return _NAMES


def _parts(place: Place) -> tuple[str, ...]:
    if place.before.endswith(":") or (place.directive == "listen" and "port" in place.tag.lower()):
        return _PORTS
    if place.before.endswith("//") or place.after.startswith(":"):
        return _HOSTS
    if place.before.endswith("=") or re.match(r"[kKmMgGsmhdwyr/]+(?:$|;)", place.after):
        return _AMOUNTS
    return _PARTS


@cache
def _first(directive: str) -> tuple[str, ...]:
    if directive in _WHOLE:
        return _WHOLE[directive]
    declared = declarations(directive)
    for declaration in declared:
        if declaration.values in _TYPES:
            return _TYPES[declaration.values]
        if "|" in declaration.values:
            return tuple(declaration.values.split("|"))
    return _NAMES


def _further(place: Place) -> tuple[str, ...]:
    if place.directive in ("listen", "server", "rewrite"):
        return _OPTIONS
    types = {declaration.values for declaration in declarations(place.directive)}
    known = next((_TYPES[name] for name in _TYPES if name in types), None)
    if known is not None:
        return known
    listed = next((name.split("|") for name in types if "|" in name), None)
    return tuple(listed) if listed else ("", "close", "$http_x_beta", '""', "off", "always", "1", "no-cache", "all")
