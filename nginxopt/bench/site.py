"""Protocols for side effects: the site where the nginx of an experiment run, the load generator, and where it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from nginxopt.bench.result import Outcome
from nginxopt.bench.scenario import Attack, Experiment, Load, Target, Variant
from nginxopt.errors import RunError


@dataclass(frozen=True, slots=True)
class Status:
    """The counters of one nginx since its start (stub_status): accepted connections, and requests.

    They include those of this query.
    """

    accepts: int
    requests: int


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of the processes of one nginx, in bytes: resident, and with shared pages divided among their users."""

    rss: int
    pss: int


class Site(Protocol):
    """The site of a running experiment: every variant is up and responds.

    `folder` is where results lie; paths in commands are relative to it, so that it may be mounted elsewhere.
    """

    folder: Path

    def address(self, variant: Variant, role: str) -> str:
        """Return host:port at which the load and other nodes reach a node."""

    def execute(self, command: Sequence[str], *, seconds: float) -> bytes:
        """Run a command of the load generator in `folder` to its end and return its standard output.

        Raises `MissingError` if it cannot be run, `RunError` with its last words if it fails or does not end in time.
        """

    def ask(self, variant: Variant, role: str, target: Target) -> bytes:
        """Return the raw answer of a node, redirects not followed; empty if there is none. `@round@` is put in by the
        caller."""

    def status(self, variant: Variant, role: str) -> Status:
        """Return the counters of a node that has `status`."""

    def clock(self, variant: Variant, role: str) -> float:
        """Return the CPU time of the workers of a node since their start, in seconds (/proc/PID/schedstat)."""

    def memory(self, variant: Variant, role: str) -> Memory:
        """Return the memory of all processes of a node."""

    def open_files(self, variant: Variant, role: str) -> int:
        """Return the soft limit of open files of the workers of a node (/proc/PID/limits)."""

    def time_wait(self, variant: Variant) -> int | None:
        """Return how many sockets to or from the nodes of a variant are in TIME_WAIT, where they stay for a minute
        (/proc/net/tcp); None if not known."""

    def test_seconds(self, variant: Variant, role: str) -> float:
        """Return how long `nginx -t` takes on the configuration of a node."""

    def instructions(self, variant: Variant, targets: Sequence[Target]) -> float:
        """Return the instructions of a request at the entry of a variant, the mean over the targets, counted in user
        space by callgrind (`nginxopt.bench.callgrind`). Raises `MissingError` where that cannot be.
        """


class Runner(Protocol):
    """Runs an experiment on a site."""

    name: str

    def deploy(self, experiment: Experiment, folder: Path) -> AbstractContextManager[Site]:
        """Start every variant and wait until it is ready; leave nothing running, whatever happens inside.

        `folder` exists and is for what the run keeps. Raises `MissingError` if something outside is needed and not
        there, `InputError` in nginx's words if a configuration is refused.
        """

    def provenance(self) -> Mapping[str, str]:
        """Return the versions of nginx and of the engine, images and their digests."""


class Generator(Protocol):
    """A load generator: vegeta or wrk."""

    name: str

    def files(self, name: str, targets: Sequence[Target], address: str, load: Load) -> dict[str, bytes]:
        """Return the files that the command needs in its folder, by paths that begin with `name`."""

    def command(self, name: str, address: str, load: Load, output: str) -> list[str]:
        """Return the command of an attack, whose `files` have `name`, and whose results go to names that begin with
        `output`. Paths are relative to the folder it runs in; an `OpenLoop` has its rate by now."""

    def outcome(self, site: Site, output: str, printed: bytes) -> Outcome:
        """Return the outcome of the attack with that `output`, whose command wrote `printed` to standard output."""

    def version(self, site: Site) -> str:
        """Return its version."""


@dataclass(frozen=True, slots=True)
class LoadRun:
    """One attack to be made.

    Attributes:
        attack: Its case and load; an `OpenLoop` has its rate by now.
        targets: Those of this round.
        round: From 1, or `capacity`.
        address: host:port of the entry.
        name: How the names of its files begin, and `output` those of its results. Both are relative to the folder.
    """

    attack: Attack
    targets: tuple[Target, ...]
    round: int | str
    address: str
    name: str
    output: str


class LostWorkerError(RunError):
    """A load worker is gone or its generator has failed, and its share is missing."""


class LoadSource(Protocol):
    """Where load comes from: one generator at the site, or several workers."""

    def start(self, site: Site) -> None:
        """Find the versions, before the first attack. Raises `MissingError` if there is no generator."""

    def attack(self, site: Site, run: LoadRun) -> Outcome:
        """Make an attack and return its outcome. Raises `RunError` if it fails, or `LostWorkerError`."""

    def commands(self, run: LoadRun) -> Mapping[str, str]:
        """Return the commands of an attack by the name of the attack, to be run in the folder."""

    def provenance(self) -> Mapping[str, Any]:
        """Return what is known of it by now: `generator`, its name and version, and what else was measured of it."""
