"""Patterns that PCRE libraries read differently, on nginx with the system's PCRE2 and with its own."""

from __future__ import annotations

from collections import Counter

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Options, emit, plan, prove
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from nginxopt.system.nginx import Instance
from nginxopt.text.display import percent_encode
from tests.nginx.compiling import check, different
from tests.rewrite.test_rewrite_pcre import BACKTRACKING, OTHER

pytestmark = [pytest.mark.nginx, pytest.mark.no_cover]

# The pattern of a rule that stays, and URIs on which some library finds a match and another none.
ODD: dict[bytes, tuple[bytes, ...]] = {
    rb"^/id/[0-9]{,3}$": (b"/id/42", b"/id/", b"/id/4{,3}", b"/id/0{,3}"),
    rb"^/id/[0-9]{1, 3}$": (b"/id/42", b"/id/4", b"/id/4{1, 3}"),
    rb"^/id/4{ 1,2}2$": (b"/id/42", b"/id/442"),
    rb"^/id/\p{Greek}$": (b"/id/\xb7", b"/id/42", b"/id/\xe9"),
    rb"^/id/\p{Han}$": (b"/id/\xb7", b"/id/42"),
    rb"(?i)^/id/\p{Lu}$": (b"/id/a", b"/id/A", b"/id/42"),
    rb"^/id/(?>42?)$": (b"/id/42", b"/id/4"),
    rb"^/id/\Q42\E$": (b"/id/42", b"/id/4"),
    rb"^/id/(4)(2)?\2?$": (b"/id/42", b"/id/422"),
    rb"^/id/(?s:.)2$": (b"/id/42", b"/id/\n2"),
    rb"^/id/[Aa]{2}$": (b"/id/aa", b"/id/AA", b"/id/aA"),
    rb"^/id/4{1,3}?2$": (b"/id/42", b"/id/4442"),
    rb"^/id/(?=4)(4?)+2$": (b"/id/42", b"/id/2"),
}


def rules(pattern: bytes, uris: tuple[bytes, ...]) -> bytes:
    """A rule with that pattern before literals, some of which it may match."""
    lines = [b'rewrite "%s" /odd permanent;' % pattern]
    for at, uri in enumerate(uris):
        literal = b"".join(b"\\%c" % byte if chr(byte) in "{}.,\\" else b"%c" % byte for byte in uri)
        lines.append(b'rewrite "^%s$" /to/%d permanent;' % (literal.replace(b"\n", b"\\n"), at))
    lines += [b"rewrite ^/other/%d$ /to/other/%d permanent;" % (at, at) for at in range(5)]
    return b"\n".join(lines)


@pytest.mark.parametrize("pattern", ODD)
def test_what_libraries_read_differently(each_binary: nginx.Binary, pattern: bytes) -> None:
    """The rule stays, and so does all that it may match in some library; what it cannot match moves."""
    uris = ODD[pattern]
    text = rules(pattern, uris)
    for most in (64, 1024):
        emission = emit(plan(load_text(text, context="server"), Options(bound=most)))
        counts = emission.plan.rules.reasons()
        assert (counts["pcre-dependent"], counts["behind-pcre-dependent"]) == (1, len(uris))
        assert emission.plan.rules.moved == 5
        assert prove(emission).holds
    check(each_binary, text, "server", [*uris, *(b"/other/%d" % at for at in range(6))], Counter())


# A kept rule that needs more of JIT's stack the longer the URI is.
LONG = b"/" + b"a" * 2_600
DEEP = b"rewrite ^/(?:[^x]|y)*z$ /deep permanent;\nrewrite ^%s$ /long permanent;\nrewrite ^/moved$ /m permanent;" % LONG
COUNTED = b'rewrite "^/(a){3000}$" /counted permanent;\nrewrite ^/moved$ /m permanent;'


