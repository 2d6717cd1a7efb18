"""The workers of a Dask cluster, asked by address: as tasks, shares could wait in a queue, run twice, or move."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from nginxopt.bench.load_workers import clock, worker
from nginxopt.bench.load_workers.clock import Clock, Trip
from nginxopt.bench.load_workers.worker import Machine, UnknownAttackError
from nginxopt.bench.site import LostWorkerError
from nginxopt.errors import MissingError, RunError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from distributed import Client

_Answer = TypeVar("_Answer")

_ANSWER_SECONDS = 60.0
_END_SECONDS = 15.0
_TRIPS = 8


class Team:
    """The workers that make the load, in the order of their addresses. `machines` says where each runs."""

    def __init__(self, client: Client, most: int | None = None) -> None:
        """Take all workers of a client, or the first `most`.

        Raises `MissingError` if one has no vegeta, `RunError` if they are too few or have different ones.
        """
        self._client = cast(Any, client)  # Dask has hardly any types
        known = sorted(self._client.nthreads())
        if most is not None and len(known) < most:
            raise RunError(f"the scheduler has {len(known)} of {most} load workers", hint="start more, or use fewer")
        self.addresses: tuple[str, ...] = tuple(known[:most])
        self.machines: Mapping[str, Machine] = self.ask(worker.machine)
        self.vegeta = _agreed(self.machines)

    def ask(self, function: Callable[..., Any], *arguments: Any, of: Sequence[str] | None = None) -> dict[str, Any]:
        """Run a function on all workers, or `of` some, and return the answers by address.

        Raises `LostWorkerError` if one is gone or does not answer, `RunError` with the words of one that fails.
        """
        addresses = self.addresses if of is None else of

        async def ask() -> dict[str, Any]:
            self._refuse_gone(await self._client.nthreads(), addresses)
            found = await self._client.run(function, *arguments, workers=list(addresses), on_error="return")
            return dict(found)

        answers = self._within(_ANSWER_SECONDS, ask)
        for address, answer in answers.items():
            if isinstance(answer, OSError) and not isinstance(answer, FileNotFoundError):  # those of connections
                raise LostWorkerError(f"load worker {address} is gone: {answer}")
            if isinstance(answer, UnknownAttackError):
                raise LostWorkerError(f"load worker {address} {answer}")
            if isinstance(answer, BaseException):
                raise RunError(f"load worker {address}: {type(answer).__name__}: {answer}")
        return answers

    def clocks(self, of: Sequence[str]) -> dict[str, Clock]:
        """Return the clocks of workers, each from several round trips."""

        async def trip(address: str) -> Trip:
            sent = time.time()
            answers = await self._client.run(worker.now, workers=[address], on_error="return")
            if not isinstance(answers[address], float):
                raise LostWorkerError(f"load worker {address} is gone: {answers[address]}")
            return Trip(sent, answers[address], time.time())

        async def one(address: str) -> Clock:
            return clock.compare([await trip(address) for _ in range(_TRIPS)])

        async def all_of_them() -> list[Clock]:
            self._refuse_gone(await self._client.nthreads(), of)
            return await asyncio.gather(*map(one, of))

        return dict(zip(of, self._within(_ANSWER_SECONDS, all_of_them), strict=True))

    def pieces(self, name: str, sizes: Mapping[str, int]) -> dict[str, bytes]:
        """Return the compressed results of an attack that is done, whose sizes are known, by worker."""
        packed = dict.fromkeys(sizes, b"")
        for address, size in sizes.items():
            while len(packed[address]) < size:
                packed[address] += self.ask(worker.piece, name, len(packed[address]), of=[address])[address]
        return packed

    def drop(self, name: str) -> None:
        """End an attack on all workers that still answer."""

        async def drop() -> None:
            alive = [address for address in self.addresses if address in await self._client.nthreads()]
            await self._client.run(worker.drop, name, workers=alive, on_error="ignore")

        self._within(_END_SECONDS, drop)

    def _within(self, seconds: float, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Return the answer that the event loop gets. Raises `LostWorkerError` if that takes longer."""
        try:
            answer: _Answer = self._client.sync(ask, callback_timeout=seconds)
        except TimeoutError:
            raise LostWorkerError(f"load workers did not answer within {seconds:g} seconds") from None
        except OSError as error:
            raise LostWorkerError(f"the scheduler of the load workers is gone: {error}") from None
        return answer

    def _refuse_gone(self, alive: Mapping[str, int], addresses: Sequence[str]) -> None:
        gone = [address for address in addresses if address not in alive]
        if gone:
            raise LostWorkerError(f"load worker {', '.join(gone)} is gone")


def _agreed(machines: Mapping[str, Machine]) -> str:
    """Return the vegeta that all workers have."""
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


def version(machine: Machine) -> str:
    """Return the version of a worker's vegeta; that of a custom build, which has none, by its binary."""
    fields = dict(line.split(":", 1) for line in (machine.vegeta or "").splitlines() if ":" in line)
    unknown = f"of unknown version ({(machine.digest or '')[:12]})"
    return f"vegeta {fields.get('Version', '').strip() or unknown}"
