"""nginxopt finds what makes an nginx configuration slow, fixes it, and proves that nothing else changed."""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.config import Config, load, load_text

__version__ = "0.1.0"
__all__ = ["Config", "__version__", "load", "load_text"]

__getattr__ = attributes(__name__, {"config": ("Config", "load", "load_text")})
