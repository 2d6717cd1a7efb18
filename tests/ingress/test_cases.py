"""What Ingresses become answers as the end-to-end tests of ingress-nginx say, by the model and by nginx."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nginxopt.config import Config, load_text
from nginxopt.ingress import ControllerSettings, convert, ingresses
from nginxopt.request import build as builds
from nginxopt.request import read_request
from nginxopt.request.model import SiteModel, World
from nginxopt.request.real import compare
from nginxopt.request.trace import Circumstances, Trace, trace
from nginxopt.semantics.site import Build
from nginxopt.system import nginx
from nginxopt.version import Version
from tests.ingress.cases import CASES, Case
from tests.rows import every_row
from tests.support import the_nginx

CLIENT = b"127.0.0.1"


def converted(case: Case, folder: Path, version: Version) -> Config:
    """The configuration of a case."""
    file = folder / "ingresses.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": case.ingresses}))
    result = convert(ingresses([str(file)]), ControllerSettings(case.settings), version)
    return load_text(result.text.encode(), "nginx.conf")


def asked(config: Config, request: str, build: Build) -> Trace:
    """What becomes of a request from this machine."""
    model = SiteModel(config, build)
    return trace(model, replace(read_request(request), client=CLIENT), Circumstances(World(), model.gate(), "stated"))


@every_row("name", CASES)
@every_row("version", [Version(1, 22, 1), Version(1, 28, 0)], ids=str)
def test_answers(name: str, version: Version, tmp_path: Path) -> None:
    """The model answers as the controller does."""
    case = CASES[name]
    config = converted(case, tmp_path, version)
    for request, expected in case.answers.items():
        outcome = asked(config, request, Build(version)).outcome
        if isinstance(expected, str):
            passed = outcome["upstream"]
            assert passed is not None, (request, outcome)
            assert f"{passed['scheme']}://{passed['server']}{passed['target']}" == expected, request
        else:
            assert (outcome["status"], *([outcome["location"]] if len(expected) > 1 else [])) == expected, request


@pytest.mark.nginx
@pytest.mark.parametrize("name", CASES)
def test_nginx_answers_alike(name: str, tmp_path: Path) -> None:
    """So does nginx."""
    binary: nginx.Binary = the_nginx()
    build = builds.probe(binary)
    config = converted(CASES[name], tmp_path, build.version)
    for request in CASES[name].answers:
        result = asked(config, request, build)
        comparison = compare(config, result, World(), binary)
        assert comparison.reason is None, request
        assert not comparison.differences, (request, comparison)
