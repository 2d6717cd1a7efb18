"""Fixes on the real nginx: past faults make a difference, and the fixes of today make none."""

from __future__ import annotations

import asyncio
import functools
import subprocess
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from nginxopt.system import nginx
from nginxopt.version import dotted
from tests.fuzz.fixes import generate
from tests.fuzz.fixes.case import MAIN
from tests.fuzz.fixes.compare import as_it_is, without_connection
from tests.fuzz.fixes.origins import HTTP_KINDS, OTHER_KINDS
from tests.fuzz.fixes.seeded import SEEDED, Seeded
from tests.fuzz.fixes.show import reproduction
from tests.fuzz.fixes.trial import FEW_RUNS, RUNS, SELECTED, Fault, Trial, staged
from tests.nginx.modules import require_lua
from tests.support import NGINXES, drawn

pytestmark = pytest.mark.nginx

COUNT = 20
"""How many cases are made with each nginx; `python -m tests.fuzz.fixes` makes as many as one likes."""

PROMPT = tuple(kind for kind in (*HTTP_KINDS, *OTHER_KINDS) if kind not in ("closer", "serial"))
"""The kinds of origins whose answers do not depend on when they are asked: a busy machine makes no difference."""

Result = TypeVar("Result")


def on_stage(
    binary: nginx.Binary,
    act: Callable[[Trial], Awaitable[Result]],
    *options: str,
    assumed: bool = False,
    runs: int = RUNS,
) -> Result:
    """What comes of an act with a trial on that nginx."""

    async def whole() -> Result:
        async with staged(binary) as stage:
            return await act(Trial(stage, options, without_connection if assumed else as_it_is, runs=runs))

    return asyncio.run(whole())


ATTEMPTS = 6
"""How often a fault is looked for: what it changes is not seen if a busy machine did the same to a run without it."""


def _with(chosen: Callable[[Seeded], bool]) -> pytest.MarkDecorator:
    """Parametrize a test by the faults that are chosen, each with every nginx that has what it needs."""
    pairs = [
        pytest.param(binary, name, id=f"{dotted(binary.version)} {name}")
        for binary in NGINXES
        for name, seeded in SEEDED.items()
        if chosen(seeded) and seeded.starts_with(binary, _built(binary))
    ]
    return pytest.mark.parametrize(("nginx_", "name"), pairs)


def _require_modules(binary: nginx.Binary, seeded: Seeded) -> None:
    if "ngx_http_lua_module" in seeded.text:
        require_lua(binary)


@functools.cache
def _built(binary: nginx.Binary) -> str:
    """How a binary was built, with the version."""
    return subprocess.run([binary.path, "-V"], capture_output=True, check=True).stderr.decode() + " "


@_with(lambda _: True)
def test_faults_are_seen(nginx_: nginx.Binary, name: str) -> None:
    """Each fault that a fix had makes a difference, of the kind that it had."""
    seeded = SEEDED[name]
    _require_modules(nginx_, seeded)

    async def act(trial: Trial) -> frozenset[str]:
        case = seeded.case(name)
        differences = await trial.compare(case, case.files, {MAIN: seeded.after})
        return frozenset(difference.kind for difference in differences)

    assert any(on_stage(nginx_, act, runs=FEW_RUNS) >= seeded.kinds for _ in range(ATTEMPTS))


@_with(lambda _: True)
def test_they_are_not_made(nginx_: nginx.Binary, name: str) -> None:
    """No such fault is left: what `--fix` makes of the configuration changes nothing."""
    _require_modules(nginx_, SEEDED[name])

    async def act(trial: Trial) -> str:
        return _shown(trial, await trial.check(SEEDED[name].case(name)))

    assert on_stage(nginx_, act) == ""


@_with(lambda seeded: bool(seeded.assume))
def test_premises_are_needed(nginx_: nginx.Binary, name: str) -> None:
    """Declared where it does not hold, a premise lets a fix change what it is about."""
    seeded = SEEDED[name]
    options = ("--assume", seeded.assume, "--ignore", "worker-connections", "--select", SELECTED)

    async def act(trial: Trial) -> Fault | None:
        return await trial.check(seeded.case(name))

    def is_seen() -> bool:
        fault = on_stage(nginx_, act, *options, assumed=True, runs=FEW_RUNS)
        return fault is not None and bool(fault.kinds & seeded.kinds)

    assert any(is_seen() for _ in range(ATTEMPTS))


@pytest.mark.no_cover
def test_fixes_of_random_configurations_change_nothing(each_binary: nginx.Binary) -> None:
    """Safe fixes change no response, nothing that an origin is asked, no limit, file or warning."""
    numbers = drawn(COUNT, each_binary)

    async def act(trial: Trial) -> str:
        for number in numbers:
            fault = await trial.check(generate.case(7, number, each_binary, PROMPT))
            if fault:
                return _shown(trial, fault)
        assert trial.figures.cases["changed"] >= len(numbers) / 5  # others may read more elsewhere
        return ""

    assert on_stage(each_binary, act) == ""


def _shown(trial: Trial, fault: Fault | None) -> str:
    """A fault as one reads it; nothing without one."""
    return reproduction(trial, fault, "--fix") if fault else ""


def test_a_case_can_be_made_again(each_binary: nginx.Binary) -> None:
    """The seed and the number make the same case, other numbers others."""
    assert generate.case(1, 5, each_binary) == generate.case(1, 5, each_binary)
    assert generate.case(1, 5, each_binary).files != generate.case(1, 6, each_binary).files
