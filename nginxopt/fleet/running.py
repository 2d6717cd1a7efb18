"""Runs the tasks of workers for all hosts: first reads digests, then checks each distinct configuration once.

A few tasks for each worker are under way at any time. So the memory is that of these tasks and of one batch, however
many hosts there are. Of each host only its name and place are kept, of each configuration its digest.
"""

from __future__ import annotations

import time
from asyncio import CancelledError
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from uuid import uuid4

from nginxopt.errors import NginxoptError, RunError
from nginxopt.fleet.archives import Carried, Refused
from nginxopt.fleet.hosts import FleetHost
from nginxopt.fleet.judging import Judged, Read, read
from nginxopt.fleet.plan import FleetOptions
from nginxopt.fleet.result import PartialResult
from nginxopt.fleet.sources import Fleet
from nginxopt.fleet.tables import row
from nginxopt.system.interrupts import interruptible

if TYPE_CHECKING:
    from distributed import Client, Future

_TASKS = 2  # a worker: one that runs, and one that waits for it
_HOSTS = 32  # hosts whose digests are one task
_CONFIGURATIONS = 8  # configurations that are one task, unless they are large
_BYTES = 1_000_000  # of configurations in one task
_CARRIED_BYTES = 64_000_000  # of configurations from archives in memory, unless one alone has more
_BATCH = 256  # hosts that are written at once
_BATCH_BYTES = 2_000_000  # of rows that are written at once, about
_SECONDS = 1.0  # between looks at the cluster while nothing is done
_WITHOUT_WORKERS = 60.0  # seconds after which a cluster without workers is given up


class _Item(NamedTuple):
    """A host to check; its digest and size are known before its configuration is checked."""

    host: FleetHost
    digest: str = ""
    size: int = 0


class _Task(NamedTuple):
    """What a future computes; `alone` if nothing else was under way with it."""

    kind: Literal["read", "judge"]
    items: Sequence[_Item]
    alone: bool = False


