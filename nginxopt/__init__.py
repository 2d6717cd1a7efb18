"""nginxopt: what makes an nginx configuration slow, the fix, and the proof that nothing else changed."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nginxopt.config import Config, load, load_text

__version__ = "0.1.0"
__all__ = ["Config", "__version__", "load", "load_text"]

# Imported on first use (PEP 562), so that `import nginxopt`, and with it `nginxopt --help`, costs nothing.
_LAZY = {"Config": "nginxopt.config", "load": "nginxopt.config", "load_text": "nginxopt.config"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
