"""Faults of the `break` that ends the script of a server where a lookup found no rule."""

from __future__ import annotations

from tests.rewrite.mutations.fault import Mutation, text
from tests.rewrite.mutations.obligations import Refutation

HIT = b"if ($m_hit = 1) {"
GROUP = b"if ($m_rules = 1) {"
KIND = b"if ($m_kind = 1) {"


def stop(before: bytes, variable: bytes) -> bytes:
    """The statement in front of another one."""
    return b'if ($%s = "") {\n    break;\n}\n%s' % (variable, before)


MUTATIONS = (
    *(
        Mutation(
            f"break with {name}",
            "What comes behind does not run.",
            name,
            Refutation.BREAK_TOO_EARLY,
            text(before, stop(before, before[5:-7])),
        )
        for name, before in (
            ("more-classes", HIT),
            ("more-rules", HIT),
            ("more-files", HIT),
            ("more-groups", GROUP),
            ("more-kinds", KIND),
        )
    ),
    Mutation(
        "break of another lookup",
        "A rule that is found does not fire.",
        "stop-kinds",
        Refutation.KIND_WITHOUT_STATEMENTS,
        text(b'if ($m_kind = "")', b'if ($m_target = "")'),
    ),
    Mutation(
        "break of a group",
        "The first group is skipped.",
        "stop-groups",
        Refutation.GROUP_OF_OTHERS,
        text(b'if ($m_rules = "")', b"if ($m_rules = 1)"),
    ),
    Mutation(
        "break of a class",
        "The first class is skipped.",
        "stop-classes",
        Refutation.BREAK_TOO_EARLY,
        text(b'if ($m_hit = "")', b"if ($m_hit = 1)"),
    ),
    Mutation(
        "break before the keys",
        "No key is looked up.",
        "stop-classes",
        Refutation.BREAK_TOO_EARLY,
        text(b"if ($m_key = $uri) {", stop(b"if ($m_key = $uri) {", b"m_hit")),
    ),
    Mutation(
        "break and more",
        "It also sets a variable.",
        "stop-classes",
        Refutation.BREAK_TOO_EARLY,
        text(b"    break;", b"    set $m_hit 1;\n    break;"),
    ),
)
