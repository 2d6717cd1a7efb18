"""Does every variant do what it claims? Asked before the first attack: a benchmark that measures nothing ends there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from nginxopt.bench.scenario import Answer, Asks, Attack, Experiment, OpenFiles, Probe, Target, Variant
from nginxopt.bench.site import Site
from nginxopt.errors import RunError

ROUND = "@round@"
_MOST_TARGETS = 50  # of an attack that are asked before it

Answers = Mapping[tuple[str, str], frozenset[str]]
"""The statuses that the targets of an attack are answered with, by variant and case."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What of an answer is looked at."""

    status: int
    headers: dict[str, str]
    body: str

    @classmethod
    def of(cls, raw: bytes) -> _Seen:
        head, _, body = raw.decode("latin-1").partition("\r\n\r\n")
        line, *fields = head.split("\r\n")
        found = re.match(r"HTTP/1\.[01] (\d{3})", line)
        headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        return cls(int(found[1]) if found else 0, headers, body)

    def __str__(self) -> str:
        if not self.status:
            return "no answer"
        to = f" to {self.headers['location']}" if "location" in self.headers else ""
        return f"{self.status}{to}"


def probe(site: Site, experiment: Experiment) -> Answers:
    """Return how the targets of each attack are answered; `RunError` where a variant does not do what it claims.

    Each probe of a variant is made, and up to 50 targets of each attack are asked. Targets without an answer of their
    own must be answered alike by all variants of a case.
    """
    for variant in experiment.variants:
        for item in variant.probes:
            _hold(site, variant, item)
    known: dict[tuple[str, str], Answer] = {}
    return {(attack.variant, attack.case): _answers(site, experiment, attack, known) for attack in experiment.attacks}


def in_round(targets: Iterable[Target], number: int | str) -> tuple[Target, ...]:
    """Return the targets as they are asked in a round."""
    return tuple(replace(target, path=target.path.replace(ROUND, str(number))) for target in targets)


def _hold(site: Site, variant: Variant, item: Probe) -> None:
    if isinstance(item, OpenFiles):
        limit = site.open_files(variant, item.role)
        if limit != item.limit:
            raise RunError(
                f"{variant.name}: workers of {item.role} may open {limit:,} files, expected {item.limit:,}",
                hint="the hard limit of this shell (`ulimit -Hn`) may be lower",
            )
        return
    _ask(site, variant, item)


def _ask(site: Site, variant: Variant, item: Asks) -> _Seen:
    """Ask as often as the probe says, and return the last answer, which is as it must be."""
    (target,) = in_round([item.target], "probe")
    seen = [_Seen.of(site.ask(variant, item.role, target)) for _ in range(item.times)][-1]
    wrong = _wrong(seen, target.answer, site, variant)
    if wrong:
        raise RunError(f"{variant.name}: wrong response of {item.role} for {target.path}: {wrong}")
    return seen


def _answers(
    site: Site, experiment: Experiment, attack: Attack, known: dict[tuple[str, str], Answer]
) -> frozenset[str]:
    variant = experiment.variant(attack.variant)
    step = max(1, len(attack.targets) // _MOST_TARGETS)
    statuses = set()
    for target in attack.targets[::step]:
        expected = target.answer or known.get((attack.case, target.path))
        seen = _ask(site, variant, Asks(variant.entry, replace(target, answer=expected)))
        known.setdefault((attack.case, target.path), Answer(seen.status, _portable(seen, site, variant)))
        statuses.add(str(seen.status))
    return frozenset(statuses)


def _portable(seen: _Seen, site: Site, variant: Variant) -> str | None:
    """The Location with the address of the variant, or its host alone, as a placeholder: it is another in the next."""
    location = seen.headers.get("location")
    for place, address in _places(site, variant):
        location = location and location.replace(address, place)
    return location


def _placed(location: str, site: Site, variant: Variant) -> str:
    """A Location with the address of the variant in the place of its placeholder."""
    for place, address in _places(site, variant):
        location = location.replace(place, address)
    return location


def _places(site: Site, variant: Variant) -> tuple[tuple[str, str], ...]:
    address = site.address(variant, variant.entry)
    return (f"@{variant.entry}@", address), (f"@{variant.entry}/host@", address.rpartition(":")[0])


def _wrong(seen: _Seen, answer: Answer | None, site: Site, variant: Variant) -> str:
    """What is wrong with an answer; empty if nothing is."""
    if not seen.status:
        return "no response"
    if answer is None:
        return ""
    if seen.status != answer.status:
        return f"{seen} instead of {answer.status}"
    if answer.location is not None:
        location = _placed(answer.location, site, variant)
        if seen.headers.get("location") != location:
            return f"{seen} instead of {answer.status} to {location}"
    if answer.body is not None and answer.body not in seen.body:
        return f"the body does not contain {answer.body!r}"
    if answer.header is not None and seen.headers.get(answer.header[0].lower()) != answer.header[1]:
        return (
            f"the header {answer.header[0]} is {seen.headers.get(answer.header[0].lower())!r}, not {answer.header[1]!r}"
        )
    return ""
