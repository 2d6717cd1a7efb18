"""Chains of redirects: how many URLs are asked about, and when the model is asked at all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from nginxopt.lint import Model as Checked
from nginxopt.request import chains as module
from nginxopt.request.chains import chains
from nginxopt.request.model import SiteModel
from nginxopt.request.redirects import RedirectChain
from nginxopt.semantics.site import Build
from tests.lintcheck import TARGET, read
from tests.support import PATIENCE, ROOT

pytestmark = pytest.mark.no_cover

BUILD = Build(TARGET)


def of(text: str, context: str = "server") -> list[RedirectChain]:
    """The chains of a text."""
    return list(chains(read(text, context), BUILD))


class Counting:
    """A model that counts the URLs that it is asked about."""

    def __init__(self, native: Any, asked: list[bytes]) -> None:
        self._native = native
        self._asked = asked

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)

    def of_targets(self, request: str, targets: Sequence[bytes], world: str) -> Any:
        """As the model."""
        self._asked += targets
        return self._native.of_targets(request, targets, world)


def test_each_url_is_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work for redirects that all follow each other grows with their number, not its square."""
    asked: list[bytes] = []

    class Counted(SiteModel):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.native = Counting(self.native, asked)  # type: ignore[assignment]

    monkeypatch.setattr(module, "SiteModel", Counted)
    count = 3_000
    text = "".join(f"rewrite ^/{number}$ /{number + 1} permanent;\n" for number in range(count))
    found = of(text)
    assert len(found) == count - 1
    assert {len(chain.redirects) for chain in found[:-20]} == {module.MOST_REDIRECTS}
    assert len(asked) <= count + 2  # and the end of the chain, and which server it is


@pytest.mark.parametrize(
    "text",
    ["return 200;", "return 301 https://$host$request_uri;", "rewrite ^/a$ /b break;", "listen 443 ssl; return 301 http://a.b/;"],
)  # fmt: skip
def test_the_model_is_asked_only_where_redirects_may_follow_each_other(text: str) -> None:
    """Without two redirects, or one that may lead to itself, the modules of the model are not even imported."""
    code = (
        "import sys; from tests.lintcheck import diagnose\n"
        f"assert not diagnose('redirect-loop', {text!r}, context='server')\n"
        "loaded = 'nginxopt.request.model' in sys.modules\n"
        "assert not loaded\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "text",
    ["rewrite ^/a/?$ /a/ permanent;", "listen 443 ssl; ssl_certificate a; ssl_certificate_key a; return 301 https://a.b$uri;",
     "return 301 http://a.b$uri;",
     "location / { rewrite ^ /b last; }"],
)  # fmt: skip
def test_a_single_redirect_may_lead_to_itself(text: str) -> None:
    """Such a redirect is followed."""
    assert Checked(read(f"server_name a.b; {text}", "server"), TARGET).chains


def test_urls_are_shown_where_a_chain_goes_over_several_sites() -> None:
    """A path is enough if all URLs are of one site."""
    text = """
        server { server_name a.b; location = /x { return 301 http://c.d:8080/y; } }
        server { listen 8080; server_name c.d; location = /y { return 301 /z?a#b; } }
    """
    (chain,) = of(text, "http")
    assert [(redirect.uri, redirect.target) for redirect in chain.redirects] == [
        ("http://a.b/x", "http://c.d:8080/y"),
        ("http://c.d:8080/y", "http://c.d:8080/z"),
    ]
    assert chain.is_constant
    assert not chain.is_loop


def test_a_client_stays_at_its_address() -> None:
    """Of servers with one name at several addresses, a redirect to the same host and port leads to the same one."""
    text = """
        server { listen 127.0.0.1:80; server_name a.b; rewrite ^/a$ /b permanent; rewrite ^/b$ /c permanent; }
        server { listen 127.0.0.2:80; server_name a.b; rewrite ^/a$ /b permanent; }
        server { listen 127.0.0.3:80; }
        server { listen 127.0.0.3:80; server_name a.b; rewrite ^/a$ http://a.b:81/b permanent; }
        server { listen 127.0.0.3:81; server_name a.b; rewrite ^/b$ /c permanent; }
        server { listen 127.0.0.4:81; server_name a.b; rewrite ^/b$ /d permanent; }
    """
    assert [chain.redirects[-1].target for chain in of(text, "http")] == ["/c", "http://a.b:81/c"]


def test_nobody_is_asked_about_a_name_that_no_server_has() -> None:
    """Clients that leave the site, or whose target is no URL, are not followed."""
    text = "server {{ server_name a.b; return 301 {}; }} server {{ server_name c.d; return 301 /x; }}"
    for target in ("http://e.f/", "http://c.d:81/", "https://c.d/", "http://[c.d/", "//c.d/", "ftp://c.d/", "x"):
        assert not [chain for chain in of(text.format(target), "http") if not chain.is_loop], target


def test_servers_that_no_client_reaches_have_no_chains() -> None:
    """Neither over a socket file, nor by a name that is only a pattern."""
    rules = "rewrite ^/a$ /b permanent; rewrite ^/b$ /c permanent;"
    assert not of(f"listen unix:/run/x.sock; {rules}")
    assert not of(f"server {{ }} server {{ server_name ~^x; {rules} }}", "http")
    assert of(f"server_name ~^x; {rules}")
