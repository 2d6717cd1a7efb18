"""The requests that compare two sets of rules, with the ways in which clients spell URIs. Deterministic and limited.

nginx decodes URIs, and clients percent-encode them. Each URI and its close variants (other case, final newline, a byte
more or less, other encodings of the same bytes) are combined with several forms of requests (arguments, HEAD, unusual
Host, bodies that only some code paths of nginx read).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from nginxopt import lazy
from nginxopt.records import record
from nginxopt.text import shorten
from nginxopt.text.display import percent_encode, spellings

if TYPE_CHECKING:
    from nginxopt.system.http import RequestBytes

# Bytes that no URI contains after ngx_http_parse_complex_uri: NUL, two slashes (merge_slashes), the segments `.` and
# `..`.
_NEVER_RECEIVED = lazy.pattern(rb"\0|//|/\.\.?(?:/|\Z)")

_SHOWN = 120


def receivable(uri: bytes) -> bool:
    """Return whether a request can have `uri` as its `$uri`."""
    return uri.startswith(b"/") and not _NEVER_RECEIVED.search(uri)


def shown(uri: bytes) -> str:
    """Return a percent-encoded URI for messages, cut in the middle to at most 120 characters."""
    ends = uri if len(uri) <= _SHOWN else uri[:_SHOWN] + uri[-_SHOWN:]  # what is behind them is cut in any case
    return shorten(percent_encode(ends).decode(), _SHOWN)


HOST = b"nxo.test"
CAPTURING_HOST = b"captured.test"

_LEAST = spellings([*range(0x21), 0x7F, *b"%?#"])
_SHUFFLE = 2048

Variant: TypeAlias = Callable[[bytes], bytes]
Form: TypeAlias = "Callable[[bytes], RequestBytes]"


def spell_least(uri: bytes) -> bytes:
    """Return a request target for `uri` that encodes only what must be encoded: `+` and bytes from 0x80 are not.

    nginx escapes captures in a redirect only if the target had a `%` or a `+`, so the spelling can matter.
    """
    return b"".join(map(_LEAST.__getitem__, uri))


def spell_most(uri: bytes) -> bytes:
    """Return a request target for `uri` whose last byte is encoded unnecessarily."""
    return percent_encode(uri[:-1]) + b"%%%02X" % uri[-1] if len(uri) > 1 else uri


# Functions that make a request target from a decoded URI. They change the URI before encoding it, so that a variant
# is encoded like the URI.
VARIANTS: tuple[Variant, ...] = (
    percent_encode,
    lambda uri: percent_encode(uri.swapcase()),
    lambda uri: percent_encode(uri + b"\n"),
    spell_least,
    spell_most,
    lambda uri: percent_encode(uri.lower()),
    lambda uri: percent_encode(uri.upper()),
    lambda uri: percent_encode(uri.swapcase() + b"\n"),
    lambda uri: percent_encode(uri + b"\n\n"),
    lambda uri: percent_encode(uri + b"\r"),
    lambda uri: percent_encode(uri + b"/"),
    lambda uri: percent_encode(uri + b"x"),
    lambda uri: percent_encode(uri[:-1] or b"/"),
    lambda uri: b"/" + percent_encode(uri),
)


def _get(target: bytes, host: bytes = HOST, method: bytes = b"GET") -> RequestBytes:
    from nginxopt.system.http import RequestBytes  # 15 ms, which only a comparison with nginx needs

    data = b"%s %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (method, target, host)
    return RequestBytes(data, head=method == b"HEAD")


def _post(target: bytes, headers: bytes, body: bytes) -> RequestBytes:
    from nginxopt.system.http import RequestBytes

    start = b"POST %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n" % (target, HOST)
    return RequestBytes(b"%s%s\r\n\r\n%s" % (start, headers, body), alone=True)


FORMS: tuple[Form, ...] = (
    _get,
    lambda target: _get(target + b"?v=Z%41%20&w=1"),
    lambda target: _get(target + b"?"),
    # Makes the scene send an internal request after the rules, with a URI that matches no rule.
    lambda target: _get(target + b"?harness=again"),
    lambda target: _get(target, method=b"HEAD"),
    lambda target: _get(target, b"H%41x.test"),
    lambda target: _post(target + b"?0", b"Content-Length: 2\r\nExpect: 100-continue", b"ab"),
    lambda target: _post(target, b"Transfer-Encoding: chunked", b"zz\r\n"),
)
# A host that a `server_name` with a regular expression matches: `$1` is set before any rule runs.
CAPTURING_FORM: Form = lambda target: _get(target, CAPTURING_HOST)  # noqa: E731 - one of a table of forms


@record(eq=True)
class RequestSample:
    """The requests to send, without duplicates, and the number of combinations of URI, variant and form left out."""

    requests: tuple[RequestBytes, ...]
    skipped: int


def sample(uris: Iterable[bytes], fixed: Sequence[bytes], *, limit: int, capturing: bool) -> RequestSample:
    """Return at most `limit` requests: for each of `uris` that nginx can receive, and for `fixed` targets in all forms.

    If there are more combinations than `limit`, the sample still contains every variant and every form, spread over as
    many URIs as possible, and each of these URIs also without changes. The same input gives the same sample. Takes time
    O(limit), whatever the number of URIs.
    """
    forms = (*FORMS, CAPTURING_FORM) if capturing else FORMS
    known = [uri for uri in dict.fromkeys(uris) if receivable(uri)]
    everything = len(known) * len(VARIANTS) * len(forms) + len(fixed) * len(forms)
    of_fixed = [form(target) for target in fixed for form in forms][:limit]
    of_known = list(_combined(known, forms, limit - len(of_fixed)))
    plain = len(known) if len(known) < len(of_known) else 0
    requests = dict.fromkeys([*of_known[:plain], *of_fixed, *of_known[plain:]])
    return RequestSample(tuple(_in_runs(list(requests))), everything - len(of_fixed) - len(of_known))


def _combined(uris: Sequence[bytes], forms: Sequence[Form], budget: int) -> Iterator[RequestBytes]:
    combinations = [(variant, form) for form in forms for variant in VARIANTS]
    rounds = min(len(combinations), budget // max(len(uris), 1))
    if rounds < 2:  # no room for a variant of each URI: use fewer URIs, evenly spread
        rounds = 2
        uris = _spread(uris, budget // rounds)
    for turn in range(rounds):
        for index, uri in enumerate(uris):
            variant, form = combinations[_combination(turn, index, len(combinations))]
            yield form(variant(uri))


def _combination(turn: int, index: int, count: int) -> int:
    """Return the number of the combination of variant and form for the URI at `index` in a turn.

    This is 0, the unchanged one, in the first turn. In the following turns each URI goes through all others, starting
    at a different one. The stride is coprime to their number, so that none occurs twice, and far from its divisors, so
    that a few turns are enough for every variant and form to occur.
    """
    if not turn:
        return 0
    others = count - 1
    return 1 + ((turn - 1) * _stride(others) + index) % others


@cache
def _stride(others: int) -> int:
    return next(step for step in range(others * 5 // 8, others * 2) if math.gcd(step, others) == 1)


def _spread(uris: Sequence[bytes], count: int) -> list[bytes]:
    return [uris[index * len(uris) // count] for index in range(min(count, len(uris)))] if count > 0 else []


def _in_runs(requests: Sequence[RequestBytes]) -> Iterator[RequestBytes]:
    """Yield the requests in nearly the same order, with those that can share a connection next to each other."""
    for start in range(0, len(requests), _SHUFFLE):
        yield from sorted(requests[start : start + _SHUFFLE], key=lambda request: request.alone)
