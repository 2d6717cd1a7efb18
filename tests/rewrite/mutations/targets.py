"""Faults of the form without a guard, in which a target is one."""

from __future__ import annotations

from tests.rewrite.mutations.fault import Mutation, both, maps, text
from tests.rewrite.mutations.obligations import Refutation

PATTERN = rb'"^[^A-Z]*\z"'
CONDITION = b'if ($m_to_2 ~ "(?s)^(?<m_rest>.+)")'
TWO_REWRITES = b"""    rewrite "^[^A-Z]*\\z" "$m_to" permanent;
    rewrite ^ "$m_to" permanent;
"""

MUTATIONS = (
    Mutation(
        "spellings not left out",
        "Every spelling of a key fires.",
        "targets",
        Refutation.FIRES_ANEW,
        text(PATTERN, b"^"),
    ),
    Mutation(
        "spellings left out",
        "Rules that ignore case fire on one spelling only.",
        "spellings",
        Refutation.FIRES_NO_MORE,
        text(b"rewrite ^ ", b"rewrite %s " % PATTERN),
    ),
    Mutation(
        "spellings left out before a newline",
        "`$` also stands before a newline, behind which nothing is looked at.",
        "targets",
        Refutation.TARGET_SPELLED,
        text(PATTERN, b'"^[^A-Z]*$"'),
    ),
    Mutation(
        "spellings left out at the start",
        "Nothing is looked at behind the first letters.",
        "targets",
        Refutation.TARGET_SPELLED,
        text(PATTERN, b'"^[^A-Z]*"'),
    ),
    Mutation(
        "other spellings left out",
        "The keys are left out.",
        "targets",
        Refutation.TARGET_SPELLED,
        text(PATTERN, rb'"^[^a-z]*\z"'),
    ),
    Mutation(
        "capital in a key",
        "A key fires on the spelling that is not its own.",
        "targets",
        Refutation.TARGET_SPELLED,
        maps(b'"/a" ', b'"/A" '),
    ),
    Mutation(
        "empty target",
        "A key is taken for none.",
        "targets",
        Refutation.TARGETS_NOT_TEXTS,
        maps(b'"/to/a"', b'""'),
    ),
    Mutation(
        "target that is false",
        "`if` takes 0 for false.",
        "targets",
        Refutation.TARGETS_NOT_TEXTS,
        maps(b'"/to/a"', b'"0"'),
    ),
    Mutation(
        "target that may be empty",
        "A variable may be empty.",
        "targets",
        Refutation.TARGETS_NOT_TEXTS,
        maps(b'"/to/a"', b'"$arg_to"'),
    ),
    Mutation(
        "target of no key",
        "All URIs have a target.",
        "targets",
        Refutation.TARGETS_NOT_TEXTS,
        maps(b'default "";', b'default "/to/a";'),
    ),
    Mutation(
        "target of an empty URI",
        "An empty URI, to which an internal redirect may lead, has a target.",
        "targets",
        Refutation.TARGETS_NOT_TEXTS,
        maps(b'    "/a" ', b'    "" "/to/a";\n    "/a" '),
    ),
    Mutation(
        "target of the request",
        "What the client sent is looked up.",
        "targets",
        Refutation.NAME_OF_NGINX,
        maps(b"map $uri $m_to ", b"map $request_uri $m_to "),
    ),
    Mutation(
        "target cached",
        "The target of the first URI answers for all internal redirects.",
        "targets",
        Refutation.NOT_VOLATILE,
        maps(b"    volatile;\n", b""),
    ),
    Mutation(
        "target of one more URI",
        "A URI of no rule has a target.",
        "targets",
        Refutation.FIRES_ANEW,
        maps(b'    "/a" ', b'    "/z" "/to/z";\n    "/a" '),
    ),
    Mutation(
        "target without a twin",
        "A URI with a final newline has no target.",
        "targets",
        Refutation.FIRES_NO_MORE,
        maps(b'    "/a\\n" ', b'    "/y" '),
    ),
    Mutation(
        "target of a map that is none",
        "The map is not there.",
        "targets",
        Refutation.CAPTURES_NOT_EMPTIED,
        both(text(b"($m_to)", b"($m_no)"), text(b'"$m_to"', b'"$m_no"')),
    ),
    Mutation(
        "a second rewrite",
        "It fires where the first does not.",
        "targets",
        Refutation.TARGET_OF_MANY,
        text(b'    rewrite "^[^A-Z]*\\z" "$m_to" permanent;\n', TWO_REWRITES),
    ),
    Mutation(
        "target of another map",
        "The guard is the other's.",
        "targets",
        Refutation.FIRES_NO_MORE,
        text(b"if ($m_to)", b"if ($m_to_2)"),
    ),
    Mutation(
        "target not captured",
        "$1 to $9 stay as they were.",
        "targets",
        Refutation.CAPTURES_NOT_EMPTIED,
        both(text(CONDITION, b"if ($m_to_2)"), text(b"$m_rest", b"$m_to_2")),
    ),
    Mutation(
        "target captured by all URIs",
        "The pattern also matches nothing.",
        "targets",
        Refutation.NEITHER_GUARD_NOR_CLASS,
        text(b".+)", b".*)"),
    ),
    Mutation(
        "target captured to a newline",
        "The text ends at its first newline.",
        "targets",
        Refutation.NEITHER_GUARD_NOR_CLASS,
        text(b"(?s)^(?<m_rest>", b"^(?<m_rest>"),
    ),
    Mutation(
        "target captured in a long name",
        "PCRE2 before 10.44 refuses the name.",
        "targets",
        Refutation.NEITHER_GUARD_NOR_CLASS,
        text(b"m_rest", b"m_rest" + b"x" * 27, count=2),
    ),
    Mutation(
        "target captured for another rewrite",
        "The variable is read where nothing has set it.",
        "targets",
        Refutation.DOES_SOMETHING_ELSE,
        text(b'"$m_to"', b'"$m_rest"'),
    ),
    Mutation(
        "target captured and not read",
        "Another variable is read.",
        "targets",
        Refutation.DOES_SOMETHING_ELSE,
        text(b"(?<m_rest>", b"(?<m_other>"),
    ),
    Mutation(
        "target captured in a map",
        "The variable is that of a map.",
        "targets",
        Refutation.TARGET_CAPTURED_ELSEWHERE,
        both(text(b"(?<m_rest>", b"(?<m_to>"), text(b"$m_rest", b"$m_to")),
    ),
    Mutation(
        "target captured in a variable of nginx",
        "The arguments are lost.",
        "targets",
        Refutation.NAME_OF_NGINX,
        both(text(b"(?<m_rest>", b"(?<args>"), text(b"$m_rest", b"$args")),
    ),
    Mutation(
        "target before a rule that may fail",
        "Another spelling of a key empties $1 to $9.",
        "first-stays",
        Refutation.CAPTURES_EMPTIED,
        both(
            maps(b'    "" "-";\n', b""),
            text(
                b'if ($m_key = $uri) {\n    rewrite ^ "/to/b"',
                b'if ($m_key) {\n    rewrite %s "/to/b"' % PATTERN,
            ),
        ),
    ),
)
