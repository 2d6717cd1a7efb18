"""`_redirects` lists and Apache's redirects: what a row says, and which are rejected."""

from __future__ import annotations

import pytest

from nginxopt.errors import InputError
from nginxopt.rewrite.tables.detection import read
from nginxopt.rewrite.tables.table import TableKind
from nginxopt.text import Source
from tests.rows import every_row
from tests.tables import answer, checked, compiled, reasons

Expected = tuple[int, bytes] | None

ANSWERS: list[tuple[TableKind, bytes, bytes, bytes, Expected]] = [
    # Netlify: a slash at the end makes no difference, the default is 301, arguments are passed on.
    ("netlify", b"/a /b", b"/a", b"", (301, b"/b")),
    ("netlify", b"/a /b", b"/a/", b"x=1", (301, b"/b?x=1")),
    ("netlify", b"/a/ /b?y", b"/a", b"x=1", (301, b"/b?y&x=1")),
    ("netlify", b"/ /b", b"/", b"", (301, b"/b")),
    ("netlify", b"/a/* /b/:splat", b"/a/x/y", b"", (301, b"/b/x/y")),
    ("netlify", b"/a/* /b/:splat", b"/a", b"", (301, b"/b/")),
    ("netlify", b"/a/* /b/:splat", b"/ab", b"", None),
    ("netlify", b"/a/* /b/:splat", b"/a/x y\n", b"", (301, b"/b/x%20y%0A")),
    ("netlify", b"/a/* /b/:splat", b"/a/x?y", b"", None),
    ("netlify", b"/:y/x/:m /b/:m/:y 302", b"/1/x/2/", b"q", (302, b"/b/2/1?q")),
    ("netlify", b"/:y/x/* /b/:splat/:y 302", b"/1/x/2/3", b"", (302, b"/b/2/3/1")),
    ("netlify", b"/a/* /b#:c 308", b"/a/x", b"q", (308, b"/b?q#:c")),
    ("netlify", b"/a /b 200!", b"/a", b"q", (200, b"/b")),
    ("netlify", b"/a /%C3%A9%20x 200", b"/a/", b"", (200, "/é x".encode())),
    ("netlify", b"/* http://h/x 302", b"/", b"", (302, b"http://h/x")),
    # Cloudflare: paths as they are, 302, the arguments of the target win, placeholders within segments.
    ("cloudflare", b"/a /b", b"/a", b"", (302, b"/b")),
    ("cloudflare", b"/a /b", b"/a/", b"", None),
    ("cloudflare", b"/a /b?y", b"/a", b"x=1", (302, b"/b?y")),
    ("cloudflare", b"/a /b?y#f 307", b"/a", b"x=1", (307, b"/b?y#f")),
    ("cloudflare", b"/a /b#f", b"/a", b"x=1", (302, b"/b?x=1#f")),
    ("cloudflare", b"/a/* /b/:splat", b"/a/x", b"", (302, b"/b/x")),
    ("cloudflare", b"/a/* /b/:splat", b"/a/", b"", (302, b"/b/")),
    ("cloudflare", b"/a/* /b/:splat", b"/a", b"", None),
    ("cloudflare", b"/p-:id.html /q/:id 301", b"/p-7.html", b"", (301, b"/q/7")),
    ("cloudflare", b"/*.php / 301", b"/x/y.php", b"", (301, b"/")),
    ("cloudflare", b"/a /b 200", b"/a", b"", (200, b"/b")),
    # Apache: a path and all below it, 302, arguments unless the target has some.
    ("apache", b"Redirect /a http://h/b", b"/a", b"", (302, b"http://h/b")),
    ("apache", b"Redirect /a http://h/b", b"/a/x y", b"q", (302, b"http://h/b/x%20y?q")),
    ("apache", b"Redirect /a http://h/b", b"/ab", b"", None),
    ("apache", b"Redirect /a/ http://h/b/", b"/a/x", b"", (302, b"http://h/b/x")),
    ("apache", b"Redirect /a/ http://h/b/", b"/a", b"", None),
    ("apache", b"Redirect permanent / https://h/", b"/x", b"", (301, b"https://h/x")),
    ("apache", b"Redirect /a /b?y", b"/a", b"q", (302, b"/b?y")),
    ("apache", b"Redirect /a /b?y", b"/a/z", b"q", (302, b"/b?y/z")),
    ("apache", b"Redirect /a /b#y", b"/a", b"q", (302, b"/b#y?q")),
    ("apache", b"Redirect gone /a", b"/a/b", b"", (410, b"")),
    ("apache", b"Redirect 410 /a", b"/a", b"x", (410, b"")),
    ("apache", b'redirectPERMANENT \'/a b\' "/x\\"y"', b"/a b", b"", (301, b"/x%22y")),
    ("apache", b"RedirectTemp /a /b", b"/a", b"", (302, b"/b")),
    ("apache", b"Redirect \\\n 301 /a \\\r\n /b", b"/a", b"", (301, b"/b")),
    ("apache", b"RedirectMatch seeother ^/a$ /b", b"/a", b"x", (303, b"/b?x")),
    ("csv", b"/a,/b?\n", b"/a", b"", (301, b"/b?")),
    ("csv", b"/a,/b?\n", b"/a", b"z", (301, b"/b?z")),
    ("csv", b"/a,/b?x?\n", b"/a", b"z", (301, b"/b?x?&z")),
    ("netlify", b"/a /b?#x", b"/a", b"z", (301, b"/b?z#x")),
    ("netlify", b"/a/* /b?", b"/a/x", b"z", (301, b"/b?z")),
    ("cloudflare", b"/a/* /b/:splat?", b"/a/x", b"z", (302, b"/b/x?")),
    ("netlify", b"/a http://h:8080/a:b?y=a:b#:t", b"/a", b"", (301, b"http://h:8080/a:b?y=a:b#:t")),
    ("cloudflare", b"/a/:x /b/:y", b"/a/1", b"", (302, b"/b/:y")),
    ("apache", b"RedirectMatch ^/a$ /b", b"/a\n", b"", None),
    ("apache", b"RedirectMatch ^/a.b /b", b"/a\nb", b"", (302, b"/b")),
    ("apache", b"RedirectMatch x[]$]$ /b", b"/x$", b"", (302, b"/b")),
    ("apache", b"RedirectMatch ^/[[:alpha:]]\\$$ /b\\$1", b"/x$", b"", (302, b"/b$1")),
    ("apache", b"<IfModule mod_alias.c>\nRedirect /a /b\n</IfModule>", b"/a", b"", (302, b"/b")),
]


