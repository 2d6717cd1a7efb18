"""Chooses requests of a log as samples, whose measurement stands for all requests of the log.

Requests are of one class if the same location answers them, by the same kind of rule, with the same status. Within a
class, there is a sample for compressed responses, for responses from a cache, and for each size with a large share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from functools import cached_property
from json import loads
from mimetypes import MimeTypes
from pathlib import Path
from typing import NamedTuple

from nginxopt.profile import terms
from nginxopt.profile.reading import LoggedLine, SiteLogs
from nginxopt.profile.sums import Cell, Place, Profile, WorkClass
from nginxopt.profile.work import PASSED, Work
from nginxopt.records import record
from nginxopt.request.client import RequestForm
from nginxopt.request.model import OutcomeForm, World, asks_file, depends, text_of
from nginxopt.request.private import MODIFIED
from nginxopt.system.passwords import credentials, kind_of

MOST = 64
"""The most classes that are measured."""
_COVERED = 0.998
"""Stop after the classes that make up this share of the estimated work, and of the requests."""
_MATTERS = 0.1
"""The share of the lines or bytes of a class from which a size gets a sample of its own."""
_NO_RESPONSE = (400, 408, 444, 494, 495, 496, 497, 499)
"""Statuses of connections that fail, and of clients that close them."""

_BROWSER = (
    ("User-Agent", terms.BROWSER),
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("Accept-Language", "en-GB,en;q=0.9,de;q=0.8"),
    ("Sec-Fetch-Dest", "document"),
    ("Sec-Fetch-Mode", "navigate"),
    ("Sec-Fetch-Site", "same-origin"),
)
_OTHER = ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
_SHORT_AGENTS = {terms.BROWSER: "Chrome/1", _OTHER[1]: "Gecko/1"}
"""Names that nginx treats like those of browsers, for requests that are too short for a browser's own."""
_PADDED = 500
"""The size in bytes from which error pages include the padding that nginx adds for Chrome (`msie_padding`)."""
_LAST_RANGE = 1 << 40
_MOST_ASKED = 48
"""How often the model is asked again with other files that may exist for a request."""


class NotMeasuredError(Exception):
    """Requests of a class cannot be measured; the message is the reason."""


@record(eq=True)
class SampleRequest:
    """A request that represents others.

    Attributes:
        requests: The number of requests that it represents.
        form: The request.
        expected: The status of its response.
        choices: The sets of files and folders that may exist for it. nginx's response shows which is right.
        size: The bytes of a response in the log; `is_whole` is whether these include its headers.
        ratio: How much the body shrinks when it is compressed. `raw` is its size before that, if the log has both
            sizes;
            otherwise None. It is exact if the log has the sizes of bodies, and an estimate if it has those of
            responses.
        is_compressed: Whether the response is; None if the log does not say, and nginx decides.
        is_cached: Whether it comes from a cache.
        is_listing: Whether it is the listing of a folder.
        content_type: The type of a body that an upstream sends.
        correction: How much more the average request costs than this one, because of the patterns that it tries, and
            because some use HTTP/2 or come from another client.
        instructions: The estimate for a request of the class.
    """

    of: WorkClass
    requests: int
    form: RequestForm
    expected: int
    choices: tuple[tuple[str, ...], ...] = ((),)
    size: int = 0
    is_whole: bool = True
    ratio: float = terms.GZIP_RATIO
    raw: int | None = None
    is_raw_exact: bool = False
    is_compressed: bool | None = None
    is_cached: bool = False
    is_listing: bool = False
    content_type: str = "text/html"
    correction: terms.Term = terms.NOTHING
    instructions: float = 0.0

    @property
    def is_passed(self) -> bool:
        """Whether an upstream answers it."""
        return self.of.kind in PASSED and not self.is_cached


class _Like(NamedTuple):
    """The properties by which requests of a class differ in cost; `bits` is the bit length of the response size."""

    method: str
    is_compressed: bool
    is_cached: bool
    is_listing: bool
    bits: int


