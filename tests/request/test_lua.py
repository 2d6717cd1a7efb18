"""Lua that is one expression or one constant answer is simulated; any other stays unknown.

What OpenResty does is known from its sources (`ngx_http_lua_set_by_chunk`, `ngx_http_lua_ngx_redirect`,
`ngx_http_lua_ffi_exit`) and its own tests: a result that is nil is empty, and an error is answered with the status 500.
"""

from __future__ import annotations

import pickle

from nginxopt.config import load_text
from nginxopt.request import read_request
from nginxopt.request.model import SiteModel, World
from nginxopt.semantics.site import Build, lower
from nginxopt.semantics.site.lua import answered, returned
from tests.lintcheck import TARGET
from tests.rows import every_row

RETURNED = (
    ("return 'a'", "a"),
    ("\n  -- why\n  return [[a]];  -- b\n", "a"),
    (r"return 'it\'s' .. " + r'"\t\\\n"', "it's\t\\\n"),
    ("return 1 .. 'a'", "1a"),
    ("return", ""),
    ("return nil", ""),
    ("return nil or 'a'", "a"),
    ("return 'a' or nil", "a"),
    ("return false or nil or ('a' .. 'b')", "ab"),
    ("return ngx.var.host..ngx.var.URI", "${host}${uri}"),
    ("return ngx.var.http_x", "${http_x}"),
    ("return os.getenv('A_B')", "${os_getenv_a_b}"),
    ('return os.getenv "A" or "b"', "${os_getenv_a}"),
    ("return os.getenv('A') or os.getenv('B') or ngx.var.host", "${os_getenv_a}"),
    ("return 'http://' .. (os.getenv('A') or 'b') .. ':80'", "http://${os_getenv_a}:80"),
    # What may fail is answered with the status 500.
    ("return 'a' .. nil", None),
    ("return 'a' .. os.getenv('A')", None),
    ("return 'a' .. (os.getenv('A') or os.getenv('B'))", None),
    ("return ngx.var.http_x .. 'a'", None),
    # A header that is empty is not one that is absent.
    ("return ngx.var.http_x or 'a'", None),
    # `ngx.var` has no variables that nginx does not look up by name, and may have those of the configuration.
    ("return ngx.var.proxy_host", None),
    ("return ngx.var.a", None),
    ("return ngx.var[1]", None),
    ("return ngx.arg[1]", None),
    # No `set` has a dollar.
    ("return '$a'", None),
    ("return [[$a]]", None),
    ("return os.getenv('$A')", None),
    ("return os.getenv('A-B')", None),
    ("return os.getenv('A', 'B')", None),
    ("return os.getenv(A)", None),
    ("return 1..'a'", None),
    ("return 01", None),
    ("return 1.5", None),
    (r"return '\65'", None),
    ("return 'a\nb'", None),
    ("return 'a', 'b'", None),
    ("return 'a' 'b'", None),
    ("return ('a'", None),
    ("return 'a' == 'b'", None),
    ("return 'a' and 'b'", None),
    ("return 'a' ... 'b'", None),
    ("return true", None),
    ("return [=[a]=]", None),
    ("--[[ b ]] return 'a'", None),
    ("local a = 'a' return a", None),
    ("return 'a' return 'b'", None),
    ("'a'", None),
    ("", None),
    ("return " + "(" * 100_000, None),
)
"""The code of a `set_by_lua`, and its value for nginx; None for code that is not read."""

ANSWERED = (
    ("ngx.exit(403)", ("403",)),
    ("return ngx.exit(ngx.HTTP_NOT_FOUND)", ("404",)),
    ("ngx.redirect('http://a/b?c')", ("302", "http://a/b?c")),
    ("return ngx.redirect('https://a/' .. 'b', 301);", ("301", "https://a/b")),
    ("ngx.redirect('http://a/', ngx.HTTP_MOVED_PERMANENTLY)", ("301", "http://a/")),
    ("ngx.say('a')", ("200", "a\n")),
    ("ngx.print('a', 1) ngx.say('b', ngx.var.host) ngx.exit(ngx.HTTP_OK)", ("200", "a1b${host}\n")),
    ("ngx.exit(ngx.OK)", None),
    ("ngx.exit(200)", None),
    ("ngx.exit(302)", None),
    ("ngx.exit(444)", None),
    ("ngx.exit(4 03)", None),
    ("ngx.exit()", None),
    ("ngx.exit(ngx.HTTP_A)", None),
    ("ngx.exit(403) ngx.say('a')", None),
    ("ngx.say('a') ngx.exit(403)", None),
    ("ngx.say('a') ngx.redirect('http://a/')", None),
    ("ngx.say()", None),
    ("ngx.say(nil)", None),
    ("ngx.say(ngx.var.http_x)", None),
    ("ngx.say(os.getenv('A') or 'b')", None),
    ("ngx.say({'a'})", None),
    # The name of the host is not added, as nginx does for a `return`.
    ("ngx.redirect('/a')", None),
    ("ngx.redirect('http://a/' .. ngx.var.uri)", None),
    ("ngx.redirect('http://a/ b')", None),
    ("ngx.redirect('http://a/', 308)", None),
    ("ngx.redirect('http://a/', 200)", None),
    ("ngx.redirect('http://a/') x()", None),
    ("if a then ngx.exit(403) end", None),
    ("return", None),
    ("", None),
)
"""The code of a handler, and the arguments of the `return` that answers alike; None for code that is not read."""


