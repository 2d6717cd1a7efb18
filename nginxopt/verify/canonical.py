"""Canonical forms: what is written in several ways, and is the same to nginx, is one value here.

A form never depends on what the other side says, so two sides are equal if their forms are. How a directive reads its
words is in the tables of facts; the look of a word says nothing: `auth_basic OFF` is a realm. Where a form takes
something as given, such as that the order of header fields does not count, its caller records that.
"""

from __future__ import annotations

import heapq
import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from nginxopt import lazy
from nginxopt.facts import fact, group
from nginxopt.facts.table import Compared, declarations
from nginxopt.semantics.inherit import PIVOT
from nginxopt.semantics.site.form import GeoForm, MapForm, OpaqueVariableForm
from nginxopt.semantics.values import milliseconds, number, seconds, size
from nginxopt.verify.unread import Unread, Value, Words
from nginxopt.version import Version

_VARIABLE = lazy.pattern(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)
_RATE = lazy.pattern(r"rate=0*([1-9][0-9]*)r/([sm])", re.ASCII)
_ALIASES = {"query_string": "args", "document_uri": "uri"}

_NETWORKS = frozenset(["allow", "deny", "set_real_ip_from"])
_ALWAYS_CACHED = ("get", "head")
"""The methods that are always among those whose responses are stored (`ngx_http_proxy_merge_loc_conf`)."""

_NAMES_IN_LOWER_CASE = ("_hide_header", "_pass_header")


_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def folded(text: str) -> str:
    """Return a text in lower case as nginx has it: only letters of ASCII change (`ngx_strlow`)."""
    return text.translate(_LOWER)


def canonical_words(name: str, words: Words, version: Version, taken: Collection[str] = ()) -> Words:
    """Return the arguments of a directive in one spelling. `taken` are variables of nginx whose names groups have."""
    if name in _NETWORKS:
        return tuple(map(network, words))
    words = _evaluated(name, words, taken)
    kind = compared(name, version)
    if kind == "set":
        more = _ALWAYS_CACHED if name.endswith("_cache_methods") else ()
        return tuple(sorted({*(word.lower() for word in words), *more}))
    if name == "valid_referers":
        return tuple(sorted(words))
    if name.endswith(_NAMES_IN_LOWER_CASE) or _is_of_types(name, version):
        return tuple(sorted(set(map(folded, words))))
    if name == "expires":
        return (*words[:-1], *map(_expiry, words[-1:]))
    if name == "root" and len(words[0]) > 1:
        return (words[0].removesuffix("/"),)  # ngx_http_core_root
    if name == "limit_req_zone":
        return tuple(map(_rate, words))
    if name.endswith("_cache_valid"):
        return (*words[:-1], *(_of(seconds, word, "s") for word in words[-1:]))
    convert = _CONVERTED.get(kind)
    return words if convert is None or len(words) != 1 else (convert(words[0]),)


def _evaluated(name: str, words: Words, taken: Collection[str]) -> Words:
    """Return words with the variables in one spelling, in the arguments that nginx evaluates."""
    known = fact(name)
    match known and known.variables:
        case "all" | "format":
            first, end = 0, len(words)
        case "first":
            first, end = 0, 1
        case "later" | "passed":
            first, end = 1, len(words)
        case _:
            return words
    return tuple(
        variables(word, taken) if first <= at < end and not word.startswith("~") else word
        for at, word in enumerate(words)
    )


def variables(text: str, taken: Collection[str] = ()) -> str:
    """Return a text that nginx evaluates with the names of variables in lower case, in braces, and each by one name:
    `${args}` for `$query_string`.
    """
    if "$" not in text:
        return text

    def spelt(match: re.Match[str]) -> str:
        name = (match[1] or match[2]).lower()
        other = _ALIASES.get(name, name)
        return f"${{{name if other in taken else other}}}"

    return _VARIABLE.sub(spelt, text)


@lru_cache(maxsize=1 << 10)
def compared(name: str, version: Version) -> Compared:
    """Return how nginx's http modules compare the values of a directive: as text, unless all say the same."""
    rows = [row for row in declarations(name) if row.is_in(version) and row.module.startswith("ngx_http_")]
    kinds = {row.compared for row in rows}
    return kinds.pop() if len(kinds) == 1 else "text"


@lru_cache(maxsize=1 << 10)
def _is_of_types(name: str, version: Version) -> bool:
    """Return whether the words are MIME types, whose order and case do not count (`ngx_http_types_slot`)."""
    return any(row.is_in(version) and row.setter.startswith("ngx_http_types_slot") for row in declarations(name))


