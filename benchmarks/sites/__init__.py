"""Sites whose cost `benchmarks.blind` compares with profiles, by the round in which they were new to the terms."""

from __future__ import annotations

from benchmarks.sites import round_0, round_1, round_2, round_3, round_4, round_5, round_6, round_7, round_8
from benchmarks.sites.parts import Kind, Site

ROUNDS = (
    round_0.SITES,
    round_1.SITES,
    round_2.SITES,
    round_3.SITES,
    round_4.SITES,
    round_5.SITES,
    round_6.SITES,
    round_7.SITES,
    round_8.SITES,
)
SITES: dict[str, Site] = {name: site for sites in ROUNDS for name, site in sites.items()}

__all__ = ["ROUNDS", "SITES", "Kind", "Site"]
