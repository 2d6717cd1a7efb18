"""Simulates requests: finds out how nginx answers a URL, a list of requests, or an access log.

Input is a `LoweredSite` of `nginxopt.semantics` and requests: URLs, lists, access logs, or tables of expectations. The
native request model (`rust/src/request`) simulates nginx. Output is an outcome with its steps for each request, the
rules and locations by use, or the rows of a table that are not answered as expected.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.request.client import (
        ClientGate,
        NobodyListensError,
        Request,
        RequestForm,
        Url,
        UrlError,
        from_curl,
        read_request,
        read_url,
    )

__all__ = [
    "ClientGate",
    "NobodyListensError",
    "Request",
    "RequestForm",
    "Url",
    "UrlError",
    "from_curl",
    "read_request",
    "read_url",
]

__getattr__ = attributes(__name__, {"client": __all__})
