r"""Fronts, which answer rows of literals and dots by what patterns capture: they are proved, and faults are not."""

from __future__ import annotations

import re
from random import Random

import pytest

from nginxopt._native import CompiledMap, compile_map
from nginxopt.verify.first_match import same_values
from nginxopt.verify.fronts import alternatives
from nginxopt.verify.lookups import NotProvedError
from nginxopt.verify.pattern_parts import sequences
from tests.rows import every_row
from tests.verify.test_first_match import definitions, tables, value

_ENDS = (("html$", "intro.*"), ("html", "a.b$"), ("htm$", "txt.txt$"), ("php$", "x"), ("x", "new"))
ROWS = (
    *(f'"~^/docs/page-{number}.{end}" /page{number};' for number, (end, _) in enumerate(_ENDS)),
    *(f'"~^/v1.{number}/{end}" /v{number};' for number, (_, end) in enumerate(_ENDS)),
    *(f'"~^/About-{word}" /about;' for word in ("us.*$", "them$", "team.htm", "Office/.*$")),
    r'"~^/img/a\.png$" /png;',
    '"~^/img/a.png.old$" /old;',
    '"~^/docs/[a-c]x" /class;',
    '"~^/docs/.*/last$" /last;',
    '"~^/docs/page-1" /short;',
    '"~^/Docs/page-1.html$" /capital;',
)
"""Rows with dots before and behind what tells them apart, rows that a tree keeps, and one behind others."""


def compiled() -> tuple[str, str]:
    """Return the map, and what replaces it in the forms of large lists."""
    before = "map $request_uri $new {\n" + "\n".join(ROWS) + "\n}\n"
    after = compile_map(before.encode(), stem="m_", as_large=True)
    assert isinstance(after, CompiledMap)
    return before, f"map $request_uri $new {{ default {after.default.decode()}; }}\n" + after.maps.decode("latin-1")


def subjects() -> list[bytes]:
    """Return paths that rows match, or nearly."""
    draw = Random(5)
    found = {b"/", b"/docs/", b"/docs", b"/docs/page-1xhtml", b"/docs/page-1.html/last"}
    for row in tables(compiled()[0])["new"].rows:
        for parts in sequences(row.pattern):
            for _ in range(4):
                path = b""
                for part in parts:
                    if not isinstance(part, str):
                        byte = draw.choice([byte for byte in part[0] if chr(byte) in "ax./-1A"] or [*part[0]])
                        path += bytes((byte,)) * (draw.randrange(3) if part[1] else 1)
                at = draw.randrange(len(path))
                found |= {path, path + b"x", path[:-1], path.swapcase(), path[:at] + path[at : at + 1].swapcase()}
                found |= {path[:at] + bytes((draw.choice(b"ax./-1A"),)) + path[at + 1 :], path + b"/last"}
    return sorted(path for path in found if path.startswith(b"/") and b"\n" not in path)


def test_a_front_is_proved() -> None:
    """Rows that a front answers, and those behind it, are answered as by the map."""
    before, after = compiled()
    assert {"front", "candidate", "start", "rooted"} <= {name[2:] for name in tables(after)}
    assert r"[^\x0a\x2e](?<" in after  # another byte than a dot
    assert same_values(definitions(before), definitions(after), "new")


@every_row(
    ("was", "now"),
    [
        ('"/v1.3/x" "/v3"', '"/v1.3/x" "/v4"'),
        ('"/v1.3/x" "/v3"', '"/v1.3/xx" "/v3"'),
        ('"/v1.3/x" "/v3";', ""),
        (r"(?=[^\x0a]html$)", r"(?=[^\x0a]html)"),
        (r"(?=[^\x0a]html$)", r"(?=[\x00-\xff]html$)"),
        (r"(?=[^\x0a]html$)", "(?=html$)"),
        (r"(?=[^\x0a]html$)", "."),
        (r"[^\x0a\x2e](?<", "[^/](?<"),
        (r'page-0.html$|.*/last$))" ""', r'page-0.html$|.*/last$))" "/short"'),
        ('"$m_rooted"', '"/none"'),
        ('"$m_rooted"', '""'),
        ('"$m_candidate" $m_front', '"$m_start" $m_front'),
        ('map "$m_candidate" $m_front {', 'map "$m_candidate" $m_front { "" /empty;'),
    ],
)
def test_a_fault_of_each_kind_is_not_proved(was: str, now: str) -> None:
    """Other keys, other values, wider patterns and other ways out are not proved."""
    before, after = compiled()
    assert was in after
    assert not same_values(definitions(before), definitions(after.replace(was, now)), "new")


_ROWS = "".join(f'"~^/l{number}.x$" /{number};' for number in range(20))
_FRONT = """
map $request_uri $new {{ default $front; }}
map $request_uri $start {{ "~^(?<key>{starts})" $key; }}
map $start $candidate {{ {candidates} }}
map $request_uri $pieces {{ {patterns} }}
map $candidate $front {{ {keys} {more} }}
"""


def front(**changes: str) -> str:
    """Return a small front, with changes."""
    forms = {
        "starts": "/l",
        "candidates": "/l $pieces;",
        "patterns": r'"~^(?<key>/l[0-9]{1,2}(?=[^\x0a]x$))" $key;',
        "keys": "".join(f"/l{number} /{number};" for number in range(20)),
        "more": "",
    }
    return _FRONT.format(**forms | changes)


