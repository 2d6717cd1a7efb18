"""Servers other than nginx that tests start on 127.0.0.1."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import PATIENCE


def command(*names: str) -> str:
    """Return the path of a server; without it, the test is skipped with the reason."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    found = next((path_ for name in names if (path_ := shutil.which(name, path=path))), None)
    if found is None:
        pytest.skip(f"no {names[0]}: .ci/install-packages {names[0]} installs it where it may")
    return found


def free_port() -> int:
    """Return a port of 127.0.0.1 that nothing listens at."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


@contextmanager
def running(arguments: Sequence[str], port: int, folder: Path) -> Iterator[None]:
    """Run a server in the foreground until the block ends; wait until it listens at a port."""
    log = folder / "server.log"
    with log.open("wb") as output, subprocess.Popen(arguments, stdout=output, stderr=output, cwd=folder) as process:
        try:
            _wait(process, port, log)
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if process.poll() is not None:
            pytest.fail(f"the server has ended: {log.read_text(errors='replace')}")
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    pytest.fail("the server does not listen")


@contextmanager
def httpd(tables: Sequence[bytes], folder: Path) -> Iterator[int]:
    """Run Apache's httpd with a host `t0.test`, `t1.test`, ... for each text of directives; yield its port."""
    binary, port = command("apache2", "httpd"), free_port()
    modules = Path("/usr/lib/apache2/modules")
    root = folder / "root"
    root.mkdir()
    hosts = b"".join(
        b"<VirtualHost *:%d>\nServerName t%d.test\n%s\n</VirtualHost>\n" % (port, number, table)
        for number, table in enumerate(tables)
    )
    head = (
        f"ServerRoot {folder}\nListen 127.0.0.1:{port}\nPidFile {folder}/pid\nServerName t.test\nErrorLog /dev/stderr\n"
        f"DocumentRoot {root}\nUseCanonicalName Off\nMaxKeepAliveRequests 0\nTimeout 600\nKeepAliveTimeout 600\n"
        f"DefaultRuntimeDir {folder}\n{'User www-data' if os.geteuid() == 0 else ''}\n"
        f"LoadModule mpm_event_module {modules}/mod_mpm_event.so\nLoadModule alias_module {modules}/mod_alias.so\n"
        f"LoadModule authz_core_module {modules}/mod_authz_core.so\n<Directory />\nRequire all granted\n</Directory>\n"
    )
    (folder / "httpd.conf").write_bytes(head.encode() + hosts)
    folder.chmod(0o755)
    with running([binary, "-DFOREGROUND", "-f", str(folder / "httpd.conf")], port, folder):
        yield port


@contextmanager
def haproxy(configuration: str, folder: Path) -> Iterator[int]:
    """Run HAProxy with a configuration that listens at 127.0.0.1:8080, at another port; yield that."""
    binary, port = command("haproxy"), free_port()
    (folder / "haproxy.cfg").write_text(configuration.replace("127.0.0.1:8080", f"127.0.0.1:{port}"))
    with running([binary, "-db", "-f", "haproxy.cfg"], port, folder):
        yield port
