"""What several tests need: the nginx binary, and what it says about a text."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")

needs_nginx = pytest.mark.skipif(NGINX is None, reason="no nginx binary: install nginx to run these tests")

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


def nginx_test_file(path: Path) -> Verdict:
    """Return nginx's verdict on the main file at `path`."""
    assert NGINX is not None
    command = [NGINX, "-t", "-p", str(path.parent), "-c", str(path), "-g", "error_log stderr; pid nginx.pid;"]
    run = subprocess.run(command, capture_output=True, timeout=20, check=False)
    if run.returncode == 0:
        return Verdict(b"")
    found = _MESSAGE.search(run.stderr)
    assert found, run.stderr
    place = _PLACE.fullmatch(found[1])
    return Verdict(place[1], int(place[3])) if place else Verdict(found[1])
