"""Probes to public configurations: what the model cannot answer, and why; and what nginx answers where it starts."""

from __future__ import annotations

import csv
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nginxopt.config import Config, load
from nginxopt.errors import InputError
from nginxopt.rewrite.kinds.maps.differential import example
from nginxopt.system import nginx
from nginxopt.text import encode
from nginxopt.text.display import percent_encode
from tests.fuzz.fixes import material
from tests.fuzz.fixes.case import MAIN, placed
from tests.fuzz.fixes.corpus import runnable, texts
from tests.fuzz.fixes.play import PORTS
from tests.fuzz.sites.batch import Observation
from tests.fuzz.sites.compare import differences
from tests.fuzz.sites.messages import Request, request
from tests.fuzz.sites.model import Model, build
from tests.fuzz.sites.stage import Stage

_LUA = re.compile(rb"_by_lua|lua_package|lua_shared_dict")
_TLS = re.compile(rb"(listen 127\.0\.0\.1:@port\d+@[^;]*?) (?:ssl|http2)\b")
_PUBLIC = ("A", "B")
"""The sets of a corpus that people run; the others are inputs of tests, often broken on purpose."""
_CONTEXTS = ("main", "http", "server", "location", "map", "upstream")
_UNREAD = re.compile(r" is missing$|in a part that was not read$")
"""Why a probe depends on an included file that the corpus does not have."""
_PATHS = (b"/", b"/index.html", b"/nx", b"/a/b.html", b"/index.php", b"/static/a.css", b"/api/x?y=1", b"/.git/config")


@dataclass(slots=True)
class Figures:
    """What was probed."""

    files: int = 0
    probes: int = 0
    unread: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    started: int = 0
    differing: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        total = sum(self.unknown.values())
        lines = [
            f"{self.probes:,} probes to {self.files:,} configurations: {self.unread:,} depend on files that are"
            f" missing;"
            f" of the others {total:,} unknown ({total / max(self.probes - self.unread, 1):.1%})",
            *(f"  {count:7,} unknown: {reason}" for reason, count in self.unknown.most_common(40)),
            *(f"  {count:7,} files left out: {reason}" for reason, count in self.left_out.most_common(20)),
            f"{self.compared:,} probes to {self.started:,} configurations that nginx starts with,"
            f" {len(self.differing):,} answered differently",
            *self.differing[:60],
        ]
        return "\n".join(lines)


def report(folder: Path, binary: nginx.Binary, seed: int, each: int) -> int:
    """Print the figures of a folder of public configurations; the status is 1 if nginx answers differently."""
    figures = Figures()
    with Stage(binary) as stage:
        for path in _files(folder):
            _probe(stage, folder, path, figures, each)
        compare(stage, folder, seed, each, figures)
    print(figures)
    return int(bool(figures.differing))


def _files(folder: Path) -> Iterator[Path]:
    with (folder / "index.tsv").open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["set"] in _PUBLIC and "template" not in row["note"] and row["context"].split(" ")[0] in _CONTEXTS:
                yield folder / row["file"]


def whole(folder: Path, path: Path) -> Config:
    """Return the configuration of a file of a corpus, as that of the folder above it where most includes are found.

    `InputError` as `load`; a corpus keeps the files of a repository in `files/REPOSITORY`.
    """
    depth = len(path.relative_to(folder / "files").parts) - 1
    configs = [load(path, prefix=prefix, missing_ok=True) for prefix in path.parents[:depth]]
    return max(configs, key=lambda config: len(config.files))


def _probe(stage: Stage, folder: Path, path: Path, figures: Figures, each: int) -> None:
    """Ask the model alone about a file as it is."""
    if _LUA.search(path.read_bytes()):
        figures.left_out["Lua"] += 1
        return
    try:
        config = whole(folder, path)
        model = Model.of(config, build(stage.binary, Path("/etc/nginx")))
    except InputError as error:
        figures.left_out[re.sub(r"\S*/\S*:\d+:?|\"[^\"]*\"|\d+", "...", str(error))[:100]] += 1
        return
    probes = [Request(port, data) for port, data in _probes(config, model, each)]
    figures.files += bool(probes)
    for outcome in model.outcomes(probes):
        assert outcome
        figures.probes += 1
        if outcome["kind"] == "unknown":
            reason = outcome["unknown"]["reason"]
            if _UNREAD.search(reason):
                figures.unread += 1
            else:
                figures.unknown[_reason(reason)] += 1


def _reason(reason: str) -> str:
    return re.sub(r"(whether|file) \S*/\S*", r"\1 ...", reason)