@pytest.mark.parametrize("jit", [b"off", b"on"])
@pytest.mark.parametrize("text", [DEEP, COUNTED], ids=["deep", "counted"])
def test_the_stack_of_jit(each_binary: nginx.Binary, text: bytes, jit: bytes) -> None:
    """What may run out of JIT's stack stays, and so does what stands behind it: 500 stays 500."""
    emission = emit(plan(load_text(text, context="server")))
    assert emission.plan.rules.moved == 1
    show = b'location / { return 200 "$uri"; }'
    uris = [LONG, LONG + b"z", b"/moved", b"/az", b"/" + b"a" * 3_000]
    requests = [RequestBytes(b"GET %s HTTP/1.1\r\nHost: h\r\n\r\n" % percent_encode(uri)) for uri in uris]
    main = b"pcre_jit %s;" % jit
    with (
        Instance(each_binary, servers=[text + show], main=main) as before,
        Instance(each_binary, servers=[emission.changes[0].after + show], http=emission.maps, main=main) as after,
    ):
        assert different(before, after, requests) == []


# Patterns that end in what fails nowhere, so that PCRE answers however long a URI is (`first_match/effort.rs`).
ENDING = (
    rb"^/a.*\?[a/]+", b"^(/Go.*pack.*|/.*b.*|x)", b"^/(.*)(?:/(.*)x)?", b"^/(.*)/(.*)", b"^/(.*)/(?:b|a+b)?",
    b"^/(a.*)/(b|/*)", rb"^/.*=\w+", rb"^/x.*y\d*[a-z]*.*",
)  # fmt: skip


@pytest.mark.parametrize("jit", [b"off", b"on"])
def test_patterns_that_end_in_what_may_be_empty(each_binary: nginx.Binary, jit: bytes) -> None:
    """No PCRE gives up on long URIs that come to the end of the pattern late, or never."""
    repeated = (b"a", b"/a", b"b", b"a%3Fa", b"xy1a", b"Gopac", b"/=", b"=a", b"/x", b"a/")
    targets = [b"/" + part * (60_000 // len(part)) for part in repeated]
    requests = [RequestBytes(b"GET %s HTTP/1.1\r\nHost: h\r\n\r\n" % target) for target in targets]
    rewrite = b"merge_slashes off; large_client_header_buffers 4 64k; rewrite '%s' /hit? permanent; return 204;"
    with Instance(
        each_binary, servers=[rewrite % pattern for pattern in ENDING], main=b"pcre_jit %s;" % jit
    ) as instance:
        for server, pattern in enumerate(ENDING):
            with instance.client(server) as client:
                statuses = {answer[9:12] for answer in client.ask(requests)}
            assert b"301" in statuses, pattern
            assert statuses <= {b"204", b"301"}, pattern


@pytest.mark.parametrize("pattern", BACKTRACKING)
def test_behind_what_fails_at_once(each_binary: nginx.Binary, pattern: bytes) -> None:
    """What stands behind a rule that fails at the first letters of its URI moves: no limit is near."""
    text = b'rewrite "%s" /k permanent;\nrewrite ^/zz$ /1 permanent;\nrewrite (?i)^%s$ /2 permanent;\n'
    uris = [OTHER[:50], OTHER[:50].upper(), b"/zz", b"/aa", b"/c", b"/" + b"a" * 40 + b"b"]
    check(each_binary, text % (pattern, OTHER[:50]), "server", uris, Counter(), gives_up=pattern)


def test_vertical_tabs(each_binary: nginx.Binary) -> None:
    """A byte that is a space in most releases is judged in none."""
    text = rb"""rewrite ^/a\s$ /space permanent;
rewrite "^/b[^\s]$" /none permanent;
rewrite ^/(?:c\S)+d$ /more permanent;
rewrite "^/a\x0b$" /1 permanent;
rewrite "^/b\x0b$" /2 permanent;
rewrite "^/c\x0bd$" /3 permanent;
rewrite "^/cx\x0b$" /4 permanent;
rewrite ^/b-$ /5 permanent;"""
    emission = check(each_binary, text, "server", [b"/a\x0b", b"/b\x0b", b"/c\x0bd", b"/cx\x0b", b"/b-"], Counter())
    assert emission.plan.rules.reasons()["behind-pcre-dependent"] == 4
