"""Branches: in every world of files, the first branch whose conditions hold is what the model answers there."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config import load_text
from nginxopt.request import read_request
from nginxopt.request.client import RequestForm
from nginxopt.request.model import BranchForm, OutcomeForm, SiteModel, World, depends
from nginxopt.semantics.site import Build
from tests.lintcheck import TARGET

MOST = 4
"""The most paths of which all worlds are looked at: each is a file, a folder or nothing."""

STATEMENTS = (
    "try_files $uri $uri.html =404;",
    "try_files $uri $uri/ /i;",
    "try_files $uri/b $uri @n;",
    "if (-f /w/a) { return 403; }",
    "if (-d $request_filename) { return 410; }",
    "if (!-e /w/b) { set $x y; }",
    "error_page 404 /e;",
    "index i b;",
)


Shown = tuple[str | int | None, ...]
"""What of an outcome is compared."""


@given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=3, unique=True), st.sampled_from(["/a", "/a/", "/b"]))
def test_the_first_that_holds_is_the_answer(statements: list[str], target: str) -> None:
    """Conditions are complete: a branch may name a folder late, and its answer is still that of its world."""
    assert not check(statements, target)


@pytest.mark.parametrize("page", ["/e", "/a"])
def test_a_site_with_pages(page: str) -> None:
    """The tree of a common site, in which folders come late."""
    assert not check([STATEMENTS[1].replace("/i", "=404"), f"error_page 404 {page};"], "/a")


def check(statements: list[str], target: str) -> list[str]:
    """Return the worlds in which the model answers otherwise than by the first branch that holds."""
    of_try = [each for each in statements if each.startswith("try_files")]
    once = [each for each in statements if each not in of_try[1:]]
    text = f"location / {{ {' '.join(once)} }} location @n {{ return 204; }}"
    config = load_text(f"events {{}} http {{ server {{ listen 80; root /w; {text} }} }}".encode(), "nginx.conf")
    model = SiteModel(config, Build(TARGET))
    request = model.gate().form(read_request(f"http://h{target}"))
    branches = model.branches(request, World())
    paths = sorted({path.rstrip("/") for each in branches for path in (*each["exists"], *each["missing"])})
    wrong = []
    for states in product(("file", "folder", ""), repeat=len(paths[:MOST])):
        there = dict(zip(paths, states, strict=False)) | dict.fromkeys(paths[MOST:], "")
        if any(there[path] and there.get(path.rpartition("/")[0], "folder") != "folder" for path in paths):
            continue  # below what is no folder, nothing exists
        told = next((each["outcome"] for each in branches if _holds(each, there)), None)
        known = _answers(model, request, _world(there))
        if told is None or (told["kind"] != "unknown" and {_shown(told)} != known):
            wrong.append(f"{text} {target} {there}: {told and _shown(told)}, {known}")
    return wrong


def _answers(model: SiteModel, request: RequestForm, world: World) -> set[Shown]:
    """Return what the model answers, whatever else exists."""
    outcome = model.trace(request, world)["outcome"]
    outcomes = [each["outcome"] for each in model.branches(request, world)] if depends(outcome) else [outcome]
    return set(map(_shown, outcomes))


def _holds(branch: BranchForm, there: dict[str, str]) -> bool:
    def exists(path: str) -> bool:
        return there[path.rstrip("/")] == ("folder" if path.endswith("/") else "file")

    return all(map(exists, branch["exists"])) and not any(map(exists, branch["missing"]))


def _world(there: dict[str, str]) -> World:
    existing = tuple(f"{path}/" if state == "folder" else path for path, state in there.items() if state)
    return World(existing, tuple(path for path, state in there.items() if not state))


def _shown(outcome: OutcomeForm) -> Shown:
    return outcome["kind"], outcome["status"], outcome["location"], outcome["file"], outcome["uri"]
