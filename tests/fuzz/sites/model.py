"""What the model says of requests to a configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nginxopt.config import Config, load_text
from nginxopt.request import model as models
from nginxopt.semantics.site import Build
from nginxopt.system import nginx
from nginxopt.version import Version
from tests.fuzz.sites.messages import Parts, Request, parts

Outcome = dict[str, Any]
"""An outcome as the model writes it; its strings are bytes as Latin-1."""

_DEBIAN = frozenset({"CVE-2026-15176", "CVE-2026-42945", "max_headers"})
"""The fixes that Debian's 1.22.1 has besides its version."""


def build(binary: nginx.Binary, prefix: Path) -> Build:
    """Return what is known of a binary that runs in a prefix."""
    fixes = _DEBIAN if binary.version == (1, 22, 1) else frozenset()
    return Build(Version.of(binary.version), fixes, f"{prefix}/")


@dataclass(frozen=True)
class Model:
    """The model of a configuration."""

    model: models.SiteModel

    @classmethod
    def of_text(cls, text: str, build: Build) -> Model:
        """Return the model of a whole text. `InputError` if it says that nginx does not start."""
        data = text.encode("utf-8", "surrogateescape")
        return cls.of(load_text(data, f"{build.prefix}nginx.conf"), build)

    @classmethod
    def of(cls, config: Config, build: Build) -> Model:
        """Return the model of a configuration. `InputError` as above."""
        return cls(models.SiteModel(config, build))

    def outcomes(self, requests: Sequence[Request]) -> list[Outcome | None]:
        """Return what becomes of requests; None for one whose lines are no request."""
        pieces = [parts(request.data) for request in requests]
        told = [written(piece, request.port) for piece, request in zip(pieces, requests, strict=True) if piece]
        worlds = (self.model.world_of(text, _WORLD) for text in told)
        known = [WORLD if world is _WORLD else json.dumps(world.form()) for world in worlds]
        answers = (self.model.native.answers([text], world)[0] for text, world in zip(told, known, strict=True))
        return [json.loads(next(answers)) if piece else None for piece in pieces]

    def upstreams(self, echoes: Mapping[str, str]) -> dict[str, frozenset[str]]:
        """Return the echoes behind each name that a request may be passed to, and behind their addresses."""
        named = {
            upstream["name"]: frozenset(echoes.get(server, server) for server in upstream["servers"])
            for upstream in json.loads(self.model.site.form)["upstreams"]
        }
        return {address: frozenset({name}) for address, name in echoes.items()} | named

    def sockets(self) -> list[dict[str, Any]]:
        """Return the addresses that the site listens at."""
        sockets: list[dict[str, Any]] = json.loads(self.model.site.form)["sockets"]
        return sockets

    def log(self, outcome: Outcome) -> int | None:
        """Return the number of the log of the level whose settings are in force; None if there is none."""
        if outcome["level"] is None:
            return None
        stated = self.model.site.levels[outcome["level"]].setting("access_log").directives
        return int(stated[-1].args[1][1:]) if stated and len(stated[-1].args) > 1 else None


WORLD = json.dumps({"files": {"existing": [], "missing": [], "disk": True, "root": None}, "variables": {}})
"""The disk is asked, and nothing else is known."""
_WORLD = models.World(root="")
"""The same as the model of a site takes it."""


def written(parts: Parts, port: int) -> str:
    """Return a request as the model reads it."""
    return json.dumps(
        {
            "method": _text(parts.method),
            "target": _text(parts.target),
            "version": parts.version,
            "headers": [[_text(name), _text(value)] for name, value in parts.fields],
            "connection": {
                "family": "inet",
                "host": "127.0.0.1",
                "port": port,
                "tls": False,
                "sni": None,
                "client": "127.0.0.1",
            },
        }
    )


def _text(data: bytes) -> str:
    return data.decode("latin-1")