def _of(read: Callable[[str], int | None], word: str, unit: str = "") -> str:
    """Return a value as its amount; the word itself if it has none, such as one with variables."""
    amount = read(word)
    return word if amount is None else f"{amount}{unit}"


_CONVERTED: Mapping[Compared, Callable[[str], str]] = {
    "flag": str.lower,
    "name": str.lower,
    "size": lambda word: _of(size, word),
    "offset": lambda word: _of(lambda text: size(text, giga=True), word),
    "milliseconds": lambda word: _of(milliseconds, word, "ms"),
    "seconds": lambda word: _of(seconds, word, "s"),
    "number": lambda word: _of(number, word),
}


def _expiry(word: str) -> str:
    """Return the time of `expires`; all words but `off`, `epoch` and `max` are times with a sign, or `@` and one."""
    sign, text = (word[0], word[1:]) if word[:1] in ("+", "-", "@") else ("+", word)
    amount = seconds(text)
    return word if amount is None else f"{sign}{amount}s"


def _rate(word: str) -> str:
    """Return a rate in thousandths of requests per second, as nginx keeps it (`ngx_http_limit_req_zone`)."""
    found = _RATE.fullmatch(word)
    return word if found is None else f"rate={int(found[1]) * 1000 // (60 if found[2] == 'm' else 1)}"


def network(word: str) -> str:
    """Return a network without the bits behind its mask, and an address as a network; other words as they are."""
    try:
        return str(ipaddress.ip_network(word, strict=False))
    except ValueError:
        return word


def clients(words: Iterable[str]) -> Iterator[str]:
    """Yield the first address of each network of IPv4 among words."""
    for word in words:
        try:
            found = ipaddress.ip_network(word, strict=False)
        except ValueError:
            continue
        if found.version == 4:
            yield str(found.network_address)


_SETS = ("_hide_header", "_pass_header")
_LISTED = frozenset(["set_real_ip_from", "limit_req", "limit_conn"])
"""Lists whose order changes no answer, by the ends of their directives and by their names."""

_Run = tuple[Words, ...]
_Arrange = Callable[[_Run, Callable[[_Run], bool]], Iterable[Words]]


def ordered(name: str, value: Value, is_entangled: Callable[[_Run], bool]) -> Value:
    """Return what a block says of a setting, in canonical order. `is_entangled` returns whether the order of directives
    counts, as one of them may capture what another one reads.
    """
    arrange = _arrangement(name)
    if arrange is None:
        return value
    parts: list[Words | Unread] = []
    run: list[Words] = []
    for part in value:
        if isinstance(part, Unread):
            parts += [*arrange(tuple(run), is_entangled), part]
            run = []
        else:
            run.append(part)
    return (*parts, *arrange(tuple(run), is_entangled))


def is_of_fields(name: str) -> bool:
    """Return whether a directive adds fields, whose order counts for no reader (RFC 9110, 5.3)."""
    return name in group("fields")


def _arrangement(name: str) -> _Arrange | None:
    if name in group("fields"):
        return _fields
    if name == "error_page":
        return _pages
    if name in _LISTED or name.endswith(_SETS):
        return _set
    return None


def _fields(run: _Run, is_entangled: Callable[[_Run], bool]) -> Iterable[Words]:
    if is_entangled(run):
        return run
    return sorted(run, key=lambda words: words[0].lower())


def _set(run: _Run, _: Callable[[_Run], bool]) -> Iterable[Words]:
    return sorted(set(run))


def _pages(run: _Run, _: Callable[[_Run], bool]) -> Iterator[Words]:
    """Yield a row for each code, of several the first (`ngx_http_send_error_page`), in the order of the codes."""
    rows: dict[str, Words] = {}
    for words in run:
        codes = [word for word in words[:-1] if not word.startswith("=")]
        for code in codes:
            rows.setdefault(code.lstrip("0"), (code.lstrip("0"), *words[len(codes) :]))
    return iter(sorted(rows.values()))


_SERVER_DEFAULTS = frozenset(["weight=1", "max_fails=1", "fail_timeout=10s"])
"""The parameters of a server in an upstream that only state nginx's default."""


def server_of_upstream(words: Words) -> Words:
    """Return the words of a `server` in an upstream, with its parameters sorted, and without those that state a
    default.
    """
    if len({word.partition("=")[0] for word in words[1:]}) < len(words) - 1:
        return words  # the last of several counts
    return (*words[:1], *sorted({*words[1:]} - _SERVER_DEFAULTS))


def merged(name: str, value: Value, version: Version) -> Value:
    """Return the set that several directives state together (`ngx_conf_set_bitmask_slot`). All of them must have been
    read.
    """
    if len(value) < 2 or compared(name, version) != "set":
        return value
    return (tuple(sorted({word for words in value for word in words})),)


