"""What stands for the rows of a `geo` gives each address the same value."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from nginxopt.semantics.site.form import GeoForm
from nginxopt.verify.canonical import content

_STARTS = (ipaddress.ip_address("127.0.0.0"), ipaddress.ip_address("fd00::"))
_ADDRESSES = [start + behind for start in _STARTS for behind in range(9)]


@st.composite
def _networks(draw: st.DrawFn) -> str:
    """A network of one to eight addresses."""
    start, bits = draw(st.sampled_from(_STARTS)), draw(st.integers(0, 3))
    behind = draw(st.integers(0, 7))
    return str(ipaddress.ip_network(f"{start + behind}/{start.max_prefixlen - bits}", strict=False))


_VALUES = st.sampled_from(["", "a", "b"])
_ROWS = st.dictionaries(_networks() | st.just("default"), _VALUES, max_size=8)


def _form(rows: Mapping[str, str]) -> GeoForm:
    stated = [{"node": 0, "args": [name, value]} for name, value in rows.items()]
    return {"kind": "geo", "node": 0, "source": None, "variable": "$g", "rows": stated}  # type: ignore[typeddict-item]


def _value(rows: Mapping[str, str], address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    """The value of the smallest network with an address (`ngx_radix32tree_find`)."""
    networks = [ipaddress.ip_network(name) for name in rows if name != "default"]
    around = [each for each in networks if address.version == each.version and address in each]
    smallest = max(around, key=lambda each: each.prefixlen, default=None)
    return rows.get("default", "") if smallest is None else rows[str(smallest)]


@given(_ROWS, _ROWS)
def test_equal_contents_give_the_same_values(old: dict[str, str], new: dict[str, str]) -> None:
    """Two tables with one content tell no address apart."""
    if content(_form(old), ()) == content(_form(new), ()):
        assert all(_value(old, address) == _value(new, address) for address in _ADDRESSES)


@given(_ROWS, _networks())
def test_a_row_that_changes_nothing_does_not_count(rows: dict[str, str], name: str) -> None:
    """A network with the value of the one around it may be left out."""
    without = {each: value for each, value in rows.items() if each != name}
    around = ipaddress.ip_network(name)
    networks = [ipaddress.ip_network(each) for each in without if each != "default"]
    wider = [each for each in networks if each.version == around.version and around.subnet_of(each)]  # type: ignore[arg-type]
    outer = max(wider, key=lambda each: each.prefixlen, default=None)
    value = without.get("default", "") if outer is None else without[str(outer)]
    assert content(_form({**without, name: value}), ()) == content(_form(without), ())
