"""The figures of a profile that reports show, and the variables that others lack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from nginxopt.profile.sums import Cell, Class, MeasuredSums, Place, Profile, Sum, Use, WorkClass
from nginxopt.profile.terms import Term
from nginxopt.profile.work import PASSED, Work
from nginxopt.profile.worth import Worth, Worthwhile
from nginxopt.text import shorten

LACKING = {
    "status": "whether files existed, and whether the log agrees with the configuration",
    "request_time": "how long requests take, and how many are under way at once",
    "upstream_response_time": "what upstreams take, and whether one was asked",
    "upstream_connect_time": "what connecting to upstreams takes",
    "host": "which server a request came to",
    "scheme": "whether a request came over TLS",
    "msec": "when, how many at once, and what a cache would answer",
    "bytes_sent": "the size of responses",
    "http_user_agent": "the work of robots, and what names of clients cost (that of Chrome is assumed)",
    "remote_addr": "the work of clients",
    "gzip_ratio": "which responses nginx compressed, and their size before",
    "connection_requests": "connections and handshakes",
}
"""The figures that need each variable."""
_ANY_OF = {
    "host": ("host", "http_host", "server_name"),
    "scheme": ("scheme", "https", "server_port"),
    "msec": ("msec", "time_iso8601", "time_local"),
    "bytes_sent": ("bytes_sent", "body_bytes_sent"),
    "remote_addr": ("remote_addr", "realip_remote_addr"),
}

_SETTLING = {"host": "--host-of", "scheme": "--base"}
"""The variables that tell which server answers, and the options that state it."""

PRINTED_FORMAT = """\
log_format profile '$remote_addr $host $scheme $server_port [$time_local] "$request" $status $bytes_sent '
                   '$body_bytes_sent $request_length $request_time "$upstream_response_time" "$upstream_connect_time" '
                   '"$upstream_cache_status" "$gzip_ratio" $connection_requests "$ssl_session_reused" $msec '
                   '$content_length "$remote_user" "$http_referer" "$http_user_agent"';
access_log /var/log/nginx/access.log profile buffer=64k flush=5s;
"""
"""A log format with all variables that profiles use."""

_WIDTH = 60
"""The longest text of a directive that is shown, in characters."""
_SMALL = 0.0005
"""The smallest share of the requests that is shown."""
_LEAST_SHARE = 0.01
"""The smallest share of a core that the report shows, in percent."""
_LEAST_PART = 0.01
"""The smallest part of nginx's own work whose saving is shown."""
_OF_UPSTREAM = 2
"""Connections of a request that an upstream answers: to the client and to the upstream."""


@dataclass(slots=True)
class Group:
    """Requests that one directive answers.

    Attributes:
        statuses: The number of requests by status, in classes of hundreds.
    """

    place: Place | None
    cell: Cell = field(default_factory=Cell)
    statuses: dict[int, int] = field(default_factory=dict)

    def add(self, key: Class, cell: Cell) -> None:
        """Add the requests of a class."""
        self.cell.add(cell)
        hundred = (key.status or 0) // 100
        self.statuses[hundred] = self.statuses.get(hundred, 0) + cell.requests


@dataclass(frozen=True)
class Peak:
    """The minute with the most requests under way, on average.

    Attributes:
        minute: Since 1970.
        requests: The requests under way, the mean of the minute.
        connections: Those and the connections to upstreams that they had.
    """

    minute: int
    requests: float
    connections: float


@dataclass(frozen=True)
class Compared:
    """What a request of a class took when one was measured, and the estimate for it.

    Attributes:
        requests: The number of requests that the measured ones stand for.
                took: The instructions and the nanoseconds of processor time of one of them; None for what was not
                measured.
                estimate: The estimate from the terms.
    """

    key: WorkClass
    requests: int
    took: tuple[float | None, float | None]
    estimate: Term

    @property
    def instructions(self) -> float | None:
        """The instructions of a request, in user space."""
        return self.took[0]

    @property
    def nanoseconds(self) -> float | None:
        """The processor time of a request."""
        return self.took[1]


def _each(one: MeasuredSums) -> tuple[float | None, float | None]:
    """Return what a request took: instructions and nanoseconds."""
    return (
        one.instructions / one.counted if one.counted else None,
        one.nanoseconds / one.timed if one.timed else None,
    )


