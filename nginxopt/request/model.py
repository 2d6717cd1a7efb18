"""The model of a site: what is known of the world around nginx, and how nginx answers a request in it.

The model itself is native. What it reads and says has the fields of `rust/src/request/world.rs` and `outcome.rs`. Text
is bytes as Latin-1: each byte is the character of its number; `text_of` decodes it, `shown` is for people.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict

from nginxopt import lazy
from nginxopt._native import RequestModel, SiteRefusedError
from nginxopt.budget import limit
from nginxopt.config import Config
from nginxopt.config.configuration import RecordedConfig
from nginxopt.errors import InputError, UsageError
from nginxopt.records import record
from nginxopt.request.client import ClientGate, RequestForm
from nginxopt.request.listing import Listing
from nginxopt.semantics import Level
from nginxopt.semantics.site import Build, LoweredSite, lower
from nginxopt.semantics.site.form import IfForm, LevelForm, Node, ReturnForm, SiteForm, StatedForm
from nginxopt.semantics.upstreams import PROTOCOLS
from nginxopt.text import decode, encode
from nginxopt.text.display import unicode

if TYPE_CHECKING:
    from nginxopt.request.referers import Referers

_REQUESTS = 10
"""The budget for a comparison of two sites is divided by this number for each request."""

_VARIABLE = lazy.pattern(r"\$?(?:\{(\w+)\}|(\w+))", re.ASCII)


class FilesForm(TypedDict):
    """What `Files` of `rust/src/request/world.rs` reads."""

    existing: list[str]
    missing: list[str]
    listed: list[str]
    disk: bool
    root: str | None


class LimitsForm(TypedDict):
    """What `Limits` of `rust/src/request/world.rs` reads."""

    steps: int
    bytes: int


class ExceededForm(TypedDict):
    """What `Exceeded` of `rust/src/request/world.rs` reads."""

    node: int
    level: int
    status: int


class WorldForm(TypedDict):
    """What `World` of `rust/src/request/world.rs` reads. Text is bytes as Latin-1."""

    files: FilesForm
    variables: Mapping[str, str]
    may_send_more: bool
    accel: str | None
    limits: LimitsForm
    exceeded: ExceededForm | None


@record(eq=True)
class World:
    """What is known of the world around nginx. An outcome that depends on anything else is unknown.

    Attributes:
        existing: The paths of files, and of folders with a slash at their end, that are taken to exist.
        missing: The paths that are taken to be missing.
        variables: The values of variables, by name in lower case.
        listed: The folders, without a slash at their end, in which nothing exists but what `existing` has.
        root: The folder in which all other files are looked for by their paths; None if it is unknown which exist.
        may_send_more: Whether arguments, headers and cookies that a request does not have are unknown, not absent.
        exceeded: A `limit_req` or `limit_conn` that refuses the request.
        accel: The header `X-Accel-Redirect` in the answer of the first upstream that is asked.
    """

    existing: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    listed: tuple[str, ...] = ()
    root: str | None = None
    may_send_more: bool = False
    exceeded: ExceededForm | None = None
    accel: str | None = None

    @classmethod
    def assume(cls, assumptions: Iterable[str], root: str | None = None) -> Self:
        """Return a world in which these assumptions hold: `exists=PATH`, `missing=PATH`, `NAME=VALUE`.

        Raises `UsageError` for any other text, and for a path that both exists and is missing.
        """
        existing: list[str] = []
        missing: list[str] = []
        variables: dict[str, str] = {}
        for assumption in assumptions:
            name, equals, value = assumption.partition("=")
            if not equals:
                raise _wrong(assumption, "use exists=PATH, missing=PATH or VARIABLE=VALUE")
            if name in ("exists", "missing"):
                (existing if name == "exists" else missing).append(_path(assumption, value))
            else:
                variables[_variable(assumption, name)] = value
        both = {path.rstrip("/") for path in existing} & {path.rstrip("/") for path in missing}
        if both:
            raise UsageError(f"--assume has {min(both)} both as existing and as missing")
        return cls(tuple(existing), tuple(missing), variables, root=root)

    def with_files(self, existing: Iterable[str], missing: Iterable[str]) -> Self:
        """Return the world in which these files exist, too, and those are missing."""
        return replace(self, existing=(*self.existing, *existing), missing=(*self.missing, *missing))

    def with_listing(self, listing: Listing) -> Self:
        """Return the world with the files of a listing as well. What was assumed before takes precedence.

        Raises `UsageError` if the world has a `root`.
        """
        if self.root is not None:
            raise UsageError("files are known either from --root or from --exists")
        missing = set(self.missing)
        existing = (path for path in listing.existing if path.rstrip("/") not in missing and path not in missing)
        return replace(self, existing=(*self.existing, *existing), listed=listing.folders)

    def form(self) -> WorldForm:
        """Return the world as the model reads it."""
        files: FilesForm = {
            "existing": [*map(_latin, self.existing)],
            "missing": [*map(_latin, self.missing)],
            "listed": [*map(_latin, self.listed)],
            "disk": self.root is not None,
            "root": self.root or None,
        }
        variables = {name: _latin(value) for name, value in self.variables.items()}
        limits: LimitsForm = {"steps": max(1, limit("steps") // _REQUESTS), "bytes": limit("value-bytes")}
        return {
            "files": files,
            "variables": variables,
            "may_send_more": self.may_send_more,
            "exceeded": self.exceeded,
            "accel": self.accel,
            "limits": limits,
        }


def _path(assumption: str, path: str) -> str:
    if not path.startswith("/"):
        raise _wrong(assumption, "the path of a file begins with /")
    return path


def _variable(assumption: str, name: str) -> str:
    match = _VARIABLE.fullmatch(name)
    if match is None:
        raise _wrong(assumption, f'"{name}" is not the name of a variable')
    return (match[1] or match[2]).lower()


def _wrong(assumption: str, hint: str) -> UsageError:
    return UsageError(f"invalid assumption {assumption!r}", hint=hint)


def _latin(text: str) -> str:
    return encode(text).decode("latin-1")


OutcomeKind = Literal[
    "return", "redirect", "static", "error", "closed", "proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached",
    "handler", "unknown", "refused",
]  # fmt: skip
"""The kinds of the model, and `refused` of `verify`, where nothing listens."""

StepKind = Literal[
    "socket", "server", "set", "if", "rewrite", "return", "break", "location", "internal", "access", "try_files",
    "index", "error_page", "handler", "map",
]  # fmt: skip


class PassedForm(TypedDict):
    """A request as an upstream gets it."""

    server: str
    scheme: str
    method: str
    target: str | None


class HeaderForm(TypedDict):
    """A header that is added to a response."""

    node: Node
    name: str
    value: str


class QuestionForm(TypedDict, total=False):
    """A question about the world: `kind` is `file`, `variable`, `upstream` or `event`."""

    kind: str
    path: str
    name: str
    server: str
    text: str


class UnknownForm(TypedDict):
    """Why an outcome, or a part of it, is unknown."""

    reason: str
    node: Node | None
    question: QuestionForm | None


class OutcomeForm(TypedDict):
    """What becomes of a request."""

    kind: OutcomeKind
    status: int | None
    location: str | None
    body: str | None
    uri: str
    args: str
    server: int | None
    level: int | None
    node: Node | None
    file: str | None
    upstream: PassedForm | None
    headers: list[HeaderForm]
    unknown: UnknownForm | None


class PassedOverForm(TypedDict):
    """Something that was considered and not taken."""

    node: Node
    reason: str


class StepForm(TypedDict):
    """A decision that nginx makes for a request, before the outcome."""

    kind: StepKind
    node: Node | None
    detail: str
    captures: list[str | None]
    passed_over: list[PassedOverForm]


class TraceForm(TypedDict):
    """An outcome, and the steps that led there."""

    outcome: OutcomeForm
    steps: list[StepForm]


class BranchForm(TypedDict):
    """What becomes of a request if some files exist and others do not, and some events happen and others do not.

    Folders have a slash at their end. Events are clauses, such as `the subrequest to /auth ends with 401`.
    """

    exists: list[str]
    missing: list[str]
    happens: list[str]
    fails: list[str]
    outcome: OutcomeForm


def asks_file(outcome: OutcomeForm) -> bool:
    """Return whether an outcome is unknown because it is unknown whether a file exists."""
    return _question(outcome) == "file"


def depends(outcome: OutcomeForm) -> bool:
    """Return whether an outcome, or a part of it, is not known, and depends on files or events, by which it may have
    branches."""
    return _question(outcome) in (("file", "event") if outcome["kind"] == "unknown" else ("event",))


def _question(outcome: OutcomeForm) -> str | None:
    question = outcome["unknown"]["question"] if outcome["unknown"] else None
    return None if question is None else question["kind"]


def told(branches: Sequence[BranchForm]) -> tuple[BranchForm, ...]:
    """Return the branches without repetitions at the end: of the last ones with equal outcomes, only one is kept."""
    kept = [*branches]
    while len(kept) > 1 and kept[-2]["outcome"] == kept[-1]["outcome"]:
        del kept[-2]
    return tuple(kept)


def conditions(branches: Sequence[BranchForm]) -> list[str]:
    """Return for each branch a clause that says when it is taken, unless an earlier one is. The last is `otherwise`.

    A clause names no missing files, as an earlier branch is taken if they exist.
    """
    clauses = [f"if {_condition(branch)}" for branch in branches[:-1]]
    return [*clauses[:1], *(f"else {clause}" for clause in clauses[1:]), *(["otherwise"] if branches else [])]


def _condition(branch: BranchForm) -> str:
    exists = branch["exists"]
    paths = [shown(path) for path in exists if not any(_is_below(other, path) for other in exists)]
    files = [f"{' and '.join(paths)} exist{'' if paths[1:] else 's'}"] if paths else []
    return " and ".join([*files, *branch["happens"]])


def _is_below(path: str, folder: str) -> bool:
    """Return whether a path is in a folder, whose own path ends with a slash, so that it exists only if that does."""
    return folder.endswith("/") and path != folder and path.startswith(folder)


def location_of(outcome: OutcomeForm) -> str | None:
    """Return the first `Location` of a response: that of the redirect, or one that `add_header` sets."""
    if outcome["location"] is not None:
        return outcome["location"]
    return next((header["value"] for header in outcome["headers"] if header["name"].lower() == "location"), None)


def chosen_location(steps: Iterable[StepForm]) -> Node | None:
    """Return the location that a request gets to before anything leads it elsewhere, such as an error page."""
    before = takewhile(lambda step: step["kind"] not in ("error_page", "internal"), steps)
    return next((step["node"] for step in reversed([*before]) if step["kind"] == "location"), None)


def text_of(latin: str) -> str:
    """Return text of the model as text."""
    return decode(latin.encode("latin-1"))


def shown(latin: str) -> str:
    r"""Return text of the model for people: bytes that are not UTF-8 are `\xff`."""
    return latin if latin.isascii() else unicode(text_of(latin))


_PASSES = tuple(f"{protocol}_pass" for protocol in PROTOCOLS)

Answering = Callable[[str, World], OutcomeForm]
"""A function that says how nginx answers a request, as JSON, in a world."""


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
        reads_lua: bool = False,
    ) -> None:
        """Lower a configuration, as `lower` does it with these options. Raises `InputError` for what nginx refuses."""
        self._stated = (config, build, ignores_missing, neutral, reads_lua)
        self.config = config
        self.site = lower(
            config, build, ignores_missing=ignores_missing, root=root, neutral=neutral, reads_lua=reads_lua
        )
        self.build = build
        self.version = build.version
        try:
            self.native = RequestModel(self.site.form, list(self.site.texts))
        except SiteRefusedError as error:
            raise _refused(self.site, *error.args) from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what another process builds the model from, as the native core cannot be sent."""
        config, *others = self._stated
        return _again, (RecordedConfig.of(config), *others)

    def gate(self, to: tuple[str, int] | None = None) -> ClientGate:
        """Return how clients connect to the site; `to` is the address to connect to, whatever the URL says."""
        return ClientGate(self.site.site, to)

    def branches(self, request: RequestForm, world: World) -> list[BranchForm]:
        """Return the answers to a request, one for each case of which files exist; empty if they depend on none, or on
        too many."""
        world_form = self.world_of(request, world).form()
        branches: list[BranchForm] = json.loads(self.native.branches(json.dumps(request), json.dumps(world_form)))
        return branches

    def trace(self, request: RequestForm, world: World) -> TraceForm:
        """Return how nginx answers a request, and the steps that lead there."""
        world_form = self.world_of(request, world).form()
        trace: TraceForm = json.loads(self.native.trace(json.dumps(request), json.dumps(world_form)))
        return trace

    def world_of(self, request: RequestForm | str, world: World) -> World:
        """Return the world of a request, which may be JSON: with `$invalid_referer`, if its headers say what that is.

        The world itself if they do not.
        """
        return self._world_of(request, world, self._visited) or world

    def world_of_all(self, request: RequestForm | str, world: World) -> World | None:
        """Return the world of all requests that differ from a request only in their targets; None if it is not the
        same for all.
        """
        return self._world_of(request, world, self._of_server)

    def _world_of(
        self, request: RequestForm | str, world: World, reading: Callable[[TraceForm], Iterator[int]]
    ) -> World | None:
        """Return the world of a request; None if the blocks that may be `reading` give the variable several values."""
        if not self._referers or "invalid_referer" in world.variables:
            return world
        form: RequestForm = json.loads(request) if isinstance(request, str) else request
        sent = (value.strip(" ").encode("latin-1") for name, value in form["headers"] if name.lower() == "referer")
        referer = next(sent, None)
        if referer is None and world.may_send_more:
            return world
        values = {number: None if each is None else each.value(referer) for number, each in self._referers.items()}
        some = {*values.values()}
        if len(some) > 1:  # it is that of the block where it is read first
            trace: TraceForm = json.loads(self.native.trace(json.dumps(form), json.dumps(world.form())))
            some = {values[number] for number in reading(trace) if number in values}
        if len(some) > 1:
            return None
        value = some.pop() if some else None
        return world if value is None else replace(world, variables={**world.variables, "invalid_referer": value})

    def _visited(self, trace: TraceForm) -> Iterator[int]:
        """Yield the blocks whose scripts and settings a request reaches, except `http` and `if` blocks."""
        nodes = {step["node"] for step in trace["steps"]}
        for number in self._of_server(trace):
            form = self.site.site["levels"][number]
            if form["kind"] == "server" or form["node"] in nodes or number == trace["outcome"]["level"]:
                yield number

    def _of_server(self, trace: TraceForm) -> Iterator[int]:
        """Yield the blocks of the server that a request reaches; all blocks if that is not known."""
        site, number = self.site.site, trace["outcome"]["server"]
        server = None if number is None else site["servers"][number]["node"]
        inside = set[int]()
        for number, form in enumerate(site["levels"]):  # each follows the one around it
            if server is None or form["node"] == server or form["parent"] in inside:
                inside.add(number)
                yield number

    @property
    def reads_referer(self) -> bool:
        """Whether responses may depend on `$invalid_referer`."""
        return bool(self._referers)

    @cached_property
    def _referers(self) -> Mapping[int, Referers | None]:
        """What the blocks accept that read `$invalid_referer`; None where that is not known."""
        if not any("valid_referers" in level.names for level in self.site.levels):
            return {}
        from nginxopt.request.referers import referers_read  # few configurations need it

        return referers_read(self.site)

    def without_upstreams(self) -> Self:
        """Return the model of the same site as if no upstream answered: what is passed on becomes an error 502.

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
        return self._of({**site, "levels": levels})

    def passing(self, name: str, to: str) -> Self:
        """Return the model of a site of one server without locations, as if the directive `name` passed all requests on
        to `to`."""
        site = self.site.site
        *levels, form = site["levels"]
        passing: StatedForm = {"node": form["node"], "args": [to]}
        settings = {**form["settings"], name: [len(site["directives"])]}
        directives = [*site["directives"], passing]
        passed: SiteForm = {**site, "levels": [*levels, {**form, "settings": settings}], "directives": directives}
        other = self._of(passed)
        other.site = replace(self.site, site=passed)
        return other

    def failing(self, level: int, uri: str) -> Self:
        """Return the model of the same site as if nginx could not open the file that it sends for `uri` in `level`.

        The response is the error 500, as for a path that is a socket (`ngx_http_static_handler`).
        """
        site = self.site.site
        form, number = site["levels"][level], len(site["levels"])
        node = form["node"]
        failing: ReturnForm = {"kind": "return", "node": node, "args": ["500"]}
        asking: IfForm = {"kind": "if", "node": node, "condition": ["$uri", "=", uri], "level": number}
        inner: LevelForm = {
            **form, "kind": "if", "parent": level, "args": [], "script": [failing], "locations": [],
            "limit_except": None, "settings": {},
        }  # fmt: skip
        levels = [*site["levels"], inner]
        levels[level] = {**form, "script": [*form["script"], asking]}
        return self._of({**site, "levels": levels})

    def _of(self, site: SiteForm) -> Self:
        """Return the model of a site whose directives and levels have the same numbers.

        `copy` would lower the configuration again, as for another process.
        """
        other = object.__new__(type(self))
        vars(other).update(vars(self), native=RequestModel(json.dumps(site), list(self.site.texts)))
        return other

    def with_headers(self, level: int, headers: Sequence[tuple[str, str]]) -> Answering | None:
        """Return a function that returns how nginx answers a request if `level` adds these headers to every response.

        They replace those that the level adds itself, and are sent with any status. None if nginx refuses them.
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
            form = self.world_of(request, world).form()
            outcome: OutcomeForm = json.loads(native.answers([request], json.dumps(form))[0])
            return outcome

        return answer


def _again(
    recorded: RecordedConfig, build: Build, ignores_missing: bool, neutral: frozenset[str], reads_lua: bool
) -> SiteModel:
    config = recorded.config()
    return SiteModel(config, build, ignores_missing=ignores_missing, neutral=neutral, reads_lua=reads_lua)


def _refused(site: LoweredSite, node: int, message: str) -> InputError:
    """Return nginx's error for a directive."""
    directive = site.nodes.directive(node)
    if directive is None:
        return InputError(message, nginx=message)
    return directive.error(message, nginx=directive.located(message))
