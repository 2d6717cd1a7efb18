"""The directives of a name in a block, in one order, where nginx cannot show it.

Only runs between includes that were not read are put in order: what is in there may have any of their fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from nginxopt.facts import group
from nginxopt.semantics.defaults import PIVOT
from nginxopt.verify.forms.values import compared
from nginxopt.verify.unread import Unread, Value, Words
from nginxopt.version import Version

_SETS = ("_hide_header", "_pass_header")
_LISTED = frozenset(["set_real_ip_from", "limit_req", "limit_conn"])
"""Directives whose order shows in no answer, by their ends and by their names."""

_Run = tuple[Words, ...]
_Arrange = Callable[[_Run, Callable[[_Run], bool]], Iterable[Words]]


def ordered(name: str, value: Value, is_entangled: Callable[[_Run], bool]) -> Value:
    """Return what a block says of a setting, in canonical order. `is_entangled` says whether the order counts in which
    words are evaluated, as one of them may capture what another reads.
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
"""The parameters of a server of an upstream that say what nginx does without them."""


def server_of_upstream(words: Words) -> Words:
    """Return the words of a `server` in an upstream, its parameters in one order, without those that say nothing."""
    if len({word.partition("=")[0] for word in words[1:]}) < len(words) - 1:
        return words  # of several, the last counts
    return (*words[:1], *sorted({*words[1:]} - _SERVER_DEFAULTS))


def merged(name: str, value: Value, version: Version) -> Value:
    """Return a set that several directives state as one (`ngx_conf_set_bitmask_slot`); none of them is unread."""
    if len(value) < 2 or compared(name, version) != "set":
        return value
    return (tuple(sorted({word for words in value for word in words})),)


def without_defaults(name: str, value: Value, version: Version) -> Value:
    """Return a list that was all read without the fields that nginx sends by itself, and those that it does not send.

    A header that `proxy_set_header` states twice is not the one that nginx sends.
    """
    own = _own_headers(name, version)
    if name != "add_header" and not own:
        return value
    rows = [part for part in value if not isinstance(part, Unread)]
    if name == "add_header":  # one without a value is none
        return tuple(row for row in rows if row[1] or row[0].lower() in _SPECIAL)
    counts = Counter(row[0].lower() for row in rows)
    return tuple(row for row in rows if own.get(row[0].lower()) != row[1] or counts[row[0].lower()] > 1)


_SPECIAL = ("cache-control", "last-modified", "etag")
"""The fields that `add_header` sets otherwise than by adding one (`ngx_http_set_headers`)."""


def _own_headers(name: str, version: Version) -> Mapping[str, str]:
    """Return the headers that nginx sends to an upstream where none of their names is stated, with their values."""
    if name == "grpc_set_header":
        return {"host": "${proxy_host}"}
    if name != "proxy_set_header":
        return {}
    closing = {"connection": "close"} if version < PIVOT else {}
    return {"host": "${proxy_host}", **closing}
