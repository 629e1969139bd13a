"""The explorer: page, scripts, plotting library and numbers in one file that asks for no other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = Path(__file__).resolve().parents[1] / "explorer"
#: Places in `explorer.html`, with the files that stand there.
PARTS = {
    "/*STYLE*/": ("uPlot.min.css", "explorer.css"),
    "/*UPLOT*/": ("uPlot.iife.min.js",),
    "/*DATA*/": ("data.json",),
    "/*SCRIPT*/": ("theory.js", "pictures.js", "controls.js"),
}


def page() -> str:
    """All of it."""
    text = (FOLDER / "explorer.html").read_text("utf-8")
    for mark, names in PARTS.items():
        part = "\n".join((FOLDER / name).read_text("utf-8") for name in names)
        text = text.replace(mark, part.replace("</", "<\\/") if mark == "/*DATA*/" else part)
    return text


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        (Path(app.outdir) / "explorer.html").write_text(page(), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
