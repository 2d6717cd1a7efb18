"""The requests that tell two sets of rewrite rules apart: pure, deterministic, bounded.

For each known URI its look-alikes (case, final newline, one byte more or less, other spellings of the same
bytes) are asked in several forms (arguments, HEAD, odd Host, bodies that nginx reads only in some code
paths).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TypeAlias

from nginxopt.records import record
from nginxopt.rewrite.uris import percent_encode, receivable, spellings
from nginxopt.system.http import Request

HOST = b"nxo.test"
CAPTURING_HOST = b"captured.test"

_LEAST = spellings([*range(0x21), 0x7F, *b"%?#"])
_SHUFFLE = 2048

Variant: TypeAlias = Callable[[bytes], bytes]
Form: TypeAlias = Callable[[bytes], Request]


def spell_least(uri: bytes) -> bytes:
    """Return a target for `uri` that encodes only what must be: `+` and bytes from 0x80 stay.

    nginx escapes captures in a redirect only if the target had a `%` or a `+`, so the spelling can matter.
    """
    return b"".join(map(_LEAST.__getitem__, uri))


def spell_most(uri: bytes) -> bytes:
    """Return a target for `uri` with its last byte needlessly encoded."""
    return percent_encode(uri[:-1]) + b"%%%02X" % uri[-1] if len(uri) > 1 else uri


# Each makes a request target from a decoded URI. Near misses are made from the URI, so that they are
# encoded as it is.
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


def _get(target: bytes, host: bytes = HOST, method: bytes = b"GET") -> Request:
    data = b"%s %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (method, target, host)
    return Request(data, head=method == b"HEAD")


def _post(target: bytes, headers: bytes, body: bytes) -> Request:
    start = b"POST %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n" % (target, HOST)
    return Request(b"%s%s\r\n\r\n%s" % (start, headers, body), alone=True)


FORMS: tuple[Form, ...] = (
    _get,
    lambda target: _get(target + b"?v=Z%41%20&w=1"),
    lambda target: _get(target + b"?"),
    # Sends the harness around once more after the rules, with a URI that belongs to no rule.
    lambda target: _get(target + b"?harness=again"),
    lambda target: _get(target, method=b"HEAD"),
    lambda target: _get(target, b"H%41x.test"),
    lambda target: _post(target + b"?0", b"Content-Length: 2\r\nExpect: 100-continue", b"ab"),
    lambda target: _post(target, b"Transfer-Encoding: chunked", b"zz\r\n"),
)
# The host whose name is matched by a regular expression: `$1` is set before any rule runs.
CAPTURING_FORM: Form = lambda target: _get(target, CAPTURING_HOST)  # noqa: E731 - one of a table of forms


@record(eq=True)
class RequestSample:
    """The requests to ask, each once, and how many of all combinations of URI, variant and form are left
    out."""

    requests: tuple[Request, ...]
    skipped: int


def sample(uris: Iterable[bytes], fixed: Sequence[bytes], *, limit: int, capturing: bool) -> RequestSample:
    """Return the requests for every receivable one of `uris`, and for the `fixed` targets in every form.

    At most `limit` requests: when there are more combinations, every variant and every form stays in,
    spread over as many URIs as possible, and each URI that is asked at all is first asked plainly. The same
    input gives the same sample. O(limit) requests are made, whatever the number of URIs.
    """
    forms = (*FORMS, CAPTURING_FORM) if capturing else FORMS
    known = [uri for uri in dict.fromkeys(uris) if receivable(uri)]
    everything = len(known) * len(VARIANTS) * len(forms) + len(fixed) * len(forms)
    of_fixed = [form(target) for target in fixed for form in forms][:limit]
    of_known = list(_combined(known, forms, limit - len(of_fixed)))
    plain = len(known) if len(known) < len(of_known) else 0
    requests = dict.fromkeys([*of_known[:plain], *of_fixed, *of_known[plain:]])
    return RequestSample(tuple(_in_runs(list(requests))), everything - len(of_fixed) - len(of_known))


def _combined(uris: Sequence[bytes], forms: Sequence[Form], budget: int) -> Iterator[Request]:
    combinations = [(variant, form) for form in forms for variant in VARIANTS]
    rounds = min(len(combinations), budget // max(len(uris), 1))
    if rounds < 2:  # not even one variant of each: fewer URIs, evenly spread
        rounds = 2
        uris = _spread(uris, budget // rounds)
    for turn in range(rounds):
        for index, uri in enumerate(uris):
            variant, form = combinations[_combination(turn, index, len(combinations))]
            yield form(variant(uri))


def _combination(turn: int, index: int, count: int) -> int:
    """The plain one (0) in the first turn; then each URI goes through all others, from a start of its own.

    The stride is coprime to their number, so that none comes twice, and far from its divisors, so that a few
    turns already touch every variant and every form.
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


def _in_runs(requests: Sequence[Request]) -> Iterator[Request]:
    """The requests in nearly the same order, with those that share a connection next to each other."""
    for start in range(0, len(requests), _SHUFFLE):
        yield from sorted(requests[start : start + _SHUFFLE], key=lambda request: request.alone)
