"""Faults of the guards: what makes a key fire."""

from __future__ import annotations

from tests.rewrite.mutations.fault import Mutation, maps, text
from tests.rewrite.mutations.obligations import Refutation

MUTATIONS = (
    Mutation(
        "no guard",
        "Any case of a key fires.",
        "many",
        Refutation.TARGETS_NOT_TEXTS,
        text(b"if ($m_key = $uri)", b"if ($m_key)"),
    ),
    Mutation(
        "guard of the request",
        "The key is compared with what the client sent.",
        "many",
        Refutation.NOT_AN_EXACT_GUARD,
        text(b"$m_key = $uri", b"$m_key = $request_uri"),
    ),
    Mutation(
        "negated guard",
        "All but the keys fire.",
        "two",
        Refutation.NEITHER_GUARD_NOR_CLASS,
        text(b"$m_key = $uri", b"$m_key != $uri"),
    ),
    Mutation(
        "guard by a regex",
        "A key is matched in a URI instead of compared.",
        "two",
        Refutation.NEITHER_GUARD_NOR_CLASS,
        text(b"$m_key = $uri", b"$m_key ~ $uri"),
    ),
    Mutation(
        "uri for a key",
        "A rule that minds case fires on every spelling.",
        "many",
        Refutation.DOES_SOMETHING_ELSE,
        maps(b'"/a"       "/a";', b'"/a"       $uri;'),
    ),
    Mutation(
        "key for the uri",
        "A rule that ignores case fires on one spelling only.",
        "many",
        Refutation.FIRES_NO_MORE,
        maps(b'"/any"     $uri;', b'"/any"     "/any";'),
    ),
    Mutation(
        "no empty key",
        "A guard is true of an empty URI.",
        "two",
        Refutation.NOT_AN_EXACT_GUARD,
        maps(b'    "" "-";\n', b""),
    ),
    Mutation(
        "empty empty key",
        "A guard gives an empty URI back.",
        "two",
        Refutation.NOT_AN_EXACT_GUARD,
        maps(b'"" "-"', b'"" ""'),
    ),
    Mutation(
        "variable empty key",
        "What an empty URI gives may be empty.",
        "two",
        Refutation.NOT_AN_EXACT_GUARD,
        maps(b'"" "-"', b'"" $arg_x'),
    ),
    Mutation(
        "key of another",
        "A guard gives another key back.",
        "two",
        Refutation.NOT_AN_EXACT_GUARD,
        maps(b'"/a"   "/a";', b'"/a"   "/b";'),
    ),
    Mutation(
        "guard with a default",
        "What is no key gets one.",
        "two",
        Refutation.NOT_AN_EXACT_GUARD,
        maps(b'default "";', b"default $uri;"),
    ),
    Mutation(
        "guard of a wrong map",
        "The map of targets is the guard.",
        "two",
        Refutation.NOT_AN_EXACT_GUARD,
        text(b"$m_key = $uri", b"$m_to = $uri"),
    ),
    Mutation(
        "guard that is set",
        "The class is kept in the variable of the guard.",
        "many",
        Refutation.SET_AND_MAPPED,
        text(b"$m_hit", b"$m_key", count=99),
    ),
)
