"""Rules of access as the function that they are: which addresses are allowed, denied, or not decided.

nginx takes the first rule that an address is in (`ngx_http_access_handler`). So the order of rules counts only where
they overlap, and a rule behind one that includes it never counts.
"""

from __future__ import annotations

import heapq
import ipaddress
from collections.abc import Sequence
from typing import NamedTuple

Words = tuple[str, ...]

_FAMILIES = {4: 1 << 32, 6: 1 << 128}
"""How many addresses each version of IP has."""


class _Span(NamedTuple):
    """The addresses from `start` to `end`, without the last, in a rule of that number."""

    start: int
    rule: int
    end: int
    action: str


def access(rules: Sequence[tuple[str, str]], *, is_any: bool) -> Words | None:
    """Return what rules decide, as words that are equal for equal decisions; None if one is not understood.

    A rule is its name and its argument. `is_any`: whether an address that is allowed needs nothing else (`satisfy
    any`), so that it is not the same as one that no rule is about. O(n log n) for n rules.
    """
    spans: dict[int, list[_Span]] = {version: [] for version in _FAMILIES}
    unix = ""
    for number, (action, word) in enumerate(rules):
        says = action if action == "deny" or is_any else "pass"
        if word in ("all", "unix:"):
            unix = unix or says
        if word == "all":
            for version, size in _FAMILIES.items():
                spans[version].append(_Span(0, number, size, says))
        elif word != "unix:":
            try:
                network = ipaddress.ip_network(word, strict=False)
            except ValueError:
                return None
            first, last = int(network.network_address), int(network.broadcast_address)
            spans[network.version].append(_Span(first, number, last + 1, says))
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
