"""A fleet from `fixtures/slow-site` in which it is known who drifted.

    python -m benchmarks.drifting FOLDER --hosts 10000 --members 10

Each group has so many members, which have the same configuration of about 400 lines, but for one: it drifted in one of
the ways of `KINDS`. So of 10,000 hosts in groups of 10, 2,000 configurations are distinct. A host is a file in FOLDER,
with what nginx -T prints.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SITE = Path(__file__).parent.parent / "fixtures" / "slow-site"
_LINES = 400
_MAIN = "nginx.conf"

KINDS = ("changed", "lost", "added", "file lost", "file added", "comment")
"""How a host differs: a parameter, a directive, a file, or only a comment."""

Drifted = tuple[str, str, str | None, str | None]
"""A directive that differs: its context, its name, and its parameters as usual and on the host; None if absent."""


@dataclass(frozen=True, slots=True)
class Known:
    """A host that drifted: its group, its name, the path of the file, and the directives that differ.

    `is_missing` if the host lacks the file, `is_added` if only the host has it.
    """

    group: str
    host: str
    path: str
    directives: tuple[Drifted, ...] = ()
    is_missing: bool = False
    is_added: bool = False


def fleet(hosts: int, members: int) -> Iterator[tuple[str, bytes, Known | None]]:
    """Yield hosts with what nginx -T prints there, and how they drifted if they did.

    The last member of a group has drifted; the last group may be smaller, and has then none.
    """
    for number in range(hosts):
        group, member = divmod(number, members)
        name, host = _group(group), f"{_group(group)}-{member}"
        files = _files(group)
        known = None
        if member == members - 1:
            files, known = _drifted(name, host, dict(files), KINDS[group % len(KINDS)])
        yield host, dump(files), known


def write(folder: Path, hosts: int, members: int) -> list[Known]:
    """Write a fleet, a file a host; return who drifted, by group."""
    known = []
    folder.mkdir(parents=True, exist_ok=True)
    for host, text, drifted in fleet(hosts, members):
        (folder / f"{host}.txt").write_bytes(text)
        known += [] if drifted is None else [drifted]
    return sorted(known, key=lambda drifted: drifted.group)


def dump(files: dict[str, bytes]) -> bytes:
    """Return files as nginx -T prints them."""
    headed = (b"# configuration file /etc/nginx/%s:\n%s\n" % (name.encode(), text) for name, text in files.items())
    return b"".join(headed)


def _group(number: int) -> str:
    """Return the name of a group, in letters, so that the numbers of a name are those of its members."""
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:05}")


@cache
def _fixture() -> dict[str, bytes]:
    """Return the files of the fixture, the main file first."""
    paths = sorted(path for path in _SITE.rglob("*.conf") if path.name != _MAIN)
    return {str(path.relative_to(_SITE)): path.read_bytes() for path in [_SITE / _MAIN, *paths]}


@cache
def _padding() -> int:
    """Return how many further sites make a configuration of about 400 lines."""
    lines = sum(text.count(b"\n") for text in _fixture().values())
    return (_LINES - lines) // _shop(0, 0).count(b"\n")


def _shop(group: int, number: int) -> bytes:
    """Return a further site of a group."""
    text = _fixture()["sites/shop.conf"]
    return text.replace(b"server_name ", f"server_name g{group}-{number}.example.com ".encode())


def _files(group: int) -> dict[str, bytes]:
    """Return the files of all members of a group."""
    return _fixture() | {f"sites/more{number}.conf": _shop(group, number) for number in range(_padding())}


def _drifted(group: str, host: str, files: dict[str, bytes], kind: str) -> tuple[dict[str, bytes], Known]:
    main = f"/etc/nginx/{_MAIN}"
    if kind == "file lost":
        del files["sites/more1.conf"]
        return files, Known(group, host, "/etc/nginx/sites/more1.conf", is_missing=True)
    if kind == "file added":
        files["sites/old.conf"] = b"server {\n    listen 8081;\n    return 410;\n}\n"
        return files, Known(group, host, "/etc/nginx/sites/old.conf", is_added=True)
    before, after, directives = _EDITS[kind]
    assert before in files[_MAIN]
    files[_MAIN] = files[_MAIN].replace(before, after)
    return files, Known(group, host, main, directives)


_EDITS: dict[str, tuple[bytes, bytes, tuple[Drifted, ...]]] = {
    "changed": (
        b"worker_connections 4096;",
        b"worker_connections 512;",
        (("events", "worker_connections", "4096", "512"),),
    ),
    "lost": (b"    sendfile on;\n", b"", (("http", "sendfile", "on", None),)),
    "added": (
        b"    sendfile on;\n",
        b"    sendfile on;\n    client_max_body_size 1g;\n",
        (("http", "client_max_body_size", None, "1g"),),
    ),
    "comment": (b"    sendfile on;\n", b"    # by hand, until Monday\n    sendfile on;\n", ()),
}
"""What is replaced in the main file, and the directives that differ afterwards."""


def main() -> None:
    """Write a fleet, and print who drifted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--members", type=int, default=10, help="hosts of a group")
    arguments = parser.parse_args()
    for known in write(arguments.folder, arguments.hosts, arguments.members):
        print(known.host, known.path, *(f"{name} {here or 'lost'}" for _, name, _, here in known.directives))


if __name__ == "__main__":
    main()
