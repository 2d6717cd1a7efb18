"""The proof of tables: it holds for what is emitted, and each fault of a text is refuted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import example, given

from nginxopt.rewrite.tables import emit, prove
from nginxopt.rewrite.tables.table import TableKind
from tests.rows import every_row
from tests.tables import SAMPLES, apache_lists, checked, compiled, csv_tables, lists

TABLE = b"/a,/b\n/aa,/bb\n/A,/c,302\n/d,/e?x\n/$f,/g,308\n/gone,,410\n/q?x=1,/r\n"
LIST = b"/a /b\n/p/* /q/:splat\n/r/* /s 308\n/t/:x /u/:x 302\n/v /w 200\n"

Fault = Callable[[bytes], bytes]


def swap(old: bytes, new: bytes) -> Fault:
    """Return the fault that puts one text in the place of another."""

    def fault(text: bytes) -> bytes:
        assert old in text, text.decode()
        return text.replace(old, new, 1)

    return fault


FAULTS: list[tuple[TableKind, bytes, str, Fault, str]] = [
    ("csv", TABLE, "maps", swap(b'"/a" "/b"', b'"/a" "/c"'), "answered otherwise"),
    ("csv", TABLE, "maps", swap(b'    "/a" "/b";\n', b""), "answered otherwise"),
    ("csv", TABLE, "maps", swap(b'    "/a" "/a";\n', b""), "answered otherwise"),
    ("csv", TABLE, "maps", swap(b'    "/a" "/a";\n', b'    "/a" "/a";\n    "/z" "/z";\n'), "the keys of the maps"),
    ("csv", TABLE, "maps", swap(b'"/a" "/a"', b'"/a" "/A"'), "something else than the key"),
    ("csv", TABLE, "maps", swap(b'"/a" "/a"', b'"/a" "$uri"'), "something else than the key"),
    ("csv", TABLE, "maps", swap(b'"/a" "/a"', b'"~/a" "/a"'), "is not a key"),
    ("csv", TABLE, "maps", swap(b'"/a" "/a";', b'"/a" "/a"; "/A" "/A";'), "conflicting parameter"),
    ("csv", TABLE, "maps", swap(b'default "-"', b'default ""'), "the default of a map"),
    ("csv", TABLE, "maps", swap(b'default "-"', b'default "$uri"'), "the default of a map"),
    ("csv", TABLE, "maps", swap(b"$uri", b"$request_uri"), "compares with something else"),
    ("csv", TABLE, "maps", swap(b'"$"', b'"S"'), "something else than the key"),
    ("csv", TABLE, "maps", swap(b"own-names:", b"names:"), "the premise own-names"),
    ("csv", TABLE, "maps", lambda text: text + b"map $host $nxo_other { default 1; volatile; }\n", "line"),
    ("csv", TABLE, "maps", lambda text: text + text, "two variables"),
    ("csv", TABLE, "maps", lambda text: text[:-3], "is not understood"),
    ("csv", TABLE, "server", swap(b"return 301", b"return 302"), "answered otherwise"),
    ("csv", TABLE, "server", swap(b"$is_args$args", b""), "answered otherwise"),
    ("csv", TABLE, "server", swap(b"$is_args$args", b"?$args"), "answered otherwise"),
    ("csv", TABLE, "server", swap(b"= $uri", b"= $request_uri"), "compares with something else"),
    ("csv", TABLE, "server", swap(b"\\n$args", b"?$args"), "compares with something else"),
    ("csv", TABLE, "server", lambda text: text.partition(b"}\n")[2], "answered otherwise"),
    ("csv", TABLE, "server", lambda text: b"return 301 /;\n" + text, "line"),
    ("csv", TABLE, "server", lambda text: b"set $uri /;\n" + text, "line"),
    ("netlify", LIST, "server", swap(b'"/q/$1"', b'"/q$1"'), "another target"),
    ("netlify", LIST, "server", swap(b'"/q/$1"', b'"/q/$1?"'), "another target"),
    ("netlify", LIST, "server", swap(b"permanent", b"redirect"), "another target"),
    ("netlify", LIST, "server", swap(b"permanent", b"last"), "another target"),
    ("netlify", LIST, "server", swap(b'    return 308 "/s', b'    return 307 "/s'), "another target"),
    ("netlify", LIST, "server", swap(b"[^?]*", b".*"), "the patterns are not those"),
    ("netlify", LIST, "server", swap(b"^/r", b"/r"), "the patterns are not those"),
    ("netlify", LIST, "server", swap(b"_first ~", b"_1_key ~"), "path of the client"),
    ("netlify", LIST, "server", swap(b"_first =", b"_1_to ="), ""),
    (
        "netlify",
        LIST,
        "server",
        swap(b'    return 308 "/s', b'    return 308 /z;\n    return 308 "/s'),
        "more than one statement",
    ),
    (
        "netlify",
        LIST,
        "server",
        swap(b'    return 308 "/s$is_args$args";', b'    return 308 "/s$is_args$args";\n    return 308 /z;'),
        "more than one statement",
    ),
    ("netlify", LIST, "server", swap(b'    rewrite "^/p', b'    return 301 /x;\n    rewrite "^/p'), "holds a return"),
    ("netlify", LIST, "server", swap(b"_first = $uri", b"_first = $args"), "does not compare with the path"),
    ("netlify", LIST, "maps", swap(b"default $uri", b"volatile; default $uri"), "is not understood"),
    ("netlify", LIST, "server", lambda text: text + text[: text.index(b"}\n") + 2], ""),
    ("netlify", LIST, "server", swap(b"last;", b"break;"), ""),
]


@every_row(("kind", "table", "part", "fault", "refutation"), FAULTS)
def test_faults(kind: TableKind, table: bytes, part: str, fault: Fault, refutation: str) -> None:
    """A text with a fault is refuted, for what is wrong with it."""
    emission = compiled(kind, table)
    text = emission.maps if part == "maps" else emission.server
    wrong = replace(emission, maps=fault(text)) if part == "maps" else replace(emission, server=fault(text))
    proof = prove(wrong)
    assert not proof.holds
    assert proof.refutation is not None
    assert refutation in proof.refutation


def test_guards_in_another_order() -> None:
    """A row with arguments is asked before one with a host: the proof asks for both together."""
    emission = compiled("csv", b"http://h/a,/site\n/a?x=1,/arguments\n")
    first, second, _ = emission.server.split(b"}\n")
    head, first = first.split(b"\n", 1)
    wrong = replace(emission, server=head + b"\n" + b"}\n".join([second, first, b""]))
    assert prove(wrong).refutation == "a request for '/a' is answered otherwise"


def test_patterns_in_another_order() -> None:
    """Two patterns that change places are refuted."""
    emission = compiled("apache", b"RedirectMatch 301 ^/a /b\nRedirectMatch 301 /c$ /d\n")
    first, second, _ = emission.server.split(b"}\n")
    _, first = first.split(b"\n", 1)
    wrong = replace(emission, server=b"}\n".join([second, first, b""]))
    assert prove(wrong).refutation == "the patterns are not those of the table, in its order"


def test_a_table_that_nginx_builds_with_a_warning() -> None:
    """Without the sizes that the keys need, the text is refuted."""
    rows = b"".join(b"/%s-%d,/x%d\n" % (b"long" * 20, number, number) for number in range(20))
    emission = compiled("csv", rows)
    assert b"map_hash_bucket_size" in emission.hash_conf
    assert prove(replace(emission, sizes={})).refutation == "nginx does not build the map nxo_" + emission.stem[4:] + (
        "_1_key without a warning"
    )


@pytest.mark.parametrize(
    ("regex", "sample", "captured"),
    [
        (b"^(.*)$", b"/", (b"/",)),
        (b"^/(a.*)$", b"/a", (b"a",)),
        (b"/n([[:alpha:]]+)-(\\d+)", b"/na-0", (b"a", b"0")),
        (b"old(er|(l))?/", b"/old/", ()),
        (b"(?<=x)y", None, ()),
    ],
)
def test_a_request_for_a_regular_expression(regex: bytes, sample: bytes | None, captured: tuple[bytes, ...]) -> None:
    """The proof asks for the shortest path that a pattern of Apache matches, where one is found."""
    (row,) = checked("apache", b"RedirectMatch 301 " + regex + b" http://x/\n").table.rows
    assert row.pattern is not None
    assert (row.pattern.sample, row.pattern.captured) == (sample, captured)
    emission = compiled("apache", b"RedirectMatch 301 " + regex + b" http://x/$2$1\n")
    assert (prove(emission).requests > 0) is (sample is not None)


@pytest.mark.parametrize("kind", SAMPLES)
def test_samples(kind: TableKind) -> None:
    """The samples are proved, and emitting is a function of the table."""
    assert compiled(kind, SAMPLES[kind]).maps == emit(checked(kind, SAMPLES[kind])).maps


@pytest.mark.extended
@example(b'from,to,status\n"/a","/aa","301"\n' + b'"/a","/a","301"\n' * 5 + b'"http://h.example/a","/a","301"')
@given(csv_tables())
def test_random_csv(text: bytes) -> None:
    """What is emitted for a random table is proved."""
    proof = prove(emit(checked("csv", text)))
    assert proof.holds, proof.refutation


@given(lists())
def test_random_lists(text: bytes) -> None:
    """What is emitted for a random list is proved, in either reading."""
    for kind in ("netlify", "cloudflare"):
        proof = prove(emit(checked(kind, text)))
        assert proof.holds, proof.refutation


@pytest.mark.extended
@given(apache_lists())
def test_random_apache(text: bytes) -> None:
    """What is emitted for random redirects of Apache is proved."""
    proof = prove(emit(checked("apache", text)))
    assert proof.holds, proof.refutation


def test_a_name() -> None:
    """Variables begin with the name that is asked for."""
    emission = emit(checked("csv", TABLE), "moved")
    assert b"$moved_1_key" in emission.server
    assert prove(emission).holds
