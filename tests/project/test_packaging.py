"""The published packages: the source distribution, its wheel, the image, and the cost of an import."""

from __future__ import annotations

import base64
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from nginxopt.bench.runner.engine import Engine
from release import complete, crates
from release.__main__ import recipes
from tests.project.conftest import Twins
from tests.support import PATIENCE, made_once, tracked

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
_FIRST_LINT = 2.0  # seconds
_NO_INDEX = re.compile(
    r"Failed to fetch|Could not connect|onnection|timed out|dns error|No matching distribution|in the package registry"
)
"""What pip, pipx and uv say where no package index answers."""
INFO = f"nginxopt-{PROJECT['project']['version']}.dist-info"


@pytest.fixture(scope="module")
def built(twins: Twins) -> Path:
    """The wheel for old systems that is built from the source distribution."""
    return twins.one


@pytest.fixture(scope="module")
def wheel(built: Path) -> set[str]:
    """The names of the files in the wheel."""
    return {name for name in zipfile.ZipFile(built).namelist() if not name.endswith("/")}


SYSTEM = shutil.which("python3", path="/usr/bin") or sys.executable
"""The Python of the system, as the images and the package have it."""


def _release(python: str) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def house(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder `dist` with the wheel and those that it needs, in one to build an image from."""
    folder = tmp_path_factory.mktemp("image")
    shutil.copytree(ROOT / "release", folder / "release")
    (folder / "dist").mkdir()
    shutil.copy(built, folder / "dist")
    download = [
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--only-binary=:all:",
        f"--python-version={_release(SYSTEM)}",
        "--dest",
        str(folder / "dist"),
    ]
    command = [sys.executable, "-m", "pip", *download, *PROJECT["project"]["dependencies"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no package index: {done.stderr.strip().splitlines()[-1]}")
    return folder


def test_the_sdist_holds_all_sources(sdist: Path) -> None:
    """Every file that a build needs, and what is to be read first, is in the source distribution."""
    wanted = tracked("nginxopt", "rules", "rust/src", "rust/build.rs", "rust/Cargo.toml", "rust/Cargo.lock", ".cargo")
    wanted |= {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"}
    assert {name for name in wanted if not (sdist / name).exists()} == set()


def test_the_wheel_holds_the_package(wheel: set[str]) -> None:
    """Every file of the package is in the wheel, the rules as `nginxopt.rules`, and the extension."""
    rules = {f"nginxopt/{name}" for name in tracked("rules")}
    extensions = {name for name in wheel if name.startswith("nginxopt/_native.") and name.endswith(".so")}
    assert tracked("nginxopt") | rules <= wheel
    assert extensions == {"nginxopt/_native.abi3.so"}


def test_the_wheel_holds_nothing_else(wheel: set[str]) -> None:
    """No second top-level package and no Rust source is installed."""
    top = {name.split("/")[0] for name in wheel}
    distribution = f"nginxopt-{PROJECT['project']['version']}"
    assert top == {"nginxopt", f"{distribution}.dist-info", f"{distribution}.data"}
    installed = {Path(name).name for name in wheel if name.startswith(f"{distribution}.data/data/share/")}
    assert installed == {Path(name).name for name in tracked("docs/man", "docs/completions")}
    assert not [name for name in wheel if ".data/" in name and ".data/data/share/" not in name]
    assert [name for name in wheel if name.endswith((".rs", ".toml", ".pyc"))] == []


def test_the_wheel_runs_on_old_systems(built: Path) -> None:
    """It needs no C library later than glibc 2.17, which auditwheel has read from the extension, and Python 3.11."""
    assert re.fullmatch(r"nginxopt-[0-9.]+-cp311-abi3-(?:manylinux\S*\.)?manylinux_2_17_\w+\.whl", built.name)


def test_the_wheel_has_the_licences(built: Path) -> None:
    """Every crate and library that is linked in has its licence there, PCRE2's among them."""
    with zipfile.ZipFile(built) as archive:
        text = archive.read(f"{INFO}/licenses/THIRD-PARTY.txt").decode()
    for part in crates.linked(ROOT, complete.host()):
        assert f"\n{part.name} {part.version}".rstrip() in text
        assert all(license_ in text for license_ in part.texts)
    assert "University of Cambridge" in text
    assert "Zoltan Herczeg" in text


def test_the_wheel_has_a_bill_of_materials(built: Path) -> None:
    """CycloneDX 1.6, valid by its schema, with all crates that the lock file knows and that are linked in."""
    from cyclonedx.schema import SchemaVersion  # imports jsonschema, see `tests.schemas`
    from cyclonedx.validation.json import JsonStrictValidator

    with zipfile.ZipFile(built) as archive:
        text = archive.read(f"{INFO}/sboms/nginxopt.cdx.json").decode()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    listed = {part["name"] for part in json.loads(text)["components"]}
    assert {"PCRE2", "SLJIT", "Rust standard library", "regex-automata", "pyo3", "pcre2-sys"} <= listed
    assert not {"proptest", "cc", "syn"} & listed, "tools that build it are not in it"


@pytest.mark.extended
def test_a_bare_python_needs_no_compiler(house: Path, tmp_path: Path) -> None:
    """Installed into an empty environment, with neither cargo nor cc on PATH, it lints, compiles and proves."""
    subprocess.run([SYSTEM, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python, environment = tmp_path / "venv/bin/python", {"PATH": str(tmp_path / "venv/bin"), "HOME": str(tmp_path)}
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-index", "--find-links", str(house / "dist"), "nginxopt"], check=True)

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [tmp_path / "venv/bin/nginxopt", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)

    assert run("--version").stdout == f"nginxopt {PROJECT['project']['version']}\n"
    linted = run("lint", ROOT / "fixtures/slow-site/nginx.conf")
    assert (linted.returncode, linted.stderr) == (1, "")
    rules = tmp_path / "rules.conf"
    rules.write_text("".join(f"rewrite ^/a{number}$ /b{number} permanent;\n" for number in range(9)))
    compiled = run("rewrite-to-map", "rules.conf", "--context", "server")
    assert compiled.returncode == 0, compiled.stderr
    assert "; now 0\n" in compiled.stderr, "all moved, which only happens once it is proved"
    assert "\nmap $uri " in compiled.stdout


@pytest.fixture(scope="module")
def installers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of commands with those of uv and pipx."""

    def make(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=PATIENCE)
        command = [str(folder / "bin" / "pip"), "--disable-pip-version-check", "install", "--quiet", "uv", "pipx"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode:
            pytest.skip(f"no package index: {done.stderr.strip().splitlines()[-1]}")

    return made_once(tmp_path_factory, "installers", make) / "bin"


def interpreter(release: str) -> str:
    """Return the path of a Python, from PATH or pyenv; skip the test if there is none."""
    of_pyenv = sorted(map(str, Path.home().glob(f".pyenv/versions/{release}.*/bin/python")))
    for path in filter(None, (*of_pyenv, shutil.which(f"python{release}"))):
        asked = subprocess.run([path, "-m", "ensurepip", "--version"], capture_output=True, check=False)
        if asked.returncode == 0:
            return path
    pytest.skip(f"no Python {release} with pip")


@pytest.mark.extended
@pytest.mark.parametrize("release", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("installer", ["pip", "pipx", "uv"])
def test_installed_by(installer: str, release: str, built: Path, installers: Path, tmp_path: Path) -> None:
    """After each of the documented ways to install it, the first lint takes less than 2 seconds of the processor."""
    python, commands = interpreter(release), tmp_path / "bin"
    own = {"PIPX_HOME": tmp_path / "pipx", "PIPX_BIN_DIR": commands}
    own |= {"UV_TOOL_DIR": tmp_path / "uv", "UV_TOOL_BIN_DIR": commands, "UV_CACHE_DIR": tmp_path / "cache"}
    hidden = ("VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE", "UV_COMPILE_BYTECODE")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {name: str(path) for name, path in own.items()}
    steps: dict[str, list[list[str | Path]]] = {
        "pip": [[python, "-m", "venv", tmp_path], [commands / "pip", "install", "--quiet", built]],
        "pipx": [[installers / "pipx", "install", "--python", python, built]],
        "uv": [[installers / "uv", "tool", "install", "--no-python-downloads", "--python", python, built]],
    }

    def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    for step in steps[installer]:
        done = run(*step)
        if done.returncode and _NO_INDEX.search(done.stdout + done.stderr):
            pytest.skip(f"{installer} reaches no package index")
        assert done.returncode == 0, done.stdout + done.stderr
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    linted = run(commands / "nginxopt", "lint", ROOT / "fixtures/slow-site/nginx.conf")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (linted.returncode, linted.stderr) == (1, "")
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < _FIRST_LINT
    found = interpreter_of(commands / "nginxopt")
    assert run(found, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").stdout.strip() == release


def interpreter_of(command: Path) -> str:
    """Return the interpreter that a command names in its first line."""
    first, *rest = command.read_text().splitlines()
    return first.removeprefix("#!").split()[0] if first != "#!/bin/sh" else rest[0].split("'")[3]


@pytest.mark.extended
@pytest.mark.docker
def test_the_image(house: Path, engine: Engine, base_image: str) -> None:
    """The image is below 120 MB, runs as nobody in particular, has no shell, and asks its nginx without a network."""
    tag = "nginxopt-image-test"
    file = ["--file", str(house / "release/image/Dockerfile")]
    arguments = ["--build-arg", f"BASE={base_image}", "--build-arg", "PIP_NO_INDEX=1"]
    made = engine.run("build", *file, *arguments, "--tag", tag, str(house), seconds=900)
    assert made.status == 0, made.last()
    said = engine.run("image", "inspect", "--format", "{{.Size}} {{.Config.User}}", tag).output.decode().split()
    assert int(said[0]) < 120_000_000
    assert said[1] == "65532:65532"
    site = f"{ROOT / 'fixtures/slow-site'}:/work:ro"
    linted = engine.run("run", "--rm", "--network", "none", "--volume", site, tag, "lint", "nginx.conf", "--nginx")
    assert linted.status == 1
    assert b"(for nginx 1." in linted.output
    traced = ["trace", "nginx.conf", "http://shop.example.com:8080/chat/7", "--nginx"]
    assert engine.run("run", "--rm", "--network", "none", "--volume", site, tag, *traced).status == 0
    assert engine.run("run", "--rm", "--entrypoint", "/bin/sh", tag, "-c", "true").status != 0


@pytest.mark.parametrize("statement", ["import nginxopt", "import nginxopt.rewrite", "import nginxopt.errors"])
def test_an_import_loads_nothing_heavy(statement: str) -> None:
    """The package is imported without the parser, the extension, the templates or the command line."""
    heavy = ["crossplane", "nginxopt._native", "click", "jinja2", "nginxopt.config.configuration", "nginxopt.cli"]
    code = f"import sys; {statement}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.extended
@pytest.mark.skipif(shutil.which("dh") is None, reason="no debhelper: install it to build the Debian package")
def test_the_debian_package(house: Path, tmp_path: Path) -> None:
    """dpkg-buildpackage makes it of the wheels, and its command runs with what Debian has of the dependencies."""
    source = tmp_path / "nginxopt"
    shutil.copytree(ROOT / "release" / "debian", source / "debian")
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "WHEELS": str(house / "dist"), "HOME": str(tmp_path)}
    done = subprocess.run(
        ["dpkg-buildpackage", "--build=binary", "--unsigned-source", "--unsigned-changes"],
        cwd=source, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (package,) = tmp_path.glob("nginxopt_*.deb")
    subprocess.run(["dpkg-deb", "-x", str(package), str(tmp_path / "root")], check=True, timeout=PATIENCE)
    assert (tmp_path / "root" / "usr" / "share" / "man" / "man1" / "nginxopt-lint.1.gz").exists()
    command = tmp_path / "nginxopt.py"
    text = (tmp_path / "root" / "usr" / "bin" / "nginxopt").read_text()
    command.write_text(text.replace('"/usr/lib', f'"{tmp_path}/root/usr/lib'))
    if subprocess.run(["/usr/bin/python3", "-c", "import click, jinja2"], check=False, timeout=PATIENCE).returncode:
        pytest.skip("python3-click and python3-jinja2 are not installed")
    (tmp_path / "nginx.conf").write_text("events {}\nhttp {\n    gzip on;\n    gzip_comp_level 9;\n}\n")
    ran = subprocess.run(
        ["/usr/bin/python3", str(command), "lint", "nginx.conf", "--isolated"],
        cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "gzip-level" in ran.stdout


def test_the_debian_package_is_of_this_version() -> None:
    """Its version is that of the package, and it depends on what the package depends on, or brings it along."""
    folder = ROOT / "release" / "debian"
    version = PROJECT["project"]["version"]
    assert (folder / "changelog").read_text().startswith(f"nginxopt ({version}-1) ")
    (depends,) = re.findall(r"^Depends: (.*)$", (folder / "control").read_text(), re.MULTILINE)
    (minimum,) = re.findall(r">=([\d.]+)", PROJECT["project"]["requires-python"])
    assert f"python3 (>= {minimum})" in depends
    for dependency in PROJECT["project"]["dependencies"]:
        name, _, least = dependency.partition(">=")
        brought = f" {dependency}\n" in (folder / "rules").read_text()
        assert brought or f"python3-{name} (>= {least})" in depends, dependency


_RECIPES = {"nginxopt.rb": ("ruby", "-c"), "package.nix": ("nix-instantiate", "--parse")}


def test_the_recipes_are_of_this_version(tmp_path: Path) -> None:
    """They have its version, its dependencies with the hashes of the image, and the hash that was asked for."""
    digest = bytes(range(32))
    formula, expression = (path.read_text() for path in recipes(tmp_path, digest))
    version = PROJECT["project"]["version"]
    assert f"/nginxopt-{version}.tar.gz" in formula
    assert f'version = "{version}";' in expression
    assert f'sha256 "{digest.hex()}"' in formula
    assert f"sha256-{base64.b64encode(digest).decode()}" in expression
    pinned = (ROOT / "release" / "runtime.txt").read_text()
    resources = re.findall(r'resource "(.+)" do\n    url ".*/\1-(.+)\.tar\.gz"\n    sha256 "(.+)"', formula)
    assert {(name, release) for name, release, _ in resources} == set(
        re.findall(r"^(\S+)==(\S+)", pinned, re.MULTILINE)
    )
    assert all(f"--hash=sha256:{sha256}" in pinned for *_, sha256 in resources)
    (listed,) = re.findall(r"  dependencies = with python3Packages; \[\n(.*?)\];", expression, re.DOTALL)
    assert listed.split() == [re.split("[<>=]", name)[0] for name in PROJECT["project"]["dependencies"]]


@pytest.mark.parametrize("name", _RECIPES)
def test_a_recipe_parses(name: str, tmp_path: Path) -> None:
    """The interpreter that reads it says so."""
    command = _RECIPES[name]
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    recipes(tmp_path, bytes(range(32)))
    done = subprocess.run(
        [*command, tmp_path / name], capture_output=True, text=True, timeout=PATIENCE, check=False,
        env={**os.environ, "NIX_STATE_DIR": str(tmp_path), "NIX_STORE_DIR": str(tmp_path / "store")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.extended
def test_the_oldest_dependencies(tmp_path: Path) -> None:
    """The command runs with the oldest releases of its dependencies that pyproject.toml allows."""
    oldest = [dependency.replace(">=", "==") for dependency in PROJECT["project"]["dependencies"]]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, "--target", str(tmp_path / "old"), *oldest], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no package index: {done.stderr.strip().splitlines()[-1]}")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'old'}{os.pathsep}{ROOT}"}
    (tmp_path / "nginx.conf").write_text("events {}\nhttp {\n    gzip on;\n    gzip_comp_level 9;\n}\n")
    for words, status in (
        (["lint", "nginx.conf", "--isolated"], 1),
        (["lint", "nginx.conf", "--isolated", "--format", "html"], 1),
        (["check", "nginx.conf"], 0),
        (["format", "nginx.conf", "--check"], 0),
        (["rewrite-to-map", "nginx.conf", "--check"], 0),
        (["verify", "nginx.conf", "nginx.conf"], 0),
    ):
        ran = subprocess.run(
            [sys.executable, "-m", "nginxopt", *words],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert ran.returncode == status, (words, ran.stdout + ran.stderr)


def test_the_version_is_said_once() -> None:
    """The package, the project and the crate have one version."""
    import nginxopt

    crate = tomllib.loads((ROOT / "rust" / "Cargo.toml").read_text())
    assert nginxopt.__version__ == PROJECT["project"]["version"] == crate["package"]["version"]
