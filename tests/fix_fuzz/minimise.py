"""A fault made small: steps, requests and directives are taken away as long as it stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from nginxopt.config import Block, Directive, load_text
from nginxopt.errors import InputError
from tests.fix_fuzz.case import Case, Start, Step
from tests.fix_fuzz.trial import Fault, Trial

MOST = 150
"""How many smaller cases are tried at most."""


async def minimised(trial: Trial, fault: Fault, options: Sequence[str]) -> Fault:
    """Return a fault of the same kind whose case is as small as was found."""
    best, tries = fault, 0
    for parts in (_steps, _starts, _requests, _directives, _requests, _steps):
        number = 0
        while tries < MOST and (smaller := _nth(parts, best.case, number)) is not None:
            tries += 1
            differing = await trial.still(smaller, fault.kinds, options)
            if differing:
                best = differing
            else:
                number += 1
    return best


def _nth(parts: Callable[[Case], Iterator[Case]], case: Case, number: int) -> Case | None:
    """Return the case that lacks the part of that number; None if there are fewer."""
    return next((part for index, part in enumerate(parts(case)) if index == number), None)


def _steps(case: Case) -> Iterator[Case]:
    steps = case.steps
    if len(steps) > 3:
        yield replace(case, steps=steps[len(steps) // 2 :])
        yield replace(case, steps=steps[: len(steps) // 2])
    for number in range(len(steps)):
        if len(steps) > 1:
            yield replace(case, steps=(*steps[:number], *steps[number + 1 :]))


def _starts(case: Case) -> Iterator[Case]:
    if case.start != Start():
        yield replace(case, start=Start())


def _requests(case: Case) -> Iterator[Case]:
    for number, step in enumerate(case.steps):
        for which, talk in enumerate(step.talks):
            before, after = step.talks[:which], step.talks[which + 1 :]
            if len(step.talks) > 1:
                yield _with(case, number, replace(step, talks=(*before, *after)))
            for index in range(len(talk.requests)):
                if len(talk.requests) > 1:
                    fewer = replace(talk, requests=(*talk.requests[:index], *talk.requests[index + 1 :]))
                    yield _with(case, number, replace(step, talks=(*before, fewer, *after)))


def _with(case: Case, number: int, step: Step) -> Case:
    return replace(case, steps=(*case.steps[:number], step, *case.steps[number + 1 :]))


def _directives(case: Case) -> Iterator[Case]:
    """Yield the case without one of its directives, the longest of a file first."""
    for name in sorted(case.files, key=lambda name: -len(case.files[name])):
        for text in _shorter(case.files[name]):
            yield replace(case, files={**case.files, name: text})


def _shorter(text: bytes) -> Iterator[bytes]:
    try:
        root = load_text(text, includes=False, missing_ok=True).main.block
    except InputError:
        return
    spans = {(directive.span.start, directive.span.end) for directive in _inside(root)}
    for start, end in sorted(spans, key=lambda span: span[0] - span[1]):
        if end - start < len(text.strip()):
            yield text[:start] + text[end:].lstrip(b"\n")


def _inside(block: Block) -> Iterator[Directive]:
    for directive in block.directives():
        yield directive
        if directive.block:
            yield from _inside(directive.block)
