"""Captures that may be read afterwards: who reads them, and what planner and proof then take for granted."""

from __future__ import annotations

from dataclasses import replace

from nginxopt.config import load_text
from nginxopt.rewrite import Options, emit, plan, prove
from tests.rewrite.test_missing import SPARING
from tests.rows import every_row

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


@every_row("reader", READERS)
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
    assert SPARING.encode() not in emission.changes[0].after
    assert SPARING.encode() in emit(honest).changes[0].after
    forged = replace(
        emission.changes[0], file=honest.config.main, after=emission.changes[0].after.replace(not_read, reads)
    )
    maps = emission.maps.replace(b"$m_to {\n", b"$m_to {\n    volatile;\n")  # something may also run the rules again
    proof = prove(replace(emission, plan=honest, changes=(forged,), maps=maps))
    assert "$1 to $9" in (proof.refutation or "")
