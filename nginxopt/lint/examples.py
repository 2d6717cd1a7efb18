"""The parts of a rule's page that are verified: its sections, its examples, and what its fix may change."""

from __future__ import annotations

import re

from nginxopt.lint.declare import Page, Rule
from nginxopt.lint.diagnostic import Safety
from nginxopt.records import record
from nginxopt.settings.vocabulary import WHOLE_CONFIGURATION
from nginxopt.version import Version

FIX_SAFETY = "Fix safety"
SECTIONS = ("Why it matters", "Bad", "Good", "Silent", FIX_SAFETY, "When to ignore it", "References")
"""The headings of a page, in order; the page of a rule without fixes has no `FIX_SAFETY`."""

EFFECTS = {
    "nothing": "what clients and upstreams see stays as it is",
    "responses": "status, headers or body that a client gets, or whether it gets one",
    "upstream requests": "what an upstream is asked: version, headers, body, how often",
    "connections": "which connections are opened, kept or shared, by whom and for how long",
    "logs": "what is logged, where and when",
    "files": "what is written to disk, and where",
    "limits": "how much of a resource may be used: descriptors, memory, connections",
    "start": "whether and how nginx starts or reloads",
}
"""What a fix may change apart from speed, in the words of its page."""


AROUND = {
    None: (b"", b""),
    "http": (b"events {}\nhttp {\n", b"}\n"),
    "server": (b"events {}\nhttp {\nserver {\n", b"}\n}\n"),
    "location": (b"events {}\nhttp {\nserver {\nlocation / {\n", b"}\n}\n}\n"),
}
"""What stands before and after an example, by its context."""


@record(eq=True)
class Example:
    """A configuration of a page.

    `context` is the block whose content it is (`http`, `server`, `location`), None for a whole configuration. `target`
    is the target nginx version, None for the default.
    """

    kind: str
    text: str
    context: str | None
    target: Version | None


def sections(page: Page) -> dict[str, str]:
    """The text of each section, by heading."""
    parts = re.split(r"^## (.*)\n", page.text, flags=re.MULTILINE)[1:]
    return {heading.strip(): text.strip() for heading, text in zip(parts[::2], parts[1::2], strict=True)}


def effects(page: Page) -> tuple[str, ...]:
    """What the fix may change, in words of `EFFECTS`; empty if the page does not state it."""
    stated = re.match(r"May change: (.*)\.$", sections(page).get(FIX_SAFETY, ""), re.MULTILINE)
    return tuple(stated[1].split(", ")) if stated else ()


def examples(page: Page) -> tuple[Example, ...]:
    """The examples under Bad, Good and Silent, in page order."""
    return tuple(
        Example(heading.lower(), text, *_fence(words))
        for heading, section in sections(page).items()
        for words, text in re.findall(r"^```nginx([^\n]*)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    )


def declares(rule: Rule, safety: Safety) -> bool:
    """Whether a rule declares fixes of that safety, apart from the premise that the engine adds."""
    safety = safety.given(frozenset([WHOLE_CONFIGURATION]))
    declared = (fix for fix in rule.fixes if fix.grade is safety.grade)
    return any((safety.premises or frozenset()) <= (fix.premises or frozenset()) for fix in declared)


def wrapped(text: str | bytes, context: str | None) -> bytes:
    """Return the whole configuration in which a text is the content of a block."""
    head, tail = AROUND[context]
    return head + (text.encode() if isinstance(text, str) else text) + tail


def _fence(words: str) -> tuple[str | None, Version | None]:
    """The context and target version named by the words of a fence."""
    versions = [Version.parse(word) for word in words.split() if word[0].isdigit()]
    contexts = [word for word in words.split() if not word[0].isdigit()]
    return next(iter(contexts), None), next(iter(versions), None)
