"""Figures as svg that belongs to the page: colours that follow light and dark, words that are text, names of its own.

A figure is drawn by :mod:`tilth.plot` on white. Here every colour becomes a CSS variable with a value for a light and
one for a dark page, letters drawn as outlines become text again (set to the width that the layout gave them, so that
any font fits), coordinates are rounded and everything that no one refers to is left out. Equal figures give equal text.
"""

from __future__ import annotations

import colorsys
import html
import io
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from tilth.report.cells import printable, shortened

#: Colours that pictures should be drawn with; each has a counterpart on a dark page.
PALETTE = {
    "#4c78a8": "#7fb0e0", "#f58518": "#ffa94d", "#54a24b": "#7ccf74", "#b279a2": "#d3a0c5", "#e8b62c": "#f2cb5c",
    "#72b7b2": "#8fd6d0", "#e45756": "#ff8583", "#9d755d": "#c79c82", "#7f7f7f": "#a3a3a3", "#d67195": "#f09ab8",
}  # fmt: skip
#: The drawing library's own cycle is shown as the nearest colour of the palette, so that all pictures look alike.
_DEFAULT_CYCLE = {
    "#1f77b4": "#4c78a8", "#ff7f0e": "#f58518", "#2ca02c": "#54a24b", "#d62728": "#e45756", "#9467bd": "#b279a2",
    "#8c564b": "#9d755d", "#e377c2": "#d67195", "#bcbd22": "#e8b62c", "#17becf": "#72b7b2",
}  # fmt: skip
#: Black and white of a picture on a dark page: its ink and its paper.
_DARK_INK, _DARK_PAPER = 0.91, 0.11
#: Channels that differ by less than this are a grey; a light ground shows its tint sooner.
_GREY, _GREY_GROUND = 0.12, 0.03
#: Above this lightness a colour is a ground for words, below it a mark on the ground.
_GROUND = 0.72
#: A picture with more colours than this (a continuous scale) keeps the rest as drawn.
MOST_COLOURS = 96

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_PLACE = re.compile(r"translate\((\S+) (\S+)\)(?: rotate\((\S+)\))? scale\((\S+) \S+\)")
_SHIFT = re.compile(r"translate\((\S+) (\S+)\)")
_REFERENCE = re.compile(r"#([^\s)\"']+)")
_HEX = re.compile(r"#[0-9a-f]{6}\b")
#: Units of an outline in one unit of the text it is part of.
_OUTLINE = 1 / 64


def dark_of(colour: str) -> str:
    """The counterpart of a colour on a dark page: greys swap ends, marks get lighter, light grounds get dark.

    >>> dark_of("#ffffff"), dark_of("#000000"), dark_of("#4c78a8")
    ('#1c1c1c', '#e8e8e8', '#7fb0e0')
    """
    if colour in PALETTE:
        return PALETTE[colour]
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, light, strength = colorsys.rgb_to_hls(red, green, blue)
    if max(red, green, blue) - min(red, green, blue) < (_GREY_GROUND if light > _GROUND else _GREY):
        channels: tuple[float, ...] = (_DARK_INK + light * (_DARK_PAPER - _DARK_INK),) * 3
    elif light > _GROUND:
        channels = colorsys.hls_to_rgb(hue, 0.15 + 0.6 * (1 - light), min(strength, 0.45))
    else:
        channels = colorsys.hls_to_rgb(hue, max(0.66, 1 - light), min(strength, 0.85))
    return "#" + "".join(f"{round(255 * c):02x}" for c in channels)


