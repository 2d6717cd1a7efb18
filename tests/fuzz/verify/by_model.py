"""Whether `verify` is right about pairs of sites, as far as the model tells."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Sequence

from nginxopt.config import load_text
from nginxopt.errors import NginxoptError
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import Build
from nginxopt.verify import verify
from nginxopt.version import Version
from tests.fuzz.sites.around import whole
from tests.fuzz.sites.messages import parts
from tests.fuzz.sites.model import written
from tests.fuzz.verify.case import Case, Edited, Figures

_BUILD = Build(Version(1, 22, 1), frozenset(), "/srv/nginx/")
_PORTS = ("8080", "8081", "8082")
_VISIBLE = ("kind", "status", "location", "body", "upstream")
_NAME = re.compile(r"\{(P\d*|T|dead|[a-z]+\d)\}")
_PLACES = {"T": "/srv/nginx", "P": _PORTS[0], "P1": _PORTS[1], "P2": _PORTS[2], "dead": "127.0.0.1:9000"}
WORLDS = [
    json.dumps({"files": {"existing": existing, "missing": [], "disk": True, "root": "/nonexistent"}, "variables": {}})
    for existing in ([], ["/srv/nginx/r/f.txt", "/srv/nginx/r/d/", "/srv/nginx/r/x.html", "/srv/nginx/al/f.txt"])
]
"""What exists: nothing, and some files; the rest is looked for in a folder that does not exist."""


def play(case: Case, around: str, figures: Figures) -> None:
    """Compare the pairs of a case, and ask both models; print what is wrong."""
    for edited in case.edited:
        _play(case, edited, around, figures)


def _play(case: Case, edited: Edited, around: str, figures: Figures) -> None:
    try:
        old, new = (_model(whole(around, text)) for text in (case.text, edited.text))
    except NginxoptError:
        figures.refused += 1
        return
    try:
        result = verify(old, new)
    except Exception:
        figures.failed += 1
        print(f"FAILED {case.name} {edited.told}")
        traceback.print_exc()
        return
    figures.count(result)
    if result.verdict == "equivalent":
        _ask(case, edited, (old, new), figures)


def answers(text: str, around: str, requests: Sequence[tuple[int, bytes]]) -> list[object] | None:
    """Return what is seen of the answers of a site where no file exists; None if the model refuses it."""
    try:
        model = _model(whole(around, text))
    except NginxoptError:
        return None
    return [visible(answer) for answer in model.native.answers(_written(requests), WORLDS[0])]


def _written(requests: Sequence[tuple[int, bytes]]) -> list[str]:
    return [written(piece, int(_PORTS[port])) for port, data in requests if (piece := parts(data))]


def _ask(case: Case, edited: Edited, models: tuple[SiteModel, SiteModel], figures: Figures) -> None:
    texts = _written(case.requests)
    for world in WORLDS:
        answers = (model.native.answers(texts, world) for model in models)
        for text, mine, theirs in zip(texts, *answers, strict=True):
            sides = visible(mine), visible(theirs)
            if None not in sides and sides[0] != sides[1]:
                figures.wrong += 1
                print(f"WRONG {case.name} {edited.told}\n  {text}\n  {sides[0]}\n  {sides[1]}")
                return


def _model(text: str) -> SiteModel:
    return SiteModel(load_text(filled(text).encode("utf-8", "surrogateescape"), "nginx.conf"), _BUILD)


def filled(text: str) -> str:
    """Return a text with places in place of their names."""
    return _NAME.sub(lambda match: _PLACES.get(match[1], f"127.0.0.1:9{ord(match[1][0])}"), text)


def visible(answer: str) -> object:
    """Return what a client or an upstream sees of an outcome; None if that is not known."""
    outcome = json.loads(answer)
    if outcome["unknown"]:
        return None
    headers = sorted((header["name"], header["value"]) for header in outcome["headers"])
    return [outcome[name] for name in _VISIBLE], headers, outcome["file"] if outcome["kind"] == "static" else None
