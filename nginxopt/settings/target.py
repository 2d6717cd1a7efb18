"""The target nginx version and its origin: stated, of the settings, installed, assumed, or what a configuration shows.

The installed nginx is a guess, and so is `ASSUMED`. In this order, a configuration shows more (`recognised`):

- a container image beside it: `FROM nginx:1.25-alpine` in a Dockerfile, `image: openresty/openresty:1.27.1.2` in a
  compose file or a manifest of Kubernetes, in its folder or in one above it, up to the working directory (a guess, if
  the file compiles further modules into it);
- directives that one vendor alone has, such as `zone_sync` of NGINX Plus;
- directives that came with a later release than the one that is guessed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from nginxopt import lazy
from nginxopt.config import Config
from nginxopt.errors import MissingError, UsageError
from nginxopt.facts import vendors
from nginxopt.facts.lexicon import BLOCKS
from nginxopt.facts.table import declarations
from nginxopt.records import record
from nginxopt.version import Version

ASSUMED = Version(1, 28, 0)
"""The last stable nginx before the defaults of upstreams changed (1.29.7). Advice for it is also right for later
versions, where some of it is the default."""

GUESSES = (Version(1, 18, 0), Version(1, 22, 1), Version(1, 26, 3), Version(1, 31, 5))
"""The releases that a configuration may be for if nothing is known of it: those of distributions, and the newest."""

_SAME_NUMBERS = ("nginx", "openresty")
"""The servers whose version starts with that of the nginx they are based on; others have their own numbering."""


@record(eq=True)
class TargetVersion:
    """An nginx version and its origin: `stated`, `settings`, `nginx -v`, `assumed`, or what shows it.

    `is_guess`: nobody states it, and no file names it.
    """

    version: Version
    origin: str
    is_guess: bool = False


def choose(stated: Version | None, settings: Version | None, binary: str | None = None) -> TargetVersion:
    """Return the target version: the stated one, that of the settings, the installed one, or `ASSUMED`.

    `binary` is the path of nginx, None for the usual places. Raises `MissingError` if a given path does not exist.
    """
    if stated is not None:
        return TargetVersion(stated, "stated")
    if settings is not None:
        return TargetVersion(settings, "settings")
    from nginxopt.system import nginx  # a slow import, which a stated version does not need

    try:
        installed = nginx.find(binary)
    except MissingError:
        if binary:
            raise
        return TargetVersion(ASSUMED, "assumed", is_guess=True)
    if installed.name not in _SAME_NUMBERS:
        return TargetVersion(ASSUMED, "assumed", is_guess=True)
    return TargetVersion(Version.of(installed.version), "nginx -v", is_guess=binary is None)


# What a configuration, and the files beside it, show.

_MOST_FILES = 50
_MOST_ENTRIES = 2_000
_MOST_BYTES = 1 << 18
_MOST_FOLDERS = 6

_NAMES = lazy.pattern(r"(?i)((.*[.-])?(Docker|Container)file([.-].*)?|.*\.dockerfile|.*\.ya?ml)")
_IMAGE = lazy.pattern(
    rb"""^[ \t-]*(?:FROM|image:)[ \t]+(?:--\S+[ \t]+)?["']?((?:[\w.:-]+/)*)([\w.-]+):v?([\w.-]+)""",
    re.MULTILINE | re.IGNORECASE,
)
_PRODUCTS = {
    "nginx": "",
    "nginx-unprivileged": "",
    **{facts.image: vendor for vendor, facts in vendors.VENDORS.items()},
}
"""The vendors of images by the last part of their names."""
_OF_NGINX = (
    "", "library/", "docker.io/", "docker.io/library/", "nginxinc/", "docker.io/nginxinc/", "ghcr.io/nginxinc/",
    "public.ecr.aws/nginx/", "public.ecr.aws/docker/library/",
)  # fmt: skip
"""The registries and users whose `nginx` is nginx."""
_MODULE = b"--add-module="
"""What compiles a module into nginx."""
_RELEASE = lazy.pattern(r"\d+\.\d+(\.\d+)*|[rR]\d+")
_LAST = {19: 10, 20: 2, 21: 6, 22: 1, 23: 4, 25: 5, 26: 3, 27: 5, 28: 0, 29: 8}
"""The last release of each line of nginx, for tags such as `1.25`."""


@record(eq=True)
class ShownImage:
    """A container image: its name as written, the file that names it, and the version it has.

    `is_changed` is whether that file compiles modules into nginx, which may take other parameters.
    """

    name: str
    path: str
    version: Version
    is_changed: bool = False