@dataclass
class Pictures:
    """The pictures of one page: they share colours, and their names are numbered so that no two are the same."""

    colours: dict[str, str] = field(default_factory=dict)
    count: int = 0
    room: int = 0

    def svg(self, draw: Callable[[], Any], title: str, described_by: str = "") -> str:
        """The drawn figure as an svg element; ``described_by`` names the element that says the same in words."""
        self.count += 1
        self.room = len(self.colours) + MOST_COLOURS
        root = _tree(draw())
        name = f"p{self.count}"
        glyphs = _taken_glyphs(root)
        _letters_to_text(root, glyphs)
        _share_styles(root)
        kept = [glyphs[g] for g in dict.fromkeys(_references(root)) if g in glyphs]
        if kept:
            ElementTree.SubElement(root, f"{_SVG}defs").extend(kept)
        used = {old: f"{name}-{number}" for number, old in enumerate(dict.fromkeys(_references(root)))}
        label = ElementTree.Element(f"{_SVG}title", {"id": f"{name}-title"})
        label.text = shortened(printable(title))
        root.insert(0, label)
        _, _, width, height = root.attrib["viewBox"].split()
        pixels = {"width": f"{float(width) * 4 / 3:.0f}", "height": f"{float(height) * 4 / 3:.0f}"}
        about = {"role": "img", "aria-labelledby": f"{name}-title"}
        if described_by:
            about["aria-describedby"] = described_by
        root.attrib = {"viewBox": root.attrib["viewBox"], **pixels, **about}
        return "".join(self._written(root, used))

    def _written(self, node: ElementTree.Element, used: dict[str, str]) -> Iterator[str]:
        tag = node.tag.removeprefix(_SVG)
        attributes = [self._attribute(tag, key, value, used) for key, value in node.attrib.items()]
        inside = [piece for child in node for piece in self._written(child, used)]
        if tag in ("g", "defs") and not inside:
            return
        if tag == "g" and not any(attributes):
            yield from inside
            return
        words = html.escape(node.text or "", quote=False) if tag in ("text", "title") else ""
        if not words and not inside:
            yield f"<{tag}{''.join(attributes)}/>"
            return
        yield f"<{tag}{''.join(attributes)}>{words}"
        yield from inside
        yield f"</{tag}>"

    def _attribute(self, tag: str, key: str, value: str, used: dict[str, str]) -> str:
        if key == "id":
            if value not in used and tag != "title":
                return ""
            value = used.get(value, value)
        elif key == _LINK and not value.startswith("#"):
            # Only what is inside the page: a picture may not point anywhere else.
            if not value.startswith("data:image/png;base64,"):
                return ""
            key, value = "href", re.sub(r"\s", "", value)
        else:
            key = "href" if key == _LINK else key
            value = self._coloured(value, is_text=tag == "text") if key in ("style", "fill", "stroke") else value
            value = _REFERENCE.sub(lambda m: f"#{used.get(m[1], m[1])}", value) if key in _REFERRING else value
            value = _rounded(value, key)
        return f' {key}="{html.escape(value)}"'

    def _coloured(self, style: str, is_text: bool) -> str:
        style = _HEX.sub(lambda m: self._variable(m[0], is_text), style)
        return style.replace(": ", ":").replace("; ", ";")

    def _variable(self, colour: str, is_text: bool) -> str:
        # Words need more contrast than marks do, so theirs is not replaced by a lighter one.
        shown = colour if is_text else _DEFAULT_CYCLE.get(colour, colour)
        if shown not in self.colours:
            if len(self.colours) >= self.room:
                return colour
            self.colours[shown] = dark_of(shown)
        return f"var(--p{shown[1:]})"


_REFERRING = ("href", "clip-path", "mask", "style", "fill", "stroke")
#: Attributes that hold lengths; a hundredth of a point is finer than any eye.
_LENGTHS = ("d", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "points", "textLength", "font-size")


def _tree(figure: Any) -> ElementTree.Element:
    """The figure as a tree of svg elements, comments kept: they hold the words that the outlines spell."""
    buffer = io.StringIO()
    with warnings.catch_warnings():
        # The browser has the letters that the font of the drawing lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    # Control characters from a label are not xml.
    root = ElementTree.fromstring(printable(buffer.getvalue()), parser=parser)
    for parent in list(root.iter()):
        for child in [c for c in parent if c.tag in (f"{_SVG}metadata", f"{_SVG}style")]:
            parent.remove(child)
    return root


def _taken_glyphs(root: ElementTree.Element) -> dict[str, ElementTree.Element]:
    """The outlines of letters by name, taken out of the tree."""
    glyphs = {}
    for parent in list(root.iter(f"{_SVG}defs")):
        for path in list(parent):
            # Letters are drawn 64 times as large and scaled down; markers are not.
            if path.get("transform") == f"scale({_OUTLINE})":
                glyphs[path.attrib["id"]] = path
                parent.remove(path)
    return glyphs


