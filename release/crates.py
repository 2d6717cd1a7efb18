"""The crates and libraries that are linked into the extension, with their licences."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MANIFEST = "rust/Cargo.toml"
_TREE = ["tree", "--edges", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe", "--format", "{p}"]
_TEXTS = re.compile(r"(?:UN)?LICEN[CS]E|COPYING|NOTICE", re.IGNORECASE)
_PCRE2 = {
    "PCRE2": ("upstream/include/pcre2.h", "BSD-3-Clause"),
    "SLJIT": ("upstream/deps/sljit/sljit_src/sljitLir.h", "BSD-2-Clause"),
}
"""The C libraries in the crate pcre2-sys: a header that begins with the licence."""


@dataclass(frozen=True, slots=True)
class Component:
    """Something that is linked in.

    Attributes:
        purl: The package URL; empty for what no package registry has.
        license: An SPDX expression.
        texts: The texts of the licences.
    """

    name: str
    version: str
    purl: str
    license: str
    texts: tuple[str, ...]


def linked(source: Path, target: str) -> list[Component]:
    """Return what is linked into the extension for a target triple, sorted by name. Runs cargo in a source folder."""
    lines = (line.split() for line in _cargo(source, *_TREE, "--target", target).splitlines() if line)
    names = {(words[0], words[1]) for words in lines}
    metadata = json.loads(_cargo(source, "metadata", "--format-version", "1", "--filter-platform", target))
    packages = {(package["name"], f"v{package['version']}"): package for package in metadata["packages"]}
    own = packages[next(key for key in names if key[0] == "nginxopt-native")]
    crates = [packages[key] for key in names if packages[key] is not own]
    found = [_standard_library(), *(part for crate in crates for part in _components(crate))]
    return sorted(found, key=lambda part: part.name.lower())


def _standard_library() -> Component:
    """Return Rust's own library; its licences are those of most crates."""
    version = _output("rustc", "--version").split()[1]
    texts = Path(_output("rustc", "--print", "sysroot").strip(), "share/doc/rust/licenses")
    named = (texts / f"{name}.txt" for name in ("MIT", "Apache-2.0"))
    return Component(
        "Rust standard library", version, "", "MIT OR Apache-2.0", tuple(t.read_text() for t in named if t.exists())
    )


def _components(crate: dict[str, str]) -> Iterator[Component]:
    name, version, folder = crate["name"], crate["version"], Path(crate["manifest_path"]).parent
    texts = tuple(path.read_text() for path in sorted(folder.iterdir()) if _TEXTS.match(path.name) and path.is_file())
    yield Component(name, version, f"pkg:cargo/{name}@{version}", crate["license"], texts)
    if name == "pcre2-sys":
        yield from (_library(folder, *entry) for entry in _PCRE2.items())


def _library(folder: Path, name: str, of: tuple[str, str]) -> Component:
    """Return a C library whose header begins with its licence."""
    header, license_ = of
    text = (folder / header).read_text(encoding="utf-8")
    comment = next(found for found in re.findall(r"/\*(.*?)\*/", text, re.DOTALL) if "Copyright" in found)
    version = re.search(r"define PCRE2_MAJOR\s+(\d+)\n#define PCRE2_MINOR\s+(\d+)", text)
    lines = (line.strip().removeprefix("*").strip("-") for line in comment.splitlines())
    return Component(name, ".".join(version.groups()) if version else "", "", license_, ("\n".join(lines).strip(),))


def _cargo(source: Path, *words: str) -> str:
    return _output("cargo", *words, "--locked", "--features", "python", "--manifest-path", str(source / MANIFEST))


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
