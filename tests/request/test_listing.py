"""The output of `find` as what exists."""

from __future__ import annotations

import pytest

from nginxopt.errors import InputError
from nginxopt.request.listing import Listing, read
from nginxopt.text import Source
from tests.rows import every_row


@every_row(
    ("text", "existing", "folders", "marks"),
    [
        (b"/srv\n/srv/a\n/srv/d\n/srv/d/b\n", ("/srv/", "/srv/a", "/srv/d/", "/srv/d/b"), ("/srv",), False),
        (b"/srv/\n/srv/e/\n", ("/srv/", "/srv/e/"), ("/srv",), True),
        (b"/srv/a.html\n/srv/d/b.html\n", ("/srv/a.html", "/srv/d/b.html"), (), False),
        (b"/a\n/a/x\r\n\n/b\n/b/y", ("/a/", "/a/x", "/b/", "/b/y"), ("/a", "/b"), False),
        (b"/\n/a\n", ("/", "/a"), ("",), False),
        (b"/srv/\n/srv/a\n", ("/srv/", "/srv/a"), ("/srv",), False),
    ],
)
def test_a_listing(text: bytes, existing: tuple[str, ...], folders: tuple[str, ...], marks: bool) -> None:
    """What has something below it is a folder; a folder that is listed itself has no more than is listed."""
    assert read(Source("files", text)) == Listing(existing, folders, marks)


def test_a_relative_path() -> None:
    """`find .` does not say where the files are."""
    with pytest.raises(InputError, match="not an absolute path"):
        read(Source("files", b"/srv\n./a\n"))
