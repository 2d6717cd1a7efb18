"""Small configurations whose values double cost little: each command ends within a bounded memory, with a result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.forked import commands

pytestmark = pytest.mark.extended

_MEMORY = 1 << 30

_SETS = "".join(f'set $v{n} "{f"$v{n - 1}" * 4}"; ' for n in range(1, 24))
_CHAIN = "".join(f'map $http_k $m{n} {{ default "$m{n - 1}$m{n - 1}"; }} ' for n in range(1, 40))
_VOLATILE = "".join(f'map "$m{n - 1}" $m{n} {{ volatile; default "$m{n - 1}"; }} ' for n in range(1, 40))


def _chain(start: str, maps: str = _CHAIN) -> str:
    return f"map $http_k $m0 {{ default {start}; }} {maps}server {{ listen 127.0.0.1:8080; return 200 $m39; }}"


def _server(body: str) -> str:
    return f"server {{ listen 127.0.0.1:8080; {body} }}"


def _doubled(start: str, last: str) -> str:
    return _server(f"set $v0 {start}; {_SETS} {last}")


CASES = {
    "text": (_doubled("a", "return 200 $v23;"), _doubled("b", "return 200 $v23;")),
    "variable": (_doubled("$http_a", "return 200 $v23;"), _doubled("$http_b", "return 200 $v23;")),
    "header": (_doubled("a", "add_header X $v23; return 204;"), _doubled("b", "add_header X $v23; return 204;")),
    "headers": (
        _doubled("a", "".join(f"add_header X{n} $v9; " for n in range(500)) + "return 204;"),
        _doubled("b", "".join(f"add_header X{n} $v9; " for n in range(500)) + "return 204;"),
    ),
    "if": (_doubled("a", "if ($v23 = a) { return 403; }"), _doubled("b", "if ($v23 = a) { return 403; }")),
    "if-pattern": (_doubled("a", "if ($v23 ~ b) { return 403; }"), _doubled("b", "if ($v23 ~ b) { return 403; }")),
    "if-file": (_doubled("a", "if (-f /$v23) { return 403; }"), _doubled("b", "if (-f /$v23) { return 403; }")),
    "rewrite": (_doubled("a", "rewrite ^ /$v23 redirect;"), _doubled("b", "rewrite ^ /$v23 redirect;")),
    "root": (_doubled("a", "root /$v23;"), _doubled("b", "root /$v23;")),
    "pass": (
        _doubled("a", "location / { proxy_pass http://$v23; }"),
        _doubled("b", "location / { proxy_pass http://$v23; }"),
    ),
    "try": (
        _doubled("a", "root /srv; location / { try_files /$v23 $v22/ =404; }"),
        _doubled("b", "root /srv; location / { try_files /$v23 $v22/ =404; }"),
    ),
    "capture": (
        _server(f"location / {{ rewrite ^(.*)$ {'$1' * 16} last; return 403; }}"),
        _server(f"location / {{ rewrite ^(.*)$ {'$1' * 15} last; return 403; }}"),
    ),
    "group": (
        _server(f"location / {{ rewrite ^(?<g>.*)$ {'$g' * 16} last; }}"),
        _server(f"location / {{ rewrite ^(?<g>.*)$ {'$g' * 15} last; }}"),
    ),
    "argument": (
        _server("location / { rewrite ^/(.*)$ /$1?a=$args&b=$args last; }"),
        _server("location / { rewrite ^/(.*)$ /$1?a=$args&c=$args last; }"),
    ),
    "chain": (_chain("$http_a"), _chain("$http_b")),
    "chain-of-text": (_chain("a"), _chain("b")),
    "volatile": (_chain("$http_a", _VOLATILE), _chain("$http_b", _VOLATILE)),
    "volatile-empty": (_chain("''", _VOLATILE), _chain("b", _VOLATILE)),
    "split": (
        'split_clients "$m39" $s { 50% a; * b; } ' + _chain("a").replace("200 $m39", "200 $s"),
        'split_clients "$m39" $s { 50% a; * c; } ' + _chain("a").replace("200 $m39", "200 $s"),
    ),
    "geo": (
        "geo $m39 $s { default a; 127.0.0.1 b; } " + _chain("a").replace("200 $m39", "200 $s"),
        "geo $m39 $s { default c; 127.0.0.1 b; } " + _chain("a").replace("200 $m39", "200 $s"),
    ),
    "log": (
        f"log_format x $m39; {_chain('a')} server {{ listen 127.0.0.1:8081; access_log a.log x; return 204; }}",
        f"log_format x $m38; {_chain('a')} server {{ listen 127.0.0.1:8081; access_log a.log x; return 200; }}",
    ),
}
"""For each place of a value, two configurations of less than 6 kB that differ."""


def _run(folder: Path, calls: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Return the status of each command with a bounded memory, and how many bytes it has printed."""
    printed = folder / "printed"
    results = []
    with commands() as run:
        for arguments in calls:
            status = run(arguments, folder, str(printed), "/dev/null", memory=_MEMORY)
            results.append((status, printed.stat().st_size))
            printed.unlink()
    return results


@pytest.fixture
def written(tmp_path: Path) -> dict[str, tuple[str, str]]:
    """The paths of the configurations of each case."""
    return {
        name: (_write(tmp_path, f"{name}.old", old), _write(tmp_path, f"{name}.new", new))
        for name, (old, new) in CASES.items()
    }


def _write(folder: Path, name: str, http: str) -> str:
    path = folder / f"{name}.conf"
    path.write_text(f"events {{}} http {{ {http} }}\n")
    return str(path)


@pytest.mark.no_cover
def test_values_that_double_are_compared(written: dict[str, tuple[str, str]], tmp_path: Path) -> None:
    """Two that differ are never equivalent, one is equivalent to itself, and what is printed is short."""
    differing = dict(zip(written, _run(tmp_path, [["verify", *pair] for pair in written.values()]), strict=True))
    assert {name: status for name, (status, _) in differing.items() if status not in (1, 5)} == {}
    assert {name: length for name, (_, length) in differing.items() if length > 20_000} == {}
    same = _run(tmp_path, [["verify", old, old] for old, _ in written.values()])
    assert {name: status for name, (status, _) in zip(written, same, strict=True) if status} == {}


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("command", "statuses"),
    [
        (["trace", "FILE", "http://127.0.0.1:8080/abc?x=1", "--assume", "http_a=a"], {0, 5}),
        (["trace", "FILE", "http://127.0.0.1:8080/abc?x=1", "--format", "json"], {0, 5}),
        (["lint", "FILE"], {0, 1}),
        (["rewrite-to-map", "FILE"], {0}),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_values_that_double_are_read(
    written: dict[str, tuple[str, str]], tmp_path: Path, command: list[str], statuses: set[int]
) -> None:
    """A request is followed to its answer, or to a value that costs too much; `lint` and the compiler read the rest."""
    calls = [[old if word == "FILE" else word for word in command] for old, _ in written.values()]
    results = dict(zip(written, _run(tmp_path, calls), strict=True))
    assert {name: status for name, (status, _) in results.items() if status not in statuses} == {}
    if "json" not in command:
        assert {name: length for name, (_, length) in results.items() if length > 300_000} == {}
