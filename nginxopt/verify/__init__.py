"""Decides whether two configurations answer every request alike: `verify`.

This is a symbolic executor for the part of nginx that chooses an answer. Both configurations are lowered to sites, and
their servers are paired by the addresses and hosts that they answer (`hosts`). Each server becomes a program
(`program`). Both programs of a pair run on all requests at once (`explore`): a value that depends on the request stays
a term (`symbols`), and each test of the request divides the requests into regions. Where the ends of both differ, a
request of the region is tried on the models of both sides (`witnesses`). If these answer it differently, it is the
witness, which a real nginx may confirm (`confirming`); otherwise the place is in doubt. docs/design/verify.md says why
the verdict is right.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.verify.comparing import verify
    from nginxopt.verify.confirming import confirm
    from nginxopt.verify.hosts import Part
    from nginxopt.verify.verdict import Confirmation, Doubt, RequestWitness, Verdict, Verification

__all__ = ["Confirmation", "Doubt", "Part", "RequestWitness", "Verdict", "Verification", "confirm", "verify"]

__getattr__ = attributes(
    __name__,
    {
        "comparing": ("verify",),
        "confirming": ("confirm",),
        "hosts": ("Part",),
        "verdict": ("Confirmation", "Doubt", "Verdict", "Verification", "RequestWitness"),
    },
)
