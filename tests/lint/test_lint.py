"""Running rules: findings are sorted and unique, and have a fix only if it is right wherever their file is included."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config import Directive
from nginxopt.config.layout import delete, replace
from nginxopt.lint import Finding, Fix, Model, Related, Safety, Severity
from nginxopt.lint.run import Selected, lint
from nginxopt.semantics import Level
from nginxopt.text import Change
from nginxopt.version import Version
from tests.lintrules import TARGET, about, configuration, fix_texts, rule_of, run_rules, texts_of
from tests.rows import every_row


def gone(directive: Directive) -> Fix:
    """Take a directive away."""
    return Fix("delete it", (delete(directive),))


@given(st.permutations(["a", "b", "c"]), st.lists(st.sampled_from("abc"), max_size=12))
def test_findings_stand_in_the_order_of_the_text(names: list[str], directives: list[str]) -> None:
    """Findings are sorted by place, rule and message, whatever the order of rules and of their findings."""
    config = configuration({"nginx.conf": "".join(f"{name};" for name in directives).encode()})

    def twice(name: str) -> Callable[[Model], Iterator[Finding]]:
        def check(model: Model) -> Iterator[Finding]:
            for diagnostics, _ in reversed(list(model.each(name))):
                yield Finding(diagnostics.source, diagnostics.name.span, "second")
                yield Finding(diagnostics.source, diagnostics.name.span, "first")

        return check

    diagnostics = run_rules(config, *(rule_of(twice(name), f"rule-{name}") for name in names)).diagnostics
    assert [(diagnostic.rule, diagnostic.message) for diagnostic in diagnostics] == [
        (f"rule-{name}", message) for name in directives for message in ("first", "second")
    ]


def test_files_come_in_the_order_of_reading() -> None:
    """Findings in an included file follow those of the file that includes it."""
    config = configuration({"nginx.conf": b"include b; a; include a;", "a": b"a;", "b": b"a;"})
    assert [diagnostic.path for diagnostic in run_rules(config, about("a")).diagnostics] == ["nginx.conf", "b", "a"]


def test_rules_run_for_their_versions() -> None:
    """A rule for other versions reports nothing, and a finding has the configured severity."""
    config = configuration({"nginx.conf": b"a;"})
    check = about("a").check
    late = rule_of(check, "late", since=Version(1, 23, 0))
    early = rule_of(check, "early", until=Version(1, 22, 1))
    diagnostics = lint(
        Model(config, TARGET), [Selected(late, Severity.INFO), Selected(early, Severity.ERROR)]
    ).diagnostics
    assert [(diagnostic.rule, diagnostic.severity) for diagnostic in diagnostics] == [("early", Severity.ERROR)]


def test_an_error_is_reported_once_and_other_rules_run() -> None:
    """An error that stops several rules is reported once, and the other rules still run."""
    config = configuration({"nginx.conf": b"a;"})

    def refuse(model: Model) -> Iterator[Finding]:
        yield from ()
        raise next(model.each("a"))[0].error("this is refused")

    linted = run_rules(config, rule_of(refuse, "one"), rule_of(refuse, "two"), about("a"))
    assert [error.message for error in linted.errors] == ["this is refused"]
    assert [diagnostic.rule for diagnostic in linted.diagnostics] == ["test-rule"]


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


@every_row("texts", SHARED.values(), ids=SHARED.keys())
def test_a_finding_is_reported_once(texts: dict[str, bytes]) -> None:
    """A file that is included several times has one finding, with the fix that is right in all places."""
    texts = {**texts, "s": b"a; b;"}
    diagnostics = run_rules(configuration(texts), about("a", gone)).diagnostics
    assert [(diagnostic.path, diagnostic.fix is not None) for diagnostic in diagnostics] == [("s", True)]
    assert texts_of(texts, fix_texts(texts, about("a", gone)))["s"] == b"b;"


@every_row("texts", SHARED.values(), ids=SHARED.keys())
def test_a_fix_that_not_all_places_have_is_withdrawn(texts: dict[str, bytes]) -> None:
    """A fix is withdrawn, with the reason, if only some places that include the file have the finding."""
    texts = {**texts, "s": b"a;"}

    def first_only(model: Model) -> Iterator[Finding]:
        matched, _ = next(model.each("a"))
        for _ in range(2):  # the same place again is no other place
            yield Finding(matched.source, matched.name.span, "found", gone(matched), "or leave it")

    (diagnostic,) = run_rules(configuration(texts), rule_of(first_only)).diagnostics
    assert diagnostic.fix is None
    assert diagnostic.finding.help == (
        "delete it (not by --fix: s is included in 2 places, and the fix is not right for all); or leave it"
    )


def test_a_fix_that_differs_between_places_is_withdrawn() -> None:
    """A fix is withdrawn if two places that include the file need different text."""
    texts = {"nginx.conf": TWO_SERVERS, "s": b"a 1;"}

    def check(model: Model) -> Iterator[Finding]:
        for number, (matched, _) in enumerate(model.each("a")):
            change = replace(matched, matched.args[0], str(number + 5))
            yield Finding(matched.source, matched.name.span, "found", Fix("put another", (change,)))

    (diagnostic,) = run_rules(configuration(texts), rule_of(check)).diagnostics
    assert diagnostic.fix is None
    assert "included in 2 places" in diagnostic.finding.help


def test_a_safe_fix_for_one_place_is_none_for_the_other() -> None:
    """A fix that is safe in one place only is not offered as safe."""
    texts = {"nginx.conf": TWO_SERVERS, "s": b"a;"}

    def check(model: Model) -> Iterator[Finding]:
        for (matched, _), safety in zip(model.each("a"), (Safety.SAFE, Safety.UNSAFE), strict=True):
            yield Finding(matched.source, matched.name.span, "found", Fix("delete it", (delete(matched),), safety))

    assert [diagnostic.fix for diagnostic in run_rules(configuration(texts), rule_of(check)).diagnostics] == [None]


def change_all(model: Model) -> Iterator[Finding]:
    """Find each `a`, and take it away with all `b` of its level and of those around it."""
    for matched, level in model.each("a"):
        yield Finding(matched.source, matched.name.span, "found", Fix("delete them", tuple(_around(level, matched))))


def _around(level: Level | None, matched: Directive) -> Iterator[Change]:
    yield delete(matched)
    while level:
        yield from map(delete, level.own("b"))
        level = level.parent


def test_every_file_of_a_fix_counts() -> None:
    """A fix of two files is offered only if it is right for every place that includes either."""
    texts = {
        "nginx.conf": b"http { server { include s; include t; } server { include t; location / { include s; b; } }"
        b" server { location / { include t; } include s; } }",
        "s": b"a;\n",
        "t": b"b;\n",
    }
    diagnostics = run_rules(configuration(texts), rule_of(change_all)).diagnostics
    assert [(diagnostic.path, diagnostic.fix) for diagnostic in diagnostics] == [("s", None)]
    assert diagnostics[0].finding.help.startswith("delete them (not by --fix: ")


def test_one_change_for_findings_in_different_places() -> None:
    """A change of a file included twice is offered if the findings of both places ask for it."""
    texts = {"nginx.conf": b"http { server { a; include s; } server { a; include s; } }", "s": b"b;\nc;\n"}

    def check(model: Model) -> Iterator[Finding]:
        for matched, level in model.each("a"):
            for other in level.own("b"):
                yield Finding(matched.source, matched.name.span, "found", gone(other))

    diagnostics = run_rules(configuration(texts), rule_of(check)).diagnostics
    assert len(diagnostics) == 2
    assert all(diagnostic.fix for diagnostic in diagnostics)
    assert texts_of(texts, fix_texts(texts, rule_of(check)))["s"] == b"c;\n"
    alone = {**texts, "nginx.conf": b"http { server { a; include s; } server { include s; } }"}
    assert [diagnostic.fix for diagnostic in run_rules(configuration(alone), rule_of(check)).diagnostics] == [None]


def test_fixes_of_all_including_files_are_one_fix() -> None:
    """A finding in an included file has one fix for all files that include it, unless the edits overlap."""
    servers = b"".join(b"server { include s; b %d; }\n" % number for number in range(100))
    texts = {"nginx.conf": b"http {\n%s}\n" % servers, "s": b"a;\n"}

    def check(model: Model) -> Iterator[Finding]:
        for matched, level in model.each("a"):
            for other in level.own("b"):
                yield Finding(matched.source, matched.name.span, "found", gone(other))

    (diagnostic,) = run_rules(configuration(texts), rule_of(check)).diagnostics
    assert diagnostic.fix
    assert len(diagnostic.fix.changes) == 100
    fixed = fix_texts(texts, rule_of(check))
    assert fixed.made == {"test-rule": 1}
    assert fixed.drafts["nginx.conf"].text.count(b"{ include s; }") == 100


def test_findings_are_of_files() -> None:
    """A finding, its related places and its fix refer to the file, not to one of its inclusions."""
    config = configuration({"nginx.conf": TWO_SERVERS, "s": b"a;"})

    def check(model: Model) -> Iterator[Finding]:
        for matched, _ in model.each("a"):
            related = Related(matched.source, matched.span, "see here")
            yield Finding(matched.source, matched.span, "found", gone(matched), "", (related,))

    (diagnostic,) = run_rules(config, rule_of(check)).diagnostics
    assert diagnostic.fix
    files = {file.source for file in config.files}
    assert {diagnostic.finding.source, diagnostic.finding.related[0].source, diagnostic.fix.changes[0].source} <= files


def test_a_fragment_is_read_once() -> None:
    """A fragment that fits several contexts is checked in one of them."""
    config = configuration({"nginx.conf": b"gzip on;"})
    assert len(config.contexts("nginx.conf")) > 1
    (diagnostic,) = run_rules(config, about("gzip", gone)).diagnostics
    assert diagnostic.fix
