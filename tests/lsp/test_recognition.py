"""Configurations of nginx are told from those of other programs by their content."""

from __future__ import annotations

from nginxopt.config.recognition import looks_like_nginx
from tests.lsp.foreign import FOREIGN
from tests.rows import every_row


@every_row("name", list(FOREIGN))
def test_files_of_other_programs_are_not_taken_for_nginx(name: str) -> None:
    """The configuration of another program is not nginx's, nor is any beginning of it, as while typing."""
    data = FOREIGN[name].encode()
    assert not looks_like_nginx(data)
    ends = [number for number, byte in enumerate(data) if byte == ord("\n")]
    assert not any(looks_like_nginx(data[:end]) for end in ends[1:])


@every_row(
    "text",
    [
        "server { listen 80; }",
        "events { }\nhttp {\n    upstream a { server 127.0.0.1; }",
        "upstream backend { server 127.0.0.1; }\nserver {\n    list",
        'location / { return 200 "unclosed; }',
        "# only a comment at first\nworker_processes 1;\n",
        "server {\n    access_by_lua_block { return }\n}\n",
        "include /etc/nginx/mime.types;\n",
        "location = /a { return 301 /b; }\nlocation = /c { return 301 /d; }\n",
        "\ufeffserver { listen 80; }",
    ],
)
def test_text_of_nginx_is_recognised_while_it_is_typed(text: str) -> None:
    """A text that has a directive of nginx and little else is nginx's, whether it parses or not."""
    assert looks_like_nginx(text.encode())


@every_row("text", ["", "\n", "# a comment\n", "x", '"', "{", "}", ";"])
def test_text_without_a_directive_shows_nothing(text: str) -> None:
    """Without a directive of nginx, a text may be anything."""
    assert not looks_like_nginx(text.encode())
