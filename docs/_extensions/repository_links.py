"""Links of the pages that leave `docs/` lead to the repository, or to the page of that file."""

from __future__ import annotations

import os
import posixpath
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

REPOSITORY = "https://github.com/gradfeat/gradfeat/blob/main/"
#: Files of the repository that are pages of the site, by what `generated_pages` makes of them.
PAGES = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "benchmarks/tabular/results.md": "project/tables.md",
    "examples/data/README.md": "project/data.md",
}
LINK = re.compile(r"(!?)(\[[^\]]*\]\()([^)#\s]+)((?:#[^)\s]*)?\))")


def rewritten(text: str, origin: str, page: str) -> str:
    """Markdown of the repository's file `origin` as the text of the site's `page`.

    >>> rewritten("[c](../CONTRIBUTING.md) [l](../LICENSE)", "docs/scale.md", "scale.md")
    '[c](project/contributing.md) [l](https://github.com/gradfeat/gradfeat/blob/main/LICENSE)'
    """

    def moved(match: re.Match[str]) -> str:
        image, label, target, end = match.groups()
        if re.match(r"[a-z]+:|/", target):
            return match[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
        place = PAGES.get(file, file.removeprefix("docs/") if file.startswith("docs/") else "")
        here = posixpath.dirname(page) or "."
        if image and not place:
            place = f"../{file}"
        new = posixpath.relpath(place, here) if place else REPOSITORY + file
        return f"{image}{label}{new}{end}"

    return LINK.sub(moved, text)


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    page = f"{name}.md"
    origins = {place: file for file, place in PAGES.items()}
    if os.fspath(app.env.doc2path(name, base=False)).endswith(".md"):
        source[0] = rewritten(source[0], origins.get(page, f"docs/{page}"), page)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
