"""Compares the responses of a chain of `if`s and of its lookup on a real nginx, for many values of their variable.

Each of the two runs in a server. Requests set the variable; if they cannot, a variable of a header replaces it in both
texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from nginxopt.rewrite.comparison import Differential, Limits
from nginxopt.rewrite.kinds.chains import planning
from nginxopt.rewrite.kinds.chains.planning import PlannedChain
from nginxopt.rewrite.kinds.maps.differential import MapsSide, compare_sides, examples, sender, variants, with_source
from nginxopt.rewrite.mapfile import sizes_text
from nginxopt.system.nginx import Binary
from nginxopt.text import encode

if TYPE_CHECKING:
    from nginxopt.rewrite.proving import Emission

_OTHERWISE = b'\nlocation / { return 200 "$uri$is_args$args, and %s is set"; }'
"""The response if no condition ends the script: the new URI and the variable that the conditions set."""


def questions(emission: Emission) -> Iterator[Callable[[Binary, Limits], Differential]]:
    """Yield the comparison of each chain with its lookup."""
    needed = sizes_text(emission.sizes)
    return (partial(_asked, compiled, needed) for compiled in emission.plan.chains.compiled)


def _asked(compiled: PlannedChain, needed: bytes, binary: Binary, limits: Limits) -> Differential:
    return differential(compiled, sizes=needed, binary=binary, limits=limits)


def differential(compiled: PlannedChain, *, sizes: bytes, binary: Binary, limits: Limits) -> Differential:
    """Return the differences between the responses of a chain and of its lookup.

    `sizes` are the directives for hash tables. Raises `InputError` if nginx refuses the chain.
    """
    conditions = compiled.chain.conditions
    send, source = sender(conditions[0].variable)
    variable, path = encode(conditions[0].variable), compiled.chain.file.path
    data = compiled.chain.file.source.data
    spans = [condition.directive.span for condition in conditions]
    before = b"\n".join(data[span.start : span.end].replace(variable, source, 1) for span in spans)
    after = encode("\n".join(planning.statements(compiled)))
    maps = sizes + with_source(planning.maps(compiled), variable, source)
    known = (
        [encode(condition.value)] if condition.operator == "=" else examples(encode(condition.value))
        for condition in conditions
    )
    values = variants([b"", *chain.from_iterable(known), *(key for keys in compiled.keys for key in keys)])
    otherwise = _OTHERWISE % encode(conditions[0].assigned or "nothing")
    sides = MapsSide(b"", before + otherwise), MapsSide(maps, after + otherwise)
    return compare_sides(*sides, map(send, values), path, binary, limits)
