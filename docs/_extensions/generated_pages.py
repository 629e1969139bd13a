"""Pages made of the code each time the site is built: commands, API, experiments, files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import api_pages
import benchmark_pictures
import commands_page
import examples_page
import experiments_page
import talk_pages
from repository_links import PAGES

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def _write(app: Sphinx, _config: object) -> None:
    docs = Path(app.srcdir)
    pages = {"reference/generated/commands.md": commands_page.text()}
    pages |= experiments_page.pages("gallery/generated/experiments")
    pages |= examples_page.pages("gallery/generated/examples")
    pages |= talk_pages.pages("gallery/generated/talks")
    pages |= api_pages.pages("reference/generated/api")
    place = "about/generated"
    pages |= benchmark_pictures.pages(docs / place, f"{place}/pictures.md")
    pages |= {page: (docs.parent / file).read_text("utf-8") for file, page in PAGES.items()}
    for name, text in pages.items():
        _put(docs / name, text)
    for part in ("about", "gallery", "reference"):
        _prune(docs / part / "generated", {docs / name for name in pages})


def _put(path: Path, text: str) -> None:
    """Write what has changed alone, so that Sphinx reads no page again for nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def _prune(folder: Path, kept: set[Path]) -> None:
    """Pages of things that are gone."""
    for path in folder.rglob("*.md"):
        if path not in kept:
            path.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", _write)  # before Sphinx looks for files
    return {"parallel_read_safe": True, "parallel_write_safe": True}
