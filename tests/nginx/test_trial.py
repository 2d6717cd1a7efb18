"""A changed configuration is tried by `nginx -t` as it would be on the disk, and nothing of that is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import Config, load
from nginxopt.config.filesystem import Overlay
from nginxopt.system.nginx import Verdict, trial
from tests.support import the_nginx

pytestmark = pytest.mark.nginx

MAIN = (
    "pid {outside}/nginx.pid;\nerror_log {log};\nevents {}\nhttp {\n    access_log off;\n    include sites/*.conf;\n}\n"
)


@pytest.fixture(params=["stderr", "{outside}/error.log"], ids=["stderr", "error.log"])
def site(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration with two included files, one of which includes another, by a relative name.

    `nginx -t` writes its files outside. Their relative paths start from the folder that nginx was built with, which may
    be the current one.
    """
    monkeypatch.chdir(tmp_path)
    site = tmp_path / "site"
    (site / "sites").mkdir(parents=True)
    (site / "nginx.conf").write_text(MAIN.replace("{log}", request.param).replace("{outside}", str(tmp_path)))
    (site / "sites" / "a.conf").write_text("server {\n    listen 127.0.0.1:1;\n    include common;\n}\n")
    (site / "sites" / "b.conf").write_text("map $uri $b {\n    default 0;\n}\n")
    (site / "common").write_text("root html;\n")
    return site


def tried(site: Path, texts: dict[str, str]) -> Verdict:
    """What nginx says of the site with some texts changed."""
    overlay = Overlay({str(site / name): text.encode() for name, text in texts.items()})
    config = load(site / "nginx.conf", files=overlay)
    return trial.test_changed(config, [str(site / name) for name in texts], the_nginx())


def plain(site: Path) -> Config:
    """The site as it is on the disk."""
    return load(site / "nginx.conf")


def test_what_is_on_the_disk_is_tried(site: Path) -> None:
    """A configuration that nginx accepts is accepted, one that it refuses is refused with the reason."""
    assert trial.test(plain(site), the_nginx()).ok
    (site / "common").write_text("roott html;\n")
    refused = trial.test(plain(site), the_nginx())
    assert not refused.ok
    assert f'unknown directive "roott" in {site}/common:1' in str(refused)


@pytest.mark.parametrize("name", ["common", "sites/a.conf", "sites/b.conf", "nginx.conf"])
def test_a_change_is_seen_wherever_it_is(site: Path, name: str) -> None:
    """A fault in a changed file, however deep it is included, is told with the name of that file."""
    text = (site / name).read_text()
    before = sorted(site.rglob("*"))
    assert tried(site, {name: f"{text}# a comment\n"}).ok
    refused = tried(site, {name: f"nonsense on;\n{text}"})
    assert not refused.ok
    assert f'unknown directive "nonsense" in {site}/{name}:1' in str(refused)
    assert sorted(site.rglob("*")) == before


def test_worse_is_another_reason(site: Path) -> None:
    """What was refused before may stay refused for the same reason, wherever that stands now, and for no other."""
    good, bad = trial.test(plain(site), the_nginx()), tried(site, {"common": "\n\nfirst on;"})
    moved, other = tried(site, {"common": "first on;"}), tried(site, {"common": "second on;"})
    assert bad.is_worse_than(good)
    assert not good.is_worse_than(bad)
    assert not moved.is_worse_than(bad)
    assert other.is_worse_than(bad)


def test_new_warnings_are_told(site: Path) -> None:
    """A warning that a change brings is told, one that was there is not."""
    twice = "server { listen 127.0.0.1:1; server_name x; } server { listen 127.0.0.1:1; server_name x; }"
    before = trial.test(plain(site), the_nginx())
    after = tried(site, {"sites/b.conf": twice})
    assert after.ok
    assert [warning.partition(" in ")[0] for warning in after.new_warnings(before)] == [
        'conflicting server name "x" on 127.0.0.1:1, ignored'
    ]
    assert after.new_warnings(after) == []
