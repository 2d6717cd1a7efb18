"""Placeholders: names that another program replaces by a value before nginx reads the file.

This is the one place that says what a placeholder is. `nginxopt.config.templates` reads each as a value that is not
known, so no rule takes one for the value of a directive, and commands other than `lint` refuse a file that has one
(`nginxopt.config.templating`).

`${name}` is none: nginx has a variable in braces if all that stands between them is `[A-Za-z0-9_]`
(`ngx_http_script_variable` in ngx_http_script.c takes nothing else), and refuses `${name:-x}` and `${a.b}` wherever
it evaluates variables.
"""

from __future__ import annotations

AT = rb"@[A-Z][A-Z0-9_]*@"
"""Of Autoconf, CMake and Meson."""

PERCENT = rb"%%[A-Za-z][A-Za-z0-9_]*%%"

BRACES = rb"""\$\{[A-Za-z_][A-Za-z0-9_]*[^A-Za-z0-9_{}\s;"'\\][^{}\n;"'\\]*\}"""
"""A name in braces with what no variable of nginx has: `${X:-off}`, `${X-off}` (shells), `${a.b}` (Maven, Gradle)."""

UNDERSCORES = rb"__[A-Z](?:[A-Z0-9]|_(?!_))*__"
"""`__NAME__`, as in packages of YunoHost. nginx may have it in a name or a path, so only `lint` takes it for one."""

CERTAIN = (AT, PERCENT, BRACES)
"""The patterns of the placeholders that are certainly no values of nginx."""
