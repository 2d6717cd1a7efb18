"""What a lookup that finds no rule leaves behind, on a real nginx: empty captures, and a script that ends at once."""

from __future__ import annotations

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Emission, Options, emit, plan, prove
from nginxopt.system import nginx
from tests.nginx.raw import answers, get
from tests.rewrite.mutations.programs import GROUPS, MORE, NOT_STOPPED, OF_KINDS, STOPPED

pytestmark = pytest.mark.nginx

SITE = "events {}\nhttp {\nserver {\n%s}\n}\n"
AROUND = """
set $ran 1;
%s
error_page 404 /g/0/page;
location /missing { return 404; }
location / { return 200 "$uri $args $ran"; }
"""
READS_CAPTURES = 'server_name "~^(.)\\.";\n' + AROUND.replace("$args $ran", "$args [$1]")
PATHS = [
    *(f"/{letter}/{number}{rest}" for letter in "ghijklm" for number in (0, 1, 24, 99) for rest in ("", "/", "/x/y")),
    *("/", "/a", "/A", "/A0", "/a0", "/A1", "/A2", "/A9", "/n0", "/n11", "/n11x", "/n99", "/missing", "/%0A", "/A0%0A"),
    *("/g/0/a?b=1", "/k/1/%2Fa?c=%20", "/l/3?x", "/aaa", "/aab", "/B"),
]
REQUESTS = [get(path, host="b.test") for path in PATHS]


def _compiled(server: str) -> tuple[Emission, str]:
    config = load_text((SITE % server).encode(), includes=False)
    emission = emit(plan(config, Options(groups=True)))
    assert prove(emission).holds
    return emission, emission.after(config.main).decode().partition("server {\n")[2].rpartition("}\n}\n")[0]


def _same(server: str, binary: nginx.Binary) -> tuple[Emission, str, list[bytes]]:
    emission, after = _compiled(server)
    (before,) = answers([server], REQUESTS, binary=binary)
    (compiled,) = answers([after], REQUESTS, http=emission.http.decode(), binary=binary)
    assert before == compiled
    return emission, after, before


@pytest.mark.parametrize("name", STOPPED)
def test_a_script_that_ends_at_once(name: str, each_binary: nginx.Binary) -> None:
    """Nothing of the server's script follows, so that `break` changes no response."""
    rules = STOPPED[name].decode().partition("location /")[0]
    _, after, before = _same(AROUND % rules, each_binary)
    assert after.count("    break;") == 1
    assert any(b" 301 " in answer[:20] for answer in before)


@pytest.mark.parametrize("name", [name for name in NOT_STOPPED if name != "more-files"])
def test_a_script_that_goes_on(name: str, a_binary: nginx.Binary) -> None:
    """Where something follows, a `break` would skip it."""
    emission, after, before = _same(AROUND % NOT_STOPPED[name].decode(), a_binary)
    assert "break;" not in after
    variable = next(each for each in ("_kind", "_rules", "_hit") if f"{each} = 1) {{" in after)
    stem = after.partition(f"{variable} = 1) {{")[0].rpartition("$")[2]
    first = f"if (${stem}{variable} = 1) {{"
    faulty = after.replace(first, f'if (${stem}{variable} = "") {{ break; }}\n{first}', 1)
    (stopped,) = answers([faulty], REQUESTS, http=emission.http.decode(), binary=a_binary)
    assert (stopped != before) or name == "more-rules"


@pytest.mark.parametrize("rules", [GROUPS + MORE, OF_KINDS], ids=["groups", "kinds"])
def test_captures_are_empty(rules: bytes, each_binary: nginx.Binary) -> None:
    """If no rule fires, `$1` is empty behind a lookup as behind the rules, also if the name of the server set it."""
    _, after, before = _same(
        READS_CAPTURES % rules.decode().replace("rewrite ^/a$ /to/a permanent;\n", ""), each_binary
    )
    assert '"^a(?!)"' not in after
    assert any(b"[]" in answer for answer in before)
    (without,) = answers([READS_CAPTURES % ""], REQUESTS, binary=each_binary)
    assert any(b"[b]" in answer for answer in without)
