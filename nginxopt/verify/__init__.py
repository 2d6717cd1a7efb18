"""Decides whether two configurations answer every request alike: `verify`.

Both are lowered to sites. Servers are paired by the addresses and hosts that they answer (`hosts`), and become programs
(`program`), which run on all requests at once (`explore`). Where they may differ, requests are tried on the model of
both (`asking`), and of a real nginx (`confirming`), so that a difference has a witness; what is left is in doubt.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.verify.comparing import verify
    from nginxopt.verify.confirming import confirm
    from nginxopt.verify.part import Part
    from nginxopt.verify.verdict import Confirmation, Doubt, RequestWitness, Verdict, Verification

__all__ = ["Confirmation", "Doubt", "Part", "RequestWitness", "Verdict", "Verification", "confirm", "verify"]

__getattr__ = attributes(
    __name__,
    {
        "comparing": ("verify",),
        "confirming": ("confirm",),
        "part": ("Part",),
        "verdict": ("Confirmation", "Doubt", "Verdict", "Verification", "RequestWitness"),
    },
)
