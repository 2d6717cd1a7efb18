"""`nginxopt bench compare` of sites with TLS: what nginx is asked, as its log has it, and what is said of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from nginxopt.bench import compare, run_folder
from nginxopt.bench.isolation import ServerCertificate
from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.runner.local import Local
from nginxopt.bench.scenario import Experiment, OpenLoop
from nginxopt.bench.site import Generator
from nginxopt.config import load_text
from nginxopt.errors import RunError
from nginxopt.system import exchange
from nginxopt.text import Source
from tests.nginx.benching import GENERATORS, SECONDS, needs_valgrind, needs_vegeta, run
from tests.support import PATIENCE, the_nginx

pytestmark = [
    pytest.mark.nginx,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl: install it for these tests"),
]

SITE = """\
events {}
http {
    log_format seen '$ssl_server_name $http_host $scheme $server_protocol $server_name $request_uri $status';
    access_log /var/log/nginx/access.log seen;
    ssl_session_cache shared:S:1m;
%s}
"""
REDIRECT = "    server { listen 80; server_name shop.test; return 301 https://$host$request_uri; }\n"
REJECTS = "    server { listen 443 ssl http2 default_server; ssl_reject_handshake on; }\n"
SHOP = """\
    server { listen 443 ssl http2; listen [::]:443 ssl http2; server_name shop.test;
        ssl_certificate /etc/gone/$ssl_server_name.pem; ssl_certificate_key /etc/gone/$ssl_server_name.key;
        location / { return 200 ok; } location /old { return 301 /new; } }
"""
BLOG = """\
    server { listen 8443 ssl; server_name ~^(?<who>\\w+)\\.blog\\.test$; ssl_certificate blog.pem;
        ssl_certificate_key blog.key; ssl_client_certificate gone.pem; ssl_verify_client optional; return 200 $who; }
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> ServerCertificate:
    """A certificate."""
    pem, key = exchange.certificate(tmp_path_factory.mktemp("own"))
    return ServerCertificate(Path(pem).read_bytes(), Path(key).read_bytes())


@pytest.fixture(params=GENERATORS)
def generator(request: pytest.FixtureRequest) -> Generator:
    """Each load generator that is on PATH."""
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param} on PATH: install it for these tests")
    return GENERATORS[request.param]()


def made(
    own: ServerCertificate, targets: str, before: str, after: str | None = None, *, seconds: float = 0.2
) -> Experiment:
    """The comparison of two sites under a short load."""
    sites = (SITE % text for text in (before, before if after is None else after))
    old, new = (load_text(text.encode(), f"{name}.conf") for text, name in zip(sites, ("a", "b"), strict=True))
    requests = compare.targets(Source("t", targets.encode()))
    return compare.build(old, new, requests, certificate=own).with_loads(lambda _: OpenLoop(50, seconds))


def seen(folder: Path, variant: str) -> Counter[str]:
    """What nginx logged, without what differs between requests of a probe and of the load."""
    return Counter((folder / "nginx" / variant / "edge" / "access.log").read_text().splitlines())


def test_a_site_with_a_redirect_is_measured_over_tls(
    generator: Generator, own: ServerCertificate, tmp_path: Path
) -> None:
    """Name, Host and scheme reach nginx, whatever the order of listens; Locations with private ports are equal."""
    after = SHOP.replace("listen 443 ssl http2; listen [::]:443 ssl http2", "listen [::]:443 ssl; listen 443 ssl")
    experiment = made(
        own, "/\n/old", REDIRECT + REJECTS + SHOP, after + REJECTS + REDIRECT, seconds=SECONDS[generator.name]
    )
    result = run(experiment, generator, tmp_path)
    assert {status for sample in result.samples for status in sample.outcome.statuses} == {"200", "301"}
    protocol = "HTTP/2.0" if generator.name == "vegeta" else "HTTP/1.1"
    for variant in ("before", "after"):
        for path, status in (("/", 200), ("/old", 301)):
            line = f"shop.test shop.test https {protocol} shop.test {path} {status}"
            assert seen(tmp_path, variant)[line] > 3, seen(tmp_path, variant)
        assert all(line.startswith("shop.test shop.test https") for line in seen(tmp_path, variant))


def test_several_sites(generator: Generator, own: ServerCertificate, tmp_path: Path) -> None:
    """Each scheme, host and port is a case of its own, with its own name in the handshake."""
    targets = "https://shop.test/\nhttp://shop.test/x\nhttps://me.blog.test:8443/\n"
    result = run(
        made(own, targets, REDIRECT + REJECTS + SHOP + BLOG, seconds=SECONDS[generator.name]), generator, tmp_path
    )
    cases = {sample.case: set(sample.outcome.statuses) for sample in result.samples if sample.variant == "before"}
    assert cases == {"https://shop.test": {"200"}, "http://shop.test": {"301"}, "https://me.blog.test:8443": {"200"}}
    lines = {" ".join(line.split(" ")[:3]) for line in seen(tmp_path, "after")}
    assert lines == {"shop.test shop.test https", "- shop.test http", "me.blog.test me.blog.test:8443 https"}