def _probes(config: Config, model: Model, most: int) -> Iterator[tuple[int, bytes]]:
    """Yield probes with the port that they go to: a path of each location and rule to each of its servers."""
    hosts, paths = _of(config)
    ports = sorted({socket["port"] for socket in model.sockets() if socket["family"] == "inet" and not socket["quic"]})
    draw = random.Random(str(paths[:9]))
    draw.shuffle(paths)
    chosen = [*_PATHS, *paths][:most]
    for path in chosen if ports else ():
        yield draw.choice(ports), request(path, host=draw.choice(hosts).encode())


def _of(config: Config) -> tuple[list[str], list[bytes]]:
    """Return hosts and paths that the servers, locations and rules of a configuration take."""
    hosts, paths = ["nx.test"], []
    for file in config.files:
        for directive in file.block.walk():
            words = [str(word) for word in directive.args]
            if directive.name == "server_name":
                hosts += [word.lstrip("*.") for word in words if re.fullmatch(r"[\w.*-]+", word) and word.lstrip("*.")]
            elif directive.name == "location" and words:
                last = words[-1]
                text = example(encode(last)) if words[0].startswith("~") else encode(last)
                paths += [text, text + b"x"] if text.startswith(b"/") else []
            elif directive.name == "rewrite" and words:
                text = example(encode(words[0]))
                paths.append(text if text.startswith(b"/") else b"/" + text)
    return hosts, [percent_encode(path) for path in dict.fromkeys(paths)]


@dataclass(frozen=True)
class _Place:
    """The stage, as `runnable` tries files there."""

    stage: Stage
    ports: Sequence[int]

    @property
    def binary(self) -> nginx.Binary:
        return self.stage.binary

    @property
    def prefix(self) -> Path:
        return self.stage.root

    def lay(self, files: Mapping[str, bytes]) -> None:
        tls = {f"tls/{name}": data for name, data in material.tls().items()}
        for name, data in {**material.STATIC, **tls, **files}.items():
            (self.stage.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.stage.root / name).write_bytes(placed(data, self.places()) if name in files else data)
        for name in ("logs", "cache"):
            (self.stage.root / name).mkdir(exist_ok=True)

    def places(self) -> dict[str, str]:
        """The addresses that stand for those of a public file."""
        echoes = {name: address for address, name in self.stage.upstreams.items()}
        places = {f"port{number}": str(port) for number, port in enumerate(self.ports)}
        for number in range(10):
            places[f"plain{number}"] = echoes[f"http{number % 2}"]
            places[f"plain{number}_port"] = places[f"plain{number}"].rpartition(":")[2]
            places |= {f"{kind}{number}": echoes[f"{kind}{number % 2}"] for kind in ("fastcgi", "uwsgi", "scgi")}
        return places


def compare(stage: Stage, folder: Path, seed: int, each: int, figures: Figures) -> None:
    """Ask nginx and the model about the files of a folder that nginx starts with, once they are made to."""
    place = _Place(stage, stage.ports(PORTS))
    for number, (name, text) in enumerate(texts(folder)):
        if _LUA.search(text):
            continue
        case = runnable(text, place, random.Random(f"{seed}-{number}"), name, ("plain",))
        if case is None:
            continue
        main = case.files[MAIN]
        while _TLS.search(main):
            main = _TLS.sub(rb"\1", main)
        place.lay({**case.files, MAIN: main})
        if stage.verdict().ok:
            _compare(stage, name, each, figures)


def _compare(stage: Stage, name: str, each: int, figures: Figures) -> None:
    path = stage.root / MAIN
    try:
        config = load(path, missing_ok=True)
        model = Model.of(config, build(stage.binary, stage.root))
    except InputError as error:
        figures.differing.append(f"{name}: refused: {error}")
        return
    requests = [Request(port, data) for port, data in _probes(config, model, each) if port in stage.ports(PORTS)]
    try:
        with stage.running():
            answers = stage.ask(requests)
    except (InputError, OSError) as error:
        figures.left_out[f"nginx: {type(error).__name__}"] += 1
        return
    figures.started += 1
    upstreams = model.upstreams(stage.upstreams)
    for outcome, asked, raw in zip(model.outcomes(requests), requests, answers, strict=True):
        assert outcome
        figures.compared += 1
        found = differences(outcome, Observation(asked, raw, None), None, upstreams)
        if found:
            figures.differing.append(f"{name}: {asked.data.partition(b'X-N')[0]!r}: {found}")
