"""The model that rules query: a configuration as levels, with an index of its directives, for one nginx version.

A *level* is a block that may inherit settings from the one around it, such as a server or a location
(`nginxopt.semantics.inherit`). Rules ask for directives by name (`each`), and for the settings in force at their
levels. What takes long is computed when a rule first asks, and shared by all rules (`once`).

The model also records, for the rule that is running, why its silence may mean nothing: it asked for settings that may
be around a fragment (`unknown`), could not judge a part (`decline`), or exceeded a budget (`exceeded`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from nginxopt.budget import ExceededError
from nginxopt.config import Config, Directive, Scope
from nginxopt.errors import InputError
from nginxopt.facts.lexicon import ROWS
from nginxopt.lint.queries.redirecting import may_chain
from nginxopt.lint.queries.settled import DefinedVariables, definitions, settled
from nginxopt.rewrite.surroundings import captures_may_be_read
from nginxopt.rewrite.suspicious import suspicious_rewrites
from nginxopt.semantics import (
    PROTOCOLS,
    Address,
    Endpoint,
    Level,
    Listen,
    Pass,
    Upstream,
    commands,
    endpoints,
    levels,
    read_listens,
    read_pass,
)
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.lint.queries.requests import Requests
    from nginxopt.request.redirects import RedirectChain
    from nginxopt.rewrite.compilation import Plan
    from nginxopt.semantics.commands import Fault
    from nginxopt.system.host import Host

_OTHERS = {"stream", "mail"}
_Answer = TypeVar("_Answer")


class Model:
    """A configuration to check for the nginx version `target`. Everything is computed once, on first use.

    A file that is included in several places occurs in each of them. `host` is the machine to check, None for none.

    For a fragment, `alone` assumes that nothing is around it, and `around` is the level of the http block that includes
    it. With `is_all`, includes are assumed to read the same files where the configuration is installed. With
    `is_guess`, the version is a guess, and a rule does not take the defaults of an old release for those of the
    configuration. `beside` are fragments of the same tree, which the configuration may include where it is installed.
    """

    def __init__(
        self,
        config: Config,
        target: Version,
        host: Host | None = None,
        *,
        alone: bool = False,
        is_all: bool = False,
        around: Level | None = None,
        is_guess: bool = False,
        beside: tuple[Config, ...] = (),
    ) -> None:
        self.config = config
        self.target = target
        self.host = host
        self.is_guess = is_guess
        self._beside = beside
        self._is_alone = alone
        self._is_all = is_all
        self._around = around
        self._answers: dict[object, tuple[Any, bool]] = {}
        self._has_declined = False
        self._exceeded: ExceededError | None = None
        self._of_kinds: dict[tuple[str, ...], list[Level]] = {}

    @cached_property
    def root(self) -> Level:
        """The outermost level."""
        return levels(self.config, self.target, as_given=self._is_alone, is_all=self._is_all, around=self._around)

    @cached_property
    def alone(self) -> Model:
        """The same configuration, assuming that nothing is around a fragment; this model if that is known anyway."""
        return self if self.is_whole else Model(self.config, self.target, self.host, alone=True, around=self._around)

    @cached_property
    def is_whole(self) -> bool:
        """Whether the whole configuration was read: it is not a fragment, and no include reads more elsewhere."""
        return not (self.root.parent is not None or self.config.missing or any(level.is_open for level in self._levels))

    def each(self, *names: str) -> Iterator[tuple[Directive, Level]]:
        """Yield the directives of these names with their levels, name by name, without those of stream and mail."""
        for name in names:
            yield from self._index.get(name, ())

    def everywhere(self, *names: str) -> Iterator[tuple[Directive, Level]]:
        """Yield the directives of these names with their levels, as `each` does, and then those of stream and mail."""
        yield from self.each(*names)
        for level in self._others:
            for name in names:
                yield from ((directive, level) for directive in level.own(name))

    def beside(self, *names: str) -> Iterator[Directive]:
        """Yield the directives of these names in fragments of the same tree."""
        for config in self._beside:
            yield from (directive for directive, _ in config.walk() if directive.name in names)

    def protocols(self, *kinds: str) -> Iterator[Level]:
        """Yield the outermost levels of these protocols: `http`, `stream` or `mail`."""
        of_http = (level for kind in kinds if kind not in _OTHERS for level in self.levels(kind))
        yield from (*of_http, *(level for level in self._others if level.kind in kinds))

    def mentions(self, word: str) -> bool:
        """Return whether any text of the configuration, even a comment, contains a word. If not, no directive does."""
        return any(word.encode() in file.source.data for file in self.config.files)

    def lacks(self, names: tuple[str, ...]) -> bool:
        """Return whether a whole configuration has no directive of these names; False for fragments."""
        return self._around is None and self.config.http is not None and self._names.isdisjoint(names)

    def levels(self, *kinds: str) -> Iterator[Level]:
        """Yield the levels of these kinds in the order of reading, without those of stream and mail."""
        if kinds not in self._of_kinds:
            self._of_kinds[kinds] = [level for level in self._levels if level.kind in kinds]
        return iter(self._of_kinds[kinds])

    @cached_property
    def upstreams(self) -> dict[str, Upstream]:
        """The upstreams of http, by name in lower case."""
        around = () if self._around is None else (level for level in self._around.levels if level.kind == "upstream")
        upstreams = (Upstream(level.args[0], level) for level in (*around, *self.levels("upstream")) if level.args)
        return {upstream.name.lower(): upstream for upstream in upstreams}

    @cached_property
    def passes(self) -> tuple[Pass, ...]:
        """All directives that pass requests to another server."""
        names = [f"{protocol}_pass" for protocol in PROTOCOLS]
        passes = (self._read_pass(directive, level) for directive, level in self.each(*names))
        return tuple(pass_ for pass_ in passes if pass_ is not None)

    def _read_pass(self, directive: Directive, level: Level) -> Pass | None:
        """Return a pass; if its target is a variable that always names one upstream, as if it named the upstream."""
        pass_ = read_pass(directive, level, self.upstreams)
        if pass_ is None or not (self.upstreams and "$" in pass_.host):
            return pass_
        target = settled(self, level, str(directive.args[0]))
        named = read_pass(directive, level, self.upstreams, target) if target else None
        return named if named is not None and named.upstream else pass_

    @cached_property
    def definitions(self) -> DefinedVariables:
        """What may define variables."""
        return definitions(self)

    @cached_property
    def passes_at(self) -> dict[Level, list[Pass]]:
        """The passes by level."""
        by_level: dict[Level, list[Pass]] = {}
        for pass_ in self.passes:
            by_level.setdefault(pass_.level, []).append(pass_)
        return by_level

    @cached_property
    def maps(self) -> dict[str, Level]:
        """The maps by variable name in lower case, without the `$`."""
        maps = (level for level in self.levels("map") if len(level.args) == 2)
        return {level.args[1].lstrip("$").strip("{}").lower(): level for level in maps}

    @cached_property
    def listens(self) -> tuple[Listen, ...]:
        """The listening sockets of the http servers, in the order of reading."""
        return tuple(read_listens(self.levels("server")))

    @cached_property
    def endpoints(self) -> dict[Address, Endpoint]:
        """The addresses of http, with the servers of each."""
        return endpoints(self.listens)

    @cached_property
    def faults(self) -> tuple[tuple[Directive, Scope, Fault], ...]:
        """The directives that nginx refuses for their place, arguments or its release, with the reason."""
        return tuple(commands.faults(self.config, self.target))

    @property
    def plan(self) -> Plan:
        """The plan of `nginxopt rewrite-to-map`, with half of the work: what it counts may be a lower bound.

        The rule that asks then has not judged all. Raises `InputError` for a rewrite that nginx rejects.
        """
        if self._plan.is_partial:
            self.decline()
        return self._plan

    @cached_property
    def _plan(self) -> Plan:
        from nginxopt.rewrite.compilation import plan
        from nginxopt.rewrite.kinds.kind import Options

        return plan(self.config, Options(groups=True, for_remark=True))

    @cached_property
    def reads_captures(self) -> bool:
        """Whether anything may read `$1` to `$9` after the rules and conditions of a server or location."""
        return captures_may_be_read(self.config)

    @cached_property
    def suspicious_rewrites(self) -> tuple[tuple[Directive, Level], ...]:
        """The rewrites with their levels, without those of folded runs that are as plain as `^/old$` or `^/old/(.*)$`.

        Raises `InputError` for a rewrite that nginx rejects.
        """
        return tuple(suspicious_rewrites(self._levels))

    @property
    def chains(self) -> tuple[RedirectChain, ...]:
        """The chains and loops of redirects. Raises `InputError` for a rewrite that nginx rejects."""
        return _chains(self)

    @cached_property
    def requests(self) -> Requests:
        """What becomes of requests, for rules that show one."""
        from nginxopt.lint.queries.requests import Requests

        return Requests(self.config, self.root, self.target, self.decline)

    @cached_property
    def outside(self) -> frozenset[Level]:
        """The levels around a fragment, which other files may use as well."""
        levels: set[Level] = set()
        level = self.root.parent
        while level is not None:
            levels.add(level)
            level = level.parent
        return frozenset(levels)

    def decline(self) -> None:
        """Record that the current rule cannot judge a part of the configuration, and may be silent for that reason.

        What it does not find is then no reason to call a suppression or an entry of a baseline unused.
        """
        self._has_declined = True

    @contextmanager
    def within_budget(self) -> Iterator[None]:
        """End the block when a rule exceeds a budget in it: the rule declines to judge the rest, and a note says so."""
        try:
            yield
        except ExceededError as error:
            self._exceeded = error
            self.decline()

    def exceeded(self) -> ExceededError | None:
        """Return the budget that a rule exceeded since the last call."""
        exceeded, self._exceeded = self._exceeded, None
        return exceeded

    def has_declined(self) -> bool:
        """Return whether a rule declined to judge something since the last call."""
        declined, self._has_declined = self._has_declined, False
        return declined

    @property
    def refusal(self) -> InputError | None:
        """The error of nginx that kept rules from asking the model of requests; None if they could, or did not ask."""
        error = self.requests.refusal if "requests" in vars(self) else None
        return error if error is not None and error.nginx is not None and error.source is not None else None

    def unknown(self) -> set[str]:
        """Return the names of settings that may be around the fragment, and that were asked for; forget them."""
        names: set[str] = set()
        level: Level | None = self.root if self.config.candidates != ((),) else None
        while level is not None:
            names |= level.unknown
            level.unknown.clear()
            level = level.parent
        return names

    @cached_property
    def _levels(self) -> tuple[Level, ...]:
        return () if self._is_of_others else tuple(_walk(self.root))

    @cached_property
    def _others(self) -> tuple[Level, ...]:
        """The levels of stream and mail that `levels` leaves out."""
        inner = (block for block in self.root.levels if block.kind in _OTHERS)
        return tuple(level for block in ((self.root,) if self._is_of_others else inner) for level in block.walk())

    @property
    def _is_of_others(self) -> bool:
        """Whether this is a fragment that only a block of stream or mail can include."""
        contexts = self.config.candidates
        return bool(contexts) and all(context and context[0] in _OTHERS for context in contexts)

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names of all directives, without rows of tables."""
        others = (str(directive.name) for level in self._others for directive in level.directives)
        folded = (bulk.name for level in self._levels for bulk in level.bulks)
        return frozenset(self._index).union(others, folded)

    @cached_property
    def _index(self) -> dict[str, list[tuple[Directive, Level]]]:
        index: dict[str, list[tuple[Directive, Level]]] = {}
        for level in self._levels:
            rows = level.kind in ROWS
            for directive in level.directives:
                if rows and directive.name != "include":
                    continue
                index.setdefault(str(directive.name), []).append((directive, level))
        return index


def once(query: Callable[[Model], _Answer]) -> Callable[[Model], _Answer]:
    """Make a function compute its answer about a model only once, as several rules ask."""

    @wraps(query)
    def ask(model: Model) -> _Answer:
        answers = model._answers
        if query not in answers:
            before = model.has_declined()
            answers[query] = query(model), model.has_declined()
            model._has_declined = before
        answer: _Answer
        answer, declined = answers[query]
        model._has_declined |= declined
        return answer

    return ask


@once
def _chains(model: Model) -> tuple[RedirectChain, ...]:
    if model.mentions("rewrite"):
        _ = model.plan  # raises the error for a rejected rewrite
    if not may_chain(model):
        return ()
    from nginxopt.request.chains import chains_in

    site = model.requests.model
    if site is None:
        model.decline()
        return ()
    return tuple(chains_in(site))


def _walk(level: Level) -> Iterator[Level]:
    yield level
    for inner in level.levels:
        if inner.kind not in _OTHERS:
            yield from _walk(inner)
