"""How tests are dealt to processes: function by function, as dealing a test takes as long as running a short one.

Files are too different in length to be dealt whole, but for those that share what takes long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

TOGETHER = {
    "tests/docker/test_containers_run.py": "containers",
    "tests/nginx/test_bench_failures.py": "runs of the bench, which take time",
    "tests/nginx/test_bench_runs.py": "runs of the bench, which take time",
    "tests/project/test_benchmarks.py": "runs of the bench, which take time",
    "tests/project/test_ci.py": "an environment",
    "tests/project/test_layers.py": "the syntax trees of all modules",
    "tests/project/test_make.py": "dry runs of make",
    "tests/project/test_packaging.py": "a build",
    "tests/project/test_pre_commit.py": "a build",
    "tests/project/test_site.py": "the site, which takes long to build and to read",
}
"""What the tests of a file share, and so are dealt to one process for."""

WAITING = ("20 a server that takes one connection waits for it to end", "23 103 comes unasked")
"""What tests wait for, ten seconds and more: one process waits for all of it, while others work."""


def scope(nodeid: str) -> str:
    """Return what a test shares with others; the name of its function if nothing, which has many cases or few."""
    if any(what in nodeid for what in WAITING):
        return "waiting"
    return TOGETHER.get(nodeid.partition("::")[0], nodeid.partition("[")[0])


def is_of_group(nodeid: str) -> bool:
    """Return whether a test shares with others what takes long, and so is to be dealt first."""
    return scope(nodeid) in {"waiting", *TOGETHER.values()}


class _Collection(list[str]):
    """The tests of a process, of which xdist asks the place of each: a list would be searched for it."""

    def __init__(self, tests: Sequence[str]) -> None:
        super().__init__(tests)
        self._places = {test: place for place, test in enumerate(tests)}

    def index(self, test: str, *_: Any) -> int:
        """Return the place of a test."""
        return self._places[test]


class Dealing(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Deals tests in their order. (`--dist loadgroup` groups none with pytest 9.)"""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # what has most cases does not take longest

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """Keep the tests of a process."""
        super().add_node_collection(node, collection)
        if node in self.registered_collections:
            self.registered_collections[node] = _Collection(self.registered_collections[node])

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Forget a group when its last test is done: with each test, xdist counts all that a process was ever given."""
        super().mark_test_complete(node, item_index, duration)
        group = scope(self.registered_collections[node][item_index])
        if all(self.assigned_work[node][group].values()):
            del self.assigned_work[node][group]


def tell_less(config: pytest.Config) -> None:
    """Make a process of xdist skip messages that nobody reads: half of what it sends.

    These are the start of each test, and each set-up or tear-down that passed without output.
    """
    plugins = config.pluginmanager.get_plugins()
    (process,) = (plugin for plugin in plugins if type(plugin).__name__ == "WorkerInteractor")
    tell = process.sendevent

    def told(name: str, **what: Any) -> None:
        report = what.get("data", {})
        passed = report.get("outcome") == "passed" and report.get("when") in ("setup", "teardown")
        if name != "logstart" and not (passed and not report["sections"] and not report["user_properties"]):
            tell(name, **what)

    process.sendevent = told