@dataclass(slots=True)
class _Part:
    """The lines of a class that have the same cost, and their sums."""

    lines: list[LoggedLine] = field(default_factory=list)
    cell: Cell = field(default_factory=Cell)

    def add(self, line: LoggedLine) -> None:
        self.lines.append(line)
        self.cell.add(line.cell)

    def join(self, other: _Part) -> None:
        for line in other.lines:
            self.add(line)

    @property
    def framing(self) -> terms.Term:
        """The additional cost of HTTP/2 compared with HTTP/1.1, for all lines."""
        framed = [line for line in self.lines if line.is_framed]
        of_bytes = terms.HTTP2_BYTE.times(sum(line.cell.bytes for line in framed))
        return terms.HTTP2.times(len(framed)).plus(of_bytes)

    @property
    def typical(self) -> LoggedLine:
        """Of the lines of the most frequent client, the one whose size is nearest to the mean of all."""
        mean, often = self.cell.bytes / len(self.lines), Counter(line.agent for line in self.lines)
        return min(
            self.lines,
            key=lambda line: (-often[line.agent], line.agent or "", abs(line.cell.bytes - mean), line.cell.example),
        )


@dataclass(frozen=True)
class Samples:
    """The samples of the profile of logs. `kinds` are those of the hashes of the passwords that they need."""

    logs: SiteLogs
    profile: Profile
    kinds: set[bytes] = field(default_factory=set)

    def of_all(self) -> Iterator[tuple[WorkClass, int, list[SampleRequest] | str]]:
        """Yield the classes, those with the most work first, with their number of requests, and their samples or the
        reason why there are none.
        """
        cells = self._work.cells
        estimates = {key: self._work.estimated(key).instructions for key in cells}
        whole, requests = sum(estimates.values()) or 1.0, self.profile.requests
        number, left_work, left = 0, whole, requests
        for key in sorted(cells, key=lambda key: (-estimates[key], str(key))):
            if number >= MOST or (number and max(left_work / whole, left / requests) < 1 - _COVERED):
                yield key, cells[key].requests, "of the classes that take the least"
                continue
            try:
                yield key, cells[key].requests, list(self._of(key, cells[key]))
                number += 1
            except NotMeasuredError as error:
                yield key, cells[key].requests, str(error)
            left_work, left = left_work - estimates[key], left - cells[key].requests

    @cached_property
    def _work(self) -> Work:
        return Work(self.profile)

    @cached_property
    def _parts(self) -> dict[WorkClass, dict[_Like, _Part]]:
        """The examined lines, by class and cost."""
        found: dict[WorkClass, dict[_Like, _Part]] = {}
        for line in self.logs.some_lines():
            if line.forms:
                form = loads(line.forms[0])
                cell = line.cell
                like = _Like(
                    form["method"], cell.compressed > 0, cell.cached > 0, cell.listings > 0, cell.bytes.bit_length()
                )
                found.setdefault(WorkClass.of(line.key), {}).setdefault(like, _Part()).add(line)
        return found

    def _of(self, key: WorkClass, cell: Cell) -> Iterator[SampleRequest]:
        if key.verdict not in ("agrees", "ambiguous"):
            raise NotMeasuredError(_NOT_SETTLED[key.verdict])
        if key.status is None:
            raise NotMeasuredError("the log has no status")
        if key.status in _NO_RESPONSE or key.kind == "closed":
            raise NotMeasuredError(f"connections that fail, or clients that go away ({key.status})")
        if key.kind == "grpc":
            raise NotMeasuredError("gRPC needs an upstream of its own")
        parts = self._parts.get(key)
        if not parts:
            raise NotMeasuredError("rare, and not among the lines that were looked at")
        joined = list(_joined(parts))
        looked_at = sum(len(part.lines) for _, part in joined)
        left = cell.requests
        for place, (like, part) in enumerate(joined, 1):
            share = left if place == len(joined) else round(cell.requests * len(part.lines) / looked_at)
            left -= share
            if share:
                yield self._sample(key, like, part, share)

    def _sample(self, key: WorkClass, like: _Like, part: _Part, requests: int) -> SampleRequest:
        assert key.status is not None
        line, number = part.typical, len(part.lines)
        size, raw = round(part.cell.bytes / number), round(part.cell.raw / number)
        form = self._form(key, like, line, part, size)
        path = form["target"].partition("?")[0]
        of_tries = self._work.terms.of_tries
        more = of_tries(part.cell.tries).times(1 / number).plus(of_tries(line.cell.tries).times(-1))
        more = more.plus(part.framing.times(1 / number))
        more = more.plus(self._work.terms.scanned_byte.times(part.cell.scanned / number - line.cell.scanned))
        return SampleRequest(
            key,
            requests,
            form,
            key.status,
            self._choices(form, key, size, is_listing=like.is_listing),
            size,
            "bytes_sent" in self.profile.variables,
            max(1.0, raw / max(size, 1)) if raw else terms.GZIP_RATIO,
            raw or None,
            "body_bytes_sent" in self.profile.variables,
            like.is_compressed if self._shows_compression(key) else None,
            like.is_cached,
            like.is_listing,
            _type(path, is_text=like.is_compressed),
            more,
            self._work.estimated(key).instructions / self._work.cells[key].requests,
        )

    def _form(self, key: WorkClass, like: _Like, line: LoggedLine, part: _Part, size: int) -> RequestForm:
        """Return the request of a line, with further headers as a browser sends them."""
        is_short = key.status is not None and key.status >= 400 and max(size, part.cell.raw / len(part.lines)) < _PADDED
        needed = dict([_OTHER if is_short else _BROWSER[0]] if line.agent is None else [("User-Agent", line.agent)])
        if like.is_compressed or not self._shows_compression(key):
            needed["Accept-Encoding"] = "gzip"
        if part.cell.tries.passwords:
            needed["Authorization"] = credentials(self._hashing(key), is_right=key.status != 401)
        if key.status == 304:
            needed["If-Modified-Since"] = formatdate(MODIFIED, usegmt=True)
        if key.status == 206:
            needed["Range"] = f"bytes=0-{max(0, size - 1)}"
        if key.status == 416:
            needed["Range"] = f"bytes={_LAST_RANGE}-"
        length = round(part.cell.lengths / part.cell.measured) if part.cell.measured else terms.USUAL_LENGTH
        for text in line.forms:
            form: RequestForm = loads(text)
            form["target"] = line.cell.example
            body = round(part.cell.bodies / len(part.lines))
            if body and not any(name == "Content-Length" for name, _ in form["headers"]):
                form["headers"] = [*form["headers"], ("Content-Length", str(body))]
            _complete(form, needed, length)
            if len(line.forms) == 1 or (key.verdict == "agrees" and self._is_of(form, key)):
                return form
        if key.verdict == "ambiguous":
            raise NotMeasuredError(_NOT_SETTLED["ambiguous"])
        raise NotMeasuredError("no request was found that is answered there")

    def _shows_compression(self, key: WorkClass) -> bool:
        """Return whether the log shows which responses of a class nginx compressed: those with a ratio, or those with
        an encoding if it compresses any.
        """
        facts = self.profile.facts.get((key.server, key.level), ())
        has_encoding = self.profile.shows_compression and any(fact.what == "gzip" for fact in facts)
        return has_encoding or "gzip_ratio" in self.profile.variables

    def _hashing(self, key: WorkClass) -> bytes:
        """Return the kind of the hashes of the passwords that nginx checks for a class."""
        site = self.logs.model.site
        places = (self.logs.place(form["node"]) for form in site.site["levels"])
        level = next((one for one, place in zip(site.levels, places, strict=True) if place == key.level), None)
        path = None if level is None else level.setting("auth_basic_user_file").value
        if path is None or "$" in path:
            raise NotMeasuredError("the path of the passwords is not known, or has a variable")
        found = kind_of(Path(self.logs.model.config.prefix).absolute() / path)
        if isinstance(found, str):
            raise NotMeasuredError(found)
        self.kinds.add(found)
        return found

    def _is_of(self, form: RequestForm, key: WorkClass) -> bool:
        """Return whether one of the requests that a line may be belongs to its class."""
        outcome = self._trace(form)
        branches = self.logs.model.branches(form, self._known) if depends(outcome) else []
        outcomes = [branch["outcome"] for branch in branches] or [outcome]
        return any(each["kind"] == key.kind and self._place(each) == key.level for each in outcomes)

    def _trace(self, form: RequestForm) -> OutcomeForm:
        return self.logs.model.trace(form, self._known)["outcome"]

    @cached_property
    def _known(self) -> World:
        """Assumptions about files, in addition to those of this machine, which nginx does not get."""
        return replace(self.logs.world, root=None)

    def _choices(
        self, form: RequestForm, key: WorkClass, size: int, *, is_listing: bool
    ) -> tuple[tuple[str, ...], ...]:
        """Return the sets of files that may exist for a request of a class.

        If several responses fit, such as an error page of the site and nginx's own, the size decides. Raises
        `NotMeasuredError` if one of them comes from an upstream.
        """
        if not depends(self._trace(form)):
            return (self._known.existing,)
        branches = self.logs.model.branches(form, self._known)
        fitting = [branch for branch in branches if self._fits(branch["outcome"], key)]
        listing = [branch for branch in fitting if (branch["outcome"]["file"] or "").endswith("/")]
        fitting = listing if is_listing and listing else fitting
        if key.verdict == "ambiguous" and any(branch["outcome"]["kind"] in PASSED for branch in fitting):
            raise NotMeasuredError(_NOT_SETTLED["ambiguous"])
        found = [(*self._known.existing, *map(text_of, branch["exists"])) for branch in fitting]
        if not found and key.verdict == "agrees":
            found = [(*self._known.existing, *exists) for exists in self._searched(form, key)]
        if key.verdict == "ambiguous":
            found.sort(key=len, reverse=size > 2 * _PADDED)
        return tuple(dict.fromkeys(found)) or (self._known.existing,)

    def _searched(self, form: RequestForm, key: WorkClass) -> Iterator[tuple[str, ...]]:
        """Yield sets of files that may exist for a request for which the model does not list all branches."""
        worlds: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((), ())]
        for _ in range(_MOST_ASKED):
            if not worlds:
                return
            exists, missing = worlds.pop()
            outcome = self.logs.model.trace(form, self._known.with_files(exists, missing))["outcome"]
            if asks_file(outcome):
                path = text_of(_path(outcome))
                worlds.append((exists, (*missing, path)))
                worlds += [((*exists, one), missing) for one in (f"{path.rstrip('/')}/", path.rstrip("/"))]
            elif self._fits(outcome, key):
                yield exists

    def _fits(self, outcome: OutcomeForm, key: WorkClass) -> bool:
        is_answered = outcome["status"] in (None, key.status) or (outcome["kind"] == "static" and key.is_of_file)
        is_there = self._place(outcome) == key.level and outcome["kind"] == key.kind
        return is_answered and (is_there or key.verdict == "ambiguous")

    def _place(self, outcome: OutcomeForm) -> Place | None:
        level = outcome["level"]
        return None if level is None else self.logs.place(self.logs.model.site.site["levels"][level]["node"])


