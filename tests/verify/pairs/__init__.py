"""Pairs of configurations: mistakes as people make them, edits that keep the meaning, and what is not known.

Each is what stands in `http`; a text without a server stands in one. `{P}` is the port that nginx listens at, `{U}`
that of an upstream, and `{T}` a folder with the files of `FILES`.
"""

from tests.verify.pairs.harmless import HARMLESS
from tests.verify.pairs.inherited import INHERITED_ALIKE, INHERITED_UNLIKE
from tests.verify.pairs.mistakes import MISTAKES
from tests.verify.pairs.pair import FILES, Pair, whole
from tests.verify.pairs.unknown import UNKNOWN
from tests.verify.pairs.unlike import UNLIKE

__all__ = ["FILES", "HARMLESS", "INHERITED_ALIKE", "INHERITED_UNLIKE", "MISTAKES", "UNKNOWN", "UNLIKE", "Pair", "whole"]
