"""The machine that `--host` and `--root` name, for several commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nginxopt.config import Config
    from nginxopt.config.filesystem import Files
    from nginxopt.system.host import Host


def files(root: str | None) -> Files:
    """Return the storage of a configuration: the files of this machine, or those below a root.

    Raises `InputError` for a root that is no folder.
    """
    from nginxopt.config.filesystem import DISK

    if root is None:
        return DISK
    from nginxopt.config.filesystem import Rooted, RootFolder

    if not Path(root).is_dir():
        raise InputError("is not a directory", path=root, hint="--root needs the folder that stands for /")
    return Rooted(RootFolder(root))


def of(configs: Iterable[Config], with_host: bool, root: str | None) -> Host | None:
    """Return the machine to check, with the limits of the nginx that runs with one of the configurations.

    Raises `MissingError` if this system cannot be checked.
    """
    if not with_host and root is None:
        return None
    from datetime import UTC, datetime

    from nginxopt.system.host import host_at, pid_files, read_host, with_machine

    now = datetime.now(UTC)
    if root is not None:
        return host_at(root, now)
    return with_machine(read_host(pids=[path for config in configs for path in pid_files(config)]), now)
