"""Damaged results are either refused with an error or rendered."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nginxopt import cli
from nginxopt.bench import measure
from nginxopt.bench.catalogue import catalogue
from nginxopt.bench.report import html, table, vega
from nginxopt.bench.result import Result, to_dict, to_json
from nginxopt.bench.saved import from_json
from nginxopt.bench.scenario import ScenarioSettings
from nginxopt.errors import InputError, MissingError


def damaged(result: Result) -> Iterator[bytes]:
    """A result with each of its parts gone, or something else in its place."""
    whole = to_dict(result)
    small = {
        **whole,
        "samples": whole["samples"][:1],
        "summaries": whole["summaries"][:1],
        "ratios": whole["ratios"][:1],
    }
    yield from (b"", b"[]", b"nothing", b"\xff", b'{"format": 2}', b'{"format": 1}', b"[" * 100_000)
    yield json.dumps(small).replace("0.0002", "NaN").encode()
    others: tuple[Any, ...] = (None, [1], "text", {"x": []})
    for path in paths(small):
        for other in others:
            yield json.dumps(changed(small, path, other)).encode()
        yield json.dumps(changed(small, path)).encode()


def paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places in JSON, of a list that of its first item only."""
    items = data.items() if isinstance(data, dict) else list(enumerate(data))[:1] if isinstance(data, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from paths(inner, (*path, key))


def changed(data: Any, path: tuple[Any, ...], *other: Any) -> Any:
    """JSON with something else at a place, or nothing."""
    key, *rest = path
    copy = dict(data) if isinstance(data, dict) else list(data)
    if rest:
        copy[key] = changed(data[key], tuple(rest), *other)
    elif other:
        copy[key] = other[0]
    else:
        del copy[key]
    return copy


@pytest.mark.slow
def test_damaged_results_are_refused_or_shown(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is no result is refused with its name; what is read can be shown, whatever is in it."""
    monkeypatch.setattr(vega, "svg", lambda spec, *_: str(len(json.dumps(spec))))
    refused = []
    for data in damaged(result):
        try:
            read = from_json(data, "bad.json")
        except InputError as error:
            refused.append(error.render())
        else:
            assert "\n".join(table.lines(read))
            assert html.render(read)
    assert len(refused) > 100
    assert all(text.startswith("bad.json: ") for text in refused)


def test_report_command(
    result: Result,
    page: str,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`bench report` renders a saved result as a page or a table, to standard output or a file."""
    saved, written = tmp_path / "result.json", tmp_path / "result.html"
    saved.write_text(to_json(result))

    def run(*args: str, name: str = "report") -> tuple[int, bytes]:
        with pytest.raises(SystemExit) as ended:
            cli.main(["bench", name, *args])
        assert isinstance(ended.value.code, int)
        return ended.value.code, capfdbinary.readouterr().out

    assert run(str(saved), "--output", str(written)) == (0, b"")
    assert written.read_text() == page
    assert run(str(saved), "--format", "table") == (0, ("\n".join(table.lines(result)) + "\n").encode())
    assert run(str(written)) == (3, b"")
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert run(str(saved)) == (4, b"")
    assert run("--counts", "1", "--format", "html", "--output", str(tmp_path / "x"), name="rewrites") == (4, b"")
    assert not (tmp_path / "x.run").exists()  # it is said before the run


def test_without_what_draws(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, the page is refused with what to install."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingError, match="vl-convert-python") as caught:
        html.render(result)
    assert "nginxopt[html]" in caught.value.render()


def test_published_figures_are_of_variants() -> None:
    """What a scenario says a published figure is here, is a figure and a comparison of its own."""
    for name, scenario in catalogue().items():
        if name == "rewrites":
            continue  # 10,000 rules take a while to compile
        experiment = scenario.build(ScenarioSettings())
        pairs = {(pair.before, pair.after) for pair in experiment.comparisons}
        for figure in experiment.published:
            assert not figure.compares or (figure.compares in pairs and figure.figure in measure.FIGURES)
