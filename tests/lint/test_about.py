"""Rules are asked, and loaded, only where a directive is that they are about."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from nginxopt import load_text
from nginxopt.config import Config
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.examples import examples, wrapped
from nginxopt.lint.queries.model import Model
from nginxopt.lint.run import Linted, Selected, lint
from nginxopt.version import Version
from tests.rows import every_row
from tests.support import PATIENCE

TARGETS = (Version(1, 22, 1), Version(1, 31, 3))
ABOUT = [Selected(rule, None) for rule in catalogue().values() if rule.about]
ASKED = [Selected(replace(selected.rule, about=()), None) for selected in ABOUT]
SMALL = """\
events {}
http {
    server {
        listen 80;
        location / {
            return 200;
        }
    }
}
"""
"""A configuration that few rules are about."""


def _judged(rules: list[Selected], config: Config, target: Version) -> tuple[Linted, list[str]]:
    judged = lint(Model(config, target), rules)
    return replace(judged, errors=()), [error.render() for error in judged.errors]


@pytest.mark.no_cover  # test_conformance runs the same
@every_row("name", sorted(catalogue()))
def test_a_rule_that_is_not_asked_would_find_nothing(name: str) -> None:
    """On the examples of every rule, whole as in a fragment, rules find and decline what they do if all are asked."""
    for example in examples(catalogue()[name].page):
        texts = {wrapped(example.text, example.context), example.text.encode()}
        for text in texts:
            config = load_text(
                text, "nginx.conf", context=None if b"http {" in text else example.context, missing_ok=True
            )
            for target in TARGETS:
                assert _judged(ABOUT, config, target) == _judged(ASKED, config, target)


def test_a_rule_that_is_not_asked_is_not_loaded(tmp_path: Path) -> None:
    """`lint` of a small file loads less than half of the rules, and none that is off by default or for a machine."""
    path = tmp_path / "nginx.conf"
    path.write_text(SMALL)
    code = (
        "import sys\n"
        "from nginxopt.cli import main\n"
        f"sys.argv = ['nginxopt', 'lint', '--isolated', '-q', '--target-version', '1.22.1', {str(path)!r}]\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    print(*(name for name in sys.modules if name.startswith('nginxopt.rules.')), sep='\\n')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    named = (line.rpartition(".")[2].replace("_", "-") for line in run.stdout.split() if "nginxopt.rules." in line)
    loaded = {name for name in named if name in catalogue()}
    assert 0 < len(loaded) < len(catalogue()) / 2
    assert [name for name in loaded if not catalogue()[name].default or catalogue()[name].host] == []
