"""What a comparison and a diagnosis share: a page, its figures, and how a notebook shows them.

The page is one HTML file that needs nothing else: a template, its values, and figures as SVG.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast
from xml.dom import minidom

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib import style as mpl_style
from matplotlib.axes import Axes
from rich.console import Console, RenderableType

from gradfeat.drawing import style
from gradfeat.figures.captioned import CaptionedFigure, PageFigures, figures_in
from gradfeat.maths.files import refused, replace_file, replace_files
from gradfeat.maths.limits import deadline_passed, tell
from gradfeat.rows.checkpoint import Checkpoint
from gradfeat.table.diagnosis import DiagnosisReport
from gradfeat.table.results import FitReport
from gradfeat.wording import finite, percent, seconds

ReportT = TypeVar("ReportT", FitReport, DiagnosisReport)

#: Columns of the text that stands for an object where no page is shown.
WIDTH = 88


@dataclass(frozen=True, eq=False, repr=False)
class PageOf(ABC, Generic[ReportT]):
    """What was found about a table: a page of text, tables and figures, and numbers.

    Attributes
    ----------
    results : FitReport or DiagnosisReport
        All that the page shows, as plain values.
    """

    #: The file of the page's template, filled with :meth:`_contents`.
    _template: ClassVar[str]

    results: ReportT
    _checkpoint: Checkpoint | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def table(self) -> pd.DataFrame:
        """The main table of the page."""

    @property
    @abstractmethod
    def verdict(self) -> str:
        """What was found, in a sentence or two."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know of the data and the fits before the verdict is believed."""
        return tuple(remark.text for remark in self.results.remarks)

    @property
    def failures(self) -> Sequence[str]:
        """What could not be done, in sentences."""
        return ()

    @abstractmethod
    def __rich__(self) -> RenderableType:
        """What the terminal shows, for ``print`` of rich and for ``repr``."""

    @abstractmethod
    def _contents(self) -> dict[str, object]:
        """Values of the page's template."""

    @abstractmethod
    def _record(self) -> dict[str, Any]:
        """The results by name, without what stands for single rows."""

    @abstractmethod
    def _files(self) -> dict[str, bytes]:
        """Files beside the page and its numbers."""

    def to_json(self) -> str:
        """All that the page shows, but for single rows, as a JSON object."""
        record = self._record() | {"remarks": self.remarks}
        return json.dumps(finite(record), indent=1, allow_nan=False)

    @cached_property
    def _page(self) -> str:
        """One HTML file that needs no network; the same results give the same bytes of UTF-8."""
        return page(self._template, self._contents())

    @cached_property
    def plot(self) -> PageFigures:
        """The figures of the page: ``.plot.NAME(ax=...)`` draws one, ``.plot`` lists them."""
        return PageFigures(figures_in(self._contents()))

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, one HTML file that needs no network.

        Raises TableError where the file cannot be written.
        """
        with refused(path):
            replace_file(path, self._page.encode())
        return Path(path)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write page, numbers and models to a folder, all of them or none.

        Raises TableError where the folder cannot be written to.
        """
        numbers = {"results.json": self.to_json(), "report.html": self._page}
        files = self._files() | {name: text.encode() for name, text in numbers.items()}
        with refused(folder):
            replace_files(folder, files)
        if self._checkpoint is not None:
            self._checkpoint.clear_opened()
        return Path(folder)

    @property
    def left_out(self) -> str:
        """Which figures the page lacks, in a sentence; "" where it has all."""
        names = re.findall(r'<p data-left-out="([^"]*)">', self._page)
        return f"The page lacks figures ({', '.join(names)}). {_LATE}" if names else ""

    def _repr_html_(self) -> str:
        """The content of the page, for notebooks."""
        return embedded(self._page)

    def __repr__(self) -> str:
        console = Console(file=StringIO(), width=WIDTH, highlight=False)
        with console.capture() as said:
            console.print(self)
        return said.get().rstrip()


# Characters that neither XML nor UTF-8 can hold: controls and lone halves of surrogate pairs.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

# Text stays text: it can be searched and selected, and the reader's fonts draw any script.
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "gradfeat",
    "font.family": ["DejaVu Sans"],
    **dict.fromkeys(("figure.facecolor", "savefig.facecolor"), "none"),
}
#: Variables of the page's style by the colours of figures: these follow light, dark and print.
_VARIABLES = {
    style.INK: "ink", style.QUIET: "quiet", style.FAINT: "line", "#ffffff": "panel",
    style.BLUE: "blue", style.VERMILLION: "vermillion", style.GREEN: "green", style.SKY: "sky",
    style.ORANGE: "orange", style.PURPLE: "purple", style.BLACK: "ink",
}  # fmt: skip
_COLORS = re.compile("|".join(_VARIABLES), re.IGNORECASE)
#: Said in place of a figure.
_LATE = "The time asked for was over before all figures were drawn: more --time draws them."
#: Class of what is shown within another page.
SCOPE = "gradfeat-page"


