"""Compiles rewrites to maps, which nginx looks up instead of trying rules in sequence, and proves the result.

    config = nginxopt.load("rules.conf")
    compiled = plan(config)          which rules a map can replace, and why the others stay
    emission = emit(compiled)        the text of the maps, and the files without the replaced rules
    proof = prove(emission)          whether every request is answered as before

Nothing here writes a file. `prove` does not trust `plan` and `emit`: it parses the emitted text again. `chains`, `maps`
and `locations` do the same for `if`s, maps with regular expressions and regex locations; `tables` compiles tables of
redirects.
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