@dataclass(frozen=True)
class Figures:
    """The figures of a profile."""

    profile: Profile

    @cached_property
    def requests(self) -> int:
        """The number of requests."""
        return self.profile.requests

    @cached_property
    def total(self) -> Cell:
        """What all requests took."""
        total = Cell()
        for cell in self.profile.classes.values():
            total.add(cell)
        return total

    def of_verdict(self, verdict: str) -> list[tuple[Class, Cell]]:
        """Return the classes of a verdict, those with the most requests first."""
        chosen = [item for item in self.profile.classes.items() if item[0].verdict == verdict]
        return sorted(chosen, key=lambda item: (-item[1].requests, str(item[0])))

    def number(self, verdict: str) -> int:
        """Return the number of requests of a verdict."""
        return sum(cell.requests for _, cell in self.of_verdict(verdict))

    @cached_property
    def empty(self) -> int:
        """The number of lines without an HTTP request, which nginx answers whatever the configuration says."""
        return sum(file.malformed for file in self.profile.files)

    @property
    def unknown(self) -> int:
        """The number of HTTP requests for which it is unknown what answers them."""
        return self.number("unknown") - self.empty

    @cached_property
    def locations(self) -> list[Group]:
        """The requests by the level that answers them, sorted by the time that they take, or by their number."""
        return self._grouped(lambda key: None if key.verdict == "ambiguous" else key.level or key.server)

    @cached_property
    def directives(self) -> list[Group]:
        """The requests by the directive that decides, in the same order."""
        return self._grouped(lambda key: None if key.verdict in ("ambiguous", "unknown") else key.node or key.level)

    def _grouped(self, place: Callable[[Class], Place | None]) -> list[Group]:
        groups: dict[Place | None, Group] = {}
        for key, cell in self.profile.classes.items():
            at = place(key)
            groups.setdefault(at, Group(at)).add(key, cell)
        has_time = bool(self.total.request.count)

        def order(group: Group) -> tuple[int, int, str]:
            return (
                -(group.cell.request.sum if has_time else group.cell.requests),
                -group.cell.requests,
                str(group.place),
            )

        return sorted((group for group in groups.values() if group.place), key=order)

    @cached_property
    def differing(self) -> list[tuple[Class, Cell]]:
        """The requests that the configuration would answer differently, by directive and status, the most frequent
        first.
        """
        merged: dict[tuple[Place | None, str, int | None, int | None], tuple[Class, Cell]] = {}
        for key, cell in self.of_verdict("differs"):
            at = (key.node or key.level, key.kind, key.expected, key.status)
            merged.setdefault(at, (key, Cell()))[1].add(cell)
        return sorted(merged.values(), key=lambda item: (-item[1].requests, str(item[0])))

    def uses(self, part: str) -> list[tuple[Place, Use]]:
        """Return the servers, locations or rules in the order of files and lines."""
        return sorted(item for item in self.profile.uses.items() if item[1].part == part)

    def unseen(self, part: str) -> list[Place]:
        """Return those that no request used, although the logs have the requests that might."""
        return [place for place, use in self.uses(part) if not use.requests and use.logs_here]

    def unlogged(self, part: str) -> list[Place]:
        """Return those whose requests are not in the logs, so that nothing is known of their use."""
        return [place for place, use in self.uses(part) if not use.requests and not use.logs_here]

    @cached_property
    def peak(self) -> Peak | None:
        """The minute with the most requests under way; None if the log does not show it."""
        if not self.total.request.count or not self.profile.minutes:
            return None

        def connections(item: tuple[int, Sum]) -> tuple[int, int]:
            return item[1].busy + item[1].upstream * (_OF_UPSTREAM - 1), -item[0]

        minute, most = max(self.profile.minutes.items(), key=connections)
        return Peak(minute, most.busy / 60_000, (most.busy + most.upstream) / 60_000)

    @cached_property
    def capacity(self) -> int | None:
        """The connections of all workers; None if the configuration does not state them."""
        limits = self.profile.limits
        connections, processes = limits.get("worker_connections"), limits.get("worker_processes", 1)
        if connections is None:
            return None
        return processes * min(connections, limits.get("worker_rlimit_nofile", connections))

    @cached_property
    def clients(self) -> list[tuple[str, Sum]]:
        """The clients: those with the most time at upstreams, or the most requests, first."""
        return _by_work(self.profile.clients.items())

    @cached_property
    def robots(self) -> list[tuple[str, Sum]]:
        """The robots, in the same order."""
        return _by_work(self.profile.robots.items())

    @cached_property
    def lacking(self) -> list[tuple[str, str]]:
        """The variables that logs lack, with the figures that need them, and these logs if others have one."""
        return [
            (name, what if len(without) == len(self.profile.files) else f"{what} (not in {_first_of(without)})")
            for name, what in LACKING.items()
            if (without := self._without(_ANY_OF.get(name, (name,))))
        ]

    def _without(self, variables: Iterable[str]) -> list[str]:
        """Return the logs that have none of some variables."""
        return [file.path for file in self.profile.files if not set(variables) & set(file.variables)]

    @cached_property
    def broken(self) -> int:
        """The number of lines of another format."""
        return sum(file.broken for file in self.profile.files)

    @cached_property
    def work(self) -> Work:
        """The estimate of what nginx itself does."""
        return Work(self.profile)

    @cached_property
    def errors(self) -> int:
        """The number of responses that are errors of the server or its upstreams (5xx)."""
        return sum(cell.requests for key, cell in self.profile.classes.items() if (key.status or 0) >= 500)

    @cached_property
    def of_nginx(self) -> str:
        """The sentence about the share of the machine that nginx itself uses."""
        work = self.work
        if self.is_blind:
            return f"What answers {self.unknown / self.requests:.0%} of the requests is not known: {self.why}."
        if work.share is not None:
            low, high = (100 * share for share in work.share)
            share = _span(low, high) if high >= _LEAST_SHARE else f"less than {_LEAST_SHARE}"
            text = f"nginx itself needs {share} % of a processor core ({self.basis})"
            return f"{text}: nothing here is worth a change for CPU." if work.is_small else f"{text}."
        each = 1 / max(self.requests, 1)
        if self.is_timed:
            low, high = (nanoseconds * each / 1000 for nanoseconds in work.span)
            return f"nginx itself takes {_span(low, high)} microseconds a request ({self.basis})."
        instructions = float(f"{work.total.instructions * each:.2g}")
        return f"nginx itself takes about {instructions:,.0f} instructions a request ({self.basis})."

    @property
    def is_blind(self) -> bool:
        """Whether it is unknown what answers so many requests that nothing can be said about nginx's work."""
        return 2 * self.unknown > self.requests

    @property
    def is_idle(self) -> bool:
        """Whether nothing can be worth a change for the processor, as far as is known."""
        return self.is_blind or self.work.is_small

    def notable(self, worth: Worth) -> list[Worthwhile]:
        """Return the findings that may save a part of nginx's own work which is worth a line, the most first."""
        enough = _LEAST_PART * self.work.span[1] / 1e9 / self.work.days
        return [one for one in worth.findings if one.a_day.most >= enough]

    @property
    def why(self) -> str:
        """The reason why it is unknown what answers a request, for most of those for which it is."""
        return self.not_known[0][0]

    @cached_property
    def not_known(self) -> list[tuple[str, Cell]]:
        """The reasons why it is unknown what answers requests, with these requests, the most frequent first."""
        reasons: dict[str, Cell] = {}
        for key, cell in (*self.of_verdict("unknown"), *self.of_verdict("ambiguous")):
            reasons.setdefault(_reason(key), Cell()).add(cell)
        return sorted(reasons.items(), key=lambda item: (-item[1].requests, item[0]))

    @property
    def settling(self) -> str:
        """What would tell which of several responses it was: options, and variables that the logs lack."""
        lacking = dict(self.lacking)
        of_servers = _SETTLING if len(self.uses("server")) > 1 else {}
        found = ["$upstream_response_time"] if "upstream_response_time" in lacking else []
        found += [f"${name} ({option})" for name, option in of_servers.items() if name in lacking]
        return f"which of several responses it was, {', '.join(['files (--root, --exists)', *found])} may tell"

    @cached_property
    def unplaced(self) -> Cell:
        """What the requests took for which it is unknown which location answers them."""
        rest = Cell()
        for key, cell in self.profile.classes.items():
            if key.verdict == "ambiguous" or not (key.level or key.server):
                rest.add(cell)
        return rest

    @property
    def is_timed(self) -> bool:
        """Whether the time of most requests was measured, so that reports can show times."""
        return 2 * self.work.timed >= self.requests > 0

    @property
    def basis(self) -> str:
        """The basis of the figures on nginx's own work."""
        if not self.profile.measured:
            return "estimated"
        percent = (
            100 * max(self.work.timed, self.work.counted) // max(self.requests, 1)
        )  # all are 100 %, not almost all
        return f"measured for {percent}% of the requests"

    @property
    def basis_of_causes(self) -> str:
        """The basis of the cost by cause: the terms count for one build of nginx."""
        return f"{self.basis}; terms of {self.work.terms.name}"

    @cached_property
    def measured(self) -> list[Compared]:
        """The measured classes of requests, the most expensive first."""
        work = self.work
        found = [
            Compared(
                key, max(one.counted, one.timed), _each(one), work.estimated(key).times(1 / work.cells[key].requests)
            )
            for key, one in self.profile.measured.items()
            if key in work.cells
        ]
        return sorted(found, key=lambda one: (-one.requests * (one.nanoseconds or one.instructions or 0), str(one.key)))

    @cached_property
    def unmeasured(self) -> list[tuple[str, int]]:
        """The reasons why requests were not measured, with the number of requests, the most frequent first."""
        found = [(reason, one.requests) for reason, one in self.profile.unmeasured.items()]
        return sorted(found, key=lambda item: (-item[1], item[0]))

    @cached_property
    def repeated(self) -> list[Group]:
        """The locations whose upstreams were asked again within 10 seconds, those where this happens most first.

        Those that ask who the client is are left out, as a cache must not give to one what is for another.
        """
        passing = self._grouped(lambda key: (key.level or key.server) if self._is_for_all(key) else None)
        groups = [group for group in passing if group.cell.repeated > _SMALL * self.requests]
        return sorted(groups, key=lambda group: -group.cell.repeated)

    def _is_for_all(self, key: Class) -> bool:
        """Return whether an upstream answered, without being asked for a single client."""
        facts = self.profile.facts.get((key.server, key.level), ())
        has_passwords = self.profile.classes[key].tries.passwords > 0
        return key.kind in PASSED and not has_passwords and not any(fact.what == "auth_request" for fact in facts)

    @property
    def sentences(self) -> tuple[str, str]:
        """The sentences that a report begins with. If the log has no times, the one about nginx comes first."""
        found = self.verdict, self.of_nginx
        return found if self.total.request.count else found[::-1]

    @cached_property
    def verdict(self) -> str:
        """The sentence that says whether nginx is the problem, as far as the logs show."""
        total = self.total
        if not total.request.count:
            return "How long requests take is not in the log ($request_time)."
        hours = _hours(total.request.sum)
        if not total.upstream.count and "upstream_response_time" in self.profile.variables:
            return f"Requests took {hours} in all, and no upstream any of it."
        if not total.upstream.count:
            return f"Requests took {hours} in all; what upstreams took of it is not in the log."
        share = min(1.0, total.upstream.sum / max(total.request.sum, 1))
        if share >= 0.5:
            return f"Upstreams took {share:.0%} of the {hours} of all requests: look there, not at nginx, for time."
        return f"Upstreams took {share:.0%} of the {hours} of all requests; the rest is nginx and slow clients."


