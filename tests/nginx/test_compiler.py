"""The compiler against a real nginx: its output is proved, and responds to every request as the rules do."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from nginxopt.config import load_text
from nginxopt.errors import InputError
from nginxopt.rewrite import Options, emit, plan, prove
from nginxopt.rewrite.kinds.rules.differential import differential
from nginxopt.rewrite.kinds.rules.reading import Phase
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from nginxopt.system.nginx import Instance
from nginxopt.text.display import percent_encode
from tests import rulegen
from tests.config.test_corpus import CORPUS, is_plain, rows
from tests.nginx.compiling import PHASES, REQUESTS, SEEDS, answers, check, compiled, different, keys
from tests.nginx.sides import limited
from tests.support import PATIENCE

pytestmark = [pytest.mark.nginx, pytest.mark.no_cover]


def spelled(seed: int, text: bytes) -> bytes:
    """The same rules in another spelling of the file: CRLF, comments behind rules, or all on one line."""
    if seed % 5 == 1:
        return text.replace(b"\n", b"\r\n")
    if seed % 5 == 2:
        return text.replace(b";\n", b"; # no rule: rewrite ^/a$ /b last;\n")
    if seed % 5 == 3 and b"#" not in text:
        return text.replace(b"\n", b" ")
    return text


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("seed", range(1000, 1000 + SEEDS))
def test_random_lists(binary: nginx.Binary, seed: int, phase: Phase, tally: Counter[str]) -> None:
    """Random rules of every kind, in files of every spelling."""
    rules = rulegen.generate(seed, random.Random(seed).choice([4, 12, 12, 30]))
    check(binary, spelled(seed, rules.text), phase, rules.uris, tally)


AWKWARD: dict[str, bytes] = {
    "captures read later": rb"""rewrite ^/(x|y)-(z)$ /cap last;
rewrite ^/(one|two)$ /to/$1/$2 permanent;
rewrite ^/plain$ /plain/$1 permanent;
set $after "$1$2";""",
    "captures of many read later": b"".join(
        b"rewrite ^/s/%d/(print|mail)$ /to/%d/$1 %s;\nrewrite ^/s/%d/(a)/(b)/?$ /to/$2 last;\n"
        % (number, number, (b"permanent", b"last")[number % 2], number)
        for number in range(16)
    )
    + b'set $after "$1$2";',
    "case tiers": rb"""rewrite ^/About$ /1 permanent;
rewrite ^/about$ /2 permanent;
rewrite (?i)^/ABOUT$ /3 permanent;
rewrite ^/aBOUT$ /4 permanent;
rewrite (?i)^/other/?$ /5 redirect;
rewrite ^/Other$ /6 redirect;""",
    "many tiers": b"".join(
        b"rewrite ^/%s$ /%d permanent;\n" % (name, number)
        for number, name in enumerate((b"case", b"Case", b"cAse", b"caSe", b"casE", b"CASE"))
    ),
    "shadowed in part": rb"""rewrite ^/(a|b)$ /first/$1 permanent;
rewrite ^/(b|c)/?$ /second/$1 permanent;
rewrite ^/[a-d]/?$ /third permanent;
rewrite ^/d$ /dead permanent;""",
    "kept before moved": rb"""rewrite ^/k /kept permanent;
rewrite ^/k/a$ /dead permanent;
rewrite ^/l/a$ /moved permanent;
rewrite ^/l/(.*)$ /kept/$1 permanent;
rewrite ^/l/b$ /dead permanent;""",
    "break": rb"""rewrite ^/a$ /zz break;
rewrite ^/b$ /a last;
rewrite ^/c$ /b break;
rewrite ^/d$ /index.html break;""",
    "own arguments": rb"""rewrite ^/a$ /to?k=1 permanent;
rewrite ^/b$ /to?k=2? permanent;
rewrite ^/c$ /to? permanent;
rewrite ^/d$ /to?k=$arg_v last;
rewrite ^/e$ /to?k=1?l=2 last;
rewrite ^/f$ /to?k=1?l=3 last;
rewrite ^/g$ /to?$args last;""",
    "the end": rb"""rewrite ^/a\z /very permanent;
