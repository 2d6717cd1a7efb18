"""The fixtures of containers, for the test of the image."""

from __future__ import annotations

from tests.docker.conftest import base_image, engine

__all__ = ["base_image", "engine"]
