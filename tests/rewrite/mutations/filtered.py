"""Faults of rules behind a filter, a pattern for all of them."""

from __future__ import annotations

from tests.rewrite.mutations.fault import Mutation, both, text
from tests.rewrite.mutations.grouped import amid
from tests.rewrite.mutations.obligations import Refutation

PATTERN = rb'if ($uri ~ "^/f/(?:a/.*$|b/|c/[0-9]+$|d/)") {'
GOES_ON = b"    rewrite ^/f/b/ /f/c/;\n"
GIVES_UP = b"    rewrite ^/f/d/(x+)+y /to/d permanent;\n"

MUTATIONS = (
    Mutation(
        "filter without a branch",
        "A rule is not tried any more.",
        "filter",
        Refutation.FILTER_TURNS_AWAY,
        text(b"|b/|", b"|"),
    ),
    Mutation(
        "filter with a longer branch",
        "A rule is tried for fewer URIs.",
        "filter",
        Refutation.FILTER_TURNS_AWAY,
        text(b"|b/|", b"|b/x|"),
    ),
    Mutation(
        "filter where PCRE gives up",
        "A rule on which PCRE gives up is not tried for a URI on which it does.",
        "filter",
        Refutation.FILTER_TURNS_AWAY,
        text(b"d/)", b"d/x*y)"),
    ),
    Mutation(
        "gate with a longer literal",
        "Rules that need less are not tried any more.",
        "gate",
        Refutation.FILTER_TURNS_AWAY,
        text(b'~ "/provision/"', b'~ "/provision/."'),
    ),
    Mutation(
        "gate with another literal",
        "A rule needs another literal.",
        "gate",
        Refutation.FILTER_TURNS_AWAY,
        text(b'~ "/provision/"', b'~ "cfg"'),
    ),
    Mutation(
        "filter without a final newline",
        "`$` also matches before a newline at the end.",
        "filter",
        Refutation.FILTER_TURNS_AWAY,
        text(b"[0-9]+$", rb"[0-9]+\z"),
    ),
    Mutation(
        "filter of what the client sent",
        "The filter looks at the request line.",
        "filter",
        Refutation.CAPTURES_NOT_EMPTIED,
        text(b"if ($uri ~", b"if ($request_uri ~"),
    ),
    Mutation(
        "filter that ignores case",
        "The condition has another operator, which nothing knows.",
        "filter",
        Refutation.CAPTURES_NOT_EMPTIED,
        text(b"if ($uri ~", b"if ($uri ~*"),
    ),
    Mutation(
        "filter turned around",
        "The rules are tried where they do not match.",
        "filter",
        Refutation.CAPTURES_NOT_EMPTIED,
        text(b"if ($uri ~", b"if ($uri !~"),
    ),
    Mutation(
        "filter with a name",
        "The filter sets a variable that something may read.",
        "filter",
        Refutation.FILTER_SETS_A_NAME,
        text(b"(?:a/", b"(?<m_key>a/"),
    ),
    Mutation(
        "filter that gives up",
        "PCRE may give up on the filter.",
        "filter",
        Refutation.FILTER_UNKNOWN,
        text(b"|b/|", b"|b/|(?:x+)+y|"),
    ),
    Mutation(
        "filter before a rule on which PCRE gives up",
        "Where PCRE gives up, the captures of the filter are left, and not those from before.",
        "filter",
        Refutation.FILTER_LEAVES_CAPTURES,
        both(text(GIVES_UP, b""), text(PATTERN + b"\n", PATTERN + b"\n" + GIVES_UP)),
    ),
    Mutation(
        "filter with a group before a rule on which PCRE gives up",
        "Where PCRE gives up, the captures of the filter are left, and not none.",
        "filter-behind-groups",
        Refutation.FILTER_LEAVES_CAPTURES,
        text(b'if ($uri ~ "^/y")', b'if ($uri ~ "^/(y)")'),
    ),
    Mutation(
        "filter with a look-around",
        "It is not known what the filter matches.",
        "filter",
        Refutation.FILTER_UNKNOWN,
        text(b"|b/|", b"|b/(?!z)|"),
    ),
    Mutation(
        "filter of nothing",
        "A filter has no rule behind it; another one has them all.",
        "filter",
        Refutation.FILTER_OF_OTHERS,
        text(PATTERN, PATTERN + b"}\n" + PATTERN),
    ),
    Mutation(
        "filter that sets",
        "Behind the filter, something is set.",
        "filter",
        Refutation.FILTER_OF_OTHERS,
        text(GOES_ON, GOES_ON + b"    set $x 1;\n"),
    ),
    Mutation(
        "rule behind a filter lost",
        "A rule that goes on is gone.",
        "filter",
        Refutation.NEW_RULE_LISTS_NOTHING,
        text(GOES_ON, b""),
    ),
    Mutation(
        "rules behind a filter swapped",
        "The rule that goes on is tried first.",
        "filter",
        Refutation.CAPTURES_NOT_EMPTIED,
        both(text(GOES_ON, b""), text(PATTERN + b"\n", PATTERN + b"\n" + GOES_ON)),
    ),
    Mutation(
        "flag behind a filter",
        "A rule that went on ends the script.",
        "filter",
        Refutation.NEW_RULE_LISTS_NOTHING,
        text(GOES_ON, GOES_ON.replace(b";", b" last;")),
    ),
    Mutation(
        "filter and what an if says",
        "What passes the filter loses what an `if` before it says.",
        "filter-location",
        Refutation.IF_IN_A_LOCATION,
        amid(b"if ($arg_x) { add_header X-If 1; }"),
    ),
    Mutation(
        "filter and try_files",
        "A rule that goes on does so in an `if`, without try_files.",
        "filter-location",
        Refutation.FILTER_GOES_ON,
        amid(b"try_files $uri =404;"),
    ),
    Mutation(
        "break behind a filter",
        "A rule with `break` loses the location's try_files.",
        "filter-try-files",
        Refutation.BREAK_LOSES_TRY_FILES,
        text(b"/to/b redirect", b"/to/b break"),
    ),
    Mutation(
        "filter that passes more",
        "What no rule matches loses the location's try_files.",
        "filter-try-files",
        Refutation.FILTER_FIRES_NOTHING,
        text(b"[0-9]+$", b"[0-9]*$"),
    ),
    Mutation(
        "filter that passes too little",
        "A rule is tried for fewer URIs.",
        "filter-try-files",
        Refutation.FILTER_TURNS_AWAY,
        text(b"[0-9]+$", b"[0-8]+$"),
    ),
)
