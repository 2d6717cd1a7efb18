"""`nginxopt profile`."""

from __future__ import annotations

import sys
from os.path import isfile
from typing import TYPE_CHECKING, Any

import click

from nginxopt.cli import options, site, stdout
from nginxopt.errors import InputError, UsageError
from nginxopt.profile import figures, json, spread, sums, terms, text
from nginxopt.profile import html as pages
from nginxopt.profile.figures import Figures
from nginxopt.profile.reading import SiteLogs
from nginxopt.profile.worth import NOTHING, Worth
from nginxopt.settings.target import TargetVersion
from nginxopt.system.files import write_all
from nginxopt.system.interrupts import orderly
from nginxopt.text.display import hide

if TYPE_CHECKING:
    from nginxopt.cli.site import AskedSite
    from nginxopt.config import Config
    from nginxopt.profile.sums import Profile
    from nginxopt.system.nginx import Binary

_EXAMPLES = """\b
Examples:
  nginxopt profile /etc/nginx/nginx.conf /var/log/nginx/access.log /var/log/nginx/access.log.1.gz
  nginxopt profile nginx.conf access.log --root /                  look for files on this machine
  nginxopt profile nginx.conf access.log --save monday.profile     keep the sums, in a few kB
  nginxopt profile nginx.conf access.log --html profile.html       also as a page
  nginxopt profile nginx.conf access.log --measure                 measure a request of each class
  nginxopt profile monday.profile tuesday.profile                  add up
  nginxopt profile nginx.conf shop.log api.log --host-of shop.log=shop.example
  nginxopt profile --print-log-format

\b
Exit status: 0 success, 2 usage error, 3 unreadable input, 4 nginx is missing.
"""


@click.command("profile", epilog=_EXAMPLES, short_help="Show from access logs what answers, and what it costs.")
@click.argument("files", nargs=-1, metavar="CONFIG LOG... | PROFILE...")
@click.option("--input-format", metavar="NAME", help="Format of the logs: combined, or name or text of a log_format.")
@click.option(
    "--host-of", multiple=True, metavar="LOG=HOST", help="Host of the requests in LOG, if its format has none."
)
@site.of_site
@click.option(
    "--measure",
    "measured",
    is_flag=True,
    help="Measure a request of each class on nginx, on 127.0.0.1 where upstreams send bodies of the logged size.",
)
@options.check_with_nginx("nginx to measure on.  [default: nginx on PATH]", options.ALLOW_CODE, options.MODULES)
@click.option("--save", type=options.FILE, metavar="FILE", help="Also save the sums to FILE; saved profiles add up.")
@options.HTML
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Read parts of the logs with N processes of this machine.",
)
@options.SCHEDULER
@click.option("--print-log-format", is_flag=True, help="Print a log_format with all variables that are read, and exit.")
@options.format_of(["text", "json"], "text")
@click.option("-v", "--verbose", is_flag=True, help="List everything, not only the first entries of each kind.")
def command(
    files: tuple[str, ...],
    input_format: str | None,
    host_of: tuple[str, ...],
    measured: bool,
    nginx: str | None,
    save: str | None,
    html: str | None,
    workers: int | None,
    scheduler: str | None,
    print_log_format: bool,
    format_: str,
    verbose: bool,
    **of_site: Any,
) -> int:
    """Show what a configuration costs under its own traffic, from access logs.

    Shows which locations and directives answer the requests and how long they take, an estimate of nginx's own work by
    directive, responses that are not what the configuration gives, rules that no request uses, and the variables that
    the logs lack. Logs may be compressed with gzip; - is standard input. Saved profiles add up.
    """
    if print_log_format:
        stdout.write_lines(figures.PRINTED_FORMAT.splitlines(keepends=True))
        return 0
    if not files:
        raise UsageError("expected a configuration and logs, or saved profiles")
    for option, path in (("--save", save), ("--html", html)):
        options.refuse_overwriting(option, path, files)
    if save is not None:
        options.refuse_shared("--save", save, "--html", [html] if html is not None else [])
    if nginx is not None and not measured:
        raise UsageError("--nginx is for --measure")
    if sums.is_saved(files[0]):
        if any(of_site.values()) or input_format or host_of or workers or scheduler or measured:
            raise UsageError("options for logs do not apply to saved profiles")
        profile, asked = sums.load_all(files), None
    else:
        spread_over = (workers, scheduler) if workers or scheduler else None
        binary = options.binary(nginx) if measured else None
        outputs = {"--save": save, "--html": html}
        profile, asked = _read(files, input_format, host_of, of_site, spread_over, outputs, binary)
    is_full = html is not None or format_ == "json" or verbose
    worth = _worth(profile, asked) if is_full or not Figures(profile).is_idle else NOTHING
    if html is not None:
        write_all({html: hide(pages.render(profile, worth)).encode(errors="backslashreplace")})
    if save is not None:
        write_all({save: sums.save(profile)})
    if format_ == "json":
        stdout.write_document(json.document(profile, worth))
    else:
        stdout.write_lines(text.lines(profile, worth, verbose=verbose))
    return 0


