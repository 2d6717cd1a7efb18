"""What is planted in the log of a day is found, and nothing is invented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nginxopt.config import load_text
from nginxopt.profile.figures import Figures
from nginxopt.profile.reading import SiteLogs
from nginxopt.profile.sums import Profile, load, save
from nginxopt.request.model import SiteModel, World
from nginxopt.semantics.site import Build
from nginxopt.version import Version
from tests.profile.days import CONF, Day, day
from tests.rows import every_row

SEEDS = range(20)


def profile_of(paths: list[Path], conf: str = CONF, **options: Any) -> Profile:
    """The profile of logs."""
    model = SiteModel(load_text(conf.encode(), "nginx.conf"), Build(Version(1, 22, 1)))
    return SiteLogs(model, model.gate(), World(), tuple(map(str, paths)), **options).profile()


def figures_of(made: Day, folder: Path) -> Figures:
    """The figures of a day."""
    path = folder / "shop.log"
    path.write_bytes(made.log)
    return Figures(profile_of([path]))


@every_row("seed", SEEDS)
def test_what_is_planted_is_found(tmp_path: Path, seed: int) -> None:
    """A server that drifted, a dead rule, a slow upstream, a robot with most of the work, and nothing else."""
    made = day(seed)
    figures = figures_of(made, tmp_path)
    assert (figures.number("unknown"), figures.number("ambiguous")) == (0, 0)
    assert figures.number("differs") == made.drifted
    assert [(key.node and key.node.line, key.expected, key.status) for key, _ in figures.differing] == (
        [(23, 410, 200)] if made.drifted else []
    )
    assert [place.line for place in figures.unseen("rule")] == [19, 24]
    assert [place.line for place in figures.unseen("location")] == [24]
    assert [place.line for place in figures.unlogged("rule")] == [25]
    assert [place.line for place in figures.unlogged("server")] == [27]
    slowest = figures.locations[0].place
    assert slowest is not None
    assert slowest.text == f"location {made.slow}"
    assert figures.robots[0][0] == "Greedybot"
    assert figures.broken == made.broken
    assert figures.requests == sum(1 for line in made.lines if line) - made.broken


def test_profiles_add_up(tmp_path: Path) -> None:
    """Parts of a log, each read alone, saved and added, give the same as all lines at once."""
    made = day(1)
    lines = made.log.splitlines(keepends=True)
    paths = []
    for part in range(4):
        paths.append(tmp_path / f"shop.log.{part}")
        paths[-1].write_bytes(b"".join(lines[part * len(lines) // 4 : (part + 1) * len(lines) // 4]))
    parts = []
    for number, path in enumerate(paths):
        (tmp_path / f"{number}.profile").write_bytes(save(profile_of([path])))
        parts.append(load(str(tmp_path / f"{number}.profile")))
    first, *others = parts
    for other in others:
        first.add(other)
    assert json.loads(_without_repeats(first)) == json.loads(_without_repeats(profile_of(paths)))
    whole = figures_of(made, tmp_path).profile
    for profile in (first, whole):
        profile.files.clear()
    assert _without_repeats(first) == _without_repeats(whole)


def _without_repeats(profile: Profile) -> str:
    """A profile without what is known only of lines that follow each other."""
    for cell in profile.classes.values():
        cell.repeated = 0
    return profile.document()
