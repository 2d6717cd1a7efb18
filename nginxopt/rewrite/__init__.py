"""From thousands of rewrites to maps that nginx looks up, with the proof that no response changes.

    config = nginxopt.load("rules.conf")
    compiled = plan(config)          which rules a map can answer, and why the others stay
    emission = emit(compiled)        the maps, and the files with the rules gone
    proof = prove(emission)

`plan` and `emit` write nothing; `prove` reads the emitted text again, from nothing.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.rewrite.emission import Emission, emit
    from nginxopt.rewrite.options import Options, Readings
    from nginxopt.rewrite.planning import Plan, plan
    from nginxopt.rewrite.proof import Proof, prove

__all__ = ["Emission", "Options", "Plan", "Proof", "Readings", "emit", "plan", "prove"]

__getattr__ = attributes(
    __name__,
    {
        "emission": ("Emission", "emit"),
        "options": ("Options", "Readings"),
        "planning": ("Plan", "plan"),
        "proof": ("Proof", "prove"),
    },
)
