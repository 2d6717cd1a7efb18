"""A call of `nginxopt trace --requests`: what becomes of the requests of a file, and which rules they use."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nginxopt.cli import stdout
from nginxopt.faults import collecting
from nginxopt.request.log_places import LogPlaces

if TYPE_CHECKING:
    from nginxopt.cli.site import AskedSite
    from nginxopt.request.batch import DirectiveTally
    from nginxopt.request.real import SampleComparison
    from nginxopt.request.traffic import Traffic
    from nginxopt.system.nginx import Binary


_SAMPLE = 500
"""The most requests that are also sent to nginx."""


def run(asked: AskedSite, path: str, stated: str | None, format_: str, binary: Binary | None, *, verbose: bool) -> int:
    """Read the file, ask the model, and nginx if there is one, report. Returns 1 if nginx answers otherwise."""
    from nginxopt.request import usage_report

    for note in asked.notes:
        stdout.say(f"note: {note}")
    traffic = _read(asked, path, stated)
    with collecting() as bugs:
        tally = _tally(asked, traffic)
    comparison = None if binary is None else _compared(asked, traffic, binary)
    by = f"nginx {asked.target.version}"
    log = LogPlaces(asked.model.site, (path,)) if traffic.is_log else None
    report = usage_report.UsageReport(path, traffic, tally, asked.model.site, by, comparison, log)
    if format_ == "json":
        stdout.write_document(usage_report.document(report))
    else:
        stdout.write_lines(usage_report.lines(report, verbose=verbose))
    return stdout.report_bugs(bugs, int(comparison is not None and bool(comparison.differences)))


def _compared(asked: AskedSite, traffic: Traffic, binary: Binary) -> SampleComparison:
    """Return what nginx answers to a sample of the requests."""
    from nginxopt.request.real import compare_sample

    return compare_sample(asked.config, asked.gate, traffic.sample(_SAMPLE), asked.world, binary)


def _read(asked: AskedSite, path: str, stated: str | None) -> Traffic:
    """Return the requests of the file, with a progress bar on a terminal."""
    from nginxopt.request.requests_file import RequestsFile

    file = RequestsFile(path, asked.config, asked.gate, stated, asked.base)
    if not sys.stderr.isatty():
        return file.read()
    with stdout.progress(1, f"reading {path}") as bar:

        def progress(done: int, size: int) -> None:
            bar.length = size
            bar.update(done - bar.pos)

        return file.read(progress)


def _tally(asked: AskedSite, traffic: Traffic) -> DirectiveTally:
    """Trace the requests, with a progress bar on a terminal."""
    from nginxopt.request.batch import Batch

    batch = Batch(asked.model, asked.gate, asked.world)
    if not sys.stderr.isatty():
        return batch.tally(traffic.groups)
    different = sum(len(group.targets) for group in traffic.groups)
    with stdout.progress(different, "tracing") as bar:
        return batch.tally(traffic.groups, bar.update)
