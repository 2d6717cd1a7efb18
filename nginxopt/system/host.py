"""The machine where nginx runs: its limits, from `/proc`, `/sys` and systemd, and its files, users and host names.

`read_host` returns this machine as a `Host`, a plain record, so that rules can check any machine. A value that cannot
be read is None, and rules ignore it. `host_at` returns a machine of which only the files are known.
"""

from __future__ import annotations

import math
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt.config import Config
from nginxopt.errors import MissingError
from nginxopt.records import record

if TYPE_CHECKING:
    from nginxopt.system.machine import Machine

UNLIMITED = 2**63 - 1
"""The value for "no limit"."""

_PID_FILES = ("/run/nginx.pid", "/var/run/nginx.pid", "/usr/local/nginx/logs/nginx.pid")
_SYSTEMCTL = ("systemctl", "show", "nginx", "-p", "LoadState,LimitNOFILE,LimitNOFILESoft")
_SYSTEMCTL_SECONDS = 5.0


@record(eq=True)
class Nofile:
    """The open file limits (RLIMIT_NOFILE) of a process, and a phrase (`owner`) that names it in messages."""

    soft: int
    hard: int
    owner: str


@record(eq=True)
class Host:
    """A machine: its limits, and what a configuration names on it.

    Attributes:
        file_max: The number of file descriptors that all processes may have together (`fs.file-max`).
        nr_open: The highest value of RLIMIT_NOFILE, even for root (`fs.nr_open`).
        nofile: The limits of nginx's master process: of the running one, otherwise of nginx.service, otherwise of this
            process.
        is_root: Whether the master runs as root, which may raise hard limits; None if nginx does not run.
        somaxconn: The longest accept queue of a socket (`net.core.somaxconn`), to which the kernel cuts `backlog`.
        ports: The number of local ports for connections to one address (`net.ipv4.ip_local_port_range`).
        processors: The number of processors online, which is the number of workers of `worker_processes auto`.
        cpus: The number of processors that nginx may use, by affinity and by the quota of its control group, which may
            be a fraction.
        machine: Its files, users and host names; None if they are not checked.
    """

    file_max: int | None = None
    nr_open: int | None = None
    nofile: Nofile | None = None
    is_root: bool | None = None
    somaxconn: int | None = None
    ports: int | None = None
    processors: int | None = None
    cpus: float | None = None
    machine: Machine | None = None


def pid_files(config: Config) -> tuple[str, ...]:
    """Return the files that may contain the process id of nginx: that of the directive `pid`, otherwise the usual ones.

    Empty if `pid` has a relative path, which starts from the unknown prefix that nginx was built with.
    """
    paths = [directive.args[0] for directive in config.scope.directives if directive.name == "pid"]
    if not paths:
        return _PID_FILES
    return (str(paths[-1]),) if paths[-1].startswith("/") else ()


