"""Fixes on the real nginx: the faults that they had are seen, and those of today make no difference."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from nginxopt import nginx
from tests.fix_fuzz import generate
from tests.fix_fuzz.case import MAIN
from tests.fix_fuzz.compare import as_it_is, without_connection
from tests.fix_fuzz.seeded import SEEDED, Seeded
from tests.fix_fuzz.show import reproduction
from tests.fix_fuzz.trial import Fault, Trial, staged

COUNT = 20
"""How many cases are made with each nginx; `python -m tests.fix_fuzz` makes as many as one likes."""

Result = TypeVar("Result")


def on_stage(
    binary: nginx.Binary, act: Callable[[Trial], Awaitable[Result]], *options: str, assumed: bool = False
) -> Result:
    """What comes of an act with a trial on that nginx."""

    async def whole() -> Result:
        async with staged(binary) as stage:
            return await act(Trial(stage, options, without_connection if assumed else as_it_is))

    return asyncio.run(whole())


def start_of(binary: nginx.Binary, seeded: Seeded) -> None:
    """Skip the test on an nginx that has no such module."""
    said = subprocess.run([binary.path, "-V"], capture_output=True, check=True).stderr.decode() + " "
    if seeded.needs and seeded.needs not in said:
        pytest.skip(f"this nginx is built without {seeded.needs}")


@pytest.mark.parametrize("name", SEEDED)
def test_faults_are_seen(each_binary: nginx.Binary, name: str) -> None:
    """Each fault that a fix had makes a difference, of the kind that it had."""
    seeded = SEEDED[name]
    start_of(each_binary, seeded)

    async def act(trial: Trial) -> frozenset[str]:
        case = seeded.case(name)
        found = await trial.compare(case, case.files, {MAIN: seeded.after})
        return frozenset(one.kind for one in found)

    assert on_stage(each_binary, act) >= seeded.kinds


@pytest.mark.parametrize("name", SEEDED)
def test_they_are_not_made(each_binary: nginx.Binary, name: str) -> None:
    """No such fault is left: what `--fix` makes of the configuration changes nothing."""
    seeded = SEEDED[name]
    start_of(each_binary, seeded)
    found = on_stage(each_binary, lambda trial: trial.check(seeded.case(name)))
    assert found is None, shown(each_binary, found)


@pytest.mark.parametrize("name", [name for name, seeded in SEEDED.items() if seeded.assume])
def test_premises_are_needed(each_binary: nginx.Binary, name: str) -> None:
    """Declared where it does not hold, a premise lets a fix change what it is about."""
    seeded = SEEDED[name]
    start_of(each_binary, seeded)
    if "idle" in seeded.assume and each_binary.version >= (1, 29, 7):
        pytest.skip("this nginx keeps connections without being asked")
    found = on_stage(
        each_binary, lambda trial: trial.check(seeded.case(name)), "--assume", seeded.assume, assumed=True
    )
    assert found
    assert found.kinds & seeded.kinds


def test_fixes_of_random_configurations_change_nothing(each_binary: nginx.Binary) -> None:
    """Safe fixes change no response, nothing that an origin is asked, no limit, file or warning."""

    async def act(trial: Trial) -> Fault | None:
        for case in generate.cases(7, 0, COUNT, each_binary):
            fault = await trial.check(case)
            if fault:
                return fault
        assert trial.figures.cases["changed"] > COUNT / 2
        return None

    found = on_stage(each_binary, act)
    assert found is None, shown(each_binary, found)


def shown(binary: nginx.Binary, fault: Fault | None) -> str:
    """A fault as one reads it."""

    async def act(trial: Trial) -> str:
        return reproduction(trial, fault, "--fix") if fault else ""

    return on_stage(binary, act)


def test_a_case_can_be_made_again(each_binary: nginx.Binary) -> None:
    """The seed and the number make the same case, other numbers others."""
    assert generate.case(1, 5, each_binary) == generate.case(1, 5, each_binary)
    assert generate.case(1, 5, each_binary).files != generate.case(1, 6, each_binary).files