def _read(
    files: tuple[str, ...],
    stated: str | None,
    host_of: tuple[str, ...],
    of_site: dict[str, Any],
    workers: tuple[int | None, str | None] | None,
    outputs: dict[str, str | None],
    binary: Binary | None,
) -> tuple[Profile, AskedSite]:
    """Return the profile of logs and their site, with a progress bar on a terminal.

    `workers` are their number, and a scheduler; `outputs` what options write; `binary` is the nginx to measure on.
    """
    config, *paths = files
    if not paths:
        raise UsageError("LOG is missing", hint="nginxopt profile CONFIG LOG...")
    if config == "-" and "-" in paths:
        raise UsageError("standard input is either the configuration or a log")
    if binary is not None and (of_site["target_version"] or of_site["fixes"]):
        raise UsageError("--measure runs an nginx, which is the target: --target-version and --build-fix do not apply")
    if binary is not None and "-" in paths:
        raise UsageError("--measure reads logs twice, so none can be standard input")
    asked = site.load(config, binary=binary, **of_site)
    for option, path in outputs.items():
        options.refuse_overwriting(option, path, asked.files)
    hosts = dict(_host_of(text, paths) for text in host_of)
    is_small = _is_small(asked.target, binary)
    logs = SiteLogs(asked.model, asked.gate, asked.world, tuple(paths), stated, asked.base, hosts, is_small)
    if workers is not None:
        profile = _spread(logs, *workers)
    elif not sys.stderr.isatty():
        profile = logs.profile()
    else:
        with stdout.progress(1, "reading") as bar:

            def progress(path: str, done: int, size: int) -> None:
                bar.label, bar.length = f"reading {path}", size or 1
                bar.update(done - bar.pos)

            profile = logs.profile(progress)
    profile.notes = [*asked.notes, *profile.notes]
    if binary is not None:
        _measure(logs, profile, binary)
    return profile, asked


def _worth(profile: Profile, asked: AskedSite | None) -> Worth:
    """Return the findings that save time; `asked` is the site whose logs were read."""
    from nginxopt.cli import lint

    try:
        if asked is not None:
            return lint.worth(asked.config, asked.target, profile)
        target = TargetVersion(terms.release(profile.nginx), "profile")
        return lint.worth(_config(profile), target, profile)
    except (InputError, UsageError) as error:
        return Worth.of((), error)


def _config(profile: Profile) -> Config:
    """Return the configuration of a saved profile. Raises `InputError` if it cannot be read, or is another."""
    path = profile.config
    if not isfile(path):
        raise InputError("no such file", path=path)
    config = site.read_with_standins(path, None, None, None, site.UnreadFiles())[0].config
    there = {(item.source.path, item.line, str(item.name)) for item, _ in config.walk()}
    for place, use in profile.uses.items():
        if use.part != "rule" and (place.file, place.line, place.text.partition(" ")[0]) not in there:
            raise InputError(f"not as when the logs were read: no {place.text} in line {place.line}", path=place.file)
    return config


def _is_small(target: TargetVersion, binary: Binary | None) -> bool:
    """Return whether the nginx at hand, if it is the target, was compiled for size."""
    from nginxopt.system import nginx

    if binary is None and target.origin == "nginx -v":
        binary = nginx.find()
    return binary is not None and binary.is_small


def _measure(logs: SiteLogs, profile: Profile, binary: Binary) -> None:
    """Measure what nginx does for the requests, with a progress bar on a terminal."""
    from nginxopt.profile.measuring import measure

    if not sys.stderr.isatty():
        measure(logs, profile, binary)
        return
    with stdout.progress(1, "measuring") as bar:

        def progress(done: int, steps: int) -> None:
            bar.length = steps
            bar.update(done - bar.pos)

        measure(logs, profile, binary, progress)


def _spread(logs: SiteLogs, workers: int | None, scheduler: str | None) -> Profile:
    """Return the profile that workers read."""
    from nginxopt.system import cluster

    cluster.require("cryptography", "distributed")
    if workers is not None and scheduler is not None:
        raise UsageError("--workers is for processes of this machine, --scheduler for a cluster")
    if "-" in logs.paths:
        raise UsageError("workers cannot read standard input")
    with orderly(), cluster.connected(workers=workers, scheduler=scheduler) as client:
        return logs.together(spread.read(client, logs))


def _host_of(text: str, paths: list[str]) -> tuple[str, str]:
    path, equals, host = text.rpartition("=")
    if not equals or not host or path not in paths:
        raise UsageError(f"--host-of {text}: expected LOG=HOST, with one of the logs")
    return path, host
