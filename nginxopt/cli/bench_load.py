"""Where the load of a benchmark comes from, from the options of `nginxopt bench`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from nginxopt.bench.load.capped import Capped
from nginxopt.bench.load.single import Single
from nginxopt.cli import options
from nginxopt.errors import UsageError
from nginxopt.records import record

if TYPE_CHECKING:
    from nginxopt.bench.load_workers.team import Team
    from nginxopt.bench.site import Generator, LoadSource


@record(eq=True)
class LoadOptions:
    """The values of `OPTIONS`, by the names of their parameters."""

    load_workers: int | None = None
    scheduler: str | None = None

    @property
    def is_spread(self) -> bool:
        """Whether several workers make the load."""
        return self.load_workers is not None or self.scheduler is not None

    @property
    def option(self) -> str:
        """The option that selects these workers, for messages."""
        return "--load-workers" if self.scheduler is None else "--scheduler"


OPTIONS = (
    click.option(
        "--load-workers",
        type=click.IntRange(min=1),
        metavar="N",
        help="Divide the load among N processes, or N workers of --scheduler (default: all).",
    ),
    options.SCHEDULER,
)


_LISTEN = "use --listen with an address that it reaches, or load a host that runs already: nginxopt bench load"
_NAME = "use a --target that it reaches"


def refuse(load: LoadOptions, *, runner: str, generator: str | None, metric: str | None, emit: str | None) -> None:
    """Raise `UsageError` if workers cannot make the load that other options ask for."""
    if not load.is_spread:
        return
    if generator == "wrk":
        raise UsageError(
            f"{load.option} cannot be used with --load wrk: its percentiles cannot be merged", hint="use --load vegeta"
        )
    if runner == "compose":
        raise UsageError(f"{load.option} cannot be used with --runner compose", hint="use --runner local")
    if metric == "instructions":
        raise UsageError(f"{load.option} cannot be used with --metric instructions, which makes no load")
    if emit is not None:
        raise UsageError(f"{load.option} cannot be used with --emit: the folder runs one load generator")


@contextlib.contextmanager
def source(
    load: LoadOptions, generator: Generator, *, cap: int | None = None, is_here: bool = True
) -> Iterator[LoadSource]:
    """Yield where the load comes from; `cap` is the most requests a second that it may make, and `is_here`
    whether nginx listens on 127.0.0.1. Workers that are started for it end with the block.

    `MissingError`, `RunError` and `UsageError` as from the connection to the workers, and for workers that cannot reach
    the nginx of this machine.
    """
    with _source(load, generator, cap=cap, is_here=is_here) as one:
        yield one if cap is None else Capped(one, cap)


@contextlib.contextmanager
def _source(load: LoadOptions, generator: Generator, *, cap: int | None, is_here: bool) -> Iterator[LoadSource]:
    from nginxopt.bench.load.vegeta import Vegeta

    if not load.is_spread or not isinstance(generator, Vegeta):
        yield Single(generator)
        return
    from nginxopt.bench.load_workers.attack import LoadWorkers
    from nginxopt.bench.load_workers.team import Team
    from nginxopt.system.cluster import connected

    with connected(workers=load.load_workers, scheduler=load.scheduler) as client:
        team = Team(client, load.load_workers)
        if is_here:
            _refuse_strangers(team, _LISTEN if cap is None else _NAME)
        yield LoadWorkers(team, generator)


def _refuse_strangers(team: Team, hint: str) -> None:
    from nginxopt.bench.load_workers.worker import network

    here = network()
    strangers = [address for address, machine in team.machines.items() if machine.network != here]
    if strangers:
        raise UsageError(
            f"load worker {strangers[0]} on {team.machines[strangers[0]].host} cannot reach 127.0.0.1 of this machine,"
            " where nginx listens",
            hint=hint,
        )
