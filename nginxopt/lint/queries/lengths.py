"""What a `proxy_pass` sends as the body of a request, and what as its length, by its directives.

nginx sends the length of the body, or streams it in chunks and sends `Transfer-Encoding: chunked`; `proxy_set_header`
replaces only these headers (ngx_http_proxy_create_request). Verified on nginx 1.22.1 and 1.31.3:

- `$content_length` is the length that nginx sends itself, also of a body that arrived in chunks;
- `$http_content_length` is empty for a body in chunks, which nginx passes on without them;
- with `proxy_pass_request_body off`, nginx still sends the length of the client's body;
- with `proxy_set_body`, it sends that text and its length, also with `proxy_pass_request_body off`.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.lint.queries.pools import header_directives, knows_headers, variable
from nginxopt.records import record
from nginxopt.semantics import Pass, values
from nginxopt.text import encode

LENGTH, CODING = "content-length", "transfer-encoding"
"""The headers that say where a body ends, in lower case."""

_VARIABLES = lazy.pattern(r"\$(?:\{\w+\}|\w+)")
_REQUEST_BODY = lazy.pattern(r"\$(?:\{request_body\}|request_body\b)", re.IGNORECASE)
_STATED, _CHUNKED = "Content-Length: 5", "Transfer-Encoding: chunked"


class Body(Enum):
    """The body that a pass sends: that of the client, none, or the text of its `proxy_set_body`."""

    CLIENT = auto()
    NONE = auto()
    OWN = auto()


class LengthFault(Enum):
    """How the body and the length of a request disagree.

    `NO_LENGTH`: the body has no length. `OTHER_LENGTH`: it has the length of another body. `NO_CHUNKS`: it is announced
    in chunks, and has none. `HIDDEN_CHUNKS`: its chunks are not announced. `NO_BODY`: there is only a length.
    """

    NO_LENGTH = auto()
    OTHER_LENGTH = auto()
    NO_CHUNKS = auto()
    HIDDEN_CHUNKS = auto()
    NO_BODY = auto()


@record(eq=True)
class LengthMismatch:
    """What is wrong with a request.

    Attributes:
        header: The `proxy_set_header` that makes it wrong; None if one is missing.
        shown_by: The header of a request of a client that shows it, as curl's `-H` takes it.
    """

    kind: LengthFault
    header: Directive | None
    shown_by: str


def body(pass_: Pass) -> Body | None:
    """Return the body that a `proxy_pass` sends; None if that is not known."""
    own, passes = pass_.setting("set_body"), pass_.setting("pass_request_body")
    if own.is_set:
        return Body.OWN
    if not (own.known and passes.known):
        return None
    return Body.NONE if values.flag(passes.value or "on") is False else Body.CLIENT


def mismatch(pass_: Pass, *, has_body: bool = True) -> LengthMismatch | None:
    """Return what is certainly wrong with a request of a `proxy_pass`; None if nothing is, as in the frames of HTTP/2.

    `has_body` is whether nginx still has the body of the client; in a subrequest of `auth_request` it does not.
    """
    sent = body(pass_)
    is_framed = pass_.protocol != "proxy" or pass_.setting("http_version").value not in ("1.0", "1.1")
    if is_framed or sent is None or not knows_headers(pass_):
        return None
    if sent is Body.CLIENT and not has_body:
        sent = Body.NONE
    coded = _of_chunks(pass_) if sent is Body.CLIENT else None
    of_length = header_directives(pass_, LENGTH)
    if coded is not None or len(of_length) > 1:  # of several, nginx sends each that is not empty
        return coded
    header = next(iter(of_length), None)
    if sent is Body.NONE:
        return LengthMismatch(LengthFault.NO_BODY, header, _STATED) if _states_length(header) else None
    if header is None:
        return None
    return _of_client(header) if sent is Body.CLIENT else _of_own(header, _text(pass_), has_body=has_body)


def _of_chunks(pass_: Pass) -> LengthMismatch | None:
    """Return what is wrong with the `Transfer-Encoding` of the body of the client, which nginx streams or not."""
    codings = header_directives(pass_, CODING)
    announced = next(filter(_announces_chunks, codings), None)
    if announced is not None:
        return LengthMismatch(LengthFault.NO_CHUNKS, announced, _CHUNKED if "$" in announced.args[1] else _STATED)
    streams = values.flag(pass_.setting("request_buffering").value or "") is False
    is_hidden = bool(codings) and not any(coding.args[1] for coding in codings)
    if streams and is_hidden and pass_.setting("http_version").value == "1.1":
        return LengthMismatch(LengthFault.HIDDEN_CHUNKS, codings[0], _CHUNKED)
    return None


def _announces_chunks(coding: Directive) -> bool:
    value = coding.args[1].lower()
    return value == "chunked" or variable(value) == "http_transfer_encoding"


def _states_length(header: Directive | None) -> bool:
    """Return whether a request whose body is not sent has its length nevertheless."""
    return header is None or _is_of_client(header) or bool(values.number(header.args[1]))


def _is_of_client(header: Directive) -> bool:
    return variable(header.args[1]) in ("content_length", "http_content_length")


def _of_client(header: Directive) -> LengthMismatch | None:
    """Return what is wrong with the body of the client."""
    value = header.args[1]
    if not value:
        return LengthMismatch(LengthFault.NO_LENGTH, header, _STATED)
    if variable(value) == "http_content_length":
        return LengthMismatch(LengthFault.NO_LENGTH, header, _CHUNKED)
    number = values.number(value)
    return None if number is None else LengthMismatch(LengthFault.OTHER_LENGTH, header, f"Content-Length: {number + 1}")


def _of_own(header: Directive, text: str, *, has_body: bool) -> LengthMismatch | None:
    """Return what is wrong with the text of `proxy_set_body`.

    A text of nothing but variables may be empty, or be as long as it is stated, as `$request_body` mostly is.
    """
    value, literal = header.args[1], _VARIABLES.sub("", text)
    if not value:
        is_sent = bool(literal) or (has_body and bool(_REQUEST_BODY.search(text)))
        return LengthMismatch(LengthFault.NO_LENGTH, header, _STATED) if is_sent else None
    if _is_of_client(header):
        is_other = bool(literal) or len(_REQUEST_BODY.findall(text)) > 1
    else:
        is_other = "$" not in text and values.number(value) not in (None, len(encode(text)))
    return (
        LengthMismatch(LengthFault.OTHER_LENGTH, header, f"Content-Length: {len(encode(literal)) + 1}")
        if is_other
        else None
    )


def _text(pass_: Pass) -> str:
    """Return the text of the `proxy_set_body` of a pass."""
    return pass_.setting("set_body").value or ""
