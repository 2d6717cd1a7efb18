"""Targets that are the guard of a map, on a real nginx: spellings, newlines, empty URIs and internal redirects."""

from __future__ import annotations

import re
from pathlib import Path

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


ROOT = """root %s;
location = /404.html { return 404 "page [$uri]"; }
location = /page.html { return 200 "page [$uri]"; }
"""
KEPT_RULES = "rewrite ^/old$ /new permanent;\nrewrite ^/a/b/?$ /to?x=1 permanent;\n"
CASED_RULES = """rewrite ^/Old$ /new permanent;
rewrite ^/a/b$ /to permanent;
rewrite ^/Cased/$ /cased last;
rewrite ^/c$ /c2 last;
"""
KEPT = {
    "pages": CASED_RULES + "error_page 403 404 /page.html;\nlocation / { try_files $uri $uri/ =404; }\n",
    "files": CASED_RULES + "location / { try_files $uri /404.html?y; }\n",
    "folders": KEPT_RULES + "location / { index other.html Index.html; }\n",
    "named": CASED_RULES + 'error_page 404 @page;\nlocation @page { return 200 "named [$uri]"; }\n',
    "spellings": "rewrite (?i)^/old$ /new permanent;\nrewrite (?i)^/o$ /n permanent;\nerror_page 404 /page.html;\n",
}
NOT_KEPT = {
    "a page that is a key": "rewrite ^/old$ /new permanent;\nerror_page 404 /old?x=1;\n",
    "a page of a spelling": KEPT_RULES + "error_page 404 /page.html;\n",
    "files that are a key": CASED_RULES + "location / { try_files $uri /a/b?x; }\n",
    "an index that is a key": CASED_RULES + "rewrite ^/dir/index[.]html$ /index permanent;\n",
    "a URI that goes on": "rewrite ^/x(.*)$ $1;\nset $y 1;\n" + KEPT_RULES + "error_page 404 /x/old;\n",
    "a URI that has changed": KEPT_RULES + "location /OLD { rewrite ^ /dir/ last; }\n",
    "a file that was tried": KEPT_RULES + "location /OLD { try_files /dir// =404; }\n",
    "the page of a redirect": "rewrite (?i)^/old$ /new permanent;\nerror_page 301 =200 /page.html;\n",
    "a target that goes on": "rewrite (?i)^/old$ /new last;\nerror_page 404 /page.html;\n",
    "the response of another": KEPT_RULES
    + "location / { proxy_pass http://127.0.0.1:$server_port/accel/$uri; }\nlocation /accel { add_header "
    + "X-Accel-Redirect /page.html; return 200; }\n",
}
SPELLED = [spell(path) for path in ("/old", "/a/b", "/a/b/", "/cased/") for spell in SPELLINGS]
ASKED = [
    path + end
    for path in (*SPELLED, "/", "/x", "/xold", "/x/old", "/dir/", "/dir", "/Dir/", "/missing", "/new")
    for end in ("", "%0A", "?y=2", "/")
]


@pytest.mark.parametrize("name", [*KEPT, *NOT_KEPT])
def test_targets_that_are_kept(name: str, a_binary: nginx.Binary, tmp_path: Path) -> None:
    """Targets stay for the request where that changes no response, and only there: elsewhere, one would change."""
    for folder in ("dir", "a/b"):
        (tmp_path / folder).mkdir(parents=True)
        for index in ("index.html", "Index.html"):
            (tmp_path / folder / index).write_text(f"{folder} {index}")
    tmp_path.chmod(0o755)
    server = (KEPT | NOT_KEPT)[name] + ROOT % tmp_path
    config = load_text(f"events {{}}\nhttp {{\nserver {{\n{server}}}\n}}\n".encode())
    emission = emit(plan(config))
    assert prove(emission).holds
    is_volatile = re.search(rb"_to(?:_2)? \{\n    volatile", emission.maps) is not None
    assert is_volatile == (name in NOT_KEPT)
    after = emission.after(config.main).decode().partition("server {\n")[2].rpartition("}\n}\n")[0]
    requests = [get(path) for path in ASKED]
    (before,) = answers([server], requests, binary=a_binary)
    (compiled,) = answers([after], requests, http=emission.http.decode(), binary=a_binary)
    assert before == compiled
    if name in NOT_KEPT:
        kept = emission.http.replace(b"    volatile;\n", b"")
        (faulty,) = answers([after], requests, http=kept.decode(), binary=a_binary)
        assert before != faulty
