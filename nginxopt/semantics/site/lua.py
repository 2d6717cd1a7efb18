"""Reads Lua as far as it is one expression or one constant answer, as statements of nginx's rewrite module.

`set_by_lua` is a `set` where its code returns constants, variables of nginx or of the environment, joined by `..` or
`or`; a handler is a `return` where its code only calls `ngx.exit`, `ngx.redirect`, `ngx.print` or `ngx.say`. Code of
any other form is not read, nor is what may fail: for `nil .. "a"` nginx answers with the error 500.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import cached_property

from nginxopt import lazy
from nginxopt.config import Config
from nginxopt.facts import having
from nginxopt.records import record
from nginxopt.semantics.site.form import LevelForm, Node, OpaqueVariableForm, SetForm

ENVIRONMENT = "os_getenv_"
"""The prefix of variables that stand for variables of the environment."""

_NESTED = 50
"""The most parentheses of code that is read."""

_SPACE = lazy.pattern(r"(?:\s+|--(?!\[)[^\n]*)*", re.ASCII)
_TOKEN = lazy.pattern(
    r"""(?P<string>"(?:[^"\\\r\n]|\\[nrt"'\\])*"|'(?:[^'\\\r\n]|\\[nrt"'\\])*')|\[\[(?P<long>[^]\r]*)\]\]"""
    r"|(?P<word>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|(?P<number>0|[1-9]\d{0,13})(?![\w.])|(?P<mark>\.\.(?!\.)|[(),;])",
    re.ASCII,
)
_ESCAPE = lazy.pattern(r"\\(.)")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}

_NAME = lazy.pattern(r"\w+", re.ASCII)
_FOUND = ("host", "remote_addr", "request_method", "request_uri", "scheme", "uri")
"""Variables that every request has; `ngx.var` is nil for others of the request that are not found."""
_SENT = ("arg_", "cookie_", "http_")

_URL = lazy.pattern(r"https?://[!#%-~]+")
_REDIRECTS = ("301", "302", "303", "307")
"""The statuses that `ngx.redirect` accepts. 308 is left out, as nginx before 1.13.0 does not treat it as a redirect."""
_ERRORS = {
    "ngx.HTTP_BAD_REQUEST": "400",
    "ngx.HTTP_UNAUTHORIZED": "401",
    "ngx.HTTP_FORBIDDEN": "403",
    "ngx.HTTP_NOT_FOUND": "404",
    "ngx.HTTP_NOT_ALLOWED": "405",
    "ngx.HTTP_GONE": "410",
    "ngx.HTTP_TOO_MANY_REQUESTS": "429",
    "ngx.HTTP_INTERNAL_SERVER_ERROR": "500",
    "ngx.HTTP_BAD_GATEWAY": "502",
    "ngx.HTTP_SERVICE_UNAVAILABLE": "503",
}
_MOVED = {"ngx.HTTP_MOVED_PERMANENTLY": "301", "ngx.HTTP_MOVED_TEMPORARILY": "302", "ngx.HTTP_SEE_OTHER": "303"}
_ENDS = ("ngx.HTTP_OK", "ngx.OK", "200")


_PHASES = ("rewrite", "access", "content")
"""The handlers that come after the script, in this order."""
_CHECKED_BEFORE = {"client_max_body_size", "internal"}
"""What nginx checks as it enters a location (`ngx_http_core_find_config_phase`)."""


class _UnreadError(Exception):
    """Code that is not of the form."""


@record(eq=True)
class LuaValue:
    """The value of an expression, as a value of nginx, in which nil is the empty string.

    Attributes:
        text: The value, in which `${os_getenv_name}` stands for the variable of the environment.
        is_nil: Whether it may be nil, or false.
        is_known: Whether it is nil or not whatever the request and the environment.
        environment: The variables of the environment in it.
    """

    text: str
    is_nil: bool = False
    is_known: bool = True
    environment: tuple[str, ...] = ()


