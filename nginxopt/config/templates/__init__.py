"""Reads templates (Jinja, Go, ERB ...) from which another program generates a configuration.

The values of a template are unknown, so it is rendered several times, in *readings*. A reading chooses one option of
each block (`{% if %}`) and a sample text for each value (`{{ x }}`). What holds in all readings is taken to hold for
any values.

Input is the text of a template; output is a configuration per reading, and a mapping from its bytes back to those of
the template.
"""

from nginxopt.config.templates.loading import Reread, Templates
from nginxopt.config.templates.rendering import Rendered
from nginxopt.config.templates.structure import Template

__all__ = ["Rendered", "Reread", "Template", "Templates"]
