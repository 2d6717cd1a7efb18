"""The table of directives: what is read from it, and how it is derived from sources."""

from __future__ import annotations

import runpy
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from nginxopt.facts.table import PLACES, declarations, names, turning_points
from nginxopt.version import Version
from tests.rows import every_row

_SCRIPT = Path(__file__).parents[2] / "docs" / "directives.py"
_SOURCE = """
#define NGX_SAMPLE_MANY  (10)
/* { ngx_string("not_this"), */
static ngx_conf_enum_t  ngx_sample_modes[] = {
    { ngx_string("slow"), NGX_SAMPLE_SLOW },
    { ngx_string("fast"), NGX_SAMPLE_FAST },
    { ngx_null_string, 0 }
};
static ngx_command_t  ngx_sample_commands[] = {
    { ngx_string("sample_mode"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_enum_slot, NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_sample_conf_t, mode), &ngx_sample_modes },
    { ngx_string("sample_buffers"), NGX_HTTP_LOC_CONF|NGX_CONF_TAKE2,
      ngx_conf_set_bufs_slot, NGX_HTTP_LOC_CONF_OFFSET, offsetof(ngx_sample_conf_t, bufs), NULL },
    { ngx_string("sample_timeout"), NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot, NGX_HTTP_LOC_CONF_OFFSET, offsetof(ngx_sample_conf_t, timeout), NULL },
%s
      ngx_null_command
};
static char *
ngx_sample_zone(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    if (scf->zone) {
        return "is duplicate";
    }
}

static void
merge()
{
    ngx_conf_merge_uint_value(conf->mode, prev->mode, NGX_SAMPLE_FAST);
    ngx_conf_merge_bufs_value(conf->bufs, prev->bufs, (32 * 1024) / ngx_pagesize, ngx_pagesize);
    ngx_conf_merge_msec_value(conf->timeout, prev->timeout, NGX_SAMPLE_MANY * 1000);
}
"""
_ZONE = """    { ngx_string("sample_zone"), NGX_HTTP_MAIN_CONF|NGX_CONF_BLOCK|NGX_CONF_TAKE12,
      ngx_sample_zone, 0, 0, NULL },
    { ngx_string("sample_add"), NGX_HTTP_SIF_CONF|NGX_CONF_1MORE,
      ngx_sample_add, 0, 0, NULL },"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with two releases, the second of which has more directives."""
    _git(tmp_path, "init", "--quiet")
    _commit(tmp_path, "1.12.0", _SOURCE % "")
    _commit(tmp_path, "1.13.1", _SOURCE % _ZONE)
    return tmp_path


def _commit(checkout: Path, release: str, source: str) -> None:
    for name, text in {"core/nginx.h": f'#define NGINX_VERSION      "{release}"', "http/sample.c": source}.items():
        path = checkout / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    _git(checkout, "add", "--all")
    _git(checkout, "commit", "--quiet", "--message", release)
    _git(checkout, "tag", f"release-{release}")


def _git(checkout: Path, *words: str) -> None:
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(checkout), *identity, *words], check=True)


def _script() -> dict[str, Any]:
    return runpy.run_path(str(_SCRIPT))


def _derived(checkout: Path) -> dict[str, tuple[str, ...]]:
    script = _script()
    lines: Iterable[tuple[str, ...]] = script["table"](script["Sources"](checkout))
    return {line[0]: line[1:] for line in lines}


def test_the_table_is_derived_from_the_sources(checkout: Path) -> None:
    """Places, arguments, values, defaults and repetition are those of the C text, and releases those that have them."""
    zone, timeout = "1,2 {", ("sample", "http/location", "1", "ngx_conf_set_msec_slot", "time", "10s", "", "", "")
    assert _derived(checkout) == {
        "sample_mode": ("sample", "http/location http", "1", "ngx_conf_set_enum_slot", "slow|fast", "fast", "", "", ""),
        "sample_buffers": (
            "sample",
            "http/location",
            "2",
            "ngx_conf_set_bufs_slot",
            "number size",
            "8 4k|4 8k",
            "",
            "",
            "",
        ),
        "sample_timeout": timeout,
        "sample_zone": ("sample", "http", zone, "ngx_sample_zone", "", "", "", "1.13.1", ""),
        "sample_add": ("sample", "http/server/if", "1+", "ngx_sample_add", "", "", "yes", "1.13.1", ""),
    }


