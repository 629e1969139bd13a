"""A matplotlib figure as an SVG element that can stand inside an HTML page."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from io import StringIO
from typing import cast
from xml.dom import minidom

from markupsafe import Markup
from matplotlib import style as mpl_style
from matplotlib.axes import Axes

from gradfeat.drawing.style import DPI

# Text stays text: it can be searched and selected, and the reader's fonts draw any script.
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "gradfeat",
    "font.family": ["DejaVu Sans"],
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
}
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def inline_svg(draw: Callable[[], Axes], key: str, alt: str) -> Markup:
    """Draw under fixed settings and return one ``<svg>`` element, the same bytes every time.

    Parameters
    ----------
    draw : callable
        Makes the figure; called with matplotlib's default settings in force.
    key : str
        Prefix of every id, so that figures on one page do not share ids.
    alt : str
        Text for readers who do not see the figure.

    Returns
    -------
    Markup
    """
    root = cast(minidom.Element, minidom.parseString(_saved(draw)).documentElement)
    for defs in root.getElementsByTagName("defs"):
        for rule in defs.getElementsByTagName("style"):  # it would apply to the whole page
            defs.removeChild(rule)
    for node in [root, *root.getElementsByTagName("*")]:
        _localise(node, key)
    _describe(root, alt)
    return Markup(root.toxml())


def _saved(draw: Callable[[], Axes]) -> str:
    buffer = StringIO()
    with mpl_style.context(["default", _STYLE]), warnings.catch_warnings():
        # Only measured here; the reader's browser draws the letters.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = draw().get_figure(root=True)
        figure.savefig(buffer, format="svg", dpi=DPI, metadata=_NO_METADATA)  # pyright: ignore
    return buffer.getvalue()


def _localise(node: minidom.Element, key: str) -> None:
    """Prefix ids and references to them; plain ``href`` for ``xlink:href``."""
    for name, value in list(node.attributes.items()):
        if name == "id":
            node.setAttribute(name, f"{key}-{value}")
        elif "url(#" in value:
            node.setAttribute(name, re.sub(r"url\(#", f"url(#{key}-", value))
        elif name == "xlink:href":
            node.removeAttribute(name)
            node.setAttribute("href", re.sub(r"^#", f"#{key}-", value))


def _describe(root: minidom.Element, alt: str) -> None:
    for name in ("width", "height", "version", "xmlns", "xmlns:xlink"):
        if root.getAttribute(name):
            root.removeAttribute(name)
    root.setAttribute("role", "img")
    root.setAttribute("aria-label", " ".join(alt.split()))
    root.setAttribute("style", "stroke-linejoin:round;stroke-linecap:butt")
