"""What rules find: in order, once each, and with a fix only where it is right for every place that reads a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config import Directive
from nginxopt.config.layout import delete, replace
from nginxopt.lint import Finding, Fix, Model, Related, Safety, Severity
from nginxopt.lint.run import Selected, lint
from nginxopt.semantics import Level
from nginxopt.text import Change
from nginxopt.version import Version
from tests.lintrules import TARGET, about, configuration, judged, made_rule, mended, texts_of


def gone(directive: Directive) -> Fix:
    """Take a directive away."""
    return Fix("delete it", (delete(directive),))


@given(st.permutations(["a", "b", "c"]), st.lists(st.sampled_from("abc"), max_size=12))
def test_findings_stand_in_the_order_of_the_text(names: list[str], directives: list[str]) -> None:
    """Whatever the order of rules and of what they yield, findings are sorted by place, rule and message."""
    config = configuration({"nginx.conf": "".join(f"{name};" for name in directives).encode()})

    def twice(name: str) -> Callable[[Model], Iterator[Finding]]:
        def check(model: Model) -> Iterator[Finding]:
            for found, _ in reversed(list(model.each(name))):
                yield Finding(found.source, found.name.span, "second")
                yield Finding(found.source, found.name.span, "first")

        return check

    found = judged(config, *(made_rule(twice(name), f"rule-{name}") for name in names)).diagnostics
    assert [(one.rule, one.message) for one in found] == [
        (f"rule-{name}", says) for name in directives for says in ("first", "second")
    ]


def test_files_come_in_the_order_of_reading() -> None:
    """Findings in included files come behind those of the file that includes them, file by file."""
    config = configuration({"nginx.conf": b"include b; a; include a;", "a": b"a;", "b": b"a;"})
    assert [one.path for one in judged(config, about("a")).diagnostics] == ["nginx.conf", "b", "a"]


def test_rules_speak_of_their_versions() -> None:
    """A rule that does not speak of the target finds nothing, and a finding has the severity that was asked for."""
    config = configuration({"nginx.conf": b"a;"})
    check = about("a").check
    late = made_rule(check, "late", since=Version(1, 23, 0))
    early = made_rule(check, "early", until=Version(1, 22, 1))
    found = lint(config, [Selected(late, Severity.INFO), Selected(early, Severity.ERROR)], TARGET).diagnostics
    assert [(one.rule, one.severity) for one in found] == [("early", Severity.ERROR)]


def test_an_error_is_told_once_and_others_judge_on() -> None:
    """What keeps a rule from judging is told once, however many rules it keeps, and others find what they find."""
    config = configuration({"nginx.conf": b"a;"})

    def refuse(model: Model) -> Iterator[Finding]:
        yield from ()
        raise next(model.each("a"))[0].error("this is refused")

    linted = judged(config, made_rule(refuse, "one"), made_rule(refuse, "two"), about("a"))
    assert [error.message for error in linted.errors] == ["this is refused"]
    assert [one.rule for one in linted.diagnostics] == ["made"]


TWO_SERVERS = b"http { server { include s; } server { include s; } }"

# How nginx.conf and other files read the file `s` more than once.
SHARED = {
    "two servers": {"nginx.conf": TWO_SERVERS},
    "twice in a server": {"nginx.conf": b"http { server { include s; include s; } }"},
    "twice at the top": {"nginx.conf": b"include s; include s;"},
    "by a file that is read twice": {"nginx.conf": b"http { include t; include t; }", "t": b"include s;"},
    "by a file that is read in two servers": {
        "nginx.conf": b"http { server { include t; } server { include t; } }",
        "t": b"location / { include s; }",
    },
    "by itself and by another file": {"nginx.conf": b"http { include t; server { include s; } }", "t": b"include s;"},
}


@pytest.mark.parametrize("texts", SHARED.values(), ids=SHARED.keys())
def test_a_finding_is_told_once(texts: dict[str, bytes]) -> None:
    """However often a file is read, what is found in it is one finding, with the fix that all places want."""
    texts = {**texts, "s": b"a; b;"}
    found = judged(configuration(texts), about("a", gone)).diagnostics
    assert [(one.path, one.fix is not None) for one in found] == [("s", True)]
    assert texts_of(texts, mended(texts, about("a", gone)))["s"] == b"b;"


@pytest.mark.parametrize("texts", SHARED.values(), ids=SHARED.keys())
def test_a_fix_that_not_all_places_want_is_taken_back(texts: dict[str, bytes]) -> None:
    """A fix of a file that is found in some of its places only is taken back, with the reason."""
    texts = {**texts, "s": b"a;"}

    def first_only(model: Model) -> Iterator[Finding]:
        found, _ = next(model.each("a"))
        for _ in range(2):  # the same place again is no other place
            yield Finding(found.source, found.name.span, "found", gone(found), "or leave it")

    (one,) = judged(configuration(texts), made_rule(first_only)).diagnostics
    assert one.fix is None
    assert one.finding.help == (
        "delete it by hand: s is included in 2 places, and the fix is not right for all; or leave it"
    )


def test_a_fix_that_differs_between_the_places_is_taken_back() -> None:
    """Two places that want different texts in one file get none."""
    texts = {"nginx.conf": TWO_SERVERS, "s": b"a 1;"}

    def check(model: Model) -> Iterator[Finding]:
        for number, (found, _) in enumerate(model.each("a")):
            change = replace(found, found.args[0], str(number + 5))
            yield Finding(found.source, found.name.span, "found", Fix("put another", (change,)))

    (one,) = judged(configuration(texts), made_rule(check)).diagnostics
    assert one.fix is None
    assert "included in 2 places" in one.finding.help


def test_a_safe_fix_for_one_place_is_none_for_the_other() -> None:
    """If a change is safe in one place only, it is not offered as safe."""
    texts = {"nginx.conf": TWO_SERVERS, "s": b"a;"}

    def check(model: Model) -> Iterator[Finding]:
        for (found, _), safety in zip(model.each("a"), (Safety.SAFE, Safety.UNSAFE), strict=True):
            yield Finding(found.source, found.name.span, "found", Fix("delete it", (delete(found),), safety))

    assert [one.fix for one in judged(configuration(texts), made_rule(check)).diagnostics] == [None]


def change_all(model: Model) -> Iterator[Finding]:
    """Find each `a`, and take it away with all `b` of its level and of those around it."""
    for found, level in model.each("a"):
        yield Finding(found.source, found.name.span, "found", Fix("delete them", tuple(_around(level, found))))


def _around(level: Level | None, found: Directive) -> Iterator[Change]:
    yield delete(found)
    while level:
        yield from map(delete, level.own("b"))
        level = level.parent


def test_every_file_of_a_fix_counts() -> None:
    """A fix of two files stands only if it is right for every place of both, not of the one read most often."""
    texts = {
        "nginx.conf": b"http { server { include s; include t; } server { include t; location / { include s; b; } }"
        b" server { location / { include t; } include s; } }",
        "s": b"a;\n",
        "t": b"b;\n",
    }
    found = judged(configuration(texts), made_rule(change_all)).diagnostics
    assert [(one.path, one.fix) for one in found] == [("s", None)]
    assert found[0].finding.help.startswith("delete them by hand: ")


def test_one_change_for_findings_in_different_places() -> None:
    """A change of a file that is read twice stands if each of two findings, one for each place, asks for it."""
    texts = {"nginx.conf": b"http { server { a; include s; } server { a; include s; } }", "s": b"b;\nc;\n"}

    def check(model: Model) -> Iterator[Finding]:
        for found, level in model.each("a"):
            for other in level.own("b"):
                yield Finding(found.source, found.name.span, "found", gone(other))

    found = judged(configuration(texts), made_rule(check)).diagnostics
    assert len(found) == 2
    assert all(one.fix for one in found)
    assert texts_of(texts, mended(texts, made_rule(check)))["s"] == b"c;\n"
    alone = {**texts, "nginx.conf": b"http { server { a; include s; } server { include s; } }"}
    assert [one.fix for one in judged(configuration(alone), made_rule(check)).diagnostics] == [None]


def test_what_is_to_be_done_for_each_reading_is_one_fix() -> None:
    """What is found in a file and mended where it is included is mended for all places at once, unless that clashes."""
    servers = b"".join(b"server { include s; b %d; }\n" % number for number in range(100))
    texts = {"nginx.conf": b"http {\n%s}\n" % servers, "s": b"a;\n"}

    def check(model: Model) -> Iterator[Finding]:
        for found, level in model.each("a"):
            for other in level.own("b"):
                yield Finding(found.source, found.name.span, "found", gone(other))

    (one,) = judged(configuration(texts), made_rule(check)).diagnostics
    assert one.fix
    assert len(one.fix.changes) == 100
    fixed = mended(texts, made_rule(check))
    assert fixed.made == {"made": 1}
    assert fixed.drafts["nginx.conf"].text.count(b"{ include s; }") == 100


def test_findings_are_of_files() -> None:
    """What is found in one of the readings of a file is told, with all it is related to, as found in the file."""
    config = configuration({"nginx.conf": TWO_SERVERS, "s": b"a;"})

    def check(model: Model) -> Iterator[Finding]:
        for found, _ in model.each("a"):
            related = Related(found.source, found.span, "see here")
            yield Finding(found.source, found.span, "found", gone(found), "", (related,))

    (one,) = judged(config, made_rule(check)).diagnostics
    assert one.fix
    files = {file.source for file in config.files}
    assert {one.finding.source, one.finding.related[0].source, one.fix.changes[0].source} <= files


def test_a_fragment_is_read_once() -> None:
    """A file that may stand in several contexts is read in one place."""
    config = configuration({"nginx.conf": b"gzip on;"})
    assert len(config.contexts("nginx.conf")) > 1
    (one,) = judged(config, about("gzip", gone)).diagnostics
    assert one.fix