def without_defaults(name: str, value: Value, own: Mapping[str, str]) -> Value:
    """Return a list that was all read without the fields that nginx sends by itself, and those that it does not send.

    `own` are the headers that nginx sends to an upstream where none of their names is stated, with their values, as
    `own_headers` has them. A header that `proxy_set_header` states twice is kept, and so is one in another spelling, as
    nginx sends it in that spelling.
    """
    if name not in ("add_header", "proxy_set_header"):
        return value
    rows = [part for part in value if not isinstance(part, Unread)]
    if name == "add_header":  # nginx sends none without a value
        return tuple(row for row in rows if row[1] or row[0].lower() in _SPECIAL)
    counts = Counter(row[0].lower() for row in rows)
    return tuple(row for row in rows if own.get(row[0]) != row[1] or counts[row[0].lower()] > 1)


_SPECIAL = ("cache-control", "last-modified", "etag")
"""The fields that `add_header` sets in its own way, not by adding one (`ngx_http_set_headers`)."""


def own_headers(version: Version, *, has_host: bool) -> Mapping[str, str]:
    """Return the headers that nginx sends to an upstream by itself. `has_host`: whether `$proxy_host` is its Host.

    For gRPC, a stated header is never the one that nginx sends by itself: `$proxy_host` is empty there, and nginx does
    not send `:authority` beside a Host. The same holds for HTTP/2.
    """
    closing = {"Connection": "close"} if version < PIVOT else {}
    return {"Host": "${proxy_host}", **closing} if has_host else closing


_FAMILIES = {4: 1 << 32, 6: 1 << 128}
"""How many addresses each version of IP has."""


class _Span(NamedTuple):
    """The addresses of a rule: from `start` up to, but not including, `end`. `rule` is the number of the rule."""

    start: int
    rule: int
    end: int
    action: str


def access(rules: Sequence[tuple[str, str]], *, is_any: bool, is_asked: bool = False) -> Words | None:
    """Return what rules decide, as words that are equal for equal decisions; None if one is not understood.

    A rule is its name and its argument. `is_any`: whether an address that is allowed needs nothing else (`satisfy
    any`), so that it is not the same as one that no rule is about. `is_asked`: whether another check decides about
    all that are not allowed, so that one that is denied is the same. O(n log n) for n rules.
    """
    spans: dict[int, list[_Span]] = {version: [] for version in _FAMILIES}
    unix = ""
    for place, (action, word) in enumerate(rules):
        says = "pass" if action == ("deny" if is_asked else "" if is_any else "allow") else action
        if word in ("all", "unix:"):
            unix = unix or says
        if word == "all":
            for version, size in _FAMILIES.items():
                spans[version].append(_Span(0, place, size, says))
        elif word != "unix:":
            try:
                network = ipaddress.ip_network(word, strict=False)
            except ValueError:
                return None
            first, last = int(network.network_address), int(network.broadcast_address)
            spans[network.version].append(_Span(first, place, last + 1, says))
    decided = [("unix", _open(unix))] if _open(unix) else []
    for version in _FAMILIES:
        decided += [(f"{version} {start}", says) for start, says in _decided(spans[version])]
    if decided and spans[4]:  # which decide about mapped addresses of IPv6, too
        decided.append(("mapped", "4"))
    return tuple(f"{where} {says}" for where, says in decided)


def _open(says: str) -> str:
    """Return what a rule says; one that only lets pass says nothing."""
    return "" if says == "pass" else says


def _decided(spans: list[_Span]) -> list[tuple[int, str]]:
    """Return from which address on which decision holds; nothing if all addresses are left open."""
    starts = sorted(spans)
    edges = sorted({edge for span in spans for edge in (span.start, span.end)} | {0})
    active: list[tuple[int, int, str]] = []
    found: list[tuple[int, str]] = []
    at = 0
    for edge in edges:
        while at < len(starts) and starts[at].start <= edge:
            heapq.heappush(active, (starts[at].rule, starts[at].end, starts[at].action))
            at += 1
        while active and active[0][1] <= edge:
            heapq.heappop(active)
        says = _open(active[0][2]) if active else ""
        if not found or found[-1][1] != says:
            found.append((edge, says))
    return found if any(says for _, says in found) else []


