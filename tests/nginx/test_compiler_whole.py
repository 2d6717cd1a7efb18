"""The compiler on whole configurations with servers, locations and includes: real nginx responds as before."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from nginxopt.config import load
from nginxopt.rewrite.requests import sample
from nginxopt.system import nginx
from nginxopt.system.nginx import Instance
from tests import rulegen
from tests.nginx.compiling import REQUESTS, SEEDS, compiled, different, keys

pytestmark = pytest.mark.nginx


class Whole:
    """A random configuration of several servers, in files: what stands in each, and the URIs to ask.

    The rules of `both.conf` are included in servers and in locations.
    """

    SERVERS = 2

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.captures = draw.random() < 0.5
        self.uris: list[bytes] = []
        self.files = {f"s{number}.conf": self._server(draw) for number in range(self.SERVERS)}
        self.files["both.conf"] = self._rules(draw, 4)
        self.files["first.conf"] = b"".join(
            [
                draw.choice([b"", b"map_hash_bucket_size 64;\n"]),
                draw.choice([b"", b"map_hash_max_size 512;\n"]),
                b"map $uri $by_regex { ~^/(.)  $1; }\n",
            ]
        )
        includes = b"".join(b"server { include %s; }\n" % name.encode() for name in self._servers())
        self.files["nginx.conf"] = b"events {}\nhttp {\n    include first.conf;\n" + includes + b"}\n"

    def run(self, binary: nginx.Binary, files: dict[str, bytes], http: bytes) -> Instance:
        """The servers of `files`, with the http block that `nginx.conf` has."""
        servers = [b"include %s;" % name.encode() for name in self._servers()]
        return Instance(binary, servers=servers, http=http, files=files, log_level="emerg")

    def _servers(self) -> list[str]:
        return [name for name in self.files if name[0] == "s"]

    def _rules(self, draw: random.Random, count: int) -> bytes:
        rules = rulegen.generate(draw.randrange(10**6), count)
        self.uris += rules.uris
        return re.sub(rb"\$seen", b"$seen%d_" % draw.randrange(10**6), rules.text)

    def _server(self, draw: random.Random) -> bytes:
        state = b'return 200 "uri=[$uri] args=[$args] %s";' % (b"1=[$1]" if self.captures else b"")
        lines = [self._rules(draw, 8), draw.choice([b"", b"include both.conf;"])]
        lines += [b"rewrite ^/(r|rr)$ /x/$by_regex/$1 last;", b"rewrite ^/(s|ss)$ /x/$by_regex last;"]
        for path in (b"/", b"/a", b"= /b", b"~ ^/(x)"):
            lines.append(b"location %s {" % path)
            lines.append(self._rules(draw, 4))
            lines.append(draw.choice([b"", b"include both.conf;"]))
            lines.append(b"location %sc { %s }" % (path, state) if path == b"/a" else b"")
            lines += [b"error_page 404 /a;", state, b"}"]
        self.uris += [b"/r", b"/rr", b"/s", b"/ss", b"/ac"]
        return b"\n".join(lines)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_whole_configurations(binary: nginx.Binary, seed: int, tmp_path: Path, tally: Counter[str]) -> None:
    """All servers of a random configuration, with locations and shared includes, before and after."""
    whole = Whole(seed)
    for name, data in whole.files.items():
        (tmp_path / name).write_bytes(data)
    emission = compiled(load(tmp_path / "nginx.conf"))
    if not emission.changes:
        return
    after = {
        name: emission.after(emission.plan.config.file(tmp_path / name)) for name in whole.files if name != "nginx.conf"
    }
    after[Path(emission.maps_path or "").name] = emission.maps
    http = re.search(rb"http \{(.*?)server ", emission.after(emission.plan.config.main), re.DOTALL)
    assert http
    requests = sample([*whole.uris, *keys(emission)], [b"/"], limit=REQUESTS, capturing=False).requests
    before = whole.files | {"nginx.conf": b""}
    with whole.run(binary, before, b"include first.conf;") as old, whole.run(binary, after, http[1]) as new:
        for server in range(Whole.SERVERS):
            assert different(old, new, requests, server) == []
            tally["requests (whole)"] += len(requests)


@pytest.mark.parametrize(
    "sizes",
    [
        b"",
        b"map_hash_bucket_size 64;",
        b"map_hash_max_size 100; map_hash_bucket_size 32;",
        b"include sizes.conf;",
    ],
)
def test_a_configuration_that_grows(binary: nginx.Binary, sizes: bytes, tmp_path: Path) -> None:
    """A second run changes nothing; with new rules, there are more maps, and nginx takes all of it each time."""
    files = {
        "sizes.conf": b"map_hash_max_size 100;\nmap $host $one { default 1; }\n",
        "rules.conf": b"rewrite ^/c$ /d last;\nrewrite ^/C$ /d last;\n",
        "nginx.conf": b"pid nginx.pid;\nevents {}\nhttp { access_log off; %s\n    map $host $two { default 2; }\n"
        b"    server { listen unix:s.sock; rewrite ^/a$ /b last; include rules.conf; }\n}\n" % sizes,
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)

    def run() -> bool:
        emission = compiled(load(tmp_path / "nginx.conf"))
        if emission.maps_path:
            Path(emission.maps_path).write_bytes(emission.maps)
        for change in emission.changes:
            Path(change.file.path).write_bytes(change.after)
        texts = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        verdict = binary.test(texts.pop("nginx.conf"), texts)
        assert verdict.ok, verdict.messages
        assert not verdict.warnings
        return bool(emission.changes)

    assert [run(), run()] == [True, False]
    rules = tmp_path / "rules.conf"
    rules.write_bytes(rules.read_bytes() + b"rewrite ^/new$ /e redirect;\nrewrite ^/%s$ /f last;\n" % (b"x" * 700))
    assert [run(), run()] == [True, False]
