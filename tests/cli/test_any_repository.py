"""Repositories as they are: what is read of them, what is skipped, and where their includes lead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nginxopt.config import places
from nginxopt.lint.report import FORMATS

SLOW = "gzip on; gzip_types text/css; gzip_comp_level 9;\n"
LINT = ("lint", "--target-version", "1.28.0", "--select", "gzip-level", "--format", "json")

# The files of a repository, with `MACHINE` for the folder where this machine has its nginx, whose files have `SLOW`.
# Then the files with a finding, those with an error, and words of the notes.
REPOSITORIES: dict[str, tuple[dict[str, str], list[str], list[str], list[str]]] = {
    "a playbook": (
        {
            "roles/web/templates/nginx.conf.j2": f"events {{}}\nhttp {{\n    {SLOW}    include {{{{ x }}}};\n}}\n",
            "roles/web/templates/site.conf.j2": f"{{% if tls %}}\nserver {{\n    {SLOW}}}\n{{% endif %}}\n",
            "roles/web/templates/vars.yml.j2": "a: {{ b }}\n",
            "roles/web/files/supervisord.conf": "[program:nginx]\ncommand=nginx\n",
            "roles/web/files/logrotate.conf": "/var/log/nginx/*.log {\n    daily\n}\n",
            "roles/web/tasks/main.yml": "- name: nginx\n",
        },
        ["roles/web/templates/nginx.conf.j2", "roles/web/templates/site.conf.j2"],
        [],
        ["3 files do not look like nginx's", "this is a Jinja template"],
    ),
    "a copy with links": (
        {
            "etc/nginx.conf": "events {}\nhttp { include MACHINE/mime.types; include MACHINE/sites-enabled/*; }\n",
            "etc/sites-available/shop": f"server {{ {SLOW} }}\n",
            "etc/sites-enabled/shop": "-> MACHINE/sites-available/shop",
            "etc/sites-enabled/own": "-> MACHINE/conf.d/own.conf",
        },
        ["etc/sites-available/shop"],
        [],
        ["mime.types is taken from this machine", "sites-enabled/own cannot be read (leads out of the tree)"],
    ),
    "files of the machine": (
        {"nginx.conf": "events {}\nhttp {\n    include MACHINE/conf.d/*.conf;\n    include MACHINE/own.conf;\n}\n"},
        [],
        [],
        ["conf.d/*.conf matches no file here", "own.conf cannot be read and is not checked"],
    ),
    "the same missing file in many fragments": (
        {f"conf.d/{name}.conf": "include MACHINE/tls.conf;\nlisten 80;\n" for name in "abc"},
        [],
        [],
        ["tls.conf cannot be read and is not checked (nor for 2 other includes)"],
    ),
    "settings that name folders": (
        {
            "nginxopt.toml": '[include]\n"MACHINE/conf.d" = "sites"\n',
            "deploy/nginx.conf": "events {}\nhttp {\n    include MACHINE/conf.d/*.conf;\n}\n",
            "sites/a.conf": SLOW,
        },
        ["sites/a.conf"],
        [],
        [],
    ),
    "a broken file among those of other programs": (
        {"a.conf": "server {\n    listen 80;\n", "b.conf": "[b]\nc = d\n", "nginx.tmpl": "server {\n    {{ x }};\n"},
        [],
        ["a.conf"],
        ["1 file does not look like nginx's and is not checked: b.conf", "template"],
    ),
}


def plant(tree: dict[str, str], machine: Path) -> None:
    """Write the files and links of a repository into the working directory."""
    for name, text in tree.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = text.replace("MACHINE", str(machine))
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        else:
            path.write_text(text)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where this machine has its nginx; the working directory is another one."""
    folder = tmp_path / "machine"
    for name in ("conf.d/own.conf", "own.conf", "sites-available/own"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(SLOW)
    (folder / "mime.types").write_text("types {}\n")
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    monkeypatch.chdir(repository)
    monkeypatch.setattr(places, "INSTALLED", (str(folder), *places.INSTALLED))
    return folder


@pytest.mark.parametrize("case", REPOSITORIES.values(), ids=REPOSITORIES)
def test_a_repository_is_linted(
    run: Any, machine: Path, case: tuple[dict[str, str], list[str], list[str], list[str]]
) -> None:
    """What is nginx's is judged, the rest is no error, and what was not read is noted once."""
    tree, found, faulty, noted = case
    plant(tree, machine)
    report = json.loads(run(*LINT, ".").out)
    assert sorted({finding["file"] for finding in report["diagnostics"]}) == found
    assert [error["file"] for error in report["errors"]] == faulty
    messages = [note["message"] for note in report["notes"]]
    assert [sum(words in message for message in messages) for words in noted] == [1] * len(noted)


def test_no_finding_is_in_a_file_of_the_machine(run: Any, machine: Path) -> None:
    """A type that its mime.types has as well is a finding at the line of the repository."""
    (machine / "mime.types").write_text("types { text/html html; text/css html; }\n")
    plant(
        {"nginx.conf": "events {}\nhttp {\n    types { text/plain html; }\n    include MACHINE/mime.types;\n}\n"},
        machine,
    )
    found = json.loads(run("lint", "--select", "start-warning", "--format", "json", ".").out)["diagnostics"]
    assert [(each["file"], each["line"]) for each in found] == [("nginx.conf", 3)]


MAIN = """\
events {}
http {
    include MACHINE/conf.d/*.conf;
    server {
        listen 127.0.0.1:8080;
        include MACHINE/rules.conf;
    }
}
"""
RULES = "".join(f"rewrite ^/a{number}$ /b{number} permanent;\n" for number in range(30))


@pytest.mark.parametrize("where", ["", "nginx"], ids=["found", "stated"])
def test_all_commands_read_the_same_files(run: Any, machine: Path, where: str) -> None:
    """`check`, `trace`, `test`, `verify` and `rewrite-to-map` read a copy as `lint` does."""
    plant({f"{where or 'site'}/rules.conf": RULES, "site/nginx.conf": MAIN}, machine)
    if where:
        plant({"nginxopt.toml": f'[include]\n"{machine}" = "{where}"\n'}, machine)
    assert run("check", "site/nginx.conf", "-q").status == 0
    assert "/b7" in run("trace", "site/nginx.conf", "http://127.0.0.1:8080/a7").out.decode()
    Path("redirects.csv").write_text("from,to,status\n/a7,/b7,301\n")
    assert run("test", "site/nginx.conf", "redirects.csv", "--base", "http://127.0.0.1:8080").status == 0
    assert run("verify", "site/nginx.conf", "site/nginx.conf").status in (0, 2)
    assert run("rewrite-to-map", "--check", f"{where or 'site'}/rules.conf", "-c", "site/nginx.conf").status == 1


@pytest.mark.parametrize("format_", FORMATS)
def test_fix_lists_the_files_that_it_changes(run: Any, machine: Path, format_: str) -> None:
    """Every report names each changed file: in itself, or on standard error."""
    main = f"events {{}}\nhttp {{\n    include {machine}/own.conf;\n    {SLOW}}}\n"
    plant({"nginx.conf": main, "own.conf": "server_tokens off;\n"}, machine)
    ran = run("lint", "nginx.conf", "--fix", "--select", "gzip-level", "--format", format_)
    said = ran.out.decode() + ran.err
    changed = json.loads(said)["summary"]["changed"] if format_ == "json" else said
    assert ("nginx.conf" if format_ == "json" else "changed nginx.conf") in changed
    assert (machine / "own.conf").read_text() == SLOW
    assert "gzip_comp_level 6" in Path("nginx.conf").read_text()


def test_files_that_are_named_by_pre_commit(run: Any, machine: Path) -> None:
    """With --by-content, files of other programs are skipped though they are named."""
    plant({"a.conf": SLOW, "b.conf": "[b]\nc = d\n"}, machine)
    assert run(*LINT, "a.conf", "b.conf").status == 3
    report = json.loads(run(*LINT, "--by-content", "a.conf", "b.conf").out)
    assert [len(report["diagnostics"]), len(report["errors"]), len(report["notes"])] == [1, 0, 1]
    assert run("format", "--by-content", "a.conf", "b.conf").status == 0
    assert run("format", "b.conf").status == 3
    assert run(*LINT, "--by-content", "b.conf").status == 0


def test_templates_of_a_folder_are_left_by_other_commands(run: Any, machine: Path) -> None:
    """`check` and `format` skip the templates of a folder with a note, and refuse those that are named."""
    plant({"a.conf.j2": "server {\n    listen {{ port }};\n}\n", "b.conf": "listen 80;\n"}, machine)
    ran = run("check", ".")
    assert (ran.status, "a.conf.j2:2:12: " in ran.err) == (0, True)
    ran = run("format", ".", "--check")
    assert (ran.status, "skipped 1 template, such as a.conf.j2" in ran.err) == (0, True)
    assert run("check", "a.conf.j2").status == run("format", "a.conf.j2", "--check").status == 3