@every_row(
    ("rows", "changes", "fault"),
    [
        # Of two alternatives that match, the first one counts.
        ("", {"patterns": r'"~^(?<key>/l(?:1[^A-Z]{2}|[0-9]{1,2}(?=[^\x0a]x$)))" $key;'}, "order"),
        ("", {"patterns": r'"~^(?<key>/l[0-9]??[0-9](?=[^\x0a]x$))" $key;'}, "lazy"),
        ("", {"patterns": r'"~^(?<key>/l[0-9]{1,2}(?=[^\x0a]x$)).." $key;'}, "more behind"),
        ("", {"patterns": r'"~^(?=/l)(?<key>/l[0-9]{1,2}(?=[^\x0a]x$))" $key;'}, "before"),
        ("", {"patterns": r'"~^(?<key>/l[0-9]{1,2})" $key;'}, "nothing behind"),
        ("", {"patterns": r'"~^(?<key>/l[0-9]{1,2}(?=[^\x0a]x$))" $key; default /l3;'}, "a default"),
        ("", {"patterns": r'"~^(?<key>/l[0-9]{1,2}(?=[^\x0a]x$))" $key; /l3 /l4;'}, "a plain key"),
        ("", {"patterns": r'"~^(?<key>/l[0-9]{1,2}(?=[^\x0a]x$))" "$key$key";'}, "another key"),
        ("", {"patterns": r'"~^(?<key>/l[0-9]{1,2}(?=[^\x0a]x$))" "";'}, "no key"),
        # A text of the start must not start with another one.
        ("", {"starts": "/l1|/l", "candidates": "/l $pieces;"}, "no way for /l1"),
        ("", {"starts": "/l1|/l", "candidates": "/l $pieces; /l1 $pieces;"}, "two starts"),
        ("", {"candidates": "/l $pieces; default $pieces;"}, "a way for others"),
        ("", {"candidates": '/l $pieces; "" $pieces;'}, "a way for none"),
        # An answer for more than the rows match, also where no row leads.
        ("", {"more": "/l20 /wrong;"}, "no such row"),
        ("", {"more": "default /wrong;"}, "a default behind"),
        ("", {"patterns": r'"~^(?<key>/L?l[0-9]{1,2}(?=[^\x0a]x$))" $key; "~^/m(?<key>)" /l3;'}, "another start"),
        ('"~^/l3.*" /first;', {}, "an earlier row"),
        ('"~^/.*3.x" /first;', {}, "an earlier float"),
    ],
)
def test_a_front_is_what_nginx_makes_of_it(rows: str, changes: dict[str, str], fault: str) -> None:
    """What captures another key, or none, or is behind another row, is not proved; its right twin is."""
    right, old = front(), definitions(f"map $request_uri $new {{ {_ROWS} }}")
    assert same_values(old, definitions(right), "new")
    old = definitions(f"map $request_uri $new {{ {rows} {_ROWS} }}")
    assert not same_values(old, definitions(front(**changes)), "new"), fault


def test_damaged_fronts_are_not_proved() -> None:
    """Where lookups with a fault are proved nevertheless, they have the values of the map."""
    before, after = compiled()
    old = definitions(before)
    paths = Random(6).sample(subjects(), 200)
    right = {path: value(tables(before), "new", path) for path in paths}
    assert right == {path: value(tables(after), "new", path) for path in paths}
    draw, proved = Random(7), 0
    rows = list(re.finditer(r'^    (?:"((?:[^"\\]|\\.)*)"|default) "((?:[^"\\]|\\.)*)";$', after, re.MULTILINE))
    for _ in range(40):
        row, other = draw.sample(rows, 2)
        wrong = draw.choice(
            (
                after[: row.start()] + after[row.end() :],
                after[: row.start(2)] + other[2] + after[row.end(2) :],
                after[: row.start(1)] + re.sub(r"\|", "", row[1] or "x", count=1) + after[row.end(1) :],
                after[: row.start(1)] + re.sub(r"\(\?=[^()]*\)", "", row[1] or "x", count=1) + after[row.end(1) :],
            )
        )
        if wrong != after and same_values(old, definitions(wrong), "new"):
            proved += 1
            maps = tables(wrong)
            assert right == {path: value(maps, "new", path) for path in paths}, row[0]
    assert proved < 10


def test_alternatives() -> None:
    """A pattern has its alternatives in the order in which PCRE tries them; patterns of another form have none."""
    found, name = alternatives(rb"^/a(?<Key>b(?:c[^A-Z]{2}(?=[^\x0a]x$)|d|))")
    assert name == "key"
    assert [(len(each.before), len(each.captured), len(each.after)) for each in found] == [
        (3, 4, 3),
        (3, 2, 0),
        (3, 1, 0),
    ]
    for other in (
        rb"^a(?=b)",
        rb"^(?<k>a)b",
        rb"(?<k>a)",
        rb"^(?<k>a(?=b)c)",
        rb"^(?<k>(?<j>a))",
        rb"^(?<k>a\b)",
        b"^a",
    ):
        with pytest.raises(NotProvedError):
            alternatives(other)
