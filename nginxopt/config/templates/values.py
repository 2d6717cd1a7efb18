"""Sample values for the tags of a template, whose real values are unknown.

Each place has several values that nginx accepts there, those that change nginx's behaviour first. A finding counts only
if it holds for all of them. The first value of a name or path is a unique mark, so that messages can show the tag in
its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, lru_cache

from nginxopt.config.templates.placing import ValuePlace
from nginxopt.facts import group
from nginxopt.facts.table import declarations

MARK = "nginxopt-tag"

MIXED = 3
"""The number of schemes in which tags in equal places have different values."""

_MOST = 24

_TYPES = {
    "size": ("4k", "0", "1", "8k", "64k", "1m", "16m", "1g"),
    "time": ("60s", "0", "1s", "75s", "10m", "1h", "2h", "365d"),
    "number": ("4", "0", "1", "2", "64", "512", "1024", "100000"),
    "number size": ("4", "0", "1", "8", "16", "64", "256", "1024"),
}
_HOSTS = ("", "beta.example.com", "10.0.0.1", "127.0.0.1", "localhost", "gamma", "delta.internal", "$beta")
_PORTS = ("8080", "80", "443", "9000", "3000", "8443")
_AMOUNTS = ("10", "0", "1", "2", "32", "100", "1000", "60")
_NAMES = ("", "beta", "/srv/beta", "1", "0", "on", "off", "x.y", "$http_x_beta")
_PARAMETERS = ("zone", "", "rate", "keys_zone", "max_size", "backlog", "weight")
_PARTS = ("", "beta", "1", "a.b", "0", "b/c", "$beta", "(.*)", ".*")
_OPTIONS = (" ", "ssl", "default_server", "http2", "ssl http2", "quic", "reuseport", "proxy_protocol", "backlog=8192")
_SERVER_OPTIONS = (" ", "backup", "down", "weight=2", "max_fails=0", "resolve")
_FLAGS = (" ", "permanent", "redirect", "last", "break")
_LISTENS = ("8080", "80", "443", "127.0.0.1:8080", "[::]:80", "*:443", "localhost:9000", "unix:/run/beta.sock")
_PATTERNS = ("", "^/beta/(.*)$", "/beta", "^", "^/(.*)$", "\\.php$", "^/(a)(b)(?<beta>c)", "$http_x_beta", "1", "POST")
_OPERATORS = ("=", "!=", "~", "~*", "!~", "!~*")
_MODIFIERS = ("=", "~", "~*", "^~")
_REQUEST_HEADERS = ("", "Host", "Connection", "Upgrade", "X-Real-IP", "X-Forwarded-For")
_RESPONSE_HEADERS = (
    *("", "Strict-Transport-Security", "X-Frame-Options", "X-Content-Type-Options", "Cache-Control", "Expires"),
    *("Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Vary", "Content-Security-Policy"),
)
_FILES = ("/etc/ssl/beta.pem", "/etc/letsencrypt/live/beta.example.com/fullchain.pem", "$ssl_beta", "beta.pem")

_WHOLE = {
    "listen": _LISTENS,
    "server_name": ("", "_", "beta.example.com", "*.example.com", "localhost", "~^(www)\\.beta\\.example$", '""'),
    "server": ("", "127.0.0.1:8080", "beta.example.com", "10.0.0.1:80", "unix:/run/beta.sock", "backend", "localhost"),
    "proxy_pass": (
        *("http://127.0.0.1:8080", "http://beta.example.com", "https://beta.example.com/x", "$beta"),
        *("http://$beta:8080", "http://$arg_beta/"),
    ),
    "return": ("404", "200", "204", "301", "444", "403", "500"),
    "proxy_http_version": ("1.1", "1.0", "2"),
    "worker_processes": ("auto", "1", "2", "4", "64"),
    "access_log": ("/var/log/nginx/beta.log", "off", "/dev/stdout", "/var/log/$host.log", "syslog:server=10.0.0.1"),
    "error_log": ("/var/log/nginx/beta.log", "stderr", "/dev/stderr", "/dev/null", "off", "syslog:server=10.0.0.1"),
    "allow": ("10.0.0.0/8", "all", "127.0.0.1", "203.0.113.7", "2001:db8::/32", "0.0.0.0/0"),
    "deny": ("10.0.0.0/8", "all", "127.0.0.1", "203.0.113.7", "2001:db8::/32", "0.0.0.0/0"),
    "location": (
        *("/beta", "/", "/beta/", "= /", "@beta", "/events", "/status", "~ \\.php$", "^~ /beta/", "/ws/"),
        *("/metrics", "/healthz", "/grafana/"),
    ),
    "set_real_ip_from": ("10.0.0.0/8", "127.0.0.1", "0.0.0.0/0", "2001:db8::/32", "unix:"),
    "real_ip_header": ("X-Forwarded-For", "X-Real-IP", "proxy_protocol", "CF-Connecting-IP"),
    "resolver": ("10.0.0.2", "127.0.0.11", "[::1]", "dns.example.com"),
    "root": ("/srv/beta", "/", "html", "/usr/share/nginx/html", "$beta"),
    "alias": ("/srv/beta", "/srv/beta/", "/", "$beta"),
}  # fmt: skip


_FURTHER = {
    "listen": _OPTIONS,
    "server": _SERVER_OPTIONS,
    "proxy_set_header": ("", "close", "$http_x_beta", '""', "upgrade", "$connection_upgrade", "keep-alive", "$host"),
    "add_header": ("", "1", "$http_x_beta", "always", '""', "no-cache", "*", "nosniff", "true"),
    "error_page": ("/beta.html", "=200", "@beta", "404", "http://beta.example.com/"),
    "try_files": ("/beta", "=404", "$uri", "@beta", "/index.php?$args", "$uri/"),
    "access_log": ("combined", " ", "buffer=64k", "if=$beta", "gzip", "off"),
    "error_log": ("warn", "debug", "info", "error", "notice", "crit"),
    "return": ("", "https://$host$request_uri", "/beta", "https://beta.example.com/$1", "$scheme://beta$uri"),
}
_AT = {
    ("if", 1): _OPERATORS,
    ("if", 2): _PATTERNS,
    ("rewrite", 0): _PATTERNS,
    ("rewrite", 1): (
        "/beta",
        "https://beta.example.com/",
        "/beta/$1",
        "/beta?",
        "$1",
        "$scheme://beta$uri",
        "/index.php",
    ),
    ("rewrite", 2): _FLAGS,
    ("location", 1): ("/beta", *_PATTERNS[1:]),
    ("proxy_set_header", 0): _REQUEST_HEADERS,
    ("add_header", 0): _RESPONSE_HEADERS,
    ("ssl_certificate", 0): _FILES,
    ("ssl_certificate_key", 0): _FILES,
    ("set", 0): ("$beta", "$host", "$1"),
}
"""The values of places, by the name of the directive and the number of the argument."""


def value(place: ValuePlace, scheme: int, number: int, schemes: int) -> str:
    """Return the value of the tag with that number in a place, in `scheme`.

    In the last `MIXED` of all `schemes`, the value depends on the number of the tag, too.
    """
    choices = candidates(place)
    mixed = max(0, scheme - (schemes - MIXED) + 1) if scheme else 0
    chosen = choices[(scheme + number * mixed) % len(choices)]
    chosen = chosen.strip('"') if place.is_quoted else chosen
    return chosen or ("" if place.is_quoted and scheme else f"{MARK}-{number}-")


@lru_cache(4_096)  # each reading asks twice for each place
def candidates(place: ValuePlace) -> tuple[str, ...]:
    """Return the values for a place without duplicates; an empty one stands for the mark."""
    return tuple(dict.fromkeys([*_usual(place), *place.others]))[:_MOST]


def _usual(place: ValuePlace) -> tuple[str, ...]:
    is_port = place.before.endswith(":") or (place.directive == "listen" and "port" in place.tag.lower())
    if is_port and not place.after:
        return _PORTS
    if place.before or place.after:
        whole = _usual(replace(place, before="", after=""))
        fitting = (*_between(whole, place.before, place.after), *_of_hosts(place), *_of_patterns(place))
        return (*_parts(place), *dict.fromkeys(fitting))
    if place.directive == "location" and place.count > 1 and place.index == 0:
        return _MODIFIERS
    if (place.directive, place.index) in _AT:
        return _AT[place.directive, place.index]
    if place.index == 0 or place.directive in ("server_name", "allow", "deny"):
        return _first(place.directive)
    return _further(place)


def _between(words: Iterable[str], before: str, after: str) -> Iterator[str]:
    """Yield the middle of each word that begins with `before` and ends with `after`."""
    fitting = (word for word in words if word.startswith(before) and word.endswith(after))
    return (word[len(before) : len(word) - len(after)] for word in fitting if len(word) > len(before) + len(after))


def _of_hosts(place: ValuePlace) -> Iterator[str]:
    """Yield the part of each sample host that fits between the texts around a value, without scheme and port."""
    if place.directive in ("server", "listen") or place.directive.endswith("_pass"):
        yield from _between(_HOSTS, place.before.rpartition("//")[2], re.split("[:/]", place.after)[0])
        if place.after.startswith("/") and not place.before:
            yield "unix:/run"


def _of_patterns(place: ValuePlace) -> Iterator[str]:
    """Yield parts of a pattern that balance the parentheses around a value, and `~` where a pattern may begin."""
    is_start = place.directive == "server_name" or (place.directive == "location" and place.count == 1)
    if is_start and not place.before:
        yield "~^(www)\\."
    if place.directive in group("pattern"):
        opened = place.before.count("(") - place.before.count(")")
        closed = place.after.count(")") - place.after.count("(")
        if opened > 0 or closed > 0:
            yield from (f"{start}{'(?:' * closed}beta{')' * opened}" for start in ("", "^/", "\\."))
            yield f"\\.{'(?:' * closed}png" if closed > 0 else f"|js|png{')' * opened}$"


def _parts(place: ValuePlace) -> tuple[str, ...]:
    if place.before.endswith("//") or place.after.startswith(":"):
        return _HOSTS
    if place.after.startswith("=") and not place.before:
        return _PARAMETERS
    if place.before.endswith("=") or re.match(r"[kKmMgGsmhdwyr/]+(?:$|;)", place.after):
        return _AMOUNTS
    return _PARTS


@cache
def _first(directive: str) -> tuple[str, ...]:
    return _WHOLE.get(directive) or _declared(directive) or _NAMES


def _further(place: ValuePlace) -> tuple[str, ...]:
    usual = ("", "close", "$http_x_beta", '""', "off", "always", "1", "no-cache", "all")
    return _FURTHER.get(place.directive) or _declared(place.directive) or usual


@cache
def _declared(directive: str) -> tuple[str, ...]:
    """Return the values that nginx declares for a directive; none if it does not."""
    for declaration in declarations(directive):
        if declaration.values in _TYPES:
            return _TYPES[declaration.values]
        if "|" in declaration.values:
            return tuple(declaration.values.split("|"))
    return ()