def page(template: str, context: dict[str, object]) -> str:
    """A template of this package with its values, without characters that cannot be printed.

    All values are escaped. In templates the filter ``svg`` draws a `CaptionedFigure`, and
    ``quoted`` writes a name as one word of a command; ``folded`` is below.
    """
    environment = Environment(
        loader=PackageLoader("gradfeat.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent, "seconds": seconds, "svg": inline_svg, "quoted": shlex.quote,
        "folded": folded,
    }  # fmt: skip
    html = environment.get_template(template).render(context)
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", html)


#: Letters of a remark beyond which some are folded away, and of those that stay about so many.
LONG, SHOWN = 500, 250


def folded(text: str) -> tuple[str, str]:
    """What of a long text is shown at once, up to the end of one of its parts, and what is not.

    >>> folded("one; two"), [len(part) for part in folded("a column; " * 60)]
    (('one; two', ''), [249, 350])
    """
    ends = [one.end() for one in re.finditer(r"[;.] ", text[:SHOWN])]
    at = ends[-1] if ends and len(text) > LONG else len(text)
    return text[:at].rstrip(), text[at:]


def markdown_page(text: str) -> str:
    """Markdown, of which the first line is the title, as a page; markup of HTML in it is text.

    >>> "<h1>a</h1>" in markdown_page("# a"), "&lt;b&gt;" in markdown_page("<b>")
    (True, True)
    """
    from markdown_it import MarkdownIt

    body = MarkdownIt("js-default").render(text).replace("<table>", '<table class="scroll">')
    title = body.partition("</h1>")[0].removeprefix("<h1>")
    return page("card.html.j2", {"title": Markup(title), "body": Markup(body)})


def embedded(html: str) -> str:
    """What a page shows, as a part of another page (a notebook) whose style stays as it is.

    Rules of style are nested in a class of its own. Ids begin with a digest of the page, so that
    two of them on one page do not meet.

    >>> embedded("<style>body { margin: 0 }</style><main><p id='a'>x</p></main>")
    '<div class="gradfeat-page"><style>.gradfeat-page { & { margin: 0 } }</style><main>\
<p id=\\'a\\'>x</p></main></div>'
    """
    rules, main = (
        html.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0] for tag in ("style", "main")
    )
    rules = re.sub(r":root\b|\bbody\b", "&", rules)
    key = f"g{hashlib.blake2b(main.encode(), digest_size=4).hexdigest()}-"
    main = re.sub(r'( id="| aria-labelledby="|url\(#| href="#)', rf"\1{key}", main)
    nested = f"<style>.{SCOPE} {{ {rules} }}</style>"
    return f'<div class="{SCOPE}">{nested}<main>{main}</main></div>'


def inline_svg(figure: CaptionedFigure) -> Markup:
    """Draw under fixed settings and return one ``<svg>`` element, the same bytes every time.

    Ids begin with the figure's name, so that figures on one page do not share any; the caption
    is there for readers who do not see the figure. Where the time that was given is over, a
    sentence says so in its place.
    """
    if deadline_passed():
        return Markup('<p data-left-out="{}">{}</p>').format(figure.name, _LATE)
    tell(f"figure {figure.name}")
    root = cast(minidom.Element, minidom.parseString(_saved(figure.draw)).documentElement)
    for defs in root.getElementsByTagName("defs"):
        for rule in defs.getElementsByTagName("style"):  # it would apply to the whole page
            defs.removeChild(rule)
    for node in [root, *root.getElementsByTagName("*")]:
        _localise(node, figure.name)
    _describe(root, f"Figure. {figure.caption}")
    return Markup(root.toxml())


def _saved(draw: Callable[[], Axes]) -> str:
    """Drawn as large as its texts reach: a title or label beyond the edge is not cut."""
    buffer = StringIO()
    with mpl_style.context(["default", _STYLE]), warnings.catch_warnings():
        # Only measured here; the reader's browser draws the letters.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = draw().get_figure(root=True)
        no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        kept = {"dpi": style.DPI, "metadata": no_metadata, "bbox_inches": "tight"}
        figure.savefig(buffer, format="svg", pad_inches=0.04, **kept)  # pyright: ignore
    return buffer.getvalue()


def _localise(node: minidom.Element, key: str) -> None:
    """Prefix ids and references to them; plain ``href`` for ``xlink:href``; colours of the page."""
    for name, value in list(node.attributes.items()):
        if name == "id":
            node.setAttribute(name, f"{key}-{value}")
        elif "url(#" in value:
            node.setAttribute(name, re.sub(r"url\(#", f"url(#{key}-", value))
        elif name == "style":
            node.setAttribute(name, _COLORS.sub(_variable, value))
        elif name == "xlink:href":
            node.removeAttribute(name)
            node.setAttribute("href", re.sub(r"^#", f"#{key}-", value))


def _variable(color: re.Match[str]) -> str:
    """``var(--ink, #1f2430)``: the colour itself where the page's style is not there."""
    found = {value.lower(): name for value, name in _VARIABLES.items()}
    return f"var(--{found[color[0].lower()]}, {color[0]})"


def _describe(root: minidom.Element, alt: str) -> None:
    for name in {"width", "height", "version", "xmlns", "xmlns:xlink"} & {*root.attributes.keys()}:
        root.removeAttribute(name)
    lines = "stroke-linejoin:round;stroke-linecap:butt"
    for name, value in {"role": "img", "aria-label": " ".join(alt.split()), "style": lines}.items():
        root.setAttribute(name, value)
