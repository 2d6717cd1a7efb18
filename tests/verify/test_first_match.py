r"""Long maps and the lookups that replace them: the proof row by row holds, and refutes what was damaged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt import load_text
from nginxopt._native import Patterns, captures
from nginxopt.request.model import SiteModel
from nginxopt.rewrite import emit, plan
from nginxopt.semantics.site import Build, lower
from nginxopt.verify import verify
from nginxopt.verify.definitions import MapTable, SideDefinitions, table_of
from nginxopt.verify.first_match import same_values
from nginxopt.verify.pattern_parts import Parts, covers, may_start, sequences
from nginxopt.verify.side import VerifiedSide
from nginxopt.verify.symbols import Interner, pieces
from nginxopt.version import Version
from tests.rows import every_row

ROWS = [
    *(rf'"~^/doc/{word}\.html$" /{word};' for word in ("alpha", "beta", "gamma", "delta", "about", "archive")),
    *(f'"~^/doc/{word}.*$" /d/{word};' for word in ("alp", "old", "new", "about-us", "epsilon", "zeta")),
    r'"~^/.+/feed$" /feed;',
    r'"~^/doc/.+/otaku$" /otaku;',
    r'"~^/.*\.bak$" /404;',
    *(f'"~^/{letter}/page-{number}.*$" /{letter}{number};' for letter in "abcdefg" for number in range(9)),
    r'"~^/[gG]-?[aA]$" /guardian;',
    r'"~^/.*/trackback$" /track;',
    r'"~^/A/Spelled$" /spelled;',
    *(f'"~^/lit{number}$" /literal/{number};' for number in range(20)),
    r'"~^/(?<u>.*)\.$" "$u";',
    r'"~*wso" /404;',
    r'"~^/a/page-1/feed$" /never;',
    r'"~^/.db/.*$" /db;',
    r'"~^/c/" /c;',
    r'"~^/.+/blocked.css$" /blocked;',
]
"""Rows with known beginnings and floats, in an order that matters: `/doc/alpha/feed` matches four of them."""

SITE = 'events {{}}\nhttp {{\n{}\nserver {{ listen 80; location / {{ return 200 "$new"; }} }}\n}}\n'


def site(maps: str) -> SiteModel:
    """Return the model of a site that answers with `$new`."""
    return SiteModel(load_text(SITE.format(maps).encode("latin-1"), "nginx.conf"), Build(Version(1, 22, 1)))


@cache
def texts() -> tuple[str, str]:
    """Return the map, and what replaces it."""
    text = "map $request_uri $new {\n" + "\n".join(ROWS) + "\n}\n"
    emission = emit(plan(load_text(text.encode(), "maps.conf", context="http")))
    after = emission.after(emission.plan.config.main) + b"\n" + emission.maps
    return text, after.decode("latin-1")


def tables(text: str) -> dict[str, MapTable]:
    """Return the maps of a text."""
    side = definitions(text)
    return {name: table for name in side.contents if (table := table_of(side.form(name))) is not None}


def definitions(text: str) -> SideDefinitions:
    """Return what a side defines."""
    model = site(text)
    lowered = lower(model.config, model.build)
    return SideDefinitions(VerifiedSide(lowered, lowered.site), Interner())


def value(maps: Mapping[str, MapTable], name: str, subject: bytes) -> bytes:
    """Return the value of a map as nginx computes it."""
    table = maps[name]
    looked_up = filled(maps, table.source, subject, {})
    found = table.exact.get(looked_up.lower())
    if found is None and looked_up:
        for row in table.rows:
            matched = captures(row.pattern, looked_up)
            if matched is not None:
                numbered = {str(number): text or b"" for number, text in enumerate(matched[0])}
                named = {key.decode().lower(): text for key, text in matched[1]}
                return filled(maps, row.value, subject, numbered | named)
    return filled(maps, table.default if found is None else found, subject, {})


def filled(maps: Mapping[str, MapTable], text: bytes, subject: bytes, groups: Mapping[str, bytes]) -> bytes:
    """Return a text with the values of variables."""

    def read(name: str) -> bytes:
        if name in groups:
            return groups[name]
        return subject if name == "request_uri" else value(maps, name, subject)

    return b"".join(piece if isinstance(piece, bytes) else read(piece) for piece in pieces(text))


@cache
def subjects() -> list[bytes]:
    """Return paths that rows match, one or two of them, or nearly."""
    random = Random(1)
    rows = tables(texts()[0])["new"].rows
    found = {b"/", b"/x", b"/doc/", b"/Doc/alpha.html", b"/LIT3", b"/a/spelled"}
    for row in rows:
        for parts in sequences(row.pattern):
            for times in (0, 1, 3):
                path = b""
                for part in parts:
                    if not isinstance(part, str):
                        byte = random.choice([byte for byte in part[0] if chr(byte) in "ax./-_blGgaAW"] or [*part[0]])
                        path += bytes((byte,)) * (times if part[1] else 1)
                path = path if path.startswith(b"/") else b"/" + path
                found |= {path, path + b"x", path[:-1], path + b"/feed", b"/doc" + path, path + b".", b"/q" + path}
    return sorted(path for path in found if path.startswith(b"/") and b"\n" not in path)


ROW = re.compile(r'^    (?:"((?:[^"\\]|\\.)*)"|default) "((?:[^"\\]|\\.)*)";$', re.MULTILINE)


def damaged(text: str) -> Iterator[tuple[str, str]]:
    """Yield texts with one fault: a row lost, doubled or behind the next one, another value, a narrower filter, another
    way out, another number."""
    rows = [row for row in ROW.finditer(text) if row.start() > text.index("# Include")]
    for row, behind in zip(rows, [*rows[1:], rows[0]], strict=True):
        key, own = row[1], row[2]
        yield f"lost {row[0]}", text[: row.start()] + text[row.end() + 1 :]
        yield f"value {row[0]}", text[: row.start(2)] + behind[2] + text[row.end(2) :]
        yield f"none {row[0]}", text[: row.start(2)] + text[row.end(2) :]
        if behind.start() == row.end() + 1:
            yield f"order {row[0]}", text[: row.start()] + behind[0] + "\n" + row[0] + text[behind.end() :]
        if re.match(r"\d{6}\|", own):
            for number in ("000000", "000090", "000200"):
                yield f"number {number} {row[0]}", text[: row.start(2)] + number + own[6:] + text[row.end(2) :]
        if key is not None and key.startswith("~") and "|" in key:
            for at in [at for at, byte in enumerate(key) if byte == "|"]:
                wrong = re.sub(r"^[^|()]*", "", key[at + 1 :])
                yield (
                    f"narrow {row[0]} {at}",
                    text[: row.start(1)] + key[: at + 1] + "(?!)" + wrong + text[row.end(1) :],
                )
        if key is not None and key.startswith("~^"):
            yield f"wide {row[0]}", text[: row.start(1)] + "~^/.*" + text[row.end(1) :]


def test_the_lookups_of_a_list_are_proved() -> None:
    """A list with floats is equivalent to what replaces it, though some answers are those of the original, in order."""
    before, after = texts()
    assert len({"apart", "same", "lower", "tree"} & {name.rpartition("_")[2] for name in tables(after)}) == 4
    assert verify(site(before), site(after)).verdict == "equivalent"
    assert verify(site(after), site(before)).verdict == "equivalent"


def test_damaged_lookups_are_not_proved() -> None:
    """Lookups that are proved have the value of the map for each path that rows match, or nearly; few others are."""
    before, after = texts()
    old, maps = definitions(before), tables(before)
    right = {path: value(maps, "new", path) for path in Random(2).sample(subjects(), 300)}
    maps = tables(after)
    assert right == {path: value(maps, "new", path) for path in right}
    proved = 0
    found = [each for each in damaged(after) if not each[0].startswith("order")]
    for name, wrong in Random(3).sample(found, 24):
        if same_values(old, definitions(wrong), "new"):
            proved += 1
            maps = tables(wrong)
            assert right == {path: value(maps, "new", path) for path in right}, name
    assert proved < 10


@every_row(
    ("was", "now"),
    [
        ('"000012|/feed"', '"000107|/feed"'),
        ("[0-9]{6}", "[0-9]{5}"),
        (r'"~^/.*\.$" "$P_original";', r'"~^/.*x\.$" "$P_original";'),
        (r'"~^/.*\.$" "$P_original";', r'"~^/.*\.$" "$P_float1";'),
        (r'"~(?s)^(.+)>\1\z" "$P_answer";', r'"~(?s)^(.*)>\1" "$P_answer";'),
        ('"/lit3" "/lit3";', '"/lit3" "/LIT3";'),
        ('"/lit3" "/literal/3";', '"/lit3" "/literal/4";'),
        (r"0[0-9]*:\1[1-9]", r"0[0-9]*:\1[2-9]"),
        ('"~^[0-9]+:\\z" "$P_fvalue";', '"~^[0-9]+:\\z" "$P_value";'),
        ('default "$P_lower";\n    "" "$P_value";', 'default "$P_value";\n    "" "$P_lower";'),
        ('"~^/.+/feed$" "000012|/feed";\n', ""),
        ('default "$P_apart";\n    "~(?s)', 'default "$P_pick";\n    "~(?s)'),
        ("doc/.+/otaku$|", ""),
        ('"/c/" "', '"/c/x" "'),
    ],
)
def test_a_fault_of_each_kind_is_not_proved(was: str, now: str) -> None:
    """Wrong numbers, filters, ways out, comparisons, keys and orders are refuted, or at least not proved."""
    before, after = texts()
    prefix = after[after.index("$nxo_") + 1 : after.index("_known")]
    was, now = (text.replace("$P", f"${prefix}") for text in (was, now))
    assert was in after
    assert not same_values(definitions(before), definitions(after.replace(was, now)), "new")


_LIST = " ".join(rf'"~^/l{number}/" /L{number};' for number in range(20))
_KEYED = " ".join(rf"/l{number}/ /L{number};" for number in range(20))
_KEYS = 'map $request_uri $key {{ "~^(?<k>{})" $k; }}'.format("|".join(rf"/l{number}/" for number in range(20)))
_TREE = f"map $key $tree {{ %s {_KEYED} }} {_KEYS}"


@every_row(
    ("before", "after", "right", "fault"),
    [
        ("", f'"~^/l" $in; }} map $request_uri $in {{ %s {_LIST}', "", "/l3/x /wrong;"),
        ("", f'"~^/l" $in; }} map $request_uri $in {{ %s {_LIST}', "", "default /wrong;"),
        ('"" /empty; default /none;', f'"" /empty; %s {_LIST}', "default /none;", "default /wrong;"),
        ("", f'{_LIST} "~^/q" $in; }} map $request_uri $in {{ %s', "", '"~^/q/x" /wrong;'),
        ("", f'"~^/" $tree; }} {_TREE.removesuffix("}")}', "", "default /wrong;"),
        ("", f'"~^/" $tree; }} {_TREE.removesuffix("}")}', "", '"" /wrong;'),
        (
            '"~^^/l3/.*x" /other;',
            f"%s default $tree; }} {_TREE.replace('%s', '').removesuffix('}')}",
            '"~^^/l3/.*x" /other;',
            "",
        ),
        (
            '"~^x*^/l3/x" /other;',
            f"%s default $tree; }} {_TREE.replace('%s', '').removesuffix('}')}",
            '"~^x*^/l3/x" /other;',
            "",
        ),
    ],
)
def test_answers_for_what_no_row_matches_are_checked(before: str, after: str, right: str, fault: str) -> None:
    """Each answer of each lookup that may be reached counts, also where the subjects of no row lead."""
    old = definitions(f"map $request_uri $new {{ {before} {_LIST} }}")
    assert same_values(old, definitions(f"map $request_uri $new {{ {after % right} }}"), "new")
    assert not same_values(old, definitions(f"map $request_uri $new {{ {after % fault} }}"), "new")


def test_long_patterns_are_not_searched_for_one_another() -> None:
    """Patterns with thousands of parts are not proved, in a short time."""
    rows = " ".join(rf'"~^/{"a{99}" * 30}{number}$" /{number};' for number in range(40))
    old = definitions(f"map $request_uri $new {{ {rows} }}")
    new = definitions(f'map $request_uri $new {{ "~{"a{99}" * 25}b|a{{98}}c" $in; }} map $request_uri $in {{ {rows} }}')
    assert not same_values(old, new, "new")


@pytest.mark.parametrize("inner", ["", "volatile;"])
def test_lookups_that_keep_a_value_are_not_proved(inner: str) -> None:
    """A volatile map with the value that another one has kept is not one without."""
    old = definitions(f"map $uri $new {{ volatile; {_LIST} }}")
    new = definitions(f'map $uri $new {{ volatile; "~^/l" $in; }} map $uri $in {{ {inner} {_LIST} }}')
    assert same_values(old, new, "new") is bool(inner)


@given(st.text(r"/ab.[]()|?*+^$\\-c", max_size=12), st.text(r"/ab.c-", max_size=6))
def test_sequences_are_those_of_the_pattern(pattern: str, subject: str) -> None:
    """A subject matches a pattern if and only if it matches one of its sequences."""
    found = sequences(pattern.encode())
    try:
        expected = Patterns([pattern.encode()], to_match=True).first(subject.encode()) is not None
    except ValueError:
        return
    if found:
        assert (
            any(Patterns([written(parts)], to_match=True).first(subject.encode()) == 0 for parts in found) is expected
        )


@given(st.text(r"/ab.[]()|?*+^$", max_size=9), st.text("/ab", max_size=4), st.text("/abc", max_size=4))
def test_what_a_sequence_covers_matches_whatever_follows(pattern: str, start: str, rest: str) -> None:
    """A sequence that covers a text matches each subject that starts with it; one that may not start with it, none."""
    for parts in sequences(pattern.encode()):
        is_match = Patterns([written(parts)], to_match=True).first((start + rest).encode()) is not None
        assert is_match or not covers(parts, start.encode(), has_newlines=False)
        assert not is_match or may_start(parts, start.encode())


def test_rows_that_others_leave_nothing_to_are_proved() -> None:
    """Lookups may leave a row out that an earlier one covers, unless another row comes before."""
    rows = [r'"~^/Sp.*$" /first;', *(f'"~^/l{number}$" /L{number};' for number in range(20))]
    old = definitions(f"map $request_uri $new {{ {' '.join(rows)} '~^/[Ss]p.*x$' /x; '~^/Spaced/.*$' /dead; }}")
    for order, is_same in ((1, True), (-1, False)):
        found = " ".join((rows[0], "'~^/[Ss]p.*x$' /x;")[::order])
        inner = f"map $request_uri $in {{ {' '.join(rows[1:])} {found} }}"
        assert same_values(old, definitions(f"map $request_uri $new {{ default $in; }} {inner}"), "new") is is_same


def written(parts: Parts) -> bytes:
    """Return a sequence as a pattern."""
    return b"".join(
        part.encode()
        if isinstance(part, str)
        else b"[%s]%s" % (b"".join(b"\\x%02x" % byte for byte in part[0]), b"*" * part[1])
        for part in parts
    )
