"""What is outside of the named paths is neither shown nor changed: whoever wrote the configuration chose it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nginxopt.lint.report import FORMATS
from tests.rows import every_row

MARK = "Sw0rdf1sh"
"""The secret; no name of a file has it."""

UNREADABLE = {
    "environment": f"HOME=/root\0AWS_SECRET_KEY={MARK}\0",
    "passwords": f"root:$6${MARK}:19000:0:99999:7:::\n",
    "netrc": f"machine example.com login me password {MARK}\n",
    "key": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{MARK}\n-----END OPENSSH PRIVATE KEY-----\n",
    "settings": f"[client]\npassword={MARK};\n",
    "rndc": f'key "rndc" {{ algorithm hmac-sha256; secret "{MARK}"; }};\n',
    "word": f"{MARK};\n",
    "block": f"{MARK} {{ a b; }}\n",
    "end": f"listen {MARK}",
    "template": f"listen {{{{ {MARK} }}}};\n",
    "not text": f"a \xff{MARK}",
}
"""Files that are no part of a configuration, as their beginning tells."""

READABLE = {
    "findings": f"gzip on;\ngzip_comp_level 9;\nlog_format {MARK} $uri;\naccess_log /var/log/{MARK} {MARK};\n",
    "upstream": f"upstream {MARK} {{ server 127.0.0.1:81; }}\n",
    "server": f"server {{ listen 80; server_name {MARK}; location /{MARK} {{ proxy_pass http://inner; }} }}\n",
    "twice": f"server {{ listen 80; location /{MARK} {{ }} location /{MARK} {{ }} }}\n",
    "rewrites": f"server {{ listen 81; rewrite ^/a$ /{MARK} permanent; rewrite ^/b$ /{MARK} permanent; }}\n",
    "map": f"map $uri $inner_value {{ default {MARK}; /a {MARK}; ~^/{MARK} 1; }}\n",
    "header": f'add_header X-Inner "{MARK} x";\n',
    "bad listen": f"server {{ listen {MARK}:99999; }}\n",
    "bad pattern": f"server {{ listen 82; location ~ ({MARK} {{ }} }}\n",
}
"""Files with directives for http, in which rules and models find something."""

TEXT = """events {{}}
http {{
    include {include};
    gzip on;
    gzip_comp_level 9;
    server {{
        listen 80;
        rewrite ^/x$ /y permanent;
        location / {{ proxy_pass http://inner; add_header X $inner_value; }}
    }}
}}
"""
COMMANDS = (
    *(("lint", "site/nginx.conf", "--unsafe-fixes", "--fix", "--format", form) for form in FORMATS if form != "html"),
    ("lint", "site/nginx.conf", "--diff", "--unsafe-fixes"),
    ("lint", "site"),
    ("format", "site", "--diff"),
    ("trace", "site/nginx.conf", "http://inner/x"),
    ("trace", "site/nginx.conf", "http://inner/x", "--format", "json", "-v"),
    ("verify", "site/nginx.conf", "site/other.conf"),
    ("verify", "site/nginx.conf", "site/other.conf", "--format", "json"),
    *(("verify", "site/nginx.conf", "site/other.conf", "--format", form) for form in ("html", "markdown", "github")),
    ("verify", "site/nginx.conf", "site/other.conf", "--format", "sarif"),
    ("check", "site/nginx.conf"),
    *(("profile", "site/nginx.conf", "site/access.log", "--format", form) for form in ("text", "json")),
    ("profile", "site/nginx.conf", "site/access.log", "--html", "/dev/stdout"),
    ("trace", "site/nginx.conf", "--requests", "site/access.log"),
    *(("test", "site/nginx.conf", "site/table.csv", "--format", form) for form in ("text", "json", "junit", "github")),
    ("rewrite-to-map", "site/nginx.conf"),
    ("rewrite-to-map", "site/nginx.conf", "--plan-only", "--report", "-"),
    ("rewrite-to-map", "site/nginx.conf", "--write"),
    ("rewrite-to-map", "site/nginx.conf", "-o", "made"),
)


def ran_in(*command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own."""
    code = "from nginxopt.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "NO_COLOR": "1", **environment},
        capture_output=True,
        check=False,
    )


def site(folder: Path, text: str, include: str = "../secret.conf") -> Path:
    """Make a site whose main file includes a file beside its folder."""
    (folder / "site").mkdir()
    (folder / "secret.conf").write_text(text, "latin-1")
    (folder / "site" / "nginx.conf").write_text(TEXT.format(include=include))
    (folder / "site" / "other.conf").write_text(TEXT.format(include="none.conf"))
    line = '1.2.3.4 - - [01/Jan/2025:00:00:00 +0000] "GET /x HTTP/1.1" 200 1 "-" "-"\n'
    (folder / "site" / "access.log").write_text(line)
    (folder / "site" / "table.csv").write_text("http://inner/x,,200\n")
    return folder


def refuse_mark(ran: subprocess.CompletedProcess[bytes], folder: Path) -> None:
    """Check that neither what a command printed nor what it wrote has the secret."""
    assert MARK.encode() not in ran.stdout + ran.stderr
    assert b"Traceback" not in ran.stderr
    assert ran.returncode != 70
    for file in folder.rglob("*"):
        if file.is_file() and file.resolve().name != "secret.conf":
            assert MARK.encode() not in file.read_bytes(), file


def refuse_shown(ran: Any, folder: Path) -> None:
    """Check that neither what a command printed nor what it wrote has the secret."""
    assert MARK not in ran.out.decode("utf-8", "replace") + ran.err
    assert "Traceback" not in ran.err
    assert ran.status != 70
    for file in folder.rglob("*"):
        if file.is_file() and file.name != "secret.conf":
            assert MARK.encode() not in file.read_bytes(), file


@pytest.mark.no_cover
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_shows_directives_outside(run: Any, command: tuple[str, ...], tmp_path: Path) -> None:
    """Whatever rules and models find there, and in every format: neither output nor files have a word of it."""
    for name in ("findings", "twice", "map", "bad listen", "bad pattern"):
        shutil.rmtree(tmp_path / "site", ignore_errors=True)
        texts = READABLE[name], READABLE["upstream"], READABLE["header"], READABLE["server"], READABLE["rewrites"]
        site(tmp_path, "".join(dict.fromkeys(texts)))
        refuse_shown(run(*command), tmp_path)


@pytest.mark.no_cover
@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_no_command_shows_text_outside(run: Any, text: str, tmp_path: Path) -> None:
    """Nor of a file that is no part of a configuration."""
    site(tmp_path, text)
    for command in COMMANDS[:2] + COMMANDS[8:]:
        refuse_shown(run(*command), tmp_path)
    assert (tmp_path / "secret.conf").read_text("latin-1") == text


CHANGED = "events {} http { include ../secret.conf; server { listen 80; return 302 /x${inner}x; } }\n"


@pytest.mark.parametrize(
    "text", ["map $uri $inner { default %s; }", "log_format a $%s;", "map $uri $inner { ~(%sX 1; }"]
)
def test_a_word_is_not_shown_with_a_letter_more_or_in_another_case(run: Any, text: str, tmp_path: Path) -> None:
    """The configuration can put letters to a word, and nginx writes the names of variables small."""
    site(tmp_path, text % MARK)
    (tmp_path / "site" / "nginx.conf").write_text(CHANGED)
    for command in (("check", "site/nginx.conf"), ("trace", "site/nginx.conf", "http://a/"), ("lint", "site")):
        ran = run(*command)
        assert MARK.lower() not in (ran.out.decode() + ran.err).lower()


@pytest.mark.nginx
@pytest.mark.parametrize("command", [("lint", "--isolated"), ("rewrite-to-map",)])
def test_an_option_before_the_path_names_no_more(run: Any, command: tuple[str, ...], tmp_path: Path) -> None:
    """`--nginx FILE` names the file, and not the working directory."""
    site(tmp_path, f"{MARK} on;\n" + "".join(f"rewrite ^/{MARK}{at}$ /{MARK} permanent;\n" for at in range(9)))
    refuse_shown(run(*command, "--nginx", "site/nginx.conf"), tmp_path)


@every_row("way", ["absolute", "link", "link to a directory", "wildcard", "main", "settings", "baseline"])
def test_ways_out(way: str, tmp_path: Path) -> None:
    """By an absolute path, by links, by a link in place of the main file, and by settings."""
    secret = f"SECRET={MARK}\n"
    folder = site(tmp_path, secret, "none.conf")
    inner, outer = folder / "site", folder / "secret.conf"
    main = inner / "nginx.conf"
    named = "site/nginx.conf"
    if way == "absolute":
        main.write_text(TEXT.format(include=outer))
    elif way == "link":
        main.write_text(TEXT.format(include="a.conf"))
        (inner / "a.conf").symlink_to(outer)
    elif way == "link to a directory":
        main.write_text(TEXT.format(include="up/secret.conf"))
        (inner / "up").symlink_to(folder)
    elif way == "wildcard":
        main.write_text(TEXT.format(include="/proc/self/../self/environ"))
    elif way == "main":
        main.unlink()
        main.symlink_to(outer)
        named = str(main)
    elif way == "settings":
        (inner / "nginxopt.toml").symlink_to(outer)
    else:
        (inner / "nginxopt.toml").write_text(f'baseline = "{outer}"\nmain = "{outer}"\n')
    where = folder
    if way in ("settings", "baseline"):
        where, named = inner, "nginx.conf"
    for form in ("text", "json"):
        ran = ran_in("lint", named, "--format", form, folder=where, VARIABLE=MARK)
        refuse_mark(ran, folder)
        # nginx reads as many bytes as a file has by its size, which is none here
        assert ran.returncode in ((0,) if way == "wildcard" else (1, 3))


def test_what_is_named_is_shown(tmp_path: Path) -> None:
    """A named file, and one below a directory of --also, are shown with their lines."""
    folder = site(tmp_path, f"SECRET={MARK}\n")
    assert MARK.encode() in ran_in("lint", "secret.conf", folder=folder).stdout
    assert MARK.encode() in ran_in("lint", "site/nginx.conf", "--also", ".", folder=folder).stdout
    hidden = ran_in("lint", "site/nginx.conf", folder=folder)
    assert b"secret.conf:1:1: error cannot be read like this" in hidden.stdout
    assert hidden.returncode == 3


FIXABLE = "gzip on;\ngzip_types text/css;\ngzip_comp_level 9;\n"


@pytest.mark.parametrize("include", ["../secret.conf", "link.conf", "up/secret.conf"])
def test_nothing_outside_changes(include: str, tmp_path: Path) -> None:
    """--fix leaves a file outside, names it, and exits with 1; --also lets it change, and all changes are named."""
    folder = site(tmp_path, FIXABLE, include.format(tmp_path))
    (folder / "site" / "nginx.conf").write_text(f"events {{}}\nhttp {{ include {include.format(tmp_path)}; }}\n")
    (folder / "site" / "link.conf").symlink_to("../secret.conf")
    (folder / "site" / "up").symlink_to("..")
    left = ran_in("lint", "site/nginx.conf", "--fix", "--fail-on", "error", folder=folder)
    assert (folder / "secret.conf").read_text() == FIXABLE
    assert b"outside of the named paths: left; --also DIR changes it" in left.stdout
    assert left.returncode == 1
    shown = ran_in("lint", "site/nginx.conf", "--fix", "--fail-on", "error", "--format", "json", folder=folder)
    summary = json.loads(shown.stdout)["summary"]
    assert summary["changed"] == []
    assert [Path(name).name in ("secret.conf", "link.conf") for name in summary["left"]] == [True]
    done = ran_in("lint", "site/nginx.conf", "--fix", "--also", str(folder), "-q", folder=folder)
    assert (folder / "secret.conf").read_text() != FIXABLE
    assert b"changed " in done.stdout


def test_format_leaves_links_that_lead_out(tmp_path: Path) -> None:
    """`format` of a directory leaves what a link in it leads to, names it, and exits with 1."""
    folder = site(tmp_path, "gzip   on;\n")
    (folder / "site" / "link.conf").symlink_to("../secret.conf")
    ran = ran_in("format", "site", folder=folder)
    assert (folder / "secret.conf").read_text() == "gzip   on;\n"
    assert b"would reformat site/link.conf, outside of the named paths: left" in ran.stderr
    assert ran.returncode == 1
    assert ran_in("format", "site", "--also", ".", folder=folder).returncode == 0
    assert (folder / "secret.conf").read_text() == "gzip on;\n"


OUTPUTS = (
    ("profile", "nginx.conf", "access.log", "--html"),
    ("profile", "nginx.conf", "access.log", "--save"),
    ("lint", "nginx.conf", "--output"),
    ("lint", "nginx.conf", "--write-baseline"),
    ("fleet", "lint", ".", "--output"),
    ("rewrite-to-map", "nginx.conf", "--report"),
    ("rewrite-to-map", "table.csv", "-o"),
    ("rules", "new", "my-rule", "--folder"),
    ("bench", "rewrites", "--counts", "1", "--emit"),
)


@pytest.mark.parametrize("words", OUTPUTS, ids=" ".join)
def test_no_output_leads_out(words: tuple[str, ...], run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link in a repository, to a file, to nothing or to a folder, does not choose what an output replaces."""
    repository, outside = tmp_path / "repository", tmp_path / "outside"
    for folder in (repository, outside):
        folder.mkdir()
    (repository / "nginx.conf").write_text("events {}\nhttp { server { listen 80; } }\n")
    (repository / "table.csv").write_text("from,to\n/a,/b\n")
    (repository / "access.log").write_text(
        '127.0.0.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n'
    )
    (outside / "file").write_text("")
    for name in ("file", "nothing"):
        (repository / name).symlink_to(f"../outside/{name}")
    (repository / "folder").symlink_to(outside)
    monkeypatch.chdir(repository)
    for name in ("file", "nothing", "folder", "folder/new"):
        ran = run(*words, name)
        assert ran.status in (2, 3)
        assert "outside of" in ran.err or name in ("file", "folder")  # others are refused for what they are
        assert [(file.name, file.read_bytes()) for file in outside.iterdir()] == [("file", b"")]


def test_rewrite_to_map_changes_nothing_if_it_would_change_a_file_outside(tmp_path: Path) -> None:
    """The proof is of both files, so neither changes; the error names the file."""
    rules = "".join(f"rewrite ^/old{number}$ /new{number} permanent;\n" for number in range(9))
    folder = site(tmp_path, rules)
    main = folder / "site" / "nginx.conf"
    main.write_text("events {}\nhttp { server { include ../secret.conf; } server { listen 81; " + rules + "} }\n")
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    ran = ran_in("rewrite-to-map", "site/nginx.conf", "--write", folder=folder)
    assert ran.returncode == 3
    assert b"would change site/../secret.conf, outside of the named paths: left; nothing was written" in ran.stderr
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
    assert ran_in("rewrite-to-map", "site/nginx.conf", "--write", "--also", ".", folder=folder).returncode == 0


def test_a_hard_link_changes_under_the_name_that_is_used(tmp_path: Path) -> None:
    """The other names of a file cannot be found: it is changed in place, with a note that says so."""
    folder = site(tmp_path, FIXABLE, "hard.conf")
    (folder / "site" / "nginx.conf").write_text("events {}\nhttp { include hard.conf; }\n")
    os.link(folder / "secret.conf", folder / "site" / "hard.conf")
    ran = ran_in("lint", "site/nginx.conf", "--fix", folder=folder)
    assert b"hard links" in ran.stdout
    assert (folder / "secret.conf").read_text() == (folder / "site" / "hard.conf").read_text() != FIXABLE


@pytest.mark.skipif(os.getuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
@pytest.mark.no_cover  # the other user may not write what is measured
def test_another_user_sees_where_and_not_what(tmp_path: Path) -> None:
    """A file without read permission is reported as unreadable, and nothing is written."""
    folder = site(tmp_path, f"SECRET={MARK}\n")
    (folder / "secret.conf").chmod(0o600)
    for path in (folder, *folder.parents):
        if path.is_relative_to(tmp_path.parent.parent):
            path.chmod(path.stat().st_mode | 0o055)
    code = "from nginxopt.cli import main; main()"
    ran = subprocess.run(
        [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            sys.executable,
            "-c",
            code,
            "lint",
            "site",
            "--fix",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=False,
    )
    assert MARK.encode() not in ran.stdout + ran.stderr
    assert b"Traceback" not in ran.stderr
