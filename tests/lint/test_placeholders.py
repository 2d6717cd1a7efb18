"""Placeholders in words: unknown values in every rule, and a reason to refuse the file elsewhere."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest

from nginxopt.config import inputs
from nginxopt.config.templating import refuse_tags
from nginxopt.config.tree import parse
from nginxopt.errors import InputError
from nginxopt.lint import Diagnostic
from nginxopt.lint.catalogue import catalogue, selection
from nginxopt.lint.check import Judge, check
from nginxopt.settings.file import Settings
from nginxopt.text import Source
from tests.lintcheck import TARGET, diagnose
from tests.placeholder_law import FORMS, arguments, faults
from tests.rows import every_row
from tests.support import ROOT

PARTS = 29
"""Of the files of the law, some of so many parts are tried here; `python -m tests.placeholder_law` tries all."""

SITE = b"""events {}
http {
    gzip on;
    gzip_comp_level 5;
    client_max_body_size 10m;
    map $uri $new { ~^/a$ /b; default ""; }
    upstream app { server 10.0.0.1:8080; }
    server {
        listen 80;
        server_name shop.example;
        location ~ ^/old/(.*)$ { return 301 /new/$1; }
        location / { proxy_pass http://app; proxy_http_version 1.1; proxy_read_timeout 60s; proxy_buffering on; }
    }
}
"""


@every_row("form", FORMS)
def test_a_placeholder_is_no_value(form: bytes) -> None:
    """In the place of any argument, no error speaks of a placeholder, and no fix moves or changes it."""
    words = arguments(SITE)
    picked = [words[at] for at in range(FORMS.index(form) % 4, len(words), 4)]
    results = list(faults(SITE, picked, (form,)))
    assert [fault for _, fault in results if fault] == []
    assert sum(is_read for is_read, _ in results) >= len(results) - 1  # a name of a variable may be refused


def _of_corpus() -> list[Path]:
    files = sorted(path for path in (ROOT / "fixtures/corpus/files").rglob("*") if path.is_file())
    return [path for path in files if crc32(path.name.encode()) % PARTS == 0]


@pytest.mark.parametrize("path", _of_corpus(), ids=lambda path: path.name)
def test_the_law_of_placeholders(path: Path) -> None:
    """In a public file, too: an argument that is a placeholder is in no error, and in no fix."""
    data = path.read_bytes()
    try:
        words = arguments(data)
    except InputError:
        pytest.skip("not a configuration")
    if any(form in data for form in FORMS) or not words:
        pytest.skip("a template already, or nothing to replace")
    form = FORMS[crc32(data) % len(FORMS)]
    picked = [words[crc32(data) % len(words)]]
    assert [fault for _, fault in faults(data, picked, (form,)) if fault] == []


def _is_refused(word: str, *, names: bool = False, name: str = "root") -> bool:
    try:
        refuse_tags(parse(Source("nginx.conf", f"{name} {word};".encode())), names=names)
    except InputError:
        return True
    return False


@every_row("word", ["${X:-off}", "/a/${X-off}/b", "${a.b}", "${X:=1}", "${X:+1}", "@X@/y", "%%X%%", '"${a.b}"'])
def test_other_commands_refuse_a_placeholder(word: str) -> None:
    """A word with a placeholder has no value, so a command that needs it refuses the file."""
    assert _is_refused(word)


@every_row(
    "word",
    ["${x}", "$x", "$x.b", "/a$", "~^/a${x}b$", '"x{1,2}$"', "${x_1}", "${x}-off", "a@b", "__x__", "~^/(?<NAME>a)$"],
)
def test_a_word_of_nginx_is_no_placeholder(word: str) -> None:
    """A variable in braces, a pattern and a name are what nginx makes of them."""
    assert not _is_refused(word, names=True)


def test_what_nginx_may_take_is_a_placeholder_for_lint_alone() -> None:
    """nginx may have that path or variable, and `sub_filter` looks for it, but `lint` says nothing of it as a value."""
    for word in ("/srv/__NAME__", "/srv/${NAME}", "<UPLOAD_MAX_SIZE>"):
        assert not _is_refused(word)
        assert _is_refused(word, names=True)
    assert not _is_refused("__NONCE__ $request_id", names=True, name="sub_filter")
    assert _is_refused('X "self ${API_HOST}"', names=True, name="add_header"), "nginx looks for variables in text, too"


@pytest.mark.parametrize("word", ["$FASTCGI_BUFFERS", "${FASTCGI_BUFFERS}", "@BUFFERS@"])
def test_a_placeholder_may_be_several_words(word: str) -> None:
    """envsubst writes two words in the place of one, as images with settings in the environment have them."""
    text = f"location / {{ fastcgi_buffers {word}; fastcgi_pass unix:/run/php.sock; }}"
    assert diagnose("wrong-arguments", text, context="server") == ()
    (one,) = diagnose("wrong-arguments", text.replace(word, "8"), context="server")
    assert one.finding.message == '"fastcgi_buffers" takes 2 arguments, not 1'


@every_row(
    ("text", "is_refused"),
    [
        ("listen [::]:<http_port>;", False),
        ("client_max_body_size <max-size>;", False),
        ("client_max_body_size MAX_BODY_SIZE;", False),
        ("client_max_body_size ${limit};", False),
        ("client_max_body_size $limit;", True),
        ("server_name ${app_name}.example.com; access_log /var/log/nginx/${app_name}.log;", False),
        ("listen 127.0.0.1:xxxx;", False),
        ("listen 127.0.0.1:xy;", True),
        ("client_max_body_size <size of a body>;", False),
        ("client_max_body_size MAXIMUM;", True),
        ("listen 80 DEFAULT_SERVER;", True),
        ('return 999x "<p>a</p>";', True),
        ("keepalive_timeout (<a>);", False),
        ('rewrite "^/(?<a>b)$" /c always;', True),
    ],
)
def test_a_name_for_a_value_is_no_value(text: str, is_refused: bool) -> None:
    """A word in angle brackets, and one in capitals in the place of a size; not HTML, a named group or a parameter."""
    assert bool(diagnose("refused", text, context="server")) is is_refused


def test_a_name_may_stand_for_the_value_of_a_parameter() -> None:
    """A size in capitals is filled in, and so the zone is one, too."""
    text = (
        "proxy_cache_path /c keys_zone=images:1m max_size={}; server {{ listen PORT SSL_LISTEN; proxy_cache images; }}"
    )
    assert diagnose("refused", text.format("CACHE_MAX_SIZE"), context="http") == ()
    assert diagnose("refused", text.format("large"), context="http")


def test_words_that_somebody_fills_in_are_one_value() -> None:
    """`<project name>` is two words to nginx, which refuses their number; it is not the author's mistake."""
    assert diagnose("wrong-arguments", "root /srv/<project name>/web;", context="server") == ()
    assert diagnose("wrong-arguments", "root /srv/<project name/web;", context="server") != ()


def test_a_directive_is_refused_once() -> None:
    """A second cache that has the zone and the path of the first is one finding, as nginx stops at the first."""
    line = "proxy_cache_path /var/cache keys_zone=a:1m;"
    (one,) = diagnose("refused", f"{line}\n{line}", context="http")
    assert one.finding.message.startswith('nginx refuses it: the same path name "/var/cache" used in nginx.conf:')


CHOSEN = "events {}\nhttp { server { listen 80; include sites/*.conf; } }\n"


@pytest.mark.parametrize(("root", "is_found"), [("/srv", True), ("${ROOT}", False)])
def test_files_with_placeholders_may_be_chosen(root: str, is_found: bool, tmp_path: Path) -> None:
    """A location that two included files have is refused, unless what fills one of them in may remove the other."""
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites" / "a.conf").write_text(f"location / {{ root {root}; }}\n")
    (tmp_path / "sites" / "b.conf").write_text("location / { return 404; }\n")
    (tmp_path / "nginx.conf").write_text(CHOSEN)
    assert bool(_found(tmp_path, "duplicate-location")) == is_found


@pytest.mark.parametrize(("name", "is_found"), [("www.shop.example", True), ("yourdomain.com", False)])
def test_two_files_with_a_blank_are_two_sites(name: str, is_found: bool, tmp_path: Path) -> None:
    """A name that somebody fills in is another one in each file."""
    (tmp_path / "sites").mkdir()
    for file in ("a.conf", "b.conf"):
        (tmp_path / "sites" / file).write_text(
            f"server {{ listen 80; server_name {name} {file}.shop.example; return 404; }}\n"
        )
    (tmp_path / "nginx.conf").write_text("events {}\nhttp { include sites/*.conf; }\n")
    assert bool(_found(tmp_path, "server-name-conflict")) == is_found


def _found(folder: Path, rule: str) -> tuple[Diagnostic, ...]:
    rules = selection(catalogue().values(), Settings(), select=[rule])
    read = inputs.read([str(folder / "nginx.conf")], inputs.InputOptions(templates=True))
    return check(read.configs, Judge(rules, TARGET, Settings())).diagnostics


def test_values_that_were_taken_out_are_one_finding() -> None:
    """A blank before the semicolon is what is left of a template; without one, it is a mistake like others."""
    found = diagnose("wrong-arguments", "server { server_name ;\nssl_certificate ;\nroot; }", context="http")
    assert [each.cause for each in found] == ["no value", "no value", '"root" takes 1 argument, not 0']
