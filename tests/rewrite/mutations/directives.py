"""Faults of the directives that rules became."""

from __future__ import annotations

from tests.rewrite.mutations.fault import Mutation, both, maps, text
from tests.rewrite.mutations.obligations import Refutation
from tests.rewrite.mutations.programs import ANY, BLOCK_2, CAPITAL, GUARD, TIER_2

MUTATIONS = (
    Mutation(
        "return for rewrite",
        "A redirect drops and decodes what a rewrite does not.",
        "two",
        Refutation.NOT_A_REWRITE_WITH_A_FLAG,
        text(b'rewrite ^ "$m_to" permanent', b'return 301 "$m_to"'),
    ),
    Mutation(
        "wrong flag",
        "A redirect has another status.",
        "two",
        Refutation.DOES_SOMETHING_ELSE,
        text(b'"$m_to" permanent', b'"$m_to" redirect'),
    ),
    Mutation(
        "no flag",
        "The next rules see the new URI.",
        "two",
        Refutation.NOT_A_REWRITE_WITH_A_FLAG,
        text(b'"$m_to" permanent', b'"$m_to"'),
    ),
    Mutation(
        "last for a redirect",
        "The client is not told.",
        "two",
        Refutation.DOES_SOMETHING_ELSE,
        text(b'"$m_to" permanent', b'"$m_to" last'),
    ),
    Mutation(
        "break for last",
        "The request stays in its location.",
        "two",
        Refutation.DOES_SOMETHING_ELSE,
        text(b'"$m_to" last', b'"$m_to" break'),
    ),
    Mutation(
        "arguments kept",
        "A dropped question mark lets the client's arguments through.",
        "many",
        Refutation.DOES_SOMETHING_ELSE,
        text(b"/to/d?x=2?", b"/to/d?x=2"),
    ),
    Mutation(
        "arguments dropped",
        "The client's arguments get lost.",
        "two",
        Refutation.DOES_SOMETHING_ELSE,
        text(b'"$m_to" permanent', b'"$m_to?" permanent'),
    ),
    Mutation(
        "arguments moved",
        "Arguments in a map's value are a part of the path.",
        "arguments",
        Refutation.DOES_SOMETHING_ELSE,
        both(maps(b'"k=', b'"?k=', count=99), text(b"$m_to?$m_args", b"$m_to$m_args")),
    ),
    Mutation(
        "other arguments",
        "The arguments are those of another rule.",
        "arguments",
        Refutation.DOES_SOMETHING_ELSE,
        maps(b'"k=1"', b'"k=2"'),
    ),
    Mutation(
        "another constant",
        "The constant part is another.",
        "many",
        Refutation.DOES_SOMETHING_ELSE,
        text(b'"/to/c', b'"/too/c'),
    ),
    Mutation(
        "class number",
        "The directives of two classes change places.",
        "many",
        Refutation.DOES_SOMETHING_ELSE,
        both(
            text(b"$m_hit = 2", b"$m_hit = 7"), text(b"$m_hit = 3", b"$m_hit = 2"), text(b"$m_hit = 7", b"$m_hit = 3")
        ),
    ),
    Mutation(
        "lost class", "The directives of a class are not there.", "many", Refutation.TRUE_IN_VAIN, text(BLOCK_2, b"")
    ),
    Mutation(
        "class not emptied",
        "The class of the URI before an internal redirect fires again.",
        "many",
        Refutation.SETS_NO_CLASS,
        text(b'set $m_hit "";\n', b""),
    ),
    Mutation(
        "class starts with one",
        "A URI of no rule has a class.",
        "many",
        Refutation.NEITHER_GUARD_NOR_CLASS,
        text(b'set $m_hit "";', b'set $m_hit "1";'),
    ),
    Mutation(
        "class before the guard",
        "The class is asked for before it is known.",
        "many",
        Refutation.TRUE_IN_VAIN,
        both(text(BLOCK_2, b""), text(GUARD, BLOCK_2 + GUARD)),
    ),
    Mutation("lost guard", "No class is ever known.", "many", Refutation.CAPTURES_NOT_EMPTIED, text(GUARD, b"")),
    Mutation(
        "swapped tiers",
        "The first match is not the first.",
        "shadowing",
        Refutation.DOES_SOMETHING_ELSE,
        both(text(CAPITAL, b""), text(ANY, ANY + CAPITAL)),
    ),
    Mutation(
        "lost tier",
        "A rule that differs from another by case alone never fires.",
        "many",
        Refutation.FIRES_NO_MORE,
        text(TIER_2, b""),
    ),
    Mutation(
        "more than a rewrite",
        "A guard does more than to rewrite.",
        "two",
        Refutation.NOT_A_REWRITE_WITH_A_FLAG,
        text(b'    rewrite ^ "$m_to"', b'    set $x 1;\n    rewrite ^ "$m_to"'),
    ),
    Mutation(
        "a foreign condition",
        "A statement of no rule stands before the rules.",
        "two",
        Refutation.CAPTURES_NOT_EMPTIED,
        text(b"if ($m_key = $uri)", b"if ($arg_x = 1) { return 403; }\nif ($m_key = $uri)"),
    ),
    Mutation(
        "shared pattern of fewer segments",
        "No key matches the pattern of its rules.",
        "shared",
        Refutation.TRUE_IN_VAIN,
        text(b"[^/]*/(x|y)", b"(x|y)"),
    ),
    Mutation(
        "shared pattern that captures segments",
        "$1 is the last segment before what the rules capture.",
        "shared",
        Refutation.DOES_SOMETHING_ELSE,
        text(b"[^/]*/(x|y)", b"([^/]*/)(x|y)"),
    ),
    Mutation(
        "shared pattern that captures nothing",
        "$1 is empty.",
        "shared",
        Refutation.DOES_SOMETHING_ELSE,
        text(b"[^/]*/(x|y)", b"[^/]*/(?:x|y)"),
    ),
    Mutation(
        "shared pattern that takes the keys of another",
        "$2 of the other rules is empty.",
        "shared",
        Refutation.DOES_SOMETHING_ELSE,
        text(b"[^/]*/(x|y)$", b"[^/]*/(x|y|a)"),
    ),
    Mutation(
        "shared pattern with a name",
        "A hit sets a variable that others may read.",
        "shared",
        Refutation.GUARDED_NAME,
        text(b"[^/]*/(x|y)", b"[^/]*/(?<other>x|y)"),
    ),
)
