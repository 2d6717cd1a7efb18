"""The text of a map that becomes a tree: its patterns are gone, its default goes on, and all else stays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config import Config, Directive, load, load_text
from nginxopt.rewrite.kinds.maps.planning import MapsPlan, PlannedMap, edits
from nginxopt.rewrite.kinds.maps.proof import difference, read_again
from nginxopt.rewrite.kinds.maps.reading import inlined, read
from nginxopt.text import apply
from tests.rows import every_row


@dataclass(frozen=True)
class Native:
    """What the native planner returns."""

    maps: bytes = b""
    default: bytes = b"$t_prefix"
    guard: bytes | None = None
    before: tuple[int, int, int] = (9, 9, 9)
    after: tuple[int, int, int] = (1, 2, 3)


def plan(config: Config, native: Native) -> MapsPlan:
    """All maps of a configuration as trees."""
    maps = tuple(read(config, config.files))
    return MapsPlan(tuple(PlannedMap(map_, "t_", native) for map_ in maps), found=maps)  # type: ignore[arg-type]


def changed(text: bytes, native: Native = Native()) -> bytes:
    """What becomes of a fragment of http."""
    config = load_text(text, context="http")
    planned = plan(config, native)
    by_file = edits(planned.compiled, "t.conf")
    result = apply(text, by_file.get(config.main, []))
    assert difference(config, planned, read_again(config, {config.main: result})) is None
    return result


@every_row(
    ("before", "after"),
    [
        (
            b"map $uri $a {\n    ~^/a b; # why\n    # of d\n    /d e;\n    ~f g;\n}\n",
            b"map $uri $a {\n    # 2 patterns of this map are looked up in the maps of t.conf.\n"
            b"    default $t_prefix;\n    # why\n    # of d\n    /d e;\n}\n",
        ),
        (
            b"map $uri $a {\n\t~^/a b;\n\tdefault x; # the end\n}\n",
            b"map $uri $a {\n\t# 1 pattern of this map is looked up in the maps of t.conf.\n"
            b"\tdefault $t_prefix; # the end\n}\n",
        ),
        (b"map $uri $a { ~a b; ~c d; }", b"map $uri $a { default $t_prefix; }"),
        (b'map $uri $a { ~a b; default ""; ~c d; }', b"map $uri $a { default $t_prefix; }"),
        (b"map $uri $a { volatile; /x y; ~c d; }", b"map $uri $a { default $t_prefix; volatile; /x y; }"),
        (b"map $uri $a { # of what\n  ~c d;\n}\n", b"map $uri $a { default $t_prefix; # of what\n}\n"),
        (b"map $uri $a {\n  ~a # between\n    b;\n}", b"map $uri $a {\n"
         b"  # 1 pattern of this map is looked up in the maps of t.conf.\n  default $t_prefix;\n  # between\n}"),
        (
            b"map $uri $a {\r\n  ~a b;\r\n  /c d;\r\n}\r\n",
            b"map $uri $a {\r\n  # 1 pattern of this map is looked up in the maps of t.conf.\r\n"
            b"  default $t_prefix;\r\n  /c d;\r\n}\r\n",
        ),
    ],
)  # fmt: skip
def test_a_block(before: bytes, after: bytes) -> None:
    """Comments, indentation and line ends stay."""
    assert changed(before) == after


def test_a_guard() -> None:
    """A short list stays behind a row before its patterns, with a note to those who change them."""
    text = b"map $uri $a {\n    /b c;\n    ~^/d e; # f\n    ~^/g h;\n}\n"
    assert changed(text, Native(guard=b'"~^(?!/[dg])" "";')) == (
        b"map $uri $a {\n    /b c;\n"
        b"    # Only what passes the next row can match one below it. Delete it before you change them.\n"
        b'    "~^(?!/[dg])" "";\n    ~^/d e; # f\n    ~^/g h;\n}\n'
    )


def test_included_rows(tmp_path: Path) -> None:
    """Rows are gone from the files they are in, and a default changes where it is."""
    (tmp_path / "rows.map").write_bytes(b"~a 1;\n/b 2;\ninclude more.map;\n~c 3;")
    (tmp_path / "more.map").write_bytes(b"default 4; ~d 5; # no line end")
    (tmp_path / "nginx.conf").write_bytes(
        b"events {}\nhttp {\n  map $uri $x {\n    ~e 6;\n    include rows.map;\n  }\n}\n"
    )
    config = load(tmp_path / "nginx.conf")
    planned = plan(config, Native())
    (compiled,) = planned.compiled
    assert compiled.map.text() == (
        b"map $uri $x {\n    ~e 6;\n    ~a 1;\n/b 2;\ndefault 4; ~d 5; # no line end\n\n~c 3;\n\n  }"
    )
    by_file = edits(planned.compiled, "t.conf")
    texts = {file: apply(file.source.data, by_file[file]) for file in config.files if file in by_file}
    assert {Path(file.path).name: text for file, text in texts.items()} == {
        "nginx.conf": b"events {}\nhttp {\n  map $uri $x {\n"
        b"    # 4 patterns of this map are looked up in the maps of t.conf.\n    include rows.map;\n  }\n}\n",
        "rows.map": b"/b 2;\ninclude more.map;\n",
        "more.map": b"default $t_prefix; # no line end",
    }
    after = read_again(config, texts)
    assert difference(config, planned, after) is None
    assert b"~" not in inlined(after, _only(after))


def _only(config: Config) -> Directive:
    return next(directive for directive, _ in config.walk() if directive.name == "map")


_ROWS = st.sampled_from(
    ["~^/a b;", "~*c d;", '"~^/e f$" "g;}";', "/h i;", "default j;", "volatile;", "'~^/k{2}' \"l $uri\";", "\\~m n;"]
)
_GAPS = st.sampled_from([" ", "\n", "\n    ", " # note\n", "\r\n\t", "\n\n# alone\n"])


@given(st.lists(st.tuples(_ROWS, _GAPS), min_size=1, max_size=12), _GAPS)
def test_any_block(rows: list[tuple[str, str]], first: str) -> None:
    """Whatever stands between the rows: all that are no patterns stay in their order, and so do all comments."""
    seen_default = False
    text = f"map $uri $a {{{first}"
    for row, gap in rows:
        if row.startswith("default"):
            if seen_default:
                continue
            seen_default = True
        text += row + gap
    text += "}\n"
    result = changed(text.encode()).decode()
    assert result.count("# note") == text.count("# note")
    assert result.count("# alone") == text.count("# alone")
    if "~^" in text or "~*" in text:
        config = load_text(result.encode(), context="http")
        block = _only(config).block
        assert block is not None
        kept = [str(row.name) for row in block.directives()]
        assert not any(name.startswith("~") for name in kept)
        assert kept.count("default") == 1


def test_what_else_changes_is_seen() -> None:
    """The comparison of the texts knows the maps that become trees, and nothing else."""
    text = b"map $uri $a { ~a b; /c d; }\nmap $uri $e { ~f g; }\nserver { listen 80; }\n"
    config = load_text(text, context="http")
    first = next(iter(plan(config, Native()).compiled))
    planned = MapsPlan((first,))
    for old, new in ((b"/c d", b"/c e"), (b"~f g; ", b""), (b"listen 80;", b"listen 81;"), (b"server {", b"types {"),
                     (b"/c d; ", b"/c d; /c2 d; "), (b"listen 80; ", b"")):  # fmt: skip
        assert difference(config, planned, read_again(config, {config.main: text.replace(old, new)})), old
    same = text.replace(b"~a b;", b"default $t;")
    assert difference(config, planned, read_again(config, {config.main: same})) is None
    included = b"include t.conf; map_hash_max_size 99;\n" + same
    assert difference(config, planned, read_again(config, {config.main: included})) is not None
    assert difference(config, planned, read_again(config, {config.main: included}), include="t.conf") is None
