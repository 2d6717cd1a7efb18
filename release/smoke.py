"""Tries an installed nginxopt in a Python: every module is imported, and commands run.

    python -I release/smoke.py FIXTURES

It needs nothing but the wheel and its dependencies.
"""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

OPTIONAL = ("nginxopt.bench", "nginxopt.fleet", "nginxopt.lsp", "nginxopt.cli", "nginxopt.system.cluster")
"""Packages that import what the extras bring."""

RULES = "".join(f"rewrite ^/a{number}$ /b{number} permanent;\n" for number in range(9))


def main(fixtures: Path) -> None:
    """Import all modules and run the commands. Raises `SystemExit` with the one that fails."""
    import nginxopt

    for module in pkgutil.walk_packages(nginxopt.__path__, "nginxopt."):
        if module.name != "nginxopt.__main__" and not module.name.startswith(OPTIONAL):
            importlib.import_module(module.name)
    site = str(fixtures / "slow-site/nginx.conf")
    run(0, "--version")
    run(1, "lint", site, "--isolated", "--target-version", "1.22.1")
    run(0, "explain", "gzip-level", "--isolated")
    run(0, "format", site, "--diff", "--isolated", accepts=(0, 1))
    run(0, "verify", site, site, "--target-version", "1.22.1")
    run(0, "trace", site, "http://shop.example.com:8080/", "--target-version", "1.22.1")
    planned = run(0, "rewrite-to-map", "-", "--context", "server", "--target-version", "1.22.1", text=RULES)
    if "map $uri" not in planned:
        raise SystemExit("rewrite-to-map wrote no map")
    print(f"nginxopt {nginxopt.__version__} works in Python {sys.version.split()[0]}")


def run(status: int, *words: str, text: str = "", accepts: tuple[int, ...] = ()) -> str:
    """Return what a command prints. Raises `SystemExit` if it ends with another status."""
    command = [sys.executable, "-I", "-W", "error", "-m", "nginxopt", *words]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode not in (status, *accepts):
        raise SystemExit(f"{' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
