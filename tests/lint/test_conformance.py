"""What `nginxopt rules test` says of a rule: nothing of ours, and something of each kind of fault."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

import pytest

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Page, Rule, Safety, Severity
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.conformance import failures
from nginxopt.lint.suppress import FAULTY, UNUSED

PAGE = """A title

What it flags.

## Why it matters
A reason.

## Bad
```nginx http
gzip on;
```

## Good
```nginx http
gzip off;
```

## Silent
```nginx http
gzip_vary on;
```

## Fix safety
May change: responses.

## When to ignore it
Never.

## References
- a book
"""


def check(model: Model) -> Iterator[Finding]:
    """Report `gzip on`, and turn it off."""
    for directive, _ in model.each("gzip"):
        if directive.args[0] == "on":
            fix = Fix("turn it off", (layout.replace(directive, directive.args[0], "off"),), Safety.UNSAFE)
            yield Finding(directive.source, directive.span, "gzip is on", fix)


RULE = Rule("acme-gzip", check, Page(PAGE), Severity.INFO, "client", (Safety.UNSAFE,), origin="acme_gzip.py")


def told(rule: Rule) -> list[str]:
    """The failures of a rule, each as one text."""
    return [f"{failure.part}: {failure.message}" for failure in failures(rule)]


def with_page(old: str, new: str) -> Rule:
    """The rule with another page."""
    assert old in PAGE
    return replace(RULE, page=Page(PAGE.replace(old, new, 1).strip()))


def noisy(model: Model) -> Iterator[Finding]:
    """Report every directive gzip and gzip_vary."""
    yield from check(model)
    for directive, _ in model.each("gzip_vary"):
        yield Finding(directive.source, directive.span, "gzip_vary is there")


def endless(model: Model) -> Iterator[Finding]:
    """Report every gzip, and make its value longer."""
    for directive, _ in model.each("gzip"):
        change = layout.replace(directive, directive.args[0], f"{directive.args[0]}x")
        yield Finding(directive.source, directive.span, "gzip is on.", Fix("add x", (change,), Safety.UNSAFE))


def breaking(model: Model) -> Iterator[Finding]:
    """Report `gzip on`, and delete the end of its statement."""
    for finding in check(model):
        assert finding.fix
        (change,) = finding.fix.changes
        edit = replace(change.edit, text=b"{")
        yield replace(finding, fix=replace(finding.fix, changes=(replace(change, edit=edit),)))


def outside(model: Model) -> Iterator[Finding]:
    """Report `gzip on`, turn it off, and delete what is before the block."""
    for finding in check(model):
        assert finding.fix
        (change,) = finding.fix.changes
        edit = replace(change.edit, span=replace(change.edit.span, start=0, end=9), text=b"")
        yield replace(finding, fix=replace(finding.fix, changes=(change, replace(change, edit=edit))))


@pytest.mark.no_cover
@pytest.mark.parametrize("rule", catalogue().values(), ids=attrgetter("id"))
def test_our_rules_pass(rule: Rule) -> None:
    """Nothing is wrong with the rules of nginxopt; those about comments need all others (see `test_rules`)."""
    needs_others = rule.id in (FAULTY, UNUSED)
    assert [text for text in told(rule) if not needs_others or text.startswith("page:")] == []


def test_a_whole_rule_passes() -> None:
    """Nothing is wrong with the rule that the faults below are made of."""
    assert told(replace(RULE, page=Page(PAGE.strip()))) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (PAGE, "", "page: the module has no docstring"),
        ("A title", "A title.", "page: the title ends with a full stop"),
        ("What it flags.\n", "", "page: there is no text between the title and the first section"),
        ("## Why it matters\nA reason.\n\n", "", "page: the sections are Bad, Good, Silent, Fix safety, When to"),
        ("## Silent\n```nginx http\ngzip_vary on;\n```\n", "## Silent\n", "page: no example under Silent"),
        ("May change: responses.", "It is safe.", 'page: "Fix safety" does not begin with "May change: "'),
        ("May change: responses.", "May change: a lot.", 'page: "Fix safety" does not begin with "May change: "'),
        ("gzip on;", "gzip off;", "bad 1: nothing is found"),
        ("gzip on;", "gzip on;\n}", "bad 1: the example cannot be read\nnginx.conf:"),
        (
            "```nginx http\ngzip on",
            "```nginx events\ngzip on",
            'bad 1: unknown context "events": use http, server, loc',
        ),
        ("gzip off;", "gzip  off;", "bad 1: the fix does not make the first good example of it\n--- example"),
        ("gzip off;", "gzip on;", "good 1: something is found at line 3 of the whole configuration: gzip is on"),
        ("gzip_vary on;", "gzip on;", "silent 1: something is found at line 3"),
    ],
)
def test_a_fault_of_the_page(old: str, new: str, message: str) -> None:
    """A page that lacks something, or whose examples are wrong, is a failure that says so."""
    assert any(text.startswith(message) for text in told(with_page(old, new))), told(with_page(old, new))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"check": lambda _: iter(())}, "bad 1: nothing is found"),
        ({"check": noisy}, "silent 1: something is found at line 3"),
        ({"check": endless}, "bad 1: the fix fails\nthe fixes of acme-gzip do not terminate"),
        ({"check": endless}, "bad 1: the message is not one sentence on one line without a full stop"),
        ({"check": breaking}, "bad 1: the fix fails\nthe fixes of acme-gzip made the file unreadable"),
        ({"check": outside}, "bad 1: the fix fails\nit changes what is around the example"),
        ({"check": lambda _: [][0]}, "bad 1: acme_gzip.py: rule acme-gzip failed: IndexError"),
        ({"fixes": (Safety.SAFE,)}, "fix: the rule does not declare a fix that is unsafe"),
        ({"fixes": (Safety.SAFE, Safety.UNSAFE)}, "fix: no example has a fix that is safe, the safest that the rule"),
        ({"fixes": (Safety.UNSAFE, Safety.SAFE)}, "fix: the rule does not declare the safest fix first"),
        ({"fixes": ()}, "page: the sections are Why it matters, Bad, Good, Silent, Fix safety"),
    ],
)
def test_a_fault_of_the_rule(changes: dict[str, object], message: str) -> None:
    """A rule that does not do what its page says is a failure that says so."""
    rule = replace(RULE, page=Page(PAGE.strip()), **changes)  # type: ignore[arg-type]
    assert any(text.startswith(message) for text in told(rule)), told(rule)
