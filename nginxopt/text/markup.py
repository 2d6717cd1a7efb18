"""Writes XML documents."""

from __future__ import annotations

from xml.etree import ElementTree


def document(root: ElementTree.Element) -> str:
    """Return the XML document with the element `root`, indented. Text in elements does not change."""
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'
