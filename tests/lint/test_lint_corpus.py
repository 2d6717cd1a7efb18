"""All rules and their fixes on the fixtures and the examples of the rule pages, intact and damaged."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config import Config, load_text
from nginxopt.config.inputs import read
from nginxopt.errors import InputError
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.conformance import HOST
from nginxopt.lint.diagnostic import LONGEST_MESSAGE
from nginxopt.lint.examples import examples, wrapped
from nginxopt.lint.fix import Fixed, fix
from nginxopt.lint.queries.model import Model
from nginxopt.lint.run import Linted, Selected, lint
from nginxopt.version import Version
from tests.rows import every_row

pytestmark = pytest.mark.no_cover

FIXTURES_ROOT = Path(__file__).parents[2] / "fixtures"
FIXTURES = sorted(FIXTURES_ROOT.glob("*/*.conf"))
TARGETS = [Version(1, 22, 1), Version(1, 28, 0), Version(1, 30, 0)]
RULES = [Selected(rule, None) for rule in catalogue().values()]
EXAMPLES = [wrapped(example.text, example.context) for rule in catalogue().values() for example in examples(rule.page)]

LINES = [line for text in EXAMPLES for line in text.splitlines(keepends=True)]


def messages(config: Config, target: Version) -> list[str]:
    """All that the rules say of a configuration, in messages and in their notes."""
    findings = [diagnostic.finding for diagnostic in lint(Model(config, target, HOST), RULES).diagnostics]
    return [text for finding in findings for text in (finding.message, *(note.message for note in finding.related))]


@pytest.mark.extended
@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_messages_are_short(target: Version) -> None:
    """No message exceeds 120 characters, whatever names, patterns and URIs a file contains."""
    inputs = read([str(FIXTURES_ROOT)])
    texts = [text for config in inputs.configs for text in messages(config, target)]
    assert len(texts) > 300
    assert [text for text in texts if len(text) > LONGEST_MESSAGE] == []


@pytest.mark.extended
def test_messages_are_whole() -> None:
    """With names of ordinary length a message is a sentence with nothing cut from it."""
    texts = {
        text
        for rule in catalogue().values()
        for example in examples(rule.page)
        for text in messages(
            load_text(wrapped(example.text, example.context), "a", missing_ok=True), example.target or TARGETS[1]
        )
    }
    assert [text for text in texts if len(text) > LONGEST_MESSAGE or "…" in text] == []


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """An example with lines and bytes put in, taken out, doubled and moved."""
    lines = draw(st.sampled_from(EXAMPLES)).splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines)))
        match draw(st.sampled_from(["insert", "delete", "double", "join", "carriage return", "byte"])):
            case "insert":
                lines.insert(at, draw(st.sampled_from(LINES)))
            case "delete":
                del lines[at : at + 1]
            case "double":
                lines[at:at] = lines[at : at + 3]
            case "join":
                lines[at : at + 2] = [b" ".join(line.rstrip(b"\r\n") for line in lines[at : at + 2]) + b"\n"]
            case "carriage return":
                lines = [line.replace(b"\n", b"\r\n") for line in lines]
            case "byte":
                text = b"".join(lines)
                place = draw(st.integers(0, len(text)))
                byte = draw(st.binary(max_size=1) | st.sampled_from([b";", b"{", b"}", b'"', b"$", b"#", b"\\"]))
                lines = (text[:place] + byte + text[place + draw(st.integers(0, 1)) :]).splitlines(keepends=True)
    return b"".join(lines)


@lru_cache(maxsize=2)  # a text, and what its fixes make of it
def judged(data: bytes, target: Version) -> tuple[Config, Linted]:
    """A text and what all rules find in it, which is the same for safe and for unsafe fixes."""
    config = load_text(data, "a", missing_ok=True)
    return config, lint(Model(config, target), RULES)


def fix_all(data: bytes, target: Version, *, unsafe: bool) -> Fixed:
    """A text after the fixes of all rules."""
    original, linted = judged(data, target)

    def read(texts: Mapping[str, bytes]) -> Config:
        return load_text(texts["a"], "a", missing_ok=True) if texts else original

    def judge(config: Config) -> Linted:
        return linted if config is original else lint(Model(config, target), RULES)

    return fix(read, judge, unsafe=unsafe)


def hold(data: bytes, target: Version, *, unsafe: bool) -> None:
    """Check a text: all rules judge it, fixes come to an end, and a second run changes nothing."""
    fixed = fix_all(data, target, unsafe=unsafe)
    if not fixed.drafts:  # a second run is the same run
        return
    again = fix_all(fixed.drafts["a"].text, target, unsafe=unsafe)
    assert (again.drafts, again.made) == ({}, {})
    assert again.remaining.diagnostics == fixed.remaining.diagnostics or _shown(again) == _shown(fixed)


def _shown(fixed: Fixed) -> list[tuple[str, object, str]]:
    return [(diagnostic.rule, diagnostic.start, diagnostic.message) for diagnostic in fixed.remaining.diagnostics]


@pytest.mark.slow
@pytest.mark.no_cover
@every_row("target", TARGETS, ids=str)
@every_row("path", FIXTURES, ids=lambda path: path.stem)
def test_fixtures(path: Path, target: Version) -> None:
    """All rules check real configurations, and their fixes end after one run."""
    hold(path.read_bytes(), target, unsafe=True)


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("turn", range(len(TARGETS)), ids=TARGETS.__getitem__)
def test_examples(turn: int) -> None:
    """All rules together check the examples of every page, each for one target, and their fixes end after one run.

    Those of every second one are only the safe ones.
    """
    for number, data in enumerate(EXAMPLES[turn :: len(TARGETS)]):
        hold(data, TARGETS[turn], unsafe=number % 2 == 0)


@pytest.mark.slow
@given(damaged(), st.sampled_from(TARGETS), st.booleans())
def test_damaged_examples(data: bytes, target: Version, unsafe: bool) -> None:
    """Damaged configurations are either an error or checked and fixed like any other."""
    try:
        load_text(data, "a", missing_ok=True)
    except InputError:
        return
    hold(data, target, unsafe=unsafe)


LATIN1 = {
    "a pattern with a repeated group": b"location ~ ^/\xe9([a-z]+)+$ { return 204; }",
    "a condition": b"location /c/ { if ($arg_x = \xe9) { return 301 http://h$uri; } proxy_pass http://b/$arg_y; }",
}


@pytest.mark.parametrize("case", LATIN1)
def test_bytes_that_are_not_utf8(case: str) -> None:
    """A configuration in Latin-1 is checked like any other."""
    hold(wrapped(LATIN1[case], "server"), TARGETS[0], unsafe=True)