def test_what_is_checked_out_is_the_next_release(checkout: Path) -> None:
    """A directive that no tag has is of the version that the sources say."""
    source = (_SOURCE % _ZONE).replace("sample_timeout", "sample_patience")
    (checkout / "src/http/sample.c").write_text(source)
    (checkout / "src/core/nginx.h").write_text('#define NGINX_VERSION      "1.13.2"\n')
    _git(checkout, "commit", "--quiet", "--all", "--message", "next")
    rows = _derived(checkout)
    assert rows["sample_patience"][-2:] == ("1.13.2", "")
    assert rows["sample_timeout"][-2:] == ("", "1.13.2")


def test_a_command_that_cannot_be_read_is_an_error(checkout: Path) -> None:
    """Nothing is left out silently."""
    (checkout / "src/http/sample.c").write_text(_SOURCE % '    { ngx_string("odd"), WHATEVER(1, 2) },')
    _git(checkout, "commit", "--quiet", "--all", "--message", "next")
    _git(checkout, "tag", "release-1.13.2")
    with pytest.raises(ValueError, match="cannot be read"):
        _derived(checkout)


def test_every_row_is_read() -> None:
    """Each declaration has a place, and bounds in their order."""
    columns = _script()["COLUMNS"]
    table = Path(__file__).parents[2] / "nginxopt" / "facts" / "directives.tsv"
    lines = table.read_text().splitlines()
    assert lines[0].split("\t") == list(columns)
    rows = [declaration for name in sorted(names()) for declaration in declarations(name)]
    assert len(rows) == len(lines) - 1
    assert all(row.places for row in rows)
    assert all(row.since < row.until for row in rows if row.since and row.until)
    assert Version(1, 25, 1) in turning_points()


@every_row(
    ("name", "release", "place", "arguments", "default", "is_once"),
    [
        ("keepalive_requests", "1.19.9", "http", "1", "100", True),
        ("keepalive_requests", "1.19.10", "http", "1", "1000", True),
        ("gzip_buffers", "1.28.0", "http/location", "2", "32 4k|16 8k", True),
        ("add_header", "1.28.0", "http/location/if", "2,3", "", False),
        ("proxy_http_version", "1.29.6", "http/server", "1", "1.0", True),
        ("proxy_http_version", "1.29.7", "http/server", "1", "1.1", True),
        ("accept_mutex", "1.28.0", "events", "flag", "off", True),
        ("sendfile_max_chunk", "1.21.4", "http", "1", "2m", True),
        ("ssl_preread", "1.28.0", "stream/server", "flag", "off", True),
    ],
)
def test_known_directives(name: str, release: str, place: str, arguments: str, default: str, is_once: bool) -> None:
    """What nginx's documentation says of some."""
    (declaration,) = (
        row for row in declarations(name) if row.is_in(Version.parse(release)) and row.places & PLACES[place]
    )
    assert (declaration.arguments, declaration.default, declaration.is_once) == (arguments, default, is_once)


@every_row(
    ("name", "compared"),
    [
        ("gzip", "flag"),
        ("ssl_verify_client", "name"),
        ("ssl_protocols", "set"),
        ("client_body_buffer_size", "size"),
        ("client_max_body_size", "offset"),
        ("send_timeout", "milliseconds"),
        ("ssl_session_timeout", "seconds"),
        ("gzip_comp_level", "number"),
        ("auth_basic", "text"),
        ("try_files", "text"),
    ],
)
def test_how_values_compare(name: str, compared: str) -> None:
    """By the setter: `1024k` is `1m` of a size, `OFF` is `off` of a flag, and a realm of `auth_basic`."""
    assert {row.compared for row in declarations(name)} == {compared}


def test_a_name_of_nobody() -> None:
    """Nothing is known of a directive of another program."""
    assert declarations("no_such_directive") == ()
