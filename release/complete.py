"""Adds to wheels what they have to carry: the licences of all that is linked in, and a bill of materials (CycloneDX).

    python -m release.complete dist/nginxopt-0.1.0-cp311-abi3-linux_x86_64.whl

The licences go to `licenses/` of the `.dist-info` folder (PEP 639), the bill to `sboms/` (PEP 770).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component as Listed
from cyclonedx.model.component import ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

from release.crates import Component, linked

LICENSES = "licenses/THIRD-PARTY.txt"
BILL = "sboms/nginxopt.cdx.json"
ROOT = Path(__file__).parents[1]


def complete(wheel: Path, source: Path = ROOT, target: str | None = None) -> None:
    """Add licences and the bill of materials to a wheel built from a source folder, in place."""
    parts = linked(source, target or host())
    with tempfile.TemporaryDirectory() as folder:
        _wheel("unpack", str(wheel), "--dest", folder)
        (unpacked,) = Path(folder).iterdir()
        (info,) = unpacked.glob("*.dist-info")
        version = info.name.split("-")[1].removesuffix(".dist")
        for name, text in {LICENSES: licenses(parts), BILL: bill(version, parts)}.items():
            path = info / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        _wheel("pack", str(unpacked), "--dest-dir", str(wheel.parent))


def licenses(parts: Sequence[Component]) -> str:
    """Return the licences of all parts, one after the other."""
    pieces = ["nginxopt is under the Apache License 2.0. Its extension has these parts, each under its own licence.\n"]
    for part in parts:
        title = f"{part.name} {part.version}".strip()
        pieces += [f"\n{'=' * 100}\n{title} ({part.license})\n{'=' * 100}\n", *(f"\n{text}\n" for text in part.texts)]
    return "".join(pieces)


def bill(version: str, parts: Sequence[Component]) -> str:
    """Return the bill of materials, CycloneDX 1.6 as JSON."""
    whole = Listed(
        name="nginxopt",
        bom_ref="nginxopt",
        version=version,
        type=ComponentType.APPLICATION,
        purl=PackageURL("pypi", None, "nginxopt", version),
        licenses=[LicenseExpression("Apache-2.0")],
    )
    listed = [
        Listed(
            name=part.name,
            bom_ref=f"{part.name}@{part.version}",
            version=part.version or None,
            type=ComponentType.LIBRARY,
            purl=PackageURL.from_string(part.purl) if part.purl else None,
            licenses=[LicenseExpression(part.license)],
        )
        for part in parts
    ]
    bom = Bom(components=listed)
    bom.metadata.component = whole
    time = os.environ.get("SOURCE_DATE_EPOCH")
    if time:  # the same bill in each build of a source
        bom.metadata.timestamp = datetime.fromtimestamp(int(time), UTC)
        names = " ".join(f"{part.name} {part.version}" for part in parts)
        bom.serial_number = uuid5(NAMESPACE_URL, f"nginxopt {version} {time} {names}")
    bom.register_dependency(whole, listed)
    return make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2)


def host() -> str:
    """Return the target triple of this machine."""
    told = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return next(line.removeprefix("host: ") for line in told.splitlines() if line.startswith("host: "))


def _wheel(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "wheel", *words], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    complete(parser.parse_args().wheel)
