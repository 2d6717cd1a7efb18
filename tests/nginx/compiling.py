"""Compile rules, prove it, and ask a real nginx before and after.

The seeds are fixed; two variables of the environment make the run longer:

    NGINXOPT_SEEDS     how many random lists and configurations in each phase (by default 8)
    NGINXOPT_REQUESTS  how many requests at most for each of them (by default 500)

    NGINXOPT_SEEDS=400 NGINXOPT_REQUESTS=3000 pytest -s tests/nginx/test_compiler.py tests/nginx/test_compiler_whole.py

asks about a million, and tells their number.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from nginxopt.config import Config, load_text
from nginxopt.rewrite import Emission, Options, emit, plan, prove
from nginxopt.rewrite.kinds.rules.differential import differential
from nginxopt.rewrite.kinds.rules.reading import Phase
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from nginxopt.system.nginx import Instance
from tests.nginx.sides import LIMIT, limited
from tests.support import PATIENCE

SEEDS = int(os.environ.get("NGINXOPT_SEEDS", "8"))
REQUESTS = int(os.environ.get("NGINXOPT_REQUESTS", "500"))
PHASES: tuple[Phase, ...] = ("server", "location")


def keys(emission: Emission) -> Iterator[bytes]:
    """The keys of the maps, and URIs that the rules which stay match."""
    for part in emission.plan.rules.parts:
        for run in part.runs:
            yield from run.native.sample
            yield from run.native.witnesses(50)


def compiled(config: Config, options: Options | None = None) -> Emission:
    """The emission for a configuration, proved."""
    emission = emit(plan(config, options))
    proof = prove(emission)
    assert proof.holds, (proof.refutation, proof.counterexample)
    assert bool(emission.changes) == bool(emission.plan.rules.moved)
    return emission


def check(
    binary: nginx.Binary,
    text: bytes,
    phase: Phase,
    uris: Iterable[bytes],
    tally: Counter[str],
    *,
    gives_up: bytes = b"",
) -> Emission:
    """Compile a fragment in a phase, prove it, and ask nginx about it; `gives_up` is a pattern for `limited`."""
    emission = compiled(load_text(text, context=phase))
    before, after = text, emission.after(emission.plan.config.main)
    if gives_up:
        before, after = limited(before, gives_up), limited(after, gives_up)
        assert before.count(LIMIT) == after.count(LIMIT) == 1
    comparison = differential(
        before=before,
        after=after,
        maps=emission.maps,
        phase=phase,
        keys=[*uris, *keys(emission)],
        binary=binary,
        limit=REQUESTS,
        seconds=PATIENCE,
    )
    assert [str(mismatch) for mismatch in comparison.mismatches] == []
    assert comparison.warnings == ()
    assert comparison.requests > 0
    tally.update(
        {
            f"requests ({phase})": comparison.requests,
            "mismatches": comparison.mismatched,
            "rules": emission.plan.rules.total,
            "rules moved": emission.plan.rules.moved,
        }
    )
    return emission


def answers(side: Instance, requests: Sequence[RequestBytes], server: int = 0) -> list[bytes]:
    """The responses of one side, without what differs between any two runs."""
    with side.client(server) as client:
        return [
            re.sub(rb"\r\nDate: [^\r]*", b"", answer, count=1).replace(b"%d" % side.ports[server], b"<port>")
            for answer in client.ask(requests)
        ]


def different(before: Instance, after: Instance, requests: Sequence[RequestBytes], server: int = 0) -> list[bytes]:
    """The requests to which two sides respond differently."""
    both = zip(requests, answers(before, requests, server), answers(after, requests, server), strict=True)
    return [request.data for request, was, is_now in both if was != is_now]
