"""What is said of rows together: duplicates, conflicts, rows that never answer, chains, loops, and their order."""

from __future__ import annotations

import re
from dataclasses import replace

from nginxopt.rewrite.tables import emit, prove
from nginxopt.rewrite.tables.meaning import RowRequest
from nginxopt.rewrite.tables.table import TableKind
from tests.rows import every_row
from tests.tables import answer, checked, compiled, reasons

Found = list[tuple[str, int, int, bytes]]


def findings_of(kind: TableKind, text: bytes) -> Found:
    """Return the findings: kind, line, line of the other row, target."""
    table = checked(kind, text)
    line = table.table.line
    return [
        (finding.kind, line(finding.span.start), line(finding.other.start), finding.target)
        for finding in table.findings
    ]


FINDINGS: list[tuple[TableKind, bytes, Found]] = [
    ("csv", b"/a,/b\n/a,/b\n", [("duplicate", 2, 1, b"")]),
    ("csv", b"/a b,/c\n/a%20b,/c\n", [("duplicate", 2, 1, b"")]),
    ("csv", b"/a,/b\n/A,/b\n", []),
    (
        "csv",
        b"/a,/b\n/b,/c\n/c,https://x.example/\n",
        [("chain", 1, 2, b"https://x.example/"), ("chain", 2, 3, b"https://x.example/")],
    ),
    ("csv", b"/a,/%62?x\n/b,/c\n", [("chain", 1, 2, b"/c?x")]),
    ("csv", b"/a,/b?x\n/b?x,/c\n/b,/d\n", [("chain", 1, 2, b"/c")]),
    ("csv", b"/a,/b\n/b,,410\n", [("chain", 1, 2, b"")]),
    ("csv", b"/a,https://h.example/b\nhttps://h.example/b,/c\n", [("chain", 1, 2, b"/c")]),
    ("csv", b"/a,https://other.example/b\n/b,/c\n", []),
    ("netlify", b"/a /x\n/a/ /y\n", [("unreachable", 2, 1, b"")]),
    ("netlify", b"/a /x\n/a/ /x\n", [("duplicate", 2, 1, b"")]),
    (
        "netlify",
        b"/a/* /x/:splat\n/a/b /y\n/a/c/* /z/:splat\n",
        [("unreachable", 2, 1, b""), ("unreachable", 3, 1, b"")],
    ),
    ("netlify", b"/a/b /y\n/a/* /x/:splat\n", []),
    ("netlify", b"/:x/b /y\n/a/b /z\n", [("unreachable", 2, 1, b"")]),
    ("netlify", b"/:x/b /y\n/:z/b /z\n", [("unreachable", 2, 1, b"")]),
    ("netlify", b"/old/* /new/:splat\n/new/x /end\n", [("chain", 1, 2, b"/end")]),
    ("netlify", b"/a /b 200\n/c /a\n", []),
    ("netlify", b"/a /x\nhttp://h/a /y\n", [("unreachable", 2, 1, b"")]),
    ("apache", b"Redirect /a /x\nRedirect /a/b /y\n", [("unreachable", 2, 1, b"")]),
    ("apache", b"Redirect /a/b /y\nRedirect /a /x\n", []),
    ("apache", b"RedirectMatch ^/a /x\nRedirect /a/b /y\n", []),
]


@every_row(("kind", "text", "expected"), FINDINGS)
def test_findings(kind: TableKind, text: bytes, expected: Found) -> None:
    """Each is findings_of with its line, the line of the other row, and where a chain ends."""
    compiled(kind, text)
    assert findings_of(kind, text) == expected


@every_row(
    ("kind", "text", "expected"),
    [
        ("csv", b"/a,/b\n/a,/c\n", [(2, "conflict")]),
        ("csv", b"/a,/b,301\n/a,/b,302\n", [(2, "conflict")]),
        ("csv", b"/a,/a\n", [(1, "loop")]),
        ("csv", b"/a,/a?x=1\n", [(1, "loop")]),
        ("csv", b"/a,/b\n/b,/c\n/c,/b\n/d,/e\n", [(1, "loop"), (2, "loop"), (3, "loop")]),
        ("apache", b"Redirect /a /a/b\n", [(1, "loop")]),
        ("netlify", b"/a/* /a/b/:splat\n", [(1, "loop")]),
    ],
)
def test_conflicts_and_loops(kind: TableKind, text: bytes, expected: list[tuple[int, str]]) -> None:
    """Rows that contradict each other in a table without order, and redirects without an end, are rejected."""
    assert reasons(kind, text) == expected


