"""Two ways to write the same are equivalent, and what only looks so is not."""

from __future__ import annotations

import pytest

from tests.rows import every_row
from tests.verify.pairs import Pair
from tests.verify.pairs.denials import DENIED_ALIKE, DENIED_UNLIKE
from tests.verify.pairs.shapes import LIKE, UNLIKE
from tests.verify.test_verify import names, verified


@every_row("pair", (*LIKE, *DENIED_ALIKE), ids=names((*LIKE, *DENIED_ALIKE)))
def test_shapes_that_answer_alike_are_equivalent(pair: Pair) -> None:
    """Numbers and names of groups, `alias` and `root`, upstreams and addresses, denials, in both directions."""
    for result in (verified(pair), verified(Pair(pair.name, pair.new, pair.old))):
        assert result.verdict == "equivalent", result.doubts


@pytest.mark.parametrize("pair", [*UNLIKE, *DENIED_UNLIKE], ids=names((*UNLIKE, *DENIED_UNLIKE)))
def test_shapes_that_somebody_can_tell_apart_are_not(pair: Pair) -> None:
    """Something else reads a group or the root, or comes between."""
    for result in (verified(pair), verified(Pair(pair.name, pair.new, pair.old))):
        assert result.verdict != "equivalent"