@every_row(("kind", "text", "path", "args", "expected"), ANSWERS)
def test_answers(kind: TableKind, text: bytes, path: bytes, args: bytes, expected: Expected) -> None:
    """What a row says to a request, in the reading of each tool."""
    compiled(kind, text)
    assert answer(kind, text, path, args) == expected


REJECTED: list[tuple[TableKind, bytes, str]] = [
    ("netlify", b"/a", "target"),
    ("netlify", b"/a b", "target"),
    ("netlify", b"/store id=:id /blog/:id 301", "query-condition"),
    ("netlify", b"/a?x=1 /b", "query-condition"),
    ("netlify", b"/ /fr 302 Country=fr", "condition"),
    ("netlify", b"/ /fr Language=fr", "condition"),
    ("netlify", b"/a /b 404", "status"),
    ("netlify", b"/a /b 500", "status"),
    ("netlify", b"/a /b 201", "status"),
    ("netlify", b"/a /b moved", "status"),
    ("apache", b"Redirect %s /a /b" % (b"9" * 5_000), "status"),
    ("apache", "Redirect ² /a /b".encode(), "status"),
    ("netlify", b"/* /index.html 200", "rewrite-of-wildcard"),
    ("netlify", b"/api https://api.example/x 200", "proxy"),
    ("netlify", b"/a /b?x 200", "rewrite-query"),
    ("netlify", b"/a/*/b /c", "wildcard"),
    ("netlify", b"/a* /c", "wildcard"),
    ("netlify", b"/:a/:a /c", "placeholder"),
    ("netlify", b"/:a.html /c", "placeholder"),
    ("netlify", b"/:splat /c", "placeholder"),
    ("netlify", b"/:a/x /c/:ab", "placeholder"),
    ("netlify", b"/news/:yr /n/:year 301", "placeholder"),
    ("netlify", b"/s/:a /t/:splat", "placeholder"),
    ("netlify", b"/s/:a /t/x-:b/:a", "placeholder"),
    ("netlify", b"/s /t?x=:splat", "placeholder"),
    ("netlify", b"/s /t/:a 200", "placeholder"),
    ("netlify", b"http://h/* /c/:splat", "host-pattern"),
    ("netlify", b"/a/* /c/:splat 308", "status-with-captures"),
    ("netlify", b"/a/* /c?x=:splat", "capture-in-query"),
    ("netlify", b"/a/* /c#:splat", "fragment"),
    ("netlify", b"/a/* /c%2Fd/:splat", "escape-in-target"),
    ("netlify", b"/a/* :splat", "target"),
    ("netlify", b"/a/* /b/:splat?", "empty-query"),
    ("netlify", b"/a/* /b/:splat?x?", "empty-query"),
    ("netlify", b"/a /a/", "loop"),
    ("netlify", b"/%41/" + b"/".join(b":p%d" % n for n in range(10)) + b" /x/:p9", "captures"),
    ("cloudflare", b"/a /b 301!", "status"),
    ("cloudflare", b"/a /b 301 # comment", "condition"),
    ("cloudflare", b"/*/* /b", "wildcard"),
    ("cloudflare", b"/*/:splat /b", "placeholder"),
    ("cloudflare", b"https://h/:x /b", "host-pattern"),
    ("apache", b"RewriteRule ^a$ /b [R=301]", "directive"),
    ("apache", b"<Location /x>\nRedirect /a /b\n</Location>", "section"),
    ("apache", b"Redirect http://h/b", "fields"),
    ("apache", b"Redirect gone /a /b", "status"),
    ("apache", b'Redirect 301 /a ""', "target"),
    ("apache", b'RedirectMatch 301 ^/a ""', "target"),
    ("apache", b"<IfModule !mod_rewrite.c>\nRedirect /a /b\n</IfModule>", "section"),
    ("apache", b"<IfDefine X>\n<IfModule mod_alias.c>\nRedirect /a /b\n</IfModule>\n</IfDefine>", "section"),
    ("apache", b"<IfModule>\nRedirect /a /b\n</IfModule>", "section"),
    ("apache", b"Redirect", "fields"),
    ("apache", b"Redirect 299 /a /b", "status"),
    ("apache", b"Redirect 308 /a /b", "status-with-captures"),
    ("apache", b"Redirect /a%20b /c", "escape"),
    ("apache", b"Redirect /a?x=1 /c", "query-condition"),
    ("apache", b"Redirect a /c", "no-path"),
    ("apache", b"RedirectMatch ^/a$ /b%20c", "escape-in-target"),
    ("apache", b"RedirectMatch ^/a(.*)$ $1", "target"),
    ("apache", b"RedirectMatch ^/a$ /x$0", "captures"),
    ("apache", b"RedirectMatch ^/(?<n>a)$ /x", "named-group"),
    ("apache", b"RedirectMatch ^/(a /x", "pattern"),
    ("apache", b"RedirectMatch ^/\\Qa\\E /x", "pattern"),
    ("apache", b"RedirectMatch ^/(?=a) /x", "pattern"),
    ("apache", b"RedirectMatch ^/a(.*)$ /x?y=$1", "capture-in-query"),
]