def _letters_to_text(root: ElementTree.Element, glyphs: dict[str, ElementTree.Element]) -> None:
    """Replace outlines by the words that the comment before them holds; formulas stay as drawn."""
    for parent in list(root.iter()):
        for words, drawn in [(c, d) for c, d in zip(parent, list(parent)[1:], strict=False) if _is_comment(c)]:
            # In a comment marks stand as they were escaped: xml does not read them back there.
            text = _text_of(html.unescape(str(words.text)[1:-1]), drawn, glyphs)
            if text is not None:
                parent[list(parent).index(drawn)] = text
        for child in [c for c in parent if _is_comment(c)]:
            parent.remove(child)


def _share_styles(root: ElementTree.Element) -> None:
    """Say the look of many equal marks once, on their group."""
    for group in root.iter(f"{_SVG}g"):
        looks = {child.get("style") if child.tag == f"{_SVG}use" else None for child in group}
        if len(looks) == 1 and None not in looks and "style" not in group.attrib:
            group.attrib |= {"style": group[0].attrib["style"]}
            for child in group:
                del child.attrib["style"]


def _is_comment(node: ElementTree.Element) -> bool:
    return callable(node.tag)


def _text_of(
    words: str, drawn: ElementTree.Element, glyphs: dict[str, ElementTree.Element]
) -> ElementTree.Element | None:
    """One line of text in place of its outlines, or None where they cannot be read back."""
    place = _PLACE.fullmatch(drawn.get("transform", ""))
    uses = drawn.findall(f"{_SVG}use")
    others = [c for c in drawn if c not in uses and c.tag != f"{_SVG}defs"]
    # A comment cannot hold two hyphens in a row, and "$" may begin a formula.
    if not place or not uses or others or "$" in words or "- -" in words:
        return None
    end = 0.0
    for use in uses:
        shift = _SHIFT.fullmatch(use.get("transform", "translate(0 0)"))
        glyph = glyphs.get(use.get(_LINK, "").removeprefix("#"))
        if not shift or glyph is None:
            return None
        across = re.findall(r"-?[\d.]+", glyph.get("d", ""))[::2]
        end = max(end, float(shift[1]) + max(map(float, across), default=0.0) * _OUTLINE)
    x, y, angle, scale = place.groups()
    text = ElementTree.Element(f"{_SVG}text", {"x": x, "y": y, "font-size": f"{100 * float(scale):g}"})
    if len(words) > 1 and end:
        text.attrib |= {"textLength": str(end * float(scale)), "lengthAdjust": "spacingAndGlyphs"}
    if angle:
        text.set("transform", f"rotate({_rounded(angle, 'd')} {_rounded(x, 'd')} {_rounded(y, 'd')})")
    first = uses[0].get(_LINK, "")
    for part, key, value in (("Bold", "font-weight", "bold"), ("Oblique", "font-style", "italic")):
        if part in first:
            text.set(key, value)
    if drawn.get("style"):
        text.set("style", drawn.attrib["style"])
    text.text = words
    return text


def _references(root: ElementTree.Element) -> Iterator[str]:
    """Names that something in the tree points at, in order."""
    for node in root.iter():
        for key, value in node.attrib.items():
            if key == _LINK and value.startswith("#"):
                yield value[1:]
            elif "url(#" in value:
                yield from re.findall(r"url\(#([^)]+)\)", value)


def _rounded(value: str, key: str) -> str:
    """Lengths to two decimals and paths without spare spaces.

    >>> _rounded("M 39.904146 323.793719 \\nL 40.00 8.5 \\nz", "d")
    'M39.9 323.79L40 8.5z'
    """
    if key == "transform":
        value = _SHIFT.sub(lambda m: f"translate({_rounded(m[1], 'd')} {_rounded(m[2], 'd')})", value)
    elif key in _LENGTHS:
        value = re.sub(r"-?\d+\.\d+(?:e-?\d+)?", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), value)
        value = re.sub(r"(?<![\d.])-0(?![\d.])", "0", value)
        value = re.sub(r"\s*([A-Za-z])\s*", r"\1", value.strip()) if key == "d" else value
    return value
