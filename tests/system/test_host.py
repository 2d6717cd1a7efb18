"""The machine: facts read from a tree of files like Linux's, and from this machine."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from nginxopt.config import load, load_text
from nginxopt.errors import MissingError
from nginxopt.system.host import UNLIMITED, Host, Nofile, pid_files, read_host
from tests.rows import every_row

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the limits of the machine are read on Linux only")

LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max open files            {}                 {}            files     \n"
)

SYSTEM = {
    "proc/sys/fs/file-max": "65536\n",
    "proc/sys/fs/nr_open": "1048576\n",
    "proc/sys/net/core/somaxconn": "4096\n",
    "proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
    "sys/devices/system/cpu/online": "0-3,8-11\n",
    "proc/self/status": "Name:\tpython\nUid:\t1000\t1000\t1000\t1000\nCpus_allowed_list:\t0-3\n",
    "proc/self/cgroup": "0::/\n",
}

RUNNING = {
    "run/nginx.pid": "4321\n",
    "proc/4321/comm": "nginx\n",
    "proc/4321/limits": LIMITS.format("2048", "unlimited"),
    "proc/4321/status": "Uid:\t33\t0\t0\t0\nCpus_allowed_list:\t2\n",
    "proc/4321/cgroup": "0::/system.slice/nginx.service\n",
}

SERVICE = "LoadState=loaded\nLimitNOFILE=524288\nLimitNOFILESoft=1024\n"


def tree(folder: Path, *files: Mapping[str, str]) -> str:
    """A folder with these files."""
    for path, text in {path: text for some in files for path, text in some.items()}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return str(folder)


@on_linux
def test_a_machine_without_nginx(tmp_path: Path) -> None:
    """Without a running nginx the limits are those of its service."""
    assert read_host(tree(tmp_path, SYSTEM), service=lambda: SERVICE) == Host(
        file_max=65_536,
        nr_open=1_048_576,
        nofile=Nofile(1_024, 524_288, "nginx.service"),
        is_root=None,
        somaxconn=4_096,
        ports=28_232,
        processors=8,
        cpus=4.0,
    )


@on_linux
def test_a_running_nginx_counts(tmp_path: Path) -> None:
    """The limits, the user and the processors are those of the master that runs, whatever its service says."""
    host = read_host(tree(tmp_path, SYSTEM, RUNNING), service=lambda: SERVICE)
    assert host.nofile == Nofile(2_048, UNLIMITED, "the running nginx (process 4321)")
    assert (host.is_root, host.cpus) == (True, 1.0)


@on_linux
@pytest.mark.parametrize(
    "files",
    [{"proc/4321/comm": "cron\n"}, {"run/nginx.pid": "\n"}, {"proc/4321/limits": ""}],
    ids=lambda files: next(iter(files)),
)
def test_a_stale_process_id_is_no_nginx(tmp_path: Path, files: dict[str, str]) -> None:
    """A file with the id of another process, or of one that may not be looked at, tells nothing."""
    host = read_host(tree(tmp_path, SYSTEM, RUNNING, files), service=lambda: SERVICE)
    assert host.nofile is not None
    assert (host.nofile.owner, host.is_root) == ("nginx.service", None)


@on_linux
@pytest.mark.parametrize(
    "properties", ["", "LoadState=not-found\nLimitNOFILE=1\nLimitNOFILESoft=1\n", "LoadState=loaded\n"]
)
def test_without_a_service_the_shell_counts(tmp_path: Path, properties: str) -> None:
    """Where systemd knows no nginx, nginx would have the limits of the shell that starts it."""
    host = read_host(tree(tmp_path, SYSTEM), service=lambda: properties)
    assert host.nofile is not None
    assert host.nofile.owner == "this shell"
    assert 0 < host.nofile.soft <= host.nofile.hard


@on_linux
def test_no_limit_is_more_than_any(tmp_path: Path) -> None:
    """What systemd calls infinity is above all numbers."""
    properties = "LoadState=loaded\nLimitNOFILE=infinity\nLimitNOFILESoft=infinity\n"
    assert read_host(tree(tmp_path, SYSTEM), service=lambda: properties).nofile == Nofile(
        UNLIMITED, UNLIMITED, "nginx.service"
    )


QUOTAS = {
    "none": ("0::/\n", {"sys/fs/cgroup/cpu.max": "max 100000\n"}, 4.0),
    "a container": ("0::/\n", {"sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
    "a slice around it": (
        "0::/a.slice/b.service\n",
        {"sys/fs/cgroup/a.slice/cpu.max": "200000 100000\n", "sys/fs/cgroup/a.slice/b.service/cpu.max": "max 100000\n"},
        2.0,
    ),
    "version 1": (
        "5:cpu,cpuacct:/a\n0::/\n",
        {
            "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
        },
        0.5,
    ),
    "version 1 without a quota": (
        "1:cpu:/\n",
        {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"},
        4.0,
    ),
    "more than affinity allows": ("0::/\n", {"sys/fs/cgroup/cpu.max": "800000 100000\n"}, 4.0),
}


@on_linux
@every_row("case", QUOTAS)
def test_processors_that_may_be_used(tmp_path: Path, case: str) -> None:
    """The least of affinity and the quotas of all control groups around the process counts."""
    groups, files, cpus = QUOTAS[case]
    root = tree(tmp_path, SYSTEM, {"proc/self/cgroup": groups}, files)
    assert read_host(root, service=str).cpus == cpus


@on_linux
def test_what_cannot_be_read_is_not_known(tmp_path: Path) -> None:
    """An empty tree says nothing but the shell's limits and the processors of the machine."""
    host = read_host(str(tmp_path), service=str)
    assert (host.file_max, host.nr_open, host.somaxconn, host.ports, host.cpus) == (None,) * 5


@on_linux
def test_this_machine() -> None:
    """On the machine itself every fact is found, and they fit each other."""
    host = read_host()
    assert host.nofile is not None
    assert host.processors is not None
    assert 0 < host.nofile.soft <= host.nofile.hard
    assert host.cpus is None or host.cpus > 0
    assert host.somaxconn is None or host.somaxconn > 0
    assert host.ports is None or 0 < host.ports < 65_536


def test_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """On other systems it is said that nothing can be read."""
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(MissingError, match="works only on Linux"):
        read_host()


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("pid /srv/nginx.pid;", ("/srv/nginx.pid",)),
        ("pid logs/nginx.pid;", ()),
        ("events {}", ("/run/nginx.pid", "/var/run/nginx.pid", "/usr/local/nginx/logs/nginx.pid")),
    ],
)
def test_where_the_process_id_is(text: str, paths: tuple[str, ...]) -> None:
    """The file that `pid` names, or the usual ones; a relative path starts from a prefix that is not known."""
    assert pid_files(load_text(text.encode())) == paths


def test_the_process_id_may_be_named_in_an_included_file(tmp_path: Path) -> None:
    """nginx reads what is included in place, and the last `pid` counts."""
    (tmp_path / "a.conf").write_text("pid /srv/a.pid;")
    (tmp_path / "nginx.conf").write_text("include a.conf; events {}")
    assert pid_files(load(tmp_path / "nginx.conf")) == ("/srv/a.pid",)
