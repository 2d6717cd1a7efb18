"""The rules as text: tables, pages, JSON, and the commands that show them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from nginxopt.lint import IDLE_CONNECTIONS, Rule, Safety, Severity
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.report import pages
from nginxopt.settings.vocabulary import CATEGORIES
from nginxopt.version import Version
from tests.diagnostics import SAFETIES, rule
from tests.support import PATIENCE

pytestmark = pytest.mark.no_cover

OLD, NEW = Version(1, 7, 11), Version(1, 29, 6)
TLS = rule(
    "ssl-cert-variable",
    page="A variable | in `ssl_certificate`\n\nIt is read again.",
    severity=Severity.ERROR,
    category="tls",
    fixes=(Safety.UNSAFE,),
    since=OLD,
    default=False,
    scenario="hop",
)
HAND = rule("proxy-long", page="By hand\n\nAll.", category="proxy", fixes=())
POOL = rule("proxy-pool", page="A pool\n\nAll.", category="proxy", fixes=SAFETIES[1:])
RULES = [TLS, rule(), HAND, POOL]


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [(None, None, "all"), (OLD, None, "from 1.7.11"), (None, NEW, "up to 1.29.6"), (OLD, NEW, "1.7.11 to 1.29.6")],
)
def test_versions_are_words(since: Version | None, until: Version | None, expected: str) -> None:
    """The versions of a rule are told in words."""
    assert pages.versions(rule(since=since, until=until)) == expected


def test_the_table_stands_in_columns() -> None:
    """The table has a head for each category that has rules, and columns that are as wide as they must be."""
    assert "".join(pages.table(RULES)) == (
        "proxy: upstreams and proxied requests\n"
        "  proxy-long         warning                            all          By hand\n"
        "  proxy-pool         warning  --assume, --unsafe-fixes  all          A pool\n"
        "\n"
        "client: client connections and compression\n"
        "  gzip-level         warning  --fix                     all          gzip_comp_level is above 6\n"
        "\n"
        "tls: TLS and HTTP/2\n"
        "  ssl-cert-variable  error    --unsafe-fixes            from 1.7.11  "
        "A variable | in `ssl_certificate` (only if selected)\n"
    )


def test_no_rules_make_no_table() -> None:
    """Without rules there is nothing to list."""
    assert list(pages.table([])) == []


def test_colours_only_add() -> None:
    """With colours table and page have the same text."""
    styles = re.compile(r"\x1b\[\d+m")
    plain, colored = "".join(pages.table(RULES)), "".join(pages.table(RULES, color=True))
    assert plain != colored
    assert plain == styles.sub("", colored)
    for listed in catalogue().values():
        text = pages.page(listed)
        assert pages.styled(text, color=False) == text
        assert styles.sub("", pages.styled(text, color=True)) == text != pages.styled(text, color=True)


def test_what_is_in_a_fence_has_no_style() -> None:
    """A comment of an example is no heading."""
    styled = pages.styled("# a\n```nginx\n# b `c`\n```\n`d`\n", color=True)
    assert "\n# b `c`\n" in styled
    assert "\x1b[1m# a\x1b[0m" in styled
    assert "\x1b[36m`d`\x1b[0m" in styled


def test_the_overview_has_a_row_for_each_category() -> None:
    """Each category has a row with links to its rules; the number of rules with each kind of fix stands above."""
    counts, _, _, _, *rows = "".join(pages.overview(RULES, "docs/rules")).splitlines()
    assert counts == (
        "4 rules. 1 have a safe fix (`--fix`), 1 have a fix that is safe under a [premise](docs/guide/premises.md) "
        "(`--assume`), 1 have an unsafe fix (`--unsafe-fixes`)."
    )
    assert len(rows) == len({rule.category for rule in RULES})
    assert f"| tls: {CATEGORIES['tls']} | [`ssl-cert-variable`](docs/rules/ssl-cert-variable.md) |" in rows


def test_a_bar_in_a_title_does_not_end_its_cell() -> None:
    """What stands in a cell of a table cannot end it."""
    assert "| A variable \\| in `ssl_certificate` (only if selected) |" in "".join(pages.markdown([TLS], ""))


def test_the_index_has_a_section_for_each_category() -> None:
    """The categories stand in their own order, each with its rules, whose pages are in the same folder."""
    text = "".join(pages.markdown(RULES, ""))
    assert re.findall("^## (.*)$", text, re.MULTILINE) == [
        f"{name}: {CATEGORIES[name]}" for name in ("proxy", "client", "tls")
    ]
    assert "| [`proxy-long`](proxy-long.md) | By hand | warning |  | all |\n" in text


def test_a_page_has_its_properties() -> None:
    """A page begins with the id, the title and what is to be known of the rule."""
    assert pages.page(TLS) == (
        "# ssl-cert-variable\n\nA variable | in `ssl_certificate`\n\n"
        "- Severity: error\n"
        "- Category: tls (TLS and HTTP/2)\n"
        "- Fix: unsafe (`--unsafe-fixes`): may change more than speed\n"
        "- nginx: from 1.7.11\n"
        "- On by default: no, only if selected\n"
        "- Benchmark: `nginxopt bench hop`\n"
        "\nIt is read again.\n"
    )
    safe = "- Fix: safe (`--fix`): every decoded response and every upstream request stays as it is\n"
    assert f"{safe}- nginx: all\n" in pages.page(rule())
    assert "- Fix: safe under premises (`--assume`): [`http11-backends`]" in pages.page(POOL)
    assert "; or unsafe (`--unsafe-fixes`): may change more than speed\n" in pages.page(POOL)
    assert "- Fix: none; correct it by hand\n" in pages.page(HAND)
    assert "- On by default: yes\n" in pages.page(HAND)


def run(*args: str) -> subprocess.CompletedProcess[str]:
    """What a command does."""
    command = [sys.executable, "-m", "nginxopt", *args]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment)


def any_rule() -> Rule:
    """A rule of the catalogue."""
    return next(iter(catalogue().values()))


def test_explain_shows_the_page() -> None:
    """`explain` prints the page as it is where nobody wants colours, whatever the encoding of the terminal."""
    done = run("explain", any_rule().id)
    assert (done.returncode, done.stdout, done.stderr) == (0, pages.page(any_rule()), "")


def test_explain_shows_a_premise() -> None:
    """`explain` prints a premise: its sentence, how to find out, and the rules whose fixes need it."""
    done = run("explain", IDLE_CONNECTIONS.name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == pages.premise_page(IDLE_CONNECTIONS, catalogue().values())
    assert done.stdout.startswith("# idle-connections\n\nThe upstream servers and this nginx ")
    assert "\nNeeded by [`proxy-pool`](" in pages.premise_page(IDLE_CONNECTIONS, RULES)


def test_explain_knows_what_was_meant() -> None:
    """A misspelt rule is wrong usage, and the hint has the right one; one like no other leads to the list."""
    done = run("explain", any_rule().id.replace("-", "_"))
    assert done.returncode == 2
    assert f'did you mean "{any_rule().id}"?' in done.stderr
    assert 'did you mean "idle-connections"?' in run("explain", "idle-connection").stderr
    assert "`nginxopt rules` lists the rules" in run("explain", "0").stderr


def test_rules_lists_all() -> None:
    """`rules` lists every rule as a table, as JSON and as Markdown."""
    rules = catalogue().values()
    assert run("rules").stdout == "".join(pages.table(rules))
    assert run("rules", "--format", "markdown").stdout == "".join(pages.markdown(rules))
    listed = json.loads(run("rules", "--format", "json").stdout)
    assert {rule["id"] for rule in listed} == set(catalogue())


def test_rules_have_their_values_as_json() -> None:
    """Each key of a rule has the value that its name says."""
    assert pages.data([TLS]) == [
        {
            "id": "ssl-cert-variable",
            "title": "A variable | in `ssl_certificate`",
            "category": "tls",
            "severity": "error",
            "fixes": ["unsafe"],
            "premises": [],
            "since": "1.7.11",
            "until": None,
            "default": False,
            "scenario": "hop",
            "url": "https://github.com/nginxopt/nginxopt/blob/main/docs/rules/ssl-cert-variable.md",
        }
    ]
