"""The named groups of all patterns of a site, and other definitions of variables with these names.

A pattern with a named group takes over the variable of that name, wherever the pattern is: nginx replaces the lookup of
a `map`, of `$args`, or of a variable such as `$arg_x` by one that finds nothing (`ngx_http_regex_compile`). The
variable then has a value only after the pattern has matched, or a script has set it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nginxopt.semantics.site.form import SiteForm, StatementForm
from nginxopt.verify.patterns import group_names
from nginxopt.verify.symbols import ARGS, LIMIT_RATE

_PREFIXES = (
    "arg_",
    "http_",
    "cookie_",
    "sent_http_",
    "sent_trailer_",
    "upstream_http_",
    "upstream_cookie_",
    "upstream_t",
)


def statement_words(statement: StatementForm) -> Sequence[str]:
    """Return the words of a statement that may contain patterns."""
    match statement["kind"]:
        case "if":
            return statement["condition"]
        case "rewrite":
            return [statement["pattern"]]
    return []


def named_groups(form: SiteForm, script: Iterable[StatementForm]) -> Iterator[tuple[str, int]]:
    """Yield the names of the groups of all patterns, with the nodes of their directives. `script` is of all blocks."""
    for server in form["servers"]:
        for name in server["names"]:
            yield from _of(name["text"], server["node"])
    for level in form["levels"]:
        if level["kind"] == "location":
            yield from _of(" ".join(level["args"]), level["node"])
    for statement in script:
        for word in statement_words(statement):
            yield from _of(word, statement["node"])
    for variable in form["variables"]:
        for row in variable["rows"] if variable["kind"] == "map" else ():
            yield from _of(row["args"][0] if row["args"][0].startswith("~") else "", variable["node"])


def _of(text: str, node: int) -> Iterator[tuple[str, int]]:
    return ((name, node) for name in group_names(text.encode("latin-1")))


def is_own(name: str) -> bool:
    """Return whether a name that a group may have is that of a variable of nginx itself."""
    return name in (ARGS, LIMIT_RATE) or name.startswith(_PREFIXES)
