"""What is written in two ways is the same to nginx, and what only looks so is not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from nginxopt.system import nginx
from tests.nginx.running import running
from tests.nginx.test_verify import ask, make, plain
from tests.verify.pairs import FILES
from tests.verify.pairs.form import Forms
from tests.verify.pairs.forms import ALIKE, UNLIKE, http

pytestmark = pytest.mark.nginx

_ECHO = (
    "server {{ listen 127.0.0.1:{}; location / {{"
    ' return 200 "$request $http_host $http_connection $http_x $http_a"; }} }}'
)


def answers(binary: nginx.Binary, pairs: Sequence[Forms], folder: Path) -> list[tuple[list[bytes], list[bytes]]]:
    """Return what nginx answers to the requests of each pair, on both sides, which have a nginx each for all pairs."""
    found: list[list[list[bytes]]] = []
    with nginx.reserved_ports(len(pairs) + 1) as ports:
        for side in (0, 1):
            texts = [
                http((pair.old, pair.new)[side], number, ports[number], ports[-1], str(folder))
                for number, pair in enumerate(pairs)
            ]
            whole = " ".join([_ECHO.format(ports[-1]), *texts])
            with running(binary, f"events {{}} http {{ access_log off; {whole} }}"):
                found.append(
                    [
                        [
                            _without_ports(ask(plain(target, port), port, b"x" * pair.size), ports)
                            for target in pair.targets
                        ]
                        for pair, port in zip(pairs, ports, strict=False)
                    ]
                )
    return list(zip(*found, strict=True))


def _without_ports(answer: bytes, ports: Sequence[int]) -> bytes:
    """Return an answer without the ports, and without the order of its header fields, which counts for nobody."""
    for port in ports:
        answer = answer.replace(b":%d" % port, b":port")
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.startswith(b"Expires:") or b"1970" in line]
    return b"\n".join([*sorted(lines, key=lambda line: line.partition(b":")[0].lower()), body])


@pytest.mark.parametrize("is_alike", [True, False], ids=["alike", "unlike"])
def test_nginx_answers_two_forms(is_alike: bool, each_binary: nginx.Binary, tmp_path: Path) -> None:
    """nginx answers two forms of the same alike, and what only looks the same not, as far as its version says so."""
    make(tmp_path, FILES)
    tmp_path.chmod(0o755)
    pairs = ALIKE if is_alike else UNLIKE
    version = ".".join(map(str, each_binary.version))
    for pair, (old, new) in zip(pairs, answers(each_binary, pairs, tmp_path), strict=True):
        assert (old == new) == (is_alike == version.startswith(pair.versions)), (pair.name, old, new)
