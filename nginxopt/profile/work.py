"""nginx's own work for the requests of a profile, by directive.

The settings of each level are read once, as a list of *facts*: what they make nginx do, such as compress a response. A
profile keeps these facts and the numbers of requests and bytes, which can be added. A report multiplies the numbers
with the terms (`nginxopt.profile.terms`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import NamedTuple

from nginxopt.config import Config, Directive
from nginxopt.facts import group
from nginxopt.lint.queries import pools
from nginxopt.lint.queries.model import Model
from nginxopt.profile import terms
from nginxopt.profile.sums import Cell, Class, LevelFact, MeasuredSums, Place, Profile, WorkClass
from nginxopt.profile.terms import NOTHING, SAME, Term, Terms
from nginxopt.request.log_formats import log_formats
from nginxopt.semantics import Level
from nginxopt.semantics.values import size
from nginxopt.version import Version

Placed = Callable[[Directive], Place]
"""Returns the place of a directive."""

_PASSES = tuple(sorted(group("pass")))
PASSED = ("proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached")
"""The kinds of outcomes in which nginx passes a request on."""
_GATEWAYS = ("fastcgi", "uwsgi", "scgi")
_COUNTED = (
    ("fastcgi_param", "param"), ("uwsgi_param", "param"), ("scgi_param", "param"),
    *((f"{protocol}_cache", "cache") for protocol in ("proxy", *_GATEWAYS)),
)  # fmt: skip
"""Directives that a request costs more for, by how many there are, with the name of the fact."""
_OWN_HEADERS = frozenset(
    ("host", "connection", "content-length", "transfer-encoding", "te", "keep-alive", "expect", "upgrade")
)
"""The headers of requests to upstreams that nginx sets itself (`ngx_http_proxy_headers`): another value costs the same.
"""
_GZIP_DEFAULT = 1
_SEVERER = ("crit", "alert", "emerg")
"""The levels of `error_log` without lines about missing files."""
_PAGE = 4_096
"""The bytes of a response that an upstream sends that nginx reads at once by default."""
_CHANGING = ("ssi", "sub_filter")
"""The facts of filters that change bodies."""
_IN_REWRITES = ("return", "redirect")
"""The kinds of outcomes that come before limits and subrequests."""
_MOVED = (301, 302, 303, 307, 308)
_WITH_EXPIRES = (200, 201, 204, 206, 304, *_MOVED)
"""The statuses of responses that get the headers of `expires`."""
_DAY = 86_400
_SMALL_SHARE = 0.01
"""The share of a core below which no change is worthwhile to save processor time."""
_SHORTEST = 60
"""The seconds that a log has to span before shares of a core are computed."""


@dataclass(frozen=True)
class LevelFacts:
    """Reads what the settings of levels make nginx do.

    `place` returns the place of a directive, and `located` the location of a server that a request for a path gets to,
    or None if that is not known.
    """

    config: Config
    target: Version
    place: Placed
    located: Callable[[Level, str], Level | None]

    def of(self, level: Level, *, tls: bool) -> tuple[LevelFact, ...]:
        """Return the facts of a level, sorted by name and place; `tls` is whether its server uses TLS."""
        found = [*self._read(level)]
        if tls:
            found.append(LevelFact("tls", None, 1))
        return tuple(sorted(found, key=str))

    def _read(self, level: Level) -> Iterator[LevelFact]:
        if level.setting("gzip").value == "on":
            setting = level.setting("gzip_comp_level")
            number = setting.value or ""
            yield self._fact("gzip", setting.directive or level.setting("gzip").directive,
                             int(number) if number.isdecimal() else _GZIP_DEFAULT)  # fmt: skip
        yield from self._logs(level)
        for name in ("try_files", "auth_request", "ssi", "expires"):
            setting = level.setting(name)
            if setting.is_set and setting.value != "off":
                yield self._fact(name, setting.directive, max(1, len(setting.directives[-1].args) - 1))
        yield from self._of_auth(level)
        sliced = level.setting("slice")
        if sliced.is_set and (bytes_ := size(sliced.value or "")):
            yield self._fact("slice", sliced.directive, bytes_)
        substituted = level.setting("sub_filter")
        if substituted.is_set:
            yield self._fact("sub_filter", substituted.directive, len(substituted.directives))
            if level.setting("sendfile").value == "on":
                yield self._fact("sub_filter_sendfile", substituted.directive, 1)
        added = level.headers("add_header")
        if added.directives:
            yield self._fact("add_header", added.directives[0], len(added.directives))
        yield from self._counted(level)
        log = level.setting("error_log")
        is_silent = any(str(word) in _SEVERER for one in log.directives for word in one.args[1:])
        if level.setting("log_not_found").value != "off" and not is_silent:
            yield self._fact("unfound", log.directive, 1)
        if level.setting("satisfy").value != "any" and not is_silent:
            yield self._fact("denied", log.directive, 1)
        for name in ("limit_req", "limit_conn"):
            limited = level.setting(name)
            if limited.is_set:
                yield self._fact("limit", limited.directive, len(limited.directives))
        for passed in _passes(level):
            yield self._fact("kept" if self._keeps(passed) else "fresh", passed, 1)
            protocol = str(passed.name).removesuffix("_pass")
            buffering = level.setting(f"{protocol}_buffering")
            if buffering.value == "off":
                yield self._fact(
                    "pieces", buffering.directive, size(level.setting(f"{protocol}_buffer_size").value or "") or _PAGE
                )

    def _counted(self, level: Level) -> Iterator[LevelFact]:
        written = level.setting("proxy_set_header").directives
        if set_ := [one for one in written if one.args and str(one.args[0]).lower() not in _OWN_HEADERS]:
            yield self._fact("set_header", set_[0], len(set_))
        for name, what in _COUNTED:
            setting = level.setting(name)
            if setting.is_set and setting.value != "off":
                yield self._fact(what, setting.directives[0], len(setting.directives))

    def _of_auth(self, level: Level) -> Iterator[LevelFact]:
        """Yield what the subrequests of `auth_request` make nginx do beyond a subrequest that it answers itself."""
        setting, server = level.setting("auth_request"), level.around("server")
        uri = setting.value
        if server is None or uri is None or uri == "off" or "$" in uri:
            return
        asked = self.located(server, uri)
        if asked is None:
            return
        for passed in _passes(asked):
            what = "fastcgi" if str(passed.name).removesuffix("_pass") in _GATEWAYS else "passed"
            yield self._fact(f"auth_{what}", setting.directive, 1)
            if what == "passed" and not self._keeps(passed):
                yield self._fact("auth_fresh", setting.directive, 1)
            for fact in self._counted(asked):
                if fact.what == ("set_header" if what == "passed" else "param"):
                    yield self._fact(f"auth_{fact.what}", setting.directive, fact.amount)

    def _keeps(self, passed: Directive) -> bool:
        """Return whether nginx reuses connections of a pass."""
        return self._kept.get((passed.source.path, passed.span.start), passed.name != "proxy_pass")

    def _logs(self, level: Level) -> Iterator[LevelFact]:
        setting = level.setting("access_log")
        if not setting.is_set:
            yield LevelFact("log", None, self._variables("combined"))
        for directive in setting.directives:
            words = [str(word) for word in directive.args]
            if words and words[0] != "off":
                is_buffered = any(word.startswith(("buffer=", "gzip")) for word in words[2:])
                named = words[1] if len(words) > 1 else "combined"
                yield self._fact("log_buffered" if is_buffered else "log", directive, self._variables(named))
                if named in self._identified:
                    yield self._fact("request_id", directive, 1)

    def _variables(self, name: str) -> int:
        return self._formats.get(name, 9)

    @cached_property
    def _formats(self) -> dict[str, int]:
        """The number of variables of each format."""
        return {one.name: len(one.variables) for one in log_formats(self.config)}

    @cached_property
    def _identified(self) -> frozenset[str]:
        """The formats with `$request_id`, which nginx draws for each request."""
        return frozenset(one.name for one in log_formats(self.config) if "request_id" in one.variables)

    @cached_property
    def _kept(self) -> dict[tuple[str, int], bool]:
        """Whether nginx reuses connections to upstreams, by the place of the pass."""
        model = Model(self.config, self.target)
        return {
            (one.directive.source.path, one.directive.span.start): pools.keeps(model, one)
            for one in model.passes
            if one.protocol == "proxy"
        }

    def _fact(self, what: str, directive: Directive | None, amount: int) -> LevelFact:
        return LevelFact(what, None if directive is None else self.place(directive), amount)


def _passes(level: Level) -> Iterator[Directive]:
    """Yield the directive by which a level passes requests on."""
    found = (level.setting(name).directive for name in _PASSES)
    return (passed for passed in found if passed is not None)


@dataclass(slots=True)
class Load:
    """The total cost of a cause, and the number of requests that have it."""

    term: Term = NOTHING
    requests: int = 0


Parts = Iterator[tuple[str, Place | None, Term]]
"""The cost of requests, by cause and directive."""


@dataclass(frozen=True)
class Work:
    """nginx's work for the requests of a profile: measured where possible, otherwise estimated."""

    profile: Profile

    @cached_property
    def terms(self) -> Terms:
        """The terms of the nginx that is assumed."""
        return terms.of(self.profile.nginx)

    @cached_property
    def by_cause(self) -> list[tuple[str, Place | None, Load]]:
        """The causes of processor time, each with the directive that asks for it, the most expensive first."""
        loads: dict[tuple[str, Place | None], Load] = {}
        tried, scaled = NOTHING, NOTHING
        # Sorted, because the sum of floats depends on their order.
        for key, cell in sorted(self.profile.classes.items(), key=lambda item: str(item[0])):
            of = WorkClass.of(key)
            factor, other = self._scales.get(of, (SAME, NOTHING))
            found = [(cause, place, term.scaled(factor)) for cause, place, term in self._of_requests(key, cell)]
            if other is not NOTHING:
                found.append((OTHER, key.level, other.times(cell.requests)))
            for cause, place, term in (*found, *self._of_connections(cell, key)):
                load = loads.setdefault((cause, place), Load())
                load.term, load.requests = load.term.plus(term), load.requests + cell.requests
            of_class = self.terms.of_tries(cell.tries)
            tried, scaled = tried.plus(of_class), scaled.plus(of_class.scaled(factor))
        factor = _ratio(scaled, tried)
        for place, tries in self.profile.tries.items():
            name = place.text.partition(" ")[0]
            for cause, term in (("patterns", self.terms.of_patterns(tries)), (name, self.terms.of_others(tries))):
                loads[cause, place] = Load(term.scaled(factor), self.requests)
        ordered = [(cause, place, load) for (cause, place), load in loads.items() if max(load.term) >= 1]
        return sorted(ordered, key=lambda one: (-one[2].term.nanoseconds, one[0], str(one[1])))

    @cached_property
    def total(self) -> Term:
        """The total cost."""
        return _sum(load.term for _, _, load in self.by_cause)

    @cached_property
    def requests(self) -> int:
        """The number of requests."""
        return self.profile.requests

    @cached_property
    def seconds(self) -> int | None:
        """The seconds from the first to the last request; None if the logs lack times, or span too little."""
        firsts = [cell.first for cell in self.profile.classes.values() if cell.first is not None]
        lasts = [cell.last for cell in self.profile.classes.values() if cell.last is not None]
        span = max(lasts) - min(firsts) if firsts and lasts else 0
        return span if span >= _SHORTEST else None

    @property
    def days(self) -> float:
        """The days of the profile; one if that is not known."""
        return (self.seconds or _DAY) / _DAY

    @cached_property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest total cost, in nanoseconds."""
        measured = sum(one.nanoseconds for one in self.profile.measured.values())
        estimated = max(0.0, self.total.nanoseconds - measured)
        low = estimated / terms.SPREAD + measured / terms.MEASURED_SPREAD
        return low, estimated * terms.SPREAD + measured * terms.MEASURED_SPREAD

    @cached_property
    def share(self) -> tuple[float, float] | None:
        """The smallest and the largest share of a core that nginx needs; None if the logs have no times."""
        if self.seconds is None:
            return None
        low, high = self.span
        return low / 1e9 / self.seconds, high / 1e9 / self.seconds

    @property
    def is_small(self) -> bool:
        """Whether nginx certainly needs so little that no change is worthwhile to save processor time."""
        return self.share is not None and self.share[1] < _SMALL_SHARE

    @cached_property
    def timed(self) -> int:
        """The number of requests whose time was measured."""
        return sum(one.timed for one in self.profile.measured.values())

    @cached_property
    def counted(self) -> int:
        """The number of requests whose instructions were measured."""
        return sum(one.counted for one in self.profile.measured.values())

    @cached_property
    def cells(self) -> dict[WorkClass, Cell]:
        """The sums of each class of work."""
        found: dict[WorkClass, Cell] = {}
        for key, cell in sorted(self.profile.classes.items(), key=lambda item: str(item[0])):
            found.setdefault(WorkClass.of(key), Cell()).add(cell)
        return found

    def estimated(self, key: WorkClass) -> Term:
        """Return the estimate for the requests of a class, without connections."""
        cell = self.cells[key]
        return _sum(term for _, _, term in self._of_requests(key, cell)).plus(self.terms.of_tries(cell.tries))

    @cached_property
    def _scales(self) -> dict[WorkClass, tuple[Term, Term]]:
        """For each measured class, the factors from its estimate to the measurement, and the cost of a request beyond
        these.
        """
        return {
            key: _scale(self.estimated(key).times(1 / self.cells[key].requests), one)
            for key, one in self.profile.measured.items()
            if key in self.cells
        }

    def _of_requests(self, key: Class | WorkClass, cell: Cell) -> Parts:
        """Yield the estimates for requests of a class, without patterns and connections."""
        number = cell.requests
        facts = self.profile.facts.get((key.server, key.level), ())
        length = _length(cell)
        headers = self.terms.of_headers(length, _agent(cell, length))
        if cell.posted:
            yield "requests", None, self.terms.body.times(cell.posted)
        if cell.bodies and any(fact.what == "tls" for fact in facts):
            yield "tls", None, self.terms.tls_passed_byte.times(cell.bodies)
        yield "requests", None, self.terms.base.plus(headers).times(number)
        yield from _of_kind(self.terms, key, cell, {fact.what: fact.amount for fact in facts}, length)
        if cell.listings:
            headers_sent = cell.listings * terms.HEADERS if "bytes_sent" in self.profile.variables else 0
            yield "files", key.level, self.terms.listing_byte.times(max(0, cell.listed - headers_sent))
        yield from self._of_pieces(key, cell, {fact.what: fact for fact in facts})
        changes = any(fact.what in _CHANGING for fact in facts)
        for fact in facts:
            term = _of_fact(self.terms, fact, key, cell, variables=self.profile.variables, changes=changes)
            if term is not None:
                yield _CAUSES.get(fact.what, fact.what), fact.place, term

    def _of_pieces(self, key: Class | WorkClass, cell: Cell, facts: Mapping[str, LevelFact]) -> Parts:
        """Yield the cost of sending responses of upstreams piece by piece, where buffering is off."""
        if "pieces" not in facts or key.kind not in PASSED:
            return
        place, size_ = facts["pieces"].place, facts["pieces"].amount
        if "tls" in facts:
            yield "tls", place, self.terms.tls_piece.times(cell.bytes / size_)
        packed = _compressed(key, cell, variables=self.profile.variables) if "gzip" in facts else None
        if packed is not None:
            yield "gzip", place, self.terms.gzip_piece.times(packed.number * packed.raw / size_)

    def _of_connections(self, cell: Cell, key: Class) -> Parts:
        """Yield the cost of the connections whose first request is of a class."""
        if not cell.connections:
            return
        yield "connections", None, self._each("connection", self.terms.connection).times(cell.connections)
        if any(fact.what == "tls" for fact in self.profile.facts.get((key.server, key.level), ())):
            full = self._each("handshake", self.terms.handshake).times(cell.connections - cell.resumed)
            yield "tls", None, full.plus(self.terms.resumed.times(cell.resumed))

    def _each(self, what: str, estimate: Term) -> Term:
        """Return the cost of a connection or handshake: measured if possible."""
        measured = self.profile.connections.get(what)
        return estimate if measured is None else _per_request(measured, estimate)


OTHER = "beyond the terms"
"""The cause of cost that no term explains, such as that of modules."""
_MOST_FACTOR = 2.0
"""The largest factor between measurement and estimate that is attributed to the terms."""


def _per_request(measured: MeasuredSums, estimate: Term) -> Term:
    """Return the cost of a request: as measured, otherwise the estimate."""
    return Term(
        measured.instructions / measured.counted if measured.counted else estimate.instructions,
        measured.nanoseconds / measured.timed if measured.timed else estimate.nanoseconds,
    )


def _scale(estimate: Term, measured: MeasuredSums) -> tuple[Term, Term]:
    """Return the factors from an estimate to the measurement, and the cost that no factor explains."""
    found = _per_request(measured, estimate)
    factor = _ratio(found, estimate)
    if factor.instructions <= _MOST_FACTOR:
        return factor, NOTHING
    return SAME, found.plus(estimate.times(-1))


def _ratio(found: Term, of: Term) -> Term:
    return Term(
        found.instructions / of.instructions if of.instructions else 1.0,
        found.nanoseconds / of.nanoseconds if of.nanoseconds else 1.0,
    )


_CAUSES = {
    "log": "access log",
    "log_buffered": "access log",
    "request_id": "access log",
    "sub_filter_sendfile": "sub_filter",
    "limit": "limits",
    **dict.fromkeys(("unfound", "denied"), "error log"),
    **dict.fromkeys((f"auth_{what}" for what in ("passed", "fastcgi", "fresh", "set_header", "param")), "auth_request"),
}


def _of_kind(
    of: Terms, key: Class | WorkClass, cell: Cell, facts: dict[str, int], length: float
) -> Iterator[tuple[str, Place | None, Term]]:
    """Yield the cost of answering. `facts` are the amounts of facts, and `length` the bytes of the
    headers of a request."""
    number, longer = cell.requests, max(0.0, length - terms.BASE_LENGTH)
    if key.status in _MOVED:
        yield "requests", None, of.moved.times(number)
    if key.kind == "static":
        yield "files", key.level, of.file.times(number - cell.listings).plus(of.file_byte.times(cell.bytes))
    if key.kind in PASSED:
        if key.kind in _GATEWAYS:
            each = of.fastcgi.plus(of.fastcgi_header_byte.times(longer))
            each = each.plus(of.fastcgi_param.times(facts.get("param", 0)))
        else:
            each = of.passed.plus(of.passed_header_byte.times(longer))
            each = each.plus(of.set_header.times(facts.get("set_header", 0)))
            each = each.plus(of.fresh) if "fresh" in facts else each
        if "cache" in facts:
            each = each.plus(of.missed)
        passed = each.times((number - cell.cached) * (1 + _further(cell, facts.get("slice")) / number))
        of_bytes = of.passed_byte.times(cell.bytes * (number - cell.cached) / number)
        yield "upstream", _passing(key), passed.plus(of_bytes)
        if cell.cached:
            yield "cache", key.level, of.cached.times(cell.cached)


def _length(cell: Cell) -> float:
    """Return the mean bytes of the requests of a class without their bodies."""
    return (cell.lengths + (cell.requests - cell.measured) * terms.USUAL_LENGTH) / cell.requests


def _agent(cell: Cell, length: float) -> terms.Agent:
    """Return the mean `User-Agent` of requests of so many bytes."""
    of_others = terms.assumed_agent(length)
    others = cell.requests - cell.agents
    return terms.Agent(
        (cell.named + others * of_others.length) / cell.requests,
        (cell.scanned + others * of_others.scanned) / cell.requests,
    )


def _further(cell: Cell, part: int | None) -> int:
    """Return the number of parts beyond the first of each response, where `slice` asks for parts of a size. The last
    part may be a small one, and takes as much.
    """
    body = cell.bytes / cell.requests - terms.HEADERS
    return cell.requests * max(0, ceil(body / part) - 1) if part else 0


def _passing(key: Class | WorkClass) -> Place | None:
    return (key.node if isinstance(key, Class) else None) or key.level


def _of_fact(
    of: Terms, fact: LevelFact, key: Class | WorkClass, cell: Cell, *, variables: set[str], changes: bool
) -> Term | None:
    """Return the cost of a fact for requests of a class; None if it does not apply to them. `changes` is whether their
    bodies are changed, to a length that nginx does not know beforehand.
    """
    number, body = cell.requests, cell.raw or cell.bytes
    match fact.what:
        case "tls":
            kept = cell.bytes * cell.cached / number  # sent from files, as caches are
            passed = of.of_tls(number - cell.cached, cell.bytes - kept, is_passed=key.kind in PASSED)
            return passed.plus(of.of_tls(cell.cached, kept, is_passed=False))
        case "gzip":
            packed = _compressed(key, cell, variables=variables)
            has_length = key.kind not in _GATEWAYS and not cell.listings and not changes
            return packed and of.of_gzip(fact.amount, packed.raw, packed.sent, has_length=has_length).times(
                packed.number
            )
        case "log" | "log_buffered":
            line = of.log if fact.what == "log" else of.log_buffered
            return line.plus(of.log_variable.times(fact.amount)).times(number)
        case "request_id":
            return of.request_id.times(number)
        case "try_files" | "limit" if key.kind in _IN_REWRITES:
            return None
        case "try_files":
            return of.try_files.times(number * fact.amount)
        case what if what.startswith("auth_"):
            return None if key.kind in _IN_REWRITES else _of_auth(of, fact, cell)
        case "sub_filter":
            return of.substituted.times(number).plus(of.substituted_byte.times(body * fact.amount))
        case "sub_filter_sendfile" if key.kind == "static" and key.status == 200:
            return of.substituted_file.times(number)
        case "unfound":
            return of.unfound.times(cell.tries.missing)
        case "denied" if key.status == 403 and _rule(key) == "deny":
            return of.unfound.times(number)
        case "slice" if key.kind in PASSED:
            return of.slice.times(_further(cell, fact.amount))
        case "ssi":
            return of.ssi_byte.times(body)
        case "expires" if key.status in _WITH_EXPIRES:
            return of.expires.times(number)
        case "add_header":
            return of.added_header.times(number * fact.amount)
        case "limit":
            return of.limit.times(number * fact.amount)
        case _:
            return None


def _rule(key: Class | WorkClass) -> str | None:
    """Return the name of the directive that decides; None if that is the level."""
    return (WorkClass.of(key) if isinstance(key, Class) else key).rule


def _of_auth(of: Terms, fact: LevelFact, cell: Cell) -> Term:
    """Return the cost of a fact of subrequests of `auth_request`."""
    longer = max(0.0, _length(cell) - terms.BASE_LENGTH)
    each = {
        "auth_request": of.auth_request,
        "auth_passed": of.auth_passed.plus(of.passed_header_byte.times(longer)),
        "auth_fastcgi": of.auth_fastcgi.plus(of.fastcgi_header_byte.times(longer)),
        "auth_fresh": of.fresh,
        "auth_set_header": of.set_header,
        "auth_param": of.fastcgi_param,
    }
    return each[fact.what].times(cell.requests * fact.amount)


class _Packed(NamedTuple):
    """The number of compressed responses, and the bytes of one before and after that."""

    number: int
    raw: float
    sent: float


def _compressed(key: Class | WorkClass, cell: Cell, *, variables: set[str]) -> _Packed | None:
    """Return the responses that were compressed. If the log does not show them, all are taken to be text."""
    headers = terms.HEADERS if "body_bytes_sent" not in variables else 0
    if cell.compressed:
        sent = max(0.0, cell.packed / cell.compressed - headers)
        ratio = cell.raw / cell.packed if cell.raw else terms.GZIP_RATIO
        return _Packed(cell.compressed, sent * ratio, sent)
    is_shown = not variables.isdisjoint(("gzip_ratio", "sent_http_content_encoding"))
    if is_shown or key.status != 200 or (key.kind != "static" and key.kind not in PASSED):
        return None
    sent = max(0.0, cell.bytes / cell.requests - (terms.HEADERS if "bytes_sent" in variables else 0))
    return _Packed(cell.requests, sent * terms.GZIP_RATIO, sent)


def _sum(found: Iterable[Term]) -> Term:
    total = NOTHING
    for term in found:
        total = total.plus(term)
    return total