rewrite ^/a$ /end permanent;
rewrite ^/b$ /end permanent;
rewrite ^/b\z /dead permanent;
rewrite ^/c\Z /end permanent;
rewrite ^/d\n$ /newline permanent;
rewrite ^/d$ /end permanent;""",
    "bytes": 'rewrite ^/café$ /é permanent;\nrewrite "^/\xff\x01$" /ÿ permanent;\n'.encode()
    + b'rewrite "^/a\\tb$" "/\\t" permanent;\nrewrite "^/\xff\xfe$" /\xfe permanent;\nrewrite ^/x\xe9$ /y last;',
    "quotes": rb"""rewrite "^/\"q\"$" /1 permanent;
rewrite '^/\'s$' /2 permanent;
rewrite "^/b\\\\s$" /3 permanent;
rewrite ^/c\\\\n$ '/4"' permanent;
rewrite "^/{};#$" "/5{};#" permanent;
rewrite "^/ blank $" "/6 blank" permanent;
rewrite '^/\\\\"$' '/7\\' permanent;""",
    "dollars": rb"""rewrite ^/a\$b$ /1 permanent;
rewrite ^/a[$]c$ /2 permanent;
rewrite (?i)^/d\$e$ /3 permanent;
rewrite ^/f$ /4 permanent;""",
    "long keys": b"rewrite ^/%s$ /1 permanent;\nrewrite ^/%s$ /2 permanent;\nrewrite ^/x%s$ /3 permanent;"
    % (b"a" * 300, b"b" * 2000, b"c" * 500),
    "special keys": rb"""rewrite ^default$ /1 permanent;
rewrite ^~x$ /2 permanent;
rewrite ^/a$ ~x last;
rewrite ^/b$ default last;
rewrite ^/c$ include last;
rewrite ^include$ /3 permanent;
rewrite "^\\\\x$" /4 permanent;
rewrite ^/d$ '\\x' last;""",
    "two classes": rb"""rewrite ^/a$ /1 permanent;
rewrite ^/b$ /2 permanent;
rewrite ^/c$ /a last;
rewrite ^/d$ /b last;""",
    "many classes and a loop": rb"""rewrite ^/a$ /b last;
rewrite ^/b$ /c?k=1 last;
rewrite ^/c$ /d? last;
rewrite ^/d$ /e?k=2? last;
rewrite ^/e$ /f last;
rewrite ^/f$ /g redirect;
rewrite ^/again$ /again/ last;
rewrite ^/again/$ /again last;""",
    "empty targets": rb"""rewrite ^/a$ $arg_v last;
rewrite ^/c$ ? permanent;
rewrite ^/d$ /? last;
rewrite ^/e$ /?? last;
rewrite ^/f$ $arg_v? permanent;
rewrite ^(?:/g)?$ /empty permanent;""",
    "variables that are not there": rb"""rewrite ^/a$ https://$my_site/a permanent;
rewrite ^/(b|c)$ https://$my_site/$1 permanent;
rewrite ^/d$ https://${my_site}x/d permanent;
if ($my_mode) { rewrite ^/e$ /f redirect; }""",
    "escapes": rb"""rewrite ^/a$ /%41%2f%3F permanent;
rewrite ^/b$ /%41%2f%3F last;
rewrite ^/(c%20d|e%66)$ /x/$1 permanent;
rewrite "^/(g h|i)$" /y/$1 last;
rewrite "^/(j k|l)$" /z?m=$1 last;""",
    "other modules between": rb"""rewrite ^/a$ /1 permanent;
expires 1h;
rewrite ^/b$ /2 permanent; add_header X-Y z;
rewrite ^/a$ /3 permanent;""",
    "barriers": rb"""rewrite ^/a$ /b;
