"""The kinds of lists that are compiled."""

from __future__ import annotations

from typing import Any

from nginxopt.rewrite.kinds.chains.kind import CHAINS
from nginxopt.rewrite.kinds.kind import Kind
from nginxopt.rewrite.kinds.locations.kind import LOCATIONS
from nginxopt.rewrite.kinds.maps.kind import MAPS
from nginxopt.rewrite.kinds.rules.kind import RULES

__all__ = ["CHAINS", "KINDS", "LOCATIONS", "MAPS", "PROVED", "RULES"]

KINDS: tuple[Kind[Any], ...] = (RULES, MAPS, CHAINS, LOCATIONS)
"""All kinds, in the order in which they are planned, written and reported."""

PROVED = (*KINDS[1:], KINDS[0])
"""All kinds, in the order in which they are proved: rules last, as their proof starts from the texts in which all other
kinds are compiled.
"""
