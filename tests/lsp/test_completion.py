"""Completion offers what may stand at the cursor."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lsprotocol import types

from nginxopt.facts.parameters import PARAMETERS
from nginxopt.facts.table import HTTP_VARIABLES, STREAM_VARIABLES, names
from nginxopt.lsp.completion import complete
from nginxopt.lsp.cursor import cursor
from tests.lsp.editing import Editor, edited
from tests.lsp.foreign import FOREIGN
from tests.lsp.test_navigation import MAIN, SITE
from tests.support import NGINXES, run_nginx

_BEFORE = f"{MAIN}"


def offered(editor: Editor, text: str, name: str = "a.conf") -> dict[str, str]:
    """Return what is offered at the `|` in a text, each with the text that it makes of it."""
    at = text.index("|")
    document = editor.open(name, text.replace("|", "", 1))
    before = text[:at]
    position = types.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)
    answer = complete(editor.workspace, types.CompletionParams(types.TextDocumentIdentifier(document.uri), position))
    whole = document.data.decode()
    return {item.label: edited(whole, [item.text_edit]) for item in answer.items if item.text_edit}


def test_directives_of_the_block_are_offered(editor: Editor) -> None:
    """Only directives that the target version allows in the block at the cursor are offered."""
    here = offered(editor, "http {\n server {\n  listen 80;\n  lo|\n }\n}\n")
    assert {"location", "log_subrequest"} <= set(here)
    assert not {"worker_connections", "upstream"} & set(here)
    assert here["location"] == "http {\n server {\n  listen 80;\n  location\n }\n}\n"
    assert "worker_connections" in offered(editor, "events { w| }\nhttp { }\n")
    assert "worker_processes" in offered(editor, "events { }\nw|\nhttp { }\n")
    assert "worker_connections" not in offered(editor, "events { }\nw|\nhttp { }\n")


def test_the_target_version_counts(editor: Editor) -> None:
    """A directive that came or went is offered for the releases that have it."""
    assert "http2" in offered(editor, "http { server { listen 80; ht| } }\n")
    editor.workspace.preferences.target_version = None
    editor.write("nginxopt.toml", 'target-version = "1.24.0"\n')
    assert "http2" not in offered(editor, "http { server { listen 80; ht| } }\n")


def test_the_context_of_an_included_file_counts(editor: Editor) -> None:
    """In a file that is included in a location, the directives of locations are offered."""
    editor.write("nginx.conf", "http { server { location / { include snippets/a; } } }\nevents { }\n")
    here = offered(editor, "deny all;\nproxy_pa|\n", "snippets/a")
    assert "proxy_pass" in here
    assert "listen" not in offered(editor, "deny all;\nlist|\n", "snippets/a")


def test_nothing_is_offered_where_no_directive_stands(editor: Editor) -> None:
    """Comments, rows of maps, and files of other programs get nothing."""
    assert not offered(editor, "http { server { listen 80; # lo|\n } }\n")
    assert not offered(editor, "http { map $uri $a { de| } server { listen 80; } }\n")
    for text in FOREIGN.values():
        assert not offered(editor, text + "lo|")


def test_an_empty_file_gets_directives(editor: Editor) -> None:
    """At the start of a new file, any directive may come."""
    assert {"server", "http", "upstream"} <= set(offered(editor, "|", "new.conf"))
    assert "server" in offered(editor, "ser|", "new.conf")


@pytest.mark.parametrize(
    ("text", "label", "result"),
    [
        ("location / { proxy_pass |; }", "http://App", "location / { proxy_pass http://App; }"),
        ("location / { proxy_pass http://a|; }", "http://App", "location / { proxy_pass http://App; }"),
        ("location / { fastcgi_pass |; }", "App", "location / { fastcgi_pass App; }"),
        ("location / { grpc_pass |", "grpc://App", "location / { grpc_pass grpc://App"),
        ("access_log /var/log/x |;", "timed", "access_log /var/log/x timed;"),
        ("limit_req |;", "zone=slow", "limit_req zone=slow;"),
        ("limit_req zone=slow bu|;", "burst=", "limit_req zone=slow burst=;"),
        ("limit_conn |", "few", "limit_conn few"),
        ("proxy_cache |;", "files", "proxy_cache files;"),
        ("set $x $ki|;", "$kind", "set $x $kind;"),
        ('set $x "a$ki|";', "$kind", 'set $x "a$kind";'),
        ("return 200 $|;", "$request_uri", "return 200 $request_uri;"),
        ("add_header A $http_|;", "$http_", "add_header A $http_;"),
        (
            "location / { try_files $uri |; } location @down { }",
            "@down",
            "location / { try_files $uri @down; } location @down { }",
        ),
        ("sendfile |;", "off", "sendfile off;"),
        ("location / { satisfy |; }", "any", "location / { satisfy any; }"),
        ("listen 80 |;", "default_server", "listen 80 default_server;"),
        ("rewrite ^ / |;", "permanent", "rewrite ^ / permanent;"),
        ("location |", "~*", "location ~*"),
        ("ssl_protocols TLSv1.2 |;", "TLSv1.3", "ssl_protocols TLSv1.2 TLSv1.3;"),
        ("proxy_next_upstream error |;", "http_502", "proxy_next_upstream error http_502;"),
    ],
)
def test_arguments_are_offered(editor: Editor, text: str, label: str, result: str) -> None:
    """Names of the configuration, variables and values are offered where a directive takes them."""
    editor.open("nginx.conf", MAIN)
    here = offered(editor, f"server {{ {text}\n}}\n", "sites/a.conf")
    assert label in here
    assert here[label].startswith(f"server {{ {result}")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("server { add_header |; }", "always"),
        ("upstream x { server |; }", "backup"),
        ("server { listen |; }", "ssl"),
        ("server { rewrite ^ |; }", "permanent"),
    ],
)
def test_parameters_come_after_what_they_are_of(editor: Editor, text: str, label: str) -> None:
    """A word is not offered in place of the address, the name or the pattern."""
    assert label not in offered(editor, text, "sites/a.conf")
    assert label in offered(editor, text.replace("|", "a b |"), "sites/a.conf")


def test_the_files_of_an_include_are_offered(editor: Editor) -> None:
    """Those beside the main file, whatever stands behind the cursor; an include without a path is an error."""
    editor.open("nginx.conf", MAIN)
    editor.write("snippets/tls.conf", "ssl_protocols TLSv1.2;\n")
    editor.write("snippets/.hidden", "")
    assert "snippets/" in offered(editor, "server { include |;\n}\n", "sites/a.conf")
    assert list(offered(editor, "server { include snippets/|\n}\n", "sites/a.conf")) == ["snippets/tls.conf"]
    assert not offered(editor, "server { include nowhere/|;\n}\n", "sites/a.conf")
    document = editor.open("sites/a.conf", "server { include ; }\n")
    assert [found.message for found in editor.diagnostics(document)] == ['"include" takes exactly one path']


def test_a_fragment_of_one_block(editor: Editor) -> None:
    """What is typed does not make a text another program's."""
    assert "keepalive" in offered(editor, "upstream app {\n    keep|\n}\n", "upstreams.conf")


