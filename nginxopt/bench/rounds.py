"""Runs the attacks: finds the capacity if needed, then attacks every variant once per round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from nginxopt.bench import run_folder
from nginxopt.bench.probe import ROUND, Statuses, in_round
from nginxopt.bench.result import NodeUse, Outcome, Sample
from nginxopt.bench.scenario import Attack, Count, Experiment, Load, OpenLoop, Variant
from nginxopt.bench.site import LoadRun, LoadSource, RunningSite, Status
from nginxopt.errors import RunError

CAPACITY_SECONDS = 1.0
COUNT_SECONDS = 4.0
MOST_COUNTED = 32
"""The most targets of an attack whose instructions are counted, as callgrind makes nginx about fifty times slower."""

Progress = Callable[[float, str], None]
"""A function that is called after each attack with its approximate duration in seconds, and the next attack."""


def seconds(experiment: Experiment, rounds: int) -> float:
    """Return the approximate minimum duration of all attacks, in seconds."""
    attacks = sum(attack.load.seconds for attack in experiment.attacks) * rounds
    return attacks + CAPACITY_SECONDS * len(_without_rate(experiment))


def find_capacities(
    site: RunningSite, experiment: Experiment, source: LoadSource, progress: Progress
) -> Mapping[str, float]:
    """Measure the capacity of each case whose rate is a share of it: the requests a second of its slowest variant.

    Uses a few connections, each of which sends its next request after a response.
    """
    capacities: dict[str, float] = {}
    for attack, open_loop in _without_rate(experiment):
        load = replace(open_loop.closed(), seconds=CAPACITY_SECONDS)
        outcome = _attack(site, experiment, replace(attack, load=load), source, "capacity")
        rate = outcome.requests / outcome.seconds
        capacities[attack.case] = min(rate, capacities.get(attack.case, rate))
        progress(CAPACITY_SECONDS, "capacity")
    return capacities


def at_rates(experiment: Experiment, capacities: Mapping[str, float]) -> Experiment:
    """Return the experiment with a rate for each open loop."""

    def rated(attack: Attack) -> Load:
        load = attack.load
        if not isinstance(load, OpenLoop) or load.rate is not None:
            return load
        return replace(load, rate=max(1.0, round(capacities[attack.case] * load.share)))

    return replace(experiment, attacks=tuple(replace(attack, load=rated(attack)) for attack in experiment.attacks))


def run(
    site: RunningSite,
    experiment: Experiment,
    source: LoadSource,
    statuses: Statuses,
    rounds: int,
    progress: Progress,
    keep: Callable[[Sample], None],
) -> None:
    """Attack every variant in each of `rounds`, and pass each sample to `keep`.

    `statuses` are the results of the probes. Raises `RunError` if an attack gets other statuses, or if a counter is out
    of its bounds.
    """
    for number in range(1, rounds + 1):
        for attack in experiment.attacks:
            keep(_sample(site, experiment, attack, source, statuses, number))
            progress(attack.load.seconds, f"round {number} of {rounds}: {attack.variant}, {attack.case}")


def count(site: RunningSite, experiment: Experiment, progress: Progress, keep: Callable[[Sample], None]) -> None:
    """Count the instructions per request of each attack, and pass a sample for each to `keep`."""
    for attack in experiment.attacks:
        targets = in_round(attack.targets[:MOST_COUNTED], "count")
        variant = experiment.variant(attack.variant)
        instructions = site.instructions(variant, targets, variant.place(attack))
        keep(Sample(attack.variant, attack.case, 1, instructions=instructions))
        progress(COUNT_SECONDS, f"{attack.variant}, {attack.case}")


def _sample(
    site: RunningSite, experiment: Experiment, attack: Attack, source: LoadSource, statuses: Statuses, number: int
) -> Sample:
    variant = experiment.variant(attack.variant)
    before = _counters(site, variant)
    outcome = _attack(site, experiment, attack, source, number)
    nodes = _uses(site, variant, before)
    _check_answers(attack, outcome, statuses)
    for count in attack.counts:
        _check_count(attack, count, nodes, outcome)
    return Sample(attack.variant, attack.case, number, outcome, nodes, site.time_wait(variant))


def _attack(
    site: RunningSite, experiment: Experiment, attack: Attack, source: LoadSource, number: int | str
) -> Outcome:
    run = load_run(site, experiment, attack, number)
    run_folder.write(site.folder, {f"results/{number}/.keep": b""})
    return source.attack(site, run)


def load_run(site: RunningSite, experiment: Experiment, attack: Attack, number: int | str) -> LoadRun:
    """Return an attack with its addresses and file names. `number` is that of the round, or `capacity`."""
    variant = experiment.variant(attack.variant)
    name = run_folder.attack_name(attack)
    changes = any(ROUND in target.path for target in attack.targets)
    return LoadRun(
        attack,
        in_round(attack.targets, number),
        number,
        site.address(variant, variant.place(attack)),
        f"targets/{name}" + (f".{number}" if changes or number == "capacity" else ""),
        f"results/{number}/{name}",
    )


Counters = Mapping[str, tuple[float, Status | None]]


def _counters(site: RunningSite, variant: Variant) -> Counters:
    return {
        node.role: (site.clock(variant, node.role), site.status(variant, node.role) if node.status else None)
        for node in variant.nodes
    }


def _uses(site: RunningSite, variant: Variant, before: Counters) -> dict[str, NodeUse]:
    after = _counters(site, variant)
    uses = {}
    for role, (clock, status) in after.items():
        old_clock, old_status = before[role]
        memory = site.memory(variant, role)
        accepts = requests = None
        if status is not None and old_status is not None:
            # The second query of the counters is itself one connection and one request.
            accepts, requests = status.accepts - old_status.accepts - 1, status.requests - old_status.requests - 1
        uses[role] = NodeUse(clock - old_clock, memory.rss, memory.pss, accepts, requests)
    return uses


def _check_answers(attack: Attack, outcome: Outcome, statuses: Statuses) -> None:
    if attack.may_fail:
        return
    expected = statuses[attack.variant, attack.case]
    wrong = {status: count for status, count in outcome.statuses.items() if status not in expected}
    if not wrong:
        return
    what = ", ".join(f"{count:,} with {_status(status)}" for status, count in wrong.items())
    why = f" ({', '.join(outcome.errors)})" if outcome.errors else ""
    raise RunError(
        f"{attack.variant}, {attack.case}: of {outcome.requests:,} requests, {what}{why}, expected"
        f" {' or '.join(sorted(expected))}",
        hint="the rate may exceed the capacity: use --rate auto" if "0" in wrong else None,
    )


def _status(status: str) -> str:
    return "nothing" if status == "0" else status


def _check_count(attack: Attack, count: Count, nodes: Mapping[str, NodeUse], outcome: Outcome) -> None:
    counted, requests = getattr(nodes[count.role], count.figure), outcome.requests
    attacked = f"{attack.variant}, {attack.case}"
    # Nodes count requests that the generator began and gave up at the end of its time; the generator does not.
    if not count.least * requests <= counted <= count.most * requests + outcome.unfinished:
        raise RunError(
            f"{attacked}: {count.role} counted {counted:,} {count.figure} for {requests:,} requests"
            f" of the load, {counted / requests:.3f} each; expected {count.least:g} to {count.most:g}"
        )


def _without_rate(experiment: Experiment) -> list[tuple[Attack, OpenLoop]]:
    return [
        (attack, attack.load)
        for attack in experiment.attacks
        if isinstance(attack.load, OpenLoop) and attack.load.rate is None
    ]
