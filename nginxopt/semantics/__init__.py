"""Interprets the directives of a configuration as nginx does.

Input is a `Config`; output is what its directives mean: blocks with the settings that they inherit (`Level`), listening
addresses, locations, upstreams and the `*_pass` directives that use them, parsed values, hash table sizes, and what
nginx refuses or warns of.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.semantics import commands, cost, maphash, refusals, subjects, values
    from nginxopt.semantics.inherit import FRAGMENT, PIVOT, Level, Setting, default, levels
    from nginxopt.semantics.maps import MANY_REGEXES, BulkRegexMap, regex_maps
    from nginxopt.semantics.tables import MIXED_VALUES, VOLATILE, is_mixed
    from nginxopt.semantics.upstreams import PROTOCOLS, Pass, Upstream, read_pass
    from nginxopt.semantics.values import (
        BACKLOG,
        Address,
        Endpoint,
        Listen,
        endpoints,
        read_addresses,
        read_listens,
        sockets,
    )
    from nginxopt.semantics.warned import StartWarning, WarningKind, start_warnings

__all__ = [
    "BACKLOG",
    "FRAGMENT",
    "MANY_REGEXES",
    "MIXED_VALUES",
    "PIVOT",
    "PROTOCOLS",
    "VOLATILE",
    "Address",
    "BulkRegexMap",
    "Endpoint",
    "Level",
    "Listen",
    "Pass",
    "Setting",
    "StartWarning",
    "Upstream",
    "WarningKind",
    "commands",
    "cost",
    "default",
    "endpoints",
    "is_mixed",
    "levels",
    "maphash",
    "read_addresses",
    "read_listens",
    "read_pass",
    "refusals",
    "regex_maps",
    "sockets",
    "start_warnings",
    "subjects",
    "values",
]

__getattr__ = attributes(
    __name__,
    {
        "inherit": ("FRAGMENT", "PIVOT", "Level", "Setting", "default", "levels"),
        "maps": ("MANY_REGEXES", "BulkRegexMap", "regex_maps"),
        "tables": ("MIXED_VALUES", "VOLATILE", "is_mixed"),
        "upstreams": ("PROTOCOLS", "Pass", "Upstream", "read_pass"),
        "values": (
            *("BACKLOG", "Address", "Endpoint", "Listen"),
            *("endpoints", "read_addresses", "read_listens", "sockets"),
        ),
        "warned": ("StartWarning", "WarningKind", "start_warnings"),
    },
)