def test_a_loop_names_its_lines() -> None:
    """The hint of a loop has the lines that it goes through."""
    (first, *_) = checked("csv", b"/a,/b\n/b,/a\n").rejected
    assert first.hint == "lines 1 -> 2 -> 1"


def test_the_lines_of_a_loop_are_few() -> None:
    """A row that leads to itself, ever deeper, is named once more; a long loop has the first of its lines."""
    (deeper,) = checked("netlify", b"/a/* /a/b/:splat\n").rejected
    assert deeper.hint == "lines 1 -> 1"
    (*_, last) = checked("apache", b"Redirect /x /b\nRedirect / /home\n").rejected
    assert last.hint == "lines 2 -> 2"


def test_a_long_chain_ends() -> None:
    """A chain of more rows than a browser follows has an end, and a loop of as many has none."""
    rows = b"".join(b"/c%d,/c%d\n" % (number, number + 1) for number in range(500))
    found = findings_of("csv", rows + b"/c500,/c501?x#y\n")
    assert found == [("chain", line, line + 1, b"/c501?x#y") for line in range(1, 501)]
    assert [row.reason for row in checked("csv", rows + b"/c500,/c0\n").rejected] == ["loop"] * 501
    stripped = b"/a/* /:splat\n/b /" + b"a/" * 15 + b"c\n"
    assert ("chain", 2, 1, b"/c") in findings_of("netlify", stripped)


def test_a_pattern_with_captures_is_skipped_alone() -> None:
    """A row behind a skipped pattern is answered if its path begins otherwise."""
    text = b"RedirectMatch ^/m/(.*)$ /m/x/$1\nRedirect gone /dead\n"
    assert reasons("apache", text) == [(1, "loop")]
    text = 'Redirect 308 /old /new\nRedirectMatch ^/été$ /x\nRedirectMatch "^/a b" /y\n'.encode()
    assert reasons("apache", text) == [(1, "status-with-captures")]


def test_order_of_a_list() -> None:
    """The first row that answers a request counts, be it a path or a pattern."""
    table = b"/a/x http://h/1\n/a/* http://h/2/:splat 302\n/a/y /3\n/* http://h/4 307\n"
    assert answer("netlify", table, b"/a/x") == (301, b"http://h/1")
    assert answer("netlify", table, b"/a/y") == (302, b"http://h/2/y")
    assert answer("netlify", table, b"/b") == (307, b"http://h/4")


def test_more_particular_rows_count_in_csv() -> None:
    """In a table without order, a row that asks for arguments counts before one that does not."""
    table = b"/a,/any\n/a?x=1,/one\n"
    assert answer("csv", table, b"/a", b"x=1") == (301, b"/one")
    assert answer("csv", table, b"/a", b"x=2") == (301, b"/any?x=2")
    compiled("csv", table)


def test_what_a_skipped_row_would_answer() -> None:
    """A row behind one that is skipped does not take its place."""
    tables: list[tuple[TableKind, bytes]] = [
        ("netlify", b"/a /a 301\n/a /b\n/c /d\n"),
        ("apache", b"Redirect /a /a/x\nRedirect /a/y /z\n"),
    ]
    for kind, table in tables:
        skipping = checked(kind, table)
        assert [row.reason for row in skipping.rejected] == ["loop", "skipped"]
        assert skipping.skipped == {0, 1}
        assert prove(emit(skipping)).holds
        assert skipping.meaning.answer(RowRequest(b"", b"/a", b"")) is None


