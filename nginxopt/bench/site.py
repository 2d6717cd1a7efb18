"""Protocols for the side effects of a benchmark: the site where the nodes run, runners, and load generators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from nginxopt.bench.result import Outcome
from nginxopt.bench.scenario import Attack, Experiment, Load, Target, Tls, Variant
from nginxopt.errors import RunError
from nginxopt.records import record


@record(eq=True)
class Status:
    """The counters of one nginx since its start (stub_status): accepted connections and requests.

    The connection and the request of the query itself are included.
    """

    accepts: int
    requests: int


@record(eq=True)
class Memory:
    """The memory of the processes of one nginx in bytes: resident (`rss`), and proportional (`pss`), in which shared
    pages are divided among their processes."""

    rss: int
    pss: int


class RunningSite(Protocol):
    """The site of a running experiment, where all variants run and respond.

    `folder` is for results. Paths in commands are relative to it, so that it may be mounted elsewhere.
    """

    folder: Path

    def address(self, variant: Variant, role: str) -> str:
        """Return host:port of a node, or of a further address of it, for the load generator and for other nodes."""

    def execute(self, command: Sequence[str], *, seconds: float) -> bytes:
        """Run a command of the load generator in `folder` to its end and return its standard output.

        Raises `MissingError` if it cannot be run, `RunError` with its last line if it fails or does not end in time.
        """

    def ask(self, variant: Variant, role: str, target: Target) -> bytes:
        """Return the raw response of a node, without following redirects; empty if there is none.

        Requests use HTTP/1.1, over TLS if the target does. The caller must replace `@round@` in the target. Raises
        `RunError` if the handshake fails.
        """

    def status(self, variant: Variant, role: str) -> Status:
        """Return the counters of a node that has `status`."""

    def clock(self, variant: Variant, role: str) -> float:
        """Return the CPU time of the workers of a node since their start, in seconds (/proc/PID/schedstat)."""

    def memory(self, variant: Variant, role: str) -> Memory:
        """Return the memory of all processes of a node."""

    def open_files(self, variant: Variant, role: str) -> int:
        """Return the soft limit of open files of the workers of a node (/proc/PID/limits)."""

    def time_wait(self, variant: Variant) -> int | None:
        """Return the number of sockets of the nodes of a variant in TIME_WAIT, where they stay for a minute
        (/proc/net/tcp); None if not known."""

    def test_seconds(self, variant: Variant, role: str) -> float:
        """Return the duration of `nginx -t` on the configuration of a node, in seconds."""

    def instructions(self, variant: Variant, targets: Sequence[Target], place: str) -> float:
        """Return the instructions per request of the entry node of a variant, as the mean over the targets.

        `place` is the role of that node, or a further address of it, and takes the requests. callgrind counts them in
        user space (`nginxopt.system.callgrind`). Raises `MissingError` if it is not available.
        """


class SiteExperiment(Protocol):
    """Runs an experiment on a site."""

    name: str

    def deploy(self, experiment: Experiment, folder: Path) -> AbstractContextManager[RunningSite]:
        """Start all variants and wait until they are ready. Always stop them when the block ends.

        `folder` must exist, and keeps the files of the run. Raises `MissingError` if a program or image is missing, and
        `InputError` with nginx's message if it refuses a configuration.
        """

    def provenance(self) -> Mapping[str, str]:
        """Return the versions of nginx and of the engine, images and their digests."""


class Generator(Protocol):
    """A load generator: vegeta or wrk."""

    name: str

    def files(self, name: str, targets: Sequence[Target], address: str, load: Load) -> dict[str, bytes]:
        """Return the files that the command needs in its folder, by paths that begin with `name`."""

    def command(self, name: str, address: str, load: Load, output: str, tls: Tls | None = None) -> list[str]:
        """Return the command of an attack, relative to the folder in which it runs.

        `name` is that of its `files`, and its results go to files whose names begin with `output`. An `OpenLoop` must
        have a rate. `tls` is that of all targets.
        """

    def outcome(self, site: RunningSite, output: str, printed: bytes) -> Outcome:
        """Return the outcome of the attack with that `output`, whose command wrote `printed` to standard output."""

    def version(self, site: RunningSite) -> str:
        """Return the version of the generator."""


@record(eq=True)
class LoadRun:
    """One attack to be made.

    Attributes:
        attack: The attack. An `OpenLoop` has a rate.
        targets: The targets of this round.
        round: The number of the round, from 1, or `capacity`.
        address: host:port that it is sent to.
        name: The beginning of the names of its files, relative to the folder.
        output: The beginning of the names of its result files, relative to the folder.
    """

    attack: Attack
    targets: tuple[Target, ...]
    round: int | str
    address: str
    name: str
    output: str


class LostWorkerError(RunError):
    """A load worker is gone, or its generator has failed, so that its share of the load is missing."""


class LoadSource(Protocol):
    """A source of load: one generator at the site, or several workers."""

    def start(self, site: RunningSite) -> None:
        """Determine versions before the first attack. Raises `MissingError` if there is no generator."""

    def attack(self, site: RunningSite, run: LoadRun) -> Outcome:
        """Make an attack and return its outcome. Raises `RunError` if it fails, or `LostWorkerError`."""

    def commands(self, run: LoadRun) -> Mapping[str, str]:
        """Return the commands of an attack by the name of the attack, to be run in the folder."""

    def provenance(self) -> Mapping[str, Any]:
        """Return the provenance so far: `generator` (name and version), and further facts about the source."""
