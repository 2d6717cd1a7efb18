"""Pairs of sites, and whether `verify` is right about them."""

from __future__ import annotations

import json
import random
import re
import traceback
from collections import Counter
from dataclasses import dataclass

from nginxopt.config import load_text
from nginxopt.errors import NginxoptError
from nginxopt.request.model import Model
from nginxopt.request.verify import verify
from nginxopt.semantics.site import Build
from nginxopt.version import Version
from tests.rewrite_fuzz.nodes import render
from tests.site_fuzz.around import http, whole
from tests.site_fuzz.generate import Site, site
from tests.site_fuzz.messages import parts
from tests.site_fuzz.model import written
from tests.site_fuzz.requests import asks
from tests.verify_fuzz.edits import edited

_BUILD = Build(Version(1, 22, 1), frozenset(), "/srv/nginx/")
_PORTS = ("8080", "8081", "8082")
_VISIBLE = ("kind", "status", "location", "body", "upstream", "unknown")


@dataclass
class Figures:
    """What came out."""

    refused: int = 0
    equivalent: int = 0
    different: int = 0
    unknown: int = 0
    wrong: int = 0
    failed: int = 0

    def __str__(self) -> str:
        return " ".join(f"{name} {value}" for name, value in vars(self).items())


@dataclass(frozen=True)
class Pair:
    """Two texts, what was edited, and the site that requests are made of."""

    old: str
    new: str
    told: list[str]
    site: Site


def pair(draw: random.Random, seed: int, number: int) -> Pair:
    """Return a site and the same after one or two edits."""
    before = site(seed, number, (1, 22, 1))
    nodes, told = edited(draw, before.nodes, draw.choice((1, 1, 1, 2)))
    around = http(draw)
    text = render("site", nodes).files["site"].decode("utf-8", "surrogateescape")
    return Pair(_filled(whole(around, before.text())), _filled(whole(around, text)), told, before)


def _filled(text: str) -> str:
    return _NAME.sub(lambda match: _PLACES.get(match[1], f"127.0.0.1:9{ord(match[1][0])}"), text)


_NAME = re.compile(r"\{(P\d*|T|dead|[a-z]+\d)\}")
_PLACES = {"T": "/srv/nginx", "P": _PORTS[0], "P1": _PORTS[1], "P2": _PORTS[2], "dead": "127.0.0.1:9000"}


def play(pair: Pair, requests: int, figures: Figures, reasons: Counter[str]) -> None:
    """Compare a pair, and ask both models; print what is wrong."""
    try:
        old, new = _model(pair.old), _model(pair.new)
    except NginxoptError:
        figures.refused += 1
        return
    try:
        result = verify(old, new)
    except Exception:
        figures.failed += 1
        print(f"FAILED {pair.site.name} {pair.told}")
        traceback.print_exc()
        return
    setattr(figures, result.verdict, getattr(figures, result.verdict) + 1)
    for doubt in result.doubts[:1] if result.verdict == "unknown" else ():
        reasons[doubt.reason] += 1
    if result.verdict != "equivalent":
        return
    asked = [(port, data) for port, data in asks(pair.site, 1, requests, range(requests))]
    texts = [written(piece, int(_PORTS[port])) for port, data in asked if (piece := parts(data))]
    for world in WORLDS:
        for text, mine, theirs in zip(
            texts, old.native.answers(texts, world), new.native.answers(texts, world), strict=True
        ):
            if visible(mine) != visible(theirs):
                figures.wrong += 1
                print(f"WRONG {pair.site.name} {pair.told}\n  {text}\n  {visible(mine)}\n  {visible(theirs)}")
                return


def _model(text: str) -> Model:
    return Model(load_text(text.encode("utf-8", "surrogateescape"), "nginx.conf"), _BUILD)


def visible(answer: str) -> object:
    """Return what a client or an upstream sees of an outcome."""
    outcome = json.loads(answer)
    if outcome["unknown"]:
        outcome["unknown"] = outcome["unknown"]["reason"]
    headers = sorted((header["name"], header["value"]) for header in outcome["headers"])
    return [outcome[name] for name in _VISIBLE], headers, outcome["file"] if outcome["kind"] == "static" else None


WORLDS = [
    json.dumps({"files": {"existing": existing, "missing": [], "disk": False, "root": None}, "variables": {}})
    for existing in ([], ["/srv/nginx/r/f.txt", "/srv/nginx/r/d/", "/srv/nginx/r/x.html", "/srv/nginx/al/f.txt"])
]
"""What exists: nothing, and some files."""
