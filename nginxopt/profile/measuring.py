"""Measures nginx's work for the requests of a profile, by running one request of each class on a private nginx.

The private nginx has the http block of the configuration, with its logs, compression and modules, and is confined like
any other (`nginxopt.request.private`). Instructions are counted under callgrind, if valgrind is installed. Processor
time is that of the process. It is measured in rounds of all samples, so that a busy machine slows down all samples
alike.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from nginxopt.errors import InputError, MissingError, RunError
from nginxopt.profile.bodies import text
from nginxopt.profile.reading import SiteLogs
from nginxopt.profile.samples import SampleRequest, Samples
from nginxopt.profile.sums import MeasuredSums, Profile, Sum, WorkClass
from nginxopt.profile.terms import NOTHING, Term
from nginxopt.request.client import RequestForm
from nginxopt.request.model import World
from nginxopt.request.private import Measuring, PrivateNginx, request_bytes
from nginxopt.system import callgrind
from nginxopt.system.backend import BackendAnswer
from nginxopt.system.http import Client, RequestBytes
from nginxopt.system.nginx import Binary
from nginxopt.system.passwords import users

Progress = Callable[[int, int], None]
"""Called with the number of steps that are done, and the number of all."""

_ROUNDS = 5
_ROUND_NANOSECONDS = 60_000_000
"""The approximate processor time for a sample in a round."""
_AT_ONCE = 8
"""The number of connections for timed requests: nginx then finds several requests at a time, as under load."""
_WARM_UPS, _FEWEST, _COUNTED = 3, 4, 24
_COUNTED_INSTRUCTIONS = 30_000_000
"""The approximate number of instructions that are counted for a sample."""
_CONNECTIONS = 8
_TRIES, _NEAR = 4, 0.02
"""How often the size of a body is adjusted until the response has the size in the log, and the accepted difference."""
_SAME_SIZE = 0.25
"""The share by which a response may be smaller or larger than in the log."""
_LARGEST = 64 << 20
_LISTING, _ENTRY, _MOST_LISTED = 145, 130, 20_000
"""The bytes of the listing of an empty folder, and of a file in one with names like ours; the most files."""
_REMEMBERING = frozenset(["open_file_cache"])
"""Settings that keep replaced or deleted files open, which would hide changes of their size."""
_UNCACHED = ((False, False), (True, False), (False, True))
"""The ways to get past a cache, in their order: none, another argument, an empty cache."""
_LIVES = ("Cache-Control", "max-age=86400")


@dataclass(slots=True)
class _Trial:
    """A sample, how to request it, and the results.

    Attributes:
        existing: The files and folders that exist for it.
        raw: The bytes of the body before compression.
        ratio: How much the body shrinks when it is compressed.
        is_varied: Whether each request gets a different argument, so that no cache has the response.
        is_emptied: Whether caches are emptied before each request, for those that ignore arguments.
        reason: Why it could not be measured.
    """

    sample: SampleRequest
    existing: tuple[str, ...] = ()
    raw: int = 0
    ratio: float = 1.0
    is_varied: bool = False
    is_emptied: bool = False
    reason: str | None = None
    nanoseconds: list[float] = field(default_factory=list)
    instructions: float | None = None
    sent: int = 0

    @property
    def file(self) -> str | None:
        """The file that exists for the sample, and gets the body; None if only folders exist."""
        return next((name for name in self.existing if not name.endswith("/")), None)

    def disturbs(self, other: _Trial) -> bool:
        """Whether an nginx that keeps files open would answer one of two samples with the file of the other."""
        is_same = (self.existing, self.raw, self.ratio) == (other.existing, other.raw, other.ratio)
        return not is_same and not set(self.existing).isdisjoint(other.existing)


def measure(
    logs: SiteLogs,
    profile: Profile,
    binary: Binary,
    progress: Progress = lambda _done, _all: None,
    *,
    rounds: int = _ROUNDS,
) -> None:
    """Measure requests of each class, and add the results to the profile; without `rounds`, only instructions.

    Raises `InputError` if nginx does not start, and for programs that it may not run, and as `PrivateNginx` does.
    """
    trials: dict[WorkClass, list[_Trial]] = {}
    chosen = Samples(logs, profile)
    for key, requests, samples in chosen.of_all():
        if isinstance(samples, str):
            profile.unmeasured.count(samples, Sum(requests), Sum)
        else:
            trials[key] = [_Trial(sample) for sample in samples]
    every = [trial for of in trials.values() for trial in of]
    if every:
        laboratory = _Laboratory(logs, binary, every, progress, rounds, users(chosen.kinds))
        laboratory.time()
        laboratory.count(profile)
        _add(profile, trials, laboratory)


def _add(profile: Profile, trials: dict[WorkClass, list[_Trial]], laboratory: _Laboratory) -> None:
    """Add the results to the profile, and the reasons for the samples that failed."""
    for key, of in trials.items():
        failed = [trial for trial in of if trial.reason is not None]
        for trial in failed:
            profile.unmeasured.count(trial.reason, Sum(trial.sample.requests), Sum)
        for trial in of:
            if trial.reason is None:
                profile.measured.count(key, _measured(trial), MeasuredSums)
    for name, each in laboratory.connections.items():
        if each is not NOTHING:
            instructions, nanoseconds = round(each.instructions), round(each.nanoseconds)
            profile.connections.count(
                name, MeasuredSums(int(instructions > 0), instructions, int(nanoseconds > 0), nanoseconds), MeasuredSums
            )


def _measured(trial: _Trial) -> MeasuredSums:
    """Return the sums for all requests that a sample stands for."""
    number, correction = trial.sample.requests, trial.sample.correction
    made = MeasuredSums()
    if trial.instructions is not None:
        made.counted = number
        made.instructions = max(0, round(number * (trial.instructions + correction.instructions)))
    if trial.nanoseconds:
        made.timed = number
        made.nanoseconds = max(0, round(number * (median(trial.nanoseconds) + correction.nanoseconds)))
    return made


class _Laboratory:
    """Runs samples on a private nginx. `connections` has the measured cost of a connection and of a TLS handshake."""

    def __init__(
        self,
        logs: SiteLogs,
        binary: Binary,
        trials: Sequence[_Trial],
        progress: Progress,
        rounds: int,
        passwords: bytes,
    ) -> None:
        self._logs, self._binary, self._trials, self._rounds = logs, binary, trials, rounds
        self._passwords = passwords
        self._progress, self._done = progress, 0
        self._tls = any(trial.sample.form["connection"]["tls"] for trial in trials)
        self.connections: dict[str, Term] = {}

    @property
    def _good(self) -> list[_Trial]:
        return [trial for trial in self._trials if trial.reason is None]

    @property
    def _keeps_open(self) -> bool:
        directives = (directive.name for directive, _ in self._logs.model.config.walk())
        return not _REMEMBERING.isdisjoint(map(str, directives))

    @property
    def _groups(self) -> list[list[_Trial]]:
        """The samples that the same nginx can run: one that keeps files open must not find others at their paths."""
        if not self._keeps_open:
            return [self._good]
        groups: list[list[_Trial]] = []
        for trial in self._good:
            group = next((one for one in groups if not any(map(trial.disturbs, one))), None)
            if group is None:
                groups.append([trial])
            else:
                group.append(trial)
        return groups

    def _step(self) -> None:
        self._done += 1
        self._progress(self._done, len(self._trials) * (self._rounds + 2))

    def time(self) -> None:
        """Find out how to request each sample, and measure the processor time of nginx, in rounds."""
        with self._nginx(Measuring(passwords=self._passwords), left_out=_REMEMBERING) as nginx:
            for trial in self._trials:
                trial.reason = _Asking(nginx, trial, keeps_open=self._keeps_open).prepare()
                self._step()
        if not self._rounds:
            return
        for number, group in enumerate(self._groups):
            with self._nginx(Measuring(passwords=self._passwords)) as nginx:
                for _ in range(self._rounds):
                    for trial in group:
                        trial.nanoseconds.append(_Asking(nginx, trial).timed())
                        self._step()
                if not number:
                    self._open_connections(nginx, group, lambda: nginx.process.nanoseconds, is_time=True)

    def count(self, profile: Profile) -> None:
        """Count instructions, if that is possible; otherwise record why not."""
        try:
            for number, group in enumerate(self._groups):
                with callgrind.counter() as counter:
                    how = Measuring(counter.wrapper, (counter.folder,), callgrind.START_SECONDS, self._passwords)
                    with self._nginx(how) as nginx:
                        self._count(nginx, counter, group, is_first=not number)
        except (InputError, MissingError, RunError) as error:  # such as an nginx that is a script
            profile.notes.append(f"only processor time was measured: {error.message}")

    def _count(
        self, nginx: PrivateNginx, counter: callgrind.Counter, group: Sequence[_Trial], *, is_first: bool
    ) -> None:
        counter.since(nginx.process.pid)
        own = counter.since(nginx.process.pid)  # the cost of asking the counter
        for trial in group:
            asking = _Asking(nginx, trial, callgrind.ANSWER_SECONDS)
            most = int(_COUNTED_INSTRUCTIONS / max(1.0, trial.sample.instructions))
            number = max(_FEWEST, min(_COUNTED, most))
            asking.put()
            with asking.client() as client:
                asking.ask(client, _WARM_UPS)
                counter.since(nginx.process.pid)
                statuses = asking.ask(client, number)
                trial.instructions = (counter.since(nginx.process.pid) - own) / number
            if statuses != {trial.sample.expected}:
                trial.reason, trial.instructions = _unexpected(statuses, trial.sample.expected), None
            self._step()
        if is_first:
            self._open_connections(nginx, group, lambda: counter.since(nginx.process.pid) - own, is_time=False)

    def _open_connections(
        self, nginx: PrivateNginx, group: Sequence[_Trial], took: Callable[[], float], *, is_time: bool
    ) -> None:
        """Measure new connections: the difference between requests on a connection each, and requests on one
        connection.
        """
        found: dict[bool, float] = {}
        for tls in (False, True):
            of = [
                trial
                for trial in group
                if trial.reason is None and trial.sample.form["connection"]["tls"] == tls and trial.sent < 1 << 16
            ]
            if not of:
                continue
            asking = _Asking(nginx, min(of, key=lambda trial: trial.sample.instructions), callgrind.ANSWER_SECONDS)
            asking.put()
            with asking.client() as client:
                asking.ask(client, _WARM_UPS)
                before = took()
                asking.ask(client, _CONNECTIONS)
                kept = took() - (before if is_time else 0)
            before = took()
            for _ in range(_CONNECTIONS):
                with asking.client() as client:
                    asking.ask(client, 1)
            found[tls] = (took() - (before if is_time else 0) - kept) / _CONNECTIONS
        plain = found.get(False, 0.0)
        for name, tls, less in (("connection", False, 0.0), ("handshake", True, plain)):
            if tls in found and found[tls] > less:
                term = self.connections.get(name, NOTHING)
                each = found[tls] - less
                self.connections[name] = term.plus(Term(0, each) if is_time else Term(each, 0))

    @contextlib.contextmanager
    def _nginx(self, how: Measuring, *, left_out: frozenset[str] = frozenset()) -> Iterator[PrivateNginx]:
        model = self._logs.model
        prefix = model.site.site["build"]["prefix"]
        with PrivateNginx(
            model.config, prefix, World(), self._binary, tls=self._tls, measuring=how, left_out=left_out
        ) as nginx:
            yield nginx


@dataclass
class _Asking:
    """Sends the requests of a sample to an nginx. `keeps_open` is whether another will keep files of caches open."""

    nginx: PrivateNginx
    trial: _Trial
    seconds: float = 20.0
    number: int = 0
    keeps_open: bool = False

    def prepare(self) -> str | None:
        """Find files and a body that give a response like those in the log. Return the reason if there are none."""
        reason = None
        for existing in self.trial.sample.choices:
            self.trial.existing = existing
            self.trial.raw, self.trial.ratio = self.trial.sample.raw or self.trial.sample.size, self.trial.sample.ratio
            self.trial.is_emptied = True  # a cache would send the first body again
            reason = self._sized()
            self.trial.is_emptied = False
            reason = reason or self._of_cache() or self._of_size()
            if reason is None:
                break
        return reason

    def _sized(self) -> str | None:
        """Find the body that gives a response of the size in the log."""
        sample = self.trial.sample
        for _ in range(_TRIES):
            self.put()
            before = len(self.nginx.backend.asked)
            with self.client() as client:
                answer = self._answer(client)
            is_old = sample.is_cached and len(self.nginx.backend.asked) == before
            status, end = _status(answer), answer.find(b"\r\n\r\n") + 4
            if status != sample.expected:
                return _unexpected({status}, sample.expected)
            is_compressed = b"\r\ncontent-encoding: gzip\r\n" in answer[:end].lower()
            if sample.is_compressed not in (None, is_compressed):
                return f"responses are {'' if sample.is_compressed else 'not '}compressed in the log"
            self.trial.sent = len(answer) if sample.is_whole else len(answer) - end
            if is_old or not self._resize(end, self.trial.sent, is_compressed=is_compressed):
                break
        return None

    def _resize(self, head: int, sent: int, *, is_compressed: bool) -> bool:
        """Change the size of the body, given how many bytes of it were sent. Return whether it changed."""
        sample, before = self.trial.sample, (self.trial.raw, self.trial.ratio)
        if not self._has_body:
            return False
        wanted = max(1, sample.size - (head if sample.is_whole else 0))  # bytes of the body
        body = max(1, sent - (head if sample.is_whole else 0))
        if is_compressed and sample.raw is not None:
            # The log has whole responses, not bodies: `raw` includes a share of the headers.
            self.trial.raw = sample.raw if sample.is_raw_exact else round(sample.raw * wanted / sample.size)
            if abs(body / wanted - 1) > _NEAR:
                self.trial.ratio *= body / wanted
        elif abs(body - wanted) > max(_NEAR * wanted, 8):
            self.trial.raw = round(before[0] * wanted / body) if is_compressed else before[0] + wanted - body
        self.trial.raw = min(max(self.trial.raw, 0), _LARGEST)
        return (self.trial.raw, self.trial.ratio) != before

    @property
    def _has_body(self) -> bool:
        """Whether the size of the response can be chosen."""
        sample = self.trial.sample
        has_source = sample.is_passed or sample.is_cached or sample.is_listing or self.trial.file is not None
        return has_source and sample.expected not in (304, 416)

    def _of_size(self) -> str | None:
        """Return the reason if the size of the response is unlike those in the log."""
        sample, sent = self.trial.sample, self.trial.sent
        if sample.raw is not None:
            return None
        small = 2_000  # headers alone may differ by this much
        if abs(sent - sample.size) <= max(small, _SAME_SIZE * sample.size):
            return None
        return f"responses have {sample.size:,} bytes in the log, and nginx sends {sent:,}"

    def _of_cache(self) -> str | None:
        """Make sure that an upstream answers, or a cache, as in the log; return the reason if that fails."""
        sample = self.trial.sample
        if not sample.is_passed and not sample.is_cached:
            return None
        with self.client() as client:
            for is_varied, is_emptied in _UNCACHED:
                self.trial.is_varied, self.trial.is_emptied = is_varied, is_emptied and not self.keeps_open
                before = len(self.nginx.backend.asked)
                self.ask(client, 2)
                is_asked = len(self.nginx.backend.asked) - before >= 2
                if is_asked == sample.is_passed:
                    return None
                if sample.is_cached:
                    return "nginx does not keep the response in its cache"
        return "nginx answers from its cache"

    @property
    def _listed(self) -> dict[str, bytes]:
        """The files of the folder whose listing the sample is, of which each takes as many bytes of it."""
        folder = next((name for name in reversed(self.trial.existing) if name.endswith("/")), None)
        if not self.trial.sample.is_listing or folder is None:
            return {}
        number = min(max(1, round((self.trial.raw - _LISTING) / _ENTRY)), _MOST_LISTED)
        return {f"{folder}a-file-with-number-{one:05}": b"" for one in range(number)}

    def put(self) -> None:
        """Make the file and the upstream send the body."""
        sample = self.trial.sample
        whole = self.trial.raw + (sample.expected == 206)  # a request for a part needs a larger file
        body = text(whole, round(self.trial.ratio, 2)) if self.trial.file is not None else b""
        self.nginx.lay(dict.fromkeys(self.trial.existing, body) | self._listed)
        if sample.is_passed or sample.is_cached:
            headers = [("Content-Type", sample.content_type)]
            headers += [_LIVES] if sample.is_cached else []
            if sample.expected == 206:
                headers.append(("Content-Range", f"bytes 0-{self.trial.raw - 1}/{whole}"))
            if sample.expected in (301, 302, 303, 307, 308):
                headers.append(("Location", "/elsewhere"))
            body = text(self.trial.raw, round(self.trial.ratio, 2))
            self.nginx.backend.answer = BackendAnswer(sample.expected, tuple(headers), body)
        else:
            self.nginx.backend.answer = BackendAnswer()  # of subrequests

    def client(self) -> Client:
        """Return a new client."""
        moved = self.nginx.kept(self.trial.sample.form)["connection"]
        return Client(
            moved["port"],
            timeout=self.seconds,
            tls=moved["tls"],
            server_name=moved["sni"],
            network=self.nginx.network,
        )

    def ask(self, client: Client, number: int) -> set[int]:
        """Send requests one after the other, so that nginx reads each separately. Return the statuses."""
        return {_status(self._answer(client)) for _ in range(number)}

    def _answer(self, client: Client) -> bytes:
        return client.ask([self._request()])[0]

    def _request(self) -> RequestBytes:
        if self.trial.is_emptied:
            self.nginx.empty_caches()
        form = self.trial.sample.form
        if self.trial.is_varied:
            self.number += 1
            form = _varied(form, self.number, id(self))
        return RequestBytes(request_bytes(self.nginx.kept(form)), head=form["method"] == "HEAD")

    def timed(self) -> float:
        """Return the nanoseconds of processor time of a request."""
        self.put()
        with contextlib.ExitStack() as stack:
            at_once = 1 if self.trial.is_emptied else _AT_ONCE  # the first of several would fill the cache
            clients = [stack.enter_context(self.client()) for _ in range(at_once)]
            self._volley(clients)
            took, number = 0, 0
            while took < _ROUND_NANOSECONDS and number < 50 * _AT_ONCE:
                before = self.nginx.process.nanoseconds
                for _ in range(5):
                    self._volley(clients)
                took += self.nginx.process.nanoseconds - before
                number += 5 * len(clients)
            return took / number

    def _volley(self, clients: Sequence[Client]) -> None:
        """Send a request over each connection, and receive all responses."""
        batches = [[self._request()] for _ in clients]
        sent = [client.send(batch) for client, batch in zip(clients, batches, strict=True)]
        for client, batch, connections in zip(clients, batches, sent, strict=True):
            client.receive(batch, connections)


def _varied(form: RequestForm, number: int, of: int) -> RequestForm:
    """Return a request with a different argument for each number."""
    mark = "&" if "?" in form["target"] else "?"
    return {**form, "target": f"{form['target']}{mark}nginxopt={of}{number}"}


def _status(answer: bytes) -> int:
    """Return the status of a response; 0 without one."""
    words = answer[:40].split(b" ")
    return int(words[1]) if answer.startswith(b"HTTP/") and len(words) > 1 and words[1].isdigit() else 0


def _unexpected(statuses: set[int], expected: int) -> str:
    found = ", ".join(str(status) for status in sorted(statuses - {expected}))
    what = f"answers {found}" if found != "0" else "closes the connection"
    return f"the private nginx {what}, not {expected}"
