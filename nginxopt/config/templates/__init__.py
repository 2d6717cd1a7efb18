"""Reads templates, from which another program generates a configuration.

Input is the text of a template; output is a configuration for each of its readings, with the way back from what a
reading writes to the bytes of the template. A reading chooses one option of each block (`{% if %}`) and gives each
value (`{{ x }}`) a text; what is true in all readings is true whatever the values are.
"""

from nginxopt.config.templates.loading import Reread, Templates
from nginxopt.config.templates.rendering import Rendered
from nginxopt.config.templates.structure import Template

__all__ = ["Rendered", "Reread", "Template", "Templates"]
