"""Asks the model about many requests: the answer to each, or how often each directive takes part."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from nginxopt import lazy
from nginxopt.budget import limited
from nginxopt.faults import apart
from nginxopt.request.client import ClientGate, NobodyListensError, Request
from nginxopt.request.judgement import Answer, answer_of, made_of
from nginxopt.request.model import BranchForm, OutcomeForm, SiteModel, World, conditions, told
from nginxopt.request.traffic import TargetGroup, groups_of, shared
from nginxopt.semantics.site.form import Node

if TYPE_CHECKING:
    from nginxopt._native import AnsweredForm, RequestTally

_Targets = Sequence[tuple[bytes, int]]
_Result = TypeVar("_Result")
_Request = TypeVar("_Request")
_OF_FILE = lazy.pattern(r"whether .* (exists|is executable)\Z", re.DOTALL)
_BUG = "nginxopt has a bug that this request shows"
_MOST = 50_000
"""The maximum number of requests in one call of the model."""


class End(NamedTuple):
    """How a request ends.

    Attributes:
        kind: The kind of the outcome, or `refused` where nginx does not listen.
        node: The directive that decides.
        reason: Why the end is not known.
    """

    kind: str
    status: int | None
    node: Node | None = None
    reason: str | None = None


@dataclass(slots=True)
class Ends:
    """The number of requests that end in one way, and one of them."""

    example: str
    requests: int = 0


@dataclass(slots=True)
class DirectiveTally:
    """How requests end, and for each directive the number of requests in which it took part."""

    ends: dict[End, Ends] = field(default_factory=dict)
    uses: Counter[Node] = field(default_factory=Counter)

    def add(self, end: End, requests: int, group: TargetGroup, target: bytes) -> None:
        """Count requests of a group, one of them with this target."""
        if end not in self.ends:
            example = replace(group.request, url=replace(group.request.url, target=target))
            self.ends[end] = Ends(str(example))
        self.ends[end].requests += requests


@dataclass(frozen=True)
class Batch:
    """Asks a model about requests that come through a gate."""

    model: SiteModel
    gate: ClientGate
    world: World

    def answers(self, requests: Sequence[Request]) -> list[Answer]:
        """Return the answer to each request, `refused` where nginx does not listen, and count `uses`.

        Equal requests are asked once.
        """
        answers = {key: self._of_group(group) for key, group in groups_of(requests).items()}
        return [answers[shared(request)][request.url.target] for request in requests]

    @cached_property
    def uses(self) -> Counter[Node]:
        """By directive, the number of requests to `answers` in which it took part."""
        return Counter()

    def _of_group(self, group: TargetGroup) -> dict[bytes, Answer]:
        """Return the answer for each target; the answer to a request that reveals a bug is unknown."""
        try:
            form = json.dumps(self.gate.form(group.request))
        except NobodyListensError as error:
            return dict.fromkeys(group.targets, Answer("refused", None, unknown=error.message))
        answers: dict[bytes, Answer] = {}
        for world, targets in self._by_world(group, form):
            ask = partial(self._answered, form, world)
            for part, answered in apart(targets, ask, "a request"):
                if answered is None:
                    answers[part[0][0]] = Answer("unknown", None, unknown=_BUG)
                    continue
                for (target, _), of_target in zip(part, answered[0], strict=True):
                    answer, depends = made_of(*of_target[:8]), of_target[8]
                    answers[target] = self._in_branches(answer, group, target) if depends else answer
                for node, count in answered[1]:
                    self.uses[node] += count
        return answers

    def _answered(self, form: str, world: str, part: _Targets) -> tuple[list[AnsweredForm], list[tuple[Node, int]]]:
        return self._limited(lambda: self.model.native.answered(form, part, world))

    def _limited(self, ask: Callable[[], _Result]) -> _Result:
        """Return what the model says. Raises `budget.ExceededError` after the time that a configuration may take."""
        return limited(ask, path=self.model.config.main.path)

    def tally(self, groups: Iterable[TargetGroup], progress: Callable[[int], None] = lambda _: None) -> DirectiveTally:
        """Count how requests end. `progress` is called with the number of distinct requests that are done."""
        tally = DirectiveTally()
        for group in groups:
            try:
                form = json.dumps(self.gate.form(group.request))
            except NobodyListensError as error:
                end = End("refused", None, reason=error.message)
                tally.add(end, sum(group.targets.values()), group, next(iter(group.targets)))
                continue
            for world, targets in self._by_world(group, form):
                self._tally(tally, group, targets, form, world)
                progress(len(targets))
        return tally

    def _tally(self, tally: DirectiveTally, group: TargetGroup, targets: _Targets, form: str, world: str) -> None:
        """Count how the requests of a group to some targets end. If one reveals a bug, its end is unknown."""

        def ask(part: _Targets) -> RequestTally:
            return self._limited(lambda: self.model.native.tally(form, part, world, group.status))

        for part, counted in apart(targets, ask, "a request"):
            if counted is None:
                ((target, requests),) = part
                tally.add(End("unknown", None, reason=_BUG), requests, group, target)
            else:
                self._add(tally, group, part, counted)

    def _add(self, tally: DirectiveTally, group: TargetGroup, targets: _Targets, counted: RequestTally) -> None:
        """Add the ends of the requests of a group to some targets."""
        for used, requests in counted.nodes:
            tally.uses[used] += requests
        for kind, status, _, level, node, reason, requests, at in counted.ends:
            decisive = node if node is not None or level is None else self._node_of(level)
            why = None if reason is None else _OF_FILE.sub(r"whether a file \1", reason)
            tally.add(End(kind, status, decisive, why), requests, group, targets[at][0])

    @cached_property
    def _world(self) -> str:
        return json.dumps(self.world.form())

    def _by_world(self, group: TargetGroup, form: str) -> Iterator[tuple[str, _Targets]]:
        """Yield the targets of a group in parts, each with what is known of the world as its requests find it."""
        world = self.model.world_of_all(form, self.world)
        worlds: dict[str, list[tuple[bytes, int]]] = {}
        if world is not None:
            worlds[self._text(world)] = list(group.targets.items())
        else:
            for target, number in group.targets.items():
                of_target = json.dumps({**json.loads(form), "target": target.decode("latin-1")})
                world = self.model.world_of(of_target, self.world)
                worlds.setdefault(self._text(world), []).append((target, number))
        for text, targets in worlds.items():
            yield from ((text, part) for part in _parts(targets))

    def _world_of(self, request: str) -> str:
        """Return what is known of the world as a request finds it."""
        return self._text(self.model.world_of(request, self.world))

    def _text(self, world: World) -> str:
        return self._world if world is self.world else json.dumps(world.form())

    def _in_branches(self, answer: Answer, group: TargetGroup, target: bytes) -> Answer:
        """Return an answer that depends on files or events, together with the answer in each case."""
        request = self.gate.text(replace(group.request, url=replace(group.request.url, target=target)))
        world = self._world_of(request)
        branches: list[BranchForm] = json.loads(self._limited(lambda: self.model.native.branches(request, world)))
        kept = told(branches)
        answers = [self._decided(branch["outcome"]) for branch in kept]
        if len(answers) == 1:  # whatever exists
            return answers[0]
        return replace(answer, branches=tuple(zip(conditions(kept), answers, strict=True)))

    def _decided(self, outcome: OutcomeForm) -> Answer:
        answer = answer_of(outcome)
        level = outcome["level"]
        return answer if answer.node is not None or level is None else replace(answer, node=self._node_of(level))

    def _node_of(self, level: int) -> Node:
        return self.model.site.site["levels"][level]["node"]


def _parts(requests: Sequence[_Request]) -> Iterator[Sequence[_Request]]:
    return (requests[start : start + _MOST] for start in range(0, len(requests), _MOST))