@every_row(("kind", "text", "reason"), REJECTED)
def test_rejected(kind: TableKind, text: bytes, reason: str) -> None:
    """What nginx cannot answer exactly is rejected, with the code of the reason."""
    assert [code for _, code in reasons(kind, text)] == [reason]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("/s /t/:a", "write %3A for the colon"),
        ("/s/:b /t/:a", "use a placeholder of the path, or %3A for the colon"),
        ("/s/:b /t/:a/:b", "use a placeholder of the path"),
    ],
)
def test_a_colon_that_is_meant(text: str, hint: str) -> None:
    """The advice for a placeholder that the path does not have can be followed: `%3A` is answered as it is."""
    (rejected,) = checked("netlify", text.encode()).rejected
    assert rejected.hint == hint
    assert bool(reasons("netlify", text.replace(":a", "%3Aa").encode())) == ("%3A" not in hint)


ESCAPES: list[tuple[TableKind, bytes]] = [
    ("netlify", b"/a/* /b/@c/:splat"),
    ("netlify", b"/a/* /@c/:splat"),
    ("cloudflare", b"/a/:x /b/@c/:x"),
    ("apache", b'RedirectMatch ^/a$ "/b@g"'),
    ("apache", b'RedirectMatch ^/a(.)$ "/b@g$1"'),
    ("apache", b'Redirect "/b@g" /x'),
    ("apache", b'Redirect "/b@20" /x'),
]


