"""Reads a result from its JSON (`nginxopt.bench.result.to_json`).

The result lacks what the JSON leaves out: texts of configurations, probes, counts, and all targets after the first ten.
This module checks types itself, because msgspec does not support fields that may be one of two dataclasses, such as
`Load` and `Probe`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import repeat
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from nginxopt.bench.result import (
    FORMAT,
    OUTCOME_FIELDS,
    AttackMedians,
    GateResult,
    LoadStart,
    LoadWorker,
    NodeUse,
    Outcome,
    Ratio,
    Result,
    Sample,
    WorkerStart,
)
from nginxopt.bench.scenario import (
    Attack,
    ClosedLoop,
    Experiment,
    Load,
    Measured,
    Node,
    OpenLoop,
    Published,
    Target,
    Variant,
    VariantPair,
)
from nginxopt.errors import InputError

_Json = Mapping[str, Any]
_Kind = TypeVar("_Kind")

_PROVENANCE: dict[str, type] = {
    "command": list,
    "load": list,
    "memory": int,
    "commands": dict,
    "load_workers": list,
    "load_starts": list,
    "lost_workers": list,
    "max_rate": int,
    "busiest_second": int,
}
"""The types of known entries of the provenance that are not text. Other entries are not checked."""


def from_json(data: bytes, path: str) -> Result:
    """Return the result in a JSON text. Raises `InputError` if it is not a result, or has another format version."""
    try:
        saved = json.loads(data, parse_constant=_refuse)
        if saved["format"] == FORMAT:
            return _result(saved)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        expected = "a file written by `nginxopt bench --format json`"
        raise InputError("not a benchmark result", path=path, expected=expected) from error
    raise InputError(
        f"a result of format {saved['format']}", path=path, expected=f"format {FORMAT}, which this version writes"
    )


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _result(data: _Json) -> Result:
    ratios = tuple(_checked(Ratio, item) for item in data["ratios"])
    experiment = _experiment(data, ratios)
    tests = {item["name"]: item["test_seconds"] for item in data["variants"] if item["test_seconds"] is not None}
    fields = {
        "experiment": experiment,
        "samples": tuple(_sample(item) for item in data["samples"]),
        "summaries": tuple(_checked(AttackMedians, item) for item in data["summaries"]),
        "ratios": ratios,
        "gates": tuple(_checked(GateResult, item) for item in data["gates"]),
        "rates": dict(_rates(experiment)),
        "test_seconds": tests,
        **{name: data[name] for name in ("rounds", "capacities", "complete")},
        "provenance": _provenance(data["provenance"]),
    }
    result = _checked(Result, fields)
    _refuse_strangers(result)
    return result


def _provenance(data: _Json) -> _Json:
    for name, kind in _PROVENANCE.items():
        if not isinstance(data.get(name, kind()), kind):
            raise TypeError(f"provenance: {name}")
    for item in data.get("load_workers", ()):
        _checked(LoadWorker, item)
    for item in data.get("load_starts", ()):
        _checked(LoadStart, {**item, "workers": tuple(_checked(WorkerStart, worker) for worker in item["workers"])})
    return data


def _refuse_strangers(result: Result) -> None:
    """Raise `ValueError` if a measurement does not belong to an attack of the experiment."""
    attacks = {(attack.variant, attack.case) for attack in result.experiment.attacks}
    measured = {(sample.variant, sample.case) for sample in result.samples}
    measured |= {(summary.variant, summary.case) for summary in result.summaries}
    measured |= {(name, ratio.case) for ratio in result.ratios for name in (ratio.before, ratio.after)}
    if not measured <= attacks:
        raise ValueError(measured - attacks)


def _experiment(data: _Json, ratios: tuple[Ratio, ...]) -> Experiment:
    words = data["scenario"]
    compared = dict.fromkeys((ratio.before, ratio.after) for ratio in ratios)
    fields = {
        "scenario": words["name"],
        "variants": tuple(_variant(item) for item in data["variants"]),
        "attacks": tuple(_attack(item) for item in data["attacks"]),
        "comparisons": tuple(VariantPair(*pair) for pair in compared),
        "published": tuple(
            _checked(Published, {**item, "compares": tuple(item["compares"])}) for item in words["published"]
        ),
        "figures": tuple(words["figures"]),
        "notes": tuple(words["notes"]),
        **{name: words[name] for name in ("title", "expects", "metric", "baseline")},
    }
    return _checked(Experiment, fields)


def _variant(data: _Json) -> Variant:
    nodes = tuple(Node(role, b"", says=says) for role, says in data["nodes"].items())
    words = {name: data[name] for name in ("name", "says", "series", "size")}
    return _checked(Variant, {**words, "nodes": nodes})


def _attack(data: _Json) -> Attack:
    requests = (text.partition(" ") for text in data["targets"])
    targets = tuple(Target(path, None, method) for method, _, path in requests)
    measured = data.get("measured")  # older results do not say it
    words = {
        "variant": data["variant"],
        "case": data["case"],
        "measured": None if measured is None else _checked(Measured, measured),
    }
    return _checked(Attack, {**words, "targets": targets, "load": _load(data["load"])})


def _load(data: _Json) -> Load:
    words = dict(data)
    kinds: dict[str, type[Load]] = {"open loop": OpenLoop, "closed loop": ClosedLoop}
    return _checked(kinds[words.pop("kind")], words)


def _rates(experiment: Experiment) -> Iterator[tuple[str, float]]:
    for attack in experiment.attacks:
        if isinstance(attack.load, OpenLoop) and attack.load.rate is not None:
            yield attack.case, attack.load.rate


def _sample(data: _Json) -> Sample:
    own = dict(data)
    seen = {name: own.pop(name) for name in OUTCOME_FIELDS}
    seen["histogram"] = tuple((bound, count) for bound, count in seen["histogram"])
    if any(bound <= 0 or count <= 0 for bound, count in seen["histogram"]):
        raise ValueError("an invalid latency class")
    nodes = {role: _checked(NodeUse, use) for role, use in own["nodes"].items()}
    return _checked(Sample, {**own, "outcome": _checked(Outcome, seen), "nodes": nodes})


def _checked(kind: type[_Kind], fields: _Json) -> _Kind:
    """Return an instance of `kind` with these fields. Raises `TypeError` if a field does not have its declared type."""
    record = kind(**fields)
    for name, hint in _types_of(kind).items():  # type: ignore[arg-type]  # mypy: a type variable is not hashable
        if not _fits(getattr(record, name), hint):
            raise TypeError(f"{kind.__name__}.{name}")
    return record


@cache
def _types_of(kind: type) -> Mapping[str, Any]:
    """Return the declared types of the fields of a dataclass, by name."""
    return get_type_hints(kind)


def _fits(value: object, hint: Any) -> bool:
    """Return whether a value, including its content, has a declared type. An int is also a float."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return value in parts
    if origin is UnionType:
        return any(_fits(value, part) for part in parts)
    if hint is Any:
        return True
    if isinstance(value, Mapping) and origin is Mapping:
        return all(_fits(key, parts[0]) and _fits(inner, parts[1]) for key, inner in value.items())
    if isinstance(value, tuple) and origin is tuple:
        item_types = repeat(parts[0]) if parts[-1] is Ellipsis else parts
        return all(_fits(inner, part) for inner, part in zip(value, item_types, strict=False))
    return isinstance(value, (int, float) if hint is float else hint)
