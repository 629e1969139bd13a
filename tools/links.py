"""Check the built site: each local link leads to a file and a place in it; each page is linked to.

python tools/links.py docs/_build/html
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Pages that the theme makes: nobody has to name them.
ALONE = {"index.html", "search.html", "genindex.html", "py-modindex.html"}


class Page(HTMLParser):
    """The links and the named places of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.places |= {value for name in ("id", "name") if (value := found.get(name))}
        link = found.get("src" if tag in ("img", "script") else "href")
        if link:
            self.links.append(link)


def faults(site: Path) -> list[str]:
    """Links that lead nowhere or to another machine's files, and pages that nothing links to."""
    files = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: Page(path.read_text("utf-8")) for path in files}
    told, reached = [], set()
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target != path:
                reached.add(target)
            place = unquote(parts.fragment)
            if not target.is_file():
                told.append(f"{path.relative_to(site)}: {link} is no file")
            elif place and target in pages and place not in pages[target].places:
                told.append(f"{path.relative_to(site)}: {link} is no place")
    alone = {path for path in pages if path not in reached and path.name not in ALONE}
    alone = {path for path in alone if "_modules" not in path.parts}
    return told + [f"{path.relative_to(site)}: no page links to it" for path in sorted(alone)]


def main() -> int:
    """Print the faults."""
    found = faults(Path(sys.argv[1]).resolve())
    print("\n".join(found) or "every link leads somewhere, every page is linked to")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
