"""The table of nginx's variables: where nginx did not warn of its size before, it does not afterwards."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import emit, plan, prove
from nginxopt.system.nginx import Binary

pytestmark = pytest.mark.nginx

WARNING = "variables_hash"
RULES = "rewrite ^/a$ /b permanent; rewrite ^/c$ https://$host/d redirect; rewrite ^/e$ /f last;"
DEFINITIONS = ("map $uri $@ { a b; }\n", "split_clients $uri $@ { * b; }\n", "geo $@ { default 1; }\n")
WITH_IF = "rewrite ^/A$ /b permanent; rewrite ^/a$ /c permanent; rewrite ^/g$ /f last;"


def variables(draw: random.Random, count: int, longest: int) -> list[str]:
    """Names of some length."""
    letters = "abcdefghijklmnopqrstuvwxyz_"
    return ["v" + "".join(draw.choices(letters, k=draw.randint(3, longest))) for _ in range(count)]


def warns(binary: Binary, config: bytes, files: dict[str, bytes]) -> bool:
    """Whether nginx starts with a warning about the table."""
    verdict = binary.test(config, files)
    assert verdict.ok, verdict.messages
    return WARNING in str(verdict)


@pytest.mark.parametrize("longest", [6, 14, 24, 40])
@pytest.mark.parametrize("count", [0, 2, 5, 10, 15, 20, 25, 30, 40, 60, 120, 200])
def test_no_new_warning(a_binary: Binary, count: int, longest: int) -> None:
    """With any number of variables of the configuration's own, of any length, on one server or four."""
    draw = random.Random(f"{count} {longest}")
    for number in range(2):
        text = ""
        for at, name in enumerate(variables(draw, count, longest)):
            text += DEFINITIONS[at % len(DEFINITIONS)].replace("@", name)
        server = f"server {{ listen unix:@.sock; {RULES} {WITH_IF} }}\n"
        servers = "".join(server.replace("@", str(at)) for at in range(1 + number * 3))
        config = f"pid nginx.pid;\nevents {{}}\nhttp {{\naccess_log off;\n{text}{servers}}}\n".encode()
        emission = emit(plan(load_text(config)))
        assert prove(emission).holds
        assert emission.maps_path is not None
        (change,) = emission.changes
        is_new = warns(a_binary, change.after, {Path(emission.maps_path).name: emission.maps})
        assert not is_new or warns(a_binary, config, {})
