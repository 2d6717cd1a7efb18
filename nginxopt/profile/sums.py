"""A profile: the outcomes of the requests of a log, and their cost, as sums that can be added.

Directives are identified by their place and text, so that profiles of the same configuration can be added, wherever
they come from.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path
from types import UnionType
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar, get_args, get_origin, get_type_hints

from nginxopt.errors import InputError
from nginxopt.request.packed import Unpacked
from nginxopt.text.display import hide_in_json
from nginxopt.text.json import loads

VERSION = 4
"""The version of saved profiles, incremented by changes that their readers have to follow."""

_KIND = "nginxopt profile"
_GZIP = b"\x1f\x8b"
_BROKEN = 10
"""The most broken lines that are named, as in `rust/src/logs/digest.rs`."""
_BITS = 4
"""The number of bits of a duration, after the first, that determine its bucket, as in `rust/src/logs/histogram.rs`."""


class Place(NamedTuple):
    """A directive: its file, its line from 1, and its text; for a server, the text includes its names."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


class Class(NamedTuple):
    """A class of requests with the same outcome.

    Attributes:
        verdict: `agrees` if the log fits the configuration, `differs` if the configuration gives another response,
        `ambiguous` if several of its responses fit, `unknown`.
                kind: The kind of the outcome, as in `trace`; for `differs`, that of the configuration.
        status: The status in the log; None if it has none.
        server: The server; None if the requests reached none.
        level: The location or server that answers.
        node: The directive that decides.
        reason: Why the outcome is unknown.
    """

    verdict: str
    kind: str
    expected: int | None
    status: int | None
    server: Place | None
    level: Place | None
    node: Place | None
    reason: str | None


class WorkClass(NamedTuple):
    """Requests for which nginx does the same work, except for the size of responses and the patterns that it tries.

    Attributes:
        rule: The name of the directive that decides; None if that is the level.
    """

    verdict: str
    kind: str
    status: int | None
    server: Place | None
    level: Place | None
    rule: str | None

    @classmethod
    def of(cls, key: Class) -> Self:
        """Return the class of work for a class of outcomes."""
        rule = None if key.node is None or key.node == key.level else key.node.text.partition(" ")[0]
        return cls(key.verdict, key.kind, key.status, key.server, key.level, rule)

    @property
    def is_of_file(self) -> bool:
        """Whether the status is one of those with which nginx sends a file, or a part of it."""
        return self.status in (200, 206, 304, 412, 416)


class _Adds(Protocol):
    def add(self, other: Any) -> None: ...


_Sum = TypeVar("_Sum", bound=_Adds)


@dataclass(slots=True)
class Durations:
    """A number of durations, their sum in milliseconds, and a log-linear histogram of them."""

    count: int = 0
    sum: int = 0
    buckets: list[int] = field(default_factory=list)

    def add(self, other: Durations) -> None:
        """Add other durations."""
        self.count += other.count
        self.sum += other.sum
        self.buckets = added(self.buckets, other.buckets)

    def quantile(self, share: float) -> float | None:
        """Return the duration in milliseconds that a share of the requests does not exceed, to 3 %; None without
        durations.
        """
        rank = share * self.count
        seen = 0
        for bucket, number in enumerate(self.buckets):
            seen += number
            if number and seen >= rank:
                return _middle(bucket)
        return None


def _middle(bucket: int) -> float:
    """Return the middle of a bucket."""
    shift = max(0, (bucket >> _BITS) - 1)
    start = (bucket - (shift << _BITS)) << shift
    return start + ((1 << shift) - 1) / 2


def added(one: Iterable[int], other: Iterable[int]) -> list[int]:
    """Return the elementwise sum of two lists, of which one may be shorter."""
    return [first + second for first, second in zip_longest(one, other, fillvalue=0)]


