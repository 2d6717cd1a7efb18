"""Finds locations that send files from disk, and those for files that rarely change."""

from __future__ import annotations

import re
from functools import lru_cache

from nginxopt import lazy
from nginxopt.facts import group
from nginxopt.lint.queries.model import Model, once
from nginxopt.semantics import Level

_ELSEWHERE = group("elsewhere")
_MEDIA = {
    "png", "apng", "jpg", "jpeg", "gif", "ico", "cur", "bmp", "webp", "avif", "avifs", "jxl", "tif", "tiff", "woff",
    "woff2", "ttf", "ttc", "otf", "eot", "mp3", "mp4", "m4a", "m4v", "ogg", "oga", "ogv", "webm", "wav", "flac", "mov",
    "avi", "mpg", "mpeg", "svg", "svgz",
}  # fmt: skip
"""Extensions of images, fonts, sounds and videos."""
_EXTENSIONS = _MEDIA | {"css", "js", "mjs", "map", "wasm", "swf", "webmanifest"}
_DOWNLOADS = {
    "zip", "tgz", "gz", "rar", "bz2", "tar", "7z", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "exe", "mid", "midi",
    "rtf", "txt", "csv", "rss", "atom", "htc", "iso", "msi", "dmg", "apk",
}  # fmt: skip
"""Extensions of archives, documents and feeds, which no browser shows as a page."""
_FAVICON = lazy.pattern(r"\^?/?favicon\\?\.ico\$?")
_PATTERNS = (("~",), ("~*",))
_ENDING = lazy.pattern(r"\\\.(?:\((?:\?:)?([\w|?:()]+)\)|(\w+))\$")
_FOLDER = lazy.pattern(r"/(?:[\w.-]+/)*(?:static|assets|images|img|css|js|fonts)/?")


@once
def senders(model: Model) -> tuple[Level, ...]:
    """Return the locations that send files from an explicit `root` or `alias`, and servers that do only that.

    Skips locations for a single file (`=`) or for ACME challenges, locations with another handler, and those that deny
    everybody.
    """
    servers = (level for level in model.levels("server") if not level.levels and _sends(level))
    return (*servers, *(level for level in model.levels("location") if _is_for_many(level) and _sends(level)))


def replaces_all(level: Level) -> bool:
    """Return whether `sub_filter` replaces each match of its texts at a level: then files are better not sent by the
    kernel, which takes two system calls for each.
    """
    return level.setting("sub_filter").is_set and level.setting("sub_filter_once").value == "off"


def _is_for_many(location: Level) -> bool:
    return location.args[:1] != ("=",) and not any(".well-known" in word for word in location.args)


def is_for_files(level: Level) -> bool:
    """Return whether a location is for files that rarely change: `~* \\.(css|js)$`, `/static/`, `= /favicon.ico`."""
    extensions = _extensions(level)
    if extensions:
        return extensions <= _EXTENSIONS
    return level.args[:1] not in _PATTERNS and bool(level.args and _FOLDER.fullmatch(level.args[-1]))


def is_for_no_pages(level: Level) -> bool:
    """Return whether a location is for files that no browser shows as a page: also archives, documents and feeds."""
    extensions = _extensions(level)
    return is_for_files(level) or (bool(extensions) and extensions <= _EXTENSIONS | _DOWNLOADS)


def is_for_media(level: Level) -> bool:
    """Return whether a location is for images, fonts, videos, archives and the like only: `~* \\.(png|zip)$`."""
    extensions = _extensions(level)
    return bool(extensions) and extensions <= _MEDIA | _DOWNLOADS


def _extensions(level: Level) -> set[str]:
    """Return the extensions of the files of a location, in lower case; none if they are not known."""
    pattern = level.args[-1] if level.args else ""
    if _FAVICON.fullmatch(pattern):
        return {"ico"}
    if level.args[:1] not in _PATTERNS:
        _, dot, extension = pattern.rpartition(".")
        return {extension.lower()} if dot and "/" not in extension else set()
    ending = _ENDING.search(pattern)
    if ending is None or ending.end() != len(pattern):
        return set()
    words = re.sub(r"\?:|[?()]", "", (ending[1] or ending[2]).lower()).split("|")
    return {word for word in words if word}


@lru_cache(maxsize=1 << 10)
def _leads_elsewhere(name: str) -> bool:
    return name in _ELSEWHERE or name.endswith(("_pass", "_by_lua_block", "_by_lua_file", "_by_lua"))


def _sends(level: Level) -> bool:
    others = any(map(_leads_elsewhere, level.names))
    closed = any(directive.args == ("all",) for directive in level.own("deny")) and not level.own("allow")
    root = level.setting("root")
    return not others and not closed and bool(level.own("alias") or (root.is_set and root.value != "/dev/null"))
