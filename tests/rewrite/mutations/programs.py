"""The programs that faults are put into, and the parts of what they are compiled to that faults replace."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

from nginxopt.config import load, load_text
from nginxopt.rewrite import Emission, Options, emit, plan

NAMED = Options(name="m")

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
# Two classes, which a map tells apart; nothing stays. A capital letter takes a guard.
TWO = b"""rewrite ^/a$ /to/a permanent;
rewrite ^/b$ /to/b permanent;
rewrite ^/c$ /to/c last;
rewrite ^/D$ /to/d last;
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
# No key has a capital letter, so that the targets are guards: one that is captured, and one that is not.
TARGETS = b"""rewrite ^/a$ /to/a permanent;
rewrite ^/b/?$ /to/b permanent;
rewrite ^/c$ https://h.example/c?k=1 redirect;
rewrite ^/d$ https://h.example/d?k=2 redirect;
"""
# The same for every spelling.
SPELLINGS = b"""rewrite (?i)^/a$ /to/a permanent;
rewrite (?i)^/b$ /to/b permanent;
"""
# What stands beside rules in a server, and how the targets of the rules are guarded: `{}` stands for the rules.
KEPT_TARGETS = b"rewrite ^/a$ /to/a permanent;\nrewrite ^/b/?$ /to/b permanent;\n"
KEPT_KEYS = b"rewrite ^/a$ /to/a permanent;\nrewrite ^/B$ /to/b permanent;\n"
KEPT = {
    "kept-target": KEPT_TARGETS + b"index other.html; location / { error_page 404 https://a.test/x; }",
    "kept-key": KEPT_KEYS + b"error_page 404 /404.html; location / { try_files $uri $uri/ =404; }",
    "kept-spellings": b"rewrite (?i)^/a$ /to/a permanent;\nerror_page 404 /404.html; location / { try_files /x /y; }",
}
"""Nothing runs the rules again with a URI of theirs: the first target stays for the request."""
NOT_KEPT = {
    "rerun-page": KEPT_KEYS + b"error_page 404 /A?x;",
    "rerun-files": KEPT_KEYS + b"location / { try_files $uri /b?x; }",
    "rerun-index": KEPT_KEYS.replace(b"/a$", b"/a/Index[.]html$") + b"location / { try_files $uri/ =404; }",
    "rerun-named-index": KEPT_KEYS + b"location / { index x.html /b; }",
    "rerun-folder-index": KEPT_KEYS.replace(b"/a$", b"/a/b/c$") + b"location / { index b/c; }",
    "rerun-variable": KEPT_KEYS + b"error_page 404 /$arg_to;",
    "rerun-files-variable": KEPT_KEYS + b"location / { try_files /x $arg_to; }",
    "rerun-index-variable": KEPT_KEYS + b"location / { index $arg_to.html; }",
    "rerun-proxied": KEPT_KEYS + b"location / { proxy_pass http://127.0.0.1; }",
    "rerun-subrequest": KEPT_KEYS + b"location / { mirror /x; }",
    "rerun-code": KEPT_KEYS + b"location / { ssi on; }",
    "rerun-goes-on": b"rewrite ^/x /y;\nset $y 1;\n" + KEPT_KEYS,
    "rerun-spelled": KEPT_TARGETS + b"error_page 404 /404.html;",
    "rerun-redirect": KEPT_TARGETS + b"error_page 301 =200 @page; location @page { return 200; }",
    "rerun-changed": KEPT_TARGETS + b"location /x { rewrite ^ /y/ last; }",
    "rerun-tried": KEPT_TARGETS + b"location /x { try_files /y/ =404; }",
    "rerun-last": b"rewrite (?i)^/a$ /to/a last;\nlocation / { try_files $uri =404; }",
}
"""Something may run the rules again with a URI of theirs, or with one for which the first target is wrong."""
IN_A_SITE = b"events {}\nhttp {\n    server {\n%s    }\n}\n"
BRACES = b"""rewrite ^/a$ ${scheme}/a last;
"""
ARGUMENTS = b"""rewrite ^/a$ /to?k=1 permanent;
rewrite ^/b$ /to?k=2 permanent;
rewrite ^/c$ /to/$scheme?k=3 permanent;
"""
# Literals with a twin; some that have none, or whose twin is another's; a rule for all spellings; captures; classes.
LINES = (
    b"".join(b"rewrite ^/page-%d$ /new/%d permanent;\n" % (number, number) for number in range(600))
    + rb"""
rewrite ^/exact\z /x/exact permanent;
rewrite ^/split\z /x/split permanent;
rewrite "^/split\n$" /x/newline permanent;
rewrite ^/pages/?$ /x/pages permanent;
rewrite ^/PAGE-1$ /x/capitals permanent;
rewrite (?i)^/any-case$ /x/any permanent;
rewrite ^/(one|two)$ /x/$1 permanent;
rewrite ^/(three|four)$ /x/five last;
rewrite ^/args$ /x/args?a=b redirect;
"""
)
# Captures of many rules, which two patterns set on all keys.
SHARED = b"".join(
    b"rewrite ^/s/%d/(x|y)$ /to/%d/$1 permanent;\nrewrite ^/s/%d/(a)/(b)$ /to/$2 permanent;\n" % (3 * (number,))
    for number in range(8)
)
# Rules that match endlessly many URIs, in two groups; one string is a key.
GROUPS = (
    b"".join(
        b"rewrite ^/g/%d/(.*)$ /to/%d/$1 permanent;\nrewrite ^/h/%d /to/%d last;\n" % (4 * (number,))
        for number in range(6)
    )
    + b"rewrite ^/a$ /to/a permanent;\n"
)
# So many that they share rewrites: those of three kinds, and others, which share nothing.
OF_KINDS = b"".join(
    [
        *(b"rewrite ^/k/%d/(.*)$ /to/%d/$1 permanent;\n" % (number, number) for number in range(40)),
        *(b"rewrite ^/l/%d /to/%d? last;\n" % (number, number) for number in range(30)),
        *(b"rewrite ^/m/%d/([a-z]+)/(.*)$ https://h/%d?a=$1 redirect;\n" % (number, number) for number in range(25)),
        *(b"rewrite ^/n%d(.*)$ /own/$1/%d permanent;\n" % (number, number) for number in range(12)),
        b"rewrite ^/a$ /to/a permanent;\n",
    ]
)
# One of the rules needs another pattern than the tree, so that a gate before both costs a miss less.
GATED = GROUPS + b"rewrite ^/.*/(x+)\\.old$ /to/old/$1 permanent;\n"
MORE = b"".join(b"rewrite ^/i/%d/(.*)$ /to/i/$1 last;\n" % number for number in range(6))
# The same in a location, with more rules than one filter takes, and one that stays in it.
HERE = b"location /g {\n"
IN_A_LOCATION = b"""events {}
http {
    server {
        listen 80;
        location /g {
%s        }
    }
}
"""
GROUPS_IN_A_LOCATION = IN_A_LOCATION % b"".join(
    [
        GROUPS,
        MORE,
        b"rewrite ^/g/b/(.*)$ /to/b/$1 break;\n",
    ]
)
IN_LOCATIONS = {"groups-location": GROUPS_IN_A_LOCATION, "of-kinds-location": IN_A_LOCATION % OF_KINDS}
# Rules behind a filter, one of which goes on with the new URI, and PCRE may give up on another.
FILTER = b"""rewrite ^/f/a/(.*)$ /to/a/$1 last;
rewrite ^/f/b/ /f/c/;
rewrite ^/f/c/([0-9]+)$ /to/c/$1 break;
rewrite ^/f/d/(x+)+y /to/d permanent;
"""
# The same in a location, with `try_files`: only rules that certainly fire.
FIRING = b"""rewrite ^/g/a/(.*)$ /to/a/$1 last;
rewrite ^/g/b/ /to/b redirect;
rewrite ^/g/c/([0-9]+)$ /to/c/$1 permanent;
"""
# PCRE may give up on the first rule behind a filter; groups before it have left no captures.
UNBOUNDED = b"""rewrite ^/yy/(.*)-(.*)/new /to/$1 redirect;
rewrite ^/yy/(.*)-(.*)/old/x /to/$2 redirect;
rewrite ^/yy* /to/y redirect;
"""
# A literal that all rules need is before them: PCRE may give up on one of them, and some go on.
GATE = b"rewrite ^/q/old$ /provision/x last;\n" + b"".join(
    b"rewrite ^.*/provision/.*-(.*)-x%d.cfg$ /p?mac=$1&n=%d%s;\n" % (number, number, b" last" * (number % 2))
    for number in range(20)
)
# Groups that set variables, which others may read, in the rules that fire, and not in the lookup.
NAMED_GROUPS = b"".join(
    b"rewrite ^/g/%d/(?<old>.*)$ /to/%d/$old permanent;\n" % (number, number) for number in range(12)
)
FILTERS = {
    "filter": (FILTER, "server"),
    "gate": (GATE, "server"),
    "filter-behind-groups": (GROUPS + MORE + UNBOUNDED, "server"),
    "filter-location": (IN_A_LOCATION % FILTER, None),
    "filter-try-files": (IN_A_LOCATION % (b"try_files $uri =404;\n" + FIRING), None),
}
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
# Files that are not here: one may set the sizes of tables, and one may hold any script.
MISSING = b"""events {}
http {
    include mime.types;
    server {
        rewrite ^/a$ /to/a permanent;
        rewrite ^/b$ /to/b permanent;
        include part.conf;
        rewrite ^/c$ /to/c permanent;
        rewrite ^/(d|e)$ /to/$1 permanent;
    }
}
"""
INCLUDED = {
    "rules.conf": b"rewrite ^/l/in$ /to/in last;\n",
    "inside-if.conf": b"set $mode test;\n",
    "only-if.conf": b"rewrite ^/l/if$ /to/if last;\n",
    "other.conf": b"server { listen 81; set $elsewhere 1; }\n",
}

