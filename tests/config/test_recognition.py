"""Which files of a folder are configurations of nginx: by their names and by what they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import inputs
from nginxopt.config.recognition import is_configuration, looks_like_nginx
from tests.lsp.foreign import FOREIGN
from tests.rows import every_row

# Texts of nginx, as they are found in repositories: templates, parts, broken ones, and those of vendors.
NGINX = {
    "a server": "server {\n    listen 80;\n}\n",
    "a missing brace": "server {\n    listen 80;\n    location / {\n        root /a;\n}\n",
    "a missing semicolon": "server {\n    listen 80\n    server_name a;\n    root /a;\n}\n",
    "a brace too many": "server {\n    listen 80;\n}\n}\n",
    "an open quote": 'server {\n    listen 80;\n    root "/a;\n}\n',
    "a misspelt directive": "gzip_typs text/css;\n",
    "one directive": "client_max_body_size 10m;\n",
    "one directive among those of unknown modules": "my_module a;\nmy_other b;\nmy_third c;\nroot /a;\n",
    "NGINX Plus": "zone_sync;\nstatus_zone a;\nhealth_check;\n",
    "Angie": "api /status/;\nacme_client a https://example.com;\n",
    "Lua": "content_by_lua_block {\n    ngx.say('a')\n}\n",
    "Brotli": "brotli_static on;\n",
    "Jinja": "{% if tls %}\nserver {\n    listen {{ port }};\n{% for x in y %}\n{{ x }}\n{% endfor %}}\n{% endif %}\n",
    "Jinja with braces in branches": "{% if a %}\nserver {\n{% else %}\nserver {\n{% endif %}\n  listen 80;\n}\n",
    "ERB": "<% if @tls -%>\nupstream a {\n<% @servers.each do |s| -%>\n  server <%= s %>;\n<% end -%>\n}\n<% end -%>\n",
    "Go": "{{ range $host := .Hosts }}\nserver {\n    server_name {{ $host }};\n}\n{{ end }}\n",
    "envsubst": "server {\n    listen ${PORT};\n    ${EXTRA}\n}\n",
    "placeholders": "server {\n    listen %ip%:%port%;\n    server_name @NAME@;\n}\n",
    "the output of nginx -T": "# configuration file /etc/nginx/nginx.conf:\nevents {}\n",
}

# Texts of other programs with words of nginx, beside those of editors.
OTHERS = FOREIGN | {
    "supervisord": "[program:nginx]\ncommand=nginx -g 'daemon off;'\nuser=root\n",
    "fail2ban": "[Definition]\nfailregex = ^<HOST> -.*GET\nignoreregex =\n",
    "logrotate of nginx": "/var/log/nginx/*.log {\n daily\n create 0640 www-data adm\n postrotate\n endscript\n}\n",
    "chrony": "server a.example.com iburst\nserver b.example.com iburst\nserver c.example.com\ndriftfile /a\n",
    "haproxy with Jinja": (
        "global\n    user haproxy\n{% for x in y %}\nbackend {{ x }}\n    server {{ x }} a:80\n    timeout connect 1s\n"
        "{% endfor %}\n"
    ),
    "rspamd": 'upstream "local" {\n  default = yes;\n  hosts = "localhost";\n}\n',
    "dovecot": "protocol imap {\n  mail_plugins = quota\n}\n",
    "bind": 'include "/etc/bind/a.conf";\n// a comment\ninclude "/etc/bind/b.conf";\n',
    "dhcpd": "zone x {\n  primary a;\n  key b;\n}\n",
    "apt": 'Acquire::Retries "3";\nAcquire::http::Proxy "a";\n',
    "YAML with braces": "http:\n  port: 80\n  path: /{a}\nusers: []\n",
    "ruby": 'worker_processes 2\ntimeout 600\nstderr_path "/a"\n',
    "playbook": "- name: nginx\n  template: {src: a.j2, dest: b}\n",
    "rows": "/a /b;\n~^/c /d;\n",
    "hcl": 'server {\n  enabled = true\n  listen = "a"\n}\n',
    "tags alone": "{{ config | to_nice_yaml }}\n",
    "nothing": "",
}


@every_row("text", NGINX.values(), ids=NGINX)
def test_texts_of_nginx(text: str) -> None:
    """A template, a part, or a text with a fault is for nginx."""
    assert is_configuration(text.encode())


@every_row("text", OTHERS.values(), ids=OTHERS)
def test_texts_of_other_programs(text: str) -> None:
    """Neither words nor braces alone make a configuration of nginx."""
    assert not is_configuration(text.encode())


@pytest.mark.parametrize("opening", ["{%", "{{", "<%", "{#", "server {\n{{ x\n"])
def test_hostile_text_is_soon_judged(opening: str) -> None:
    """Tags that nobody closes cost no more than their number; what is behind the first 128 kB is not looked at."""
    assert not is_configuration(opening.encode() * 100_000) or opening.startswith("server")


@pytest.mark.no_cover
@every_row(
    "text",
    [
        b"\n" * 1_000_000,
        b"map $a $b {" * 100_000,
        b"http { " * 50_000 + b"map $a $b { a b; " + b"types { " * 50_000 + b"}" * 100_001,
        b"unknown " + b"word " * 200_000 + b";",
        b"unknown " + b"word\n" * 200_000 + b";",
        b"# a\n" * 250_000 + b"a",
    ],
    ids=["line ends", "blocks", "blocks of values", "words", "lines of a statement", "comments"],
)
def test_a_long_text_is_judged_in_time_of_its_length(text: bytes) -> None:
    """A megabyte of the same, as an editor may show it; for each of these, something was once looked for again and
    again in all of the text, which took minutes.
    """
    assert looks_like_nginx(text) == (b"map " in text)


# --- names


NAMES = {
    "server {}\n": [
        *("a/nginx.conf.template", "a/site.conf.j2", "a/site.erb", "a/site.epp", "a/site.tmpl", "a/site.tpl"),
        *("a/site.inc", "a/site.conf", "a/site.ngx", "nginx/default", "sites-enabled/example.com", "snippets/tls"),
        *(".docker/nginx/default.conf", "a/nginx.conf.sigil", "nginx/files/proxy"),
        *("b/nginx.conf.sample", "b/site.inc.dist", "b/site.conf.j2.example"),
    ],
    "[Unit]\nA=b\n": ["a/b.conf", "a/c.conf.j2", "conf.d/d", "sites-enabled/e", "f.inc"],
    # What neither name nor folder announces, and the folders of tools, get no note.
    "[Unit]\n": ["nginx/Dockerfile", ".git/a.conf", ".mypy_cache/a.conf", ".venv/a.conf"],
    # Nor do backups, and samples that were copied or are of no configuration.
    "server {\n}\n": ["a/site.conf.example", "b/compose.yml.example", "b/c.conf.bak", "nginx/default.example"],
    "# nothing\n": ["a/comment.conf", "a/comment.inc"],
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of `NAMES` in the working directory."""
    monkeypatch.chdir(tmp_path)
    for text, names in NAMES.items():
        for name in names:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text)


