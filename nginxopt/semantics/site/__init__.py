"""Converts a configuration to the input of the request model (`rust/src/request`), which simulates nginx.

Input is a `Config` and the nginx version that runs it; output is a `LoweredSite`: a `SiteForm` as JSON, the texts of
folded runs of rewrites, and the numbers by which the model refers to directives, levels and servers.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.semantics.site.levels import DirectivePlace, Nodes, SiteAssumption
    from nginxopt.semantics.site.lowering import FIXES, PREFIX, Build, LoweredSite, lower

__all__ = ["FIXES", "PREFIX", "Build", "DirectivePlace", "LoweredSite", "Nodes", "SiteAssumption", "lower"]

__getattr__ = attributes(
    __name__,
    {
        "levels": ("DirectivePlace", "Nodes", "SiteAssumption"),
        "lowering": ("FIXES", "PREFIX", "Build", "LoweredSite", "lower"),
    },
)
