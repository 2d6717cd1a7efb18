"""Small fleets, and the command that checks them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from nginxopt.cli import nginxopt
from nginxopt.fleet import reading
from nginxopt.system import cluster

if TYPE_CHECKING:
    from distributed import Client

GOOD = b"events {}\nhttp {\n    include conf.d/*.conf;\n}\n"
SITE = b"""\
upstream app {
    server 10.0.0.1:80;
}
server {
    listen 80;
    location / {
        proxy_pass http://app;
    }
}
"""
BROKEN = b"events {}\nhttp {\n"


def tree(folder: Path, main: bytes = GOOD, **sites: bytes) -> Path:
    """Write a tree with a main file and sites, by their names."""
    (folder / "conf.d").mkdir(parents=True)
    (folder / "nginx.conf").write_bytes(main)
    for name, text in sites.items():
        (folder / "conf.d" / f"{name}.conf").write_bytes(text)
    return folder


def dump(folder: Path) -> bytes:
    """Return what nginx -T prints of a tree that is installed in /etc/nginx."""
    files = [folder / "nginx.conf", *sorted((folder / "conf.d").iterdir())]
    texts = [
        b"# configuration file /etc/nginx/%s:\n%s\n" % (str(file.relative_to(folder)).encode(), file.read_bytes())
        for file in files
    ]
    return b"".join(texts)


def lint(*args: str | Path, status: int | None = None) -> Result:
    """Run nginxopt fleet lint without settings files."""
    command = ["fleet", "lint", *map(str, args), "--isolated", "--target-version", "1.22.1"]
    done = CliRunner().invoke(nginxopt, command, standalone_mode=False)
    if status is not None:
        assert done.exception is None, done.exception
        assert done.return_value == status, done.output
    return done


@contextmanager
def in_threads() -> Iterator[Client]:
    """Yield a client of one worker, a thread of this process, which commands use as theirs until the block ends."""
    from distributed import Client  # takes a second, in each process that collects tests

    with (
        Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as client,
        pytest.MonkeyPatch.context() as patch,
    ):

        @contextmanager
        def connected(**_: Any) -> Iterator[Client]:
            yield client

        patch.setattr(cluster, "connected", connected)
        yield client


def rows(query: str, result: str = "fleet.duckdb") -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    with reading.opened(result) as database:
        return list(reading.query(database, query)[1])


FOUND = 'SELECT host, rule, severity, path, line, "column", message FROM host_findings ORDER BY ALL'
"""The query for everything that is found, in order."""
