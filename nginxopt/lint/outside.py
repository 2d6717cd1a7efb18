"""Findings in files outside of the named paths: told without the text of these files, and not fixed.

See `nginxopt.config.roots`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from nginxopt.lint.diagnostic import Diagnostic, Fix, Grade, Related
from nginxopt.lint.witness import Witness
from nginxopt.text import decode
from nginxopt.text.withheld import hide

_NOT_SHOWN = "this file is outside of the named paths: its text is neither shown nor changed without --also"
_COPIES = "the text of a file outside of the named paths would be copied"


def left(diagnostics: Iterable[Diagnostic]) -> frozenset[tuple[str, Grade]]:
    """Return the files outside that fixes would change, with the grades of these fixes."""
    return frozenset(
        (path, diagnostic.fix.safety.grade)
        for diagnostic in diagnostics
        if diagnostic.fix is not None
        for path in _paths(diagnostic)
    )


def without_fix(diagnostic: Diagnostic, withheld: frozenset[str]) -> Diagnostic:
    """Return a diagnostic; if its fix changes a file outside, all of it is replaced by the reason.

    So is one that would copy words of a file outside, `withheld`, into a file inside.
    """
    paths = _paths(diagnostic)
    if diagnostic.fix is None:
        return diagnostic
    if not paths:
        return (
            diagnostic.without_fix(f"{diagnostic.fix.title} (not by --fix: {_COPIES})")
            if _copies(diagnostic.fix, withheld)
            else diagnostic
        )
    why = f"{', '.join(paths)} is outside of the named paths, and left without --also"
    return diagnostic.without_fix(f"{diagnostic.fix.title}; {why}")


def _copies(fix: Fix, withheld: frozenset[str]) -> bool:
    """Return whether a fix would copy words of a file outside into one inside."""
    texts = [decode(change.edit.text) for change in fix.changes]
    return any(hide(text, withheld) != text for text in texts)


def _paths(diagnostic: Diagnostic) -> list[str]:
    changes = diagnostic.fix.changes if diagnostic.fix else ()
    return sorted({change.source.path for change in changes if change.source.outside})


def shown(diagnostic: Diagnostic, titles: Mapping[str, str]) -> Diagnostic:
    """Return what a report shows of a diagnostic: in a file outside its place, and the title of its rule.

    `titles` are those of the rules, by id. Of a file inside, the message leaves out words that only files outside have.
    """
    finding = diagnostic.finding
    related = tuple(_shown_related(place) for place in finding.related)
    if finding.source.outside:
        title = titles.get(diagnostic.rule, diagnostic.rule)
        told = replace(finding, message=title, fix=None, help=_NOT_SHOWN, related=related, witness=None)
    else:
        told = replace(
            finding,
            message=hide(finding.message),
            help=hide(finding.help),
            related=related,
            witness=_shown_witness(finding.witness),
        )
    return replace(diagnostic, finding=told) if told != finding else diagnostic


def _shown_witness(witness: Witness | None) -> Witness | None:
    """Return a request that shows a finding; None if it has words of a file outside."""
    texts = () if witness is None else (witness.url, witness.shows, *witness.headers, *witness.assume)
    return witness if all(hide(text) == text for text in texts) else None


def _shown_related(related: Related) -> Related:
    return replace(related, message="here" if related.source.outside else hide(related.message))
