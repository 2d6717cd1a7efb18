"""What a row of a `map` or `geo` block may have, release by release."""

from __future__ import annotations

import re

from nginxopt import lazy
from nginxopt.version import Version

MIXED_VALUES = Version(1, 11, 0)
"""The first release in which a value of a map may mix text and variables. Earlier ones take a value that begins with
`$` as a variable with all of the text as its name, and any other value as plain text (`ngx_http_map`)."""

VOLATILE = {"map": Version(1, 11, 7), "geo": Version(1, 29, 3)}
"""The first release in which a block may be `volatile`."""

_ONE_VARIABLE = lazy.pattern(r"\$[A-Za-z_]\w*", re.ASCII)
_VARIABLE = lazy.pattern(r"\$[\w{]", re.ASCII)


def is_mixed(value: str) -> bool:
    """Return whether the value of a map has a variable, and is more than its name."""
    return _VARIABLE.search(value) is not None and not _ONE_VARIABLE.fullmatch(value)
