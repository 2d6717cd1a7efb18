"""Tables of redirects for tests: small ones of each kind, hostile ones, random ones."""

from __future__ import annotations

from hypothesis import strategies

from nginxopt.rewrite.tables import CheckedTable, TableEmission, check, emit, prove, read
from nginxopt.rewrite.tables.meaning import RowAnswer, RowRequest
from nginxopt.rewrite.tables.table import TableKind
from nginxopt.text import Source

NAMES = {"csv": "redirects.csv", "netlify": "_redirects", "cloudflare": "_redirects", "apache": ".htaccess"}


def checked(kind: TableKind, text: bytes) -> CheckedTable:
    """Return what a table is worth."""
    return check(read(Source(NAMES[kind], text), kind))


def compiled(kind: TableKind, text: bytes) -> TableEmission:
    """Return the text of a table, none of whose rows is rejected, once it is proved."""
    table = checked(kind, text)
    assert [row.message for row in table.rejected] == []
    emission = emit(table)
    proof = prove(emission)
    assert proof.refutation is None
    assert proof.holds
    return emission


def answer(
    kind: TableKind, text: bytes, path: bytes, args: bytes = b"", site: bytes = b""
) -> tuple[int, bytes | None] | None:
    """Return the status and the target that a table answers to a request for a decoded path."""
    response: RowAnswer | None = checked(kind, text).meaning.answer(RowRequest(site, path, args))
    return response and (response.status, response.location)


def reasons(kind: TableKind, text: bytes) -> list[tuple[int, str]]:
    """Return the line and the reason of each rejected row."""
    table = checked(kind, text)
    return [(table.table.line(row.span.start), row.reason) for row in table.rejected]


SAMPLES: dict[TableKind, bytes] = {
    "csv": (
        b"from,to,status\n/old,/new,301\n/Old,/other,302\n/OLD,/third,\n"
        b'"/a b",https://x.example/p?x=1#top,308\n/page.php?id=7,/seven\n/page.php?id=8&x,/eight#a,307\n/page.php,/\n'
        b'"/q""x",/$money\n/$cash,/x%2Fy?\n/caf\xc3\xa9,/th\xc3\xa9 x\nhttp://h.example/z,/zz,303\n/z,/plain\n/gone,,410\n'
        b"/c1,/c2\n/c2,/c3\n/a%0Ab,/nl\n/tab%09,/t\n/back\\slash%5C,/bs\n/(.)%2A,/r\n/[x]{2}^$,/r2\n"
        b"http://h.example/p?q,/pq\n/que%3Fry,/qu\n/%2525,/%25\n"
    ),
    "netlify": (
        b"# comment\n/home / 301!\n/store /shop # trailing\n/old/* https://new.example/:splat 301!\n"
        b"/news/:year/:m /blog/:m/:year?y=1 302\n/x/* /y#z 308\n/pass /index2 200!\n/a/old/b /never\n/old/b /never\n"
        b"http://h.example/a /b\n/dots/.well/x%3Aid.x /d\n/$x/* /$y/:splat\n"
    ),
    "cloudflare": (
        b"/home /\n/a/* /b/:splat 301\n/c/:x/d/:y /e/:y/:x?q=1 302\n/f*.html /g\n/own /x?y=1 303\n"
        b"/frag /x#y 307\n/pre-:name /n/:name\n/rw /asset 200\n"
    ),
    "apache": (
        b"# comment\nRedirect 301 /docs https://docs.example/d\nRedirect /p.php http://h/index.php?page=a\n"
        b"RedirectMatch 301 ^/(.*)\\.gif$ http://img.example/$1.png\nRedirect gone /dead\n"
        b'RedirectMatch temp (?i)^/foo$ /bar\nredirectpermanent "/with space" "/x y"\nRedirectTemp /t/ /u/\n'
        b"RedirectMatch 308 ^/old(er)?/ /new\nRedirectMatch /n([a-z]+)-(\\d+) /m\\$/$2/$1\nRedirect /docs/x /dead2\n"
        b"Redirect 301 /frag /x#y\n"
    ),
}
"""A table of each kind with what it can say."""

_PIECES = [
    "a",
    "b",
    "A",
    "old",
    ".",
    "-",
    "%20",
    "%0A",
    "%25",
    "%3F",
    "(",
    "*",
    "$",
    "+",
    "\\",
    "é",
    '"',
    "'",
    ";",
    "{",
    "}",
    "#",
    ",",
]
_SEGMENTS = strategies.lists(strategies.sampled_from(_PIECES), min_size=1, max_size=3).map("".join)
_PATHS = strategies.lists(_SEGMENTS, min_size=1, max_size=3).map(lambda segments: "/" + "/".join(segments))
_STATUSES = strategies.sampled_from(["301", "302", "303", "307", "308"])


@strategies.composite
def csv_tables(draw: strategies.DrawFn) -> bytes:
    """Draw a CSV table with rows of all sorts, many of which cannot be answered."""
    sites = strategies.sampled_from(["", "", "", "http://h.example"])
    queries = strategies.sampled_from(["", "", "", "?x=1", "?x=1&y", "?"])
    rows = []
    for _ in range(draw(strategies.integers(1, 12))):
        cells = [draw(sites) + draw(_PATHS) + draw(queries), draw(_PATHS) + draw(queries), draw(_STATUSES)]
        rows.append(",".join('"' + cell.replace('"', '""') + '"' for cell in cells))
    return "\n".join(["from,to,status", *rows]).encode()


@strategies.composite
def lists(draw: strategies.DrawFn) -> bytes:
    """Draw a `_redirects` list."""
    ends = strategies.sampled_from(["", "", "/*", "/:id", "/:id/*", "/"])
    targets = strategies.sampled_from(["", "/:splat", "/:id", "?x=1", "#f"])
    rows = []
    for _ in range(draw(strategies.integers(1, 10))):
        origin = draw(_PATHS).replace("*", "") + draw(ends)
        rows.append(f"{origin} {draw(_PATHS)}{draw(targets)} {draw(_STATUSES)}")
    return "\n".join(rows).encode()


@strategies.composite
def apache_lists(draw: strategies.DrawFn) -> bytes:
    """Draw Apache's redirects."""
    patterns = strategies.sampled_from(
        ["^/a/(.*)$", "/old", "^/(a|b)$", "(?i)^/A", "^/a\\.b", "[a-c]+$", "^/([^/]+)/x"]
    )
    rows = []
    for _ in range(draw(strategies.integers(1, 10))):
        status = draw(strategies.sampled_from(["301", "302", "temp", "permanent", "307", "gone"]))
        target = "" if status == "gone" else draw(strategies.sampled_from(["/x", "/y?q", "http://h/z", "/a/b"]))
        if draw(strategies.booleans()):
            origin = draw(_PATHS).replace("%", "").replace("\\", "").replace('"', "")
            rows.append(f'Redirect {status} "{origin}" {target}')
        else:
            capture = draw(strategies.sampled_from(["", "$1"])) if target else ""
            rows.append(f"RedirectMatch {status} {draw(patterns)} {target}{capture}")
    return "\n".join(rows).encode()
