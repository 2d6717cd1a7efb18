"""Faults of the form for many rules of a server, which takes the newline off the URI once."""

from __future__ import annotations

from tests.rewrite.mutations.fault import Mutation, both, maps, text
from tests.rewrite.mutations.obligations import Refutation
from tests.rewrite.mutations.programs import NEVER

SET = b"set $m_line $uri;\n"
CLEARS = b"    " + NEVER
LAST = b'if ($m_key_3 = $uri) {\n    rewrite ^ "/x/capitals" permanent;\n}\n'

MUTATIONS = (
    Mutation(
        "line not set",
        "The variable of the line is never set.",
        "lines",
        Refutation.NEITHER_GUARD_NOR_CLASS,
        text(SET, b""),
    ),
    Mutation(
        "line of the request",
        "The variable of the line holds something else.",
        "lines",
        Refutation.NEITHER_GUARD_NOR_CLASS,
        text(SET, b"set $m_line $request_uri;\n"),
    ),
    Mutation(
        "line not stripped",
        "The newline is not taken off.",
        "lines",
        Refutation.NEWLINE_NOT_TAKEN_OFF,
        text(b"    set $m_line $m_text;\n", b""),
    ),
    Mutation(
        "line stripped anywhere",
        "The newline is taken off wherever it stands.",
        "lines",
        Refutation.NEWLINE_NOT_TAKEN_OFF,
        text(b'~ "\\n\\z"', b'~ "\\n"'),
    ),
    Mutation(
        "line before a newline",
        "`$` also stands before a newline.",
        "lines",
        Refutation.NEWLINE_NOT_TAKEN_OFF,
        text(b'~ "\\n\\z"', b'~ "\\n$"'),
    ),
    Mutation(
        "another variable tested",
        "The newline is looked for in what the client sent.",
        "lines",
        Refutation.NEITHER_GUARD_NOR_CLASS,
        text(b"if ($m_line ~", b"if ($request_uri ~"),
    ),
    Mutation(
        "captures of the newline",
        "Captures of the newline stay.",
        "lines",
        Refutation.NEWLINE_NOT_TAKEN_OFF,
        text(CLEARS, b""),
    ),
    Mutation(
        "rule in the block",
        "A rule stands where the newline is taken off.",
        "lines",
        Refutation.NEWLINE_NOT_TAKEN_OFF,
        text(CLEARS, b"    rewrite ^ /x last;\n"),
    ),
    Mutation(
        "line compared with the URI",
        "The guard compares with the URI.",
        "lines",
        Refutation.NOT_AN_EXACT_GUARD,
        text(b" = $m_line)", b" = $uri)"),
    ),
    Mutation(
        "line set behind the guards",
        "The variable of the line is set too late.",
        "lines",
        Refutation.NEITHER_GUARD_NOR_CLASS,
        both(text(SET, b""), text(LAST, LAST + SET)),
    ),
    Mutation(
        "line cut short",
        "The text is cut short.",
        "lines",
        Refutation.REGEX_FOR_A_KEY,
        maps(b".*)\\n\\z", b".*).\\n\\z"),
    ),
    Mutation(
        "line to the first newline",
        "The text stops at the first newline.",
        "lines",
        Refutation.REGEX_FOR_A_KEY,
        maps(b"(?s)", b""),
    ),
    Mutation(
        "text of another group",
        "The text is another group's.",
        "lines",
        Refutation.REGEX_FOR_A_KEY,
        maps(b" $m_rest;", b" $uri;"),
    ),
    Mutation(
        "text with a key",
        "The map of the text has a key.",
        "lines",
        Refutation.REGEX_FOR_A_KEY,
        maps(b'    "~', b'    "/page-1" "/page-2";\n    "~'),
    ),
    Mutation(
        "text with a default",
        "The map of the text has a default.",
        "lines",
        Refutation.DEFAULT_BESIDE_A_REGEX,
        maps(b'    default "";\n    "~', b'    default "/page-1";\n    "~'),
    ),
    Mutation(
        "text with a key behind",
        "The map of the text has a key behind its pattern.",
        "lines",
        Refutation.KEY_BESIDE_A_REGEX,
        maps(b" $m_rest;\n", b' $m_rest;\n    "/page-1" "/page-2";\n'),
    ),
    Mutation(
        "text cached",
        "The first text answers for all internal redirects.",
        "lines",
        Refutation.NOT_VOLATILE,
        maps(b'{\n    volatile;\n    default "";\n    "~', b'{\n    default "";\n    "~'),
    ),
    Mutation(
        "target asked about the URI",
        "A target is not found where the URI ends in a newline.",
        "lines",
        Refutation.DOES_SOMETHING_ELSE,
        maps(b"map $m_line $m_to ", b"map $uri $m_to "),
    ),
    Mutation(
        "target asked about the request",
        "A target is asked about what the client sent.",
        "lines",
        Refutation.NAME_OF_NGINX,
        maps(b"map $m_line $m_to ", b"map $request_uri $m_to "),
    ),
    Mutation(
        "keys asked about the host",
        "The keys are asked about something else.",
        "lines",
        Refutation.NAME_OF_NGINX,
        maps(b"map $m_line $m_key ", b"map $host $m_key "),
    ),
    Mutation(
        "key without a twin",
        "A key of strings without a twin is moved to those with one.",
        "lines",
        Refutation.DOES_SOMETHING_ELSE,
        maps(b'    "/page-1" ', b'    "/exact" "/exact";\n    "/page-1" '),
    ),
    Mutation(
        "every spelling",
        "Every spelling is answered.",
        "lines",
        Refutation.NOT_AN_EXACT_GUARD,
        maps(b'"/page-1";', b"$uri;"),
    ),
)
