"""`nginxopt verify`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from nginxopt.budget import limited
from nginxopt.cli import options, site, stdout
from nginxopt.errors import UsageError
from nginxopt.request import UrlError, read_url
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import Build
from nginxopt.settings.target import choose
from nginxopt.verify import Part, confirm, formats, premises, report, verify
from nginxopt.verify.formats.model import VerifyReport

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nginxopt.config import Config
    from nginxopt.version import Version

STATUSES = {"equivalent": 0, "different": 1, "unknown": 5}

_EXAMPLES = """\b
Examples:
  nginxopt verify old/nginx.conf new/nginx.conf
  nginxopt verify site.conf site.new.conf --context server
  nginxopt verify old/nginx.conf new/nginx.conf --only https://shop.example/api/
  nginxopt verify nginx.conf nginx.conf --old-version 1.22.1 --new-version 1.28.0
  nginxopt verify old/nginx.conf new/nginx.conf --nginx        ask nginx about the request, too
  nginxopt verify old/nginx.conf new/nginx.conf --format json

\b
Exit status: 0 equivalent, 1 different, 2 usage error, 3 unreadable input, 4 nginx is missing, 5 unknown.
"""


@click.command("verify", epilog=_EXAMPLES)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW", required=False)
@options.TARGET_VERSION
@click.option("--old-version", metavar="VERSION", callback=options.version, help="nginx version of OLD.")
@click.option("--new-version", metavar="VERSION", callback=options.version, help="nginx version of NEW.")
@click.option("--only", metavar="URL", help="Compare only requests to this host and port whose path starts alike.")
@click.option(
    "--assume",
    multiple=True,
    metavar="PREMISE",
    help="Take a premise as given, such as one that a result names: unread-neutral, unread-silent=NAME,NAME,"
    " include:PATH=neutral|rules|empty|FILE. See the guide for all.",
)
@click.option("--deny", multiple=True, metavar="PREMISE", help="Refuse a premise that is taken as given by default.")
@options.CONTEXT
@options.ALSO
@options.check_with_nginx(
    "Also send the request to nginx, on 127.0.0.1 with echo servers as upstreams.", options.ALLOW_CODE
)
@options.format_of(["text", "json", "markdown", "github", "sarif", "html"], "text")
def command(
    old: str,
    new: str | None,
    target_version: Version | None,
    old_version: Version | None,
    new_version: Version | None,
    only: str | None,
    assume: tuple[str, ...],
    deny: tuple[str, ...],
    context: str | None,
    nginx: str | None,
    format_: str,
) -> int:
    """Check whether two configurations answer requests alike.

    OLD and NEW are main configurations, or parts of one. The result is "equivalent", "different" with a request that
    shows it, or "unknown" with what may change an answer. Compares the responses of http and the requests to upstreams,
    not speed, logs, timeouts and TLS. Without --nginx, nothing is sent.
    """
    taken, files = premises.read(assume, deny)
    if nginx and new is None:  # which `--nginx OLD NEW` took for the path
        old, new, nginx = nginx, old, ""
    if new is None:
        raise click.UsageError("Missing argument 'NEW'.")
    (config, before, of_old), (new_config, after, of_new) = (
        _model(path, stated or target_version, context, files)
        for path, stated in ((old, old_version), (new, new_version))
    )
    _refuse_unused({*taken.of_paths, *site.assumed_files(files).by_path}, (config, new_config), (*of_old, *of_new))
    part = None if only is None else _part(only, before, after)
    result = limited(lambda: verify(before, after, only=part, premises=taken), path=new)
    result = replace(result, given=tuple(dict.fromkeys((*result.given, *of_old, *of_new))))
    if nginx is not None and result.witness is not None:
        confirmation = confirm(result.witness, (config, before), (new_config, after), options.binary(nginx))
        result = result.confirmed(confirmation)
    if format_ == "json":
        stdout.write_document(report.render(result, before, after))
    elif format_ != "text":
        document = "".join(formats.render(VerifyReport(result, (before, after), (old, new)), format_))
        stdout.write_document(document, format_)
    else:
        lines = report.text(result, before, after, (old, new), color=stdout.colored())
        stdout.write_lines(lines)
    return STATUSES[result.verdict]


def _part(text: str, *models: SiteModel) -> Part:
    """Return the part of a site at a URL. Raises `UsageError` for a URL that no request to these models is at."""
    if "?" in text:
        raise site.refused_url(text, "--only: a part has no arguments", text.index("?") + 1)
    try:
        part = Part.of(read_url(text))
    except UrlError as error:
        raise site.refused_url(text, f"--only: {error.message}", error.column) from None
    if not part.is_resolved:
        column = text.index("/", text.index("://") + 3) + 1
        raise site.refused_url(text, "--only: nginx resolves //, . and .. in a path", column)
    ports = {socket["port"] for model in models for socket in model.site.site["sockets"] if socket["family"] != "unix"}
    if part.port not in ports:
        known = ", ".join(map(str, sorted(ports))) or "none"
        raise UsageError(f"--only: nothing listens at port {part.port}", hint=f"ports of both configurations: {known}")
    return part


def _refuse_unused(paths: Iterable[str], configs: Iterable[Config], notes: Iterable[str]) -> None:
    """Raise `UsageError` if a premise is about an include whose files were read, or that there is none of; `notes` are
    about those that are read now.
    """
    unread = {str(include.args[0]): "" for config in configs for include in config.elsewhere}
    now = {note.partition(" is ")[0] for note in notes}
    wrong = next((path for path in sorted(paths) if path not in unread and path not in now), None)
    if wrong is not None:
        raise UsageError(f"no include of {wrong} is missing", hint=f"missing: {', '.join(unread) or 'none'}")


def _model(
    path: str, stated: Version | None, context: str | None, files: tuple[str, ...]
) -> tuple[Config, SiteModel, tuple[str, ...]]:
    """Return a configuration with its model, and what is taken as given of files that are read in place of missing
    ones: `files`, and those of packages.
    """
    unread = site.assumed_files(files)
    read, _ = site.read_with_standins(path, context, None, None, unread, is_one_of_two=True)
    model = limited(lambda: SiteModel(read.config, Build(choose(stated, None).version)), path=path)
    return read.config, model, read.notes