@dataclass(slots=True)
class Tries:
    """What nginx and PCRE compare (`rust/src/first_match/tries.rs`).

    Attributes:
        short: The number of patterns of which PCRE only compares the length, or searches for a letter, and of those
            that are not anchored.
        long: The number of the others.
        shared: The bytes, from the second on, that values have in common with these.
        sought: The bytes that are searched for a letter.
        searched: The bytes that are searched for one of several with which a match may start.
        places: The number of places where a match may start.
        ways: The number of branches that are tried.
        conditions: The number of conditions of `if`; a file counts as five.
        sets: The number of values that `set` assigns.
        lookups: The number of values that are looked up in a map or another table.
        keyed: The bytes of these values.
        passwords: The number of passwords that are hashed.
        missing: The number of files that are missing, each a line of the error log.
    """

    short: int = 0
    long: int = 0
    shared: int = 0
    sought: int = 0
    searched: int = 0
    places: int = 0
    ways: int = 0
    conditions: int = 0
    sets: int = 0
    lookups: int = 0
    keyed: int = 0
    passwords: int = 0
    missing: int = 0

    def add(self, other: Tries) -> None:
        """Add other tries."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class LevelFact(NamedTuple):
    """Something that a level makes nginx do, the directive that causes it, and how often or how much of it."""

    what: str
    place: Place | None
    amount: int


@dataclass(slots=True)
class Cell:
    """The sums of a class of requests.

    Attributes:
        request: The durations of `$request_time`.
        upstream: Those of `$upstream_response_time`, of all upstreams that a request was passed to.
        connect: Those of `$upstream_connect_time`.
        sizes: The number of responses by the bits of their size in bytes.
        repeated: The number of requests that were also sent at most 10 seconds before.
        lengths: The bytes of the headers of requests whose length is in the log, and `measured` the number of these.
        agents: The number of requests whose `User-Agent` is logged, `named` its bytes, and `scanned` those that nginx
            reads to find the names of browsers.
        posted: The number of requests with a body, and `bodies` the bytes of these, as far as the log shows.
        compressed: The number of compressed responses, `packed` their bytes, and `raw` those before compression; 0 if
            the log does not show the latter.
        connections: The number of requests that are the first of their connection, as far as the log shows.
        resumed: The number of those that resumed a session of TLS.
        cached: The number of responses from a cache.
        listings: The number of listings of folders, and `listed` their bytes, before compression if the log shows them.
        tries: The patterns that were tried.
        first: The second since 1970 in which the first ended; None if the log has no time.
        example: The request target of the first, as bytes in Latin-1.
    """

    requests: int = 0
    bytes: int = 0
    request: Durations = field(default_factory=Durations)
    upstream: Durations = field(default_factory=Durations)
    connect: Durations = field(default_factory=Durations)
    sizes: list[int] = field(default_factory=list)
    repeated: int = 0
    lengths: int = 0
    measured: int = 0
    agents: int = 0
    named: int = 0
    scanned: int = 0
    posted: int = 0
    bodies: int = 0
    compressed: int = 0
    packed: int = 0
    raw: int = 0
    connections: int = 0
    resumed: int = 0
    cached: int = 0
    listings: int = 0
    listed: int = 0
    tries: Tries = field(default_factory=Tries)
    first: int | None = None
    last: int | None = None
    example: str = ""

    def add(self, other: Cell) -> None:
        """Add what other requests took."""
        if not self.requests or (other.requests and _order(other) < _order(self)):
            self.first, self.example = other.first, other.example
        self.last = max((at for at in (self.last, other.last) if at is not None), default=None)
        self.requests += other.requests
        self.bytes += other.bytes
        self.request.add(other.request)
        self.upstream.add(other.upstream)
        self.connect.add(other.connect)
        self.sizes = added(self.sizes, other.sizes)
        self.repeated += other.repeated
        self.lengths += other.lengths
        self.measured += other.measured
        self.agents += other.agents
        self.named += other.named
        self.scanned += other.scanned
        self.posted += other.posted
        self.bodies += other.bodies
        self.compressed += other.compressed
        self.packed += other.packed
        self.raw += other.raw
        self.connections += other.connections
        self.resumed += other.resumed
        self.cached += other.cached
        self.listings += other.listings
        self.listed += other.listed
        self.tries.add(other.tries)

    @classmethod
    def read(cls, form: Mapping[str, Any]) -> Self:
        """Return the cell of a JSON object of the native core."""
        durations = {name: Durations(**form[name]) for name in ("request", "upstream", "connect")}
        return cls(**{**form, **durations, "tries": Tries(**form["tries"])})


def _order(cell: Cell) -> tuple[bool, int, str]:
    """Return the place in time; one without a time comes last, as in the native core."""
    return cell.first is None, cell.first or 0, cell.example


@dataclass(slots=True)
class Sum:
    """Numbers of requests and bytes, and the milliseconds that they took, in total and at upstreams."""

    requests: int = 0
    bytes: int = 0
    busy: int = 0
    upstream: int = 0

    def add(self, other: Sum) -> None:
        """Add another sum."""
        self.requests += other.requests
        self.bytes += other.bytes
        self.busy += other.busy
        self.upstream += other.upstream


@dataclass(slots=True)
class Use:
    """The use of a server, location or rule.

    Attributes:
        part: `server`, `location` or `rule`.
        requests: The number of requests that it certainly took part in.
        logs_here: Whether requests that it takes part in are written to the logs that were read.
    """

    part: str
    requests: int = 0
    logs_here: bool = False

    def add(self, other: Use) -> None:
        """Add the use in other requests."""
        self.requests += other.requests
        self.logs_here |= other.logs_here


@dataclass(slots=True)
class MeasuredSums:
    """What requests cost according to the measurement of a sample, in sums.

    Attributes:
        counted: The number of requests that `instructions` are for, those of nginx in user space.
        timed: The number of requests that `nanoseconds` are for, the processor time of nginx.
    """

    counted: int = 0
    instructions: int = 0
    timed: int = 0
    nanoseconds: int = 0

    def add(self, other: MeasuredSums) -> None:
        """Add what other requests took."""
        self.counted += other.counted
        self.instructions += other.instructions
        self.timed += other.timed
        self.nanoseconds += other.nanoseconds


@dataclass(slots=True)
class LogFile:
    """A log that was read.

    Attributes:
        format: The name of its `log_format`.
        variables: Those that the format has.
        lines: The number of its lines that are not empty.
        broken: The number of lines of another format.
        broken_lines: The first of these, from 1.
        malformed: The number of lines without an HTTP request, which nginx answers with 400.
        cut: Why the end could not be read; None if it was.
        all_lines: The number of all its lines, empty ones included.
        undated: The number of lines whose time is none, in a format that has one.
    """

    path: str
    format: str
    variables: list[str]
    lines: int = 0
    broken: int = 0
    broken_lines: list[int] = field(default_factory=list)
    malformed: int = 0
    cut: str | None = None
    all_lines: int = 0
    undated: int = 0

    def append(self, other: LogFile) -> None:
        """Add what follows in the same log."""
        self.lines += other.lines
        self.broken += other.broken
        self.broken_lines += [self.all_lines + line for line in other.broken_lines][: _BROKEN - len(self.broken_lines)]
        self.malformed += other.malformed
        self.cut = other.cut
        self.all_lines += other.all_lines
        self.undated += other.undated


class Sums(dict[Any, _Sum], Generic[_Sum]):
    """Sums by key."""

    def count(self, key: Any, one: _Sum, empty: Callable[[], _Sum]) -> None:
        """Add to the sum of a key; `empty` makes the first one."""
        if key not in self:
            self[key] = empty()
        self[key].add(one)


@dataclass(slots=True)
class Profile:
    """The outcomes of the requests of logs, and their cost.

    Attributes:
        config: The configuration.
        nginx: The nginx that is assumed.
        files: The logs.
        classes: The requests by how they ended.
        uses: Servers, locations and rules by their place.
        tries: What was compared, by directive: the first rewrite of a run, the first regex location of a level, a map,
            an `if`, a `set`, an `auth_basic`.
        facts: What levels make nginx do, by the place of their server and their own.
        clients: The work of clients by their address; those beyond a limit are counted as one.
        robots: The work of robots by the name that they state.
        minutes: The requests under way by the minute since 1970.
        limits: What `worker_processes`, `worker_connections` and `worker_rlimit_nofile` say, if they are numbers.
        notes: What was assumed.
        measured: What requests of a class cost on a real nginx.
                connections: What a `connection` costs there, and a `handshake` of TLS in addition.
        unmeasured: The requests of which none was measured, by the reason.
    """

    config: str
    nginx: str
    files: list[LogFile] = field(default_factory=list)
    classes: Sums[Cell] = field(default_factory=Sums)
    uses: Sums[Use] = field(default_factory=Sums)
    tries: Sums[Tries] = field(default_factory=Sums)
    facts: dict[tuple[Place | None, Place | None], tuple[LevelFact, ...]] = field(default_factory=dict)
    clients: Sums[Sum] = field(default_factory=Sums)
    other_clients: Sum = field(default_factory=Sum)
    robots: Sums[Sum] = field(default_factory=Sums)
    other_robots: Sum = field(default_factory=Sum)
    minutes: Sums[Sum] = field(default_factory=Sums)
    limits: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    measured: Sums[MeasuredSums] = field(default_factory=Sums)
    connections: Sums[MeasuredSums] = field(default_factory=Sums)
    unmeasured: Sums[Sum] = field(default_factory=Sums)

    @property
    def requests(self) -> int:
        """The number of requests."""
        return sum(cell.requests for cell in self.classes.values())

    @property
    def variables(self) -> set[str]:
        """The variables that all logs have."""
        return set.intersection(*(set(file.variables) for file in self.files)) if self.files else set()

    @property
    def shows_compression(self) -> bool:
        """Whether all logs show which responses were compressed."""
        return not self.variables.isdisjoint(("gzip_ratio", "sent_http_content_encoding"))

    def add(self, other: Profile) -> None:
        """Add another profile of the same configuration, or of a copy of it."""
        self.files += other.files
        self.limits |= other.limits
        of_other = [] if other.config == self.config else [f"the sums are also those of requests to {other.config}"]
        self.notes += [note for note in (*other.notes, *of_other) if note not in self.notes]
        for key, cell in other.classes.items():
            self.classes.count(key, cell, Cell)
        for key, use in other.uses.items():
            self.uses.count(key, use, lambda use=use: Use(use.part))  # type: ignore[misc]
        for key, tries in other.tries.items():
            self.tries.count(key, tries, Tries)
        self.facts |= other.facts
        for mine, theirs in (
            (self.clients, other.clients), (self.robots, other.robots), (self.minutes, other.minutes),
            (self.unmeasured, other.unmeasured),
        ):  # fmt: skip
            for key, one in theirs.items():
                mine.count(key, one, Sum)
        for mine_of, theirs_of in ((self.measured, other.measured), (self.connections, other.connections)):
            for key, one_of in theirs_of.items():
                mine_of.count(key, one_of, MeasuredSums)
        self.other_clients.add(other.other_clients)
        self.other_robots.add(other.other_robots)

    def document(self) -> str:
        """Return it as JSON; equal profiles have the same."""
        return json.dumps(_form(self), separators=(",", ":"))


def save(profile: Profile) -> bytes:
    """Return a profile as it is saved: JSON, compressed. Equal profiles give the same bytes.

    It has no words that only files outside of the named paths have.
    """
    return gzip.compress(hide_in_json(profile.document(), indent=None).encode(), mtime=0)


def is_saved(path: str) -> bool:
    """Return whether a file is a saved profile. False for a pipe, as reading would consume its content."""
    if not os.path.isfile(path):
        return False
    try:
        with Path(path).open("rb") as file:
            head = file.read(512)
    except OSError:
        return False
    if not head.startswith(_GZIP):
        return False
    try:
        begin = zlib.decompressobj(wbits=31).decompress(head, 4096)
    except zlib.error:
        return False
    return begin.startswith(f'{{"kind":"{_KIND}"'.encode())


_SHARE = 0.1
"""The share of the budget `log-growth` for profiles: they shrink to a tenth, and need ten times the memory of their
JSON.
"""


def load(path: str) -> Profile:
    """Return a saved profile. Raises `InputError` for anything else, and for one that unpacks to far too much."""
    try:
        with Path(path).open("rb") as packed:
            file = Unpacked(packed, path, lambda below: gzip.GzipFile(fileobj=below).read, _SHARE)
            form = loads(io.BufferedReader(file).read())
        if (form["kind"], form["version"]) != (_KIND, VERSION):
            raise InputError(f"not a profile of version {VERSION}", path=path)
        return _read(form)
    except (gzip.BadGzipFile, EOFError, zlib.error, ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise InputError("not a saved profile", path=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None


def load_all(paths: Iterable[str]) -> Profile:
    """Return the sum of saved profiles, at least one. Raises `InputError` as `load`."""
    first, *others = map(load, paths)
    for other in others:
        first.add(other)
    return first


def _form(profile: Profile) -> dict[str, Any]:
    return {
        "kind": _KIND,
        "version": VERSION,
        "config": profile.config,
        "nginx": profile.nginx,
        "files": [_slots(file) for file in profile.files],
        "classes": [[list(key), _cell(cell)] for key, cell in sorted(profile.classes.items(), key=_text)],
        "uses": [[list(key), _slots(use)] for key, use in sorted(profile.uses.items())],
        "tries": [[key, _slots(tries)] for key, tries in sorted(profile.tries.items())],
        "facts": [[*key, facts] for key, facts in sorted(profile.facts.items(), key=json.dumps)],
        "clients": [[key, _slots(one)] for key, one in sorted(profile.clients.items())],
        "other_clients": _slots(profile.other_clients),
        "robots": [[key, _slots(one)] for key, one in sorted(profile.robots.items())],
        "other_robots": _slots(profile.other_robots),
        "minutes": [[key, _slots(one)] for key, one in sorted(profile.minutes.items())],
        "limits": dict(sorted(profile.limits.items())),
        "notes": profile.notes,
        **_measured_form(profile),
    }


def _measured_form(profile: Profile) -> dict[str, Any]:
    """Return the measurements; empty if there are none, as in profiles of releases that could not measure."""
    if not profile.measured and not profile.unmeasured:
        return {}
    return {
        "measured": [[list(key), _slots(one)] for key, one in sorted(profile.measured.items(), key=_text)],
        "connections": [[key, _slots(one)] for key, one in sorted(profile.connections.items())],
        "unmeasured": [[key, _slots(one)] for key, one in sorted(profile.unmeasured.items())],
    }


def _text(item: tuple[Class | WorkClass, Any]) -> str:
    """Return the sort key of a class: tuples with None cannot be compared."""
    return json.dumps(item[0])


def _slots(one: Any) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__slots__}


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        name: _slots(value) if isinstance(value, Durations | Tries) else value for name, value in _slots(cell).items()
    }


def _read(form: Mapping[str, Any]) -> Profile:
    """Return the profile of a JSON object. Raises `TypeError` or `ValueError` for another one."""
    profile = Profile(_of(str, form["config"]), _of(str, form["nginx"]), _of(list[LogFile], form["files"]))
    profile.classes.update(_pairs(Class, Cell, form["classes"]))
    profile.uses.update(_pairs(Place, Use, form["uses"]))
    profile.tries.update(_pairs(Place, Tries, form["tries"]))
    for server, level, facts in form["facts"]:
        profile.facts[_of(_ANYWHERE, server), _of(_ANYWHERE, level)] = tuple(_of(list[LevelFact], facts))
    profile.clients.update(_pairs(str, Sum, form["clients"]))
    profile.robots.update(_pairs(str, Sum, form["robots"]))
    profile.minutes.update(_pairs(int, Sum, form["minutes"]))
    profile.other_clients, profile.other_robots = _of(Sum, form["other_clients"]), _of(Sum, form["other_robots"])
    profile.limits = {key: _of(int, value) for key, value in form["limits"].items()}
    profile.notes = _of(list[str], form["notes"])
    profile.measured.update(_pairs(WorkClass, MeasuredSums, form.get("measured", ())))
    profile.connections.update(_pairs(str, MeasuredSums, form.get("connections", ())))
    profile.unmeasured.update(_pairs(str, Sum, form.get("unmeasured", ())))
    return profile


_ANYWHERE = Place | None
_LARGEST = 10**15
"""A limit above all sums of a site and all times; a float represents it exactly."""
_MOST = 1_100
"""The most buckets of a histogram of 64-bit numbers."""
_LATEST = 253_402_300_799
"""The last second that a date has."""


def _pairs(key: Any, one: Any, form: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    return ((_of(key, name), _of(one, value)) for name, value in form)


def _of(kind: Any, form: Any) -> Any:
    """Return a value of a type from JSON. Raises `TypeError` or `ValueError` if it is of another one."""
    if kind in (int, str, bool):
        if type(form) is not kind or (kind is int and not 0 <= form <= _LARGEST):
            raise TypeError(form)
        return form
    if isinstance(kind, UnionType):
        return None if form is None else _of(get_args(kind)[0], form)
    if get_origin(kind) is list:
        (inner,) = get_args(kind)
        if not isinstance(form, list) or (inner is int and len(form) > _MOST):
            raise TypeError(form)
        return [_of(inner, item) for item in form]
    fields = _fields(kind)
    named = form if isinstance(form, dict) else dict(zip(fields, form, strict=True))
    made = kind(**{name: _of(fields[name], value) for name, value in named.items()})
    if isinstance(made, Cell) and max(made.first or 0, made.last or 0) > _LATEST:
        raise ValueError(form)
    return made


@cache
def _fields(kind: type) -> Mapping[str, Any]:
    """Return the types of the fields of a record, by name."""
    return get_type_hints(kind)
