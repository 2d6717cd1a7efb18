"""Lowers a configuration to what the model of requests reads.

Input is a `Config` and the nginx that runs it; output is a `LoweredSite`: a `SiteForm` as JSON, the texts of its folded
runs, and the directives, levels and servers by number.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.semantics.site.levels import Premise
    from nginxopt.semantics.site.lowering import FIXES, PREFIX, Build, LoweredSite, lower
    from nginxopt.semantics.site.nodes import Nodes, Place

__all__ = ["FIXES", "PREFIX", "Build", "LoweredSite", "Nodes", "Place", "Premise", "lower"]

__getattr__ = attributes(
    __name__,
    {
        "levels": ("Premise",),
        "lowering": ("FIXES", "PREFIX", "Build", "LoweredSite", "lower"),
        "nodes": ("Nodes", "Place"),
    },
)
