"""Which locations a URI of a subrequest or an internal redirect may land in: those of the same server."""

from __future__ import annotations

from nginxopt.semantics import Level


class Landing:
    """The locations of a server that may serve a URI, or what it is rewritten to there.

    All passes of a server ask about the same URIs, so what holds for the whole server is computed once.
    """

    def __init__(self, server: Level, uri: str) -> None:
        locations = [level for level in server.walk() if level.kind == "location"]
        self._uri = uri
        self._has_exact = any(location.args == ("=", uri) for location in locations)
        is_folder = uri.endswith("/")  # whose index has another URI
        serving = (location for location in locations if self._may_serve(location))
        self._is_anywhere = (
            is_folder or _goes_on(server) or any(_goes_on(inner) for location in serving for inner in location.walk())
        )

    def may_be(self, level: Level) -> bool:
        """Return whether a level of the server, or one inside it, may serve the URI or what it is rewritten to."""
        location = level.around("location")
        return self._is_anywhere or location is None or self._may_serve(location)

    def _may_serve(self, location: Level) -> bool:
        if self._has_exact:
            return location.args == ("=", self._uri)
        *modifier, pattern = location.args or ("",)
        is_prefix = modifier != ["="] and self._uri.startswith(pattern)
        return "$" in self._uri or modifier in (["~"], ["~*"]) or is_prefix


def _goes_on(level: Level) -> bool:
    """Return whether a request may leave a level for another location."""
    names = any(name in level.names for name in ("try_files", "index", "random_index"))
    rewrites = any(not rewrite.args[2:] or rewrite.args[2] == "last" for rewrite in level.own("rewrite"))
    return (
        names or rewrites or bool(level.bulks) or any(inner.kind == "if" and _goes_on(inner) for inner in level.levels)
    )
