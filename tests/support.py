"""What several tests need: the nginx binary, and what it says about a text."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from nginxopt.source import decode

NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")

needs_nginx = pytest.mark.skipif(NGINX is None, reason="no nginx binary: install nginx to run these tests")

_GLOBALS = "error_log stderr; pid nginx.pid;"
_MESSAGE = re.compile(rb"\[(?:emerg|crit)\] \d+#\d+: (.*?)\n(?=nginx: |\d{4}/|\Z)", re.DOTALL)
_PLACE = re.compile(rb"(.*) in (/\S*):(\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `nginx -t` says: `message` is empty if it accepts; `line` is 0 if it names none."""

    message: bytes
    line: int = 0


def nginx_test(directory: Path, text: bytes) -> Verdict:
    """Return nginx's verdict on `text` as its main file, which is written into `directory`."""
    path = directory / "nginx.conf"
    path.write_bytes(text)
    return nginx_test_file(path)


def _run(option: str, path: Path) -> subprocess.CompletedProcess[bytes]:
    """Run nginx on the main file at `path`; few open files, or a circular include overflows its stack."""
    assert NGINX is not None
    command = [NGINX, option, "-p", str(path.parent), "-c", str(path), "-g", _GLOBALS]
    return subprocess.run(
        command,
        capture_output=True,
        timeout=20,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100)),
    )


def nginx_files(path: Path) -> list[str]:
    """Return the files of a configuration that nginx accepts, in the order in which it reads them."""
    run = _run("-T", path)
    assert run.returncode == 0, run.stderr
    return [decode(name) for name in re.findall(rb"^# configuration file (.*):$", run.stdout, re.MULTILINE)]


def nginx_test_file(path: Path) -> Verdict:
    """Return nginx's verdict on the main file at `path`."""
    run = _run("-t", path)
    if run.returncode == 0:
        return Verdict(b"")
    found = _MESSAGE.search(run.stderr)
    assert found, run.stderr
    place = _PLACE.fullmatch(found[1])
    return Verdict(place[1], int(place[3])) if place else Verdict(found[1])