BLOCK_2 = b"""if ($m_hit = 2) {
    rewrite ^ "/to/c?x=1" permanent;
}
"""
KEPT_1 = b"rewrite ^/wild/(.*)$ /w/$1 permanent;\n"
KEPT_2 = b"rewrite ^/pre /to/pre permanent;\n"
GUARD = b"if ($m_key = $uri) {\n    set $m_hit $m_class;\n}\n"
TIER_2 = b'if ($m_key_2 = $uri) {\n    rewrite ^ "/to/capital" permanent;\n}\n'
ANY = b'if ($m_to_2 ~ "(?s)^(?<m_rest>.+)") {\n    rewrite ^ "$m_rest" permanent;\n}\n'
CAPITAL = b'if ($m_key = $uri) {\n    rewrite ^ "/to/capital" permanent;\n}\n'
KEPT_X = b"rewrite ^/l/x/(.*)$ /to/$1 permanent;\n"
LISTED_C = b'rewrite "^/l/c\\z" "$m_listed_to" permanent;\n'
LISTED_ONE = b'rewrite "^/l/a$" "$m_listed_to" permanent;\n'
NEVER = b'rewrite "^a(?!)" /;\n'

KINDS = {
    "location-one": b"rewrite ^/a$ /to/a permanent;\nrewrite ^/b$ /to/b permanent;\n",
    "location-first": b"rewrite ^/l/a$ /to/a permanent;\nrewrite ^/l/(.*)$ /to/$1 permanent;\n#\xff\n",
    "location-stays": b"rewrite ^/(a+)+$ /to/b permanent;\nrewrite ^/l/a$ /to/a permanent;\n",
    "location-host": b"rewrite ^/a$ https://$host/a permanent;\nrewrite ^/b$ https://$host/b permanent;\n",
    "location-case": b"rewrite ^/ANY$ /to/1 permanent;\nrewrite (?i)^/any$ /to/2 permanent;\ntry_files $uri =404;\n",
    "assumed": TWO,
    "first-stays": FIRST_STAYS,
    "braces": BRACES,
    "targets": TARGETS,
    "spellings": SPELLINGS,
    "many": MANY,
    "two": TWO,
    "long": LONG,
    "location": LOCATION,
    "arguments": ARGUMENTS,
    "two-kept": TWO + KEPT_2,
    "lines": LINES,
    "groups": GROUPS,
    "gated-groups": GATED,
    "named-groups": NAMED_GROUPS,
    "of-kinds": OF_KINDS,
    "shared": SHARED,
    "sized": b"map_hash_max_size 4096;\nserver {\n" + TWO + b"}\n",
    "shadowing": b"rewrite ^/ANY$ /to/capital permanent;\nrewrite (?i)^/any$ /to/any permanent;\n",
}


