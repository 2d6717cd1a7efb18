"""Placeholders: names that another program replaces by a value before nginx reads the file.

This is the one place that says what a placeholder is. `nginxopt.config.templates` reads each as a value that is not
known, so no rule takes one for the value of a directive, and commands other than `lint` refuse a file that has one
(`nginxopt.config.templating`).

`${name}` is none: nginx has a variable in braces if all that stands between them is `[A-Za-z0-9_]`, in any case
(`ngx_http_script_compile` in ngx_http_script.c), and refuses `${name:-x}` and `${a.b}` wherever it evaluates variables.
"""

from __future__ import annotations

from nginxopt import lazy
from nginxopt.text import encode

AT = rb"@[A-Z][A-Z0-9_]*@"
"""Of Autoconf, CMake and Meson."""

PERCENT = rb"%%[A-Za-z][A-Za-z0-9_]*%%"

BRACES = rb"""\$\{[A-Za-z_][A-Za-z0-9_]*[^A-Za-z0-9_{}\s;"'\\][^{}\n;"'\\]*\}"""
"""A name in braces with what no variable of nginx has: `${X:-off}`, `${X-off}` (shells), `${a.b}` (Maven, Gradle)."""

UNDERSCORES = rb"__[A-Z](?:[A-Z0-9]|_(?!_))*__"
"""`__NAME__`, as in packages of YunoHost. It may be a part of a name or a path for nginx."""

ENVIRONMENT = rb"\$\{[A-Z][A-Z0-9_]*\}"
"""`${NAME}`, as for envsubst. nginx has such a variable if something sets it: it ignores the case of names."""

PERCENTS = rb"%[a-z]*[g-z_][a-z0-9_]*%"
"""`%name%`, as in templates of HestiaCP. A letter that is no hexadecimal digit tells it from escapes in URLs."""

ANGLES = rb"(?<![?P])<[A-Z][A-Z0-9_]+>"
"""`<NAME>`, as for sed. In a pattern, `(?<NAME>` names a group."""

CERTAIN = (AT, PERCENT, BRACES)
"""The patterns of the placeholders that are certainly no values of nginx."""

LIKELY = (UNDERSCORES, PERCENTS, ENVIRONMENT, ANGLES)
"""Those that nginx may take as they stand. `lint` alone takes them for placeholders, as it can do without a value."""

_ANY = lazy.pattern(b"|".join([*CERTAIN, *LIKELY]))


def has_placeholder(word: str) -> bool:
    """Return whether a word has a placeholder, so that its value is not known."""
    return _ANY.search(encode(word)) is not None
