"""Asks the model of requests how nginx answers requests that a rule makes up.

Rules read the configuration first, and ask only where something looks wrong: to lower a site takes longer than most
rules take. Where the model does not know, there is no answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from nginxopt import lazy
from nginxopt.config import Config, Directive
from nginxopt.errors import InputError
from nginxopt.lint.diagnostic import OUTCOME, Sign, Witness
from nginxopt.records import record
from nginxopt.semantics import Level, commands
from nginxopt.semantics.site import Build
from nginxopt.text import decode, encode
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.request.client import RequestForm
    from nginxopt.request.doors import Door, Doors
    from nginxopt.request.model import OutcomeForm, SiteModel, StepForm

FOREIGN = "203.0.113.7"
"""The address of a client that no configuration allows by name (RFC 5737, TEST-NET-3)."""

_FOREIGN_IPV6 = "2001:db8::7"
"""The same where clients connect over IPv6 (RFC 3849)."""

_MOST_FILES = 4
"""How often a request is asked again with an undecided file, such as one of `try_files`, as missing and as existing."""

_NO_TEXT = lazy.pattern(rb"[\x00-\x20\x7f-\xff]")


@record(eq=True)
class AskedRequest:
    """A request to the server of a level, as a rule makes it up.

    Attributes:
        target: Path and arguments as in a request line.
        headers: Those besides `Host`, as curl's `-H` takes them.
        existing: Files that are assumed to exist, and folders with a slash at their end.
    """

    target: bytes
    method: str = "GET"
    headers: tuple[str, ...] = ()
    client: str | None = None
    existing: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@record(eq=True)
class ModelAnswer:
    """The answer of the model to a request.

    Attributes:
        url: The URL of the request.
        level: The level whose settings are in force, of those that rules see; None if it is not known.
        directive: The directive that decides; None if there is none, or if it is one of a folded run.
        unknown_at: The directive whose effect is not known; None if there is none.
        outcome: The outcome as the model returns it; its strings are bytes as Latin-1.
        traced: Returns the decisions that lead there, which take longer than the outcome.
    """

    asked: AskedRequest
    url: str
    level: Level | None
    directive: Directive | None
    unknown_at: Directive | None
    outcome: OutcomeForm
    traced: Callable[[], Sequence[StepForm]]

    @property
    def is_known(self) -> bool:
        """Whether the outcome of the request is known."""
        return self.outcome["kind"] != "unknown"

    @property
    def file(self) -> str | None:
        """The file that is sent if it exists; None if there is none."""
        if self.outcome["file"] is not None:
            return _text(self.outcome["file"])
        unknown = self.outcome["unknown"]
        question = unknown["question"] if unknown else None
        return _text(question["path"]) if question and question["kind"] == "file" else None

    @property
    def passed_target(self) -> str | None:
        """The request target that an upstream gets; None if it gets none."""
        upstream = self.outcome["upstream"]
        return None if upstream is None or upstream["target"] is None else _text(upstream["target"])

    @property
    def is_decided_by(self) -> Directive | None:
        """The directive that decides, or the one that is not understood."""
        return self.directive or self.unknown_at

    @property
    def is_at(self) -> str:
        """The kind of the outcome."""
        return self.outcome["kind"]

    def is_in(self, level: Level) -> bool:
        """Return whether the settings of a level, or of one inside it, are in force."""
        inner = self.level
        while inner is not None and inner is not level:
            inner = inner.parent
        return inner is not None

    def headers(self, name: str) -> tuple[str, ...]:
        """Return the values of a header that `add_header` or `expires` adds."""
        return tuple(
            _text(header["value"]) for header in self.outcome["headers"] if header["name"].lower() == name.lower()
        )

    def witness(self, shows: str, sign: Sign = OUTCOME) -> Witness:
        """Return the request as a witness of what a clause says, and of what a real nginx has to show."""
        asked_for = [self.file] if self.file is not None and not self.is_known else []
        assume = (
            *(f"exists={path}" for path in (*self.asked.existing, *asked_for)),
            *(f"missing={path}" for path in self.asked.missing),
        )
        return Witness(self.url, shows, self.asked.method, self.asked.headers, self.asked.client, assume, sign)


class Requests:
    """The model of requests of a configuration; it is made when it is first asked.

    `decline` is called for each request whose outcome is unknown. `refusal` is the reason if there is no model.
    """

    def __init__(self, config: Config, root: Level, target: Version, decline: Callable[[], None]) -> None:
        self._config = config
        self._root = root
        self._target = target
        self._decline = decline
        self.refusal: InputError | None = None

    def ask(self, level: Level, asked: AskedRequest) -> Iterator[ModelAnswer]:
        """Yield how nginx answers a request at the server of a level: over TLS first, then without.

        Nothing if the server cannot be reached, or if the model does not take the configuration.
        """
        if self.model is None:
            self._decline()
            return
        if _NO_TEXT.search(asked.target):
            return
        server = self._servers.get(_server(level))
        if server is None:
            return
        from nginxopt.request.model import World

        world = json.dumps(World(asked.existing, asked.missing).form())
        for door in self._doors_of(server):
            asked = _from_there(door, asked)
            form = _form(door, asked)
            outcome: OutcomeForm = json.loads(self.model.native.answers([json.dumps(form)], world)[0])
            if _is_left_open(outcome):
                self._decline()
            if outcome["server"] == server:
                yield ModelAnswer(
                    asked,
                    door.site + asked.target.decode("ascii"),
                    self._level(outcome["level"]),
                    self._directive(outcome["node"]),
                    self._directive(outcome["unknown"]["node"] if outcome["unknown"] else None),
                    outcome,
                    partial(self._steps, form, world),
                )

    def first(self, level: Level, *requests: AskedRequest) -> ModelAnswer | None:
        """Return the first answer with the settings of a level or of one inside it; None if there is none.

        A file that decides whether it does is assumed to be missing first, and then to exist, as for `try_files`.
        """
        return next((answer for answer in self.all(level, *requests) if answer.is_in(level)), None)

    def all(self, level: Level, *requests: AskedRequest) -> Iterator[ModelAnswer]:
        """Yield the answers to requests at the server of a level; if a file decides, also without and with it."""
        asked_for = list(requests)
        for _ in range(_MOST_FILES):
            further: list[AskedRequest] = []
            for asked in asked_for:
                for answer in self.ask(level, asked):
                    yield answer
                    if not answer.is_known and answer.file is not None:
                        further.append(replace(asked, missing=(*asked.missing, answer.file)))
                        further.append(replace(asked, existing=(*asked.existing, answer.file)))
            asked_for = further

    def place(self, answer: ModelAnswer) -> Level | None:
        """Return the location that a request gets to before anything leads it elsewhere, such as an error page."""
        from nginxopt.request.model import chosen_location

        node = chosen_location(answer.traced())
        return None if node is None else self._levels.get(self._directive(node))

    def _steps(self, form: RequestForm, world: str) -> Sequence[StepForm]:
        assert self.model is not None  # it has answered
        steps: Sequence[StepForm] = json.loads(self.model.native.trace(json.dumps(form), world))["steps"]
        return steps

    @cached_property
    def model(self) -> SiteModel | None:
        """The model; None for a configuration that nginx refuses, or that shows no server.

        A directive of later releases is modelled as if the target had it, because another rule reports it.
        """
        from nginxopt.request.model import SiteModel

        names = {str(directive.name) for level in self._root.walk() for directive in level.directives}
        newer = frozenset(name for name in names if commands.came_after(name, self._target))
        try:
            return SiteModel(self._config, Build(self._target, newer), ignores_missing=True, root=self._root)
        except InputError as error:
            self.refusal = error
            return None

    @cached_property
    def _doors(self) -> Doors:
        from nginxopt.request.doors import Doors

        assert self.model is not None  # or nothing is asked
        return Doors(self.model, by_patterns=True)

    @cached_property
    def _by_server(self) -> dict[int, tuple[Door, ...]]:
        return {}

    def _doors_of(self, server: int) -> tuple[Door, ...]:
        if server not in self._by_server:
            self._by_server[server] = tuple(self._doors.of_server(server))
        return self._by_server[server]

    @cached_property
    def _servers(self) -> dict[Directive | None, int]:
        """The numbers of the servers, by their directives."""
        assert self.model is not None  # or nothing is asked
        return {level.opener: number for number, level in enumerate(self.model.site.servers)}

    @cached_property
    def _levels(self) -> dict[Directive | None, Level]:
        """The levels that rules see, by their directives: those of the site may be others, without what is unknown."""
        return {level.opener: level for level in self._root.walk() if level.scope is not None}

    def _level(self, number: int | None) -> Level | None:
        if number is None or self.model is None:
            return None
        return self._levels.get(self.model.site.levels[number].opener)

    def _directive(self, node: int | None) -> Directive | None:
        return None if node is None or self.model is None else self.model.site.nodes.directive(node)


def _is_left_open(outcome: OutcomeForm) -> bool:
    """Return whether it is not known how nginx answers a request, whichever files exist."""
    unknown = outcome["unknown"]
    question = unknown["question"] if unknown else None
    return outcome["kind"] == "unknown" and (question is None or question["kind"] != "file")


def _text(latin: str) -> str:
    """Return text of the model, which is bytes as Latin-1, as text."""
    return decode(latin.encode("latin-1"))


def _latin(text: str) -> str:
    """Return text in the form of the model: bytes as Latin-1."""
    return encode(text).decode("latin-1")


def _server(level: Level) -> Directive | None:
    """Return the directive of the server of a level; None for that of a fragment."""
    server = level.around("server")
    return server.opener if server else None


def _from_there(door: Door, asked: AskedRequest) -> AskedRequest:
    """Return a request with a foreign address of the family of a socket."""
    if asked.client not in (FOREIGN, _FOREIGN_IPV6):
        return asked
    form: RequestForm = json.loads(door.form)
    return replace(asked, client=_FOREIGN_IPV6 if form["connection"]["family"] == "inet6" else FOREIGN)


def _form(door: Door, asked: AskedRequest) -> RequestForm:
    form: RequestForm = json.loads(door.form)
    headers = [_latin(header).partition(":")[::2] for header in asked.headers]
    names = {name.lower() for name, _ in headers}
    kept = [header for header in form["headers"] if header[0].lower() not in names]
    return {
        **form,
        "method": asked.method,
        "target": asked.target.decode("latin-1"),
        "headers": [*kept, *((name, value.strip(" \t")) for name, value in headers)],
        "connection": {**form["connection"], "client": asked.client},
    }