@dataclass
class FleetRun:
    """A run over a fleet. `progress` is called with the number of further hosts that are done."""

    client: Client
    plan: FleetOptions
    fleet: Fleet
    part: PartialResult
    progress: Callable[[int], None] = lambda _: None
    _name: str = field(default_factory=lambda: f"nginxopt-fleet-{uuid4().hex}")
    _tasks: dict[Future[Any], _Task] = field(default_factory=dict)
    _done: SimpleQueue[Future[Any]] = field(default_factory=SimpleQueue)
    _unjudged: deque[_Item] = field(default_factory=deque)
    _suspects: deque[_Task] = field(default_factory=deque)
    _waiting: dict[str, list[FleetHost]] = field(default_factory=dict)
    _judged: set[bytes] = field(default_factory=set)
    _batch: int = 0
    _workers: int = 0
    _counted: float = float("-inf")
    _without_workers: float = float("inf")  # since when
    _raise_again: Callable[[], None] = lambda: None

    def __call__(self) -> None:
        """Check all hosts that the result does not have yet, and write what is found in batches.

        However it ends, everything found until then is written. Raises `RunError` without a scheduler or workers.
        """
        from nginxopt.fleet.worker import Planned

        done = self.part.done()
        names = {host for host, _ in done}
        self._judged = {bytes.fromhex(digest) for _, digest in done if digest is not None}
        self.progress(len(names))
        try:
            with interruptible() as self._raise_again:
                self.client.register_plugin(Planned(self._name, self.plan))
                self._ask(iter(self.fleet.hosts(names.__contains__)))
        except NginxoptError:
            raise
        except (Exception, CancelledError) as error:
            # Dask raises errors of any kind once it has given up the connection.
            if self.client.status == "running" and not isinstance(error, (OSError, TimeoutError, CancelledError)):
                raise
            raise self._lost() from error
        finally:
            self.part.commit()

    def _ask(self, hosts: Iterator[FleetHost]) -> None:
        more = True
        while True:
            while more and self._has_room():
                more = self._take(hosts)
            self._judge_some(last=not more)
            if not self._tasks and self._suspects:
                self._submit(self._suspects.popleft())
            elif not self._tasks and not more:
                return
            if self._tasks:
                self._finish(self._next())
            if self._batch >= _BATCH or self.part.unwritten >= _BATCH_BYTES:
                self.part.commit()
                self._batch = 0

    def _limit(self) -> int:
        """Return how many tasks may be under way, for the number of workers that the scheduler had when last asked."""
        if time.monotonic() >= self._counted + _SECONDS:
            self._count_workers()
        return _TASKS * max(1, self._workers)

    def _count_workers(self) -> None:
        """Ask the scheduler for its workers. Raises `RunError` if it is gone, or has had none for too long."""
        if self.client.status != "running":
            raise self._lost()
        self._workers, self._counted = len(self.client.nthreads()), time.monotonic()
        self._without_workers = float("inf") if self._workers else min(self._without_workers, self._counted)
        if self._counted > self._without_workers + _WITHOUT_WORKERS:
            raise RunError(f"the cluster has no workers for {_WITHOUT_WORKERS:.0f} s")

    def _has_room(self) -> bool:
        reading = sum(task.kind == "read" for task in self._tasks.values())
        are_few = reading < self._limit() and len(self._unjudged) < _CONFIGURATIONS * self._limit()
        return are_few and self._carried() < _CARRIED_BYTES

    def _carried(self) -> int:
        """Return the bytes of configurations from archives that are under way, which are in memory."""
        tasks = (item for task in self._tasks.values() if task.kind == "judge" for item in task.items)
        return sum(item.size for item in (*self._unjudged, *tasks) if isinstance(item.host.recipe, Carried))

    def _take(self, hosts: Iterator[FleetHost]) -> bool:
        """Ask for the digests of the next hosts; return whether there were any."""
        elsewhere: list[_Item] = []
        number = carried = 0
        for host in islice(hosts, _HOSTS):
            number += 1
            if not isinstance(host.recipe, Carried | Refused):
                elsewhere.append(_Item(host))
                continue
            found = read(host.recipe)
            self._has_read(host, found)
            carried += found.size
            if carried + self._carried() >= _CARRIED_BYTES:
                break
        if elsewhere:
            self._submit(_Task("read", elsewhere))
        return number > 0

    def _judge_some(self, *, last: bool) -> None:
        """Submit configurations for checking, up to the limit."""
        while self._unjudged and sum(task.kind == "judge" for task in self._tasks.values()) < self._limit():
            reading = any(task.kind == "read" for task in self._tasks.values())
            if len(self._unjudged) < _CONFIGURATIONS and (reading or not last) and self._tasks:
                return
            items: list[_Item] = []
            while self._unjudged and len(items) < _CONFIGURATIONS and sum(item.size for item in items) < _BYTES:
                items.append(self._unjudged.popleft())
            self._submit(_Task("judge", items))

    def _submit(self, task: _Task) -> None:
        from nginxopt.fleet import worker

        recipes = [item.host.recipe for item in task.items]
        future: Future[Any] = (
            self.client.submit(worker.read_all, recipes, self._name, pure=False)
            if task.kind == "read"
            else self.client.submit(worker.judge_all, recipes, self._name, pure=False)
        )
        self._wait_for(future, task)

    def _wait_for(self, future: Future[Any], task: _Task) -> None:
        self._tasks[future] = task
        future.add_done_callback(self._done.put)

    def _next(self) -> Future[Any]:
        """Return a future that is done. Raises `RunError` if none will be."""
        while True:
            self._raise_again()
            with suppress(Empty):
                return self._done.get(timeout=_SECONDS)
            self._count_workers()

    def _finish(self, future: Future[Any]) -> None:
        """Take the result of a task, or handle its error."""
        from distributed import KilledWorker

        task = self._tasks.pop(future)
        try:
            results: list[Any] = future.result(timeout=_WITHOUT_WORKERS)
        except KilledWorker:
            self._has_killed_workers(task)
        except Exception as error:
            failed = future.status == "error"
            if isinstance(error, TimeoutError) and not failed:
                self._wait_for(future, task)  # its worker died with the result, and another one has the task now
                self._count_workers()
            elif not failed and (isinstance(error, OSError) or self.client.status != "running" or future.cancelled()):
                raise self._lost() from error
            else:
                raise RunError(f"a worker failed: {type(error).__name__}: {error}") from error
        else:
            self._without_workers = float("inf")
            for item, result in zip(task.items, results, strict=True):
                if task.kind == "read":
                    self._has_read(item.host, result)
                else:
                    self._has_judged(item, result)

    def _has_read(self, host: FleetHost, found: Read) -> None:
        if found.error is not None:
            self._failed(host, found.error)
        elif bytes.fromhex(found.digest) in self._judged:
            self._found([host], found.digest)
        elif found.digest in self._waiting:
            self._waiting[found.digest].append(_lighter(host, self._waiting[found.digest][0]))
        else:
            self._waiting[found.digest] = [host]
            self._unjudged.append(_Item(host, found.digest, found.size))

    def _has_judged(self, item: _Item, found: Judged) -> None:
        hosts = self._waiting.pop(item.digest)
        if found.digest != item.digest:  # other hosts may still have what was there
            hosts.remove(item.host)
            self._failed(item.host, found.error or "changed while it was read")
            if hosts:
                self._waiting[item.digest] = hosts
                self._unjudged.append(item._replace(host=hosts[0]))
            return
        self.part.add(found.rows, columns=found.columns, texts=found.texts)
        self._judged.add(bytes.fromhex(found.digest))
        self._found(hosts, found.digest)

    def _has_killed_workers(self, task: _Task) -> None:
        """Check each of these hosts alone: any configuration that was with these workers may have killed them."""
        if task.alone:
            self._has_killed(task.items[0])
        else:
            self._suspects.extend(_Task(task.kind, [item], alone=True) for item in task.items)

    def _has_killed(self, item: _Item) -> None:
        """Record an error for a configuration that killed several workers while it was alone with them."""
        for host in self._waiting.pop(item.digest, [item.host]):
            self._failed(host, "each worker that was asked about it died (KilledWorker)")

    def _found(self, hosts: Sequence[FleetHost], digest: str | None) -> None:
        self.part.add({"hosts": [row("hosts", host.name, digest, str(host.recipe)) for host in hosts]})
        self._batch += len(hosts)
        self.progress(len(hosts))

    def _failed(self, host: FleetHost, error: str) -> None:
        self.part.add({"errors": [row("errors", host.name, None, str(host.recipe), None, None, error)]})
        self._found([host], None)

    def _lost(self) -> RunError:
        return RunError("the connection to the scheduler was lost")


def _lighter(host: FleetHost, other: FleetHost) -> FleetHost:
    """Return a host that shares the content of another, which is then in memory once."""
    if not (isinstance(host.recipe, Carried) and isinstance(other.recipe, Carried)):
        return host
    return FleetHost(host.name, Carried(host.recipe.place, other.recipe.content))
