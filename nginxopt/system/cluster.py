"""Workers for many configurations and for load: processes of this machine, or those of a Dask cluster that runs.

The workers of this machine listen on the loopback device only. As whoever may talk to a worker may run programs there,
they speak TLS with certificates that only this process and its workers have. They do not see Ctrl-C, so that this
process can end them in order, and they end with this process, however it ends: Dask watches a pipe for that.
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

from nginxopt.errors import MissingError, RunError, UsageError

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

_PACKAGES = ("cryptography", "distributed", "duckdb", "fsspec")
_LOOPBACK = "127.0.0.1"
_SCHEMES = ("tcp://", "tls://", "ws://", "wss://")
_CONFIGURATION: dict[str, list[str] | bool | str] = {
    "distributed.scheduler.http.routes": [],  # no pages
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,  # it keeps the stacks of an hour
    "distributed.deploy.lost-worker-timeout": "1000 hours",  # else none replaces a worker that takes 15 s to start
}
"""What Dask is told of processes of this machine."""
_SECONDS = 15  # until a scheduler answers and has a worker, and until the workers of this machine have ended


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
    """Yield a client of workers, which end with the block if they were started for it.

    They are the workers of the Dask scheduler at the address `scheduler`, such as `tcp://10.0.0.1:8786`, or else
    `workers` processes of this machine with one thread each, by default one a processor. Raises `MissingError` without
    the extra, `UsageError` for another kind of address, `RunError` if no worker answers or one runs another version.
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
    """Keep the messages of Dask from standard error: what matters in them is an error of ours."""
    import distributed  # noqa: F401 - it declares its handlers at import

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
    """End the workers. What fails then is no reason to lose what they did: they end with this process."""
    with suppress(Exception):
        cluster.sync(_kill_workers, cluster, callback_timeout=_SECONDS)
    with suppress(Exception):
        cluster.close(timeout=_SECONDS)


async def _kill_workers(cluster: LocalCluster) -> None:
    """Kill the workers, which have nothing to keep, and have none started in their place.

    Dask's own way fails, and fills standard error, while a worker is being started in place of one that died.
    """
    for nanny in cluster.workers.values():
        nanny.close_gracefully()
        process = nanny.process and nanny.process.process
        if process is not None:
            with suppress(ValueError):  # it has ended
                await process.kill()


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block Ctrl-C for the threads and processes that are started in the block, for as long as they live."""
    resource_tracker.ensure_running()  # it would unblock the signal when the first process is started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _client_at(scheduler: str) -> Client:
    """Return a client of the scheduler at an address, which has a worker."""
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
    """Return what listens at an address; a client would wait for what does not speak Dask's protocol without end."""
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
    """Raise `RunError` unless all workers run this version of nginxopt, which decides what they find."""
    from nginxopt import __version__

    versions = client.run(_version, on_error="return")
    for address, version in versions.items():
        if isinstance(version, BaseException):
            raise RunError(f"worker {address} of {where} cannot run nginxopt: {_reason(version)}")
        if version != __version__:
            raise RunError(f"worker {address} of {where} has nginxopt {version}, and this is {__version__}")


def _version() -> str:
    from nginxopt import __version__

    return __version__
