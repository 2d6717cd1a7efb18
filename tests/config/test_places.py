"""Where the files of absolute includes are found if a configuration is not where nginx reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load, places
from nginxopt.config.filesystem import Disk
from nginxopt.config.inputs import InputOptions, read
from nginxopt.config.places import is_of_machine

# The files of a tree below `repo/`, each with its text or the target of a link (`-> target`); HERE is `repo`
# and MACHINE the folder where this machine has its nginx. Then the main file, and the other files that are read.
_WEB, _SITE, _OTHER = "docker/web.conf", ["docker/site.conf"], ["sites/other.conf"]
_MAIN = "FROM nginx\nRUN rm -rf MACHINE/sites/* \\\n  && rm MACHINE/nginx.conf\nCOPY web.conf MACHINE/nginx.conf\n"
_ABOVE = "FROM nginx\nCOPY docker/web.conf MACHINE/\nCOPY --chown=1:1 docker/web.conf MACHINE/nginx.conf\n"
_COMPOSE = "volumes:\n- ./docker/web.conf:MACHINE/nginx.conf:ro\n- './docker/site.conf:MACHINE/sites/a.conf'\n"
_SCRIPT = "RUN cp /opt/more.conf MACHINE/sites/more.conf\n"

CASES: dict[str, tuple[dict[str, str], str, list[str]]] = {
    "a copy of the folder": (
        {"nginx.conf": "include MACHINE/conf.d/*.conf;", "conf.d/b.conf": "", "conf.d/a.conf": ""},
        "nginx.conf",
        ["conf.d/a.conf", "conf.d/b.conf"],
    ),
    "a copy deeper in a repository": (
        {".git": "", "x/site/nginx.conf": "include MACHINE/a.conf;", "x/site/a.conf": "", "a.conf": ""},
        "x/site/nginx.conf",
        ["x/site/a.conf"],
    ),
    "nothing of the machine is mixed in": (
        {"nginx.conf": "include MACHINE/sites/*; include MACHINE/own.conf;"},
        "nginx.conf",
        [],
    ),
    "a folder that is there and empty": (
        {"nginx.conf": "include MACHINE/sites/*.conf;", "sites/readme": ""},
        "nginx.conf",
        [],
    ),
    "what all packages have": (
        {"nginx.conf": "include MACHINE/mime.types;"},
        "nginx.conf",
        ["MACHINE/mime.types"],
    ),
    "what all packages have, in the tree": (
        {"nginx.conf": "include MACHINE/mime.types;", "mime.types": ""},
        "nginx.conf",
        ["mime.types"],
    ),
    **{
        f"what a build puts there: {name}": (
            {
                "nginx.conf": "include MACHINE/sites/*.conf;",
                "docker/web.conf": "include MACHINE/sites/*.conf;",
                "docker/site.conf": "",
                "sites/other.conf": "",
                build: text,
            },
            main,
            expected,
        )
        for name, build, text, main, expected in (
            ("a Dockerfile", "docker/Dockerfile", f"{_MAIN}COPY site.conf MACHINE/sites/a.conf\n", _WEB, _SITE),
            (
                "from the folder above",
                "Dockerfile",
                f"{_ABOVE}ADD docker/site.conf MACHINE/sites/a.conf\n",
                _WEB,
                _SITE,
            ),
            ("a compose file", "compose.yml", _COMPOSE, _WEB, _SITE),
            ("with another suffix", "docker/Dockerfile", f"{_MAIN}COPY site.conf MACHINE/sites/a\n", _WEB, []),
            ("a folder", "docker/Dockerfile", f"{_MAIN}COPY sites MACHINE/sites\n", _WEB, _OTHER),
            (
                "and a script more",
                "docker/Dockerfile",
                f"{_MAIN}COPY site.conf MACHINE/sites/a.conf\n{_SCRIPT}",
                _WEB,
                _OTHER,
            ),
            (
                "for another main file",
                "docker/Dockerfile",
                f"{_MAIN}COPY site.conf MACHINE/sites/a.conf\n",
                "nginx.conf",
                _OTHER,
            ),
        )
    },
    "a fragment": (
        {"nginx.conf": "", "sites/a": "include MACHINE/snippets/s.conf;", "snippets/s.conf": ""},
        "sites/a",
        ["snippets/s.conf"],
    ),
    "a fragment of a repository without a main file": (
        {".git": "", "sites/a": "include MACHINE/snippets/s.conf;", "snippets/s.conf": ""},
        "sites/a",
        ["snippets/s.conf"],
    ),
    "no tree, as neither a repository nor a main file is above": (
        {"sites/a": "include MACHINE/snippets/s.conf;", "snippets/s.conf": ""},
        "sites/a",
        [],
    ),
    "an include of an include": (
        {
            "nginx.conf": "include sites/*;",
            "sites/a": "include MACHINE/snippets/s.conf;",
            "snippets/s.conf": "",
        },
        "nginx.conf",
        ["sites/a", "snippets/s.conf"],
    ),
    "a root file system": (
        {
            ".git": "",
            "rootfs/etc/nginx/nginx.conf": "include /etc/nginx/conf.d/*.conf; include /opt/site/*.conf;",
            "rootfs/etc/nginx/conf.d/a.conf": "",
            "rootfs/opt/site/b.conf": "",
            "conf.d/no.conf": "",
        },
        "rootfs/etc/nginx/nginx.conf",
        ["rootfs/etc/nginx/conf.d/a.conf", "rootfs/opt/site/b.conf"],
    ),
    "a package, unpacked": (
        {
            "package/etc/sso/site.conf": "include /etc/sso/*.d/*.conf; include /usr/share/sso/tls.conf;",
            "package/etc/sso/nginx.d/a.conf": "",
            "package/usr/share/sso/tls.conf": "",
            "usr/share/sso/tls.conf": "",
        },
        "package/etc/sso/site.conf",
        ["package/etc/sso/nginx.d/a.conf", "package/usr/share/sso/tls.conf"],
    ),
    "a folder nginx beside the main file": (
        {"nginx.conf": "include MACHINE/conf.d/*.conf;", "nginx/conf.d/a.conf": ""},
        "nginx.conf",
        ["nginx/conf.d/a.conf"],
    ),
    "a prefix of one's own": (
        {"nginx.conf": "include /srv/x/nginx/conf/vhost/*.conf;", "vhost/a.conf": ""},
        "nginx.conf",
        ["vhost/a.conf"],
    ),
    "folders beside conf": (
        {".git": "", "conf/nginx.conf": "include /srv/x/nginx/vhost/*.conf;", "vhost/a.conf": ""},
        "conf/nginx.conf",
        ["vhost/a.conf"],
    ),
    "the deepest common folder": (
        {
            "nginx.conf": "include /srv/none/web/vhost/*.conf; include /srv/none/web/tls.conf;",
            "vhost/a.conf": "",
            "tls.conf": "",
        },
        "nginx.conf",
        ["vhost/a.conf", "tls.conf"],
    ),
    "the folder of another main file": (
        {
            ".git": "",
            "nginx.conf": "include MACHINE/conf.d/*.conf;",
            "conf.d/a.conf": "",
            "tls.conf": "",
            "stock/nginx.conf": "include MACHINE/conf.d/*.conf; include MACHINE/tls.conf;",
        },
        "stock/nginx.conf",
        ["tls.conf"],
    ),
    "a folder stands for one folder": (
        {
            "nginx.conf": "include MACHINE/conf.d/*.conf;",
            "conf.d/a.conf": "location / { include /home/a/nginx/conf.d/*.conf; include MACHINE/conf.d/*.inc; }",
            "conf.d/b.inc": "",
        },
        "nginx.conf",
        ["conf.d/a.conf", "conf.d/b.inc"],
    ),
    "files of a share are no configuration": (
        {"nginx.conf": "include /usr/share/nginx/modules/*.none;", "modules/a.none": ""},
        "nginx.conf",
        [],
    ),
    "the main file is not among its includes": (
        {"nginx.conf": "include MACHINE/*.conf;", "a.conf": ""},
        "nginx.conf",
        [],
    ),
    "its own place, by what it includes": (
        {"nginx.conf": "include HERE/conf.d/*.conf;", "conf.d/a.conf": ""},
        "nginx.conf",
        ["conf.d/a.conf"],
    ),
    "no way out by dots": (
        {"nginx.conf": "include MACHINE/../secret.conf; include MACHINE/x/../../../secret.conf;"},
        "nginx.conf",
        ["../secret.conf"],  # as nginx reads the first one: a path of this machine
    ),
    "no way out by a link": (
        {"nginx.conf": "include MACHINE/conf.d/*.conf;", "conf.d/a.conf": "-> ../../secret.conf", "conf.d/b.conf": ""},
        "nginx.conf",
        ["conf.d/b.conf"],
    ),
    "no way out by a folder": (
        {"nginx.conf": "include MACHINE/conf.d/*.conf;", "conf.d": "-> ../outside"},
        "nginx.conf",
        [],
    ),
    "links of sites-enabled": (
        {
            "nginx.conf": "include MACHINE/sites-enabled/*;",
            "sites-enabled/a": "-> MACHINE/sites-available/a",
            "sites-enabled/b": "-> ../sites-available/b",
            "sites-available/a": "",
            "sites-available/b": "",
        },
        "nginx.conf",
        ["sites-available/a", "sites-enabled/b"],
    ),
    "such a link by a relative path": (
        {"nginx.conf": "include sites-enabled/*;", "sites-enabled/own": "-> MACHINE/own.conf"},
        "nginx.conf",
        [],
    ),
    "a link of sites-enabled to what only the machine has": (
        {"nginx.conf": "include MACHINE/sites-enabled/*;", "sites-enabled/own": "-> MACHINE/own.conf"},
        "nginx.conf",
        [],
    ),
}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where this machine has its nginx, with files."""
    folder = tmp_path / "machine"
    for name in ("mime.types", "own.conf", "conf.d/own.conf", "sites/own"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    for name in ("secret.conf", "outside/out.conf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(places, "INSTALLED", (str(folder), *places.INSTALLED))
    monkeypatch.chdir(tmp_path)
    return folder


def plant(tree: dict[str, str], machine: Path) -> Path:
    """Write the files and links of a tree."""
    repo = machine.parent / "repo"
    for name, text in tree.items():
        path = repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = text.replace("MACHINE", str(machine)).replace("HERE", str(repo))
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        else:
            path.write_text(text)
    return repo


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("is_relative", [False, True], ids=["absolute", "relative"])
def test_what_is_read(machine: Path, case: tuple[dict[str, str], str, list[str]], *, is_relative: bool) -> None:
    """The files that belong to a copy are those of its tree."""
    tree, main, expected = case
    repo = plant(tree, machine)
    start = Path("repo") if is_relative else repo
    config = load(start / main, missing_ok=True)
    assert [Path(file.path).resolve() for file in config.files[1:]] == [
        (repo / name.replace("MACHINE", str(machine))).resolve() for name in expected
    ]


def test_files_are_named_as_people_do(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder of the main file, names do not begin with `./`."""
    tree = {"sites-enabled/a": "-> MACHINE/sites-available/a", "sites-available/a": "", "b.conf": ""}
    monkeypatch.chdir(plant({"nginx.conf": "include sites-enabled/*; include MACHINE/b.conf;", **tree}, machine))
    assert [file.path for file in load("nginx.conf").files[1:]] == ["sites-available/a", "b.conf"]


def test_a_configuration_in_its_own_place(machine: Path) -> None:
    """What is installed on this machine reads the files of this machine, wherever they are."""
    other = plant({"x/a.conf": ""}, machine) / "x"
    (machine / "nginx.conf").write_text(f"include {machine}/conf.d/*.conf; include {other}/*.conf; include own.conf;")
    config = load(machine / "nginx.conf", missing_ok=True)
    assert [file.path for file in config.files[1:]] == [
        f"{machine}/conf.d/own.conf",
        f"{other}/a.conf",
        f"{machine}/own.conf",
    ]
    assert not any(is_of_machine(config, include) for include in config.includes)


def test_a_repository_that_is_linked_into_its_place(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the installed folder is a link to the repository, the paths of this machine are right."""
    repo = plant({"nginx.conf": "include OUT/own.conf;", "own.conf": ""}, machine)
    (machine.parent / "linked").symlink_to(repo)
    monkeypatch.setattr(places, "INSTALLED", (str(machine.parent / "linked"), str(machine)))
    (repo / "nginx.conf").write_text(f"include {machine}/own.conf;")
    config = load(repo / "nginx.conf", missing_ok=True)
    assert [file.path for file in config.files[1:]] == [f"{machine}/own.conf"]


def test_what_is_taken_from_this_machine_is_known(machine: Path) -> None:
    """An include of a copy that leads out of its tree reads the machine's file, and says so."""
    repo = plant(
        {"nginx.conf": "include OUT/out.conf; include MACHINE/mime.types; include a.conf;", "a.conf": ""}, machine
    )
    text = (repo / "nginx.conf").read_text().replace("OUT", str(machine.parent / "outside"))
    (repo / "nginx.conf").write_text(text)
    config = load(repo / "nginx.conf", missing_ok=True)
    assert [is_of_machine(config, include) for include in config.includes] == [True, True, False]


def test_folders_that_are_stated(machine: Path) -> None:
    """What the settings say counts before all else, for what is installed, too, and the longest path counts most."""
    tree = {"nginx.conf": "include MACHINE/conf.d/*.conf; include MACHINE/own.conf;", "conf.d/a.conf": ""}
    repo = plant(tree | {"deploy/conf.d/b.conf": "", "sites/c.conf": ""}, machine)
    files = Disk({str(machine): str(repo / "deploy")})
    config = load(repo / "nginx.conf", missing_ok=True, files=files)
    assert [file.path for file in config.files[1:]] == [f"{repo}/deploy/conf.d/b.conf"]
    assert [str(include.args[0]) for include in config.missing] == [f"{machine}/own.conf"]
    files = Disk({str(machine): str(machine), f"{machine}/conf.d/": str(repo / "sites")})
    config = load(repo / "nginx.conf", missing_ok=True, files=files)
    assert [file.path for file in config.files[1:]] == [f"{repo}/sites/c.conf", f"{machine}/own.conf"]


def test_a_stated_prefix(machine: Path) -> None:
    """With -p the folder of the prefix comes first."""
    tree = {".git": "", "conf/nginx.conf": "include MACHINE/conf.d/*.conf;", "conf.d/a.conf": "", "p/conf.d/b.conf": ""}
    repo = plant(tree, machine)
    (config,) = read([f"{repo}/conf/nginx.conf"], InputOptions(f"{repo}/p")).configs
    assert [file.path for file in config.files[1:]] == [f"{repo}/p/conf.d/b.conf"]


def test_fragments_of_a_folder_are_part_of_the_main_file(machine: Path) -> None:
    """A folder is read by what includes what: an absolute include of the main file takes the fragments in."""
    tree = {
        "nginx.conf": "http { include MACHINE/conf.d/*.conf; }",
        "conf.d/a.conf": "listen 80;",
        "z.conf": "listen 81;",
    }
    plant(tree, machine)
    assert [config.main.path for config in read(["repo"]).configs] == ["repo/nginx.conf", "repo/z.conf"]


def test_a_template_finds_its_includes_as_well(machine: Path) -> None:
    """The includes of a template are looked for in the tree."""
    tree = {"nginx.conf": "http { include MACHINE/conf.d/*.conf; server_tokens {{ x }}; }", "conf.d/a.conf": "gzip on;"}
    plant(tree, machine)
    (config,) = read(["repo/nginx.conf"], InputOptions(templates=True)).configs
    assert [file.path for file in config.files] == ["repo/nginx.conf", "repo/conf.d/a.conf"]