def _reason(key: Class) -> str:
    if key.verdict == "ambiguous":
        return f"several responses fit {key.status}, one of {shown(key.node or key.level)}"
    where = "" if key.node is None else f", {shown(key.node)}"
    return f"{key.reason or key.kind}{where}"


def shown(place: Place | None) -> str:
    """Return a place as reports show it, with a text that fits into a line."""
    return "nginx" if place is None else f"{place.file}:{place.line}: {shorten(place.text, _WIDTH)}"


def at_once(number: float) -> str:
    """Return a mean number of simultaneous requests, as text."""
    return f"{number:,.1f}" if number >= 0.05 else "less than 0.1"


def described(key: WorkClass) -> str:
    """Return what requests of a class have in common besides their location, such as `rewrite 301`."""
    return f"{key.rule or key.kind} {key.status or ''}".rstrip()


def _span(low: float, high: float) -> str:
    """Return two figures with two digits each, such as `0.012 to 0.046`."""
    return " to ".join(f"{float(f'{value:.2g}'):.10g}" for value in (low, high))


def _first_of(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def _by_work(items: Iterable[tuple[str, Sum]]) -> list[tuple[str, Sum]]:
    return sorted(items, key=lambda item: (-item[1].upstream, -item[1].requests, item[0]))


def _hours(milliseconds: int) -> str:
    seconds = milliseconds / 1000
    for unit, name in ((3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.0f} {name}"
    return f"{seconds:.1f} s" if seconds >= 0.1 else f"{milliseconds} ms"
