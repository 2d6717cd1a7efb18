"""Decides which includes may read other files where a configuration is installed than they read here.

A repository seldom has all files of an nginx. `include conf.d/*.conf` matches nothing in it, because another part of
the image or another role writes that folder; `include /etc/nginx/conf.d/*.conf` names a folder of another machine,
whatever the folder of that name on this one has. So an include is believed only if it is certain to read the same files
there:

- those of a dump (`nginx -T`), and of a main file in a folder of `INSTALLED`: this is the machine. Even there, a
  wildcard without matches is believed only if its folder exists;
- elsewhere, those of files below the folder of the main file, or below the prefix. A wildcard must match something: a
  folder with files is where the files of this configuration are kept, so these are taken to be all. Another part fills
  an empty one;
- a relative path of one file that exists, wherever it leads: the file stays beside the main file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nginxopt.config.dump import is_dump, is_whole_dump
from nginxopt.config.includes import has_folder, is_pattern
from nginxopt.config.rooted import rooted

if TYPE_CHECKING:
    from nginxopt.config.configuration import Config
    from nginxopt.config.tree import Directive

INSTALLED = (
    "/etc/nginx",
    "/usr/local/nginx/conf",
    "/usr/local/etc/nginx",
    "/usr/local/openresty/nginx/conf",
    "/opt/bitnami/nginx/conf",
    "/opt/homebrew/etc/nginx",
)
"""The folders of main files in packages and images."""


def may_read_more(config: Config, include: Directive) -> bool:
    """Return whether an `include` could not be read, or may read other files where the configuration is installed."""
    if not include.args:
        return False
    name = str(include.args[0])
    if config.is_missing(include):
        return True
    files = config.included(include)
    if is_whole_dump(config.origin):
        return False
    if not files:
        root = rooted(config.origin)
        here = name if root is None else root.here(name)
        return not _is_installed(config) or not has_folder(config.prefix, here)
    if is_dump(config.origin) or _is_installed(config):
        return False
    is_certain = not is_pattern(name) and not os.path.isabs(name)  # noqa: PTH117 - a path is text here
    return not is_certain and not all(_is_inside(config, file.path) for file in files)


def _is_installed(config: Config) -> bool:
    """Return whether a configuration on the disk is where the nginx of this machine, or of a tree, reads it."""
    root = rooted(config.origin)
    if root is not None:
        return root.has(config.main.path)
    return not is_dump(config.origin) and _folder(config.main.path) in INSTALLED


def _is_inside(config: Config, path: str) -> bool:
    """Return whether a file is below the folder of the main file, or below the prefix."""
    trees = (_folder(config.main.path), _absolute(config.prefix or "."))
    return any(_absolute(path).startswith(tree.rstrip("/") + "/") for tree in trees)


def _folder(path: str) -> str:
    return os.path.dirname(_absolute(path))  # noqa: PTH120


def _absolute(path: str) -> str:
    """Return an absolute path without `..` and double slashes; links stay, as an include names a file by them."""
    return os.path.abspath(path)  # noqa: PTH100
