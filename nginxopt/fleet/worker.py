"""What runs in a worker. Every worker gets the options of a run once, even if it joins later."""

from __future__ import annotations

from collections.abc import Sequence

from distributed import Worker, WorkerPlugin, get_worker

from nginxopt import budget
from nginxopt.config.tree import collector_paused
from nginxopt.fleet.hosts import Recipe
from nginxopt.fleet.judging import Judged, Read, judge, read
from nginxopt.fleet.plan import FleetOptions


class Planned(WorkerPlugin):
    """Keeps the options of a run in a worker, under the name of the run."""

    def __init__(self, name: str, plan: FleetOptions) -> None:
        self.name = name
        self.plan = plan

    def setup(self, worker: Worker) -> None:
        """Load the rules. Raises the errors of the settings and of a missing nginx, which end the run."""
        del worker
        self.plan.prepare()


def read_all(recipes: Sequence[Recipe], name: str) -> list[Read]:
    """Return the digests of the configurations of hosts, by the options of a run."""
    with budget.using(dict(_plan(name).limits)):
        return list(map(read, recipes))


def judge_all(recipes: Sequence[Recipe], name: str) -> list[Judged]:
    """Return what is found in the configurations of hosts, by the options of a run."""
    plan = _plan(name)
    with collector_paused(), budget.using(dict(plan.limits)):
        return [judge(recipe, plan) for recipe in recipes]


def _plan(name: str) -> FleetOptions:
    planned = get_worker().plugins[name]
    assert isinstance(planned, Planned)
    return planned.plan
