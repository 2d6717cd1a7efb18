"""What code reads without that a word names it shows on nginx, and `verify` calls no such pair equivalent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from nginxopt.config import load_text
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import Build
from nginxopt.system import nginx
from nginxopt.system.exchange import certificate, exchange
from nginxopt.verify import Verification, verify
from nginxopt.version import Version
from tests.nginx.modules import PERL, loading, require_modules
from tests.nginx.running import running

pytestmark = pytest.mark.nginx

_LUA = ("ndk_http_module", "ngx_http_lua_module")
_NJS = ("ngx_http_js_module",)
_PERL = ("ngx_http_perl_module",)
_XSLT = ("ngx_http_xslt_filter_module",)
_ECHO = ("ngx_http_echo_module",)
_MISC = ("ndk_http_module", "ngx_http_set_misc_module")

_MAP = "map $arg_t $tier { 1 %s; default %s; }"
_TIERS = (_MAP % ("one", "two"), _MAP % ("two", "one"))
_READ = 'ngx.var["ti" .. "er"]'

_FILES = {
    "html/f.html": b'<!--# echo var="tier" -->',
    "html/i.html": b'<!--# include virtual="/i?t=1" -->',
    "html/set.html": b'<!--# include virtual="/p" set="x" --><!--# echo var="x" -->',
    "html/x.xml": b"<a/>",
    "html/big": b"x" * 40_000,
    "say.lua": b"ngx.say(ngx.var.tier)",
    "tier.xslt": b"""<?xml version="1.0"?><xsl:stylesheet version="1.0"
        xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="text"/><xsl:param name="t"/>
        <xsl:template match="/"><xsl:value-of select="$t"/></xsl:template></xsl:stylesheet>""",
    "m.js": b"""function tier(r) { return r.variables["ti" + "er"] }
        function answer(r) { r.return(200, tier(r)) }
        function header(r) { r.headersOut.X = tier(r) }
        function body(r, data, flags) { r.sendBuffer(tier(r) + data, flags) }
        function text(r) { r.return(200, r.requestText ? "has" : "none") }
        export default { tier, answer, header, body }""",
}


class Case(NamedTuple):
    """What reads something, by the modules that it needs.

    Attributes:
        http: The http block around the server; `{}` stands for what differs.
        server: The server, with the same.
        unlike: What differs.
        targets: What is asked for, one after the other.
        body: The length of the body of a request.
    """

    name: str
    modules: Sequence[str]
    server: str
    unlike: tuple[str, str] = _TIERS
    http: str = "{}"
    targets: Sequence[str] = ("/a?t=1",)
    body: int = 0


def _lua(name: str, server: str, **others: object) -> Case:
    return Case(f"Lua: {name}", _LUA, server, **others)  # type: ignore[arg-type] # the fields of a case


CASES = [
    _lua("an answer", "location / { content_by_lua_block { ngx.say(ngx.var.tier) } }"),
    _lua("a computed name", f"location / {{ content_by_lua_block {{ ngx.say({_READ}) }} }}"),
    _lua("a program in a file", "location / { content_by_lua_file say.lua; }"),
    _lua("a header", f"location / {{ return 200 a; header_filter_by_lua_block {{ ngx.header.X = {_READ} }} }}"),
    _lua(
        "a body",
        "location / { return 200 a; header_filter_by_lua_block { ngx.header.content_length = nil }"
        f" body_filter_by_lua_block {{ ngx.arg[1] = {_READ} }} }}",
    ),
    _lua("access", f'location / {{ access_by_lua_block {{ if {_READ} == "one" then ngx.exit(403) end }} }}'),
    _lua(
        "a rewrite",
        f'location = /a {{ rewrite_by_lua_block {{ ngx.exec("/" .. {_READ}) }} }} location /one {{ return 200; }}',
    ),
    _lua("a variable", f"location / {{ set_by_lua_block $x {{ return {_READ} }} return 200 $x; }}"),
    _lua(
        "a subrequest",
        'location / { content_by_lua_block { ngx.print(ngx.location.capture("/i?t=1").body) } }'
        " location /i { internal; return 200 $tier; }",
    ),
    _lua(
        "what was logged",
        "location /a { return 200; log_by_lua_block { ngx.shared.d:set('x', ngx.var.tier) } }"
        " location /b { content_by_lua_block { ngx.say(ngx.shared.d:get('x')) } }",
        http="lua_shared_dict d 1m; {}",
        targets=("/a?t=1", "/b"),
    ),
    _lua(
        "another program that logs",
        "location /a { return 200; log_by_lua_block { ngx.shared.d:set('x', '{}') } }"
        " location /b { content_by_lua_block { ngx.say(ngx.shared.d:get('x')) } }",
        unlike=("1", "2"),
        http="lua_shared_dict d 1m;",
        targets=("/a", "/b"),
    ),
    _lua(
        "the server of an upstream",
        "location / { proxy_pass http://u; }",
        http="{} upstream u { server 0.0.0.1; balancer_by_lua_block {"
        f' local b = require "ngx.balancer"; b.set_current_peer("127.0.0.1", {_READ} == "one" and PORT or 1) }} }}'
        " server { listen 127.0.0.1:PORT; return 200 chosen; }",
    ),
    _lua(
        "the program of an upstream",
        "location / { proxy_pass http://u; }",
        http='upstream u { server 0.0.0.1; balancer_by_lua_block { local b = require "ngx.balancer";'
        ' b.set_current_peer("127.0.0.1", {}) } } server { listen 127.0.0.1:PORT; return 200 chosen; }',
        unlike=("PORT", "1"),
    ),
    _lua(
        "a map with another name",
        "location / { content_by_lua_block { ngx.say(tostring(ngx.var.a)) } }",
        http="map $uri ${} { default x; }",
        unlike=("a", "b"),
    ),
    _lua(
        "a variable that a script sets",
        "location / { set $a {}; content_by_lua_block { ngx.say(ngx.var.a) } }",
        http="",
        unlike=("1", "2"),
    ),
    _lua(
        "a variable that a script calls otherwise",
        "set ${} x; location / { content_by_lua_block { ngx.say(tostring(ngx.var.a)) } }",
        http="",
        unlike=("a", "b"),
    ),
    _lua(
        "the name of the server",
        "server_name {}; location / { content_by_lua_block { ngx.say(ngx.var.server_name) } }",
        http="",
        unlike=("h i", "i h"),
    ),
    _lua(
        "whether the URI was changed",
        "{} location /b { content_by_lua_block { ngx.say(tostring(ngx.req.is_internal())) } }",
        http="",
        unlike=("location /a { rewrite ^ /b last; }", "location /a { content_by_lua_block { ngx.say('false') } }"),
    ),
    _lua(
        "split_clients",
        "location / { content_by_lua_block { ngx.say(ngx.var.tier) } }",
        unlike=("split_clients $host $tier { 100% a; }", "split_clients $host $tier { * b; }"),
    ),
    _lua(
        "geo",
        "location / { content_by_lua_block { ngx.say(ngx.var.tier) } }",
        unlike=("geo $tier { default 1; }", "geo $tier { default 1; 127.0.0.1 2; }"),
    ),
    _lua(
        "where the body of a request is",
        "client_body_buffer_size {}; location / { content_by_lua_block { ngx.req.read_body()"
        " ngx.say(tostring(ngx.req.get_body_data() ~= nil)) } }",
        http="",
        unlike=("1k", "8k"),
        body=3_000,
    ),
    _lua(
        "that it is in a file",
        "client_body_in_file_only {}; location / { content_by_lua_block { ngx.req.read_body()"
        " ngx.say(tostring(ngx.req.get_body_file() ~= nil)) } }",
        http="",
        unlike=("clean", "off"),
        body=30,
    ),
    _lua(
        "that it is read",
        "lua_need_request_body {}; location / { content_by_lua_block { ngx.say(tostring(ngx.req.get_body_data())) } }",
        http="",
        unlike=("on", "off"),
        body=30,
    ),
    _lua(
        "the pieces of a body",
        "output_buffers 1 {}; location / { header_filter_by_lua_block {"
        " ngx.header.content_length = nil } body_filter_by_lua_block { ngx.arg[1] = 'x' } }",
        http="",
        unlike=("4k", "16k"),
        targets=("/big",),
    ),
    _lua(
        "the encoding of a body",
        "gzip {}; gzip_types *; gzip_proxied any; location / { header_filter_by_lua_block {"
        " ngx.header.content_length = nil } body_filter_by_lua_block {"
        " ngx.shared.d:set('x', tostring(ngx.header.content_encoding)) } }"
        " location /b { content_by_lua_block { ngx.say(ngx.shared.d:get('x')) } }",
        http="lua_shared_dict d 1m;",
        unlike=("on", "off"),
        targets=("/big", "/b"),
    ),
    _lua(
        "whether subrequests are logged",
        "log_subrequest {}; location /a { content_by_lua_block { ngx.location.capture('/i') } }"
        " location /i { return 200 a; log_by_lua_block { ngx.shared.d:set('x', 1) } }"
        " location /b { content_by_lua_block { ngx.say(tostring(ngx.shared.d:get('x'))) } }",
        http="lua_shared_dict d 1m;",
        unlike=("on", "off"),
        targets=("/a", "/b"),
    ),
    Case("SSI in a file", (), "ssi on; location / { }", targets=("/f.html?t=1",)),
    Case(
        "SSI in the answer of an upstream",
        (),
        "ssi on; location = /a { proxy_pass http://127.0.0.1:PORT/f.html; }",
        http="{} server { listen 127.0.0.1:PORT; }",
    ),
    Case("SSI in a subrequest", (), "location / { ssi on; } location /i { return 200 $tier; }", targets=("/i.html",)),
    Case(
        "SSI: how large the answer of a subrequest is",
        (),
        "location / { ssi on; } location /p { subrequest_output_buffer_size {}; proxy_pass http://127.0.0.1:PORT; }",
        http="server { listen 127.0.0.1:PORT; return 200 12345678901234567890; }",
        unlike=("10", "10k"),
        targets=("/set.html",),
    ),
    Case("njs: an answer", _NJS, "location / { js_content m.answer; }", http="js_import m.js; {}"),
    Case("njs: a variable", _NJS, "location / { return 200 $x; }", http="js_import m.js; js_set $x m.tier; {}"),
    Case("njs: a header", _NJS, "location / { return 200 a; js_header_filter m.header; }", http="js_import m.js; {}"),
    Case(
        "njs: a body",
        _NJS,
        "location / { return 200 a; js_body_filter m.body; js_header_filter m.header; }",
        http="js_import m.js; {}",
    ),
    Case(
        "Perl: an answer",
        _PERL,
        "location / { perl 'sub { my $r = shift; $r->send_http_header;"
        ' $r->print($r->variable("ti" . "er")); return OK; }\'; }',
    ),
    Case(
        "Perl: a variable",
        _PERL,
        "location / { return 200 $x; }",
        http="perl_set $x 'sub { my $r = shift; return $r->variable(\"tier\"); }'; {}",
    ),
    Case(
        "a parameter of XSLT",
        _XSLT,
        "default_type text/xml; location / { xslt_stylesheet tier.xslt t=\"'$tier'\"; }",
        targets=("/x.xml?t=1",),
    ),
    Case("a variable in the words of echo", _ECHO, "location / { echo $tier; }"),
    Case("a subrequest of echo", _ECHO, "location / { echo_location /i t=1; } location /i { return 200 $tier; }"),
    Case("a directive that nobody knows", _MISC, "location / { set_md5 $x $tier; return 200 $x; }"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_code_reads_shows(case: Case, binary: nginx.Binary) -> None:
    """nginx answers both sides differently, and `verify` says so, or that it does not know."""
    require_modules(binary, *case.modules)
    assert len({tuple(answers(case, which, binary)) for which in (0, 1)}) == 2
    assert verified(case, (0, 1), binary).verdict != "equivalent"
    assert verified(case, (1, 0), binary).verdict != "equivalent"
    assert verified(case, (0, 0), binary).verdict == "equivalent"


@pytest.mark.parametrize(
    ("http", "server"),
    [
        ("init_worker_by_lua_block { ngx.timer.at(0, function() KEEP end) }", ""),
        ("", "ssl_certificate_by_lua_block { KEEP }"),
    ],
)
def test_code_without_a_request_reads_no_variable(http: str, server: str, binary: nginx.Binary, tmp_path: Path) -> None:
    """Timers and handshakes have no variables, whatever is defined."""
    require_modules(binary, *_LUA)
    certificate(tmp_path)
    files = {name: (tmp_path / name).read_bytes() for name in ("cert.pem", "cert.key")}
    keep = 'ngx.shared.d:set("x", tostring(select(2, pcall(function() return ngx.var.tier end))))'
    case = Case(
        "",
        _LUA,
        f"listen 127.0.0.1:PORT ssl; ssl_certificate cert.pem; ssl_certificate_key cert.key; {server}"
        ' location / { content_by_lua_block { ngx.say(tostring(ngx.shared.d:get("x"))) } }',
        http=f"lua_shared_dict d 1m; {{}} {http}",
    )
    with nginx.reserved_ports(2) as ports, running(binary, written(case, 0, ports).replace("KEEP", keep), files):
        response = exchange(_sent("/", 0), ports[1], tls=True)
        while response is not None and response.body == b"nil\n":  # until the timer has run
            response = exchange(_sent("/", 0), ports[1], tls=True)
    assert response is not None
    assert b"API disabled in the current context" in response.body


def written(case: Case, which: int, ports: Sequence[int]) -> str:
    """One side of a case."""
    server = f"server {{ listen 127.0.0.1:{ports[0]}; {case.server} }}"
    perl = PERL if case.modules == _PERL else ""
    text = f"{loading(*case.modules)} events {{ }} http {{ access_log off; {perl} {case.http} {server} }}"
    return text.replace("{}", case.unlike[which]).replace("PORT", str(ports[1]))


def answers(case: Case, which: int, binary: nginx.Binary) -> Iterator[bytes]:
    """What nginx answers on one side, without the date."""
    with nginx.reserved_ports(2) as ports, running(binary, written(case, which, ports), _FILES):
        for target in case.targets:
            response = exchange(_sent(target, case.body), ports[0])
            if response is None:  # closed in the middle of a response
                yield b""
                continue
            headers = [header for header in response.headers if header[0].lower() not in ("date", "etag")]
            yield repr((response.status, headers, response.body)).encode()


def _sent(target: str, body: int) -> bytes:
    method = "POST" if body else "GET"
    head = f"{method} {target} HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\nConnection: close\r\n"
    return (f"{head}Content-Length: {body}\r\n\r\n" + "x" * body).encode()


def verified(case: Case, sides: tuple[int, int], binary: nginx.Binary) -> Verification:
    """What `verify` says of two sides."""
    old, new = (load_text(written(case, which, (8080, 9090)).encode(), "nginx.conf") for which in sides)
    build = Build(Version.of(binary.version))
    return verify(SiteModel(old, build), SiteModel(new, build))
