"""Makes an attack from several workers, which start at the same time, and combines their results."""

from __future__ import annotations

import contextlib
import secrets
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from nginxopt.bench import run_folder
from nginxopt.bench.load import vegeta
from nginxopt.bench.load.single import patience
from nginxopt.bench.load_workers import merge, worker
from nginxopt.bench.load_workers.clock import Clock
from nginxopt.bench.load_workers.shares import Share, shares
from nginxopt.bench.load_workers.team import Team, version
from nginxopt.bench.load_workers.worker import AttackProgress, Order
from nginxopt.bench.result import LoadStart, LoadWorker, Outcome, WorkerStart
from nginxopt.bench.scenario import OpenLoop
from nginxopt.bench.site import LoadRun, LostWorkerError, RunningSite
from nginxopt.errors import RunError
from nginxopt.records import record
from nginxopt.text.display import count

LEASE_SECONDS = 20.0
"""How long vegeta continues on a worker that receives no message from this command."""

_LEADS = (0.3, 1.0, 4.0, 16.0)  # seconds from now to the agreed start; the next one if a worker learns it too late
_LOOK_SECONDS = 0.5
_RESULTS = "results.bin"


@record(eq=True)
class _Part:
    """The part of a worker: its share, its clock, its results as CSV, and the delay of its first request in seconds."""

    address: str
    share: Share
    clock: Clock
    rows: bytes
    late: float


class LoadWorkers:
    """vegeta on the workers of a team; a `LoadSource`."""

    def __init__(self, team: Team, generator: vegeta.Vegeta, lease: float = LEASE_SECONDS) -> None:
        self._team = team
        self._vegeta = generator
        self._lease = lease
        self._starts: list[LoadStart] = []
        self._lost: list[str] = []

    def start(self, site: RunningSite) -> None:
        """Do nothing: the team knows the versions."""

    def attack(self, site: RunningSite, run: LoadRun) -> Outcome:
        """Make an attack; see `nginxopt.bench.site.LoadSource.attack`."""
        parts = shares(run.attack.load, run.targets, len(self._team.addresses))
        at = f"{run.attack.variant}, {run.attack.case}, {_when(run.round)}"
        run_folder.write(site.folder, self._vegeta.files(run.name, run.targets, run.address, run.attack.load))
        try:
            done = self._attack(run, dict(zip(self._team.addresses, parts, strict=False)))
        except LostWorkerError as error:
            lost = f"{at}: {error.message}; its share is missing, so this load run does not count"
            self._lost.append(lost)
            raise LostWorkerError(lost, hint="run the benchmark again") from None
        except RunError as error:
            raise RunError(f"{at}: {error.message}", below=error.below, hint=error.hint) from None
        rows = merge.merged((part.rows, part.clock.correction) for part in done)
        raw = f"{run.output}.csv"
        run_folder.write(site.folder, {raw: rows})
        self._starts.append(_started(run, done))
        return vegeta.parse(rows, raw)

    def commands(self, run: LoadRun) -> Mapping[str, str]:
        """Return the command of each worker. Their targets are interleaved."""
        parts = shares(run.attack.load, run.targets, len(self._team.addresses))
        attacked = f"{run.attack.variant}, {run.attack.case}"
        return {
            f"{attacked}, worker {number}": " ".join(
                self._vegeta.command(run.name, run.address, part.load, f"{run.output}.worker-{number}", run.attack.tls)
            )
            for number, part in enumerate(parts, start=1)
        }

    def provenance(self) -> Mapping[str, Any]:
        """Return the generator, the workers, how each attack started, and which workers were lost."""
        machines = self._team.machines
        return {
            "generator": f"{self._team.vegeta} on {count(len(machines), 'worker')}",
            "load_workers": [
                asdict(LoadWorker(address, machine.host, machine.cpus, version(machine)))
                for address, machine in machines.items()
            ],
            "load_starts": [asdict(start) for start in self._starts],
            "lost_workers": list(self._lost),
        }

    def _attack(self, run: LoadRun, parts: Mapping[str, Share]) -> list[_Part]:
        addresses = list(parts)
        orders = {address: self._order(run, share) for address, share in parts.items()}
        for lead in _LEADS:
            clocks = self._team.clocks(addresses)
            with self._begun(orders) as name:
                agreed = time.time() + lead
                instants = {
                    address: agreed + parts[address].delay + clocks[address].correction for address in addresses
                }
                away = self._team.ask_each(worker.fire, {address: (name, at) for address, at in instants.items()})
                if min(away.values()) >= 0:
                    sizes = self._wait(name, addresses, agreed, run.attack.load.seconds)
                    packed = self._team.pieces(name, sizes)
                    return [
                        _part(address, parts[address], clocks[address], packed[address], agreed)
                        for address in addresses
                    ]
        raise RunError(f"load workers get a message later than {_LEADS[-1]:g} seconds after it is sent")

    @contextlib.contextmanager
    def _begun(self, orders: Mapping[str, Order]) -> Iterator[str]:
        """Start vegeta on all workers, and yield the name of the attack; stop all of them at the end."""
        name = secrets.token_hex(8)
        try:
            self._team.ask_each(worker.begin, {address: (name, order) for address, order in orders.items()})
            yield name
        finally:
            with contextlib.suppress(RunError):  # otherwise it stops at the end of its lease
                self._team.drop(name)

    def _order(self, run: LoadRun, share: Share) -> Order:
        (targets,) = self._vegeta.files("", share.targets, run.address, share.load).values()
        command = self._vegeta.piped(share.load, _RESULTS, run.address, run.attack.tls)
        return Order(tuple(command), tuple(self._vegeta.encode(_RESULTS)), targets, self._lease)

    def _wait(self, name: str, addresses: Sequence[str], agreed: float, seconds: float) -> dict[str, int]:
        """Wait until all workers are done, and return the sizes of their results."""
        ends = time.monotonic() + agreed - time.time() + patience(seconds)
        while True:
            reports: dict[str, AttackProgress] = self._team.ask(worker.look, name, of=addresses)
            for address, report in reports.items():
                if report.stage == "failed":
                    raise LostWorkerError(f"load worker {address}: {report.error}")
            if all(report.stage == "done" for report in reports.values()):
                return {address: report.size for address, report in reports.items()}
            if time.monotonic() > ends:
                raise RunError(f"load workers did not end within {patience(seconds):.0f} seconds")
            time.sleep(min(_LOOK_SECONDS, max(0.05, agreed + seconds - time.time())))


def _part(address: str, share: Share, clock: Clock, packed: bytes, agreed: float) -> _Part:
    """Unpack the results of a worker. Raises `RunError` if they are invalid, or contain no request."""
    try:
        rows = zlib.decompress(packed)
        first = merge.first_start(rows)
    except (zlib.error, ValueError) as error:
        raise RunError(f"load worker {address} returned no results of vegeta: {error}") from None
    if first is None:
        raise RunError(f"load worker {address} made no request")
    return _Part(address, share, clock, rows, first - clock.correction - agreed - share.first)


def _started(run: LoadRun, parts: Sequence[_Part]) -> LoadStart:
    late = [part.late for part in parts]
    starts = tuple(
        WorkerStart(part.address, _share(part.share), part.clock.offset, part.clock.error, part.late) for part in parts
    )
    return LoadStart(run.attack.variant, run.attack.case, run.round, max(late) - min(late), starts)


def _share(share: Share) -> str:
    load = share.load
    return f"{load.rate:.0f} req/s" if isinstance(load, OpenLoop) else count(load.connections, "connection")


def _when(number: int | str) -> str:
    return f"round {number}" if isinstance(number, int) else number