class LuaStatements:
    """The statements that the code of a configuration is.

    Args:
        environment: The variables of the environment that the code reads, by name; `set` adds to them.
    """

    def __init__(self, config: Config, environment: dict[str, OpaqueVariableForm]) -> None:
        self._config = config
        self._environment = environment

    def set(self, variable: str, code: str, node: Node) -> SetForm | None:
        """Return the `set` that is equivalent to a `set_by_lua`; None if its code is not understood."""
        value = returned(code) if variable.startswith("$") else None
        if value is None or not all(self._add_environment(name, node) for name in value.environment):
            return None
        return {"kind": "set", "node": node, "variable": variable, "value": value.text}

    def answer(
        self, phase: str, code: str, form: LevelForm, settings: frozenset[str], names: Set[str]
    ) -> tuple[str, ...] | None:
        """Return the arguments of the `return` at the end of the script of a location that answers like a handler;
        None if there is none.

        Nothing that acts between the two may be there: a rewrite, a check of access, another handler. `settings` are
        those that the location has or may have, and `names` the directives that stand in it.
        """
        if phase not in _PHASES or any(each["kind"] != "set" for each in form["script"]):
            return None
        if phase != "rewrite" and (form["limit_except"] is not None or settings & self._checks):
            return None
        if phase == "content" and ("try_files" in settings or names & self._handlers):
            return None
        args = answered(code)
        is_printed = args is not None and args[0] == "200"
        return None if is_printed and (phase != "content" or self._has_pages) else args

    def _add_environment(self, name: str, node: Node) -> bool:
        """Define the variable that stands for one of the environment. Return whether its name has no other meaning."""
        variable, content = f"${ENVIRONMENT}{name.lower()}", ["os.getenv", name]
        form: OpaqueVariableForm = {
            "kind": "opaque", "node": node, "variable": variable, "reason": f"the environment variable {name}",
            "content": content,
        }  # fmt: skip
        return not self._is_used and self._environment.setdefault(variable, form)["content"] == content

    @cached_property
    def _checks(self) -> frozenset[str]:
        return having("effect", "access") - _CHECKED_BEFORE

    @cached_property
    def _handlers(self) -> frozenset[str]:
        return having("inherited", "handler")

    @cached_property
    def _is_used(self) -> bool:
        """Whether other names begin as those of these variables do."""
        return any(ENVIRONMENT.encode() in file.source.data.lower() for file in self._config.files)

    @cached_property
    def _has_pages(self) -> bool:
        """Whether there may be pages of errors, in which `ngx.say` keeps the status of an earlier `ngx.exit`."""
        return any(directive.name == "error_page" for directive, _ in self._config.walk())


def returned(code: str) -> LuaValue | None:
    """Return what the code of `set_by_lua` returns; None if it is not a single `return` that is understood."""
    try:
        reader = _Reader(code)
        reader.expect("return")
        value = LuaValue("") if reader.token in ("", ";") else reader.expression()
        reader.end()
    except _UnreadError:
        return None
    return value


def answered(code: str) -> tuple[str, ...] | None:
    """Return the arguments of the `return` that answers like the code of a handler; None if it is not understood.

    That of `ngx.print` and `ngx.say` has the status 200, for handlers of content only.
    """
    try:
        return _answer(_Reader(code))
    except _UnreadError:
        return None


def _answer(reader: _Reader) -> tuple[str, ...]:
    printed: list[str] = []
    while reader.token in ("ngx.print", "ngx.say"):
        end = "\n" if reader.take() == "ngx.say" else ""
        printed.append("".join([*map(_text, reader.arguments()), end]))
        reader.skip(";")
    reader.skip("return")
    if printed:
        if reader.token == "ngx.exit" and reader.take() and "".join(reader.call()) not in _ENDS:
            raise _UnreadError
        reader.end()
        return "200", "".join(printed)
    name = reader.take()
    if name == "ngx.exit":
        status = "".join(reader.call())
        status = _ERRORS.get(status, status)
        if status not in _ERRORS.values():
            raise _UnreadError
        reader.end()
        return (status,)
    if name != "ngx.redirect":
        raise _UnreadError
    reader.expect("(")
    url, status = _text(reader.expression()), "302"
    if reader.skip(","):
        status = reader.take()
    reader.expect(")")
    reader.end()
    status = _MOVED.get(status, status)
    if status not in _REDIRECTS or not _URL.fullmatch(url):
        raise _UnreadError
    return status, url


