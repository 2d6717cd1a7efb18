"""What settings select rules and findings by, besides the ids of rules: categories and severities."""

from __future__ import annotations

from enum import Enum
from functools import total_ordering

CATEGORIES = {
    "refused": "what nginx refuses: it does not start",
    "proxy": "upstreams and proxied requests",
    "cache": "cached responses",
    "rewrite": "rewrites, redirects, locations, conditions and maps",
    "process": "workers, connections, descriptors, the machine",
    "log": "access and error logs",
    "static": "static files",
    "client": "client connections and compression",
    "tls": "TLS and HTTP/2",
    "config": "errors, ignored directives and suppressions",
    "security": "what clients can reach, read or inject, and protections without effect",
    "correctness": "directives, locations and servers that do not do what they seem to",
    "hardening": "defense in depth, off by default",
}
"""The categories of rules, each with its subject."""


@total_ordering
class Severity(Enum):
    """The severity of a finding; `ERROR` is the highest."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    def __lt__(self, other: Severity) -> bool:
        return _GRADES[self] < _GRADES[other]

    def __str__(self) -> str:
        return self.value


_GRADES = {severity: grade for grade, severity in enumerate(Severity)}
