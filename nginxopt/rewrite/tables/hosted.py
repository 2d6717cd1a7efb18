"""The `_redirects` lists of Netlify and of Cloudflare Pages, one row a line: `/from /to [status]`.

https://docs.netlify.com/routing/redirects/ and https://developers.cloudflare.com/pages/configuration/redirects/; where
the two differ, each is read in its own way (docs/guide/redirect-tables.md).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Literal, NamedTuple

from nginxopt import lazy
from nginxopt.errors import InputError
from nginxopt.request.columns import is_address
from nginxopt.rewrite.tables import patterns
from nginxopt.rewrite.tables.paths import decoded_path, read_target, split_site
from nginxopt.rewrite.tables.table import (
    REDIRECTS,
    Arguments,
    CannotAnswer,
    Pattern,
    Row,
    Table,
    TableRows,
    require_utf8,
    unanswered,
)
from nginxopt.text import Source, Span

Platform = Literal["netlify", "cloudflare"]

DEFAULT_STATUS = {"netlify": 301, "cloudflare": 302}

_WORD = lazy.pattern(rb"[^ \t\r\f\v]+")
_PLACEHOLDER = lazy.pattern(rb":([A-Za-z][A-Za-z0-9_]*)")
_LIKE_PLACEHOLDER = lazy.pattern(rb"(?<![A-Za-z0-9]):([A-Za-z][A-Za-z0-9_]*)|:(splat)")
"""In a target, a colon in `/a:b` or before a port begins no placeholder."""
_STATUS = lazy.pattern(rb"(\d{3})(!?)\Z")
_CONDITION = lazy.pattern(rb"(?i)(?:country|language|role|cookie)=")

Word = tuple[bytes, int, int]


def read(source: Source, platform: Platform) -> Table:
    """Return the table of a `_redirects` list."""
    require_utf8(source)
    table = TableRows()
    premises: set[str] = set()
    for words in lines(source):
        span = Span(words[0][1], words[-1][2])
        try:
            row, is_forced = _row(words, platform)
        except CannotAnswer as verdict:
            table.reject(verdict.at(span), _requests(words[0][0], span, platform))
            continue
        table.rows.append(row)
        if platform == "netlify" and not is_forced:
            premises.add("no-files")
        if row.site:
            premises.add("client-scheme")
    return Table(
        source, platform, tuple(table.rows), tuple(table.rejected), in_order=True, premises=tuple(sorted(premises))
    )


def lines(source: Source) -> Iterator[list[Word]]:
    """Yield the words of each line that is neither empty nor a comment, with their places."""
    at = 3 if source.data.startswith(b"\xef\xbb\xbf") else 0
    for line in source.data[at:].split(b"\n"):
        words = [(match[0], at + match.start(), at + match.end()) for match in _WORD.finditer(line)]
        if words and not words[0][0].startswith(b"#"):
            yield words
        at += len(line) + 1


def platform_of(source: Source) -> Platform:
    """Return the platform that a list shows it is for; `InputError` if it shows none, as the two differ."""
    for words in lines(source):
        conditions = any(_CONDITION.match(word) for word, _, _ in words[2:])
        forced = any(_STATUS.match(word) and word.endswith(b"!") for word, _, _ in words[2:])
        if conditions or forced:
            return "netlify"
    raise InputError(
        "a _redirects list means different things to Netlify and Cloudflare",
        path=source.path,
        hint="use --from netlify or --from cloudflare",
    )


def _row(words: list[Word], platform: Platform) -> tuple[Row, bool]:
    """Return the row of a line, and whether it counts even where there is a file."""
    texts = [word for word, _, _ in words]
    if platform == "netlify":
        texts = _without_comment(texts)
    target_at = next((number for number, text in enumerate(texts[1:], 1) if is_address(text)), 0)
    if not target_at:
        raise CannotAnswer("target", "the row has no target", "write /from /to, or /from https://...")
    if target_at > 1:
        raise CannotAnswer("query-condition", "nginx cannot match single query parameters in a map")
    status, is_forced = _status(texts[2] if len(texts) > 2 else b"", platform)
    if len(texts) > 3:
        raise CannotAnswer("condition", f"nginx does not know {texts[3].decode('utf-8', 'replace').partition('=')[0]}")
    origin = _origin(texts[0], platform)
    if platform == "netlify":
        _check_placeholders(texts[1], origin.names)
    target = _target(texts[1], status, platform)
    arguments = _arguments(target, status, platform)
    start, end = words[0][1], words[-1][2]
    if origin.pattern is None:
        return Row(start, end, origin.site, origin.paths, None, None, status, target, arguments), is_forced
    if origin.site:
        raise CannotAnswer("host-pattern", "wildcards together with a host", "give the host a server block of its own")
    if status == 200:
        message = "a rewrite of a wildcard serves files where there are any, which is a question of try_files"
        raise CannotAnswer("rewrite-of-wildcard", message, "use try_files in a location")
    pieces = patterns.substituted(target, origin.names)
    pattern = patterns.checked(replace(origin.pattern, pieces=pieces), status, arguments)
    alone = b"".join(piece for piece in pieces if isinstance(piece, bytes))
    return Row(start, end, b"", origin.paths, None, pattern, status, alone, arguments), is_forced


class _Origin(NamedTuple):
    """The requests of a row, and the numbers of the captures of its pattern by name."""

    site: bytes
    paths: tuple[bytes, ...]
    pattern: Pattern | None
    names: dict[bytes, int]


def _origin(text: bytes, platform: Platform) -> _Origin:
    """Return the requests that the first word of a row is for; `CannotAnswer` if it cannot be read."""
    if b"?" in text or b"#" in text:
        raise CannotAnswer("query-condition", "a row matches paths only, without ? and #")
    site, path = split_site(text)
    regex, names, sample, below = {"netlify": _netlify_pattern, "cloudflare": _cloudflare_pattern}[platform](path)
    if regex is None:
        return _Origin(site, _paths(decoded_path(path), platform), None, {})
    bare = below.rstrip(b"/") if below is not None and platform == "netlify" else b""
    return _Origin(site, (bare,) * bool(bare), Pattern(regex, (), sample, below, (b"x",) * len(names)), names)


def _check_placeholders(target: bytes, names: Collection[bytes]) -> None:
    """Refuse a target with a placeholder that the path does not have. Cloudflare sends it as it is written."""
    like = [match[1] or match[2] for match in _LIKE_PLACEHOLDER.finditer(target.partition(b"#")[0])]
    for name in like:
        if name not in names:
            raise CannotAnswer("placeholder", f"the path has no :{name.decode()}", _hint(like, names))


def _hint(like: Collection[bytes], names: Collection[bytes]) -> str:
    """Return the advice for a target with an unknown placeholder. With a known one, nginx would decode `%3A`."""
    if not names:
        return "write %3A for the colon"
    return "use a placeholder of the path" + ("" if any(name in names for name in like) else ", or %3A for the colon")


def _requests(text: bytes, span: Span, platform: Platform) -> Row | None:
    """Return the requests of a row that is not answered; None if they cannot be read."""
    try:
        origin = _origin(text, platform)
    except CannotAnswer:
        return None
    return unanswered(span, site=origin.site, paths=origin.paths, pattern=origin.pattern)


def _without_comment(texts: list[bytes]) -> list[bytes]:
    """Return the words before one that begins with `#`."""
    return texts[: next((number for number, text in enumerate(texts) if text.startswith(b"#")), len(texts))]


def _status(text: bytes, platform: Platform) -> tuple[int, bool]:
    if not text:
        return DEFAULT_STATUS[platform], False
    match = _STATUS.match(text)
    if match is None and _CONDITION.match(text):
        raise CannotAnswer("condition", f"nginx does not know {text.decode('utf-8', 'replace').partition('=')[0]}")
    if match is None or (match[2] and platform == "cloudflare"):
        raise CannotAnswer("status", "this is not a status", "write 301, 302, 303, 307, 308 or 200")
    status = int(match[1])
    if status not in (*REDIRECTS, 200):
        hint = "use error_page and return" if status >= 400 else None
        raise CannotAnswer("status", f"a page with status {status} is not a redirect", hint)
    return status, bool(match[2])


def _target(text: bytes, status: int, platform: Platform) -> bytes:
    if status != 200:
        return read_target(text)
    if not text.startswith(b"/"):
        raise CannotAnswer("proxy", "status 200 with an address asks for a proxy", "use proxy_pass in a location")
    if b"?" in text or b"#" in text:
        raise CannotAnswer("rewrite-query", f"a rewrite to a path with a query is not defined for {platform}")
    return decoded_path(text)


def _arguments(target: bytes, status: int, platform: Platform) -> Arguments:
    """Return the treatment of the arguments: Cloudflare keeps those of the target if it has any."""
    if status == 200:
        return "append"
    if platform == "cloudflare" and b"?" in target.partition(b"#")[0]:
        return "drop"
    return "insert"


def _paths(path: bytes, platform: Platform) -> tuple[bytes, ...]:
    """Return the paths that a row without wildcards answers: for Netlify, with and without a slash at the end."""
    if platform == "cloudflare":
        return (path,)
    bare = path.rstrip(b"/")
    return (bare, bare + b"/") if bare else (b"/",)


_Read = tuple[bytes | None, dict[bytes, int], bytes | None, bytes | None]
"""The regex of a path, the numbers of its captures by name, a path that it matches, and what it is a prefix of."""


def _netlify_pattern(path: bytes) -> _Read:
    """Return the pattern of a path; a path without wildcards has none."""
    segments = path.split(b"/")[1:]
    has_splat = segments[-1] == b"*"
    if b"*" in b"/".join(segments[:-1] if has_splat else segments):
        raise CannotAnswer("wildcard", "Netlify has * as the last segment only")
    if any(_PLACEHOLDER.match(segment) and not _PLACEHOLDER.fullmatch(segment) for segment in segments):
        hint = "write %3A for the character"
        raise CannotAnswer("placeholder", "Netlify has placeholders for whole segments only", hint)
    if not has_splat and not any(map(_PLACEHOLDER.fullmatch, segments)):
        return None, {}, None, None
    fixed = [segment for segment in (segments[:-1] if has_splat else segments) if segment or has_splat]
    regex, names, sample = _segments(fixed)
    if not has_splat:
        return b"^" + regex + rb"/?\z", names, sample, None
    names[b"splat"] = len(names) + 1
    below = patterns.prefix(decoded_path(b"/" + b"".join(s + b"/" for s in fixed))) if len(names) == 1 else None
    return b"^" + regex + rb"(?:/(" + patterns.REST + rb"))?\z", names, sample + b"/x", below


def _segments(segments: list[bytes]) -> tuple[bytes, dict[bytes, int], bytes]:
    regex, sample = b"", b""
    names: dict[bytes, int] = {}
    for segment in segments:
        match = _PLACEHOLDER.fullmatch(segment)
        if match is None:
            text = decoded_path(b"/" + segment)
            regex += patterns.literal(text)
            sample += text
            continue
        if match[1] == b"splat":
            raise CannotAnswer("placeholder", "a path of Netlify has no :splat", "write *, or give it another name")
        if match[1] in names:
            raise CannotAnswer("placeholder", f"the placeholder :{match[1].decode()} stands twice")
        names[match[1]] = len(names) + 1
        regex += b"/" + patterns.SEGMENT
        sample += b"/x"
    return regex, names, sample


def _cloudflare_pattern(path: bytes) -> _Read:
    """Return the pattern of a path; a path without wildcards has none. A placeholder may be a part of a segment."""
    if b"*" not in path and not _PLACEHOLDER.search(path):
        return None, {}, None, None
    if path.count(b"*") > 1:
        raise CannotAnswer("wildcard", "Cloudflare has one * in a row only")
    regex, sample = b"^", b""
    names: dict[bytes, int] = {}
    at = 0
    for match in re.finditer(rb"\*|:([A-Za-z][A-Za-z0-9_]*)", path):
        text = _decoded_part(path[at : match.start()], is_first=at == 0)
        name = b"splat" if match[0] == b"*" else match[1]
        if name in names:
            raise CannotAnswer("placeholder", f"the placeholder :{name.decode()} stands twice")
        names[name] = len(names) + 1
        regex += patterns.literal(text) + (b"(" + patterns.REST + b")" if name == b"splat" else patterns.SEGMENT)
        sample += text + b"x"
        at = match.end()
    tail = _decoded_part(path[at:], is_first=False)
    head = path.partition(b"*")[0]
    has_prefix = path.endswith(b"*") and len(names) == 1 and head.endswith(b"/")
    below = patterns.prefix(decoded_path(head)) if has_prefix else None
    return regex + patterns.literal(tail) + rb"\z", names, sample + tail, below


def _decoded_part(text: bytes, *, is_first: bool) -> bytes:
    """Return a part of a path, decoded; the first begins with a slash."""
    return decoded_path(text) if is_first else decoded_path(b"/x" + text)[2:]
