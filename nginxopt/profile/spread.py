"""Reads the parts of logs on the workers of a Dask cluster, or on processes of this machine.

A worker gets the configuration, and the name of a log with a range of its bytes, and returns sums. What is added, and
in which order, does not depend on the workers: the result is identical to that of one process.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from nginxopt.errors import NginxoptError, RunError
from nginxopt.profile.reading import PartRead, SiteLogs

if TYPE_CHECKING:
    from distributed import Client, Future

_AHEAD = 4
"""The number of parts that are submitted at once, for each worker."""
_RETRIES = 3
"""How often a part is submitted again after its worker died."""
_SECONDS = 60.0
"""The seconds after which a result is requested again: its worker may have died with it, and another one has the part.
"""


def read(client: Client, logs: SiteLogs, progress: Callable[[int], None] = lambda _: None) -> Iterator[PartRead]:
    """Yield what workers read, in the order of the parts. `progress` is called with the number that are done.

    Raises `RunError` if the workers are lost, or die one after the other.
    """
    from distributed import KilledWorker

    from nginxopt.profile import worker

    parts = logs.parts()
    name = f"nginxopt-profile-{uuid4().hex}"
    waiting: dict[int, Future[Any]] = {}
    asked = 0
    try:
        _give(client, worker.LogKeeper(name, logs))
        for number in range(len(parts)):
            most = number + _AHEAD * max(1, len(client.nthreads()))
            while asked < min(most, len(parts)):
                waiting[asked] = client.submit(worker.read, parts[asked], name, pure=False, retries=_RETRIES)
                asked += 1
            yield _result(client, waiting.pop(number))
            progress(number + 1)
    except NginxoptError:
        raise
    except KilledWorker:
        raise RunError("each worker that was asked about a part of a log died (KilledWorker)") from None
    except (Exception, CancelledError) as error:
        # Dask raises errors of any kind once it has given up the connection.
        if client.status == "running" and not isinstance(error, OSError | CancelledError):
            raise
        raise RunError("the connection to the scheduler was lost") from error
    finally:
        with suppress(Exception):
            client.unregister_worker_plugin(name)


def _give(client: Client, given: Any) -> None:
    """Give all workers the logs. Raises `RunError` if workers die meanwhile, one after the other."""
    for _ in range(_RETRIES):
        with suppress(OSError):
            client.register_plugin(given)
            return
    raise RunError("a worker, or the scheduler, was lost while the configuration was sent")


def _result(client: Client, future: Future[Any]) -> PartRead:
    """Return the result of a task, wherever it is read in the end."""
    while True:
        try:
            return future.result(timeout=_SECONDS)  # type: ignore[no-any-return]
        except (OSError, TimeoutError):
            if future.status in ("error", "cancelled") or client.status != "running" or not client.nthreads():
                raise
