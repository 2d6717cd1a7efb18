"""A folder with files, upstreams, and an nginx that is asked there."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from nginxopt.system import nginx
from nginxopt.system.nginx import Verdict, private_prefix, reserved_ports
from tests.fuzz.sites import tree
from tests.fuzz.sites.client import converse
from tests.fuzz.sites.echo import Echoes
from tests.fuzz.sites.messages import Request
from tests.support import USER, nginx_verdict

_NAME = re.compile(r"\{(P\d*|T|dead|[a-z]+\d)\}")
# The master replaces a worker that a request ends.
_GLOBALS = ("-g", f"pid nginx.pid; daemon off; {USER}")


class Stage:
    """Where sites are played; a context manager.

    In a text `{T}` is its folder, `{http0}` the address of an upstream, and `{dead}` one where nobody listens.
    """

    def __init__(self, binary: nginx.Binary) -> None:
        self.binary = binary
        self.root = Path()
        self._stack = contextlib.ExitStack()
        self._ports: list[int] = []

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            # Deeper by one, as a site may list the folder above, where others come and go.
            prefix = stack.enter_context(private_prefix())
            prefix.chmod(0o755)  # nginx runs as another user where this process is root, and a site may look there
            self.root = prefix / "site"
            for name in ("", "html", "temp"):
                (self.root / name).mkdir()
            tree.lay(self.root)
            self._echoes = stack.enter_context(Echoes())
            (self._dead,) = stack.enter_context(reserved_ports(1))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def upstreams(self) -> dict[str, str]:
        """The names of the upstreams by their addresses."""
        return {f"127.0.0.1:{port}": name for name, port in self._echoes.ports.items()}

    def ports(self, count: int) -> Sequence[int]:
        """Return ports that nginx can listen at: the same each time, and more if more are needed."""
        if len(self._ports) < count:
            self._ports += self._stack.enter_context(reserved_ports(count - len(self._ports)))
        return self._ports[:count]

    def place(self, port: int) -> int:
        """Return which of the ports that is."""
        return self._ports.index(port)

    def filled(self, text: str, ports: Sequence[int] = ()) -> str:
        """Return a text with ports and addresses in place of their names; `{P}` and `{P1}` are the first two ports."""
        places = {"T": str(self.root), "dead": f"127.0.0.1:{self._dead}"}
        places |= {name: f"127.0.0.1:{port}" for name, port in self._echoes.ports.items()}
        places |= {f"P{number or ''}": str(port) for number, port in enumerate(ports)}
        return _NAME.sub(lambda match: places.get(match[1], match[0]), text)

    def unfilled(self, text: bytes, ports: Sequence[int] = ()) -> bytes:
        """Return a text with the names of ports and folders again."""
        for number, port in enumerate(ports):
            text = text.replace(b":%d" % port, b":{P%s}" % (b"%d" % number if number else b""))
        for address, name in self.upstreams.items():
            text = text.replace(address.encode(), b"{%s}" % name.encode())
        return text.replace(str(self.root).encode(), b"{T}")

    def write(self, files: Mapping[str, str]) -> None:
        """Write files into the folder; one is `nginx.conf`."""
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_bytes(text.encode("utf-8", "surrogateescape"))

    def verdict(self) -> Verdict:
        """Return what `nginx -t` says of what was written."""
        return nginx_verdict(self.binary, self.root, *_GLOBALS)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Run nginx on what was written until the block ends."""
        with nginx.running([*self.binary.command(self.root), *_GLOBALS], self.root):
            yield

    def ask(self, requests: Sequence[Request]) -> list[bytes]:
        """Return the raw answers of the nginx that runs."""
        return converse(requests)
