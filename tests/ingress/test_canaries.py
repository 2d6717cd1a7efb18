"""Canaries get the requests that ingress-nginx gives them (test/e2e/annotations/canary.go, lua/balancer.lua)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nginxopt.config import Config, load_text
from nginxopt.ingress import ControllerSettings, Converted, convert, ingresses
from nginxopt.request import build as builds
from nginxopt.request import read_request
from nginxopt.request.model import OutcomeForm, SiteModel, World
from nginxopt.request.real import compare
from nginxopt.request.trace import Circumstances, Trace, trace
from nginxopt.semantics.site import Build
from nginxopt.system import nginx
from nginxopt.version import Version
from tests.ingress.cases import ANY, EXACT, HOST, ingress
from tests.support import the_nginx

URL = f"http://{HOST}/info"
BY_HEADER = {"canary_by_header": "CanaryByHeader"}
VERSION = Version(1, 28, 0)
CHANCE = ""
"""Chance decides."""

# The annotations of the canary, and which Service gets a request with a header.
WHO: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "header": (
        BY_HEADER,
        {
            "CanaryByHeader: always": "next",
            "canarybyheader: never": "main",
            "CanaryByHeader: ALWAYS": "main",
            "CanaryByHeader: badheadervalue": "main",
            "X: always": "main",
        },
    ),
    "header with a value": (
        {**BY_HEADER, "canary_by_header_value": "Do.Canary"},
        {"CanaryByHeader: Do.Canary": "next", "CanaryByHeader: DoXCanary": "main", "CanaryByHeader: always": "main"},
    ),
    "header with a pattern": (
        {**BY_HEADER, "canary_by_header_pattern": "^Do[A-Z][a-z]+y$"},
        {"CanaryByHeader: DoCanary": "next", "CanaryByHeader: Docanary": "main"},
    ),
    "a pattern that matches nothing needs the header": (
        {**BY_HEADER, "canary_by_header_pattern": "[a-z]*"},
        {"CanaryByHeader: 1": "next", "X: 1": "main"},
    ),
    "a value goes before a pattern": (
        {**BY_HEADER, "canary_by_header_value": "DoCanary", "canary_by_header_pattern": "^Do"},
        {"CanaryByHeader: DoCananry": "main", "CanaryByHeader: DoCanary": "next"},
    ),
    "a pattern with an error": (
        {**BY_HEADER, "canary_by_header_pattern": "[][**da?$&*", "canary_by_cookie": "user"},
        {"CanaryByHeader: DoCanary": "main", "Cookie: user=always": "next"},
    ),
    "header and cookie": (
        {**BY_HEADER, "canary_by_header_value": "DoCanary", "canary_by_cookie": "user"},
        {"Cookie: a=1; USER=always": "next", "Cookie: user=never": "main", "CanaryByHeader: DoCanary": "next"},
    ),
    "a cookie with a name that no variable has": (
        {"canary_by_cookie": "Canary-By.Cookie"},
        {
            "Cookie: Canary-By.Cookie=always": "next",
            "Cookie: a=b; canary-by.cookie = always; c=d": "next",
            "Cookie: Canary-By.Cookie=badcookievalue": "main",
            "Cookie: Canary-ByxCookie=always": "main",
            "Cookie: x-Canary-By.Cookie=always": "main",
            "Cookie: Canary-By.Cookie=no; Canary-By.Cookie=always": "main",
        },
    ),
    "no weight": ({"canary_weight": "0"}, {"X: 1": "main"}),
    "all weight": ({"canary_weight": "100"}, {"X: 1": "next"}),
    "all of a total": ({"canary_weight": "1000", "canary_weight_total": "1000"}, {"X: 1": "next"}),
    "a total below 100 is 100": ({"canary_weight": "50", "canary_weight_total": "50"}, {"X: 1": CHANCE}),
    "some weight beside a header": (
        {**BY_HEADER, "canary_weight": "50"},
        {"CanaryByHeader: always": "next", "CanaryByHeader: never": "main", "CanaryByHeader: else": CHANCE},
    ),
}


def made(folder: Path, *found: Mapping[str, Any], version: Version = VERSION) -> Converted:
    """What Ingresses become."""
    file = folder / "ingresses.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": found}))
    return convert(ingresses([str(file)]), ControllerSettings({}), version)


def asked(config: Config, header: str, build: Build, url: str = URL) -> Trace:
    """What becomes of a request with a header."""
    model = SiteModel(config, build)
    request = replace(read_request(url, headers=[header]), client=b"127.0.0.1")
    return trace(model, request, Circumstances(World(), model.gate(), "stated"))


def service(traced: Trace) -> str:
    """The Service that gets a request, or `CHANCE` if it is the new one by chance and else the main one."""
    if traced.branches:
        assert [_of(branch["outcome"]) for branch in traced.branches] == ["next", "main"]
        return CHANCE
    return _of(traced.outcome)


def _of(outcome: OutcomeForm) -> str:
    assert outcome["upstream"] is not None
    return outcome["upstream"]["server"].removeprefix("test-").removesuffix("-80")


def by_header(folder: Path, *found: Mapping[str, Any], url: str = URL) -> tuple[str, tuple[str, ...]]:
    """The Service that gets a request with the header of the canary, and the notes."""
    result = made(folder, *found)
    config = load_text(result.text.encode(), "nginx.conf")
    traced = asked(config, "CanaryByHeader: always", Build(VERSION), url)
    notes = tuple(note.partition(": canary: ")[2] or note.partition(": ")[2] for note in result.notes)
    return service(traced), notes


@pytest.mark.nginx
@pytest.mark.parametrize("name", WHO)
def test_who_answers(name: str, tmp_path: Path) -> None:
    """The model and nginx choose the Service that the controller chooses."""
    annotations, expected = WHO[name]
    binary: nginx.Binary = the_nginx()
    build = builds.probe(binary)
    path = [("/info", ANY)]
    result = made(
        tmp_path, ingress("main", path), ingress("next", path, canary="true", **annotations), version=build.version
    )
    assert not result.notes
    config = load_text(result.text.encode(), "nginx.conf")
    for header, who in expected.items():
        traced = asked(config, header, build)
        assert service(traced) == who, header
        if who != CHANCE:
            comparison = compare(config, traced, World(), binary)
            assert comparison.reason is None, header
            assert not comparison.differences, (header, comparison)


@pytest.mark.parametrize(
    ("weight", "total", "share"),
    [("10", "100", "10%"), ("1", "3000", "0.03%"), ("1", "1000000", "0.01%"), ("999999", "1000000", "99.99%")],
)
def test_shares(weight: str, total: str, share: str, tmp_path: Path) -> None:
    """A weight is a share of the total, as far as nginx can split; each request has its chance."""
    canary = ingress("next", canary="true", canary_weight=weight, canary_weight_total=total)
    text = made(tmp_path, ingress("main"), canary).text
    assert f"split_clients $request_id $canary_1_by_weight {{\n        {share} test-next-80;\n" in text


def test_a_chance_is_named(tmp_path: Path) -> None:
    """Trace says how to settle what chance decides, for all requests alike."""
    canary = ingress("next", canary="true", canary_weight="10")
    config = load_text(made(tmp_path, ingress("main"), canary).text.encode(), "nginx.conf")
    traced = asked(config, "X: 1", Build(VERSION))
    unknown = traced.outcome["unknown"]
    assert unknown is not None
    assert traced.split(unknown["node"]) == [f"canary_1_by_weight=test-{name}-80" for name in ("next", "main")]


def test_a_canary_belongs_to_a_service(tmp_path: Path) -> None:
    """A canary of one path gets requests for all paths of the Service."""
    main = ingress("main", [("/info", ANY), ("/other", ANY)])
    canary = ingress("next", [("/info", ANY)], canary="true", **BY_HEADER)
    assert by_header(tmp_path, main, canary, url=f"http://{HOST}/other") == ("next", ())


def test_what_has_no_effect(tmp_path: Path) -> None:
    """A canary counts where another Ingress has its host and path, of the same type; one path without takes all."""
    main = ingress("main", [("/info", ANY)])
    none = f"{HOST}/b: test-next-80 gets no requests, as no other Ingress has this path with a Service"
    found = ingress("next", [("/info", ANY), ("/b", ANY)], canary="true", **BY_HEADER)
    assert by_header(tmp_path, main, found) == ("main", (none,))
    found = ingress("next", [("/info", EXACT)], canary="true", **BY_HEADER)
    assert by_header(tmp_path, main, found) == ("main", (none.replace("/b", "/info"),))
    found = ingress("next", [("/info", ANY)], host="b.example", canary="true", **BY_HEADER)
    note = "b.example/info: has no effect, as no other Ingress has this host"
    assert by_header(tmp_path, main, found) == ("main", (note,))


def test_the_first_canary_counts(tmp_path: Path) -> None:
    """A Service has one canary: that of the oldest Ingress, or of the last by name."""
    path = [("/info", ANY)]
    first, second = (ingress(name, path, canary="true", **BY_HEADER) for name in ("a", "b"))
    note = f"{HOST}/info: has no effect, as test-b-80 is the canary already"
    assert by_header(tmp_path, ingress("main", path), first, second) == ("b", (note,))


def test_a_service_of_both(tmp_path: Path) -> None:
    """If the canary's Service is that of another Ingress, too, the older one decides what it is."""
    path = [("/info", ANY)]
    main, canary = ingress("main", path), ingress("next", path, canary="true", **BY_HEADER)
    other = ingress("next", [("/own", ANY)], host="b.example")
    other["metadata"]["name"] = "z-other"  # goes before the canary
    assert by_header(tmp_path, main, canary, other) == (
        "main",
        (f"{HOST}/info: has no effect, as another Ingress has test-next-80 before",),
    )
    other["metadata"]["name"] = "a-other"
    assert by_header(tmp_path, main, canary, other) == (
        "next",
        ("test/a-other: b.example/own: left out, as an older Ingress makes test-next-80 a canary",),
    )
    same = ingress("main", path, canary="true", **BY_HEADER)
    same["metadata"]["name"] = "a-same"
    assert by_header(tmp_path, main, same) == (
        "main",
        (f"{HOST}/info: has no effect, as test-main-80 answers itself there",),
    )


def test_other_annotations_of_a_canary(tmp_path: Path) -> None:
    """Only those of the other Ingress count."""
    path = [("/info", ANY)]
    canary = ingress("next", path, canary="true", proxy_body_size="3m", app_root="/x", **BY_HEADER)
    assert by_header(tmp_path, ingress("main", path), canary) == (
        "next",
        ("app-root, proxy-body-size: have no effect in a canary",),
    )


def test_a_canary_of_all_hosts(tmp_path: Path) -> None:
    """A canary that is a default backend belongs to the default backend of another Ingress."""
    main = ingress("main", host="")
    canary = ingress("next", host="", canary="true", canary_by_header="CanaryByHeader")
    for each in (main, canary):
        each["spec"] = {"defaultBackend": each["spec"]["rules"][0]["http"]["paths"][0]["backend"]}
    assert by_header(tmp_path, main, canary) == ("next", ())
