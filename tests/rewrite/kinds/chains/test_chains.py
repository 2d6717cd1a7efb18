"""Chains of `if`s: which become one lookup, what is said of them, and that a second run leaves it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config import load_text
from nginxopt.errors import InputError
from nginxopt.rewrite import Options, emit, plan, prove
from nginxopt.rewrite.output import report, summary
from nginxopt.rewrite.proving import proved
from tests.schemas import validate

GROUPED = Options(name="m", groups=True)


def chain(count: int, start: int = 0, *, condition: str = "$uri ~ ^/%d/", body: str = "return 403;") -> str:
    """Return so many conditions."""
    return "".join(f"if ({condition % number}) {{ {body} }}\n" for number in range(start, start + count))


def whole(text: str) -> bytes:
    """Return a configuration with statements in a server."""
    return f"events {{}} http {{ server {{ {text} }} }}".encode()


def test_a_chain_ends_where_something_else_stands() -> None:
    """Conditions on one variable, directly behind each other, are one chain; eight or more of them are looked up."""
    texts = {
        chain(8): [8],
        chain(7): [],
        chain(8) + "set $x 1;\n" + chain(9, 8): [8, 9],
        chain(5) + "# A comment.\n" + chain(6, 5): [11],
        chain(8) + chain(8, 8, condition="$args ~ ^%d/"): [8, 8],
        chain(8) + chain(1, 8, body="return 301 /$1;") + chain(7, 9): [8],
        chain(8) + "expires 1h;\n" + chain(8, 8): [8, 8],
        chain(9, condition="$uri = /%d"): [],
        chain(6, body="set $x 1;"): [],
    }
    for text, lengths in texts.items():
        compiled = plan(load_text(whole(text)), GROUPED).chains
        assert [len(each.chain.conditions) for each in compiled.compiled] == lengths, text


def test_strings_are_one_chain_where_captures_are_read() -> None:
    """Sixteen or more comparisons with strings are looked up without a pattern; those that no key stands for stay."""
    for context in ("server", "location"):
        text = chain(16, condition="$arg_p = %d", body="return 301 /to;")
        others = "".join(f"if ($arg_p = {each}) {{ return 404; }}\n" for each in ('""', '"~a"', "default", r'"\\a"'))
        more = (
            "".join(f"if ($arg_p = A{each}) {{ return 410; }}\n" for each in range(16))
            + "if ($arg_p = a3) { return 1; }"
        )
        emission = emit(plan(load_text((text + others + more).encode(), context=context), GROUPED))
        assert prove(emission).holds
        assert [len(each.chain.conditions) for each in emission.plan.chains.compiled] == [16, 16]
        assert emission.plan.chains.reasons() == {"captures-kept": 5}
        assert b"~" not in emission.trees
    assert not plan(load_text(chain(15, condition="$arg_p = %d").encode(), context="server"), GROUPED).chains.compiled


@given(st.lists(st.sampled_from(["a", "A", "aB", "ab", "1", "", "~", "x y", "default", "$"]), min_size=16, max_size=30))
def test_strings_of_any_kind_are_proved(strings: list[str]) -> None:
    """Whatever the strings are, those that move are proved, and the first condition with a string decides."""
    numbered = [text * (number % 3 + 1) for number, text in enumerate(strings)]
    text = "".join(f'if ($arg_p = "{each}") {{ return {300 + n}; }}\n' for n, each in enumerate(numbered))
    emission, proof = proved(plan(load_text(text.encode(), context="server"), GROUPED))
    assert proof.holds
    assert not emission.plan.chains.reasons()["unproved"]


def test_what_is_said() -> None:
    """The summary has a line for each chain and reason; the report is as its schema says."""
    text = chain(9) + chain(5, 9, body="return 301 /$1;")
    emission, proof = proved(plan(load_text(whole(text)), GROUPED))
    assert (proof.holds, proof.of["chains"].lists, proof.rules.lists) == (True, 9, 0)
    said = list(summary(emission.plan, proof, verbose=True))
    assert said[:3] == [
        "-: 14 conditions in chains of `if`",
        "  tried              14  patterns for a request that none of them matches; now 6",
        "  in one              9  conditions on $uri (-:1): a map finds the first that is true",
    ]
    assert "  stay                5  conditions of `if`: it returns a capture" in said[3]
    assert "  proved              9  conditions: no response changes" in said
    written = report(emission.plan, proof)
    validate(written, "rewrite-report")
    assert [(each["conditions"], each["reason"]) for each in written["chains"]] == [
        (9, None),
        *[(1, "captures-returned")] * 5,
    ]


@pytest.mark.parametrize("context", ["server", "location", "http"])
def test_a_second_run_changes_nothing(context: str) -> None:
    """What a chain becomes is no chain, however many answers it has."""
    text = chain(30, body="return 301 /x;") + chain(9, 30, body="return 302;") + chain(9, 40, body="return 404 no;")
    around = f"server {{ {text} }}" if context == "http" else text
    emission = emit(plan(load_text(around.encode(), context=context), GROUPED))
    assert prove(emission).holds
    assert emission.plan.chains.moved == 48
    again = plan(load_text(emission.changes[0].after, context=context), GROUPED)
    assert not again.changes
    assert not again.chains.total


def test_chains_and_rewrites_and_maps_together() -> None:
    """Chains stand beside rewrites and maps that move, in the same server, and all of it is proved."""
    rules = "".join(f"rewrite ^/r{number}/(.*)$ /to/{number}/$1 permanent;\n" for number in range(9))
    rows = "".join(f"~^/m{number}/ {number};\n" for number in range(30))
    servers = f"server {{ {rules} {chain(9)} location / {{ {rules} {chain(9, body='return 301 /$host;')} }} }}"
    config = f"events {{}} http {{ map $uri $m {{\n{rows} }} {servers} }}"
    emission = emit(plan(load_text(config.encode()), GROUPED))
    compiled = emission.plan
    assert (compiled.rules.grouped, compiled.chains.moved, compiled.maps.moved) == (18, 18, 30)
    assert prove(emission).holds


def test_a_chain_that_is_not_proved_stays() -> None:
    """If the proof refutes a lookup, its conditions stay, and the others do not."""
    compiled = plan(load_text(whole(chain(8) + "set $x 1;\n" + chain(9, 8))), GROUPED).chains
    without = compiled.without(compiled.compiled[0])
    assert (without.moved, dict(without.reasons())) == (9, {"unproved": 8})


def test_a_pattern_that_nginx_refuses() -> None:
    """A condition with which nginx does not start is an error with its place."""
    with pytest.raises(InputError, match="PCRE2 does not compile the pattern: missing closing") as raised:
        plan(load_text(whole(chain(8) + "if ($uri ~ ^/(a) {\nreturn 403;\n}\n")), GROUPED)
    assert raised.value.span is not None
    assert raised.value.source is not None
    span = raised.value.span
    assert raised.value.source.data[span.start : span.end] == b"^/(a"
