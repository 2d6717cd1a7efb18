"""Faults of what is no rule: other statements, and the names of variables."""

from __future__ import annotations

from dataclasses import replace

from nginxopt.config import load_text
from nginxopt.rewrite import Emission, Options, emit, plan
from nginxopt.text import Source
from tests.rewrite.mutations.fault import Damage, Mutation, both, maps, text
from tests.rewrite.mutations.obligations import Refutation
from tests.rewrite.mutations.programs import NEVER, program

# It matches one string only, and takes more than the 64 KiB that PCRE2 has for a compiled pattern.
TOO_LARGE = rb'"^/(?:%s){300}\b$"' % (rb"[^\x00-`b-\xff]" * 8)


def touch_only_if(emission: Emission) -> Emission:
    """Compile the rule of a file that is included in an `if`, as if it stood in a location."""
    config = emission.plan.config
    file = next(file for file in config.files if file.path.endswith("only-if.conf"))
    other = emit(plan(load_text(file.source.data, context="location"), Options(name="m_9")))
    change = replace(other.changes[0], file=file)
    lines = other.maps[other.maps.index(b"# Where to") :]
    return replace(emission, maps=emission.maps + lines, changes=(*emission.changes, change))


def original(name: str, old: bytes, new: bytes) -> Damage:
    """Replace a part of a file of the configuration, as if it had been read so."""

    def damage(emission: Emission) -> Emission:
        again = program.__wrapped__("whole")  # the one that is shared stays as it is
        file = next(file for file in again.plan.config.files if file.path.endswith(name))
        assert old in file.source.data
        object.__setattr__(file, "source", Source(file.path, file.source.data.replace(old, new, 1)))
        return replace(emission, plan=again.plan, changes=again.changes)

    return damage


MUTATIONS = (
    # What is no rule.
    Mutation(
        "changed statement",
        "A statement of no rule is another.",
        "many",
        Refutation.STATEMENT_CHANGED,
        text(b"set $seen 1", b"set $seen 2"),
    ),
    Mutation(
        "removed statement",
        "A statement of no rule is gone.",
        "many",
        Refutation.STATEMENT_CHANGED,
        text(b"return 404;\n", b""),
    ),
    Mutation(
        "added statement",
        "A statement of no rule is new.",
        "many",
        Refutation.STATEMENT_CHANGED,
        text(b"return 404;\n", b"break;\nreturn 404;\n"),
    ),
    Mutation(
        "moved statement",
        "A statement of no rule stands before the rules instead of behind.",
        "many",
        Refutation.CAPTURES_NOT_EMPTIED,
        both(text(b"return 404;\n", b""), text(b"set $seen 1;\n", b"set $seen 1;\nreturn 404;\n")),
    ),
    Mutation(
        "another directive",
        "A directive of another module is another.",
        "whole",
        Refutation.STATEMENT_CHANGED,
        text(b"listen 80", b"listen 8080"),
    ),
    Mutation(
        "removed directive",
        "A directive of another module is gone.",
        "whole",
        Refutation.STATEMENT_CHANGED,
        text(b"            deny all;\n", b""),
    ),
    Mutation(
        "moved directive",
        "A directive of another module stands on the other side of an include.",
        "whole",
        Refutation.STATEMENT_CHANGED,
        both(
            text(b"            deny all;\n", b""),
            text(
                b"            include inside-if.conf;\n",
                b"            include inside-if.conf;\n            deny all;\n",
            ),
        ),
    ),
    # What surrounds a run.
    Mutation(
        "no premise",
        "Nobody is told what is taken as given.",
        "assumed",
        Refutation.PREMISE_NOT_STATED,
        maps(b"Premise server-context", b"It"),
    ),
    Mutation(
        "braces dropped",
        "A target becomes a redirect.",
        "braces",
        Refutation.DOES_SOMETHING_ELSE,
        text(b'"${scheme}$m_rest"', b'"$scheme$m_rest"'),
    ),
    Mutation(
        "captures not emptied for a rule that stays",
        "A rule that fails finds $1 of the server name.",
        "two-kept",
        Refutation.CAPTURES_NOT_EMPTIED,
        text(NEVER, b""),
    ),
    Mutation(
        "captures emptied for the first rule",
        "The first rule stays, fails, and does not find $1 of the server name.",
        "first-stays",
        Refutation.CAPTURES_EMPTIED,
        text(b"rewrite ^/(a+)+$", NEVER + b"rewrite ^/(a+)+$"),
    ),
    Mutation(
        "rule of an if",
        "A rule that stands in an `if` is another.",
        "whole",
        Refutation.STATEMENT_CHANGED,
        text(b"^/l/d$", b"^/l/dd$"),
    ),
    Mutation(
        "rule of an if moved",
        "A rule that stands in an `if` is gone.",
        "whole",
        Refutation.STATEMENT_CHANGED,
        text(b"rewrite ^/l/d$ /to/d last;", b""),
    ),
    Mutation(
        "compiled inside an if",
        "A rule of a file that is included in an `if` is compiled.",
        "whole",
        Refutation.STATEMENT_CHANGED,
        touch_only_if,
    ),
    Mutation(
        "raised to less",
        "A size that the configuration sets shrinks.",
        "whole",
        Refutation.KEY_BEYOND_A_BUCKET,
        text(b"map_hash_bucket_size 512", b"map_hash_bucket_size 16"),
    ),
    # Names.
    Mutation(
        "name of another map",
        "A map has the variable of the configuration's own.",
        "whole",
        Refutation.NAME_IN_USE,
        both(maps(b"$m_1_to ", b"$site "), text(b"($m_1_to)", b"($site)")),
    ),
    Mutation(
        "name of nginx's own",
        "A map takes a variable of nginx over.",
        "two",
        Refutation.NAME_OF_NGINX,
        both(maps(b"$m_key ", b"$args "), text(b"$m_key ", b"$args ")),
    ),
    Mutation(
        "name that nginx computes",
        "A map takes a header over.",
        "two",
        Refutation.NAME_OF_NGINX,
        both(maps(b"$m_key ", b"$http_cookie "), text(b"$m_key ", b"$http_cookie ")),
    ),
    Mutation(
        "class in a variable of nginx's own",
        "The class takes the place of the arguments.",
        "many",
        Refutation.NAME_OF_NGINX,
        text(b"$m_hit", b"$args", count=99),
    ),
    Mutation(
        "class in a variable of another file",
        "The class is kept in a variable that another file uses.",
        "whole-many",
        Refutation.NAME_IN_USE,
        text(b"$m_1_hit", b"$elsewhere", count=99),
    ),
    # What nginx would not read.
    Mutation(
        "unclosed block",
        "A brace of the emitted text is gone.",
        "two",
        Refutation.EMITTED_DOES_NOT_PARSE,
        text(b"}\n", b""),
    ),
    Mutation(
        "unclosed original",
        "A brace of the original is gone.",
        "whole",
        Refutation.ORIGINAL_DOES_NOT_PARSE,
        original("nginx.conf", b"}\n", b""),
    ),
    Mutation(
        "unclosed file",
        "A brace of a file that does not change is gone.",
        "whole",
        Refutation.UNCHANGED_DOES_NOT_PARSE,
        original("other.conf", b"}\n", b""),
    ),
    Mutation(
        "pattern too large",
        "PCRE2 does not compile a pattern of the original.",
        "whole",
        Refutation.GONE_DOES_NOT_COMPILE,
        original("nginx.conf", b"^/a$", TOO_LARGE),
    ),
)
