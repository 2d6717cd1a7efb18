"""Zones that fixes add, on the real nginx: it accepts their names and sizes, whatever else has zones."""

from __future__ import annotations

import re

import pytest

from nginxopt.system import nginx
from tests.lintcheck import fix_text
from tests.nginx.modules import LUA

pytestmark = pytest.mark.nginx

PATHS = "".join(f"    {name}_temp_path temp/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))

# Who has a zone of the name -> what stands in main, in http, and behind it.
HOLDERS = {
    "nobody": ("", "", ""),
    "limit_req": ("", "limit_req_zone $uri zone={}:1m rate=1r/s;", ""),
    "limit_conn": ("", "limit_conn_zone $uri zone={}:1m;", ""),
    "a cache": ("", "proxy_cache_path cache keys_zone={}:1m;", ""),
    "an upstream": ("", "upstream other {{ zone {} 64k; server 127.0.0.1:1; }}", ""),
    "stream": ("", "", "stream {{ upstream other {{ zone {} 64k; server 127.0.0.1:1; }} }}"),
    "sessions of stream": ("", "", "stream {{ ssl_session_cache shared:{}:1m; }}"),
    "Lua": (LUA, "lua_shared_dict {} 1m;", ""),
    "njs": ("", "js_shared_dict_zone zone={}:1m;", ""),
}

CERTIFICATE = "ssl_certificate data:$uri; ssl_certificate_key data:$uri;"  # what is read when a client comes

# What wants a zone -> its name, and what stands in http.
WANTED = {
    "upstream-zone-missing": ("app", "upstream app { least_conn; server 127.0.0.1:1; server [::1]:1; }"),
    "ssl-session-cache": ("SSL", f"{CERTIFICATE} ssl_session_tickets off; server {{ listen 443 ssl; }}"),
    "ssl-session-tickets": ("SSL", f"{CERTIFICATE} server {{ listen 443 ssl; }}"),
}


def whole(main: str, http: str, rest: str = "") -> bytes:
    """A configuration for two workers with all that nginx needs to test it."""
    text = f"{main}worker_processes 2;\npid nginx.pid;\nerror_log error.log;\nevents {{}}\nhttp {{\n{PATHS}"
    return f"{text}    access_log off;\n    {http}\n}}\n{rest}\n".encode()


def accepted(binary: nginx.Binary, data: bytes) -> str:
    """What `nginx -t` has against a configuration, whose address is replaced by a socket."""
    verdict = binary.test(data.replace(b"listen 443", b"listen unix:tls.sock"), {"temp/x": b""})
    return "" if verdict.ok else str(verdict)


@pytest.mark.parametrize("rule", WANTED)
@pytest.mark.parametrize("holder", HOLDERS)
def test_a_new_zone_has_a_name_of_its_own(a_binary: nginx.Binary, rule: str, holder: str) -> None:
    """nginx takes the zone that a fix adds, whoever has one of the name that it would have had."""
    name, http = WANTED[rule]
    main, inside, rest = (text.format(name) for text in HOLDERS[holder])
    before = whole(main, f"{inside} {http}", rest)
    if refused := accepted(a_binary, before):
        assert re.search("unknown directive|dlopen", refused), "this nginx has not all of these modules"
        return
    after = fix_text(rule, before)
    assert after != before
    assert accepted(a_binary, after) == ""


@pytest.mark.parametrize("name", ["my app", "a{b", "a;b", 'say "a"', "a'b", "a#b", "a\\b", "app"])
def test_a_zone_is_quoted_as_its_upstream(a_binary: nginx.Binary, name: str) -> None:
    """Whatever an upstream is called, nginx takes the zone that the fix adds, if there is one."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    before = whole("", f'upstream "{escaped}" {{ least_conn; server 127.0.0.1:1; server 127.0.0.2:1; }}')
    assert accepted(a_binary, before) == ""
    after = fix_text("upstream-zone-missing", before)
    assert (after == before) is (";" in name)
    assert accepted(a_binary, after) == ""


@pytest.mark.parametrize("count", [24, 25, 128, 129, 512, 513, 2048, 2049])
def test_a_zone_has_room_for_its_servers(a_binary: nginx.Binary, count: int) -> None:
    """The zone is large enough for servers that take most room: sockets of long paths; or there is none."""
    servers = " ".join(f"server unix:/{'x' * 80}{number:05d}.sock;" for number in range(count))
    before = whole("", f"upstream app {{ least_conn; {servers} }}")
    after = fix_text("upstream-zone-missing", before)
    assert (after == before) is (count > 2048)
    assert accepted(a_binary, after) == ""


def test_two_names_may_be_two_hundred_addresses(each_binary: nginx.Binary) -> None:
    """A zone of 64k is too small for 200 servers: where names may stand for as many, the fix adds none."""
    servers = " ".join(f"server 10.0.0.{number + 1}:80;" for number in range(200))
    small = whole("", f"upstream app {{ zone app 64k; least_conn; {servers} }}")
    assert 'no memory in upstream zone "app"' in accepted(each_binary, small)
    named = whole("", "upstream app { least_conn; server a.example; server b.example; }")
    assert fix_text("upstream-zone-missing", named) == named
