"""One place starts nginx on a configuration, and confines it: no other module can start a program unnoticed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support import ROOT

STARTS = {
    "nginxopt/system/process.py": "starts programs for the others",
    "nginxopt/system/nginx/binary.py": "nginx -t, -v and -V",
    "nginxopt/system/nginx/instance.py": "nginx",
    "nginxopt/system/network.py": "a copy of itself, which makes a network",
    "nginxopt/system/exchange.py": "openssl",
    "nginxopt/system/host.py": "systemctl",
    "nginxopt/system/revision.py": "git",
    "nginxopt/request/sheets.py": "a copy of itself, which reads a spreadsheet and may end",
    "nginxopt/system/callgrind.py": "vgdb, for an nginx under valgrind",
    "nginxopt/bench/runner/engine.py": "docker, podman",
    "nginxopt/bench/runner/local.py": "load generators",
    "nginxopt/bench/load_workers/worker.py": "load generators",
}
"""The modules that start programs, and which."""

CONFINED = ("nginxopt/system/nginx/binary.py", "nginxopt/system/nginx/instance.py")
STARTERS = {"subprocess", "multiprocessing", "pty"}
CALLS = {"system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "create_subprocess_exec"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    """The modules of nginxopt and of its rules, by path."""
    for folder in ("nginxopt", "rules"):
        for path in sorted(Path(ROOT, folder).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def starts(tree: ast.Module) -> bool:
    """Whether a module can start a program."""
    return any(is_start(node) for node in ast.walk(tree))


def is_start(node: ast.AST) -> bool:
    """Whether a part of a module imports what starts programs, or calls it."""
    match node:
        case ast.Import(names=names):
            return any(name.name.partition(".")[0] in STARTERS for name in names)
        case ast.ImportFrom(module=module, names=names):
            imported = {name.name for name in names}
            if module == "nginxopt.system":
                return "process" in imported
            is_starter = module in STARTERS or module == "nginxopt.system.process"
            return is_starter and bool(imported & {"start", "run", "Popen", "Process"})
        case ast.Call(func=ast.Attribute(value=ast.Name(id="os" | "asyncio"), attr=function)):
            return function in CALLS or function.startswith(("exec", "spawn"))
    return False


def test_only_known_modules_start_programs() -> None:
    """A module that starts a program is in the list, so that whoever adds one reads this test."""
    assert {path for path, tree in modules() if starts(tree)} == set(STARTS)


def test_nginx_is_confined() -> None:
    """Where nginx is started on a configuration, it is confined; unconfined it only tells its version."""
    for path in CONFINED:
        for call in ast.walk(ast.parse(Path(ROOT, path).read_text())):
            if not isinstance(call, ast.Call):
                continue
            name = ast.unparse(call.func)
            if name in ("start", "process.start", "process.run"):
                assert any(keyword.arg == "confinement" for keyword in call.keywords), f"{path}:{call.lineno}"
            if name == "_run":
                assert ast.unparse(call.args[0]) in ("[path, '-V']", "[binary, '-v']"), f"{path}:{call.lineno}"


def test_no_other_module_makes_a_command_of_nginx() -> None:
    """The command of nginx is made in the package that starts it, and by the runner of benchmarks, which gives it to
    that.
    """
    makers = {
        path
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "command"
        and "binary" in ast.unparse(node.func.value).lower()
    }
    here = {path for path in makers if not path.startswith("nginxopt/system/nginx/")}
    assert here == {"nginxopt/request/private.py", "nginxopt/bench/runner/local.py"}
