"""The hooks, as pre-commit itself installs and runs them in a repository of configurations."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from release import complete, wheel
from tests.project.conftest import Twins
from tests.support import IN_CI, PATIENCE, ROOT, made_once, tracked

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())

SLOW = "events {}\nhttp {\n    gzip on;\n    gzip_types text/css;\n    gzip_comp_level 9; # as fast as can be\n}\n"
FAST = SLOW.replace("level 9", "level 6")
FAIL_ON_INFO = "args: [--isolated, --target-version, 1.22.1, --select, gzip-level, --fail-on, info]"

# A clone is as old as the files that were cloned: cargo compiles only what has changed, wherever it lies.
_POST_CHECKOUT = """\
#!/bin/sh
git ls-files | while read -r name; do touch -r "{tool}/$name" "$name"; done
"""

_UNREACHABLE = re.compile(r"Failed to establish a new connection|name resolution|Network is unreachable")


def run(folder: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, undisturbed by the git repository and the settings of whoever tests."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "NO_COLOR": "1", **more}
    return subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=environment,
    )


def git(folder: Path, *args: str) -> str:
    """Run git in a folder and return what it says."""
    name = ("-c", "user.name=nginxopt", "-c", "user.email=nginxopt@example.com", "-c", "init.defaultBranch=main")
    done = run(folder, "git", *name, *args)
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()


class Hooks:
    """The repository as it is in the working tree, committed elsewhere, and what pre-commit makes of its hooks."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._tool = home / "tool"
        self._revision = git(self._tool, "rev-parse", "HEAD")

    @classmethod
    def of(cls, names: set[str], home: Path) -> Self:
        """Commit the files of these names in a folder."""
        tool = home / "tool"
        for name in names:
            copy = tool / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy)
        git(tool, "init", "--quiet")
        git(tool, "add", "--all", "--force")
        git(tool, "commit", "--quiet", "--message", "As it is")
        return cls(home)

    def configure(self, folder: Path, hook: str, *lines: str) -> None:
        """Make a git repository of a folder, with a hook in its .pre-commit-config.yaml."""
        settings = "".join(f"        {line}\n" for line in lines)
        (folder / ".pre-commit-config.yaml").write_text(
            f"repos:\n  - repo: {self._tool}\n    rev: {self._revision}\n    hooks:\n      - id: {hook}\n{settings}"
        )
        git(folder, "init", "--quiet")

    def install(self, folder: Path, built: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Install the hooks that a folder uses; cargo does not compile again what it has in an environment."""
        hook = self._home / "git-hooks" / "post-checkout"
        hook.parent.mkdir()
        hook.write_text(_POST_CHECKOUT.format(tool=self._tool))
        hook.chmod(0o755)
        settings = {"COUNT": "1", "KEY_0": "core.hooksPath", "VALUE_0": str(hook.parent)}
        environment = {f"GIT_CONFIG_{name}": value for name, value in settings.items()}
        environment |= wheel.settings(complete.host()) | built
        return self.pre_commit(folder, "install-hooks", **environment)

    def pre_commit(self, folder: Path, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run pre-commit."""
        git(folder, "add", "--all")
        command = (sys.executable, "-m", "pre_commit", *args, "--color=never")
        home = str(self._home / "pre-commit")
        return run(folder, *command, PRE_COMMIT_HOME=home, PIP_NO_COMPILE="1", **environment)


@pytest.fixture(scope="module")
def hooks(twins: Twins, tmp_path_factory: pytest.TempPathFactory) -> Hooks:
    """The hooks, installed; skipped without git, and without a network to install from."""

    def make(home: Path) -> None:
        hooks_ = Hooks.of(tracked(), home)
        folder = tmp_path_factory.mktemp("empty")
        hooks_.configure(folder, "nginxopt-lint")
        done = hooks_.install(folder, twins.environment)
        if done.returncode and _UNREACHABLE.search(done.stdout) and not IN_CI:
            pytest.skip("no network: pip cannot install the hooks")
        assert done.returncode == 0, done.stdout

    return Hooks(made_once(tmp_path_factory, "hooks", make))


@pytest.fixture
def call(hooks: Hooks, tmp_path: Path) -> Any:
    """A function that runs a hook on all files of a repository, which are made or changed before."""

    def run_hook(hook: str, files: Mapping[str, str], *lines: str) -> subprocess.CompletedProcess[str]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        hooks.configure(tmp_path, hook, *lines)
        return hooks.pre_commit(tmp_path, "run", "--all-files")

    return run_hook


def test_lint_fails_with_the_finding(call: Any) -> None:
    """A slow configuration fails and shows its finding, a fast one passes, and other files are not asked."""
    files = {"nginx.conf": SLOW, "README.md": SLOW, "app/app.conf": "[app]\nname = x\n"}
    done = call("nginxopt-lint", files, FAIL_ON_INFO)
    assert "nginx.conf:5:21: info gzip-level" in done.stdout
    assert "1 finding in 1 file" in done.stdout
    assert done.returncode == 1
    assert call("nginxopt-lint", {"nginx.conf": FAST}, FAIL_ON_INFO).returncode == 0


def test_lint_fails_on_what_cannot_be_read(call: Any) -> None:
    """A file that nginx would not read fails, too."""
    done = call("nginxopt-lint", {"nginx.conf": FAST, "conf.d/broken.conf": "server {\n"})
    assert "conf.d/broken.conf:1:8: " in done.stdout
    assert (done.returncode, "exit code: 3" in done.stdout) == (1, True)


def test_fix_changes_the_file_once(call: Any, tmp_path: Path) -> None:
    """A fix is made and fails, so that it is looked at; the next run passes."""
    first = call("nginxopt-fix", {"nginx.conf": SLOW}, FAIL_ON_INFO)
    assert "files were modified by this hook" in first.stdout
    assert first.returncode == 1
    assert (tmp_path / "nginx.conf").read_text() == FAST
    assert call("nginxopt-fix", {}, FAIL_ON_INFO).returncode == 0


def test_format_changes_the_file_once(call: Any, tmp_path: Path) -> None:
    """A file is formatted and fails, so that it is looked at; the next run passes."""
    first = call("nginxopt-format", {"nginx.conf": "gzip  on; # c\n", "app.conf": "gzip  on;\n"})
    assert "reformatted nginx.conf" in first.stdout
    assert first.returncode == 1
    assert (tmp_path / "nginx.conf").read_text() == "gzip on; # c\n"
    assert call("nginxopt-format", {}).returncode == 0


def test_many_rewrites_fail(call: Any) -> None:
    """25 rewrites that a map could answer fail and are counted, 10 pass; several files are asked in one run."""
    rules = [f"rewrite ^/page-{number}$ /p/{number} permanent;\n" for number in range(25)]
    few, many = "".join(rules[:10]), "".join(rules)
    done = call("nginxopt-rewrite-to-map", {"nginx/few.conf": few, "nginx/many.conf": many})
    assert re.search(r"nginx/many\.conf: 25 rewrites; .*\n  tried .*\n  moved +25 ", done.stdout)
    assert done.returncode == 1
    assert call("nginxopt-rewrite-to-map", {"nginx/many.conf": few}).returncode == 0


def test_a_table_is_compared(call: Any) -> None:
    """A row that a configuration answers otherwise fails with the rule that answered, once for all files."""
    site = "events {{ }} http {{ server {{ server_name h; rewrite ^/old$ {} permanent; }} }}\n"
    args = "args: [nginx/nginx.conf, redirects.csv]"
    files = {"nginx/nginx.conf": site.format("/other"), "redirects.csv": "from,to,status\n/old,/new,301\n"}
    done = call("nginxopt-test", files, args)
    assert done.stdout.count("redirects.csv:2: failed http://h/old") == 1
    assert "by nginx/nginx.conf:1: rewrite ^/old$ /other permanent" in done.stdout
    assert done.returncode == 1
    assert call("nginxopt-test", {"nginx/nginx.conf": site.format("/new")}, args).returncode == 0


def test_every_hook_is_tried() -> None:
    """The tests above run each hook that there is."""
    tried = set(re.findall(r'call\("(nginxopt-[\w-]+)"', Path(__file__).read_text()))
    assert {hook["id"] for hook in HOOKS} == tried


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: str(hook["id"]))
def test_hooks_run_on_the_files_of_nginx(hook: dict[str, Any]) -> None:
    """Each hook runs on files with the names that nginx and its packages use; those that look into files on more."""
    matched = [
        "nginx.conf",
        "deploy/nginx.conf",
        "nginx-prod.conf",
        "prod.nginx.conf",
        "conf.d/default.conf",
        "etc/nginx/conf.d/default.conf",
        "etc/nginx/sites-available/example.com",
        "sites-enabled/shop.conf",
        "nginx/snippets/tls.conf",
        "shop.nginx",
        "shop.vhost",
    ]
    left = ["nginx/mime.types", "docs/nginx.md", "site.yml"]
    by_content = ["app.conf", "nginx.conf.j2", "engine.conf", "site.inc", "default.conf.template", "nginx/Dockerfile"]
    where = matched if "--by-content" in hook["entry"] else left
    where += by_content
    assert [path for path in [*matched, *left] if re.search(hook["files"], path)] == matched