_NOT_SETTLED = {
    "differs": "the configuration gives another response",
    "ambiguous": "several responses of the configuration fit",
    "unknown": "what the configuration gives is not known",
}
_TYPES = MimeTypes()
_HTML = "text/html"
_PACKED = ("image/", "video/", "audio/", "font/")


def _type(path: str, *, is_text: bool) -> str:
    """Return the type of a body that an upstream sends: what the path says, except for what is text in spite of it."""
    guessed = _TYPES.guess_type(path)[0] or _HTML
    return _HTML if is_text and guessed.startswith(_PACKED) else guessed


def _path(outcome: OutcomeForm) -> str:
    """Return the path of the file that decides."""
    assert outcome["unknown"] is not None
    assert outcome["unknown"]["question"] is not None
    return outcome["unknown"]["question"]["path"]


def _complete(form: RequestForm, needed: Mapping[str, str], length: int) -> None:
    """Add headers to a request: those that it needs, and others up to a length."""
    has = {name.lower() for name, _ in form["headers"]}
    headers = [*form["headers"], *(item for item in needed.items() if item[1] and item[0].lower() not in has)]
    line = len(form["method"]) + len(form["target"]) + 14
    excess = line + sum(len(name) + len(value) + 4 for name, value in headers) - length
    if excess > 0:
        headers = [(name, _shortened(value, excess)) for name, value in headers]
    sent = line + sum(len(name) + len(value) + 4 for name, value in headers)
    for name, value in _BROWSER[1:]:
        size = len(name) + len(value) + 4
        if name.lower() not in has and sent + size <= length:
            headers.append((name, value))
            sent += size
    if length - sent > len("X-Other: x\r\n"):
        headers.append(("X-Other", "x" * (length - sent - 11)))
    form["headers"] = headers


def _shortened(value: str, excess: int) -> str:
    """Return the name of one of our browsers, shortened by some bytes if possible; any other value unchanged."""
    short = _SHORT_AGENTS.get(value)
    return value if short is None else short.ljust(len(value) - excess, "0")


def _joined(parts: Mapping[_Like, _Part]) -> Iterator[tuple[_Like, _Part]]:
    """Yield the parts of a class. Small parts are added to the one with the nearest size; those that have none stay."""
    total = sum(len(part.lines) for part in parts.values())
    size = sum(part.cell.bytes + part.cell.raw for part in parts.values())
    large = {
        like: _Part()
        for like, part in parts.items()
        if len(part.lines) >= _MATTERS * total or part.cell.bytes + part.cell.raw >= _MATTERS * size
    }
    for like, part in sorted(parts.items()):
        alike = [one for one in large if one[:-1] == like[:-1]]
        if alike:
            nearest = min(alike, key=lambda one: (abs(one.bits - like.bits), one.bits))
        else:
            nearest = like
            large[like] = _Part()
        large[nearest].join(part)
    yield from sorted(large.items())