@needs_vegeta
def test_without_a_name(own: ServerCertificate, tmp_path: Path) -> None:
    """A server without a name is asked by its address, without a name in the handshake."""
    nameless = SHOP.replace("server_name shop.test;", "").replace("$ssl_server_name.", "a.")
    run(made(own, "/", REDIRECT.replace("server_name shop.test;", "") + nameless), Vegeta(), tmp_path)
    assert all(line.startswith("- 127.0.0.1:") and " https " in line for line in seen(tmp_path, "before"))


def test_a_handshake_that_fails(own: ServerCertificate, tmp_path: Path) -> None:
    """The error of a probe gives the reason, and that the certificate is RSA."""
    only = SHOP.replace(
        "location /old", "ssl_protocols TLSv1.2; ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256; location /old"
    )
    experiment = made(own, "/", only)
    with pytest.raises(RunError, match=r"the TLS handshake for shop\.test fails: .*handshake failure") as error:
        run(experiment, Vegeta(), tmp_path)
    assert "RSA" in (error.value.hint or "")


@needs_valgrind
def test_instructions_over_tls(own: ServerCertificate, tmp_path: Path) -> None:
    """Instructions of a request are counted over TLS, and do not contain the handshake."""
    experiment = replace(made(own, "https://shop.test/\nhttp://shop.test/", REDIRECT + SHOP), metric="instructions")
    attacks = tuple(attack for attack in experiment.attacks if attack.variant == "before")
    result = run(replace(experiment, attacks=attacks), Vegeta(), tmp_path)
    counts = {sample.case: sample.instructions or 0 for sample in result.samples}
    assert counts["http://shop.test"] < counts["https://shop.test"] < 5 * counts["http://shop.test"]
    again = [attack for attack in attacks if attack.case == "https://shop.test"]
    second = run(replace(experiment, attacks=(again[0],)), Vegeta(), tmp_path).samples[0].instructions
    assert second == pytest.approx(counts["https://shop.test"], rel=0.002)


@needs_vegeta
def test_a_folder_over_tls(own: ServerCertificate, tmp_path: Path) -> None:
    """The script of a folder sends the same load, with the certificate that lies there."""
    experiment = made(own, "/\nhttp://shop.test/", REDIRECT + REJECTS + SHOP)
    run_folder.write(tmp_path, run_folder.files(experiment, Vegeta(), 1))
    done = subprocess.run([tmp_path / "run"], capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"100.00%") == 4
    assert b"https://shop.test at *:443" in (tmp_path / "README.md").read_bytes()
    assert seen(tmp_path, "before")["shop.test shop.test https HTTP/2.0 shop.test / 200"]


@needs_vegeta
def test_the_result_names_what_was_measured(tmp_path: Path) -> None:
    """JSON and table name scheme, host, address and paths; a target that fits nothing ends with status 2."""
    (tmp_path / "a.conf").write_text(SITE % (REDIRECT + SHOP))
    (tmp_path / "targets").write_text("/old\n")
    bench = [sys.executable, "-m", "nginxopt", "bench"]
    options = ["--targets", "targets", "--runner", "local", "--load", "vegeta", "--rounds", "1", "--duration", "0.2"]
    command = [*bench, "compare", "a.conf", "a.conf", *options, "--rate", "50", "--nginx", the_nginx().path]

    def ran(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)

    done = ran(*command, "--format", "json", "--output", "r.json")
    assert done.returncode == 0, done.stderr
    attack = json.loads((tmp_path / "r.json").read_text())["attacks"][0]
    assert attack["case"] == "https://shop.test"
    assert attack["targets"] == ["GET /old"]
    assert attack["measured"] == {
        "scheme": "https",
        "host": "shop.test",
        "address": "*:443",
        "http2": True,
        "server": "a.conf:7",
    }
    shown = ran(*bench, "report", "r.json", "--format", "table").stdout
    assert "before: measured is https://shop.test at *:443 (TLS, offers HTTP/2; a.conf:7): GET /old." in shown
    early = ran(*command, "--gate", "p50<=1.05x")
    assert early.returncode == 2
    assert "a ratio is no fact before 5 rounds" in early.stderr
    (tmp_path / "targets").write_text("https://shop.test:444/\n")
    refused = ran(*command)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "before: no server listens for https://shop.test:444" in refused.stderr
    assert "*:443 (TLS) (a.conf:7)" in refused.stderr


def test_the_binary_decides_what_http2_is(own: ServerCertificate, tmp_path: Path) -> None:
    """The isolated configuration starts with all settings of TLS that the original has."""
    experiment = made(own, "/", REDIRECT + REJECTS + SHOP + BLOG)
    with Local(the_nginx(), alone=True).deploy(experiment, tmp_path):
        text = (tmp_path / "nginx" / "before" / "edge" / "nginx.conf").read_text()
    assert "ssl http2; server_name shop.test" in text
    assert "ssl_session_cache shared:S:1m;" in text
