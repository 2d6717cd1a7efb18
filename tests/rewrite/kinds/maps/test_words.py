"""Lists of words: rows of one value that differ in a literal share patterns, and long lists are never too deep."""

from __future__ import annotations

import random

import pytest

from nginxopt._native import CompiledMap, compile_map, prove_map

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def words(count: int, seed: int = 1) -> list[str]:
    """Distinct names of hosts, shuffled as in lists that grow at their end."""
    source = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        name = "".join(source.choices(_LETTERS, k=source.randint(4, 12)))
        found[f"{name}.{source.choice(('com', 'ru', 'net', 'co.uk'))}"] = None
    return list(found)


def compiled(rows: list[str], source: str = "$http_referer") -> CompiledMap:
    """What a map becomes; it is proved."""
    text = f"map {source} $bad {{ default 0;\n{chr(10).join(rows)}\n}}".encode()
    result = compile_map(text, stem="m_")
    assert isinstance(result, CompiledMap), result.reason
    own = b"map %s $bad { default %s; }\n" % (source.encode(), result.default)
    proof = prove_map(text, own + result.maps, compiled=result)
    assert proof.holds, proof.refutation
    return result


def escaped(word: str) -> str:
    """A word as such lists spell it."""
    return word.replace(".", r"\.")


@pytest.mark.parametrize("form", [r'"~*(?:\b){}(?:\b)"', r'"~*\b{}(?:\b|$)"', "~*{}", '"~*^http://{}/"', r"~{}\z"])
def test_rows_of_one_value(form: str) -> None:
    """A miss tries as many patterns as parameters are needed for the words, and so does a hit. What has a beginning is
    looked up in tables, and the rest is in one map.
    """
    rows = [f"{form.format(escaped(word))} 1;" for word in words(600)]
    result = compiled(rows)
    far, near, worst = result.after
    assert max(far, near, worst) <= 5
    assert "^" in form or result.maps.count(b"map ") == 1


@pytest.mark.parametrize("form", [r'"~{}/[\d\.]+"', r'"~[a-z]+{}"', r'"~*{}/v[\d.]+;"', r'"~{}x{{1,3}}"'])
def test_repetitions_at_an_end(form: str) -> None:
    """A repetition at an end of a pattern adds nothing behind its first round, for the planner and for the proof."""
    text = "map $http_user_agent $bad {{ default 0; {} }}"
    rows = [f"{form.format(word)} 1;" for word in words(60) if "co.uk" not in word]
    result = compiled(rows, "$http_user_agent")
    assert max(result.after) <= 2
    head = b"map $http_user_agent $bad { default %s; }\n" % result.default
    for old, new in ((b"[\\x2e0-9]", b"[\\x2e0-8]"), (b"[a-z]", b"[a-y]"), (b"x)", b"xx)")):
        damaged = result.maps.replace(old, new, 1)
        if damaged != result.maps:
            assert not prove_map(text.format(" ".join(rows)).encode(), head + damaged).holds


def test_values_in_their_order() -> None:
    """Runs of one value stay in their order; a row that reads captures, or whose value differs, stays between them."""
    names = words(90)
    values = [1] * 40 + [0] * 30 + [1] * 20
    rows = [f'"~*\\b{escaped(name)}\\b" {value};' for name, value in zip(names, values, strict=True)]
    rows.insert(20, '"~*/from/(.*)" "$1";')
    result = compiled(rows)
    assert result.after == (5, 5, 5)
    assert [line.rpartition(b" ")[2] for line in result.maps.splitlines() if b"~" in line] == [
        b'"1";',
        b'"$1";',
        b'"1";',
        b'"0";',
        b'"1";',
    ]


def test_an_earlier_row_decides() -> None:
    """A word that comes twice has the value of the first of its rows, however the second is spelled."""
    names = words(40)
    rows = [f'"~*\\b{escaped(name)}\\b" 1;' for name in names[:20]]
    rows += [f'"~*(?:\\b){escaped(name.upper())}\\b" 2;' for name in [*names[10:20], *names[20:]]]
    result = compiled(rows)
    assert [line.rpartition(b" ")[2] for line in result.maps.splitlines() if b"~" in line] == [b'"1";', b'"2";']


@pytest.mark.parametrize("value", ["{number}", "/to/{number}", "$1"])
def test_long_lists_of_many_values_move(value: str) -> None:
    """Filters come first where each row has a value of its own: a miss tries some of them, and no row."""
    rows = [f'"~*({escaped(word)})" "{value.format(number=number)}";' for number, word in enumerate(words(3_000))]
    far, near, _ = compiled(rows).after
    assert max(far, near) <= 60


@pytest.mark.parametrize("step", [1, 2])
def test_floats_and_rows_of_a_tree(step: int) -> None:
    """Rows that may match anywhere come behind filters; a request that passes none tries the tree alone."""
    names = words(200)
    rows = [f'"~^/{escaped(name)}/(.*)$" "/{number}/$1";' for number, name in enumerate(names[:120])]
    for number, name in enumerate(names[120:]):
        rows.insert(step * number, f'"~^/.*{escaped(name)}.*$" /float/{number};')
    far, near, _ = compiled(rows, "$uri").after
    assert max(far, near) <= 6
