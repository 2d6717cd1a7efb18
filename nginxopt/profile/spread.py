"""Reads the parts of logs on the workers of a Dask cluster, or on processes of this machine.

A worker gets the configuration and the name of a log with a range of its bytes, and returns sums. What is added up, and
in which order, does not depend on the workers: the result has the same bytes as that of one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from nginxopt.errors import NginxoptError, RunError
from nginxopt.profile.reading import PartRead, SiteLogs

if TYPE_CHECKING:
    from distributed import Client, Future

    from nginxopt.profile.pieces import Range

_AHEAD = 4
"""Parts that are asked for at once, for each worker."""
_RETRIES = 3
"""How often a part is asked for again whose worker died."""


def read(client: Client, logs: SiteLogs, progress: Callable[[int], None] = lambda _: None) -> Iterator[PartRead]:
    """Yield what workers read, in the order of the parts. `progress` is called with the number that are done.

    Raises `RunError` if the workers are lost, or die one after the other.
    """
    from distributed import KilledWorker

    parts = logs.parts()
    sent = _sent(client, logs)
    waiting: dict[int, Future[Any]] = {}
    asked = 0
    try:
        for number in range(len(parts)):
            most = number + _AHEAD * max(1, len(client.nthreads()))
            while asked < min(most, len(parts)):
                waiting[asked] = client.submit(_read, sent, parts[asked], pure=False, retries=_RETRIES)
                asked += 1
            yield waiting.pop(number).result()
            progress(number + 1)
    except NginxoptError:
        raise
    except KilledWorker:
        raise RunError("each worker that was asked about a part of a log died (KilledWorker)") from None
    except Exception as error:
        if client.status == "running" and not isinstance(error, OSError):
            raise
        raise RunError("the connection to the scheduler was lost") from error


def _sent(client: Client, logs: SiteLogs) -> Any:
    """Send the logs to all workers. Raises `RunError` if one dies meanwhile."""
    try:
        return client.scatter([logs], broadcast=True, hash=False)[0]
    except OSError as error:
        raise RunError("a worker, or the scheduler, was lost while the configuration was sent") from error


def _read(logs: SiteLogs, part: Range) -> PartRead:
    return logs.read(part)