_LITERAL: Mapping[str, Words] = {
    **dict.fromkeys(("auth_basic", "auth_request", "charset", "expires", "mirror"), ("off",)),
    **{f"{gateway}_cache": ("off",) for gateway in ("proxy", "fastcgi", "scgi", "uwsgi")},
    **{f"{gateway}_bind": ("off",) for gateway in ("proxy", "fastcgi", "scgi", "uwsgi", "grpc", "memcached")},
    **dict.fromkeys(("proxy_cookie_domain", "proxy_cookie_flags", "proxy_cookie_path"), ("off",)),
    "default_type": ("text/plain",),
    "index": ("index.html",),
    "large_client_header_buffers": ("4", "8k"),
    "limit_rate": ("0",),
    "real_ip_header": ("X-Real-IP",),
    "root": ("html",),
}
"""Defaults that no declaration has, as documented; the tests check them on nginx."""

_UNSURE = frozenset(["http2", "http3", "ssl", "ssl_reject_handshake", "userid_service", "http2_streams_index_size"])
"""Directives whose declared default may not be the one in force: a parameter of `listen` may set the flag as well, or
the declaration has the value in another form."""


@lru_cache(maxsize=1 << 12)
def default_words(name: str, version: Version) -> Words | None:
    """Return the default of a directive in canonical form; None if it has none, or if it is not known to be one."""
    if name in _LITERAL:
        return canonical_words(name, _LITERAL[name], version)
    rows = [row for row in declarations(name) if row.is_in(version) and row.module.startswith("ngx_http_")]
    if name in _UNSURE or len({row.default for row in rows}) != 1:
        return None
    row = rows[0]
    if not row.default or "|" in row.default or row.compared == "text":
        return None
    return canonical_words(name, tuple(row.default.split()), version)


_Row = tuple[str, ...]

_RANGES = frozenset(["ranges", "delete", "include", "proxy", "proxy_recursive"])
"""The first words of statements in a `geo` that change what its rows mean, or which address is looked up."""

_ALL = frozenset(["0.0.0.0/0", "::/0"])


def content(form: MapForm | GeoForm | OpaqueVariableForm, taken: Collection[str]) -> tuple[Hashable, ...]:
    """Return the content of a definition, without the name of the variable. `taken` as in `canonical_words`."""
    if form["kind"] == "opaque":
        return "opaque", form["variable"], form["reason"], tuple(form["content"])
    source = variables(form["source"] or "", taken)  # a geo without one asks the connection, not `$remote_addr`
    rows = tuple(tuple(row["args"]) for row in form["rows"])
    if form["kind"] == "map":
        return "map", source, _of_map(rows, taken)
    return form["kind"], source, _of_geo(rows) if form["kind"] == "geo" else rows


def _of_map(rows: tuple[_Row, ...], taken: Collection[str]) -> tuple[_Row, ...]:
    """Return the rows of a map in canonical order: first those with plain keys, sorted, as neither their order nor the
    case of their keys counts, then those with patterns. After `hostnames`, keys may be wildcards, so nothing is sorted
    then (`ngx_http_map`).
    """
    rows = tuple((_key(row[0]), *(variables(word, taken) for word in row[1:])) for row in rows)
    if any(row[0] == "hostnames" for row in rows):
        return rows
    plain = sorted(row for row in rows if not row[0].startswith("~") and row != ("default", ""))
    return (*plain, *(row for row in rows if row[0].startswith("~")))


def _key(key: str) -> str:
    if key.startswith("~*"):
        return f"~(?i){key[2:]}"
    return key if key.startswith("~") else folded(key)


def _of_geo(rows: tuple[_Row, ...]) -> tuple[_Row, ...]:
    """Return the rows of a `geo` sorted by their networks, without those that say what the network around them does
    (`ngx_radix_tree`); as they are if a network is there twice, as the last row counts then, or if a statement changes
    what rows mean. `default` is the network of all addresses (`ngx_http_geo_cidr`), with an empty value if nothing
    states one. O(n log n) for n rows.
    """
    if any(row[0] in _RANGES or len(row) != 2 for row in rows):
        return rows
    names = [network(row[0]) for row in rows]
    if len({*names}) < len(names) or ("default" in names and not _ALL.isdisjoint(names)):
        return rows
    values = {name: row[1] for name, row in zip(names, rows, strict=True)}
    default = values.pop("default", "")
    try:
        inner = sorted(map(ipaddress.ip_network, values), key=lambda each: (each.version, each))
    except ValueError:
        return rows
    kept = [("default", default)] if default else []
    around: list[tuple[_Network, str]] = []
    for each in inner:
        while around and not _is_within(each, around[-1][0]):
            around.pop()
        value = values[str(each)]
        if value != (around[-1][1] if around else default):
            around.append((each, value))
            kept.append((str(each), value))
    return tuple(kept)


def _is_within(inner: _Network, outer: _Network) -> bool:
    """Return whether a network is within one that does not begin after it."""
    return inner.version == outer.version and int(inner.broadcast_address) <= int(outer.broadcast_address)