@pytest.mark.usefixtures("tree")
def test_a_folder_is_read_by_content() -> None:
    """Of names that may be configurations, those are taken that have one; a file that is empty is nobody's."""
    selected = inputs.select(["."])
    assert sorted(selected.files) == sorted([*NAMES["server {}\n"], "a/comment.conf"])
    assert sorted(selected.foreign) == sorted(NAMES["[Unit]\nA=b\n"])
    assert selected.found == {*selected.files, *selected.foreign, "a/comment.inc", "nginx/Dockerfile"}
    assert selected.errors == []


@pytest.mark.usefixtures("tree")
def test_a_file_that_is_named_is_judged() -> None:
    """A file of another program that is named is taken, unless names are by content, too."""
    selected = inputs.select(["a/b.conf", "a", "a/site.inc"])
    assert selected.files[0] == "a/b.conf"
    assert selected.foreign == ["a/c.conf.j2"]
    assert not {"a/b.conf", "a/site.inc"} & selected.found
    selected = inputs.select(["a/b.conf", "a/site.inc", "none.conf"], by_content=True)
    assert (selected.files, selected.foreign) == (["a/site.inc", "none.conf"], ["a/b.conf"])


@pytest.mark.usefixtures("tree")
def test_a_folder_of_other_programs_has_no_configuration() -> None:
    """If all files of a folder are those of other programs, it is an error that there is nothing to check."""
    (error,) = inputs.select(["conf.d"]).errors
    assert (error.message, error.hint) == ("no configuration found", "its files do not look like those of nginx")