CLASSES = b"rewrite ^/A$ /to/a;\nset $x 1;\n" + b"".join(
    b"rewrite ^/A%d$ /to/a %s;\n" % (number, flag) for number, flag in enumerate((b"last", b"redirect", b"permanent"))
)
STOPPED = {
    "stop-classes": CLASSES + b"location / { return 200; }\n",
    "stop-groups": GROUPS + MORE + MORE.replace(b"/i/", b"/j/"),
    "stop-kinds": OF_KINDS,
}
"""The last statements of a server: a `break` skips them for most requests."""
NOT_STOPPED = {
    "more-classes": CLASSES + b"return 404;\n",
    "more-rules": CLASSES + b"rewrite ^/(a+)+$ /to/b permanent;\n",
    "more-files": CLASSES + b"include more.conf;\n",
    "more-groups": STOPPED["stop-groups"] + b"return 404;\n",
    "more-kinds": OF_KINDS + b"if ($args) { return 404; }\n",
}
"""Other statements come behind them."""
SITES = {**KEPT, **NOT_KEPT, **STOPPED, **NOT_STOPPED}


@cache
def program(name: str) -> Emission:
    """A program, compiled, which is right."""
    if name in WHOLES:
        return _whole(WHOLES[name])
    if name in ("groups", "gated-groups", "named-groups", "of-kinds"):
        return emit(plan(load_text(KINDS[name], context="server"), replace(NAMED, groups=True)))
    if name in IN_LOCATIONS:
        return emit(plan(load_text(IN_LOCATIONS[name]), replace(NAMED, groups=True)))
    if name in SITES:
        return emit(plan(load_text(IN_A_SITE % SITES[name], includes=False), replace(NAMED, groups=True)))
    if name in FILTERS:
        filtered, context = FILTERS[name]
        return emit(plan(load_text(filtered, context=context), replace(NAMED, groups=True)))
    if name == "missing":
        return emit(plan(load_text(MISSING, "nowhere/nginx.conf", missing_ok=True), NAMED))
    return emit(plan(load_text(KINDS[name], context=_context(name)), NAMED))


def _context(name: str) -> str | None:
    """Where a fragment is included."""
    contexts = {"assumed": None, "sized": "http"}
    return contexts[name] if name in contexts else "location" if name.startswith("location") else "server"


WHOLES = {"whole": b"", "whole-many": MANY.replace(b"return 404;\n", b"")}
"""What else stands in the server of the configuration with includes."""


def _whole(rules: bytes) -> Emission:
    first = b"        set $mode live;\n"
    with tempfile.TemporaryDirectory() as folder:
        files = {"nginx.conf": WHOLE.replace(first, first + rules), **INCLUDED}
        for path, data in files.items():
            (Path(folder) / path).write_bytes(data)
        return emit(plan(load(Path(folder) / "nginx.conf"), NAMED))
