"""Visible changes of configurations of the corpus that `verify` calls different are different on a real nginx."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.edits import Text
from benchmarks.visible import VISIBLE
from nginxopt.config import load_text
from nginxopt.errors import NginxoptError
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import Build
from nginxopt.system import nginx
from nginxopt.verify import Verification, confirm, verify
from nginxopt.version import Version
from tests.config.test_corpus import CORPUS, is_plain, rows

pytestmark = [pytest.mark.nginx, pytest.mark.extended, pytest.mark.no_cover]

_MOST_BYTES, _FILES, _EACH = 20_000, 25, 16


@pytest.mark.slow
def test_a_witness_holds(binary: nginx.Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    """nginx answers each witness as the models say, and not alike, where it starts with both sides."""
    monkeypatch.setenv("NGINXOPT_BUDGET", "steps=100000")
    confirmed = 0
    for name, kind, result, sides in _different(Build(Version.of(binary.version))):
        assert result.witness is not None
        old, new = sides
        try:
            confirmation = confirm(result.witness, (old.config, old), (new.config, new), binary)
        except NginxoptError:
            continue  # a fragment that nginx does not start with, or programs
        assert confirmation.holds, (name, kind, confirmation.differences, result.witness)
        confirmed += 1
    assert confirmed > 15


def _different(build: Build) -> Iterator[tuple[str, str, Verification, tuple[SiteModel, SiteModel]]]:
    """Yield changes of a sample that are called different."""
    files = [CORPUS / row["file"] for row in rows() if is_plain(row)]
    small = [path for path in files if path.stat().st_size < _MOST_BYTES]
    draw = random.Random(3)
    for path in draw.sample(small, min(_FILES, len(small))):
        old = _model(path, path.read_bytes(), build)
        for kind in draw.sample(sorted(VISIBLE), len(VISIBLE))[:_EACH] if old is not None else ():
            assert old is not None
            data = VISIBLE[kind](Text.of(old.config), draw)
            new = None if data is None else _model(path, data, build)
            if new is not None and (result := verify(old, new)).verdict == "different":
                yield path.name, kind, result, (old, new)


def _model(path: Path, data: bytes, build: Build) -> SiteModel | None:
    """Return the model of a text; None if it is refused."""
    try:
        return SiteModel(load_text(data, str(path), missing_ok=True), build)
    except NginxoptError:
        return None