def recognised(configs: Sequence[Config], guess: TargetVersion, *, here: bool = True) -> TargetVersion:
    """Return the target version that configurations show; `guess` if they show none, or if it is not a guess.

    `here` is whether the configurations are on this machine, so that the files beside them count.
    """
    if not guess.is_guess:
        return guess
    image = shown_image(configs) if here else None
    if image is not None:
        return TargetVersion(image.version, f"image {image.name} in {image.path}", is_guess=image.is_changed)
    used = frozenset(_used(configs))
    signs = vendors.signs()
    found = sorted({(signs[name], name) for name in used & signs.keys()})
    vendor = {vendor for vendor, _ in found}
    if len(vendor) == 1:
        name = next(iter(vendor))
        version = vendors.newest(name, ASSUMED, filter(declarations, used))
        return TargetVersion(version, f'assumed, as "{found[0][1]}" is of {vendors.VENDORS[name].name}', is_guess=True)
    return _with_all(used, guess)


def _with_all(used: Iterable[str], guess: TargetVersion) -> TargetVersion:
    """Return a guess that has all directives in use that some release of nginx has."""
    needed = {name: since for name in used if (since := _since(name, guess.version)) is not None}
    if not needed:
        return guess
    name = max(needed, key=lambda each: (needed[each], each))
    version = max(needed[name], ASSUMED)
    return TargetVersion(version, f'assumed, as "{name}" came with {needed[name]}', is_guess=True)


def _since(name: str, version: Version) -> Version | None:
    """Return the release that brought a directive, if it came after a version."""
    rows = declarations(name)
    if not rows or any(row.is_in(version) for row in rows):
        return None
    return min((row.since for row in rows if row.since and row.since > version), default=None)


def _used(configs: Iterable[Config]) -> Iterator[str]:
    """Yield the names of directives in blocks of nginx."""
    for config in configs:
        if config.templates is None:
            yield from (str(each.name) for each, scope in config.walk() if BLOCKS.issuperset(scope.context))


def shown_image(configs: Iterable[Config]) -> ShownImage | None:
    """Return the image that the files beside configurations name; None if they name none, or images that differ."""
    found = list(_images(_folders(configs)))
    return found[0] if len({(image.version, image.version.build) for image in found}) == 1 else None


def _folders(configs: Iterable[Config]) -> list[Path]:
    """Return the folders of configurations, and those above them as far as they are in the working directory."""
    here = Path.cwd()
    folders: dict[Path, None] = {}
    for config in configs:
        if not os.path.isfile(config.main.path):
            continue
        own = Path(config.main.path).absolute().parent
        above = [own, *own.parents] if own.is_relative_to(here) else [own]
        folders.update(
            dict.fromkeys(each for each in above[:_MOST_FOLDERS] if each == own or each.is_relative_to(here))
        )
    return list(folders)[:_MOST_FILES]


def _images(folders: Iterable[Path]) -> Iterator[ShownImage]:
    paths = (path for folder in folders for path in _beside(folder))
    for path in islice(paths, _MOST_FILES):
        try:
            with path.open("rb") as file:
                data = file.read(_MOST_BYTES)
        except OSError:
            continue
        for match in _IMAGE.finditer(data):
            user, name, tag = (part.decode("ascii", "replace") for part in match.groups())
            version = image_version(user, name, tag)
            if version is not None:
                yield ShownImage(f"{user}{name}:{tag}", os.path.relpath(path), version, _MODULE in data)


def _beside(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in islice(entries, _MOST_ENTRIES) if _NAMES.fullmatch(e.name) and e.is_file())
    except OSError:
        return
    yield from (folder / name for name in names)


def image_version(user: str, name: str, tag: str) -> Version | None:
    """Return the version of an image such as `openresty/openresty:1.27.1.2-alpine`; None if its tag has none, or if it
    is not the image of a known server."""
    vendor = _PRODUCTS.get("nginx-plus" if "nginx-plus/" in user else name.lower())
    release = _RELEASE.match(tag)
    if vendor is None or release is None or (not vendor and user.lower() not in _OF_NGINX):
        return None
    try:
        if vendor:
            return vendors.target(f"{vendor}-{release[0]}")
        version = Version.target(".".join(release[0].split(".")[:3]))
    except UsageError:
        return None
    if release[0].count(".") > 1 or version.minor not in _LAST:
        return version
    return Version(version.major, version.minor, _LAST[version.minor])
