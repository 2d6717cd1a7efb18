"""No configuration of the corpus is equivalent to itself with a visible change, whatever it includes is missing."""

from __future__ import annotations

import random

import pytest

from tests.config.test_corpus import CORPUS, is_plain, rows
from tests.verify.mutants import mutants, verified

pytestmark = [pytest.mark.extended, pytest.mark.no_cover]

_INVISIBLE = {
    ("files/Informasjonsforvaltning+fdk-nginx-search/nginx-prod.conf", 188),  # behind `~* /apis(.*)`, which takes all
}
"""The changes that no request shows, by file and line."""

_MOST_BYTES, _FILES, _EACH = 20_000, 30, 3


@pytest.mark.slow
def test_a_visible_change_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another value, or without a header, a location, a server or a row, with includes missing as they are."""
    monkeypatch.setenv("NGINXOPT_BUDGET", "steps=100000")
    files = [CORPUS / row["file"] for row in rows() if is_plain(row)]
    small = [path for path in files if path.stat().st_size < _MOST_BYTES]
    verdicts: dict[str, int] = {}
    for path in random.Random(1).sample(small, min(_FILES, len(small))):
        name = str(path.relative_to(CORPUS))
        old, changed = mutants(random.Random(name), path, _EACH)
        for mutant in changed:
            result = None if old is None else verified(old, mutant, path)
            if result is not None and (name, mutant.line) not in _INVISIBLE:
                assert result.verdict != "equivalent", (name, mutant.told)
                verdicts[result.verdict] = verdicts.get(result.verdict, 0) + 1
    assert verdicts["different"] > 5
    assert verdicts["unknown"] > 5
