"""An nginx binary: find it, and test configurations with `nginx -t`."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nginxopt.errors import MissingError
from nginxopt.system.nginx.prefix import NO_FILES, private_prefix
from nginxopt.system.nginx.verdict import Message, Verdict
from nginxopt.version import dotted

_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Binary:
    """An nginx executable: its path, its version such as `(1, 22, 1)`, and its name: `nginx`, `openresty` ..."""

    path: str
    version: tuple[int, ...]
    name: str = "nginx"

    def __str__(self) -> str:
        return f"{self.name} {dotted(self.version)}"

    def command(self, prefix: Path) -> list[str]:
        """Return the command that runs this binary on `prefix/nginx.conf`, without files outside `prefix`."""
        command = [self.path, "-p", f"{prefix}/", "-c", f"{prefix}/nginx.conf"]
        if self.version >= (1, 19, 5):  # older versions have no -e; failing to open their default log is just an alert
            command += ["-e", f"{prefix}/error.log"]
        return command

    def run(self, prefix: Path, *options: str, wrapper: Sequence[str] = ()) -> subprocess.CompletedProcess[bytes]:
        """Run nginx on `prefix/nginx.conf` until it exits, with options such as `-T`.

        `wrapper` is put before the command. Raises `TimeoutExpired` after two minutes.
        """
        return _run([*wrapper, *self.command(prefix), *options], prefix)

    def test(self, config: bytes, files: Mapping[str, bytes] = NO_FILES) -> Verdict:
        """Return the verdict of `nginx -t` on a complete configuration. Relative paths in it lead to `files`.

        Even with -t, nginx opens the pid file and binds the addresses of the configuration: see `configuration`.
        """
        with private_prefix({**files, "nginx.conf": config}) as prefix:
            return self.test_in(prefix)

    def test_in(self, prefix: Path, *options: str, wrapper: Sequence[str] = ()) -> Verdict:
        """Return the verdict of `nginx -t` on `prefix/nginx.conf`; messages have paths relative to the prefix."""
        return _verdict([*wrapper, *self.command(prefix), "-t", *options], {f"{prefix}/": ""}, prefix)

    def test_file(self, path: str, names: Mapping[str, str]) -> Verdict:
        """Return the verdict of `nginx -t` on the main file at `path`, with the prefix that nginx was built with.

        `names` are replacements for paths in its messages, as in `Verdict.of`.
        """
        return _verdict([self.path, "-t", "-q", "-c", path], names)


def _verdict(command: Sequence[str], names: Mapping[str, str], folder: Path | None = None) -> Verdict:
    try:
        run = _run(command, folder)
    except subprocess.TimeoutExpired:
        return Verdict(False, (Message("emerg", f"nginx -t did not end within {_SECONDS:.0f} seconds"),))
    return Verdict.of(run.stderr + run.stdout, run.returncode, names)


def _run(command: Sequence[str], folder: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
    )


def find(path: str | None = None) -> Binary:
    """Return the nginx at `path`; without a path, the one on PATH, otherwise /usr/sbin/nginx.

    Raises `MissingError` if there is none, or if it does not run.
    """
    binary = shutil.which(path or "nginx") or (None if path else shutil.which("/usr/sbin/nginx"))
    if binary is None:
        where = f"at {path}" if path else "on PATH or at /usr/sbin/nginx"
        raise MissingError(f"no nginx binary found {where}", hint="install nginx, or pass the path of its binary")
    try:
        run = _run([binary, "-v"])
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingError(f"{binary} cannot be run: {error}") from error
    version = re.search(rb"nginx version: ([^/\s]+)/(\d+(?:\.\d+)+)", run.stderr + run.stdout)
    if version is None:
        raise MissingError(f"{binary} is not an nginx binary: -v prints no version")
    return Binary(binary, tuple(int(number) for number in version[2].split(b".")), version[1].decode(errors="replace"))