@every_row(
    ("kind", "table", "skipped"),
    [
        ("csv", b"/a,/b\nhttp://h/a,/a\n", {1: "skipped", 2: "loop"}),
        ("csv", b"/a,/b\n/a?x=1,/a?x=1\n", {1: "skipped", 2: "loop"}),
        ("csv", b"http://h/a,/b\n/a?x=1,/a?x=1\n", {1: "skipped", 2: "loop"}),
        ("csv", b"http://h/a,/a\nhttp://i/a,/b\n/a?x=1,/c\n", {1: "loop"}),
        ("csv", b"/a,/b\n/a?x=1,/c\n/a?x=1,/d\n", {3: "conflict"}),
        ("csv", b"/a,/b\nhttp://h/a?x=1,/" + b"$" * 200 + b"\n", {1: "skipped", 2: "too-long"}),
        ("netlify", b"http://h/a /a\n/a /b\n/c /d\n", {1: "loop", 2: "skipped"}),
        ("netlify", b"/a /b\nhttp://h/c /c\n", {2: "loop"}),
        ("netlify", b"/a/x /a/x\n/a/* /b\n/c/* /d/:splat\n/* http://z/\n", {1: "loop", 2: "skipped", 4: "skipped"}),
        (
            "apache",
            b"Redirect /a.b /a.b/x\nRedirectMatch ^/a\\.c /c\nRedirectMatch ^/a\\.b?d /e\n",
            {1: "loop", 3: "skipped"},
        ),
        ("netlify", b"/a/* /a/b/:splat\n/b/* /d/:splat\n/:x/c /e/:x\n", {1: "loop", 3: "skipped"}),
        (
            "apache",
            b"Redirect /a/x /a/x/y\nRedirectMatch ^/a/x$ /b\nRedirectMatch ^/c$ /d\nRedirect /e /f\nRedirectMatch x /g",
            {1: "loop", 2: "skipped", 5: "skipped"},
        ),
        ("csv", b"/c,/d\n/a,//x/\n/a,/b\nhttp://h/a,/z\n", {2: "protocol-relative", 3: "skipped"}),
        ("csv", b"/c,/d\n/a,/x,999\n/a,/b\n", {2: "status", 3: "skipped"}),
        ("csv", b"/c,/d\n/a,/x,301,1\n/a,/b\n", {2: "fields", 3: "skipped"}),
        ("csv", b"/c,/d\nhttp://h/a,//x\n/a,/b\n/a?x=1,/c\n", {2: "protocol-relative", 3: "skipped"}),
        ("csv", b"/c,/d\n/a*,/x\n/ab,/b\n", {2: "wildcard"}),
        (
            "netlify",
            b"/s/* /t/:splat 308\n/* http://all/:splat\n/o /p\n",
            {1: "status-with-captures", 2: "skipped", 3: "skipped"},
        ),
        (
            "netlify",
            b"/s/* http://x/q?u=:splat\n/s/r /p\n/s /p\n/o /p\n",
            {1: "capture-in-query", 2: "skipped", 3: "skipped"},
        ),
        ("netlify", b"/s /e Country=fr\n/s/ /f\n/* http://z/\n", {1: "condition", 2: "skipped", 3: "skipped"}),
        ("netlify", b"/s id=:id /e/:id\n/s /f\n/t /g\n", {1: "query-condition", 2: "skipped"}),
        ("netlify", b"/* /index.html 200\n/a /b\n", {1: "rewrite-of-wildcard", 2: "skipped"}),
        (
            "netlify",
            b"http://h/* /x\nhttp://i/a /b\n/a /b\nhttp://h/c /d\n",
            {1: "host-pattern", 3: "skipped", 4: "skipped"},
        ),
        (
            "netlify",
            b"http://h/a/:x /x\n/b/c /b\n/a/c /b\n/* http://z/\n",
            {1: "host-pattern", 3: "skipped", 4: "skipped"},
        ),
        ("cloudflare", b"/a/* /b/:splat 308\n/a/c /d\n/e /f\n", {1: "status-with-captures", 2: "skipped"}),
        (
            "apache",
            b"Redirect 303 /s /t\nRedirect /x /y\nRedirect / http://all/\n",
            {1: "status-with-captures", 3: "skipped"},
        ),
        ("apache", b"Redirect 999 /s /t\nRedirect /s/x /y\n", {1: "status", 2: "skipped"}),
        ("apache", b"RedirectMatch ^/a(.*) $0/x\nRedirect /ab /x\nRedirect /b /y\n", {1: "captures", 2: "skipped"}),
        ("apache", b"<Location /x>\nRedirect /x/a /y\n</Location>\nRedirect /x /y\n", {2: "section", 4: "skipped"}),
        ("apache", b"RewriteRule ^x /y\nRedirect /x /y\n", {1: "directive"}),
        (
            "apache",
            b"RedirectMatch 302 ^/$ $0\nRedirectMatch ^/a /b\nRedirectMatch ^/(.*)\\.x$ /y\nRedirectMatch ^/.?$ /cc\n",
            {1: "captures", 4: "skipped"},
        ),
    ],
)
def test_rows_that_would_answer_for_a_skipped_one(kind: TableKind, table: bytes, skipped: dict[int, str]) -> None:
    """No row answers requests of one that is skipped: if it would, it is skipped as well, with the line."""
    skipping = checked(kind, table)
    assert {skipping.table.line(row.span.start): row.reason for row in skipping.rejected} == skipped
    assert prove(emit(skipping)).holds
    for row in skipping.rejected:
        if row.reason == "skipped":
            (line,) = re.findall(r"line (\d+), which", row.message)
            assert skipped[int(line)] != "skipped"