@every_row(("kind", "row"), ESCAPES)
def test_the_advice_for_an_escape_can_be_followed(kind: TableKind, row: bytes) -> None:
    """If the character itself is recommended, it is answered, perhaps after more advice; in a path, it is matched."""
    for byte in range(0x80):
        escaped, itself = row.replace(b"@", b"%%%02X" % byte), bytes([byte])
        for rejected in checked(kind, escaped).rejected:
            if "itself" in (rejected.hint or ""):
                written = b"\\" + itself if kind == "apache" and itself in b'"\\' else itself
                compiled(kind, row.replace(b"@", written))
            else:
                assert rejected.hint in (None, "only a target without a part of the URI can have it"), escaped


def test_a_percent_sign_of_apache() -> None:
    """Apache takes a `%` for itself, in a path and in the target of RedirectMatch, which it encodes."""
    assert answer("apache", b"Redirect /100% /x", b"/100%", b"") == (302, b"/x")
    assert answer("apache", b"RedirectMatch ^/a$ /100%?y=5%25", b"/a", b"") == (302, b"/100%25?y=5%25")


def test_a_section_is_named_as_it_is_written() -> None:
    """The message has the case of the file."""
    (rejected,) = checked("apache", b"<Location /x>\nRedirect /a /b\n</Location>").rejected
    assert rejected.message.startswith("a redirect inside <Location /x> holds")


def test_an_unclosed_quote() -> None:
    """A quote that is not closed is an error with its place."""
    with pytest.raises(InputError, match="quote is not closed"):
        read(Source(".htaccess", b'Redirect /a "/b\n'), "apache")


def test_files_are_a_premise_of_netlify() -> None:
    """Netlify serves a file rather than a row without `!`; what is emitted says that it does not."""
    assert checked("netlify", b"/a /b").table.premises == ("no-files",)
    assert checked("netlify", b"/a /b 301!").table.premises == ()
    assert checked("cloudflare", b"/a /b").table.premises == ()


def test_the_rest_behind_a_query_is_a_premise() -> None:
    """What lies below a path whose target has a query is answered but for characters that nginx escapes there."""
    assert checked("apache", b"Redirect /a /b?c").table.premises == ("plain-rest",)
    assert answer("apache", b"Redirect /a /b?c", b"/a/x&y") is None
