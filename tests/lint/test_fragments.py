"""Fragments: what is judged of a file that a block of another protocol includes, and which names fragments use."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.check import Judge, check
from nginxopt.lint.run import Selected
from nginxopt.settings.file import Settings
from nginxopt.version import Version
from tests.lintcheck import TARGET, diagnose


def found(texts: dict[str, str], target: Version = TARGET) -> set[tuple[str, str]]:
    """The rules that speak without a machine, with the files that they speak about."""
    rules = tuple(Selected(rule, None) for rule in catalogue().values() if rule.host is False and rule.default)
    configs = [load_text(text.encode(), name, missing_ok=True) for name, text in texts.items()]
    return {(each.rule, each.path) for each in check(configs, Judge(rules, target, Settings())).diagnostics}


@pytest.mark.parametrize(
    "text",
    [
        "upstream a { server 10.0.0.1:443; } server { listen 443; proxy_pass a; proxy_timeout 5m; }",
        "server { listen 993 ssl; protocol imap; auth_http 127.0.0.1:80/a; ssl_certificate a; ssl_certificate_key b; }",
    ],
    ids=["stream", "mail"],
)
def test_a_fragment_of_another_protocol_is_not_judged_as_http(text: str) -> None:
    """Rules about http, such as those for pools of connections and HTTP/2, have nothing to say."""
    assert found({"a.conf": text}) == set()


def test_a_zone_that_a_fragment_beside_names_is_in_use() -> None:
    """A site that no link enables may be in use where this is installed; another main file has zones of its own."""
    main = "events {} http { gzip on; limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s; server { listen 80; } }"
    site = "server { listen 81; limit_req zone=a burst=5; }"
    finding = ("zone-unused", "nginx.conf")
    assert finding in found({"nginx.conf": main})
    other = {"nginx.conf": main, "other.conf": main.replace("listen 80;", "limit_req zone=a;")}
    assert finding in found(other)
    assert finding in found({"nginx.conf": main, "site": site.replace("zone=a", "zone=b")})
    assert finding not in found({"nginx.conf": main, "site": site})


def test_a_dump_beside_its_files_has_the_same_findings() -> None:
    """One cause is one finding, with both places: `nginx -T` adds a line end to each file."""
    text = "events {}\nhttp {\n    gzip on;\n    gzip_comp_level 9;\n    server { listen 80; }\n}\n"
    rules = (Selected(catalogue()["gzip-level"], None),)
    configs = [load_text(part.encode(), name) for name, part in (("nginx.conf", text), ("copy.conf", f"{text}\n"))]
    checked = check(configs, Judge(rules, TARGET, Settings()))
    assert [each.path for each in checked.diagnostics] == ["nginx.conf", "copy.conf"]
    assert {each.tree for each in checked.diagnostics} == {"nginx.conf"}


def test_a_file_of_another_kind_is_not_the_one_that_a_fragment_includes(tmp_path: Path) -> None:
    """Of a main configuration, it is what nginx reads; a file with one directive that may stand there is meant."""
    (tmp_path / "proxy.conf").write_text("upstream a { server 127.0.0.1:1; }")
    site = "server { listen 80; location / { include proxy.conf; } }"

    def of(name: str, text: str) -> set[str]:
        config = load_text(text.encode(), str(tmp_path / name))
        rules = (Selected(catalogue()["misplaced-directive"], None),)
        return {Path(each.path).name for each in check([config], Judge(rules, TARGET, Settings())).diagnostics}

    assert of("site.conf", site) == set()
    assert of("nginx.conf", f"events {{}} http {{ {site} }}") == {"proxy.conf"}
    (tmp_path / "proxy.conf").write_text("upstream a { server 127.0.0.1:1; } proxy_pass http://a;")
    assert of("site.conf", site) == {"proxy.conf"}


def test_a_line_that_was_swallowed_is_told_once() -> None:
    """In a fragment, too, what nginx refuses is not also a line that it accepts."""
    spoken = {
        rule for rule, _ in found({"a.conf": "server_tokens off;\nssl_dhparam a.pem\n  ssl_protocols TLSv1.2 TLSv1.3;"})
    }
    assert "wrong-arguments" in spoken
    assert "swallowed-line" not in spoken


@pytest.mark.parametrize(
    ("server", "cause"),
    [
        (
            "access_log /a.log combined\nroot /srv;",
            'if "root" is a directive of its own, a semicolon is missing before it',
        ),
        ("access_log /a.log combined root /srv;", ""),
        ("listen 443 http3;", "write `quic`: only previews of nginx 1.25.0 had http3"),
        ("listen 443 spdy;", "write `http2`, which replaced it in nginx 1.9.5"),
        ("listen 443 spdi;", ""),
    ],
)
def test_a_refusal_says_its_likely_cause(server: str, cause: str) -> None:
    """A directive that begins a line, and parameters that have another name now."""
    (one,) = diagnose("refused", f"server {{ {server} }}", context="http")
    assert one.finding.help == cause


def test_a_file_that_repeats_the_upstreams_of_another_is_one_finding() -> None:
    """Two variants of a file in one folder have one cause, however many blocks they share."""
    blocks = "".join(f"upstream {name} {{ server 127.0.0.1:1; }}\n" for name in "abc")
    rules = (Selected(catalogue()["refused"], None),)
    config = load_text(f"events {{}} http {{ {blocks}{blocks} server {{ listen 80; }} }}".encode(), "nginx.conf")
    assert len({each.cause for each in check([config], Judge(rules, TARGET, Settings())).diagnostics}) == 1
