"""Faults of the rules that stay, and of the captures that they and all else find."""

from __future__ import annotations

from tests.rewrite.mutations.fault import Mutation, both, maps, text
from tests.rewrite.mutations.obligations import Refutation
from tests.rewrite.mutations.programs import GUARD, KEPT_1, KEPT_2, NEVER

MUTATIONS = (
    # Captures.
    Mutation(
        "captures not emptied",
        "After a URI of no rule, $1 is still the server name's.",
        "two",
        Refutation.CAPTURES_NOT_EMPTIED,
        text(NEVER, b""),
    ),
    Mutation(
        "captures emptied by a rule that fires",
        "The rule that is to match nothing matches.",
        "two",
        Refutation.CAPTURES_NOT_EMPTIED,
        text(b"^a(?!)", b"^/a"),
    ),
    Mutation(
        "captures not set",
        "After a rule with groups, $1 is empty.",
        "many",
        Refutation.DOES_SOMETHING_ELSE,
        text(b'rewrite "^/(x|y)$"', b"rewrite ^"),
    ),
    Mutation(
        "other captures",
        "After a rule with groups, $1 holds something else.",
        "many",
        Refutation.DOES_SOMETHING_ELSE,
        text(b'"^/(x|y)$"', b'"^(/.*)$"'),
    ),
    # The rules that stay.
    Mutation(
        "dropped residual",
        "A rule that stays is not there.",
        "many",
        Refutation.CAPTURES_NOT_EMPTIED,
        text(KEPT_1, b""),
    ),
    Mutation(
        "reordered residuals",
        "Two rules that stay change places.",
        "many",
        Refutation.KEPT_RULE_CHANGED,
        both(text(KEPT_1, b""), text(KEPT_2, KEPT_2 + KEPT_1)),
    ),
    Mutation(
        "duplicated residual",
        "A rule that stays is there twice.",
        "many",
        Refutation.KEPT_RULE_CHANGED,
        text(KEPT_1, KEPT_1 + KEPT_1),
    ),
    Mutation(
        "changed residual pattern",
        "A rule that stays matches something else.",
        "many",
        Refutation.KEPT_RULE_CHANGED,
        text(b"^/pre ", b"^/prex "),
    ),
    Mutation(
        "changed residual target",
        "A rule that stays leads elsewhere.",
        "many",
        Refutation.KEPT_RULE_CHANGED,
        text(b"^/pre /to/pre", b"^/pre /to/prex"),
    ),
    Mutation(
        "block behind the residuals",
        "The rules that stay are asked first.",
        "many",
        Refutation.GONE_MATCHES_TOO_MANY,
        both(text(GUARD, b""), text(KEPT_1, KEPT_1 + GUARD)),
    ),
    Mutation(
        "all behind the residuals",
        "The whole block stands behind a rule that stays.",
        "two-kept",
        Refutation.CAPTURES_NOT_EMPTIED,
        both(text(KEPT_2, b""), text(b"if ($m_key = $uri)", KEPT_2 + b"if ($m_key = $uri)")),
    ),
    Mutation(
        "moved past a residual",
        "A string that an earlier rule which stays matches is a key.",
        "many",
        Refutation.FIRES_ANEW,
        both(
            maps(b'    "/x"       "/x";\n', b'    "/x"       "/x";\n    "/prey" "/prey";\n'),
            maps(b'    "/x"       "/cap/x";\n', b'    "/x"       "/cap/x";\n    "/prey" "/second";\n'),
        ),
    ),
    Mutation(
        "rule and key",
        "A rule is a key and stays, too, where it is not the same.",
        "two",
        Refutation.KEPT_RULE_CHANGED,
        text(NEVER, b"rewrite ^/z$ /z last;\n"),
    ),
)
