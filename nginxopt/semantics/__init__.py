"""Interprets the directives of a configuration as nginx does.

Input is a `Config`; output is what its directives mean: blocks with the settings that they inherit (`Level`), listening
addresses, locations, upstreams and the `*_pass` directives that use them, parsed values, and hash table sizes.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.semantics import commands, directives, locations, maphash, plain, refusals, subjects, values
    from nginxopt.semantics.addresses import Address, read_addresses
    from nginxopt.semantics.defaults import PIVOT, default
    from nginxopt.semantics.inherit import FRAGMENT, Level, Setting, levels
    from nginxopt.semantics.listens import BACKLOG, Endpoint, Listen, endpoints, read_listens, sockets
    from nginxopt.semantics.maps import MANY_REGEXES, BulkRegexMap, regex_maps
    from nginxopt.semantics.tables import MIXED_VALUES, VOLATILE, is_mixed
    from nginxopt.semantics.upstreams import PROTOCOLS, Pass, Upstream, read_pass

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
    "Upstream",
    "commands",
    "default",
    "directives",
    "endpoints",
    "is_mixed",
    "levels",
    "locations",
    "maphash",
    "plain",
    "read_addresses",
    "read_listens",
    "read_pass",
    "refusals",
    "regex_maps",
    "sockets",
    "subjects",
    "values",
]

__getattr__ = attributes(
    __name__,
    {
        "addresses": ("Address", "read_addresses"),
        "defaults": ("PIVOT", "default"),
        "inherit": ("FRAGMENT", "Level", "Setting", "levels"),
        "listens": ("BACKLOG", "Endpoint", "Listen", "endpoints", "read_listens", "sockets"),
        "maps": ("MANY_REGEXES", "BulkRegexMap", "regex_maps"),
        "tables": ("MIXED_VALUES", "VOLATILE", "is_mixed"),
        "upstreams": ("PROTOCOLS", "Pass", "Upstream", "read_pass"),
    },
)