def test_names_are_offered_only_where_they_belong(editor: Editor) -> None:
    """A zone of requests is none of connections, and the named location of another server is out of reach."""
    editor.open("nginx.conf", MAIN)
    assert not {"slow", "files"} & set(offered(editor, "server { limit_conn |; }", "sites/a.conf"))
    text = "server { location @a { } }\nserver { location / { try_files $uri |; } location @b { } }"
    here = offered(editor, text, "sites/a.conf")
    assert "@b" in here
    assert "@a" not in here
    assert "TLSv1.2" not in offered(editor, "server { ssl_protocols TLSv1.2 |; }", "sites/a.conf")


def test_variables_of_stream_are_its_own(editor: Editor) -> None:
    """In stream, the variables of http are not offered."""
    here = offered(editor, "events { }\nstream { log_format a $|; }\n")
    assert "$session_time" in here
    assert "$request_uri" not in here


def test_each_directive_has_its_default_and_purpose(editor: Editor) -> None:
    """An offered directive says what it does, and what is its default."""
    document = editor.open("a.conf", "http { server { listen 80; tcp_nod } }\n")
    params = types.CompletionParams(types.TextDocumentIdentifier(document.uri), types.Position(0, 34))
    (item,) = [one for one in complete(editor.workspace, params).items if one.label == "tcp_nodelay"]
    assert item.detail == "default on"
    assert item.documentation == "Sends small pieces at once on kept connections, without waiting for acknowledgements."


@given(st.integers(0, len(MAIN + SITE)))
@example((MAIN + SITE).index("\\") + 1)  # in an escape
def test_the_cursor_is_found_in_any_beginning(offset: int) -> None:
    """At each offset the word before the cursor is the text there, and blocks are those that are open."""
    data = (MAIN + SITE).encode()
    place = cursor(data, offset)
    if place is not None:
        assert data[place.start : offset].decode() == place.word
        assert not place.word.startswith(("{", "}", ";"))
        assert len(place.blocks) <= 2


@pytest.mark.nginx
def test_nginx_knows_the_variables(tmp_path: Path) -> None:
    """One of the installed releases accepts each variable that is offered, but for that of HTTP/3."""
    unknown = set()
    for protocol, variables in (("http", HTTP_VARIABLES), ("stream", STREAM_VARIABLES)):
        for name in variables:
            full = f"{name}x" if name.endswith("_") else name
            (tmp_path / "nginx.conf").write_text(f"events {{}}\n{protocol} {{ log_format a '${full}'; }}\n")
            if all(run_nginx(binary, tmp_path, "-t", "-g", "pid nginx.pid;").returncode for binary in NGINXES):
                unknown.add(f"{protocol} {name}")
    assert unknown <= {"http http3"}


def test_parameters_are_of_known_directives() -> None:
    """Each list of words belongs to a directive."""
    assert {key.rpartition("/")[2] for key in PARAMETERS} <= names()
