"""Seeded faults of a compiler: each damages an emitted text that is right, and the proof has to refute all.

A mutation replaces bytes of the maps, of one changed file, or of what the emission says about itself. It has to
change something, and the text it starts from has to be proved: so no fault is found by accident.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import pytest

from nginxopt.config import load, load_text
from nginxopt.rewrite import Emission, Options, Plan, emit, plan, prove

# Three classes and more, two tiers, quotes and backslashes, a rule without case, shadowed strings, captures.
MANY = rb"""set $seen 1;
rewrite ^/wild/(.*)$ /w/$1 permanent;
rewrite ^/a$ /to/a permanent;
rewrite ^/b$ /to/b permanent;
rewrite ^/A$ /to/capital permanent;
rewrite ^/c$ /to/c?x=1 permanent;
rewrite ^/d$ /to/d?x=2? redirect;
rewrite ^/e$ /to/e last;
rewrite "^/q\"\\\\$" /to/q permanent;
rewrite (?i)^/any$ /to/any permanent;
rewrite ^/pre /to/pre permanent;
rewrite ^/[ab]/?$ /second permanent;
rewrite ^/(x|y)$ /cap/$1 permanent;
rewrite ^/(.*)\.old$ /$1.new permanent;
return 404;
"""
# Two classes, which a map tells apart; nothing stays.
TWO = b"""rewrite ^/a$ /to/a permanent;
rewrite ^/b$ /to/b permanent;
rewrite ^/c$ /to/c last;
rewrite ^/d$ /to/d last;
"""
# A key that is longer than nginx's own buckets.
LONG = TWO + b"rewrite ^/%s$ /to/long permanent;\n" % (b"x" * 60)
# No `if` in a location: patterns list the keys; one rule stays before them, one behind.
LOCATION = rb"""rewrite ^/l/x/(.*)$ /to/$1 permanent;
rewrite ^/l/a$ /to/a permanent;
rewrite ^/l/break$ /to/break break;
rewrite ^/l/b$ /to/b permanent;
rewrite ^/l/B$ /to/capital permanent;
rewrite (?i)^/l/any/?$ /to/any permanent;
rewrite ^/l/c\z https://$host/to/c permanent;
rewrite ^/l/d$ https://$host/to/d permanent;
rewrite ^/l/y/(.*)$ /to/$1 permanent;
try_files $uri =404;
"""
# A rule stays first, and may fail: captures have to be what they were before the run.
FIRST_STAYS = b"""rewrite ^/(a+)+$ /to/a permanent;
rewrite ^/b$ /to/b permanent;
"""
BRACES = b"""rewrite ^/a$ ${scheme}/a last;
"""
ARGUMENTS = b"""rewrite ^/a$ /to?k=1 permanent;
rewrite ^/b$ /to?k=2 permanent;
rewrite ^/c$ /to/$scheme?k=3 permanent;
"""
WHOLE = b"""events {}
http {
    map_hash_bucket_size 32;
    map $host $site { default main; }
    server {
        listen 80;
        set $mode live;
        rewrite ^/a$ /to/a permanent;
        rewrite ^/long/%s$ /to/long permanent;
        location /l {
            allow 10.0.0.1;
            include rules.conf;
            deny all;
            rewrite ^/l/c$ /to/c last;
            if ($mode = live) { rewrite ^/l/d$ /to/d last; }
            include inside-if.conf;
            if ($mode = test) { include only-if.conf; }
        }
    }
    include other.conf;
}
""" % (b"x" * 80)
INCLUDED = {
    "rules.conf": b"rewrite ^/l/in$ /to/in last;\n",
    "inside-if.conf": b"set $mode test;\n",
    "only-if.conf": b"rewrite ^/l/if$ /to/if last;\n",
    "other.conf": b"server { listen 81; set $elsewhere 1; }\n",
}


@dataclass(frozen=True)
class Program:
    """A configuration and its compilation, which is right."""

    plan: Plan
    emission: Emission


Damage = Callable[[Emission], Emission]


@dataclass(frozen=True)
class Mutation:
    """A fault: its name, what it is in one sentence, the program it is put into, and how."""

    name: str
    says: str
    program: str
    damage: Damage


def maps(old: bytes, new: bytes, *, count: int = 1) -> Damage:
    """Replace a part of the maps."""

    def damage(emission: Emission) -> Emission:
        assert old in emission.maps, emission.maps.decode()
        return replace(emission, maps=emission.maps.replace(old, new, count))

    return damage


def text(old: bytes, new: bytes, *, count: int = 1) -> Damage:
    """Replace a part of the changed file that holds it."""

    def damage(emission: Emission) -> Emission:
        changes = list(emission.changes)
        at = next(at for at, change in enumerate(changes) if old in change.after)
        changes[at] = replace(changes[at], after=changes[at].after.replace(old, new, count))
        return replace(emission, changes=tuple(changes))

    return damage


def both(*damages: Damage) -> Damage:
    """Do one after the other."""

    def damage(emission: Emission) -> Emission:
        for one in damages:
            emission = one(emission)
        return emission

    return damage


def says_no_include(emission: Emission) -> Emission:
    """Take the include of the maps away, and the claim that there is one."""
    emission = without_include(emission)
    return replace(emission, changes=tuple(replace(change, adds=None) for change in emission.changes))


def without_include(emission: Emission) -> Emission:
    """Take the include of the maps away."""
    return text(b"    include m.conf;\n", b"")(emission)


def touch_only_if(emission: Emission) -> Emission:
    """Compile the rule of a file that is included in an `if`, as if it stood in a location."""
    config = emission.plan.config
    file = next(file for file in config.files if file.path.endswith("only-if.conf"))
    other = emit(plan(load_text(file.source.data, context="location"), Options(name="m_9")))
    change = replace(other.changes[0], file=file)
    lines = other.maps[other.maps.index(b"# Where to") :]
    return replace(emission, maps=emission.maps + lines, changes=(*emission.changes, change))


def guarded(emission: Emission) -> Emission:
    """Put what is right in a server into the location."""
    config = load_text(KINDS["location-one"], context="server")
    other = emit(plan(config, Options(name="m")))
    change = replace(emission.changes[0], after=other.changes[0].after)
    return replace(emission, maps=other.maps, changes=(change,))


BLOCK_2 = b"""if ($m_hit = 2) {
    rewrite ^ "/to/c?x=1" permanent;
}
"""
KEPT_1 = b"rewrite ^/wild/(.*)$ /w/$1 permanent;\n"
KEPT_2 = b"rewrite ^/pre /to/pre permanent;\n"
GUARD = b"if ($m_key = $uri) {\n    set $m_hit $m_class;\n}\n"
TIER_2 = b'if ($m_key_2 = $uri) {\n    rewrite ^ "/to/capital" permanent;\n}\n'
CAPITAL = b'if ($m_key = $uri) {\n    rewrite ^ "/to/capital" permanent;\n}\n'
KEPT_X = b"rewrite ^/l/x/(.*)$ /to/$1 permanent;\n"
LISTED_C = b'rewrite "^/l/c\\z" "$m_listed_to" permanent;\n'
LISTED_ONE = b'rewrite "^/l/a$" "$m_listed_to" permanent;\n'
NEVER = b'rewrite "^a(?!)" /;\n'

MUTATIONS = (
    # Guards.
    Mutation("no guard", "Any case of a key fires.", "many", text(b"if ($m_key = $uri)", b"if ($m_key)")),
    Mutation(
        "guard of the request",
        "The key is compared with what the client sent.",
        "many",
        text(b"$m_key = $uri", b"$m_key = $request_uri"),
    ),
    Mutation("negated guard", "All but the keys fire.", "two", text(b"$m_key = $uri", b"$m_key != $uri")),
    Mutation(
        "guard by a regex",
        "A key is matched in a URI instead of compared.",
        "two",
        text(b"$m_key = $uri", b"$m_key ~ $uri"),
    ),
    Mutation(
        "uri for a key",
        "A rule that minds case fires on every spelling.",
        "many",
        maps(b'"/a"       "/a";', b'"/a"       $uri;'),
    ),
    Mutation(
        "key for the uri",
        "A rule that ignores case fires on one spelling only.",
        "many",
        maps(b'"/any"     $uri;', b'"/any"     "/any";'),
    ),
    Mutation("no empty key", "A guard is true of an empty URI.", "two", maps(b'    "" "-";\n', b"")),
    Mutation("empty empty key", "A guard gives an empty URI back.", "two", maps(b'"" "-"', b'"" ""')),
    Mutation("variable empty key", "What an empty URI gives may be empty.", "two", maps(b'"" "-"', b'"" $arg_x')),
    Mutation("key of another", "A guard gives another key back.", "two", maps(b'"/a"   "/a";', b'"/a"   "/b";')),
    Mutation(
        "guard with a default",
        "What is no key gets one.",
        "two",
        maps(b'default "";', b"default $uri;"),
    ),
    Mutation(
        "guard of a wrong map", "The map of targets is the guard.", "two", text(b"$m_key = $uri", b"$m_to = $uri")
    ),
    Mutation(
        "guard that is set",
        "The class is kept in the variable of the guard.",
        "many",
        text(b"$m_hit", b"$m_key", count=99),
    ),
    # Maps.
    Mutation(
        "no volatile", "The first look-up answers for all internal redirects.", "many", maps(b"    volatile;\n", b"")
    ),
    Mutation(
        "one cached map",
        "The class of the URI before an internal redirect is used again.",
        "many",
        maps(b"map $uri $m_class {\n    volatile;\n", b"map $uri $m_class {\n"),
    ),
    Mutation(
        "map of the request",
        "A map is keyed by what the client sent.",
        "many",
        maps(b"map $uri $m_to", b"map $request_uri $m_to"),
    ),
    Mutation("lost twin", "A final newline does not fire any more.", "two", maps(b'    "/a\\n" "/a\\n";\n', b"")),
    Mutation(
        "all twins lost",
        "No final newline fires any more.",
        "two",
        maps(b'    "/a\\n" "/a\\n";\n    "/b\\n" "/b\\n";\n', b""),
    ),
    Mutation("lost key", "A rule does not fire any more.", "two", maps(b'    "/a"   "/a";\n', b"")),
    Mutation(
        "one key more",
        "A URI of no rule fires.",
        "two",
        maps(b'    "/a"   "/a";\n', b'    "/a"   "/a";\n    "/z" "/z";\n'),
    ),
    Mutation(
        "guarded in vain",
        "A guard is true of a URI that no rule fires on, and leaves the location's configuration.",
        "many",
        both(
            maps(b'    "/a"       "/a";\n', b'    "/a"       "/a";\n    "/z" "/z";\n'),
            maps(b'    default "1";\n', b'    default "1";\n    "/z" 9;\n'),
        ),
    ),
    Mutation(
        "class of a variable",
        "The client says which class a URI has.",
        "many",
        both(
            maps(b'    "/a"       "/a";\n', b'    "/a"       "/a";\n    "/z" "/z";\n'),
            maps(b'    default "1";\n', b'    default "1";\n    "/z" $arg_class;\n'),
        ),
    ),
    Mutation("wrong target", "A key has the target of the next.", "two", maps(b'"/a"   "/to/a"', b'"/a"   "/to/b"')),
    Mutation(
        "second match",
        "A string that two rules match goes to the second.",
        "many",
        maps(b'"/a"       "/to/a"', b'"/a"       "/second"'),
    ),
    Mutation(
        "lost target",
        "A key has no target, and goes to the constant part alone.",
        "two",
        maps(b'    "/a"   "/to/a";\n', b""),
    ),
    Mutation("wrong class", "A key is in another class.", "many", maps(b'"/c"       2;', b'"/c"       3;')),
    Mutation(
        "wrong default class", "The keys without a class get a wrong one.", "many", maps(b'default "1"', b'default "4"')
    ),
    Mutation(
        "two defaults",
        "nginx refuses a second default.",
        "many",
        maps(b'default "1";', b'default "";\n    default "1";'),
    ),
    Mutation("unescaped quote", "A quote ends a key.", "many", maps(b'"/q\\"\\\\"', b'"/q"\\\\"')),
    Mutation(
        "unescaped backslash",
        "A backslash of a key is taken for an escape.",
        "many",
        maps(b'"/q\\"\\\\\\n"', b'"/q\\"\\\\n"'),
    ),
    Mutation(
        "key in two cases",
        "nginx refuses two keys that differ by case alone.",
        "many",
        maps(b'    "/a"       "/a";\n', b'    "/a"       "/a";\n    "/A" "/A";\n'),
    ),
    Mutation(
        "key given twice",
        "nginx refuses a key given twice.",
        "two",
        maps(b'    "/a"   "/a";\n', b'    "/a"   "/a";\n    "/a"   "/a";\n'),
    ),
    Mutation("regex key", "A key is a regular expression.", "two", maps(b'    "/a"   "/a";\n', b'    "~/a"   "/a";\n')),
    Mutation(
        "hostnames",
        "Keys are host names, with wildcards.",
        "two",
        maps(b"    volatile;\n", b"    volatile;\n    hostnames;\n"),
    ),
    Mutation(
        "include in a map",
        "A map has keys that are not in the text.",
        "two",
        maps(b"    volatile;\n", b"    volatile;\n    include more.conf;\n"),
    ),
    Mutation(
        "capture in a value",
        "A value repeats a capture of whatever matched last.",
        "two",
        maps(b'"/a"   "/to/a"', b'"/a"   "/to/$1"'),
    ),
    Mutation(
        "variable of two maps",
        "nginx takes the last of two maps of one variable.",
        "two",
        maps(b"map $uri $m_class {", b"map $uri $m_to {"),
    ),
    Mutation(
        "variable of two maps but for case",
        "nginx does not mind the case of variables.",
        "two",
        maps(b"map $uri $m_class {", b"map $uri $M_TO {"),
    ),
    Mutation(
        "more than maps",
        "The http part holds another directive.",
        "two",
        lambda e: replace(e, maps=e.maps + b"merge_slashes off;\n"),
    ),
    # The sizes of the tables.
    Mutation(
        "small buckets",
        "A key is longer than a bucket: nginx does not start.",
        "whole",
        text(b"map_hash_bucket_size 512", b"map_hash_bucket_size 64"),
    ),
    Mutation(
        "one size only",
        "A key is longer than nginx's own buckets.",
        "long",
        maps(b"map_hash_bucket_size 512;\n", b""),
    ),
    Mutation(
        "small table",
        "nginx would warn, and walk long chains.",
        "long",
        maps(b"map_hash_max_size 16384", b"map_hash_max_size 0"),
    ),
    Mutation(
        "no sizes",
        "The tables have the sizes that nginx sets by default.",
        "long",
        maps(b"map_hash_max_size 16384;\nmap_hash_bucket_size 512;\n", b""),
    ),
    Mutation(
        "a size of letters",
        "nginx refuses a size with a unit.",
        "long",
        maps(b"map_hash_max_size 16384", b"map_hash_max_size 16k"),
    ),
    Mutation(
        "a size beyond all numbers",
        "nginx refuses a number that it cannot hold.",
        "long",
        maps(b"map_hash_max_size 16384", b"map_hash_max_size 9223372036854775808"),
    ),
    Mutation(
        "a size beyond all memory",
        "nginx cannot take the memory for its search.",
        "long",
        maps(b"map_hash_max_size 16384", b"map_hash_max_size 9223372036854775807"),
    ),
    Mutation(
        "sizes twice",
        "nginx refuses a size that is set twice.",
        "whole",
        text(b"map_hash_max_size 16384;\n", b"map_hash_max_size 16384;\n    map_hash_max_size 16384;\n"),
    ),
    Mutation(
        "sizes in a file of maps",
        "Another file of maps would set them once more.",
        "whole",
        both(
            text(b"    map_hash_max_size 16384;\n", b""),
            lambda e: replace(e, maps=b"map_hash_max_size 16384;\n" + e.maps),
        ),
    ),
    Mutation(
        "size behind a map",
        "nginx refuses a size behind the first map.",
        "long",
        lambda e: replace(
            e,
            maps=e.maps.replace(b"map_hash_max_size 16384;\n", b"") + b"map_hash_max_size 16384;\n",
        ),
    ),
    Mutation(
        "new size behind a map",
        "nginx refuses a size behind the first map.",
        "whole",
        both(
            text(b"    map_hash_max_size 16384;\n", b""),
            text(b"default main; }\n", b"default main; }\n    map_hash_max_size 16384;\n"),
        ),
    ),
    Mutation(
        "size in a server",
        "nginx takes no size of tables there.",
        "whole",
        text(b"        listen 80;\n", b"        listen 80;\n    variables_hash_max_size 2048;\n"),
    ),
    Mutation(
        "no room for variables",
        "nginx would warn that it could not build its table of variables.",
        "whole",
        text(b"    map_hash_max_size 16384;\n", b"    map_hash_max_size 16384;\n    variables_hash_max_size 20;\n"),
    ),
    # The directives.
    Mutation(
        "return for rewrite",
        "A redirect drops and decodes what a rewrite does not.",
        "two",
        text(b'rewrite ^ "$m_to" permanent', b'return 301 "$m_to"'),
    ),
    Mutation("wrong flag", "A redirect has another status.", "two", text(b'"$m_to" permanent', b'"$m_to" redirect')),
    Mutation("no flag", "The next rules see the new URI.", "two", text(b'"$m_to" permanent', b'"$m_to"')),
    Mutation("last for a redirect", "The client is not told.", "two", text(b'"$m_to" permanent', b'"$m_to" last')),
    Mutation("break for last", "The request stays in its location.", "two", text(b'"$m_to" last', b'"$m_to" break')),
    Mutation(
        "arguments kept",
        "A dropped question mark lets the client's arguments through.",
        "many",
        text(b"/to/d?x=2?", b"/to/d?x=2"),
    ),
    Mutation(
        "arguments dropped",
        "The client's arguments get lost.",
        "two",
        text(b'"$m_to" permanent', b'"$m_to?" permanent'),
    ),
    Mutation(
        "arguments moved",
        "Arguments in a map's value are a part of the path.",
        "arguments",
        both(maps(b'"k=', b'"?k=', count=99), text(b"$m_to?$m_args", b"$m_to$m_args")),
    ),
    Mutation("other arguments", "The arguments are those of another rule.", "arguments", maps(b'"k=1"', b'"k=2"')),
    Mutation("another constant", "The constant part is another.", "many", text(b'"/to/c', b'"/too/c')),
    Mutation(
        "class number",
        "The directives of two classes change places.",
        "many",
        both(
            text(b"$m_hit = 2", b"$m_hit = 7"), text(b"$m_hit = 3", b"$m_hit = 2"), text(b"$m_hit = 7", b"$m_hit = 3")
        ),
    ),
    Mutation("lost class", "The directives of a class are not there.", "many", text(BLOCK_2, b"")),
    Mutation(
        "class not emptied",
        "The class of the URI before an internal redirect fires again.",
        "many",
        text(b'set $m_hit "";\n', b""),
    ),
    Mutation(
        "class starts with one", "A URI of no rule has a class.", "many", text(b'set $m_hit "";', b'set $m_hit "1";')
    ),
    Mutation(
        "class before the guard",
        "The class is asked for before it is known.",
        "many",
        both(text(BLOCK_2, b""), text(GUARD, BLOCK_2 + GUARD)),
    ),
    Mutation("lost guard", "No class is ever known.", "many", text(GUARD, b"")),
    Mutation(
        "swapped tiers",
        "The first match is not the first.",
        "shadowing",
        both(text(CAPITAL, b""), text(NEVER, CAPITAL + NEVER)),
    ),
    Mutation("lost tier", "A rule that differs from another by case alone never fires.", "many", text(TIER_2, b"")),
    Mutation(
        "more than a rewrite",
        "A guard does more than to rewrite.",
        "two",
        text(b'    rewrite ^ "$m_to"', b'    set $x 1;\n    rewrite ^ "$m_to"'),
    ),
    Mutation(
        "a foreign condition",
        "A statement of no rule stands before the rules.",
        "two",
        text(b"if ($m_key = $uri)", b"if ($arg_x = 1) { return 403; }\nif ($m_key = $uri)"),
    ),
    # Captures.
    Mutation("captures not emptied", "After a URI of no rule, $1 is still the server name's.", "two", text(NEVER, b"")),
    Mutation(
        "captures emptied by a rule that fires",
        "The rule that is to match nothing matches.",
        "two",
        text(b"^a(?!)", b"^/a"),
    ),
    Mutation(
        "captures not set", "After a rule with groups, $1 is empty.", "many", text(b'rewrite "^/(x|y)$"', b"rewrite ^")
    ),
    Mutation(
        "other captures",
        "After a rule with groups, $1 holds something else.",
        "many",
        text(b'"^/(x|y)$"', b'"^(/.*)$"'),
    ),
    # The rules that stay.
    Mutation("dropped residual", "A rule that stays is not there.", "many", text(KEPT_1, b"")),
    Mutation(
        "reordered residuals",
        "Two rules that stay change places.",
        "many",
        both(text(KEPT_1, b""), text(KEPT_2, KEPT_2 + KEPT_1)),
    ),
    Mutation("duplicated residual", "A rule that stays is there twice.", "many", text(KEPT_1, KEPT_1 + KEPT_1)),
    Mutation(
        "changed residual pattern", "A rule that stays matches something else.", "many", text(b"^/pre ", b"^/prex ")
    ),
    Mutation(
        "changed residual target",
        "A rule that stays leads elsewhere.",
        "many",
        text(b"^/pre /to/pre", b"^/pre /to/prex"),
    ),
    Mutation(
        "block behind the residuals",
        "The rules that stay are asked first.",
        "many",
        both(text(GUARD, b""), text(KEPT_1, KEPT_1 + GUARD)),
    ),
    Mutation(
        "all behind the residuals",
        "The whole block stands behind a rule that stays.",
        "two-kept",
        both(text(KEPT_2, b""), text(b"if ($m_key = $uri)", KEPT_2 + b"if ($m_key = $uri)")),
    ),
    Mutation(
        "moved past a residual",
        "A string that an earlier rule which stays matches is a key.",
        "many",
        both(
            maps(b'    "/x"       "/x";\n', b'    "/x"       "/x";\n    "/prey" "/prey";\n'),
            maps(b'    "/x"       "/cap/x";\n', b'    "/x"       "/cap/x";\n    "/prey" "/second";\n'),
        ),
    ),
    Mutation(
        "rule and key",
        "A rule is a key and stays, too, where it is not the same.",
        "two",
        text(NEVER, b"rewrite ^/z$ /z last;\n"),
    ),
    # What is no rule.
    Mutation("changed statement", "A statement of no rule is another.", "many", text(b"set $seen 1", b"set $seen 2")),
    Mutation("removed statement", "A statement of no rule is gone.", "many", text(b"return 404;\n", b"")),
    Mutation(
        "added statement", "A statement of no rule is new.", "many", text(b"return 404;\n", b"break;\nreturn 404;\n")
    ),
    Mutation(
        "moved statement",
        "A statement of no rule stands before the rules instead of behind.",
        "many",
        both(text(b"return 404;\n", b""), text(b"set $seen 1;\n", b"set $seen 1;\nreturn 404;\n")),
    ),
    Mutation(
        "another directive", "A directive of another module is another.", "whole", text(b"listen 80", b"listen 8080")
    ),
    Mutation(
        "removed directive", "A directive of another module is gone.", "whole", text(b"            deny all;\n", b"")
    ),
    Mutation(
        "moved directive",
        "A directive of another module stands on the other side of an include.",
        "whole",
        both(
            text(b"            deny all;\n", b""),
            text(
                b"            include inside-if.conf;\n",
                b"            include inside-if.conf;\n            deny all;\n",
            ),
        ),
    ),
    # Patterns that list the keys, in a location.
    Mutation(
        "if in a location",
        "A guard swaps the configuration of the location, and what an `if` before it said is lost.",
        "location-one",
        guarded,
    ),
    Mutation(
        "listed too much", "A pattern lists a URI of no rule.", "location", text(b"^/l/(?:a|b|d)$", b"^/l/(?:a|b|d|z)$")
    ),
    Mutation("listed too little", "A pattern lacks a URI.", "location", text(b"^/l/(?:a|b|d)$", b"^/l/(?:a|b)$")),
    Mutation("lists of no start", "A pattern matches anywhere.", "location", text(b"^/l/(?:a|b|d)$", b"/l/(?:a|b|d)$")),
    Mutation(
        "lists of no end", "A pattern matches what is longer.", "location", text(b"^/l/(?:a|b|d)$", b"^/l/(?:a|b|d)")
    ),
    Mutation(
        "lists of another end", "A final newline fires no more.", "location", text(b"(?:a|b|d)$", b"(?:a|b|d)\\z")
    ),
    Mutation(
        "lists in any case", "Any case of a key fires.", "location", text(b'"^/l/(?:a|b|d)$', b'"(?i)^/l/(?:a|b|d)$')
    ),
    Mutation("lists in one case", "One spelling only fires.", "location", text(b'"(?i)^/l/any', b'"^/l/any')),
    Mutation("lists by a class", "A class is no list.", "location", text(b"^/l/(?:a|b|d)$", b"^/l/[abd]$")),
    Mutation("lists by a dot", "Any byte matches.", "location", text(b"^/l/(?:a|b|d)$", b"^/l/.$")),
    Mutation(
        "lists that capture",
        "After a rule without groups, $1 is not empty.",
        "location",
        text(b"(?:a|b|d)$", b"(a|b|d)$"),
    ),
    Mutation("listed without a flag", "The rules go on.", "location", text(b'to_2" break', b'to_2"')),
    Mutation("listed break as last", "Another location answers.", "location", text(b'to_2" break', b'to_2" last')),
    Mutation("listed target of another", "A key leads elsewhere.", "location", maps(b'"/to/a"', b'"/to/b"')),
    Mutation(
        "listed target lost", "A final newline leads nowhere.", "location", maps(b'    "/l/a\\n"     "/to/a";\n', b"")
    ),
    Mutation("listed target cached", "The first look-up answers for all.", "location", maps(b"    volatile;\n", b"")),
    Mutation(
        "listed target of the request",
        "Targets are looked up by what the client sent.",
        "location",
        maps(b"map $uri $m_listed_to ", b"map $request_uri $m_listed_to "),
    ),
    Mutation("listed constant part", "The host is another.", "location-host", text(b"https://$host$m", b"https://h$m")),
    Mutation(
        "lists before a rule that stays",
        "Its $1 is emptied first.",
        "location",
        both(text(KEPT_X, b""), text(LISTED_C, LISTED_C + KEPT_X)),
    ),
    Mutation(
        "lists behind a rule that stays",
        "It is asked first.",
        "location-first",
        both(text(LISTED_ONE, b""), text(b"#\xff\n", LISTED_ONE)),
    ),
    Mutation(
        "lists before the first rule",
        "The first rule stays, fails, and does not find $1 of the location.",
        "location-stays",
        both(text(LISTED_ONE, b""), text(b"rewrite ^/(a+)+$", LISTED_ONE + b"rewrite ^/(a+)+$")),
    ),
    Mutation("lists lost", "The rules are gone.", "location", text(LISTED_C, b"")),
    Mutation(
        "any case before the exact one",
        "The first match is not the first.",
        "location-case",
        both(
            text(b'rewrite "^/ANY$" "$m_listed_to" permanent;\n', b""),
            text(b"try_files", b'rewrite "^/ANY$" "$m_listed_to" permanent;\ntry_files'),
        ),
    ),
    # What surrounds a run.
    Mutation("no premise", "Nobody is told what is taken as given.", "assumed", maps(b"Premise server-context", b"It")),
    Mutation("braces dropped", "A target becomes a redirect.", "braces", text(b'"${scheme}/a"', b'"$scheme/a"')),
    Mutation(
        "captures not emptied for a rule that stays",
        "A rule that fails finds $1 of the server name.",
        "two-kept",
        text(NEVER, b""),
    ),
    Mutation(
        "captures emptied for the first rule",
        "The first rule stays, fails, and does not find $1 of the server name.",
        "first-stays",
        text(b"rewrite ^/(a+)+$", NEVER + b"rewrite ^/(a+)+$"),
    ),
    Mutation("rule of an if", "A rule that stands in an `if` is another.", "whole", text(b"^/l/d$", b"^/l/dd$")),
    Mutation(
        "rule of an if moved",
        "A rule that stands in an `if` is gone.",
        "whole",
        text(b"rewrite ^/l/d$ /to/d last;", b""),
    ),
    Mutation(
        "compiled inside an if", "A rule of a file that is included in an `if` is compiled.", "whole", touch_only_if
    ),
    Mutation(
        "raised to less",
        "A size that the configuration sets shrinks.",
        "whole",
        text(b"map_hash_bucket_size 512", b"map_hash_bucket_size 16"),
    ),
    # The include of the maps.
    Mutation("no include", "The maps are nowhere.", "whole", without_include),
    Mutation(
        "no include, well claimed",
        "The maps are nowhere, and nobody says where they should be.",
        "whole",
        says_no_include,
    ),
    Mutation(
        "two includes",
        "The maps are there twice.",
        "whole",
        text(b"    include m.conf;\n", b"    include m.conf;\n    include m.conf;\n"),
    ),
    Mutation(
        "include of another file",
        "The maps are in another file.",
        "whole",
        text(b"include m.conf;", b"include n.conf;"),
    ),
    Mutation(
        "include before a size",
        "nginx refuses a size behind the first map.",
        "whole",
        both(without_include, text(b"    map_hash_bucket", b"    include m.conf;\n    map_hash_bucket")),
    ),
    Mutation(
        "include in a server",
        "nginx knows no maps there.",
        "whole",
        both(without_include, text(b"        listen 80;\n", b"        listen 80;\n    include m.conf;\n")),
    ),
    # Names.
    Mutation(
        "name of another map",
        "A map has the variable of the configuration's own.",
        "whole",
        both(maps(b"$m_1_key ", b"$site "), text(b"$m_1_key ", b"$site ")),
    ),
    Mutation(
        "name of nginx's own",
        "A map takes a variable of nginx over.",
        "two",
        both(maps(b"$m_key ", b"$args "), text(b"$m_key ", b"$args ")),
    ),
    Mutation(
        "name that nginx computes",
        "A map takes a header over.",
        "two",
        both(maps(b"$m_key ", b"$http_cookie "), text(b"$m_key ", b"$http_cookie ")),
    ),
    Mutation(
        "class in a variable of nginx's own",
        "The class takes the place of the arguments.",
        "many",
        text(b"$m_hit", b"$args", count=99),
    ),
    Mutation(
        "class in a variable of another file",
        "The class is kept in a variable that another file uses.",
        "whole-many",
        text(b"$m_1_hit", b"$elsewhere", count=99),
    ),
)

KINDS = {
    "location-one": b"rewrite ^/a$ /to/a permanent;\nrewrite ^/b$ /to/b permanent;\n",
    "location-first": b"rewrite ^/l/a$ /to/a permanent;\nrewrite ^/l/(.*)$ /to/$1 permanent;\n#\xff\n",
    "location-stays": b"rewrite ^/(a+)+$ /to/b permanent;\nrewrite ^/l/a$ /to/a permanent;\n",
    "location-host": b"rewrite ^/a$ https://$host/a permanent;\nrewrite ^/b$ https://$host/b permanent;\n",
    "location-case": b"rewrite ^/ANY$ /to/1 permanent;\nrewrite (?i)^/any$ /to/2 permanent;\ntry_files $uri =404;\n",
    "assumed": TWO,
    "first-stays": FIRST_STAYS,
    "braces": BRACES,
    "many": MANY,
    "two": TWO,
    "long": LONG,
    "location": LOCATION,
    "arguments": ARGUMENTS,
    "two-kept": TWO + KEPT_2,
    "shadowing": b"rewrite ^/ANY$ /to/capital permanent;\nrewrite (?i)^/any$ /to/any permanent;\n",
}


# Rules that nobody may move, each with rules that look as if they did the same.
FORGED = {
    "PCRE2 gives up on /aaaaaaaaaaaaaaaaaaaaaaaaabb": (
        b'rewrite "^/(?:a?){25}b$" /to permanent;',
        b'rewrite "^/a{0,25}b$" /to permanent;',
    ),
    "PCRE2 gives up within a look-ahead": (
        b"rewrite ^/(?=(a+)+$|ab)ab$ /to permanent;",
        b"rewrite ^/ab$ /to permanent;",
    ),
    "a map with a regex sets $1 before it is written": (
        b"rewrite ^/(aa|b)$ /x/$site/$1 permanent;",
        b"rewrite ^/aa$ /x/$site/aa permanent; rewrite ^/b$ /x/$site/b permanent;",
    ),
    "the empty URI fires": (b"rewrite ^(?:/a)?$ /to permanent;", b"rewrite ^/a$ /to permanent;"),
    "a group sets a variable by name": (
        b"rewrite ^/(?<part>a)$ /to permanent;",
        b"rewrite ^/a$ /to permanent;",
    ),
    "a rule goes on with the new URI": (b"rewrite ^/a$ /to;", b"rewrite ^/a$ /to last;"),
    "a capture is escaped in some requests": (
        b'rewrite "^/(a b|c)$" /x/$1 permanent;',
        b'rewrite "^/a b$" "/x/a b" permanent; rewrite ^/c$ /x/c permanent;',
    ),
    "a break within the redirect": (
        b"rewrite ^/a$ http://h/a break;",
        b"rewrite ^/a$ http://h/a redirect;",
    ),
}


@cache
def fragment(kind: str) -> Program:
    """One of the fragments, compiled."""
    context = None if kind == "assumed" else kind.partition("-")[0]
    config = load_text(KINDS[kind], context="location" if context == "location" else context and "server")
    compiled = plan(config, Options(name="m"))
    return Program(compiled, emit(compiled))


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    """Two configurations with includes, compiled."""
    programs = {}
    for name, rules in (("whole", b""), ("whole-many", MANY.replace(b"return 404;\n", b""))):
        folder = tmp_path_factory.mktemp(name)
        (folder / "nginx.conf").write_bytes(
            WHOLE.replace(b"        set $mode live;\n", b"        set $mode live;\n" + rules)
        )
        for path, data in INCLUDED.items():
            (folder / path).write_bytes(data)
        compiled = plan(load(folder / "nginx.conf"), Options(name="m"))
        programs[name] = Program(compiled, emit(compiled))
    return programs


def program(kind: str, whole: dict[str, Program]) -> Program:
    """The program of that name."""
    return whole[kind] if kind in whole else fragment(kind)


@pytest.mark.parametrize("kind", [*KINDS, "whole", "whole-many"])
def test_the_text_without_a_fault(kind: str, whole: dict[str, Program]) -> None:
    """The emissions that the faults are put into are proved."""
    right = program(kind, whole)
    assert prove(right.emission).holds


@pytest.mark.parametrize("why", FORGED)
def test_a_forged_move_is_refuted(why: str) -> None:
    """A rule that cannot be moved is not proved, whoever moves it; what is emitted for its look-alikes is."""
    around = b"events {} http { map $host $site { default main; } server { %s } }"
    honest, alike = (plan(load_text(around % rules), Options(name="m")) for rules in FORGED[why])
    emission = emit(alike)
    assert not emit(honest).changes
    assert prove(emission).holds
    change = replace(emission.changes[0], file=honest.config.main)
    assert not prove(replace(emission, plan=honest, changes=(change,))).holds


# What reads captures in a whole configuration, and what does not.
READERS = {
    "the text": (b"add_header X $1;", b"add_header X 1;"),
    "the text, in braces": (b'add_header X "${1}";', b'add_header X "{1}";'),
    "Lua in a block": (b"location /l { content_by_lua_block { ngx.say(ngx.var[1]) } }", b"location /l { }"),
    "Lua in a file": (b"header_filter_by_lua_file x.lua;", b"gzip on;"),
    "njs": (b"js_content x;", b"gzip on;"),
    "perl": (b"perl x;", b"gzip on;"),
    "SSI": (b"ssi on;", b"ssi off;"),
    "a directive of a module nobody knows": (b"my_module on;", b"gzip on;"),
    "a module, which is loaded": (b"} load_module x.so; events {", b"} events {"),
    "a condition that does not match": (b"if ($arg_a !~ (b)) { set $c $1; }", b"if ($arg_a ~ (b)) { set $c $1; }"),
    "a location by its name": (b"location = ~(b) { return 200 $1; }", b"location ~ (b) { return 200 $1; }"),
    "a location with rules": (
        b"location ~ (b) { rewrite ^/q/(.*)$ /$1 last; return 200 $1; }",
        b"location ~ (b) { return 200 $1; }",
    ),
    "the default of a map": (b"map $a $b { default $1; }", b"map $a $b { ~(x) $1; }"),
}


@pytest.mark.parametrize("reader", READERS)
def test_what_reads_captures(reader: str) -> None:
    """Neither the planner nor the proof takes captures for unused where they may be read, and both do where not."""
    reads, not_read = READERS[reader]
    before = b"events {} http { server { rewrite ^/a$ /b permanent; rewrite ^/c$ /d permanent; %s } }"
    if reads.startswith(b"map"):
        before = b"events {} http { %s server { rewrite ^/a$ /b permanent; } }"
    elif b"load_module" in reads:
        before = b"events { %s } http { server { rewrite ^/a$ /b permanent; } }"
    honest, other = (plan(load_text(before % part, "nginx.conf"), Options(name="m")) for part in (reads, not_read))
    emission = emit(other)
    assert prove(emission).holds
    assert NEVER.strip() not in emission.changes[0].after
    assert NEVER.strip() in emit(honest).changes[0].after
    forged = replace(
        emission.changes[0], file=honest.config.main, after=emission.changes[0].after.replace(not_read, reads)
    )
    proof = prove(replace(emission, plan=honest, changes=(forged,)))
    assert "$1 to $9" in (proof.refutation or "")


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_fault_is_refuted(mutation: Mutation, whole: dict[str, Program]) -> None:
    """Each fault changes the emission and is refuted with a reason."""
    right = program(mutation.program, whole)
    wrong = mutation.damage(right.emission)
    assert wrong != right.emission
    proof = prove(wrong)
    assert not proof.holds, mutation.says
    assert proof.refutation


def test_the_score(whole: dict[str, Program]) -> None:
    """All faults are refuted: the score is 100 %, of a suite that only grows, in which each fault is named once."""
    refuted = [
        not prove(mutation.damage(right.emission)).holds
        for mutation in MUTATIONS
        for right in [program(mutation.program, whole)]
    ]
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS) == len(refuted) >= 95
    assert sum(refuted) == len(refuted)
