"""What the compiler makes of rules, in the parts that a configuration of nginx is put together from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nginxopt.config import load_text
from nginxopt.rewrite import emit, plan
from nginxopt.rewrite.emission import Emission

_WHOLE = b"events {}\nhttp {\n    server {\n%s    }\n}\n"


@dataclass(frozen=True, slots=True)
class Parts:
    """What stands in the http block, and what in the server."""

    http: bytes
    server: bytes


def fragment(rules: Iterable[bytes]) -> Parts:
    """Return rules compiled as a file of their own: `$1` to `$9`, which may be read after it, are kept as they were."""
    emission = _emission(b"".join(rules), "rules.conf", "server")
    return Parts(emission.maps, emission.after(emission.plan.config.main))


def whole(rules: Iterable[bytes]) -> Parts:
    """Return rules compiled as part of a whole configuration, in which nobody reads `$1` to `$9` after them."""
    emission = _emission(_WHOLE % b"".join(rules), "nginx.conf", None)
    after = load_text(emission.after(emission.plan.config.main), "nginx.conf", includes=False)
    server = next(directive for directive, _ in after.outline() if directive.name == "server")
    assert server.block is not None
    inside = server.block.span
    return Parts(emission.maps, after.main.source.data[inside.start + 1 : inside.end - 1])


def _emission(text: bytes, name: str, context: str | None) -> Emission:
    return emit(plan(load_text(text, name, context=context, includes=False)))
