"""What the parts of a generated configuration share: its upstreams, maps, caches, zones and files."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.fuzz.fixes.text import Node, b, d


@dataclass(slots=True)
class Upstream:
    """An upstream whose servers are of one kind."""

    name: str
    kind: str
    nodes: list[Node]

    def block(self) -> Node:
        """Return its block."""
        return b("upstream", self.name, inner=self.nodes)

    @property
    def scheme(self) -> str:
        """How it is spoken to by `proxy_pass`."""
        return "https" if self.kind == "tls" else "http"


@dataclass(slots=True)
class World:
    """What was made so far.

    `early` stands at the top of http, and `files` beside the main file. `maps`, `caches` and `zones` are made when
    they are first used.
    """

    rng: random.Random
    version: tuple[int, ...]
    lua: bool
    upstreams: list[Upstream] = field(default_factory=list)
    early: list[Node] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    maps: dict[str, Node] = field(default_factory=dict)
    caches: dict[str, Node] = field(default_factory=dict)
    zones: dict[str, Node] = field(default_factory=dict)
    ports: int = 1
    crl: bool = False

    @property
    def is_old(self) -> bool:
        """Whether it is for Debian's 1.22.1, which has the filters; 1.31.3 here has stream, njs and echo."""
        return self.version < (1, 23)

    def chance(self, odds: float) -> bool:
        """Return True that often."""
        return self.rng.random() < odds

    def websocket_map(self) -> str:
        """Return the variable of a map that says what becomes of the connection."""
        idle = self.rng.choice(["close", "close", "", "keep-alive"])
        rows = [d("default", "upgrade"), d("", idle)]
        if self.chance(0.2):
            rows = [d("default", idle), d("websocket", "upgrade")]
        self.maps.setdefault("connection_upgrade", b("map", "$http_upgrade", "$connection_upgrade", inner=rows))
        return "$connection_upgrade"

    def upstream_map(self, names: list[str]) -> str:
        """Return the variable of a map whose values are names of upstreams."""
        rows = [d("default", names[0]), *(d(str(number), name) for number, name in enumerate(names))]
        if self.chance(0.3):
            rows.append(d("~^x(?<tail>.*)$", names[-1]))
        self.maps.setdefault("chosen", b("map", "$arg_up", "$chosen", inner=rows))
        return "$chosen"

    def big_map(self) -> str:
        """Return the variable of a map with many keys, whose hash may need to be larger."""
        count = self.rng.choice([40, 300, 2_500])
        rows = [d(f"/key/{number}", f"/value/{number}") for number in range(count)]
        self.maps.setdefault("moved", b("map", "$uri", "$moved", inner=[d("default", ""), *rows]))
        return "$moved"

    def cache(self, protocol: str = "proxy") -> str:
        """Return the name of a cache of that protocol."""
        name = f"{protocol}_cache_1"
        words = [f"{protocol}_cache_path", f"cache/{protocol}", f"keys_zone={name}:1m"]
        words += self.rng.choice([[], ["levels=1:2"], ["levels=1:2", "max_size=10m"], ["inactive=1m"]])
        words += self.rng.choice([[], [], [], ["use_temp_path=on"], ["use_temp_path=off"]])
        self.caches.setdefault(name, d(*words))
        return name

    def zone(self, kind: str) -> str:
        """Return the name of a zone of `limit_req` or `limit_conn`, which may be called as an upstream is."""
        name = self.rng.choice([f"{kind}_zone", self.upstreams[0].name.replace(" ", "_")])
        if any(name in words for words in (node.words for node in self.zones.values())) or name in self.zones:
            name = f"{kind}_zone"
        if any("zone" in node.name and name in node.words for up in self.upstreams for node in up.nodes):
            name = f"{kind}_zone"
        rate = ["rate=1r/m"] if kind == "req" else []
        node = d(f"limit_{kind}_zone", self.rng.choice(["$binary_remote_addr", "$arg_k"]), f"zone={name}:1m", *rate)
        taken_name = next((key for key, node in self.zones.items() if node.name == node.name), None)
        if taken_name is None:
            self.zones[name] = node
        return taken_name or name

    def shared(self) -> Iterator[Node]:
        """Yield all that stands at the level of http for the servers."""
        yield from self.maps.values()
        yield from self.caches.values()
        yield from self.zones.values()
        if self.lua:
            name = self.rng.choice(["counts", self.upstreams[0].name.replace(" ", "_")])
            taken = any(name in node.words for up in self.upstreams for node in up.nodes) or name in self.zones
            yield d("lua_shared_dict", "counts" if taken else name, "100k")
