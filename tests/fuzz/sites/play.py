"""Batches of sites through nginx and the model; what differs is made small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from nginxopt.errors import InputError
from nginxopt.semantics.site import Build
from tests.fuzz.minimise import minimise, without_nodes
from tests.fuzz.sites import batch as batches
from tests.fuzz.sites.batch import Batch, Observation
from tests.fuzz.sites.compare import differences
from tests.fuzz.sites.generate import Site
from tests.fuzz.sites.model import Model, Outcome, build
from tests.fuzz.sites.stage import Stage

Damage = Callable[[Outcome], None]
"""A fault in what the model says, for tests of the harness."""

ATTEMPTS = 400
"""How many smaller sites are tried at most for a difference."""


@dataclass(slots=True)
class Figures:
    """What was compared and found."""

    sites: int = 0
    requests: int = 0
    known: int = 0
    partial: int = 0
    logged: int = 0
    unread: int = 0
    differing: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    parts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        asked = max(self.requests, 1)
        lines = [
            f"{self.requests:,} requests to {self.sites:,} sites: {self.known:,} compared, {self.partial:,} of them in"
            f" part; {sum(self.unknown.values()):,} unknown ({sum(self.unknown.values()) / asked:.1%}),"
            f" {self.unread:,} not readable, {self.differing:,} differences",
            "  kinds: " + ", ".join(f"{kind} {count:,}" for kind, count in self.kinds.most_common()),
            *(f"  {count:7,} unknown: {reason}" for reason, count in self.unknown.most_common(25)),
            *(f"  {count:7,} differ in {part}" for part, count in self.parts.most_common()),
            *(f"  {count:7,} refused: {message}" for message, count in self.refused.most_common(10)),
        ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Difference:
    """A request of a site that the model and nginx answer differently."""

    batch: Batch
    index: int
    observation: Observation
    outcome: Outcome | None
    texts: tuple[str, ...]

    @property
    def kind(self) -> str:
        """What differs first, without values that are not numbers."""
        what = self.texts[0].partition(":")[0]
        return self.texts[0] if what == "status" else what


def play(
    stage: Stage, batch: Batch, seed: int, each: int, figures: Figures, damage: Damage | None = None
) -> list[Difference]:
    """Ask nginx and the model about each site of a batch; return the differences."""
    batches.lay(stage, batch)
    figures.refused.update(batch.refused)
    build_ = build(stage.binary, stage.root)
    found: list[Difference] = []
    for index, observations in enumerate(batches.observe(stage, batch, seed, each)):
        figures.sites += 1
        found += _compared(stage, batch, index, observations, build_, figures, damage)
    return found


def _compared(
    stage: Stage,
    batch: Batch,
    index: int,
    observations: list[Observation],
    build_: Build,
    figures: Figures,
    damage: Damage | None,
) -> Iterator[Difference]:
    try:
        model = Model.of_text(batch.text(stage, index), build_)
    except InputError as error:
        figures.differing += 1
        figures.parts["refusal"] += 1
        yield Difference(batch, index, observations[0], None, (f"refused: {error}",))
        return
    upstreams = model.upstreams(stage.upstreams)
    outcomes = model.outcomes([observation.request for observation in observations])
    for observation, outcome in zip(observations, outcomes, strict=True):
        if outcome is None:
            figures.requests += 1
            figures.unread += 1
            continue
        if damage:
            damage(outcome)
        texts = differences(outcome, observation, model.log(outcome), upstreams)
        _count(figures, outcome, observation, texts)
        if texts:
            yield Difference(batch, index, observation, outcome, tuple(texts))


def _count(figures: Figures, outcome: Outcome, observation: Observation, texts: list[str]) -> None:
    figures.requests += 1
    figures.kinds[outcome["kind"]] += 1
    if outcome["kind"] == "unknown":
        figures.unknown[outcome["unknown"]["reason"]] += 1
        return
    figures.known += 1
    figures.partial += outcome["unknown"] is not None
    figures.logged += observation.logged is not None
    figures.differing += bool(texts)
    figures.parts.update(text.partition(":")[0] for text in texts)


def minimal(stage: Stage, difference: Difference, damage: Damage | None = None) -> Difference:
    """Return the difference with as little of its site as shows it."""

    def differs(site: Site) -> Difference | None:
        again = _again(stage, _alone(difference, site), damage)
        return again if again is not None and again.kind == difference.kind else None

    site = difference.batch.sites[difference.index]
    return minimise(site, differs(site) or difference, [_without_nodes], differs, ATTEMPTS)[1]


def _without_nodes(site: Site, number: int) -> Site | None:
    nodes = without_nodes(site.nodes, number)
    return None if nodes is None else replace(site, nodes=nodes)


def _alone(difference: Difference, site: Site) -> Difference:
    """Return the difference in a batch of this site alone."""
    return replace(difference, batch=Batch(difference.batch.http, [site]), index=0)


def _again(stage: Stage, difference: Difference, damage: Damage | None) -> Difference | None:
    """Return what differs in the only site of a batch; None if nothing does, or nginx refuses it."""
    observation = batches.observe_one(stage, difference.batch, difference.observation)
    if observation is None:
        return None
    figures = Figures()
    build_ = build(stage.binary, stage.root)
    return next(iter(_compared(stage, difference.batch, 0, [observation], build_, figures, damage)), None)


def reproduction(stage: Stage, difference: Difference) -> str:
    """Return all that is needed to see the difference."""
    site = difference.batch.sites[difference.index]
    lines = [
        f"==== {stage.binary}, site {site.name}: {difference.texts[0]}",
        *difference.texts[1:],
        f"request: {difference.observation.request.data!r}",
        f"nginx: {difference.observation.raw[:600]!r} {difference.observation.logged}",
        f"model: { {key: value for key, value in (difference.outcome or {}).items() if value not in (None, [], '')} }",
        "http: " + difference.batch.http.partition("access_log logs/a.log l1;")[2].replace("\n", ""),
        site.text(),
    ]
    return "\n".join(lines)
