"""Checks the result before it is written: parses the whole new configuration, and tests it with `nginx -t`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt.config import Config, includes, reread
from nginxopt.errors import DefectError, InputError
from nginxopt.rewrite.emission import Emission
from nginxopt.rewrite.kinds.maps import reading

if TYPE_CHECKING:
    from nginxopt.system.nginx import Binary


def read(emission: Emission, *, rows: bool = True) -> Config:
    """Parse the whole new configuration. Raises `DefectError` unless it includes the maps exactly once, in http.

    Without `rows`, the native core parses the blocks of the maps, which is faster, and the result lacks them.
    """
    texts = {change.file.path: change.after for change in emission.changes}
    path = emission.maps_path or ""
    try:
        maps = emission.maps if rows else reading.around(emission.maps)
        config = reread(emission.plan.config, {path: maps, **texts})
        contexts = config.contexts(path)
    except (InputError, KeyError, ValueError) as error:
        raise DefectError(f"the result cannot be read: {error}; nothing was written") from None
    if contexts != (("http",),):
        raise DefectError(f"the result does not include {path} exactly once in the http block; nothing was written")
    return config


def unchecked(emission: Emission, installed: str | None) -> Iterator[str]:
    """Yield reasons why the result cannot be fully checked here.

    `installed` is the folder where the configuration will be installed, if that is not its own folder.
    """
    config = emission.plan.config
    if installed is not None:
        yield f"not checked with nginx -t: includes refer to {installed}, which is another directory"
    folder = str(Path(config.prefix or ".").absolute())
    if includes.is_pattern(folder):
        yield f"nginx reads *, ? and [ in {folder} as wildcards, so it would not find the maps"


def tried(emission: Emission, config: Config, binary: Binary) -> Iterator[str]:
    """Yield new warnings of `nginx -t`. Raises `DefectError` if it refuses the result but not the original."""
    from nginxopt.system.nginx import trial  # which most runs do not need

    before = trial.test(emission.plan.config, binary)
    if not before.ok:
        yield f"not checked with nginx -t, which refuses the original configuration ({'; '.join(before.reasons)})"
        return
    changed = {change.file.path for change in emission.changes} | {emission.maps_path or ""}
    after = trial.test_changed(config, changed, binary)
    if after.is_worse_than(before):
        raise DefectError("nginx -t refuses the result; nothing was written", below=str(after).splitlines())
    yield from (f"nginx -t warning: {warning}" for warning in after.new_warnings(before))
