"""Random sites whose parts use each other: whatever is compiled, a real nginx answers the whole as before.

The variable NGINXOPT_SEEDS sets the number of sites (by default 12).
"""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Options, plan
from nginxopt.rewrite.differential import ask_whole
from nginxopt.rewrite.proving import proved
from nginxopt.system import nginx
from tests.rewrite import composed
from tests.support import NGINXES

pytestmark = [pytest.mark.nginx, pytest.mark.extended]

SEEDS = int(os.environ.get("NGINXOPT_SEEDS", "8"))
WORDS = ["shop", "old", "blog", "a", "news", "Docs", "x1"]


class Site:
    """A random site: maps of the URI, headers and each other, chains of `if`s, rewrites and regex locations."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._maps: list[str] = []
        http = [self._map(number) for number in range(self._draw.randint(2, 6))]
        http += self._others()
        self._draw.shuffle(http)
        servers = [self._server(number) for number in range(self._draw.randint(1, 2))]
        self.text = "\n".join(["events {}", "http {", *http, *servers, "}"])

    def _pattern(self, number: int) -> str:
        words = self._draw.sample(WORDS, 2)
        end = self._draw.choice(["/(.*)$", "/([^/]+)/?$", "$", "[0-9]*$", "/(?<tail>.+)$"])
        if "tail" in end and self._draw.random() < 0.7:
            end = "/(.*)$"
        return f"^/{words[0]}/{self._draw.choice(['', words[1] + '/'])}p{number}{end}"

    def _variable(self) -> str:
        own = ["$uri", "$uri", "$request_uri", "$http_user_agent", "$args", "$arg_a", "$host"]
        return self._draw.choice(own + self._maps * 2)

    def _map(self, number: int) -> str:
        source = self._variable() if self._maps else "$uri"
        flag = self._draw.choice(["", "", "volatile;"])
        rows = []
        for row in range(self._draw.randint(6, 14)):
            mark = self._draw.choice(["~", "~", "~*"])
            value = self._draw.choice([f"v{row}", f"v{row}", f'"$1-{row}"', self._variable(), f'"/n{row}$1"'])
            rows.append(f'"{mark}{self._pattern(row)}" {value};')
        rows += [f"/plain{row} p{row};" for row in range(self._draw.randint(0, 3))]
        default = self._draw.choice(["", "default none;", f"default {self._variable()};", 'default "/d/$uri";'])
        name = f"$m{number}"
        self._maps.append(name)
        return f"map {source} {name} {{ {flag} {default} {' '.join(rows)} }}"

    def _others(self) -> list[str]:
        split = f'split_clients "{self._variable()}" $split {{ 50% one; * two; }}'
        geo = "geo $local { default no; 127.0.0.1 yes; }"
        over = f"map $split $over {{ default {self._draw.choice(self._maps)}; two two; }}"
        self._maps += ["$split", "$local", "$over"]
        return [split, geo, over]

    def _rules(self, count: int) -> str:
        rules = []
        for rule in range(count):
            flag = self._draw.choice(["last", "last", "permanent", "redirect", "break"])
            target = self._draw.choice(["/n$1", f"/shop/old/p{rule + 1}", f"/r{rule}?m={self._variable()}", "/t/$1/u"])
            rules.append(f"rewrite {self._pattern(rule)} {target} {flag};")
        return "\n".join(rules)

    def _chain(self) -> str:
        variable = self._variable()
        kind = self._draw.choice(["return", "set", "rewrite"])
        lines = []
        for number in range(self._draw.randint(8, 11)):
            operator = self._draw.choice(["~", "~*"])
            text = self._draw.choice([f"/c{number}", f"/c{number}$uri", f"/c{number}{self._variable()}"])
            statement = {
                "return": f"return 302 {text};",
                "set": f"set $kept {text};",
                "rewrite": f"rewrite ^ {text} last;",
            }[kind]
            lines.append(f'if ({variable} {operator} "{self._pattern(number)}") {{ {statement} }}')
        return "\n".join(lines)

    def _locations(self) -> str:
        lines = [
            f'location ~ "{self._pattern(number)}" {{ return 200 "l{number} [$1] [{self._variable()}]"; }}'
            for number in range(self._draw.randint(4, 9))
        ]
        return "\n".join(lines)

    def _shown(self) -> str:
        return " ".join(["[$uri]", *(f"[{name}]" for name in self._draw.sample(self._maps, len(self._maps)))])

    def _server(self, number: int) -> str:
        captures = self._draw.choice(["", "", " [$1]"])
        parts = [self._rules(self._draw.randint(0, 12)), self._chain() if self._draw.random() < 0.6 else ""]
        self._draw.shuffle(parts)
        inner = [self._rules(self._draw.randint(0, 8)), self._chain() if self._draw.random() < 0.3 else ""]
        self._draw.shuffle(inner)
        condition = f'if ({self._variable()} ~ "^/(shop|old)") {{ set $kept "k$1"; }}'
        lines = [
            f"server {{ listen 8080; server_name s{number}.test;",
            'set $kept "";',
            self._draw.choice(["", condition]),
            *parts,
            self._locations() if self._draw.random() < 0.7 else "",
            self._draw.choice(["", f'add_header X-Map "{self._draw.choice(self._maps)}" always;']),
            f'error_page 404 /-missing; location = /-missing {{ return 404 "{self._shown()}"; }}',
            f"location /t/ {{ root /srv/{self._draw.choice(self._maps)}; try_files $uri /shop/old/p1 =404; }}",
            "location / {",
            *inner,
            f'return 200 "{self._shown()} [$kept]{captures}";',
            "} }",
        ]
        return "\n".join(line for line in lines if line)


def deep(seed: int) -> str:
    """A site with dozens of maps, most of which evaluate another one, at times in a circle."""
    draw = random.Random(seed)
    levels = draw.choice([12, 50, 70, 95])
    blocks = []
    for number in range(levels):
        below = [f"$m{draw.randint(number + 1, min(levels, number + draw.choice([1] * 30 + [9])))}"]
        below += [f"$m{draw.randrange(levels)}"] if draw.random() < 0.004 else []
        source = draw.choice(["$uri"] * 60 + ["$http_user_agent", below[0]])
        flag = draw.choice(["", "", "", "volatile;"])
        default = draw.choice([below[-1]] * 30 + [f'"x{below[-1]}"', f'"/n{number}$uri"'])
        rows = composed.rows(number % 6, few=draw.choice([2, 7, 7, 7])) if draw.random() < 0.97 else f"/zzz {below[0]};"
        blocks.append(f"map {source} $m{number} {{ {flag} default {default}; {rows} }}")
    draw.shuffle(blocks)
    shown = [draw.randrange(3), *(draw.randrange(levels) for _ in range(2))]
    chain = "".join(f'if ($m{shown[0]} ~ "^/k{row}/") {{ return 301 /to{row}$m{shown[1]}; }}' for row in range(12))
    return composed.site(
        "\n".join([*blocks, f"map $uri $m{levels} {{ default end; {composed.rows(5)} }}"]),
        " ".join(f"$m{number}" for number in [0, *shown]),
        chain if draw.random() < 0.5 else "",
    )


def asked(seed: int) -> nginx.Binary:
    """The nginx that a site is put to: in turn each of those there are."""
    return NGINXES[seed % len(NGINXES)]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_deep_sites(seed: int, tally: Counter[str]) -> None:
    """Whatever evaluates what, nothing differs between the whole original and the whole result."""
    emission, proof = proved(plan(load_text(deep(seed).encode(), "nginx.conf"), Options(groups=True)))
    assert proof.holds
    compiled = emission.plan.maps.compiled
    assert not any(each.reason == "unproved" for each in emission.plan.maps.kept)
    tally["maps (deep)"] += len(compiled)
    for each in emission.plan.maps.kept:
        tally[f"{each.reason} (deep)"] += 1
    tally["conditions (deep)"] += emission.plan.chains.moved
    for comparison in ask_whole(emission, asked(seed)):
        assert comparison.omitted is None
        assert [str(mismatch) for mismatch in comparison.mismatches] == []
        tally["requests (deep)"] += comparison.requests


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_sites(seed: int, tally: Counter[str]) -> None:
    """Nothing differs between the whole original and the whole result."""
    emission, proof = proved(plan(load_text(Site(seed).text.encode(), "nginx.conf"), Options(groups=True)))
    assert proof.holds
    for comparison in ask_whole(emission, asked(seed)):
        assert comparison.omitted is None
        assert [str(mismatch) for mismatch in comparison.mismatches] == []
        moving = emission.plan
        tally["requests (composed)"] += comparison.requests
        tally["unstable (composed)"] += comparison.unstable
        tally["maps"] += len(moving.maps.compiled)
        tally["rules"] += moving.rules.moved
        tally["conditions"] += moving.chains.moved
        tally["locations"] += moving.locations.moved
