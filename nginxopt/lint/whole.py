"""Whether all of `http` and `stream` was read, so that a rule may report what no file contains."""

from __future__ import annotations

import os

from nginxopt.config import Config, Directive
from nginxopt.config.dump import is_dump
from nginxopt.config.includes import has_folder, is_pattern
from nginxopt.lint.model import Model


def is_known(model: Model, protocol: str = "http") -> bool:
    """Return whether nothing of a protocol, `http` or `stream`, can be in a file that was not read.

    Files that come with nginx, such as `mime.types`, have only their own directives. A wildcard is believed only if its
    folder is there, and below that of the main file: what names `/etc/nginx/conf.d/*` may be for another machine, whose
    folder has other files than that of this one.
    """
    if model.root.kind != "main" or any(level.is_open for level in model.root.walk()):
        model.decline()
        return False
    includes = (include for include, level in model.everywhere("include") if level.around(protocol) and include.args)
    if any(_may_be_elsewhere(model.config, include) for include in includes):
        model.decline()
        return False
    return True


def _may_be_elsewhere(config: Config, include: Directive) -> bool:
    name = str(include.args[0])
    if not is_pattern(name) or is_dump(config.origin):
        return False
    folder = os.path.dirname(os.path.abspath(config.main.path))  # noqa: PTH100, PTH120 - a path is text here
    is_inside = not name.startswith("/") or os.path.normpath(name).startswith(folder.rstrip("/") + "/")
    return not (is_inside and (config.included(include) or has_folder(config.prefix, name)))
