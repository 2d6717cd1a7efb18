"""Versions of nginx: parsed, compared and printed."""

from __future__ import annotations

import pytest

from nginxopt.errors import UsageError
from nginxopt.system.nginx import Binary
from nginxopt.version import Version, dotted


def test_a_binary_is_shown_by_name_and_version() -> None:
    """A tuple is never shown, and relatives of nginx with four numbers show them all."""
    assert str(Binary("/usr/sbin/nginx", (1, 22, 1))) == "nginx 1.22.1"
    assert str(Binary("/opt/nginx", (1, 21, 4, 1), "openresty")) == "openresty 1.21.4.1"
    assert dotted((1, 22, 1)) == str(Version(1, 22, 1)) == "1.22.1"


@pytest.mark.parametrize(
    ("numbers", "version"), [((1, 22), "1.22.0"), ((1, 22, 1), "1.22.1"), ((1, 21, 4, 1), "1.21.4")]
)
def test_a_version_of_numbers(numbers: tuple[int, ...], version: str) -> None:
    """Three numbers make a version; those left out are 0."""
    assert Version.of(numbers) == Version.parse(version)


def test_what_is_no_version() -> None:
    """Text that names no version is refused with an example."""
    with pytest.raises(UsageError):
        Version.parse("stable")
