"""From thousands of rewrites to maps that nginx looks up, with the proof that no response changes.

    config = nginxopt.load("rules.conf")
    compiled = plan(config)          which rules a map can answer, and why the others stay
    emission = emit(compiled)        the maps, and the files with the rules gone
    proof = prove(compiled, emission)

`plan` and `emit` write nothing; `prove` reads the emitted text again, from nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nginxopt.rewrite.emission import Emission, emit
    from nginxopt.rewrite.options import Options, Readings
    from nginxopt.rewrite.planning import Plan, plan
    from nginxopt.rewrite.proof import Proof, prove

__all__ = ["Emission", "Options", "Plan", "Proof", "Readings", "emit", "plan", "prove"]

_LAZY = {
    "Emission": "emission",
    "emit": "emission",
    "Options": "options",
    "Readings": "options",
    "Plan": "planning",
    "plan": "planning",
    "Proof": "proof",
    "prove": "proof",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
