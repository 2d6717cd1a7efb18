"""The sizes of nginx's hash tables: numbers of any size, keys that are made to collide, names that are too many."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt import _native
from nginxopt.config import load_text
from nginxopt.errors import InputError
from nginxopt.rewrite import Emission, Options, Readings, emit, plan, prove
from nginxopt.rewrite.mapfile import LONGEST_GROUP, RunNames
from nginxopt.rewrite.proving import proved
from nginxopt.semantics.maphash import Verdict, suitable, verdict
from tests.rows import every_row

WHOLE = b"events {}\n%s\nhttp {\n    %s\n    server { rewrite ^/a$ /b permanent; rewrite ^/c$ /d permanent; }\n}\n"
NAMES = (
    "map_hash_max_size", "map_hash_bucket_size", "variables_hash_max_size", "variables_hash_bucket_size",
)  # fmt: skip
LISTS = 10_007
"""`NGX_HASH_LARGE_HSIZE`"""


def compiled(text: bytes) -> Emission:
    """An emission that is proved."""
    planned = plan(load_text(text, context="server") if b"http" not in text else load_text(text))
    emission = emit(planned)
    assert prove(emission).holds
    return emission


def ngx_hash(key: str) -> int:
    """`ngx_hash_key_lc`, in 64 bits."""
    value = 0
    for byte in key.lower().encode():
        value = (value * 31 + byte) % 2**64
    return value


numbers = st.one_of(
    st.integers(0, 2**70), st.sampled_from([0, 1, 63, 64, 65, 2**28, 2**28 + 1, 2**31, 2**63 - 1, 2**63, 2**64])
)
words = st.one_of(numbers.map(str), st.sampled_from(["", "-1", "1k", "²", "٣", "0x10", "1.5", " 7", "00064", "1e9"]))


@given(st.sampled_from(NAMES), words)
def test_any_number(name: str, word: str) -> None:
    """A size of any value is used, raised, or refused with its place; nothing panics, and nothing else is raised."""
    text = WHOLE % (b"", f'{name} "{word}";'.encode())
    if not (word.isascii() and word.isdigit()):
        with pytest.raises(InputError):
            compiled(text)
        return
    with contextlib.suppress(InputError):
        assert compiled(text).sizes[name] >= int(word)


@given(st.lists(st.binary(max_size=80), max_size=20), numbers, numbers)
def test_any_table(keys: list[bytes], max_size: int, bucket: int) -> None:
    """The native core takes numbers of any size."""
    assert verdict(keys, max_size, bucket) in (Verdict.FITS, Verdict.WARNS, Verdict.REFUSED, Verdict.SLOW)
    suitable([keys], max_size, bucket)


@every_row(
    "text",
    [
        b"map_hash_max_size 9223372036854775807;",
        b"map_hash_bucket_size 9223372036854775807;",
        b"map_hash_bucket_size 65536;",
        b"map_hash_max_size 99999999999999999999999;",
        b"map_hash_max_size 16k;",
        b"map_hash_max_size;",
        b"map_hash_max_size 64 64;",
        b"map_hash_max_size 64; map_hash_max_size 64;",
        b"variables_hash_max_size 9223372036854775807;",
    ],
)
def test_sizes_that_nginx_refuses(text: bytes) -> None:
    """A size under which nginx builds no map is an error of the input, with its place."""
    with pytest.raises(InputError) as refused:
        compiled(WHOLE % (b"", text))
    assert refused.value.span is not None


def test_sizes_of_other_modules() -> None:
    """Those of `stream` and `mail` are neither taken for http's nor changed."""
    stream = b"stream { map_hash_max_size 7; map_hash_bucket_size 8; variables_hash_max_size 9; }"
    emission = compiled(WHOLE % (stream, b""))
    (change,) = emission.changes
    assert stream in change.after
    assert emission.sizes == {"map_hash_max_size": 16_384, "map_hash_bucket_size": 512}
    assert b"    map_hash_max_size 16384;\n    map_hash_bucket_size 512;\n    include " in change.after


