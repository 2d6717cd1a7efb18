"""The words of a directive in one spelling, by how nginx reads them: flags, sizes, times, sets, variables, networks.

How a directive reads its words is in the tables of facts; the look of a word says nothing: `auth_basic OFF` is a realm.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache

from nginxopt import lazy
from nginxopt.facts import fact
from nginxopt.facts.declarations import Compared, declarations
from nginxopt.semantics.values import milliseconds, number, seconds, size
from nginxopt.version import Version

Words = tuple[str, ...]

_VARIABLE = lazy.pattern(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)
_RATE = lazy.pattern(r"rate=0*([1-9][0-9]*)r/([sm])", re.ASCII)
_ALIASES = {"query_string": "args", "document_uri": "uri"}

_NETWORKS = frozenset(["allow", "deny", "set_real_ip_from"])
_ALWAYS_CACHED = ("get", "head")
"""The methods that are always among those whose responses are stored (`ngx_http_proxy_merge_loc_conf`)."""

_NAMES_IN_LOWER_CASE = ("_hide_header", "_pass_header")


def canonical_words(name: str, words: Words, version: Version, taken: Collection[str] = ()) -> Words:
    """Return the arguments of a directive in one spelling. `taken` are variables of nginx whose names groups have."""
    if name in _NETWORKS:
        return tuple(map(network, words))
    words = _evaluated(name, words, taken)
    kind = compared(name, version)
    if kind == "set":
        more = _ALWAYS_CACHED if name.endswith("_cache_methods") else ()
        return tuple(sorted({*(word.lower() for word in words), *more}))
    if name.endswith(_NAMES_IN_LOWER_CASE) or _is_of_types(name, version):
        return tuple(sorted({word.lower() for word in words}))
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
