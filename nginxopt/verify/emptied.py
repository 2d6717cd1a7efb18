"""Sites in which files that were not read are empty: what is certainly different then, if they are."""

from __future__ import annotations

from nginxopt.config import reread
from nginxopt.errors import NginxoptError
from nginxopt.request.model import SiteModel
from nginxopt.semantics.inherit import origin
from nginxopt.semantics.site import Build


def emptied(old: SiteModel, new: SiteModel) -> tuple[SiteModel, SiteModel] | None:
    """Return both sites with empty files in place of those of which nothing is known; None if all of them were read, or
    nginx refuses one of the sites then.

    The numbers of directives stay.
    """
    if not any(map(unread_paths, (old, new))):
        return None
    try:
        return _emptied(old), _emptied(new)
    except NginxoptError:
        return None


def unread_paths(model: SiteModel) -> dict[str, str]:
    """Return the files of which nothing is known, by their paths, with the includes as they are written."""
    return {item.path: str(item.include.args[0]) for item in model.config.unread if origin(item.include) is None}


def _emptied(model: SiteModel) -> SiteModel:
    build = model.site.site["build"]
    config = reread(model.config, dict.fromkeys(unread_paths(model), b""))
    return SiteModel(config, Build(model.version, frozenset(build["fixes"]), build["prefix"]))
