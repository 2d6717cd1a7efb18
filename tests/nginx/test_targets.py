"""Targets that are the guard of a map, on a real nginx: spellings, newlines, empty URIs and internal redirects."""

from __future__ import annotations

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import emit, plan, prove
from nginxopt.system import nginx
from tests.nginx.raw import answers, get

pytestmark = pytest.mark.nginx

RULES = b"""rewrite ^/old$ /new permanent;
rewrite ^/a/b/?$ /to?x=1 permanent;
rewrite ^/fall$ /fallen?x=2 permanent;
rewrite ^/dir/index[.]html$ /found permanent;
rewrite ^/\xc3\xa9$ /0 permanent;
"""
AROUND = """
%s
error_page 404 /fall;
location /missing { return 404; }
location /empty { try_files /nothing $arg_to; }
location /dir/ { index index.html nowhere.html /fall; root /nonexistent; }
location / { add_header X-Captured "[$1]"; return 200 "$uri$is_args$args"; }
"""
PATHS = ("/old", "/a/b", "/a/b/", "/fall", "/dir/index.html", "/dir/", "/missing", "/%C3%A9", "/%25C3%25A9", "/", "/x")
SPELLINGS = (str.lower, str.upper, str.title)
ENDS = ("", "%0A", "%0A%0A", "?", "?y=2", "%0A?y=2", "x", "%00", "/")


def test_targets_as_guards(each_binary: nginx.Binary) -> None:
    """What a request gets is the same with the rules and with the targets that guard themselves."""
    emission = emit(plan(load_text(RULES, context="server")))
    compiled = emission.after(emission.plan.config.main).decode()
    assert "[^A-Z]" in compiled
    assert prove(emission).holds
    paths = [spell(path) + end for path in PATHS for spell in SPELLINGS for end in ENDS]
    paths += [f"/empty?to={to}" for to in ("", "/old", "/OLD", "/old%0A", "0", "old")]
    requests = [
        get(path, method=method, host=host)
        for path in paths
        for method in ("GET", "POST")
        for host in ("a.test", "%41")
    ]
    (before,), (after,) = (
        answers([AROUND % rules], requests, http=http, binary=each_binary)
        for rules, http in ((RULES.decode(), ""), (compiled, emission.http.decode()))
    )
    assert before == after
    assert 20 < sum(b" 301 " in answer[:20] for answer in before) < len(before)
