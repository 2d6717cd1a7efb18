"""`default "";` in a map states what nginx does without it: the same values, tables and warnings, in each binary."""

from __future__ import annotations

import re

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Emission, Options, emit, plan
from nginxopt.system.nginx import Binary, Instance
from tests.nginx.sides import get
from tests.rewrite.mutations.programs import KINDS

pytestmark = pytest.mark.nginx

DEFAULT = b'    default "";\n'
# Keys, their other spellings and twins, what is no key, arguments; what an internal redirect leads to.
TARGETS = (
    "/a", "/A", "/a%0A", "/a%0A%0A", "/b?x=1", "/c", "/any", "/ANY", "/x", "/q%22%5C", "/none", "/none%0A", "/", "//a",
    "/page-1", "/page-1%0A", "/PAGE-1", "/exact", "/split%0A", "/any-CASE", "/one", "/args", "/go/a", "/go/none",
)  # fmt: skip


def emitted(kind: str) -> Emission:
    """The emission for a fragment of a server."""
    return emit(plan(load_text(KINDS[kind], context="server"), Options(name="m")))


def answers(binary: Binary, maps: bytes, statements: bytes) -> list[bytes]:
    """What nginx answers: the values of all maps in a server without rules, and what the rules lead to in another."""
    names = re.findall(rb"^map \$\w+ \$(\w+) ", maps, re.MULTILINE)
    values = b"set $m_line $uri; return 200 '%s';" % b"|".join(b"%s=$%s" % (name, name) for name in names)
    rules = b"error_page 404 = /page-1; location = /go/none { return 404; }\n" + statements
    responses = []
    with Instance(binary, servers=[values, rules], http=b"map_hash_bucket_size 512;\n" + maps) as side:
        for server, port in enumerate(side.ports):
            with side.client(server) as client:
                received = [client.ask([get(target)])[0].replace(b"%d" % port, b"<port>") for target in TARGETS]
            responses += [re.sub(rb"\r\n(Date|Last-Modified): [^\r]*", b"", answer) for answer in received]
    return responses


@pytest.mark.parametrize("kind", ["many", "two", "arguments", "lines", "shadowing"])
def test_a_map_without_a_default_gives_the_same(a_binary: Binary, kind: str) -> None:
    """With and without `default "";`, each map has the same value for each URI, and the rules do the same."""
    emission = emitted(kind)
    maps, bare = emission.maps, emission.maps.replace(DEFAULT, b"")
    assert maps.count(DEFAULT) > 0 == bare.count(DEFAULT)
    statements = emission.after(emission.plan.config.main)
    with_default = answers(a_binary, maps, statements)
    assert with_default == answers(a_binary, bare, statements)
    assert len(set(with_default)) > 5


@pytest.mark.parametrize("kind", ["many", "two", "arguments", "shadowing"])
def test_another_default_is_seen(a_binary: Binary, kind: str) -> None:
    """The comparison above would see another default."""
    emission = emitted(kind)
    statements = emission.after(emission.plan.config.main)
    other = emission.maps.replace(DEFAULT, b'    default "/other";\n')
    assert answers(a_binary, emission.maps, statements) != answers(a_binary, other, statements)


def test_a_default_is_no_key_of_the_table(each_binary: Binary) -> None:
    """nginx warns of a table with the default where it does without (`ngx_hash_init` gets the keys alone)."""
    keys = "".join(f'"/{number:03d}{"x" * 40}" 1;\n' for number in range(64))
    sizes = "map_hash_bucket_size 64; map_hash_max_size @;"
    config = (
        "events {} http { access_log off; %s map $uri $m_key { volatile; %s %s }"
        " server { listen unix:m.sock; return 200 $m_key; } }"
    )
    for size in (*range(30, 140, 10), 2048):
        texts = [config % (sizes.replace("@", str(size)), default, keys) for default in ('default "";', "")]
        with_default, without = (each_binary.test(f"pid m.pid; {text}".encode()) for text in texts)
        assert with_default.ok
        assert with_default.messages == without.messages
