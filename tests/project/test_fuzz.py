"""A few mutated configurations through the whole command; `python -m tests.fuzz.configs` runs as many as wanted."""

from __future__ import annotations

import random
import re
import signal
from pathlib import Path

import pytest

from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.examples import examples, wrapped
from nginxopt.system import nginx
from tests.fuzz.configs import ALL, FaultError, Fuzz, files_in, mutated, run, texts

pytestmark = pytest.mark.slow

SEEDS = files_in(Path(__file__).parents[2] / "fixtures")[:4]
SEEDS += [wrapped(example.text, example.context) for rule in catalogue().values() for example in examples(rule.page)]
COUNT = 60


@pytest.mark.no_cover
def test_mutated_configurations(tmp_path: Path) -> None:
    """They are checked in every format, and fixed once and for all where the report offers a fix.

    How many of them have something to fix depends on the examples of the rules: more are drawn until it is enough.
    """
    fuzz = Fuzz(tmp_path)
    for number, text, target in texts(SEEDS, 2, 10 * COUNT):
        if number >= COUNT and fuzz.figures.fixed > COUNT / 6:
            break
        fuzz.check(text, target)
    assert fuzz.figures.statuses.total() >= COUNT
    assert fuzz.figures.fixed > COUNT / 6


@pytest.mark.no_cover
@pytest.mark.nginx
def test_nginx_accepts_fixed_mutations(tmp_path: Path) -> None:
    """nginx accepts after the fixes what it accepted before."""
    fuzz = Fuzz(tmp_path, nginx.find(), options=ALL)
    for _, text, _ in texts(SEEDS, 2, COUNT // 2):
        fuzz.check(text, "1.22.1")
    assert fuzz.figures.accepted


def test_texts_can_be_made_again() -> None:
    """A seed makes the same texts, each by its number alone; another seed makes others."""
    some = list(texts(SEEDS, 3, 8))
    assert list(texts(SEEDS, 3, 9))[:8] == some
    assert list(texts(SEEDS, 4, 8)) != some


def test_nothing_outside_is_included() -> None:
    """A text includes nothing but what lies beside it: fixes write included files, too."""
    seeds = [b"include /etc/nginx/*.conf;", b'include "../a";', b"include\n'/b/c';"]
    rng = random.Random(1)
    for _ in range(50):
        assert not re.search(rb"include\s+[^\s;]*/", mutated(rng, seeds))


def test_faults_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A status that is not documented, and a report that cannot be read, are faults."""
    fuzz = Fuzz(tmp_path)
    monkeypatch.setattr("nginxopt.lint.report.json.render", lambda _: iter(["{"]))
    with pytest.raises(FaultError, match="the report as json cannot be read"):
        fuzz.check(b"events {}\n", "1.28.0")
    monkeypatch.setattr("nginxopt.lint.check.lint", lambda *_: 1 / 0)
    with pytest.raises(FaultError, match="ends with 70"):
        fuzz.check(b"events {}\n", "1.28.0")


def test_a_fix_that_is_not_made_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the report offers is what `--fix` does."""
    monkeypatch.setattr("nginxopt.lint.check.unaccepted", lambda *_: lambda *_: ())
    with pytest.raises(FaultError, match="fixes are offered"):
        Fuzz(tmp_path, options=ALL).check(b"events {}\nhttp { gzip on; gzip_comp_level 9; }\n", "1.28.0")


def test_a_command_is_run_in_this_process() -> None:
    """Its status and all it says are returned."""
    status, output, _ = run("rules", "--format", "none")
    assert status == 2
    assert "none" in output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_ends_a_command_ends_the_fuzzer(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command turns a signal into its status; the fuzzer that it runs in ends, too."""
    monkeypatch.setattr("nginxopt.cli._run", lambda *_, **__: signal.raise_signal(number))
    with pytest.raises((SystemExit, KeyboardInterrupt)):
        run("lint")


def test_the_handler_of_signals_is_what_it_was() -> None:
    """What the command sets for itself holds for it alone."""
    before = signal.getsignal(signal.SIGTERM)
    assert run("--version")[0] == 0
    assert signal.getsignal(signal.SIGTERM) == before