@pytest.mark.parametrize("rules", ["", "rewrite ^/a$ /b permanent; rewrite ^/c$ /d permanent;"], ids=["none", "two"])
@pytest.mark.parametrize("size", ["map_hash_max_size 12;", "map_hash_bucket_size 9g;"])
def test_a_size_in_a_server_is_refused(size: str, rules: str) -> None:
    """nginx allows none there; that is an error of the configuration, whether anything moves or not."""
    with pytest.raises(InputError, match="in the http block only"):
        compiled(f"events {{}} http {{ server {{ {size} {rules} }} }}".encode())


def test_a_fragment_has_sizes_only_if_it_needs_them() -> None:
    """Few short keys fit nginx's own sizes, so that fragments have none to set twice."""
    assert compiled(b"rewrite ^/a$ /b permanent;\n").sizes == {}
    assert compiled(b"rewrite ^/%s$ /b permanent;\n" % (b"x" * 60)).sizes == {
        "map_hash_max_size": 16_384,
        "map_hash_bucket_size": 512,
    }


def test_maps_of_the_configuration_fit_the_larger_table() -> None:
    """The sizes suit the maps that are there already: one of them has a longer key than all of ours."""
    http = b"map $host $x { %s 1; volatile; default 2; ~%s 3; }" % (b"k" * 900, b"r" * 2000)
    assert compiled(WHOLE % (b"", http)).sizes["map_hash_bucket_size"] == 960


def one_hash(count: int) -> list[str]:
    """Keys of one hash: `an` and `c0` are equal to nginx."""
    length = (count - 1).bit_length()
    return ["".join(("an", "c0")[number >> bit & 1] for bit in range(length)) for number in range(count)]


def one_list(count: int) -> list[str]:
    """Keys whose hashes are equal modulo 10,007."""
    paths: list[str] = []
    letters = "abcdefghijklmnopqrstuvwxyz"
    pairs = {(31 * ord(a) + ord(b)) % LISTS: a + b for a in letters for b in letters}
    number = 0
    while len(paths) < count:
        prefix = f"/k{number}-"
        number += 1
        pair = pairs.get(-(ngx_hash(prefix) * 961 % 2**64) % LISTS)
        if pair is not None and ngx_hash(prefix + pair) % LISTS == 0:
            paths.append(prefix + pair)
    return paths


def rules(keys: list[str]) -> bytes:
    """A redirect for each key."""
    return "".join(f"rewrite ^{key}$ /to/{number} permanent;\n" for number, key in enumerate(keys)).encode()


@pytest.mark.parametrize("length", [0, 40, 3000])
def test_keys_of_one_hash(length: int) -> None:
    """No table parts keys of one hash: so many are taken as a bucket holds well, the rest stay, with the reason."""
    keys = [f"/{'p' * length}{key}" for key in one_hash(1024)]
    assert len({ngx_hash(key) for key in keys}) == 1
    emission = compiled(rules(keys))
    reasons = emission.plan.rules.reasons()
    assert set(reasons) == {"hash-collision"}
    assert emission.plan.rules.moved + reasons["hash-collision"] == 1024
    assert 0 < emission.plan.rules.moved <= 64


def test_patterns_of_one_hash() -> None:
    """Neither groups nor the tree of a map take the keys that no table parts."""
    keys = one_hash(1024)
    grouped = plan(load_text(rules(keys), context="server"), Options(groups=True))
    assert grouped.rules.grouped == 0
    emission, proof = proved(grouped)
    assert proof.holds
    assert emission.sizes
    rows = "".join(f"~^{key}$ {number};" for number, key in enumerate(keys))
    kept = plan(load_text(f"events {{}} http {{ map $uri $to {{ {rows} }} }}".encode())).maps.kept
    assert [each.reason for each in kept] == ["hash-collision"]


