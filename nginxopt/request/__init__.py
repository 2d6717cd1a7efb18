"""Asks the model of requests what becomes of one request, of many, and of tables of expectations.

Input is a `LoweredSite` of `nginxopt.semantics` and requests: URLs, lists, access logs, tables. Output is what the
model says of each: an outcome with its steps, rules and locations by use, or rows that are not answered as expected.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.request.client import Request, from_curl, read_request
    from nginxopt.request.connection import Gate, NobodyListensError, RequestForm
    from nginxopt.request.urls import Url, UrlError, read_url

__all__ = [
    "Gate",
    "NobodyListensError",
    "Request",
    "RequestForm",
    "Url",
    "UrlError",
    "from_curl",
    "read_request",
    "read_url",
]

__getattr__ = attributes(
    __name__,
    {
        "client": ("Request", "from_curl", "read_request"),
        "connection": ("Gate", "NobodyListensError", "RequestForm"),
        "urls": ("Url", "UrlError", "read_url"),
    },
)
