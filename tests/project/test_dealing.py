"""Tests are dealt to processes function by function, but for those of one group."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from xdist.remote import Producer

from tests.dealing import TOGETHER, WAITING, Dealing, scope
from tests.fix_fuzz.seeded import SEEDED
from tests.support import ROOT


def test_the_groups_are_of_files() -> None:
    """Each file that is named is there."""
    assert [name for name in TOGETHER if not (ROOT / name).is_file()] == []


def test_what_waits_is_named_as_it_is() -> None:
    """Each case that tests wait for is there; all its tests are one group."""
    assert set(WAITING) <= set(SEEDED)
    assert {scope(f"tests/nginx/test_fix_fuzz.py::a[1.22.1 {what}]") for what in WAITING} == {"waiting"}


def test_a_group_is_dealt_to_one_process() -> None:
    """Tests of a group have one scope, as the cases of others have."""
    build, other = "tests/project/test_packaging.py", f"tests/project/{Path(__file__).name}"
    assert scope(f"{build}::a[x::y]") == scope(f"{build}::b") == scope("tests/project/test_pre_commit.py::c")
    assert len({scope(f"{build}::a"), scope(f"{other}::a"), scope(f"{other}::b")}) == 3
    assert scope(f"{other}::a[1]") == scope(f"{other}::a[b::c]")


class Process:
    """What the scheduler knows of a process: the tests that it was given and has not done."""

    def __init__(self) -> None:
        self.tests: list[int] = []
        self.shutting_down = False
        self.gateway = SimpleNamespace(id="a process")

    def send_runtest_some(self, tests: list[int]) -> None:
        """Take more tests."""
        self.tests += tests

    def shutdown(self) -> None:
        """Take no more."""
        self.shutting_down = True


def test_what_is_done_is_forgotten(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test is dealt once, and the scheduler never holds more than what two processes have before them."""
    monkeypatch.setattr(pytestconfig.option, "tx", ["2*popen"])
    build = "tests/project/test_packaging.py"
    tests = [*(f"tests/test_any.py::test_{number}" for number in range(50)), f"{build}::a", f"{build}::b"]
    dealing, processes = Dealing(pytestconfig, Producer("test", enabled=False)), (Process(), Process())
    done: list[int] = []
    most = 0
    for process in processes:
        dealing.add_node(process)
        dealing.add_node_collection(process, tests)
    dealing.schedule()
    while waiting := [process for process in processes if process.tests]:
        for process in waiting:
            done.append(process.tests.pop(0))
            dealing.mark_test_complete(process, done[-1])
        most = max(most, *(len(groups) for groups in dealing.assigned_work.values()))
    assert sorted(done) == list(range(len(tests)))
    assert most <= 4
    assert not dealing.has_pending