def _text(value: LuaValue) -> str:
    """Return a value that nginx prints as it is."""
    if value.is_nil or value.environment:
        raise _UnreadError
    return value.text


class _Reader:
    """Reads code token by token; `token` is the next one, empty at the end."""

    def __init__(self, code: str) -> None:
        if code.count("(") > _NESTED:
            raise _UnreadError
        self._code = code
        self._at = 0
        self._advance()

    def _advance(self) -> None:
        space = _SPACE.match(self._code, self._at)
        start = space.end() if space else self._at
        match = _TOKEN.match(self._code, start)
        if match is None and start < len(self._code):
            raise _UnreadError
        self._match = match
        self.token = match[0] if match else ""
        self._at = match.end() if match else start

    def take(self) -> str:
        """Return the next token and go on."""
        token = self.token
        self._advance()
        return token

    def skip(self, token: str) -> bool:
        """Go on if this is the next token."""
        return self.token == token and bool(self.take())

    def expect(self, token: str) -> None:
        """Go on. Raises `_UnreadError` if this is not the next token."""
        if not self.skip(token):
            raise _UnreadError

    def end(self) -> None:
        """Raise `_UnreadError` unless the code ends here."""
        self.skip(";")
        if self.token:
            raise _UnreadError

    def call(self) -> tuple[str, ...]:
        """Return the tokens between parentheses, without any that are nested."""
        self.expect("(")
        tokens = []
        while self.token not in ("(", ")", ""):
            tokens.append(self.take())
        self.expect(")")
        return tuple(tokens)

    def arguments(self) -> Iterator[LuaValue]:
        """Yield the expressions between parentheses, at least one."""
        self.expect("(")
        yield self.expression()
        while self.skip(","):
            yield self.expression()
        self.expect(")")

    def expression(self) -> LuaValue:
        """Return the value of the expression that begins here; `or` takes the first operand that is not nil."""
        value = self._joined()
        while self.skip("or"):
            value = _either(value, self._joined())
        return value

    def _joined(self) -> LuaValue:
        parts = [self._operand()]
        while self.skip(".."):
            parts.append(self._operand())
        if len(parts) == 1:
            return parts[0]
        if any(part.is_nil for part in parts):
            raise _UnreadError
        return LuaValue("".join(part.text for part in parts), environment=sum((part.environment for part in parts), ()))

    def _operand(self) -> LuaValue:
        if self.skip("("):
            value = self.expression()
            self.expect(")")
            return value
        match = self._match
        kind = match.lastgroup if match else None
        token = self.take()
        if kind == "number":
            return LuaValue(token)
        if kind in ("string", "long"):
            return LuaValue(_constant(token))
        if token in ("nil", "false"):
            return LuaValue("", is_nil=True)
        if token == "os.getenv":
            is_call = self.skip("(")
            name = _constant(self.take())
            if is_call:
                self.expect(")")
            if not _NAME.fullmatch(name):
                raise _UnreadError
            variable = f"${{{ENVIRONMENT}{name.lower()}}}"
            return LuaValue(variable, is_nil=True, is_known=False, environment=(name,))
        name = token.lower().removeprefix("ngx.var.")
        if token.startswith("ngx.var.") and (name in _FOUND or name.startswith(_SENT)):
            return LuaValue(f"${{{name}}}", is_nil=name not in _FOUND, is_known=name in _FOUND)
        raise _UnreadError


def _either(value: LuaValue, other: LuaValue) -> LuaValue:
    """Return the value of `value or other`."""
    if not value.is_nil:
        return value
    if value.is_known:
        return other
    if not value.environment:  # a header that a request has or has not
        raise _UnreadError
    return LuaValue(value.text, other.is_nil, is_known=not other.is_nil, environment=value.environment)


def _constant(token: str) -> str:
    """Return the text of a string. Raises `_UnreadError` for anything else, and for a string with a `$`, which no `set`
    can express.
    """
    if "$" in token or token[:1] not in ("'", '"', "["):
        raise _UnreadError
    if token.startswith("["):
        return token[2:-2].removeprefix("\n")
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), token[1:-1])
