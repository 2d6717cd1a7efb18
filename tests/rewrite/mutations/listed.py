"""Faults of the patterns that list the keys, in a location."""

from __future__ import annotations

from dataclasses import replace

from nginxopt.config import load_text
from nginxopt.rewrite import Emission, emit, plan
from tests.rewrite.mutations.fault import Mutation, both, maps, text
from tests.rewrite.mutations.obligations import Refutation
from tests.rewrite.mutations.programs import KEPT_X, KINDS, LISTED_C, LISTED_ONE, NAMED


def guarded(emission: Emission) -> Emission:
    """Put what is right in a server into the location."""
    config = load_text(KINDS["location-one"], context="server")
    other = emit(plan(config, NAMED))
    change = replace(emission.changes[0], after=other.changes[0].after)
    return replace(emission, maps=other.maps, changes=(change,))


MUTATIONS = (
    Mutation(
        "if in a location",
        "A guard swaps the configuration of the location, and what an `if` before it said is lost.",
        "location-one",
        Refutation.IF_IN_A_LOCATION,
        guarded,
    ),
    Mutation(
        "listed too much",
        "A pattern lists a URI of no rule.",
        "location",
        Refutation.FIRES_ANEW,
        text(b"^/l/(?:a|b|d)$", b"^/l/(?:a|b|d|z)$"),
    ),
    Mutation(
        "listed too little",
        "A pattern lacks a URI.",
        "location",
        Refutation.FIRES_NO_MORE,
        text(b"^/l/(?:a|b|d)$", b"^/l/(?:a|b)$"),
    ),
    Mutation(
        "lists of no start",
        "A pattern matches anywhere.",
        "location",
        Refutation.NEW_RULE_LISTS_NOTHING,
        text(b"^/l/(?:a|b|d)$", b"/l/(?:a|b|d)$"),
    ),
    Mutation(
        "lists of no end",
        "A pattern matches what is longer.",
        "location",
        Refutation.NEW_RULE_LISTS_NOTHING,
        text(b"^/l/(?:a|b|d)$", b"^/l/(?:a|b|d)"),
    ),
    Mutation(
        "lists of another end",
        "A final newline fires no more.",
        "location",
        Refutation.FIRES_NO_MORE,
        text(b"(?:a|b|d)$", b"(?:a|b|d)\\z"),
    ),
    Mutation(
        "lists in any case",
        "Any case of a key fires.",
        "location",
        Refutation.DOES_SOMETHING_ELSE,
        text(b'"^/l/(?:a|b|d)$', b'"(?i)^/l/(?:a|b|d)$'),
    ),
    Mutation(
        "lists in one case",
        "One spelling only fires.",
        "location",
        Refutation.FIRES_NO_MORE,
        text(b'"(?i)^/l/any', b'"^/l/any'),
    ),
    Mutation(
        "lists by a class",
        "A class is no list.",
        "location",
        Refutation.NEW_RULE_LISTS_NOTHING,
        text(b"^/l/(?:a|b|d)$", b"^/l/[abd]$"),
    ),
    Mutation(
        "lists by a dot",
        "Any byte matches.",
        "location",
        Refutation.NEW_RULE_LISTS_NOTHING,
        text(b"^/l/(?:a|b|d)$", b"^/l/.$"),
    ),
    Mutation(
        "lists that capture",
        "After a rule without groups, $1 is not empty.",
        "location",
        Refutation.NEW_RULE_LISTS_NOTHING,
        text(b"(?:a|b|d)$", b"(a|b|d)$"),
    ),
    Mutation(
        "listed without a flag",
        "The rules go on.",
        "location",
        Refutation.GONE_MATCHES_TOO_MANY,
        text(b'to_2" break', b'to_2"'),
    ),
    Mutation(
        "listed break as last",
        "Another location answers.",
        "location",
        Refutation.DOES_SOMETHING_ELSE,
        text(b'to_2" break', b'to_2" last'),
    ),
    Mutation(
        "listed target of another",
        "A key leads elsewhere.",
        "location",
        Refutation.DOES_SOMETHING_ELSE,
        maps(b'"/to/a"', b'"/to/b"'),
    ),
    Mutation(
        "listed target lost",
        "A final newline leads nowhere.",
        "location",
        Refutation.DOES_SOMETHING_ELSE,
        maps(b'    "/l/a\\n"     "/to/a";\n', b""),
    ),
    Mutation(
        "listed target cached",
        "The first lookup answers for all.",
        "location",
        Refutation.NOT_VOLATILE,
        maps(b"    volatile;\n", b""),
    ),
    Mutation(
        "listed target of the request",
        "Targets are looked up by what the client sent.",
        "location",
        Refutation.NAME_OF_NGINX,
        maps(b"map $uri $m_listed_to ", b"map $request_uri $m_listed_to "),
    ),
    Mutation(
        "listed constant part",
        "The host is another.",
        "location-host",
        Refutation.DOES_SOMETHING_ELSE,
        text(b"https://$host$m", b"https://h$m"),
    ),
    Mutation(
        "lists before a rule that stays",
        "Its $1 is emptied first.",
        "location",
        Refutation.NEW_RULE_LISTS_NOTHING,
        both(text(KEPT_X, b""), text(LISTED_C, LISTED_C + KEPT_X)),
    ),
    Mutation(
        "lists behind a rule that stays",
        "It is asked first.",
        "location-first",
        Refutation.NEW_RULE_LISTS_NOTHING,
        both(text(LISTED_ONE, b""), text(b"#\xff\n", LISTED_ONE)),
    ),
    Mutation(
        "lists before the first rule",
        "The first rule stays, fails, and does not find $1 of the location.",
        "location-stays",
        Refutation.CAPTURES_EMPTIED,
        both(text(LISTED_ONE, b""), text(b"rewrite ^/(a+)+$", LISTED_ONE + b"rewrite ^/(a+)+$")),
    ),
    Mutation("lists lost", "The rules are gone.", "location", Refutation.FIRES_NO_MORE, text(LISTED_C, b"")),
    Mutation(
        "any case before the exact one",
        "The first match is not the first.",
        "location-case",
        Refutation.DOES_SOMETHING_ELSE,
        both(
            text(b'rewrite "^/ANY$" "$m_listed_to" permanent;\n', b""),
            text(b"try_files", b'rewrite "^/ANY$" "$m_listed_to" permanent;\ntry_files'),
        ),
    ),
    Mutation(
        "listed redirect without a flag",
        "A redirect has the status that nginx gives by itself.",
        "location-host",
        Refutation.NEW_RULE_WITHOUT_A_FLAG,
        text(b'$m_listed_to" permanent', b'$m_listed_to"'),
    ),
    Mutation(
        "listed target that is none",
        "nginx refuses a $ without a name.",
        "location-host",
        Refutation.NEW_RULE_NOT_READ,
        text(b"https://$host$m", b"https://$host$!$m"),
    ),
    Mutation(
        "listed target of a variable",
        "Targets are looked up by a variable that nobody sets.",
        "location",
        Refutation.NEW_RULE_ASKS_ANOTHER_MAP,
        maps(b"map $uri $m_listed_to ", b"map $m_other $m_listed_to "),
    ),
)
