"""Rules about logs on the real nginx: lines, new files, and open files."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.lintcheck import fixed
from tests.support import PATIENCE

pytestmark = pytest.mark.nginx

ASK = RequestBytes(b"GET /file HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n", alone=True)
FILES = {"html/file": b"text"}


def bodies(instance: nginx.Instance, count: int = 1) -> list[bytes]:
    """The bodies of the answers to so many requests."""
    with instance.client() as client:
        return [answer.partition(b"\r\n\r\n")[2] for answer in client.ask([ASK] * count)]


@pytest.mark.parametrize(("level", "least", "most"), [("debug", 1000, 10_000), ("info", 0, 20), ("warn", 0, 0)])
def test_lines_of_the_error_log(binary: nginx.Binary, level: str, least: int, most: int) -> None:
    """20 requests write thousands of lines at `debug`, at most 20 at `info`, and none at `warn`."""
    version = subprocess.run([binary.path, "-V"], capture_output=True, check=True, timeout=PATIENCE)
    if b"--with-debug" not in version.stderr:
        pytest.skip("this nginx writes no debug log")
    with nginx.Instance(binary, servers=[f"error_log file.log {level};".encode()], files=FILES) as instance:
        assert bodies(instance, 20) == [b"text"] * 20
        assert least <= len((instance.prefix / "file.log").read_bytes().splitlines()) <= most


def test_the_fix_ends_the_debug_log(binary: nginx.Binary) -> None:
    """After the fix of `error-log-debug` a request writes nothing."""
    server = fixed("error-log-debug", "error_log file.log debug_http;\n", context="server")
    with nginx.Instance(binary, servers=[server], files=FILES) as instance:
        assert bodies(instance) == [b"text"]
        assert (instance.prefix / "file.log").read_bytes() == b""


# What stands in a server -> the file that nginx writes.
BOGUS = {
    "error_log off;\n": "off",
    "error_log on;\n": "on",
    "access_log on;\n": "on",
    "access_log Off;\n": "Off",
    "access_log none;\n": "none",
}


@pytest.mark.parametrize(("server", "name"), BOGUS.items())
def test_a_switch_is_a_file(binary: nginx.Binary, server: str, name: str) -> None:
    """nginx writes a file named like the switch; after the fix it does not, and the response is the same."""
    with nginx.Instance(binary, servers=[server.encode()], files=FILES) as before:
        answers = bodies(before)
        assert (before.prefix / name).is_file()
    after_fix = fixed("log-path-bogus", server, context="server")
    assert after_fix.decode() != server
    with nginx.Instance(binary, servers=[after_fix], files=FILES) as after:
        assert bodies(after) == answers
        assert not (after.prefix / name).exists()


def test_off_is_a_switch_in_lower_case_only(binary: nginx.Binary) -> None:
    """`access_log off` writes nothing."""
    with nginx.Instance(binary, servers=[b"access_log off;"], files=FILES) as instance:
        assert bodies(instance) == [b"text"]
        assert not (instance.prefix / "off").exists()


VARIABLE = "access_log $host.log;\n"


def is_open(instance: nginx.Instance, name: str) -> bool:
    """Whether nginx holds the file open."""
    links = Path(f"/proc/{instance.pid}/fd").iterdir()
    return str(instance.prefix / name) in {str(link.readlink()) for link in links}


def test_a_log_with_a_variable_stays_open_in_the_cache(binary: nginx.Binary) -> None:
    """The file is closed after each line; after the fix it stays open, and the lines are the same."""
    lines = []
    for server, stays in ((VARIABLE.encode(), False), (fixed("access-log-variable", VARIABLE, context="server"), True)):
        with nginx.Instance(binary, servers=[server], files=FILES) as instance:
            assert bodies(instance, 3) == [b"text"] * 3
            lines.append(Counter(line.partition(b"]")[2] for line in written(instance, "a.test.log")))
            assert is_open(instance, "a.test.log") == stays
    assert lines[0] == lines[1]
    assert lines[0].total() == 3


def test_lines_go_on_into_a_renamed_log(binary: nginx.Binary) -> None:
    """With the cache lines go into a file that was renamed, as the page says: the fix is not safe."""
    with nginx.Instance(
        binary, servers=[fixed("access-log-variable", VARIABLE, context="server")], files=FILES
    ) as instance:
        bodies(instance)
        (instance.prefix / "a.test.log").rename(instance.prefix / "old.log")
        bodies(instance)
        assert len(written(instance, "old.log")) == 2
        assert not (instance.prefix / "a.test.log").exists()


def test_a_buffered_log_is_written_later(binary: nginx.Binary) -> None:
    """Lines are there at once; after the fix they wait in the buffer."""
    server = "access_log file.log;\n"
    with nginx.Instance(binary, servers=[server.encode()], files=FILES) as before:
        bodies(before, 3)
        assert len(written(before, "file.log")) == 3
    after_fix = fixed("access-log-unbuffered", server, context="server").decode()
    with nginx.Instance(binary, servers=[after_fix.replace("flush=5s", "flush=1h").encode()], files=FILES) as after:
        bodies(after, 3)
        assert written(after, "file.log") == []


def written(instance: nginx.Instance, name: str) -> list[bytes]:
    """The lines of a log."""
    return (instance.prefix / name).read_bytes().splitlines()
