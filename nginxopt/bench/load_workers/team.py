"""Calls functions on the workers of a Dask cluster.

Each call goes to the address of a worker. As Dask tasks, shares could wait in a queue, run twice, or move to another
worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from nginxopt.bench.load_workers import clock, worker
from nginxopt.bench.load_workers.clock import Clock, Trip
from nginxopt.bench.load_workers.worker import FailedError, UnknownAttackError, WorkerMachine
from nginxopt.bench.site import LostWorkerError
from nginxopt.errors import MissingError, NginxoptError, RunError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from distributed import Client

_Answer = TypeVar("_Answer")

_ANSWER_SECONDS = 60.0
_MORE_SECONDS = 5.0  # additional time for the scheduler, which passes on the calls
_END_SECONDS = 15.0
_JOIN_SECONDS = 30.0
_TRIPS = 8


class Team:
    """The workers that make the load, in the order of their addresses. `machines` describes the machine of each."""

    def __init__(self, client: Client, most: int | None = None) -> None:
        """Use all workers of a client, or the first `most`.

        Raises `MissingError` if one has no vegeta, `RunError` if they are too few or have different versions of it.
        """
        self._client = cast(Any, client)  # Dask has hardly any types
        known = self._known(most or 1)
        if most is not None and len(known) < most:
            raise RunError(f"the scheduler has {len(known)} of {most} load workers", hint="start more, or use fewer")
        self.addresses: tuple[str, ...] = tuple(known[:most])
        self.machines: Mapping[str, WorkerMachine] = self.ask(worker.machine)
        self.vegeta = _agreed(self.machines)

    def _known(self, least: int) -> list[str]:
        """Wait for at least `least` workers, as some may still be starting, and return the addresses of all."""

        async def known() -> list[str]:
            with contextlib.suppress(TimeoutError):
                await self._client.wait_for_workers(least, timeout=_JOIN_SECONDS)
            return sorted(await self._client.nthreads())

        return self._within(_JOIN_SECONDS + _ANSWER_SECONDS, known)

    def ask(self, function: Callable[..., Any], *arguments: Any, of: Sequence[str] | None = None) -> dict[str, Any]:
        """Run a function on all workers, or on those at the addresses `of`, and return the results; see `ask_each`."""
        return self.ask_each(function, dict.fromkeys(self.addresses if of is None else of, arguments))

    def ask_each(self, function: Callable[..., Any], arguments: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Run a function on workers, with different arguments for each, and return the results by address.

        Raises `LostWorkerError` if a worker is gone or does not answer, `RunError` with its message if one fails.
        """

        async def all_of_them() -> list[Any]:
            await self._refuse_gone(arguments)
            return await asyncio.gather(*(self._one(address, function, *mine) for address, mine in arguments.items()))

        return dict(zip(arguments, self._within(_ANSWER_SECONDS + _MORE_SECONDS, all_of_them), strict=True))

    def clocks(self, of: Sequence[str]) -> dict[str, Clock]:
        """Return the clocks of workers, each measured by several round trips."""

        async def trip(address: str) -> Trip:
            sent = time.time()
            there = await self._one(address, worker.now)
            return Trip(sent, there, time.time())

        async def one(address: str) -> Clock:
            return clock.compare([await trip(address) for _ in range(_TRIPS)])

        async def all_of_them() -> list[Clock]:
            await self._refuse_gone(of)
            return await asyncio.gather(*map(one, of))

        return dict(zip(of, self._within(_TRIPS * _ANSWER_SECONDS, all_of_them), strict=True))

    def pieces(self, name: str, sizes: Mapping[str, int]) -> dict[str, bytes]:
        """Return the compressed results of a finished attack, by worker; `sizes` are their sizes in bytes."""
        packed = dict.fromkeys(sizes, b"")
        for address, size in sizes.items():
            while len(packed[address]) < size:
                packed[address] += self.ask(worker.piece, name, len(packed[address]), of=[address])[address]
        return packed

    def drop(self, name: str) -> None:
        """End an attack on all workers that still answer."""

        async def drop() -> None:
            alive = await self._client.nthreads()
            drops = (self._one(address, worker.drop, name) for address in self.addresses if address in alive)
            await asyncio.gather(*drops, return_exceptions=True)

        self._within(_END_SECONDS, drop)

    async def _one(self, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
        run = self._client.run(function, *arguments, workers=[address], on_error="return")
        try:
            answer = (await asyncio.wait_for(run, _ANSWER_SECONDS))[address]
        except TimeoutError:
            raise LostWorkerError(f"load worker {address} did not answer within {_ANSWER_SECONDS:g} seconds") from None
        if isinstance(answer, OSError):
            raise LostWorkerError(f"load worker {address} is gone: {answer}")
        if isinstance(answer, FailedError):
            raise RunError(f"load worker {address}: {answer}")
        if isinstance(answer, UnknownAttackError):
            raise LostWorkerError(f"load worker {address} {answer}")
        if isinstance(answer, BaseException):
            raise RunError(f"load worker {address}: {type(answer).__name__}: {answer}")
        return answer

    async def _refuse_gone(self, addresses: Iterable[str]) -> None:
        alive = await self._client.nthreads()
        gone = [address for address in addresses if address not in alive]
        if gone:
            raise LostWorkerError(f"load worker {', '.join(gone)} is gone")

    def _within(self, seconds: float, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Run a coroutine in the event loop and return its result. Raises `LostWorkerError` after a timeout."""
        try:
            answer: _Answer = self._client.sync(ask, callback_timeout=seconds)
        except TimeoutError:
            raise LostWorkerError(f"the scheduler of the load workers did not answer within {seconds:g} s") from None
        except NginxoptError:
            raise
        except (Exception, CancelledError) as error:
            # Dask raises errors of any kind once it has given up the connection; the last two it also raises before.
            if self._client.status == "running" and not isinstance(error, (OSError, RuntimeError, CancelledError)):
                raise
            raise LostWorkerError(f"the scheduler of the load workers is gone: {error}") from None
        return answer


def _agreed(machines: Mapping[str, WorkerMachine]) -> str:
    """Return the version of vegeta, which must be the same on all workers."""
    for address, machine in machines.items():
        if machine.vegeta is None:
            raise MissingError(
                f"load worker {address} on {machine.host} has no vegeta on its PATH", hint="install vegeta there"
            )
    versions = {address: version(machine) for address, machine in machines.items()}
    first = next(iter(versions))
    for address, text in versions.items():
        if text != versions[first]:
            raise RunError(
                f"load workers have different versions: {address} {text}, {first} {versions[first]}",
                hint="install the same vegeta on all of them",
            )
    return versions[first]


def version(machine: WorkerMachine) -> str:
    """Return the version of a worker's vegeta. For a custom build without a version, it is a digest of the binary."""
    fields = dict(line.split(":", 1) for line in (machine.vegeta or "").splitlines() if ":" in line)
    unknown = f"of unknown version ({(machine.digest or '')[:12]})"
    return f"vegeta {fields.get('Version', '').strip() or unknown}"
