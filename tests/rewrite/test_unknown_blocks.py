"""Rules in blocks of modules that are not known: what stands there may mean anything, so they stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt import load, load_text
from nginxopt.rewrite import Options, Plan, plan
from nginxopt.rewrite.proving import proved

RULES = "".join(f"rewrite ^/old{number}$ /new{number} permanent;\n" for number in range(30))


def comes_true(planned: Plan) -> Plan:
    """Check that the result has exactly what was planned."""
    emission, proof = proved(planned)
    assert proof.holds, proof.refutation
    assert emission.plan.broken == []
    assert emission.plan.rules.moved == planned.rules.moved
    return planned


@pytest.mark.parametrize(
    "text",
    ["events {}\nother {\nserver {\n%s}\n}\n", "events {}\nhttp {\nserver {\nother {\nlocation / {\n%s}\n}\n}\n}\n"],
)
@pytest.mark.parametrize("rules", [RULES, "rewrite ^/a(.*)$ /b$1 last;\n" * 3])
def test_rules_stay(text: str, rules: str) -> None:
    """Neither lookups nor groups are planned, as the proof compares such a block as a whole."""
    planned = comes_true(plan(load_text((text % rules).encode(), "nginx.conf"), Options(groups=True)))
    assert planned.moving == 0
    assert set(planned.rules.reasons()) == {"misplaced"}


def test_rules_of_a_file_stay(tmp_path: Path) -> None:
    """So do those of a file that such a block includes; those of other files move."""
    main = "events {}\nhttp {\nother { include other.conf; }\ninclude known.conf;\n}\n"
    server = f"server {{\n{RULES}}}\n"
    for name, text in {"nginx": main, "other": server, "known": server}.items():
        (tmp_path / f"{name}.conf").write_text(text)
    planned = comes_true(plan(load(tmp_path / "nginx.conf")))
    assert (planned.rules.moved, dict(planned.rules.reasons())) == (30, {"misplaced": 30})
