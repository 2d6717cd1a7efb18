"""Dask workers for fleets and load tests: processes of this machine, or the workers of a running Dask cluster.

Anyone who can connect to a worker can run programs there. So the workers of this machine listen on the loopback device
only, and use TLS with certificates that only this process and its workers have. They ignore Ctrl-C, so that this
process can end them in order. If this process dies, they end as well: Dask watches a pipe.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING

from nginxopt import __version__
from nginxopt.errors import MissingError, RunError, UsageError

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

_PACKAGES = ("cryptography", "distributed", "duckdb", "fsspec")
_LOOPBACK = "127.0.0.1"
_SCHEMES = ("tcp://", "tls://", "ws://", "wss://")
_CONFIGURATION: dict[str, list[str] | bool | str] = {
    "distributed.scheduler.http.routes": [],  # no pages
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,  # the profiler keeps an hour of stacks
    "distributed.deploy.lost-worker-timeout": "1000 hours",  # after it (15 s), a worker slow to start is not replaced
}
"""Dask's settings for workers of this machine."""
_SECONDS = 15  # the time limit for a scheduler to answer and have a worker, and for local workers to end


def require(*packages: str) -> None:
    """Raise `MissingError` if a package of the extra `fleet`, or one of those named, is not installed."""
    missing = [package for package in packages or _PACKAGES if find_spec(package) is None]
    if missing:
        raise MissingError(f"{missing[0]} is not installed", hint="install it with pip install 'nginxopt[fleet]'")


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def connected(*, workers: int | None = None, scheduler: str | None = None) -> Iterator[Client]:
    """Yield a Dask client; workers that were started for it end with the block.

    With `scheduler`, an address such as `tcp://10.0.0.1:8786`, its workers are those of that Dask scheduler. Otherwise
    they are `workers` processes of this machine with one thread each, by default one per processor.

    Raises `MissingError` if the extra is not installed, `UsageError` for an invalid address, `RunError` if no worker
    answers or one runs another version of nginxopt.
    """
    require()
    if scheduler is not None and not scheduler.startswith(_SCHEMES):
        raise UsageError(f'invalid scheduler address "{scheduler}"', hint="such as tcp://10.0.0.1:8786")
    with _quiet(), ExitStack() as stack:
        if scheduler is None:
            where = "this machine"
            client = stack.enter_context(_client(stack.enter_context(_local(workers or processors()))))
        else:
            where = scheduler
            client = stack.enter_context(_client_at(scheduler))
        _refuse_other_versions(client, where)
        yield client


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the messages of Dask on standard error: important ones are reported as errors of nginxopt."""
    import distributed  # noqa: F401 - the import adds its log handlers

    handlers = logging.getLogger("distributed").handlers
    levels = [handler.level for handler in handlers]
    for handler in handlers:
        handler.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for handler, level in zip(handlers, levels, strict=True):
            handler.setLevel(level)


@contextmanager
def _local(workers: int) -> Iterator[LocalCluster]:
    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    with dask.config.set(_CONFIGURATION):
        try:
            with _without_interrupts():
                cluster = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    host=_LOOPBACK,
                    security=Security.temporary(),
                    silence_logs=logging.CRITICAL,
                    dashboard_address=f"{_LOOPBACK}:0",
                    worker_dashboard_address=f"{_LOOPBACK}:0",
                )
        except RuntimeError as error:
            raise RunError(f"the workers of this machine do not start: {_reason(error)}") from error
        try:
            yield cluster
        finally:
            _close(cluster)


def _close(cluster: LocalCluster) -> None:
    """End the workers. Errors are ignored, to keep the results: the workers end with this process in any case."""
    with suppress(Exception):
        cluster.sync(_kill_workers, cluster, callback_timeout=_SECONDS)
    with suppress(Exception):
        cluster.close(timeout=_SECONDS)


async def _kill_workers(cluster: LocalCluster) -> None:
    """Kill the workers, which have no state to save, and prevent Dask from replacing them.

    While Dask replaces a worker that died, its own way to stop workers fails and fills standard error.
    """
    for nanny in cluster.workers.values():
        nanny.close_gracefully()
        process = nanny.process and nanny.process.process
        if process is not None:
            with suppress(ValueError):  # it has ended
                await process.kill()


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Make threads and processes that are started in the block ignore Ctrl-C for as long as they live."""
    resource_tracker.ensure_running()  # started with the first process, it would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _client_at(scheduler: str) -> Client:
    """Return a client of the scheduler at an address. Raises `RunError` if it does not answer or has no worker."""
    try:
        identity = asyncio.run(_identity(scheduler))
    except TimeoutError:
        raise RunError(f"no Dask scheduler answers at {scheduler} within {_SECONDS} s") from None
    except (OSError, TypeError, ValueError) as error:  # TypeError: Dask's settings name no certificates
        raise RunError(f"no Dask scheduler answers at {scheduler}: {_reason(error)}") from error
    if identity != "Scheduler":
        raise RunError(f"{scheduler} is the address of a {identity.lower()}, not of a scheduler")
    client = _client(scheduler)
    try:
        client.wait_for_workers(1, timeout=_SECONDS)
    except TimeoutError:
        client.close()
        raise RunError(f"the scheduler at {scheduler} has no workers after {_SECONDS} s") from None
    return client


async def _identity(address: str) -> str:
    """Return the kind of Dask process at an address.

    Asked first, because a client would wait forever for a server that does not speak Dask's protocol.
    """
    from distributed.core import rpc
    from distributed.security import Security

    certificates = Security().get_connection_args("client")
    remote = rpc(address, timeout=_SECONDS, connection_args=certificates)
    async with asyncio.timeout(_SECONDS), remote:
        return str((await remote.identity())["type"])


def _client(of: LocalCluster | str) -> Client:
    from distributed import Client

    return Client(of, set_as_default=False)


def _reason(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).partition("\n")[0] or type(error).__name__


def _refuse_other_versions(client: Client, where: str) -> None:
    """Raise `RunError` unless all workers run this version of nginxopt: other versions have other findings."""

    versions = client.run(_version, on_error="return")
    for address, version in versions.items():
        if isinstance(version, BaseException):
            raise RunError(f"worker {address} of {where} cannot run nginxopt: {_reason(version)}")
        if version != __version__:
            raise RunError(f"worker {address} of {where} has nginxopt {version}, and this is {__version__}")


def _version() -> str:

    return __version__
