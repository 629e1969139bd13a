"""One self-contained HTML page: a template, its values, and figures as SVG inside it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from io import StringIO
from typing import cast
from xml.dom import minidom

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib import style as mpl_style
from matplotlib.axes import Axes

from gradfeat.drawing.numbers import percent, seconds
from gradfeat.drawing.style import DPI
from gradfeat.figures.captioned import CaptionedFigure

# Characters that neither XML nor UTF-8 can hold: controls and lone halves of surrogate pairs.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

# Text stays text: it can be searched and selected, and the reader's fonts draw any script.
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "gradfeat",
    "font.family": ["DejaVu Sans"],
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
}
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def page(template: str, context: dict[str, object]) -> str:
    """A template of this package with its values, without characters that cannot be printed.

    All values are escaped. In templates the filter ``svg`` draws a `CaptionedFigure`.
    """
    environment = Environment(
        loader=PackageLoader("gradfeat.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "seconds": seconds, "svg": inline_svg}
    html = environment.get_template(template).render(context)
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", html)


def inline_svg(figure: CaptionedFigure) -> Markup:
    """Draw under fixed settings and return one ``<svg>`` element, the same bytes every time.

    Ids begin with the figure's name, so that figures on one page do not share any; the caption
    is there for readers who do not see the figure.
    """
    root = cast(minidom.Element, minidom.parseString(_saved(figure.draw)).documentElement)
    for defs in root.getElementsByTagName("defs"):
        for rule in defs.getElementsByTagName("style"):  # it would apply to the whole page
            defs.removeChild(rule)
    for node in [root, *root.getElementsByTagName("*")]:
        _localise(node, figure.name)
    _describe(root, f"Figure. {figure.caption}")
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
