"""Compiles rewrites to maps, which nginx looks up instead of trying rules in sequence, and proves the result.

    config = nginxopt.load("rules.conf")
    planned = plan(config)           which rules a map can replace, and why the others stay
    emission = emit(planned)         the text of the maps, and the files without the replaced rules
    proof = prove(emission)          whether every request is answered as before

Nothing here writes a file. `prove` does not trust `plan` and `emit`: it parses the emitted text again. `kinds` has the
lists that are compiled (rules, maps with regular expressions, chains of `if`s, regex locations); `tables` compiles
tables of redirects.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.rewrite.compilation import Plan, plan
    from nginxopt.rewrite.kinds.kind import Options, Readings
    from nginxopt.rewrite.proving import Emission, Proof, emit, prove

__all__ = ["Emission", "Options", "Plan", "Proof", "Readings", "emit", "plan", "prove"]

__getattr__ = attributes(
    __name__,
    {
        "nginxopt.rewrite.kinds.kind": ("Options", "Readings"),
        "compilation": ("Plan", "plan"),
        "proving": ("Emission", "Proof", "emit", "prove"),
    },
)
