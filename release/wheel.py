"""Builds a wheel that runs on systems with an old C library, and checks that it does.

    python -m release.wheel                                    for glibc 2.17 and later, on this processor
    python -m release.wheel --target x86_64-unknown-linux-musl

zig links it (`pip install nginxopt[release]`), so no old system is needed. The tag is refused if the finished extension
needs more than it allows. auditwheel finds that out for glibc. It knows only the C library of its own machine, so an
extension for musl may need nothing but musl.
"""

from __future__ import annotations

import argparse
import io
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import ziglang
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from release.complete import ROOT, complete
from release.reproducible import usual_modes

GLIBC = "2.17"

# Defaults, which the environment overrides: the build takes twice as long, and the code is up to a tenth faster.
OPTIMISED = {"CARGO_PROFILE_RELEASE_LTO": "fat", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "1"}
MUSL = "1_2"
MUSL_LIBRARY = "libc.so"
"""The name by which extensions need musl."""


class LibraryError(Exception):
    """An extension needs a library that the tag of its wheel does not allow."""


def build(out: Path, target: str, source: Path = ROOT) -> Path:
    """Return a wheel for a target triple, built from a source folder.

    Raises `subprocess.CalledProcessError` or `LibraryError` if it does not build, or needs more than its tag allows.
    """
    is_musl = target.endswith("-musl")
    processor = target.partition("-")[0]
    environment = OPTIMISED | os.environ | settings(target)
    tag = f"musllinux_{MUSL}_{processor}" if is_musl else f"manylinux_{GLIBC.replace('.', '_')}_{processor}"
    with tempfile.TemporaryDirectory() as folder, usual_modes():
        command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder, str(source)]
        subprocess.run(command, check=True, env=environment)
        (wheel,) = Path(folder).iterdir()
        complete(wheel, source, target)
        if is_musl:
            tagged = tag_for_musl(wheel, tag)
        else:
            repair = [sys.executable, "-m", "auditwheel", "repair", "--plat", tag, "--wheel-dir", f"{folder}/tagged"]
            subprocess.run([*repair, str(wheel)], check=True, env=environment)
            (tagged,) = Path(folder, "tagged").iterdir()
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(tagged, out / tagged.name))


def tag_for_musl(wheel: Path, tag: str) -> Path:
    """Return a wheel under a tag for musl.

    Raises `LibraryError` if its extension needs more than musl.
    """
    with zipfile.ZipFile(wheel) as archive:
        extensions = [archive.read(name) for name in archive.namelist() if name.endswith(".so")]
    needed = {library for extension in extensions for library in _needed(extension)}
    if needed != {MUSL_LIBRARY}:
        raise LibraryError(
            f"{wheel.name} needs {', '.join(sorted(needed)) or 'no C library'}, and not {MUSL_LIBRARY} alone"
        )
    command = [sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", tag, str(wheel)]
    name = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return wheel.with_name(name)


def _needed(extension: bytes) -> list[str]:
    section = ELFFile(io.BytesIO(extension)).get_section_by_name(".dynamic")
    entries = section.iter_tags("DT_NEEDED") if isinstance(section, DynamicSection) else ()
    return [entry.needed for entry in entries]  # type: ignore[attr-defined]


def settings(target: str) -> dict[str, str]:
    """Return the environment in which pip and build link with zig for a target triple."""
    is_musl = target.endswith("-musl")
    names = {
        "CARGO": str(Path(__file__).with_name("cargo-zig")),
        "CARGO_BUILD_TARGET": target if is_musl else f"{target}.{GLIBC}",
        # pip builds where no Python has the package.
        "CARGO_ZIGBUILD_ZIG_PATH": str(Path(ziglang.__file__).with_name("zig")),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "_PYTHON_HOST_PLATFORM": f"linux-{target.partition('-')[0]}",
    }
    if is_musl:
        stated = os.environ.get("RUSTFLAGS", "")
        names["RUSTFLAGS"] = f"{stated} -C target-feature=-crt-static".strip()  # a library, not a program
    return names


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default=f"{platform.machine()}-unknown-linux-gnu", help="target triple")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder of the wheel")
    arguments = parser.parse_args()
    print(build(arguments.out, arguments.target))
