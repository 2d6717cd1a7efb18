"""Mutants of configurations that nginx accepts: nginx and `check` refuse the same, with the same words and line."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from nginxopt.system import nginx
from nginxopt.version import Version
from tests.fuzz.refusals import Judge, Said, Tally, class_of, compare, generated, play
from tests.support import IN_CI, NGINXES, PATIENCE

pytestmark = [pytest.mark.nginx, pytest.mark.extended]

_MUTANTS = 300


def _confined(binary: nginx.Binary, folder: Path) -> Judge:
    """Return a judge that runs nginx confined, as mutants may name any file."""

    def judge(text: bytes) -> Said | None:
        own = b"" if b"pid" in text else b"pid nginx.pid; "  # in the first line, so that lines stay what they are
        (folder / "nginx.conf").write_bytes(own + text)
        verdict = binary.test_in(folder)
        found = next((each for each in verdict.messages if each.level in ("emerg", "crit", "alert")), None)
        if verdict.ok or found is None:
            return None if verdict.ok else Said(str(verdict))
        return Said(found.text, int(found.place.rpartition(":")[2] or 0))

    return judge


@pytest.mark.parametrize("number", range(2))
def test_mutants_are_refused_as_nginx_refuses_them(tmp_path: Path, number: int) -> None:
    """What depends on more than the text has a class; nothing else differs. In CI, each run has the same mutants."""
    if number >= len(NGINXES):
        pytest.skip("no second nginx")
    binary, tally, seed = NGINXES[number], Tally(), 0 if IN_CI else random.randrange(1 << 32)
    judge, release = _confined(binary, tmp_path), Version.of(binary.version)
    draw = random.Random(seed)
    texts = [(name, text) for name, text in draw.sample([*generated()], 120) if judge(text) is None]
    assert texts
    for name, text in texts:
        compare(tally, name, text, "as it is", judge, release)
    play(texts, judge, release, draw, 10, tally, time.monotonic() + PATIENCE, _MUTANTS)
    assert tally.mutants >= _MUTANTS
    assert not tally.differences, f"seed {seed}\n{tally}"


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ('host not found in upstream "a"', "hosts"),
        ('open() "/x" failed (2: No such file or directory)', "files"),
        ('cannot load certificate "/x": BIO_new_file() failed', "certificates"),
        ('getpwnam("x") failed', "users"),
        ("bind() to 0.0.0.0:80 failed (98: Address already in use)", "sockets"),
        ('unknown directive "brotli"', "modules"),
        ("could not build map_hash, you should increase map_hash_bucket_size: 64", "hashes"),
        ('"send_timeout" directive invalid value', None),
        ('unknown "nope" variable', None),
        ('unknown "ssl_nope" variable', "variables"),
        ('invalid event type "poll"', "modules"),
    ],
)
def test_what_depends_on_more_than_the_text_has_a_class(message: str, name: str | None) -> None:
    """Each has a name in the guide, too."""
    assert class_of(message) == name
