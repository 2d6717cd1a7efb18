"""What differs between runs of a case before and after: only what always differs counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from tests.fix_fuzz.play import Observation


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is one way in every run before, and another in every run after.

    `kind` is the part of an `Observation`, `which` says what of it, and `told` is what was seen.
    """

    kind: str
    which: str
    told: str


Mask = Callable[[bytes], bytes]


def as_it_is(head: bytes) -> bytes:
    """Change nothing."""
    return head


def without_connection(asked: bytes) -> bytes:
    """Return what an origin was asked, but for the version and the connection, which premises speak of."""
    asked = re.sub(rb" HTTP/1\.[01]\r\n", b" HTTP/1\r\n", asked, count=1)
    return re.sub(rb"(?i)\r\nConnection: (close|keep-alive)(?=\r\n)", b"", asked, count=1)


def differences(
    before: Sequence[Observation], after: Sequence[Observation], mask: Mask = as_it_is
) -> tuple[Difference, ...]:
    """Return what sets the runs after apart from those before; with more runs it gets less."""
    found: list[Difference] = []
    if any(run.refusal for run in before):
        return ()
    if all(run.refusal for run in after):
        return (Difference("refusal", "", after[0].refusal),)
    values = () if _relieved(before, after) else _VALUES
    for kind, which, value in values:
        keys = sorted({key for run in (*before, *after) for key in which(run, mask)})
        for key in keys:
            olds, news = [value(run, key, mask) for run in before], [value(run, key, mask) for run in after]
            if not set(olds) & set(news):
                found.append(Difference(kind, key, f"before: {_shown(olds[0])}\nafter:  {_shown(news[0])}"))
    for kind in ("warnings", "errors"):
        old = frozenset().union(*(getattr(run, kind) for run in before))
        always = frozenset.intersection(*(getattr(run, kind) for run in after)) - old
        found += [Difference(kind, one, one) for one in sorted(always)]
    if 0 < max(run.nofile for run in after) < min(run.nofile for run in before):
        found.append(Difference("nofile", "", f"{before[0].nofile} open files before, {after[0].nofile} after"))
    return tuple(found)


def _relieved(before: Sequence[Observation], after: Sequence[Observation]) -> bool:
    """Return whether connections were lacking before and are not now, which is what some fixes are for."""
    return all(_lacks(run) for run in before) and not any(_lacks(run) for run in after)


def _lacks(run: Observation) -> bool:
    return any("worker_connections are not enough" in line for line in run.errors)


def _asked(run: Observation, key: str, mask: Mask) -> Hashable:
    counts: dict[bytes, int] = {}
    for (kind, asked), count in run.asked.items():
        if kind == key:
            masked = mask(asked)
            counts[masked] = counts.get(masked, 0) + count
    return frozenset(counts.items())


_VALUES: tuple[
    tuple[str, Callable[[Observation, Mask], set[str]], Callable[[Observation, str, Mask], Hashable]], ...
] = (
    ("answers", lambda run, _: set(run.answers), lambda run, key, _: run.answers.get(key)),
    ("asked", lambda run, _: {kind for kind, _ in run.asked}, _asked),
    ("files", lambda run, _: set(run.files), lambda run, key, _: run.files.get(key, "absent")),
)


def _shown(value: object) -> str:
    if isinstance(value, frozenset):
        value = sorted(value, key=repr)
    text = repr(value)
    return text if len(text) <= 900 else f"{text[:600]} ... {text[-280:]}"