def systemctl() -> str:
    """Return the limits of nginx.service as systemd prints them; empty without systemd."""
    try:
        run = subprocess.run(_SYSTEMCTL, capture_output=True, text=True, timeout=_SYSTEMCTL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout if run.returncode == 0 else ""


def read_host(root: str = "/", pids: Sequence[str] = _PID_FILES, service: Callable[[], str] = systemctl) -> Host:
    """Return the limits of the machine whose file system is at `root`.

    `pids` are the results of `pid_files`, and `service` is `systemctl` or a substitute. Raises `MissingError` if the
    system is not Linux.
    """
    if sys.platform != "linux":
        raise MissingError(f"--host works only on Linux, and this is {sys.platform}")
    base = Path(root)
    master = _master(base, pids)
    process = base / "proc" / (master or "self")
    return Host(
        file_max=_number(base / "proc/sys/fs/file-max"),
        nr_open=_number(base / "proc/sys/fs/nr_open"),
        nofile=_nofile(process, master, service),
        is_root=_is_root(process) if master else None,
        somaxconn=_number(base / "proc/sys/net/core/somaxconn"),
        ports=_ports(base / "proc/sys/net/ipv4/ip_local_port_range"),
        processors=_count(_text(base / "sys/devices/system/cpu/online")) or os.cpu_count(),
        cpus=_cpus(base, process),
    )


def with_machine(host: Host, now: datetime) -> Host:
    """Return this machine with its files, users and host names."""
    from nginxopt.system.machine import Machine

    return replace(host, machine=Machine.here(now, host.is_root))


def host_at(root: str, now: datetime) -> Host:
    """Return the machine whose `/` is the folder `root`: only what is in its files."""
    from nginxopt.system.machine import Machine

    return Host(machine=Machine.at(root, now))


def _master(base: Path, pids: Sequence[str]) -> str | None:
    """Return the process id of the running nginx; None if nginx does not run or its limits may not be read."""
    for path in pids:
        pid = _text(base / path.lstrip("/")).strip()
        process = base / "proc" / pid
        if pid.isdecimal() and _text(process / "comm").strip() == "nginx" and _text(process / "limits"):
            return pid
    return None


def _nofile(process: Path, master: str | None, service: Callable[[], str]) -> Nofile:
    running = re.search(r"^Max open files +(\S+) +(\S+)", _text(process / "limits"), re.MULTILINE) if master else None
    if running:
        return Nofile(_limit(running[1]), _limit(running[2]), f"the running nginx (process {master})")
    unit = dict(re.findall(r"^(\w+)=(\w+)$", service(), re.MULTILINE))
    if unit.get("LoadState") == "loaded" and {"LimitNOFILE", "LimitNOFILESoft"} <= unit.keys():
        return Nofile(_limit(unit["LimitNOFILESoft"]), _limit(unit["LimitNOFILE"]), "nginx.service")
    soft, hard = (UNLIMITED if limit < 0 else limit for limit in resource.getrlimit(resource.RLIMIT_NOFILE))
    return Nofile(soft, hard, "this shell")


def _limit(word: str) -> int:
    """Parse a limit of `/proc` (`unlimited`) or systemd (`infinity`)."""
    return int(word) if word.isdecimal() else UNLIMITED


def _is_root(process: Path) -> bool | None:
    """Return whether the effective user of a process is root: the second number of `Uid` (proc(5))."""
    match = re.search(r"^Uid:\s+\d+\s+(\d+)", _text(process / "status"), re.MULTILINE)
    return int(match[1]) == 0 if match else None


def _ports(path: Path) -> int | None:
    words = _text(path).split()
    return int(words[1]) - int(words[0]) + 1 if len(words) == 2 and all(map(str.isdecimal, words)) else None


def _cpus(base: Path, process: Path) -> float | None:
    """Return the number of processors that a process may use: the minimum of its affinity and control group quotas."""
    allowed = re.search(r"^Cpus_allowed_list:\s+(\S+)", _text(process / "status"), re.MULTILINE)
    counts = [float(_count(allowed[1]) or math.inf)] if allowed else []
    least = min([*counts, *_quotas(base / "sys/fs/cgroup", _text(process / "cgroup"))], default=math.inf)
    return None if least == math.inf else least


def _quotas(mount: Path, text: str) -> Iterator[float]:
    """Yield the quotas, in processors, of the control groups in the text of `/proc/PID/cgroup`, and of their parents.

    They are in `cpu.max` (version 2), or in `cpu.cfs_quota_us` and `cpu.cfs_period_us` (version 1, cgroups(7)).
    """
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            for group in _upward(mount, path):
                yield from _share(_text(group / "cpu.max").split())
        elif "cpu" in controllers.split(","):
            for group in _upward(mount / controllers, path):
                yield from _share([_text(group / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")])


def _upward(mount: Path, path: str) -> Iterator[Path]:
    """Yield the folders of a control group and its parents, up to the mount point."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    return (mount.joinpath(*parts[:length]) for length in range(len(parts), -1, -1))


def _share(words: Sequence[str]) -> Iterator[float]:
    """Yield the quota divided by its period, if there is a quota."""
    if len(words) == 2 and all(map(str.isdecimal, words)) and int(words[1]):
        yield int(words[0]) / int(words[1])


def _count(ranges: str) -> int | None:
    """Return how many numbers are in a list such as `0-3,8`; None if there are none."""
    pairs = re.findall(r"(\d+)(?:-(\d+))?", ranges)
    return sum(int(last or first) - int(first) + 1 for first, last in pairs) or None


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdecimal() else None


def _text(path: Path) -> str:
    """Return the text of a file; empty if it cannot be read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
