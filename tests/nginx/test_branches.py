"""Answers that depend on files: nginx gives the answer of each branch where the files of that branch exist.

And what a neutral file does to answers: nothing but headers and bodies.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from nginxopt.cli import site
from nginxopt.config import load, load_text
from nginxopt.request import build as builds
from nginxopt.request import read_request
from nginxopt.request.model import BranchForm, SiteModel, World
from nginxopt.request.real import compare_branches
from nginxopt.request.trace import Circumstances, Trace, trace
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes

pytestmark = pytest.mark.nginx

probe = cache(builds.probe)

NEUTRALS = site.UnreadFiles(site.NEUTRAL)

SITE = """events {}
http {
    server {
        listen 80;
        root /w;
        location /plain/ { }
        location /listed/ { autoindex on; }
        location /tried/ { try_files $uri $uri/ /index.php?$args; }
        location /coded/ { try_files $uri =404; error_page 404 /404.html; }
        location /named/ { try_files $uri @app; }
        location /alias/ { alias /v/; }
        location /tested/ { if (!-e $request_filename) { return 302 /lost; } }
        location /folder/ { if (-d $request_filename) { return 403; } return 204; }
        location /paged/ { try_files $uri $uri.html $uri/ =404; error_page 404 /gone.html; }
        location /below/ { try_files $uri/index.html $uri =410; }
        location = /404.html { internal; }
        location @app { return 200 app; }
        location ~ \\.php$ { return 200 $uri?$args; }
    }
}
"""
REQUESTS = [
    *("/plain/a.css", "/plain/", "/listed/", "/tried/a?b=c", "/tried/", "/coded/a", "/named/a", "/alias/a", "/alias/"),
    *("/tested/a", "/tested/", "/folder/a", "/folder/a/", "/below/a", "/paged/a"),
]


def traced(text: str, url: str, binary: nginx.Binary) -> Trace:
    """The trace of a request for an nginx."""
    model = SiteModel(load_text(text.encode()), probe(binary))
    return trace(model, read_request(url), Circumstances(World(), model.gate(), "stated"))


@pytest.mark.parametrize("target", REQUESTS)
def test_each_branch_is_what_nginx_answers(a_binary: nginx.Binary, target: str) -> None:
    """Kind, status, `Location`, body and headers are those that nginx sends with the files of the branch."""
    found = traced(SITE, f"http://h{target}", a_binary)
    assert len(found.branches) > 1
    for branch in found.branches:
        assert branch["outcome"]["kind"] != "unknown"
    comparison = compare_branches(load_text(SITE.encode()), found, World(), a_binary)
    assert (comparison.differences, comparison.reason) == ((), None)


def test_a_wrong_branch_is_found(each_binary: nginx.Binary) -> None:
    """The comparison tells a branch with another status, and names its condition."""
    found = traced(SITE, "http://h/named/a", each_binary)
    wrong: BranchForm = {**found.branches[0], "exists": ["/w/named/b"]}
    told = replace(found, branches=(wrong, found.branches[1]))
    comparison = compare_branches(load_text(SITE.encode()), told, World(), each_binary)
    assert comparison.differences == ("if /w/named/b exists: nginx answers as a return 200, not a static 200",)


SPLITS = """
split_clients $request_id $v { 30% a; 30% b; * c; }
split_clients $request_id $w { 50% d; * e; }
split_clients x$request_id $z { 50% f; }
"""
SPLIT = """
location /v { return 200 $v; }
location /vw { return 200 $v$w; }
location /vz { return 200 $v$z; }
"""


@pytest.mark.parametrize("target", ["/v", "/vw", "/vz"])
def test_chance_gives_what_the_branches_say(each_binary: nginx.Binary, target: str) -> None:
    """Of 400 requests each branch is the answer to some, and nothing else is: the rarest has a share of 10 %."""
    site_text = f"events {{}} http {{ {SPLITS} server {{ listen 80; {SPLIT} }} }}"
    found = traced(site_text, f"http://h{target}", each_binary)
    request = RequestBytes(f"GET {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    with (
        nginx.Instance(each_binary, servers=[SPLIT.encode()], http=SPLITS.encode()) as instance,
        instance.client(0) as client,
    ):
        answers = client.ask([request] * 400)
    bodies = {answer.partition(b"\r\n\r\n")[2].decode() for answer in answers}
    assert bodies == {branch["outcome"]["body"] or "" for branch in found.branches}


NEUTRAL = (
    "add_header X-A b always; expires 1d; gzip on; charset utf-8; keepalive_timeout 3s;"
    " proxy_set_header X-B c; proxy_read_timeout 5s; client_body_buffer_size 1k; server_tokens off; sendfile on;"
    " access_log off; add_trailer X-C d; etag off; default_type text/x;"
)
PARTS = """events {}
http {
    server {
        listen 80; root /w;
        include own.conf;
        location /r { return 301 /x; }
        location /t { return 200 text; }
        location /f { }
        location /p { include own.conf; proxy_pass http://10.0.0.1; }
    }
}
"""


@pytest.mark.parametrize("target", ["/r", "/t", "/f", "/p", "/p/x?y"])
def test_a_neutral_file_changes_no_outcome(a_binary: nginx.Binary, tmp_path: Path, target: str) -> None:
    """With a file full of what a neutral one may have, nginx gives the answer that is known without it."""
    (tmp_path / "nginx.conf").write_text(PARTS)
    standing = site.with_standins(lambda files: load(tmp_path / "nginx.conf", missing_ok=True, files=files), NEUTRALS)
    model = SiteModel(standing.config, probe(a_binary), neutral=standing.neutral)
    found = trace(model, read_request(f"http://h{target}"), Circumstances(World(), model.gate(), "stated"))
    known: BranchForm = {"exists": [], "missing": [], "happens": [], "fails": [], "outcome": found.outcome}
    told = replace(found, branches=found.branches or (known,))
    assert all(branch["outcome"]["unknown"] for branch in told.branches)
    (tmp_path / "own.conf").write_text(NEUTRAL)
    comparison = compare_branches(load(tmp_path / "nginx.conf"), told, World(), a_binary)
    assert [text for text in comparison.differences if "nginx answers" in text] == []
    assert comparison.reason is None
