"""Random maps with regular expressions, and configurations around them."""

from __future__ import annotations

from hypothesis import strategies as st

SOURCES = ["$uri", "$request_uri", "$http_user_agent", "$args", "$scheme$host$uri", "$host"]

_SEGMENTS = st.sampled_from(["a", "b", "archive", "docs", "Docs", "v1.2", "index", "p-1"])
_PATHS = st.lists(_SEGMENTS, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
_NUMBERED = st.tuples(_PATHS, st.integers(0, 99)).map(lambda pair: f"{pair[0]}/n{pair[1]}")


def _escaped(path: str) -> str:
    return path.replace(".", "\\.")


@st.composite
def _rows(draw: st.DrawFn) -> str:
    """One row: its pattern and its value."""
    path = draw(st.one_of(_PATHS, _NUMBERED, _NUMBERED))
    literal = _escaped(path) if draw(st.booleans()) else path
    ends = ["$", ".*$", "", "/?$", "(/.*)?$", "/(.*)$", "/([^/]+)$", "[0-9]+$", "/(x|y)$", "\\.html$"]
    begin, end = draw(st.sampled_from(["^", "^", "^", "^", "^", "^", ""])), draw(st.sampled_from(ends))
    sign = draw(st.sampled_from(["~", "~", "~", "~", "~*"]))
    value = draw(st.sampled_from(["/new", "/to/x", "1", "", "/c/$1" if "(" in end else "/d", "https://$host/z"]))
    return f'"{sign}{begin}{literal}{end}" "{value}";'


@st.composite
def maps(draw: st.DrawFn, most: int = 60) -> str:
    """A map block: rows, perhaps plain keys, a default, and `volatile`."""
    source = draw(st.sampled_from(SOURCES))
    rows = draw(st.lists(_rows(), min_size=1, max_size=most))
    plain_keys = {path.lower() for path in draw(st.lists(_PATHS, max_size=2))}
    rows += [f'"{key}" "plain";' for key in sorted(plain_keys)]
    rows += draw(st.sampled_from([[], ["default none;"], ["default /d; volatile;"], ['default "";']]))
    order = draw(st.permutations(rows)) if len(rows) < 20 else rows
    return f"map {source} $new {{\n" + "".join(f"    {row}\n" for row in order) + "}\n"