def test_keys_of_one_list() -> None:
    """nginx compares each key with all that are in its list of 10,007: a few hundred are taken, not 3,000."""
    keys = one_list(3000)
    assert {ngx_hash(key) % LISTS for key in keys} == {0}
    planned = plan(load_text(rules(keys), context="server"))
    assert 200 <= planned.rules.moved <= 300
    assert set(planned.rules.reasons()) == {"hash-collision"}


def test_ordinary_keys_all_move() -> None:
    """Keys that nobody has made collide are not held for such: numbers, words, paths."""
    count = 20_000
    for form in ("/page-{}", "/{:06x}", "/p/{}/index.html", "/{:b}", "/item/{0}/{0}"):
        planned = plan(load_text(rules([form.format(n).replace(".", "\\.") for n in range(count)]), context="server"))
        assert planned.rules.moved == count, form


def test_the_same_rules_in_another_way() -> None:
    """Rules that are compiled twice, with other options or for another place, have names of their own."""
    text = b"rewrite ^/old$ /new permanent;\nrewrite ^/a.b$ /dot permanent;\n"
    ways = [
        ("server", Options()),
        ("server", Options(bound=65)),
        ("server", Options(Readings(ignore_case=True))),
        ("location", Options()),
    ]
    texts = [emit(plan(load_text(text, context=context), options)) for context, options in ways]
    assert len({frozenset(variables(emission)) for emission in texts}) == len(ways)


def test_names() -> None:
    """No name of a group is longer than PCRE allows, and stems that differ have names that do."""
    stems = ["m", "nxo_123456", "n" * 27, "n" * 28, "n" * 40, "n" * 39 + "m"]
    groups = [RunNames(stem).group for stem in stems]
    assert len(set(groups)) == len(stems)
    assert all(len(group) <= LONGEST_GROUP for group in groups)


def test_many_variables() -> None:
    """Where the names do not fit nginx's table of variables its sizes are set, and raised where they are set."""
    blocks = b"".join(b"server { rewrite ^/a$ /b permanent; rewrite ^/c%d$ /d last; }\n" % n for n in range(60))
    for http in (b"", b"variables_hash_max_size 1024;", b"variables_hash_bucket_size 64;"):
        emission = compiled(b"events {}\nhttp { %s\n%s}\n" % (http, blocks))
        size = emission.sizes.get("variables_hash_max_size", 1024)
        sizes = size, emission.sizes.get("variables_hash_bucket_size", 64)
        names = [name.encode() for name in variables(emission)]
        assert _native.variable_sizes(names, *sizes) == sizes
        assert sizes != (1024, 64)


@pytest.mark.parametrize("count", [0, 30, 60, 300])
def test_a_table_that_nothing_is_added_to(count: int) -> None:
    """Where no rule moves, the table of variables is what it was, be it without a warning or with one."""
    maps = b"".join(b"map $uri $many_%d_%s { a b; }\n" % (number, b"v" * (number % 30)) for number in range(count))
    for rule in (b"", b"rewrite ^/(.*)$ /x permanent;"):
        assert not compiled(b"events {}\nhttp { %s server { %s } }\n" % (maps, rule)).changes


def variables(emission: Emission) -> set[str]:
    """The variables of the maps."""
    blocks = load_text(emission.maps, context="http").main.block.directives()
    return {block.args[1].removeprefix("$") for block in blocks if block.name == "map"}


def test_a_path_with_a_line_end(tmp_path: Path) -> None:
    """The header of the maps names the file in one comment, whatever it is called."""
    path = tmp_path / "a\nmap b.conf"
    path.write_bytes(b"rewrite ^/a$ /b permanent;\n")
    emission = compiled(path.read_bytes())
    named = emit(plan(load_text(path.read_bytes(), str(path), context="server")))
    assert named.maps.count(b"\n") == emission.maps.count(b"\n")
