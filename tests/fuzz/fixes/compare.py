"""What differs between runs of a case before and after: only what always differs counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from tests.fuzz.fixes.play import Observation


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is one way in every run before, and another in every run after.

    `kind` is the part of an `Observation`, `which` says what of it, and `told` is what was seen. It is `steady` if all
    runs before are the same, and all after: else what looks like it may be chance.
    """

    kind: str
    which: str
    told: str
    steady: bool = True


Mask = Callable[[bytes], bytes]


def as_it_is(head: bytes) -> bytes:
    """Change nothing."""
    return head


def without_connection(request: bytes) -> bytes:
    """Return what an origin was asked, but for the version and the connection, which premises speak of.

    A `Connection` that goes with an `Upgrade` is no matter of the connection.
    """
    request = re.sub(rb"^keep=[01] ", b"", request)
    request = re.sub(rb" HTTP/1\.[01]\r\n", b" HTTP/1\r\n", request, count=1)
    if re.search(rb"(?i)\r\nUpgrade:", request):
        return request
    return re.sub(rb"(?i)\r\nConnection: [^\r]*(?=\r\n)", b"", request, count=1)


def differences(
    before: Sequence[Observation], after: Sequence[Observation], mask: Mask = as_it_is
) -> tuple[Difference, ...]:
    """Return what sets the runs after apart from those before; with more runs it gets less."""
    if any(run.refusal for run in before):
        return ()
    if all(run.refusal for run in after):
        return (Difference("refusal", "", after[0].refusal),)
    differing: list[Difference] = []
    if not _relieved(before, after):
        olds, news = ([_values(run, mask) for run in runs] for runs in (before, after))
        differing += _of_values(olds, news)
    for kind in ("warnings", "errors"):
        old = frozenset().union(*(getattr(run, kind) for run in before))
        always = frozenset.intersection(*(getattr(run, kind) for run in after)) - old
        differing += [Difference(kind, line, line, steady=kind == "warnings") for line in sorted(always)]
    if 0 < max(run.nofile for run in after) < min(run.nofile for run in before):
        differing.append(Difference("nofile", "", f"{before[0].nofile} open files before, {after[0].nofile} after"))
    return tuple(differing)


_Values = dict[tuple[str, str], Hashable]
"""What was seen, by its kind and what of it."""


def _values(run: Observation, mask: Mask) -> _Values:
    values: _Values = {("answers", which): frozenset(given.items()) for which, given in run.answers.items()}
    requests: Counter[str] = Counter()
    for (kind, data), count in run.asked.items():
        requests[f"{kind} {mask(data)!r}"] += count
    values |= {("asked", which): count for which, count in requests.items()}
    for name, content in run.files.items():
        lines = content if isinstance(content, frozenset) else {("", 1)}
        values |= {("files", f"{name} {line}"): count for line, count in lines}
    return values


def _of_values(olds: Sequence[_Values], news: Sequence[_Values]) -> Iterator[Difference]:
    for key in sorted({key for values in (*olds, *news) for key in values}):
        before, after = ({values.get(key) for values in runs} for runs in (olds, news))
        if before.isdisjoint(after):
            told = f"before: {_shown(olds[0].get(key))}\nafter:  {_shown(news[0].get(key))}"
            yield Difference(*key, told, steady=len(before) == len(after) == 1)


def _relieved(before: Sequence[Observation], after: Sequence[Observation]) -> bool:
    """Return whether connections were lacking before and are not now, which is what some fixes are for."""
    return all(_lacks(run) for run in before) and not any(_lacks(run) for run in after)


def _lacks(run: Observation) -> bool:
    return any("worker_connections are not enough" in line for line in run.errors)


def _shown(value: object) -> str:
    text = repr(sorted(value, key=repr) if isinstance(value, frozenset) else value)
    return text if len(text) <= 900 else f"{text[:600]} ... {text[-280:]}"
