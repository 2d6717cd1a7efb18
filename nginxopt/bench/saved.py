"""A result read again from the JSON it was written to (`nginxopt.bench.result.to_json`).

What the JSON leaves out is not there: the texts of configurations, probes, counts, and all targets but the first ten.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from nginxopt.bench.result import FORMAT, GateResult, NodeUse, Ratio, Result, Sample, Summary
from nginxopt.bench.scenario import (
    Attack,
    ClosedLoop,
    Comparison,
    Experiment,
    Load,
    Metric,
    Node,
    OpenLoop,
    Published,
    Target,
    Variant,
)
from nginxopt.errors import InputError

_Json = Mapping[str, Any]
_Made = TypeVar("_Made")


def from_json(data: bytes, path: str) -> Result:
    """Return the result that `data` holds; `InputError` if it holds none, or one of another format."""
    try:
        found = json.loads(data, parse_constant=_refuse)
        if found["format"] == FORMAT:
            return _result(found)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        expected = "a file that `nginxopt bench --format json` wrote"
        raise InputError("this is no result of a benchmark", path=path, expected=expected) from error
    raise InputError(
        f"a result of format {found['format']}", path=path, expected=f"format {FORMAT}, which this version writes"
    )


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _result(data: _Json) -> Result:
    ratios = tuple(_made(Ratio, each) for each in data["ratios"])
    experiment = _experiment(data, ratios)
    return Result(
        experiment,
        int(data["rounds"]),
        tuple(_sample(each) for each in data["samples"]),
        tuple(Summary(each["variant"], each["case"], _numbers(each["figures"])) for each in data["summaries"]),
        ratios,
        tuple(_made(GateResult, each) for each in data["gates"]),
        dict(_rates(experiment)),
        _numbers(data["capacities"]),
        _numbers({each["name"]: each["test_seconds"] for each in data["variants"] if each["test_seconds"] is not None}),
        dict(data["provenance"]),
        bool(data["complete"]),
    )


def _experiment(data: _Json, ratios: tuple[Ratio, ...]) -> Experiment:
    words = data["scenario"]
    if words["metric"] not in get_args(Metric):
        raise ValueError(words["metric"])
    compared = dict.fromkeys((ratio.before, ratio.after) for ratio in ratios)
    fields = {
        "scenario": words["name"],
        "variants": tuple(_variant(each) for each in data["variants"]),
        "attacks": tuple(_attack(each) for each in data["attacks"]),
        "comparisons": tuple(Comparison(*pair) for pair in compared),
        "published": tuple(
            _made(Published, {**each, "compares": tuple(each["compares"])}) for each in words["published"]
        ),
        "figures": tuple(words["figures"]),
        "notes": tuple(words["notes"]),
        **{name: words[name] for name in ("title", "expects", "metric", "baseline")},
    }
    return _made(Experiment, fields)


def _variant(data: _Json) -> Variant:
    nodes = tuple(Node(role, b"", says=says) for role, says in data["nodes"].items())
    words = {name: data[name] for name in ("name", "says", "series", "size")}
    return _made(Variant, {**words, "nodes": nodes})


def _attack(data: _Json) -> Attack:
    requests = (text.partition(" ") for text in data["targets"])
    targets = tuple(Target(path, None, method) for method, _, path in requests)
    words = {"variant": data["variant"], "case": data["case"]}
    return _made(Attack, {**words, "targets": targets, "load": _load(data["load"])})


def _load(data: _Json) -> Load:
    words = dict(data)
    kinds: dict[str, type[Load]] = {"open loop": OpenLoop, "closed loop": ClosedLoop}
    return _made(kinds[words.pop("kind")], words)


def _rates(experiment: Experiment) -> Iterator[tuple[str, float]]:
    for attack in experiment.attacks:
        if isinstance(attack.load, OpenLoop) and attack.load.rate is not None:
            yield attack.case, attack.load.rate


def _sample(data: _Json) -> Sample:
    nodes = {role: _made(NodeUse, use) for role, use in data["nodes"].items()}
    histogram = tuple((float(bound), int(count)) for bound, count in data["histogram"])
    measured = {"percentiles": _numbers(data["percentiles"]), "histogram": histogram, "nodes": nodes}
    return _made(Sample, {**data, **measured})


def _numbers(data: _Json) -> dict[str, float]:
    return {name: float(number) for name, number in data.items()}


def _made(kind: type[_Made], fields: _Json) -> _Made:
    """Return a `kind` of these fields; `TypeError` if one is not of the type it is declared with."""
    made = kind(**fields)
    for name, hint in get_type_hints(kind).items():
        if not isinstance(getattr(made, name), _classes(hint)):
            raise TypeError(f"{kind.__name__}.{name}")
    return made


def _classes(hint: Any) -> tuple[type, ...]:
    """The classes of a declared type; what is in a container is not looked at."""
    if isinstance(hint, UnionType):
        return tuple(each for part in get_args(hint) for each in _classes(part))
    found = get_origin(hint) or hint
    return (int, float) if found is float else (found if isinstance(found, type) else object,)
