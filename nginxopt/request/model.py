"""The model of a site, which says what becomes of requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self

from nginxopt._native import RequestModel, SiteRefusedError
from nginxopt.config import Config
from nginxopt.config.recorded import RecordedConfig
from nginxopt.errors import InputError
from nginxopt.request.connection import ClientGate, RequestForm
from nginxopt.request.outcomes import BranchForm, OutcomeForm, TraceForm
from nginxopt.request.world import World
from nginxopt.semantics import Level
from nginxopt.semantics.site import Build, LoweredSite, lower
from nginxopt.semantics.site.form import LevelForm, ReturnForm, SiteForm, StatedForm
from nginxopt.semantics.upstreams import PROTOCOLS

_PASSES = tuple(f"{protocol}_pass" for protocol in PROTOCOLS)

Answering = Callable[[str, World], OutcomeForm]
"""A function that says what becomes of a request, as JSON, in a world."""


class SiteModel:
    """The model of the http block of a configuration.

    Attributes:
        config: The configuration.
        site: The lowered site: directives and levels by number.
        build: The nginx that answers.
        version: Its version.
        native: The model itself.
    """

    def __init__(
        self,
        config: Config,
        build: Build,
        *,
        ignores_missing: bool = False,
        root: Level | None = None,
        neutral: frozenset[str] = frozenset(),
    ) -> None:
        """Lower a configuration, as `lower` does it with these options. Raises `InputError` for what nginx refuses."""
        self._stated = (config, build, ignores_missing, neutral)
        self.config = config
        self.site = lower(config, build, ignores_missing=ignores_missing, root=root, neutral=neutral)
        self.build = build
        self.version = build.version
        try:
            self.native = RequestModel(self.site.form, list(self.site.texts))
        except SiteRefusedError as error:
            raise _refused(self.site, *error.args) from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process makes it: the native core cannot be sent."""
        config, *others = self._stated
        return _again, (RecordedConfig.of(config), *others)

    def gate(self, to: tuple[str, int] | None = None) -> ClientGate:
        """Return how clients connect to the site; `to` is an address whatever the URL says."""
        return ClientGate(self.site.site, to)

    def branches(self, request: RequestForm, world: World) -> list[BranchForm]:
        """Return what becomes of a request that depends on files, by what exists; empty if it depends on too many."""
        branches: list[BranchForm] = json.loads(self.native.branches(json.dumps(request), json.dumps(world.form())))
        return branches

    def trace(self, request: RequestForm, world: World) -> TraceForm:
        """Return what becomes of a request, and the way there."""
        trace: TraceForm = json.loads(self.native.trace(json.dumps(request), json.dumps(world.form())))
        return trace

    def without_upstreams(self) -> Self:
        """Return the model of the same site if no upstream answers: what is passed on is an error with status 502.

        A location with `try_files`, or whose script ends by `break`, still passes requests on.
        """
        site, levels = self.site.site, []
        for form in site["levels"]:
            passing = [number for name in _PASSES for number in form["settings"].get(name) or ()]
            if passing and "try_files" not in form["settings"]:
                failing: ReturnForm = {
                    "kind": "return", "node": site["directives"][passing[-1]]["node"], "args": ["502"],
                }  # fmt: skip
                form = {**form, "script": [*form["script"], failing]}
            levels.append(form)
        other = copy(self)
        without: SiteForm = {**site, "levels": levels}
        other.native = RequestModel(json.dumps(without), list(self.site.texts))
        return other

    def with_headers(self, level: int, headers: Sequence[tuple[str, str]]) -> Answering | None:
        """Return a function that says what becomes of a request, as JSON, if every response from a level has these
        headers instead of its own, whatever its status; None if nginx refuses them.
        """
        site = self.site.site
        form, first = site["levels"][level], len(site["directives"])
        stated: list[StatedForm] = [{"node": form["node"], "args": [*header, "always"]} for header in headers]
        settings = {**form["settings"], "add_header": [*range(first, first + len(stated))], "expires": []}
        changed: LevelForm = {**form, "settings": settings, "filters": []}
        levels = [*site["levels"][:level], changed, *site["levels"][level + 1 :]]
        with_headers: SiteForm = {**site, "levels": levels, "directives": [*site["directives"], *stated]}
        try:
            native = RequestModel(json.dumps(with_headers), list(self.site.texts))
        except SiteRefusedError:
            return None

        def answer(request: str, world: World) -> OutcomeForm:
            outcome: OutcomeForm = json.loads(native.answers([request], json.dumps(world.form()))[0])
            return outcome

        return answer


def _again(recorded: RecordedConfig, build: Build, ignores_missing: bool, neutral: frozenset[str]) -> SiteModel:
    return SiteModel(recorded.config(), build, ignores_missing=ignores_missing, neutral=neutral)


def _refused(site: LoweredSite, node: int, message: str) -> InputError:
    """Return nginx's error for a directive."""
    directive = site.nodes.directive(node)
    if directive is None:
        return InputError(message, nginx=message)
    return directive.error(message, nginx=directive.located(message))
