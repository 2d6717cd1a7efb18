"""Checks a configuration with rules.

Input is a `Config`; output is diagnostics with their fixes, and reports. `check` runs everything. Rules import their
declaration (`rule`), the configuration that they judge (`Model`) and what they yield (`Finding`) from this package, and
what they ask about a configuration from `nginxopt.lint.queries`.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.lazy import pattern
    from nginxopt.lint.declare import Check, Page, Rule, rule
    from nginxopt.lint.diagnostic import Diagnostic, Finding, Fix, Reach, Related, Safety, Saving, Sign, Witness
    from nginxopt.lint.queries.model import Model
    from nginxopt.lint.queries.requests import FOREIGN, AskedRequest, ModelAnswer
    from nginxopt.records import record
    from nginxopt.request.redirects import REDIRECTS, RedirectChain
    from nginxopt.rewrite.kinds.chains.planning import PlannedChain
    from nginxopt.rewrite.kinds.rules.planning import Dead, Duplicate, PlannedRun, RulesOfFile
    from nginxopt.rewrite.kinds.rules.reading import transparent
    from nginxopt.rewrite.requests import shown
    from nginxopt.rewrite.suspicious import without_captures
    from nginxopt.semantics.refusals.setters import pattern_error
    from nginxopt.settings.vocabulary import (
        ENOUGH_DESCRIPTORS,
        FAST_DISK,
        HTTP11_BACKENDS,
        IDLE_CONNECTIONS,
        LOCAL_FILES,
        NO_CIPHER_REMOVAL,
        NO_CLIENT_REVOCATION,
        PCRE_LIBRARY,
        PLAIN_COMMAND_LINE,
        RAISES_THE_LIMIT,
        SESSIONS_BY_NAME,
        SEVERAL_WORKERS,
        WHOLE_CONFIGURATION,
        Premise,
        Severity,
    )
    from nginxopt.system.host import Host
    from nginxopt.text.display import count
    from nginxopt.version import Version

__all__ = [
    "ENOUGH_DESCRIPTORS",
    "FAST_DISK",
    "FOREIGN",
    "HTTP11_BACKENDS",
    "IDLE_CONNECTIONS",
    "LOCAL_FILES",
    "NO_CIPHER_REMOVAL",
    "NO_CLIENT_REVOCATION",
    "PCRE_LIBRARY",
    "PLAIN_COMMAND_LINE",
    "RAISES_THE_LIMIT",
    "REDIRECTS",
    "SESSIONS_BY_NAME",
    "SEVERAL_WORKERS",
    "WHOLE_CONFIGURATION",
    "AskedRequest",
    "Check",
    "Dead",
    "Diagnostic",
    "Duplicate",
    "Finding",
    "Fix",
    "Host",
    "Model",
    "ModelAnswer",
    "Page",
    "PlannedChain",
    "PlannedRun",
    "Premise",
    "Reach",
    "RedirectChain",
    "Related",
    "Rule",
    "RulesOfFile",
    "Safety",
    "Saving",
    "Severity",
    "Sign",
    "Version",
    "Witness",
    "count",
    "pattern",
    "pattern_error",
    "record",
    "rule",
    "shown",
    "transparent",
    "without_captures",
]

__getattr__ = attributes(
    __name__,
    {
        "declare": ("Check", "Page", "Rule", "rule"),
        "diagnostic": ("Diagnostic", "Finding", "Fix", "Reach", "Related", "Safety", "Saving", "Sign", "Witness"),
        "nginxopt.lazy": ("pattern",),
        "nginxopt.records": ("record",),
        "nginxopt.lint.queries.model": ("Model",),
        "nginxopt.settings.vocabulary": (
            "HTTP11_BACKENDS",
            "IDLE_CONNECTIONS",
            "WHOLE_CONFIGURATION",
            "NO_CIPHER_REMOVAL",
            "NO_CLIENT_REVOCATION",
            "SESSIONS_BY_NAME",
            "FAST_DISK",
            "PCRE_LIBRARY",
            "LOCAL_FILES",
            "PLAIN_COMMAND_LINE",
            "ENOUGH_DESCRIPTORS",
            "RAISES_THE_LIMIT",
            "SEVERAL_WORKERS",
            "Premise",
            "Severity",
        ),
        "nginxopt.lint.queries.requests": ("FOREIGN", "ModelAnswer", "AskedRequest"),
        "nginxopt.request.redirects": (
            "REDIRECTS",
            "RedirectChain",
        ),
        "nginxopt.semantics.refusals.setters": ("pattern_error",),
        "nginxopt.rewrite.suspicious": ("without_captures",),
        "nginxopt.rewrite.kinds.chains.planning": ("PlannedChain",),
        "nginxopt.rewrite.kinds.rules.planning": (
            "Dead",
            "Duplicate",
            "PlannedRun",
            "RulesOfFile",
        ),
        "nginxopt.rewrite.kinds.rules.reading": ("transparent",),
        "nginxopt.rewrite.requests": ("shown",),
        "nginxopt.system.host": ("Host",),
        "nginxopt.text.display": ("count",),
        "nginxopt.version": ("Version",),
    },
)
