"""Reports: sections of words, tables and pictures as html, markdown, json or terminal text."""

from tilth.report.render import show, to_html, to_json, to_markdown, to_text

__all__ = ["show", "to_html", "to_json", "to_markdown", "to_text"]
