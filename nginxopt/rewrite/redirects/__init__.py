"""Follows requests from redirect to redirect: runs the scripts of a server and its locations on real URIs.

In: the servers of a configuration (`sites`). Out: the chains of redirects of each (`RedirectSite.chains`).

nginx runs the script of the server, chooses a location, runs its script, and after a `last` there chooses again
(`ngx_http_core_rewrite_phase`, `ngx_http_core_post_rewrite_phase`). A chain ends at anything that the text does not
determine: a variable, a condition that may differ between requests, an include that was not read, another site.
"""

from nginxopt.rewrite.redirects.chain import REDIRECTS, Redirect, RedirectChain
from nginxopt.rewrite.redirects.site import RedirectSite, sites

__all__ = ["REDIRECTS", "Redirect", "RedirectChain", "RedirectSite", "sites"]