@every_row(("code", "value"), RETURNED)
def test_an_expression_is_a_value_of_nginx(code: str, value: str | None) -> None:
    """Nothing is read that may fail, or whose value depends on what nginx cannot say in a value."""
    read = returned(code)
    assert (None if read is None else read.text) == value


@every_row(("code", "args"), ANSWERED)
def test_a_constant_answer_is_a_return(code: str, args: tuple[str, ...] | None) -> None:
    """An answer that is not one call with constants is not read."""
    assert answered(code) == args


GETENV = "'return os.getenv(\"A\")'"
DENIED = "access_by_lua 'ngx.exit(403)';"
SAID = "content_by_lua_block { ngx.say('hi') }"

ASKED: tuple[tuple[str, dict[str, str], int | None, str | None], ...] = (
    # The variable is not known, but what does not depend on it is.
    (f"set_by_lua $x {GETENV}; return 204;", {}, 204, None),
    (f"set_by_lua $x {GETENV}; if ($x) {{ return 403; }} return 204;", {}, None, "os_getenv_a"),
    (f"set_by_lua $x {GETENV}; if ($x) {{ return 403; }} return 204;", {"os_getenv_a": "b"}, 403, None),
    # In its place in the script.
    (f"set_by_lua $x {GETENV}; set $x ''; if ($x) {{ return 403; }} return 204;", {}, 204, None),
    ("set $x ''; set_by_lua_block $x { return 'a' .. ngx.var.host } if ($x = ah) { return 403; }", {}, 403, None),
    # Two variables whose names differ by case, and one of that name in the text.
    (f"set_by_lua $x {GETENV}; set_by_lua $y 'return os.getenv(\"a\")'; return 204;", {}, None, None),
    (f"set $OS_getenv_a 1; set_by_lua $x {GETENV}; return 204;", {}, None, None),
    # Other arguments, and code that is not read.
    ("set_by_lua $x 'return \"a\"' $arg_a; return 204;", {}, None, None),
    ("set_by_lua_file $x a.lua; return 204;", {}, None, None),
    ("rewrite_by_lua 'ngx.redirect(\"http://a/\", 301)';", {}, 301, None),
    ("set $x 1; rewrite_by_lua_block { ngx.exit(404) } proxy_pass http://127.0.0.1;", {}, 404, None),
    ("rewrite ^/$ /b; rewrite_by_lua_block { ngx.exit(404) }", {}, None, None),
    ("if ($arg_a) { break; } rewrite_by_lua_block { ngx.exit(404) }", {}, None, None),
    ("rewrite_by_lua_block { ngx.say('hi') }", {}, None, None),
    (f"{DENIED} allow all;", {}, None, None),
    (f"{DENIED} client_max_body_size 1;", {}, 403, None),
    (f"{DENIED} limit_except POST {{ deny all; }}", {}, None, None),
    (f"{DENIED} rewrite_by_lua 'ngx.exit(404)';", {}, None, None),
    (SAID, {}, 200, None),
    (f"return 204; {SAID}", {}, 204, None),
    (f"deny 1.2.3.4; {SAID}", {}, None, None),
    (f"proxy_pass http://127.0.0.1; {SAID}", {}, None, None),
    (f"try_files /a =404; {SAID}", {}, None, None),
    (f"error_page 404 /e; {SAID}", {}, None, None),
    ("error_page 404 /e; content_by_lua 'ngx.exit(410)';", {}, 410, None),
    ("content_by_lua_file a.lua;", {}, None, None),
)
"""The text of a location, values of variables, the status or None if it is not known, and the variable that decides."""


@every_row(("text", "values", "status", "name"), ASKED)
def test_what_is_read_is_answered(text: str, values: dict[str, str], status: int | None, name: str | None) -> None:
    """Also in another process; the other readers of a site take all Lua as before."""
    config = load_text(f"events {{}} http {{ server {{ listen 80; location / {{ {text} }} }} }}".encode(), "nginx.conf")
    model = SiteModel(config, Build(TARGET), reads_lua=True)
    request = model.gate().form(read_request("http://h/"))
    outcome = model.trace(request, World(variables=values))["outcome"]
    unknown = outcome["unknown"]
    assert outcome["status"] == status
    assert (outcome["kind"] == "unknown") == (status is None)
    question = None if unknown is None else unknown["question"]
    assert (question["name"] if question is not None and question["kind"] == "variable" else None) == name
    assert pickle.loads(pickle.dumps(model)).site.form == model.site.form
    location = next(level for level in lower(config, Build(TARGET)).site["levels"] if level["kind"] == "location")
    unread = [*(each for each in location["script"] if each["kind"] == "opaque"), *location["opaque"]]
    assert len(unread) == text.count("_by_lua")


def test_a_block_is_shown_with_its_brace() -> None:
    """It ends by no `;` that could be left out."""
    config = load_text(f"events {{}} http {{ server {{ location / {{ {SAID} }} }} }}".encode(), "nginx.conf")
    model = SiteModel(config, Build(TARGET), reads_lua=True)
    outcome = model.trace(model.gate().form(read_request("http://h/")), World())["outcome"]
    assert outcome["body"] == "hi\n"
    assert outcome["node"] is not None
    assert model.site.nodes.place(outcome["node"]).text == SAID
