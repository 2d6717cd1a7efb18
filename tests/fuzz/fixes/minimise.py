"""A fault made small: steps, requests and directives are taken away as long as it stays."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

from nginxopt.config import Block, Directive, load_text
from nginxopt.errors import InputError
from tests.fuzz.fixes.case import Case, Start, Step
from tests.fuzz.fixes.trial import Fault, Trial
from tests.fuzz.minimise import fewer, in_turn, minimise

MOST = 150
"""How many smaller cases are tried at most."""


async def minimised(trial: Trial, fault: Fault, options: Sequence[str]) -> Fault:
    """Return a fault of the same kind whose case is as small as was found."""
    loop = asyncio.get_running_loop()

    def fails(case: Case) -> Fault | None:
        return asyncio.run_coroutine_threadsafe(trial.still(case, fault.kinds, options), loop).result()

    reductions = [in_turn(parts) for parts in (_steps, _starts, _requests, _directives)]
    return (await asyncio.to_thread(minimise, fault.case, fault, reductions, fails, MOST))[1]


def _steps(case: Case) -> Iterator[Case]:
    steps = case.steps
    sizes = [(len(steps) + 1) // 2, 1] if len(steps) > 3 else [1] if len(steps) > 1 else []
    return (replace(case, steps=fewer_) for size in sizes for fewer_ in fewer(steps, size))


def _starts(case: Case) -> Iterator[Case]:
    if case.start != Start():
        yield replace(case, start=Start())


def _requests(case: Case) -> Iterator[Case]:
    for number, step in enumerate(case.steps):
        if len(step.talks) > 1:
            yield from (_with(case, number, replace(step, talks=talks)) for talks in fewer(step.talks))
        for which, talk in enumerate(step.talks):
            before, after = step.talks[:which], step.talks[which + 1 :]
            if len(talk.requests) > 1:
                for requests in fewer(talk.requests):
                    shorter = replace(talk, requests=requests)
                    yield _with(case, number, replace(step, talks=(*before, shorter, *after)))


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
