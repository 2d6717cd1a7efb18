"""The site and the load generator of a benchmark, from the options of `nginxopt bench`."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from ipaddress import IPv4Address, ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.load.wrk import Wrk
from nginxopt.cli import options
from nginxopt.errors import MissingError, UsageError
from nginxopt.records import record
from nginxopt.settings.target import choose as target
from nginxopt.system import nginx
from nginxopt.system.interrupts import temporary_folder

if TYPE_CHECKING:
    from nginxopt.bench.containers import Images
    from nginxopt.bench.isolation import ServerCertificate
    from nginxopt.bench.scenario import Experiment
    from nginxopt.bench.site import Generator, SiteExperiment
    from nginxopt.config import Config
    from nginxopt.version import Version

Name = Literal["vegeta", "wrk"]
"""The name of a load generator."""


@record(eq=True)
class SiteOptions:
    """The values of `OPTIONS`, by the names of their parameters."""

    runner: Literal["auto", "compose", "local"] = "auto"
    generator: Name | None = None
    nginx: str | None = None
    nginx_image: str | None = None
    vegeta_image: str | None = None
    vegeta_binary: str | None = None
    base_image: str | None = None
    listen: str | None = None


def _address(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """Return the value of --listen. Raises `UsageError` unless clients can connect to it."""
    try:
        address = None if text is None else ip_address(text)
    except ValueError:
        address = IPv4Address(0)
    if address is not None and (address.version != 4 or address.is_unspecified or address.is_multicast):
        raise UsageError(f"--listen {text}: not an IPv4 address to connect to", hint="such as 10.0.0.4")
    return text


OPTIONS = (
    click.option(
        "--runner",
        type=click.Choice(["auto", "compose", "local"]),
        default="auto",
        show_default=True,
        help="Run nginx in containers (compose) or on this machine.",
    ),
    click.option(
        "--load", "generator", type=click.Choice(["vegeta", "wrk"]), help="Load generator.  [default: the one on PATH]"
    ),
    options.BINARY,
    options.MODULES,
    options.ALLOW_CODE,
    options.ALLOW_NETWORK,
    click.option("--nginx-image", metavar="IMAGE", help="Image with nginx, instead of building one."),
    click.option("--vegeta-image", metavar="IMAGE", help="Image with vegeta, instead of building one."),
    click.option(
        "--vegeta-binary", type=options.FILE, metavar="PATH", help="vegeta binary for the image, instead of a release."
    ),
    click.option("--base-image", metavar="IMAGE", help="Base of built images.  [default: debian:bookworm-slim]"),
    click.option(
        "--listen",
        metavar="ADDRESS",
        callback=_address,
        help="Address of this machine where nginx listens, for workers of others.  [default: 127.0.0.1]",
    ),
)


def choose(
    site: SiteOptions, *, counts_instructions: bool, is_spread: bool = False
) -> tuple[SiteExperiment, Generator]:
    """Return the runner and the load generator.

    `auto` chooses containers if an engine responds, unless a binary of nginx or its address was named, instructions are
    counted (callgrind runs on this machine), or the load `is_spread` over workers, which have a vegeta of their own.
    Raises `MissingError` if something outside is needed and not there, `UsageError` for options that contradict each
    other.
    """
    from nginxopt.bench.runner import engine
    from nginxopt.bench.runner.compose import Compose
    from nginxopt.bench.runner.local import LOOPBACK, Local

    sources = images(site)
    may_be_contained = site.nginx is None and site.listen is None and not counts_instructions and not is_spread
    if site.runner == "compose" or (site.runner == "auto" and may_be_contained and engine.answers()):
        return Compose(engine.find(), sources), generator(sources.generator)
    allowed = options.allowed()
    # Load from elsewhere needs the network of the machine, and so does an nginx that may connect elsewhere.
    alone = site.listen is None and not is_spread and not allowed.network
    local = Local(nginx.find(site.nginx, allowed), site.listen or LOOPBACK, alone=alone)
    return local, generator("vegeta" if is_spread else _installed(site.generator))


def files(experiment: Experiment, site: SiteOptions, rounds: int) -> dict[str, bytes]:
    """Return the folder of a benchmark that runs without nginxopt: in containers, unless this machine is asked for."""
    from nginxopt.bench import emit, run_folder

    if site.listen is not None:
        raise UsageError("--listen cannot be used with --emit: its folder has addresses of its own")
    if site.runner == "local":
        return run_folder.files(experiment, generator(_installed(site.generator)), rounds)
    sources = images(site)
    return emit.files(experiment, generator(sources.generator), sources, rounds)


def version(site: SiteOptions) -> Version:
    """Return the version of the nginx that is measured, as far as it is known before it runs: the one of this machine,
    or the assumed one."""
    return target(None, None, site.nginx).version


def certificate(configs: Iterable[Config]) -> ServerCertificate | None:
    """Return a new certificate for configurations with TLS; None if none of them names one.

    Raises `MissingError` without openssl.
    """
    from nginxopt.bench.isolation import ServerCertificate, has_certificate
    from nginxopt.system import exchange

    if not any(map(has_certificate, configs)):
        return None
    with temporary_folder() as folder:
        pem, key = (Path(path).read_bytes() for path in exchange.certificate(Path(folder)))
    return ServerCertificate(pem, key)


def images(site: SiteOptions) -> Images:
    """Return the sources of the images."""
    from nginxopt.bench.containers import BASE, Images

    if site.generator == "wrk" and (site.vegeta_image or site.vegeta_binary):
        raise UsageError("--load wrk cannot be used with --vegeta-image or --vegeta-binary")
    if site.vegeta_image and site.vegeta_binary:
        raise UsageError("--vegeta-image and --vegeta-binary cannot be used together")
    if site.listen and site.runner == "compose":
        raise UsageError("--listen cannot be used with --runner compose", hint="use --runner local")
    if site.nginx and site.runner == "compose":
        raise UsageError("--nginx cannot be used with --runner compose", hint="use --nginx-image")
    vegeta = None if site.vegeta_binary is None else _read(site.vegeta_binary)
    return Images(site.generator or "vegeta", site.base_image or BASE, site.nginx_image, site.vegeta_image, vegeta)


def generator(name: Name) -> Generator:
    """Return the load generator of that name."""
    return Vegeta() if name == "vegeta" else Wrk()


def _installed(name: Name | None) -> Name:
    """The requested load generator, or the one on PATH, vegeta first."""
    if name is not None:
        return name
    if shutil.which("vegeta"):
        return "vegeta"
    if shutil.which("wrk"):
        return "wrk"
    raise MissingError("no load generator found on PATH", hint="install vegeta or wrk")


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise MissingError(
            f"{path}: cannot read the vegeta binary: {error.strerror}", hint="install vegeta, or correct the path"
        ) from None