def test_a_regular_expression_that_leads_to_itself() -> None:
    """A RedirectMatch is followed from a path that it matches."""
    assert reasons("apache", b"RedirectMatch ^/(.*)$ /new/$1\n") == [(1, "loop")]
    table = checked("apache", b"RedirectMatch ^/a(.*)$ /b\nRedirect /b http://x/\n")
    assert [finding.kind for finding in table.findings] == ["chain"]


def test_an_error_names_only_the_rows_to_correct() -> None:
    """What is skipped only because of another row is no fault of its own."""
    table = checked("netlify", b"/* /index.html 200\n/a /b\n/c /d\n")
    assert [row.reason for row in table.faulty] == ["rewrite-of-wildcard"]


def test_a_row_that_answers_for_a_skipped_one_is_refuted() -> None:
    """The proof asks all of the text for what a skipped row answers."""
    tables: list[tuple[TableKind, bytes]] = [
        ("csv", b"/a,/b\nhttp://h/a,/a\n"),
        ("netlify", b"/a/x /a/x\n/a/* /b/:splat\n"),
        ("netlify", b"/a/* /a/b/:splat\n/:x/x /e/:x\n"),
    ]
    for kind, table in tables:
        skipping = checked(kind, table)
        (loop,) = (number for number, row in enumerate(skipping.rejected) if row.reason == "loop")
        rows = tuple((number, row) for number, row in enumerate(skipping.table.rows) if number != loop)
        assert "is answered otherwise" in (
            prove(emit(replace(skipping, rows=rows, skipped=frozenset({loop})))).refutation or ""
        )


def test_the_proof_is_about_the_table() -> None:
    """A row that is left out by mistake is noticed: the proof asks the table, not what was kept of it."""
    tables: list[tuple[TableKind, bytes]] = [
        ("csv", b"/a,/b\n/c,/d\n"),
        ("netlify", b"/a/* /b/:splat\n/c/* /d/:splat\n"),
    ]
    for kind, table in tables:
        kept = checked(kind, table)
        assert not prove(emit(replace(kept, rows=kept.rows[1:]))).holds


def test_a_pattern_that_pcre_releases_read_differently() -> None:
    r"""`\s` matches a vertical tab since PCRE 8.34: a row behind such a pattern is rejected, one before it counts."""
    pattern, row = b"RedirectMatch 308 ^/a\\sb /x\n", b'Redirect 301 "/a\x0bb" /y\n'
    assert reasons("apache", pattern + row) == [(2, "pattern")]
    assert prove(emit(checked("apache", pattern + row))).holds
    compiled("apache", row + pattern)
    assert answer("apache", row + pattern, b"/a\x0bb") == (301, b"/y")
    assert reasons("apache", pattern + b'Redirect 301 /c "/a\x0bb"\n') == [(2, "control-character")]
    compiled("apache", pattern + b"Redirect 301 /c /a%0Bb\n")
