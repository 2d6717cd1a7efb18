"""Reads logs into a profile.

A log is read in pieces. For each piece, the native core (`rust/src/logs`) splits the lines into fields, and groups the
lines that agree in all fields on which an outcome may depend, except the target of the request. For each new group,
`_placed` returns the requests that its lines may be: several, if the log does not show the host or the scheme. The core
then asks the model once for each distinct request, and adds every line to the sums of its outcome.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

from nginxopt._native import LogDigest
from nginxopt.config import Directive, roots
from nginxopt.errors import InputError, UsageError
from nginxopt.profile.pieces import Range, opened, ranges, require
from nginxopt.profile.sums import Cell, Class, LogFile, Place, Profile, Sum, Tries, Use
from nginxopt.profile.terms import SIZE
from nginxopt.profile.unlogged import UnloggedHeaders
from nginxopt.profile.work import LevelFacts
from nginxopt.records import record
from nginxopt.request.access_logs import HOSTS, AccessLog
from nginxopt.request.client import ClientGate, NobodyListensError, Request, RequestForm, Url, is_named
from nginxopt.request.doors import Doors
from nginxopt.request.log_places import LogPlaces
from nginxopt.request.model import SiteModel, World, chosen_location
from nginxopt.request.referers import VARIABLE
from nginxopt.request.requests_file import RequestsFile
from nginxopt.request.usage import usage
from nginxopt.semantics import Level
from nginxopt.semantics.site.form import Node, SocketForm
from nginxopt.text import encode
from nginxopt.text.json import loads

Progress = Callable[[str, int, int], None]
"""Called with the log, the bytes of it that have been read, and its size; 0 if that is unknown."""

_HEAD = 1 << 20
_END = 1 << 14
_MOST_SITES = 32
"""The most sites that are tried for a request without a host."""
_LIMITS = ("worker_processes", "worker_connections", "worker_rlimit_nofile")
_SOME = 8_000
"""The number of lines that are examined for examples."""
_NO_HOST = ("", "~", "*", ".", "_", "$")
"""Beginnings of server names that are not hosts."""
_ELSEWHERE = "\0"
"""The reason of lines that are of another world."""


@dataclass(frozen=True)
class SiteLogs:
    """The logs of a site.

    Attributes:
        paths: The files; `-` is standard input.
        stated: The name of their `log_format`; None to recognise it by their content.
        base: Where requests without a host go, and the scheme of all; None if that is not known.
        hosts: The hosts of logs without one, by path.
        is_small: Whether nginx was compiled for size.
    """

    model: SiteModel
    gate: ClientGate
    world: World
    paths: tuple[str, ...]
    stated: str | None = None
    base: Url | None = None
    hosts: Mapping[str, str] = field(default_factory=dict)
    is_small: bool = False

    @property
    def nginx(self) -> str:
        """The nginx that is assumed, as in `terms.of`."""
        return f"nginx {self.model.version}{f' {SIZE}' if self.is_small else ''}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process makes a copy, without cached results."""
        return SiteLogs, tuple(getattr(self, one.name) for one in fields(self))

    def profile(self, progress: Progress | None = None) -> Profile:
        """Read all logs. Raises `InputError` and `UsageError` as `RequestsFile.read` does."""
        return self.together(self.read(part, progress) for part in self.parts())

    def parts(self) -> list[Range]:
        """Return the parts of the logs, which may be read anywhere and in any order."""
        for path in self.paths:
            require(path)  # report a missing log before the others are read
        return [part for path in self.paths for part in ranges(path)]

    def some_lines(self) -> Iterator[LoggedLine]:
        """Yield lines from all over the logs, with the outcomes of their requests."""
        each = max(1, _SOME // len(self.paths))
        for path in dict.fromkeys(self.paths):
            read = PartRead(Profile(self.model.config.main.path, self.nginx))
            yield from _LogReading(self, Range(path), read).lines(each)

    def read(self, part: Range, progress: Progress | None = None) -> PartRead:
        """Read a part of a log."""
        read = PartRead(Profile(self.model.config.main.path, self.nginx))
        _LogReading(self, part, read).read(progress)
        return read

    def together(self, parts: Iterable[PartRead]) -> Profile:
        """Return the profile of all parts, in their order. Raises `InputError` for logs of another format."""
        profile = Profile(self.model.config.main.path, self.nginx, limits=dict(self._limits()))
        requests: dict[Node, int] = {}
        for part in parts:
            before = profile.files[-1] if profile.files else None
            profile.add(part.profile)
            if before is not None and part.start and part.profile.files:  # it goes on with the same log
                before.append(profile.files.pop())
            for node, number in part.requests.items():
                requests[node] = requests.get(node, 0) + number
        for file in profile.files:
            if file.lines == file.broken:
                raise InputError(f"no line has the format {file.format}", path=file.path)
        if not profile.files:
            raise InputError("the file is empty", path=self.paths[0])
        profile.notes += self._without_servers()
        self._reconsider(profile)
        site = self.model.site
        for use in usage(site.site, requests).uses:
            logs = self.places.logs_here(use.node)
            profile.uses.count(self.place(use.node), Use(use.part, use.requests, logs), lambda use=use: Use(use.part))  # type: ignore[misc]
        return profile

    def _reconsider(self, profile: Profile) -> None:
        """Count responses as unknown instead of `differs` if they may depend on a header that the logs do not have.

        The first request of a class represents all of it.
        """
        logged = frozenset.intersection(*(frozenset(file.variables) for file in profile.files))
        unlogged = UnloggedHeaders(self.model, self.gate, self.world, logged)
        for key, cell in list(profile.classes.items()):
            if key.verdict != "differs" or key.server is None:
                continue
            name = unlogged.deciding(cell.example, self._sites_at(key.server))
            if name is not None:
                reason = f"${name} is not in the log (--assume {name}=VALUE)"
                del profile.classes[key]
                profile.classes.count(key._replace(verdict="unknown", expected=None, reason=reason), cell, Cell)

    def _sites_at(self, place: Place) -> Iterator[Url]:
        """Yield a URL for each socket of a server, with its first name."""
        for socket in self.model.site.site["sockets"]:
            for number in socket["servers"] if socket["family"] != "unix" else ():
                server = self.model.site.site["servers"][number]
                if self.place(server["node"]) == place:
                    names = [name["text"] for name in server["names"] if name["text"][:1] not in _NO_HOST]
                    scheme = "https" if socket["tls"] else "http"
                    yield Url(scheme, names[0] if names else "localhost", socket["port"], b"/")

    def _without_servers(self) -> Iterator[str]:
        """Yield the reason if the configuration answers no request."""
        if self.model.site.site["servers"]:
            return
        yield "the configuration has no server"
        config = self.model.config
        for include in config.elsewhere:
            if not config.included(include):
                yield f"{include.source.path}:{include.line}: include {include.args[0]} matches no file"

    def place(self, node: Node) -> Place:
        """Return the place of a directive."""
        place = self.model.site.nodes.place(node)
        names = self._names.get(node)
        return Place(place.path, place.line, f"{place.text} {names}" if names else place.text)

    def class_of(self, form: Mapping[str, Any]) -> Class:
        """Return the class of a JSON object of the native core."""
        site = self.model.site.site
        server = None if form["server"] is None else site["servers"][form["server"]]["node"]
        level = None if form["level"] is None else site["levels"][form["level"]]["node"]
        server, level, node = (None if at is None else self.place(at) for at in (server, level, form["node"]))
        about = (form["verdict"], form["kind"], form["expected"], form["status"])
        return Class(*about, server, level, node, form["reason"])

    @cached_property
    def reads_host(self) -> bool:
        """Whether responses may depend on the header `Host` beyond its name, such as on the port in it."""
        words = (str(word) for directive, _ in self.model.config.walk() for word in directive.args)
        return any("http_host" in word for word in words)

    @cached_property
    def places(self) -> LogPlaces:
        """The levels that write to the logs."""
        return LogPlaces(self.model.site, self.paths)

    @cached_property
    def level_facts(self) -> LevelFacts:
        """Reads what the settings of levels make nginx do."""
        return LevelFacts(self.model.config, self.model.version, self._placed, cache(self._located))

    def _placed(self, directive: Directive) -> Place:
        return self.place(self.model.site.nodes.number(directive))

    def _located(self, server: Level, uri: str) -> Level | None:
        """Return the location of a server that a request for a path gets to; None if it gets to none that is known."""
        site = self.model.site
        door = next(self._doors.of_server(site.servers.index(server)), None)
        if door is None:
            return None
        form: RequestForm = json.loads(door.form)
        form["target"] = encode(uri).decode("latin-1")
        node = chosen_location(self.model.trace(form, World())["steps"])
        levels = zip(site.levels, site.site["levels"], strict=True)
        return next((level for level, of in levels if node is not None and of["node"] == node), None)

    @cached_property
    def _doors(self) -> Doors:
        return Doors(self.model, by_patterns=True)

    @cached_property
    def _names(self) -> dict[Node, str]:
        servers = self.model.site.site["servers"]
        return {server["node"]: " ".join(name["text"] for name in server["names"]) for server in servers}

    def _limits(self) -> Iterator[tuple[str, int]]:
        for directive, _ in self.model.config.walk():
            if directive.name in _LIMITS and directive.args and str(directive.args[0]).isdecimal():
                yield str(directive.name), int(str(directive.args[0]))


@dataclass(slots=True)
class PartRead:
    """What was read of a part of a log.

    Attributes:
        profile: Its sums, without the use of directives.
        requests: The numbers of requests by the directives that took part.
        start: Where it begins in the log.
    """

    profile: Profile
    requests: dict[Node, int] = field(default_factory=dict)
    start: int = 0


@record(eq=True)
class LoggedLine:
    """A line of a log: its class, its sums, the requests that may have caused it, as JSON, and their `User-Agent`.

    That is empty if they have none, and None if it is not logged, or not as it was sent.
    """

    key: Class
    cell: Cell
    forms: tuple[str, ...]
    agent: str | None

    @property
    def is_framed(self) -> bool:
        """Whether the request came over HTTP/2 or later."""
        return bool(self.forms) and bool(loads(self.forms[0])["connection"].get("protocol"))


@dataclass(frozen=True)
class _LogReading:
    """Reads a part of a log."""

    logs: SiteLogs
    part: Range
    into: PartRead

    @property
    def path(self) -> str:
        """The log."""
        return self.part.path

    @property
    def profile(self) -> Profile:
        """The sums so far."""
        return self.into.profile

    def read(self, progress: Progress | None) -> None:
        self.into.start = self.part.start
        with opened(self.path) as file:
            size = 0 if progress is None or self.path == "-" else os.path.getsize(self.path)  # noqa: PTH202
            head = file.content.peek(_HEAD)
            if not head:  # such as a log that was just rotated
                self.profile.notes.append(f"{self.path}: the file is empty")
                return
            log = self._log(head)
            about = LogFile(self.path, log.format.name, sorted(set(log.format.variables)))
            worlds = self._worlds(log)
            digests = {referer: LogDigest(log.lines()) for referer in worlds}
            end = b""
            for piece in file.pieces(self.part.start, self.part.stop):
                for referer, digest in digests.items():
                    digest.place([self._placed_in(referer, log, fields) for fields in digest.read(piece)])
                    digest.settle(self.logs.model.native, worlds[referer])
                end = piece[-_END:] or end
                if progress is not None:
                    progress(self.path, file.done(), size)
            about.cut = file.cut
        digest = digests[None]
        about.all_lines, about.lines, about.broken, about.malformed, about.undated = digest.lines
        about.broken_lines = digest.broken_lines
        if 2 * about.broken > about.lines:
            self._note_other(log, end)
        self.profile.files.append(about)
        self._add_lines(json.loads(digest.sums()))
        for digest in digests.values():
            self._add(json.loads(digest.sums()))

    def _note_other(self, log: AccessLog, end: bytes) -> None:
        """Note the format of the last lines if it is another, as in a log whose format was changed."""
        with suppress(InputError, UsageError):
            other = self._file.access_log(roots.source(self.path, end[end.find(b"\n") + 1 :]))
            if other is not None and other.format.name != log.format.name:
                name = other.format.name
                self.profile.notes.append(f"{self.path}: the last lines have the format {name} (--input-format {name})")

    def lines(self, most: int) -> Iterator[LoggedLine]:
        """Yield lines with requests, at most a number of them."""
        with opened(self.path) as file:
            head = file.content.peek(_HEAD)
            if not head:
                return
            log = self._log(head)
            how, worlds = log.lines(), self._worlds(log)
            placed: dict[tuple[bytes, ...], _Placed] = {}
            for line in file.some_lines(most):
                digest = LogDigest(how)
                for fields in digest.read(line.removesuffix(b"\n") + b"\n"):
                    key = tuple(fields)
                    if key not in placed:
                        placed[key] = self._placed(log, fields)
                    forms, reason, referer = placed[key]
                    digest.place([(forms, reason)])
                    digest.settle(self.logs.model.native, worlds[referer])
                    for form in json.loads(digest.sums())["classes"]:
                        yield LoggedLine(
                            self.logs.class_of(form), Cell.read(form["cell"]), tuple(forms), _agent(digest.agents)
                        )

    def _log(self, head: bytes) -> AccessLog:
        """Return how to read the log. Raises `InputError` for a list of requests."""
        log = self._file.access_log(roots.source(self.path, head))
        if log is None:
            raise InputError("not an access log", path=self.path, hint="nginxopt trace --requests reads lists")
        host = self.logs.hosts.get(self.path)
        return log if host is None else replace(log, base=self.logs.gate.likely(host))

    @property
    def _file(self) -> RequestsFile:
        return RequestsFile(self.path, self.logs.model.config, self.logs.gate, self.logs.stated, self.logs.base)

    def _worlds(self, log: AccessLog) -> dict[str | None, str]:
        """Return the worlds of the requests of a log, as JSON, by `$invalid_referer`; None if that is not known.

        Only one world can be asked about at a time, so a log is read once for each.
        """
        world = self.logs.world
        worlds: dict[str | None, World] = {None: world}
        if self.logs.model.reads_referer and _has_referer(log):
            worlds |= {each: replace(world, variables={**world.variables, VARIABLE: each}) for each in ("", "1")}
        return {each: json.dumps(one.form()) for each, one in worlds.items()}

    def _placed_in(self, referer: str | None, log: AccessLog, fields: Sequence[bytes]) -> tuple[list[str], str]:
        """Return the requests of a group, if they are of a world."""
        forms, reason, found = self._placed(log, fields)
        return (forms, reason) if found == referer else ([], _ELSEWHERE)

    def _placed(self, log: AccessLog, fields: Sequence[bytes]) -> _Placed:
        """Return the requests that lines with these fields may be, without their targets."""
        values = log.values(fields)
        reason = "no address that it may have come to"
        forms: list[str] = []
        for base in self._sites(log, values):
            one = replace(log, base=base) if base is not None else log
            try:
                forms += [json.dumps(self.logs.gate.form(each)) for each in self._requests(one, values)]
            except NobodyListensError as error:
                reason = error.message
            except ValueError:
                reason = "a scheme, port or version that is none"
        forms = list(dict.fromkeys(forms))
        return _Placed(forms, reason, self._referer(log, values, forms))

    def _requests(self, log: AccessLog, values: Mapping[str, bytes]) -> Iterator[Request]:
        """Yield the requests that a line may be: if the log does not show it and it may decide, the host is sent with
        the port of the server and, as to a port that is forwarded to it, without.
        """
        request = log.request(values)
        yield request
        if "http_host" not in log.captured and self.logs.reads_host:
            host = request.url.host.encode("latin-1")
            yield replace(request, headers=tuple((name, host if name == b"Host" else value)
                                                 for name, value in request.headers))  # fmt: skip

    def _referer(self, log: AccessLog, values: Mapping[str, bytes], forms: Sequence[str]) -> str | None:
        """Return `$invalid_referer` of requests; None if it is not known."""
        if not self.logs.model.reads_referer or not _has_referer(log) or VARIABLE in self.logs.world.variables:
            return None
        if VARIABLE in values:
            return "1" if values[VARIABLE] == b"1" else ""
        worlds = (self.logs.model.world_of_all(form, self.logs.world) for form in forms)
        found = {None if world is None else world.variables.get(VARIABLE) for world in worlds}
        return found.pop() if len(found) == 1 else None

    def _sites(self, log: AccessLog, values: Mapping[str, bytes]) -> list[Url | None]:
        """Return the sites that a request may be for; None stands for the one that the line itself states."""
        if log.base is not None:
            return [log.base]
        host = next((values[name] for name in HOSTS if values.get(name) not in (None, b"", b"-")), None)
        if any(values.get(name) for name in ("scheme", "server_port")) and host is not None:
            return [None]
        found = self._sites_of(None if host is None else _without_port(host.decode("latin-1")))
        if len(found) > _MOST_SITES and host is None:
            raise UsageError(
                f"the format {log.format.name} has no host, and {len(found)} sites write to {self.path}",
                hint=f"name the site with --base URL or --host-of {self.path}=HOST, or log $host",
            )
        return [*found] or [None if host is not None else log.gate.base or log.gate.likely("localhost")]

    def _sites_of(self, host: str | None) -> list[Url]:
        """Return the sites with a host, or all, that write to the log: a URL for each socket and server."""
        if host not in self._known:
            sockets = self.logs.model.site.site["sockets"]
            tcp = (socket for socket in sockets if socket["family"] != "unix" and not socket["quic"])
            urls = (url for socket in tcp for url in self._at(socket, host))
            self._known[host] = list(dict.fromkeys(urls))
        return self._known[host]

    @cached_property
    def _known(self) -> dict[str | None, list[Url]]:
        return {}

    @cached_property
    def _writing(self) -> frozenset[int]:
        """The servers that write to the log."""
        return LogPlaces(self.logs.model.site, (self.path,)).servers

    def _at(self, socket: SocketForm, host: str | None) -> Iterator[Url]:
        """Yield the sites at a socket."""
        servers = self.logs.model.site.site["servers"]
        writing = self._writing
        names = {number: [name["text"].lower() for name in servers[number]["names"]] for number in socket["servers"]}
        scheme = "https" if socket["tls"] else "http"
        if host is not None:
            of_host = [one for one, each in names.items() if any(is_named(name, host.lower()) for name in each)]
            if any(number in writing for number in of_host or [socket["default"]]):
                yield Url(scheme, host, socket["port"], b"/")
            return
        for number in socket["servers"]:
            plain = [name for name in names[number] if name[:1] not in _NO_HOST and not name.endswith(".*")]
            if number in writing and (plain or number == socket["default"]):
                yield Url(scheme, plain[0] if plain else "localhost", socket["port"], b"/")

    def _add(self, sums: Mapping[str, Any]) -> None:
        """Add the sums of the native core to the profile: those by outcome."""
        for form in sums["classes"]:
            if form["reason"] == _ELSEWHERE:
                continue
            key = self.logs.class_of(form)
            self.profile.classes.count(key, Cell.read(form["cell"]), Cell)
            self._add_facts(key, form)
        for node, tries in sums["tries"]:
            self.profile.tries.count(self.logs.place(node), Tries(**tries), Tries)
        for node, number in sums["uses"]:
            self.into.requests[node] = self.into.requests.get(node, 0) + number

    def _add_lines(self, sums: Mapping[str, Any]) -> None:
        """Add the sums that lines have whatever their outcome."""
        for target, name in (
            (self.profile.clients, "clients"), (self.profile.robots, "robots"), (self.profile.minutes, "minutes"),
        ):  # fmt: skip
            for key, one in sums[name]:
                target.count(key, Sum(**one), Sum)
        self.profile.other_clients.add(Sum(**sums["other_clients"]))
        self.profile.other_robots.add(Sum(**sums["other_robots"]))

    def _add_facts(self, key: Class, form: Mapping[str, Any]) -> None:
        """Add what the level of a class makes nginx do."""
        level, server = form["level"], form["server"]
        if level is not None and (key.server, key.level) not in self.profile.facts:
            site = self.logs.model.site
            tls = any(socket["tls"] for socket in site.site["sockets"] if server in socket["servers"])
            self.profile.facts[key.server, key.level] = self.logs.level_facts.of(site.levels[level], tls=tls)


class _Placed(NamedTuple):
    """The requests that lines may be, the reason if there are none, and their `$invalid_referer`, if that is known."""

    forms: list[str]
    reason: str
    referer: str | None


def _agent(logged: Sequence[bytes]) -> str | None:
    """Return the `User-Agent` of a line, given what it has of it, as bytes in Latin-1."""
    for agent in logged:
        text = "" if agent == b"-" else agent.decode("latin-1")
        return text if text.isprintable() and "\\" not in text else None
    return None


def _has_referer(log: AccessLog) -> bool:
    return "http_referer" in log.captured or VARIABLE in log.captured


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host
