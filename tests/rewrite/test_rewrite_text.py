"""The emitted text: a default in each map, no captures in a map's pattern, and nothing asked of the disk for it."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from nginxopt.config import Config, Directive, load, load_text, reread
from nginxopt.rewrite import Emission, Options, emit, plan, prove
from tests.corpus_report import AS_MEANT, AS_WRITTEN, configurations
from tests.rewrite.mutations.programs import KINDS, WHOLES, program
from tests.rewrite.test_rewrite_laws import CONTEXTS, compiled, few, texts
from tests.rows import every_row

DEFAULT = b'    default "";\n'
WHOLE = b"""events {}
http {
    server {
        rewrite ^/a$ /to/a permanent;
        rewrite ^/b$ /to/b?x=1 last;
    }
}
"""


def maps_of(emission: Emission) -> list[Directive]:
    """The maps of an emission, without those of patterns."""
    blocks = load_text(emission.maps_of_rewrites, context="http").main.block.directives()
    return [directive for directive in blocks if directive.name == "map"]


def rows_of(table: Directive) -> list[Directive]:
    """The rows of a map, parameters included."""
    assert table.block is not None
    return list(table.block.directives())


def check_maps(emission: Emission) -> None:
    """Each map has a default; all but those of targets and arguments are volatile, as some of these are.

    Its patterns capture nothing without a name, and no value repeats `$1`.

    nginx reads captures without a name of another match once a map's pattern has them (CVE-2026-42533).
    """
    for table in maps_of(emission):
        rows = rows_of(table)
        parameters = [row.name for row in rows if row.name in ("default", "volatile", "hostnames", "include")]
        may_be_kept = re.search(r"_(?:to|args)(?:_\d+)?$", str(table.args[1])) is not None
        assert parameters in (["volatile", "default"], *([["default"]] * may_be_kept))
        for row in rows:
            if row.name.startswith("~"):
                pattern = re.compile(row.name.lstrip("~*").replace("(?<", "(?P<").replace(r"\z", r"\Z"))
                assert pattern.groups == len(pattern.groupindex), row.name
            assert not any(re.search(r"\$\{?[1-9]", value) for value in row.args), row.args


_WITH_MAPS = [name for name in (*KINDS, *WHOLES) if name != "named-groups"]
"""The programs that have maps of keys."""


@every_row("name", _WITH_MAPS)
def test_maps_of_every_shape(name: str) -> None:
    """A program of each shape has such maps."""
    check_maps(program(name))
    assert maps_of(program(name))


def test_a_shape_has_a_pattern() -> None:
    """The map that takes a newline off the URI is the one with a pattern."""
    patterns = [row.name for table in maps_of(program("lines")) for row in rows_of(table) if row.name.startswith("~")]
    assert patterns == ["~(?s)^(?<m_rest>.*)\n\\z"]


@given(texts(), CONTEXTS)
@few
def test_maps_of_random_rules(text: bytes, context: str) -> None:
    """Random rules have such maps."""
    check_maps(compiled(text, context))


@pytest.mark.parametrize("options", [AS_WRITTEN, AS_MEANT], ids=["written", "meant"])
def test_maps_of_the_corpus(options: Options) -> None:
    """The files of the corpus have such maps."""
    emissions = [emit(plan(config, options)) for _, config in configurations("A")]
    for emission in emissions:
        check_maps(emission)
    assert any(emission.maps for emission in emissions)


@every_row("name", _WITH_MAPS)
def test_a_map_without_a_default_is_proved(name: str) -> None:
    """The proof takes a map as it was emitted before there was a default."""
    emission = program(name)
    bare = emission.maps.replace(DEFAULT, b"")
    assert bare != emission.maps
    assert prove(replace(emission, maps=bare)).holds


def whole(folder: Path, text: bytes = WHOLE) -> Config:
    """A configuration on disk."""
    (folder / "nginx.conf").write_bytes(text)
    return load(folder / "nginx.conf")


def test_an_earlier_compilation_without_defaults(tmp_path: Path) -> None:
    """The maps of an earlier compilation stay as they are, with or without a default, and so do their guards."""
    first = emit(plan(whole(tmp_path)))
    assert first.maps_path is not None
    [change] = first.changes
    for maps in (first.maps, first.maps.replace(DEFAULT, b"")):
        again = reread(first.plan.config, {first.maps_path: maps, change.file.path: change.after})
        assert not emit(plan(again)).changes
        more = change.after.replace(b"    server {\n", b"    server {\n        rewrite ^/c$ /to/c last;\n")
        grown = reread(first.plan.config, {first.maps_path: maps, change.file.path: more})
        second = emit(plan(grown))
        assert second.plan.rules.moved == 1
        assert first.maps_path not in {changed.file.path for changed in second.changes}
        assert prove(second).holds


COMMENTED = b"""set $a "#;"; rewrite # first
 ^/a$ /b permanent; rewrite ^/a2$ /b # second
 permanent;
    rewrite ^/b#c$ # third
      /yy permanent; # tail
# own
rewrite ^/x/(.*)$ # stays
  /y/$1 permanent;
set $b #other
 c;
"""


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_comments_stay(newline: bytes) -> None:
    """No comment is lost with a rule, also not one between its words."""
    text = COMMENTED.replace(b"\n", newline)
    emission = emit(plan(load_text(text, context="server")))
    assert prove(emission).holds
    after = emission.changes[0].after
    for comment in re.findall(rb"# ?\w+$", COMMENTED, re.MULTILINE):
        assert after.count(comment + newline) == 1
    assert b"rewrite ^/a" not in after
    assert after.count(b"\n") == after.count(newline)


def test_the_disk_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning asks for a free name; what is emitted comes of the plan alone."""
    stem = plan(whole(tmp_path)).rules.stem
    (tmp_path / f"{stem}.conf").touch()
    planned = plan(whole(tmp_path))
    assert planned.maps_name == f"{stem}2.conf"

    def refuse(*arguments: object, **_: object) -> None:
        raise AssertionError(f"the disk is asked for {arguments}")

    for name in ("stat", "lstat", "scandir", "listdir", "readlink", "open", "access"):
        monkeypatch.setattr(os, name, refuse)
    monkeypatch.setattr("builtins.open", refuse)
    emission = emit(planned)
    monkeypatch.undo()
    assert emission.maps_path == str(tmp_path / planned.maps_name)
    assert prove(emission).holds
