"""The names of hosts in paths."""

from __future__ import annotations

import pytest

from nginxopt.errors import UsageError
from nginxopt.fleet.hosts import default_name, named_by
from tests.rows import every_row


@every_row(
    ("pattern", "path", "host"),
    [
        ("{host}/nginx.conf", "a/web1/nginx.conf", "web1"),
        ("{host}/nginx.conf", "web1/nginx.conf", "web1"),
        ("{host}/nginx.conf", "web1/conf.d/nginx.conf.d", None),
        ("{host}/etc/*/nginx.conf", "x/web1/etc/nginx/nginx.conf", "web1"),
        ("{host}/**/nginx.conf", "web1/a/b/nginx.conf", "web1"),
        ("{host}.txt", "dumps/web1.example.com.txt", "web1.example.com"),
        ("web?/{host}", "web1/x", "x"),
        (r"(?P<host>web\d+)-[a-z]+\.txt$", "dumps/web12-prod.txt", "web12"),
        (r"(?P<host>web\d+)", "dumps/db1.txt", None),
    ],
)
def test_the_host_is_where_the_pattern_says(pattern: str, path: str, host: str | None) -> None:
    """A pattern is compared with the end of a path, part by part; a regex is searched."""
    assert named_by(pattern)(path) == host


@pytest.mark.parametrize("pattern", ["nginx.conf", "{host}/{host}", "(?P<host>", ""])
def test_a_pattern_that_names_no_host_is_refused(pattern: str) -> None:
    """Without one place for the host, or as a broken regex, a pattern is a usage error."""
    with pytest.raises(UsageError, match="--host-from"):
        named_by(pattern)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("web1/nginx.conf", "web1"),
        ("dumps/web1.example.com.txt", "web1.example.com"),
        ("dumps/web1.nginx.conf", "web1"),
        ("nginx.conf", "nginx"),
        (".conf", ".conf"),
    ],
)
def test_without_a_pattern_a_host_has_the_name_of_its_file(path: str, name: str) -> None:
    """It is the name of the folder of a nginx.conf, or that of a file without the suffixes of configurations."""
    assert default_name(path) == name
