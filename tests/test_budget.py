"""Budgets: limits in force, where they come from, and what is said beyond them."""

from __future__ import annotations

import re

import pytest

from nginxopt import budget
from nginxopt.errors import InputError, UsageError
from nginxopt.settings import file as settings
from nginxopt.text import Source, Span
from tests.support import ROOT


def test_a_meter_stops_beyond_its_limit_and_says_where() -> None:
    """A meter allows what the limit allows; then the error has the place, the budget, and how to raise it."""
    source = Source("nginx.conf", b"a;\nb;\n")
    with budget.using({"files": 2}):
        meter = budget.Meter("files")
        meter.spend(2)
        with pytest.raises(budget.ExceededError) as caught:
            meter.spend(source=source, span=Span(3, 4))
    assert caught.value.exit_code == 3
    text = caught.value.render()
    assert text.startswith("nginx.conf:2:1: too large: more than 2 files in one configuration (budget files)")
    assert "files = NUMBER in [budget] of nginxopt.toml" in text


def test_the_document_has_every_budget() -> None:
    """`docs/guide/limits.md` has all budgets with their defaults, and what each counts in the words of its message."""
    text = (ROOT / "docs" / "guide" / "limits.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \| ([\d,]+) \| ([^|]+) \|", text, re.MULTILINE)
    assert {name: int(number.replace(",", "")) for name, number, _ in rows} == {
        name: known.default for name, known in budget.LIMITS.items()
    }
    for name, _, said in rows:
        limits = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", said)
        assert limits.startswith(budget.LIMITS[name].counts.split(" that ")[0]), name


@pytest.mark.parametrize(("name", "limit"), [("file", "3"), ("files", "0"), ("files", "1.5"), ("files", '"3"')])
def test_settings_state_budgets(name: str, limit: str) -> None:
    """The table `[budget]` states limits, and the environment wins; an error has its line."""
    good = settings.read(Source("nginxopt.toml", b"[budget]\nfiles = 7\nseconds = 5\n"), None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(budget.VARIABLE, "seconds=9")
        with budget.stated(good.budget):
            assert (budget.limit("files"), budget.limit("seconds")) == (7, 9)
    assert budget.limit("files") == budget.LIMITS["files"].default
    with pytest.raises(InputError) as caught:
        settings.read(Source("nginxopt.toml", f"[budget]\n{name} = {limit}\n".encode()), None)
    assert caught.value.render().startswith("nginxopt.toml:2:")


def test_the_environment_wins_over_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """`NGINXOPT_BUDGET` states limits for all commands, in place of those of settings and of the defaults."""
    monkeypatch.setenv(budget.VARIABLE, "files=7,seconds=5 matches=3")
    assert (budget.limit("files"), budget.limit("seconds"), budget.limit("matches")) == (7, 5, 3)
    assert budget.limit("bytes") == budget.LIMITS["bytes"].default


@pytest.mark.parametrize(
    "stated", ["file=7", "files", "files=", "files=-1", "files=0", "files=1e9", "files=" + "9" * 30]
)
def test_an_invalid_environment_is_refused(monkeypatch: pytest.MonkeyPatch, stated: str) -> None:
    """An unknown budget and a limit that is no positive number are usage errors."""
    monkeypatch.setenv(budget.VARIABLE, stated)
    with pytest.raises(UsageError, match=budget.VARIABLE):
        budget.limits()