rewrite ^/b$ /c permanent;
set $x $uri;
rewrite ^/d$ /a;
rewrite ^/a$ /e permanent;
if ($uri = /f) { break; }
rewrite ^/f$ /g permanent;
rewrite ^/h$ /i permanent;
return 403;
rewrite ^/j$ /k permanent;""",
}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_lists(binary: nginx.Binary, name: str, phase: Phase, tally: Counter[str]) -> None:
    """Lists that a compiler is likely to get wrong."""
    uris = [b"/" + bytes(word) for word in re.findall(rb"\^/([^$\s]*)", AWKWARD[name])]
    check(binary, AWKWARD[name], phase, uris, tally)


# PCRE2 gives up on these URIs, which takes it a while, and nginx answers 500: whether a rule matches or not.
GIVES_UP = rb"""rewrite "^/(?:a?){25}b$" /1 permanent;
rewrite ^/(?!(a+)+$|c)ab$ /2 permanent;
rewrite ^/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab$ /3 permanent;
rewrite ^/(x+)+$ /4 permanent;
rewrite ^/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-$ /5 permanent;
rewrite ^/moved$ /6 permanent;"""
GIVE_UP = (rb"^/(?:a?){25}b$", rb"^/(?!(a+)+$|c)ab$", rb"^/(x+)+$")
GIVEN_UP = [b"/" + b"a" * 25 + b"bb", b"/" + b"a" * 40 + b"b!", b"/" + b"x" * 40 + b"!"]


def test_patterns_that_give_up(binary: nginx.Binary) -> None:
    """A rule that answers a URI with 500 without matching it still does, and a key behind it is not asked first."""
    emission = compiled(load_text(GIVES_UP, context="server"))
    assert emission.changes
    show = b'location / { return 200 "$uri"; }'
    uris = [*GIVEN_UP, b"/moved", b"/ab"]
    requests = [RequestBytes(b"GET %s HTTP/1.1\r\nHost: h\r\n\r\n" % percent_encode(uri)) for uri in uris]
    with (
        Instance(binary, servers=[GIVES_UP + show, _limited(GIVES_UP) + show]) as before,
        Instance(binary, servers=[show, _limited(emission.changes[0].after) + show], http=emission.maps) as after,
    ):
        assert different(before, after, requests, server=1) == []
        assert answers(before, requests) == answers(before, requests, server=1)
        assert all(b" 500 " in answer for answer in answers(before, requests[: len(GIVEN_UP)], server=1))


def _limited(text: bytes) -> bytes:
    """A text with the limit before the patterns on which PCRE gives up."""
    for pattern in GIVE_UP:
        assert pattern in text
        text = limited(text, pattern)
    return text


def damaged(draw: random.Random, text: bytes) -> bytes:
    """The text with one thing wrong somewhere: a line lost, doubled or moved, a word or a byte changed or lost."""
    lines = text.split(b"\n")
    places = [at for at, line in enumerate(lines) if line.strip() and not line.lstrip().startswith(b"#")]
    at, other = draw.choice(places), draw.choice(places)
    line = lines[at]
    byte, words = draw.randrange(len(line)), line.split(b" ")
    words[draw.randrange(len(words))] = draw.choice(lines[other].split(b" "))
    changed = line[:byte] + bytes([draw.choice(b'aAb1/"\\$?;{} _k2n')]) + line[byte + 1 :]
    match draw.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, line)
        case 2:
            lines[at], lines[other] = lines[other], line
        case 3:
            lines[at] = changed
        case 4:
            lines[at] = b" ".join(words)
        case _:
            lines[at] = line[:byte] + line[byte + 1 :]
    return b"\n".join(lines)


@pytest.mark.parametrize("seed", range(3000, 3000 + SEEDS))
def test_random_damage(binary: nginx.Binary, seed: int, tally: Counter[str]) -> None:
    """Random damage is refuted, or nginx responds as before."""
    draw = random.Random(seed)
    phase = draw.choice(PHASES)
    rules = rulegen.generate(seed, draw.choice([3, 6, 12]))
    right = emit(plan(load_text(rules.text, context=phase), Options(name="m")))
    for _ in range(30 if right.changes else 0):
        change = right.changes[0]
        if draw.random() < 0.5:
            wrong = replace(right, maps=damaged(draw, right.maps))
        else:
            wrong = replace(right, changes=(replace(change, after=damaged(draw, change.after)),))
        if not prove(wrong).holds:
            tally["faults refuted"] += 1
        elif wrong != right:
            tally["faults without effect"] += 1
            comparison = differential(
                before=rules.text,
                after=wrong.changes[0].after,
                maps=wrong.maps,
                phase=phase,
                keys=[*rules.uris, *keys(right)],
                binary=binary,
                limit=REQUESTS // 2,
                seconds=PATIENCE,
            )
            assert [str(mismatch) for mismatch in comparison.mismatches] == []
            assert comparison.warnings == ()


def fragments() -> Iterator[str]:
    """The plain files of set A that hold rewrites and stand in a server."""
    for row in rows():
        if row["set"] == "A" and is_plain(row) and int(row["rewrites"] or 0) and row["context"] == "server":
            yield row["file"]


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("file", sorted(fragments()))
def test_corpus_files(binary: nginx.Binary, file: str, phase: Phase, tally: Counter[str]) -> None:
    """Fragments in use, before and after."""
    text = (CORPUS / file).read_bytes()
    try:
        check(binary, text, phase, [], tally)
    except InputError as error:
        pytest.skip(f"nginx does not take it: {error}")
