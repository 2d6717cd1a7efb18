"""An nginx binary: find it, and test configurations with `nginx -t`, confined (`nginxopt.system.confinement`)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt.errors import MissingError, RunError
from nginxopt.records import record
from nginxopt.system.nginx.verdict import Message, Verdict
from nginxopt.version import dotted

if TYPE_CHECKING:
    from nginxopt.system.confinement import Confinement

_SECONDS = 120.0
_PREFIX = "/usr/local/nginx"  # without --prefix (auto/options)
_ELF = b"\x7fELF"
_NO_FILES: Mapping[str, bytes] = {}


@record(eq=True)
class Allowed:
    """What a configuration may make nginx run besides nginx itself.

    Attributes:
        modules: Folders of modules that it may load, besides that of nginx.
        code: Whether it may run programs: see `nginxopt.system.nginx.permission`.
        network: Whether it may connect to other machines, where it has a network at all.
    """

    modules: tuple[str, ...] = ()
    code: bool = False
    network: bool = False


NOTHING = Allowed()


@record(eq=True)
class Binary:
    """An nginx executable: its path, its version such as `(1, 22, 1)`, and its name: `nginx`, `openresty` ...

    `allowed` is what it may run for the configurations that it is tested with.
    """

    path: str
    version: tuple[int, ...]
    name: str = "nginx"
    allowed: Allowed = NOTHING

    def __str__(self) -> str:
        return f"{self.name} {dotted(self.version)}"

    def command(self, prefix: Path) -> list[str]:
        """Return the command that runs this binary on `prefix/nginx.conf`, without files outside `prefix`."""
        command = [self.path, "-p", f"{prefix}/", "-c", f"{prefix}/nginx.conf"]
        if self.version >= (1, 19, 5):  # older versions have no -e; failing to open their default log is just an alert
            command += ["-e", f"{prefix}/error.log"]
        return command

    @property
    def prefix(self) -> Path:
        """The folder that nginx was built with, from which relative paths of modules start."""
        return Path(_built_with(self.path).get("prefix", _PREFIX))

    @property
    def modules(self) -> tuple[Path, ...]:
        """The folders of modules that a configuration may load, without links."""
        own = self.prefix / _built_with(self.path).get("modules-path", "modules")
        return tuple(folder.resolve() for folder in (own, *map(Path, self.allowed.modules)))

    @property
    def is_small(self) -> bool:
        """Whether it was compiled for size, as the packages of Alpine are."""
        return "-Os" in _built_with(self.path).get("with-cc-opt", "").split()

    def knows(self, name: str, modules: Sequence[Path] = ()) -> bool:
        """Return whether nginx, or one of some modules, may have a directive of that name.

        The names of directives are strings in C, so each is somewhere in the file with a NUL after it.
        """
        return any(_has(str(path), name) for path in (Path(self.path).resolve(), *modules))

    def test(self, config: bytes, files: Mapping[str, bytes] = _NO_FILES) -> Verdict:
        """Return the verdict of `nginx -t` on a complete configuration. Relative paths in it lead to `files`.

        Even with -t, nginx opens the pid file and binds the addresses of the configuration: see `configuration`.
        """
        from nginxopt.system.nginx.prefix import private_prefix

        with private_prefix({**files, "nginx.conf": config}) as prefix:
            return self.test_in(prefix)

    def test_in(self, prefix: Path, *options: str, wrapper: Sequence[str] = ()) -> Verdict:
        """Return the verdict of `nginx -t` on `prefix/nginx.conf`; messages have paths relative to the prefix."""
        from nginxopt.system.confinement import Confinement

        return _verdict([*wrapper, *self.command(prefix), "-t", *options], {f"{prefix}/": ""}, Confinement(prefix))

    def test_copy(self, prefix: Path, main: Path, names: Mapping[str, str], hosts: tuple[str, ...]) -> Verdict:
        """Return the verdict of `nginx -t` on a copy of a configuration, whose main file is `main` in `prefix`.

        It has a network of its own, in which `hosts` are names of 127.0.0.1. `names` are replacements for paths in
        nginx's messages, as in `Verdict.of`.
        """
        from nginxopt.system.confinement import Confinement
        from nginxopt.system.network import hosts_file, own_network

        command = [*self.command(prefix), "-t", "-q"]
        command[command.index("-c") + 1] = str(main)
        with own_network(hosts_file(prefix, hosts)) as network:
            confinement = Confinement(prefix, network=network, processor_seconds=round(_SECONDS))
            return _verdict(command, names, confinement)


def _verdict(command: Sequence[str], names: Mapping[str, str], confinement: Confinement) -> Verdict:
    from nginxopt.system import process

    try:
        run = process.run(command, cwd=confinement.folder, seconds=_SECONDS, confinement=confinement)
    except RunError:
        return Verdict(False, (Message("emerg", f"nginx -t did not end within {_SECONDS:.0f} seconds"),))
    return Verdict.of(run.errors + run.output, run.status, names)


@cache
def _built_with(path: str) -> dict[str, str]:
    """Return the options of `configure` that a binary was built with; none if it does not say."""
    try:
        run = _run([path, "-V"])
    except (OSError, subprocess.TimeoutExpired):
        return {}
    arguments = (run.stderr + run.stdout).decode(errors="surrogateescape").partition("configure arguments:")[2]
    return {name: value.strip("'") for name, value in re.findall(r"--([a-z-]+)=('[^']*'|\S+)", arguments)}


@cache
def _text(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _has(path: str, name: str) -> bool:
    text = _text(path)
    return name.encode() + b"\0" in text or not text.startswith(_ELF)


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False)


def find(path: str | None = None, allowed: Allowed = NOTHING) -> Binary:
    """Return the nginx at `path`; without a path, the one on PATH, otherwise /usr/sbin/nginx.

    `allowed` is what it may run for the configurations that it is tested with.

    Raises `MissingError` if there is none, or if it does not run.
    """
    binary = shutil.which(path or "nginx") or (None if path else shutil.which("/usr/sbin/nginx"))
    if binary is None:
        where = f"at {path}" if path else "on PATH or at /usr/sbin/nginx"
        raise MissingError(f"no nginx binary found {where}", hint="install nginx, or pass the path of its binary")
    binary = os.path.abspath(binary)  # noqa: PTH100 - it runs in folders of its own; links stay, as they may name a version
    try:
        run = _run([binary, "-v"])
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingError(f"{binary} cannot be run: {error}") from error
    version = re.search(rb"nginx version: ([^/\s]+)/(\d+(?:\.\d+)+)", run.stderr + run.stdout)
    if version is None:
        raise MissingError(f"{binary} is not an nginx binary: -v prints no version")
    number = tuple(int(part) for part in version[2].split(b"."))
    return Binary(binary, number, version[1].decode(errors="replace"), allowed)
