"""What `make results` left in `docs/gallery/stored`: verdicts and figures of the gallery."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
GALLERY = DOCS / "gallery"
STORED = GALLERY / "stored"
#: From a page of `gallery/generated/KIND/` to what is stored.
UP = "../../stored"


def facts(name: str) -> dict[str, Any] | None:
    """The stored facts of an experiment or example; None where there are none yet."""
    path = STORED / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def figure(name: str, caption: str) -> str:
    """Markdown of the stored figure; nothing where none was drawn."""
    if not (STORED / f"{name}.png").is_file():
        return ""
    return f":::{{figure}} {UP}/{name}.png\n:alt: Figure of {name}\n\n{caption}\n:::\n"


def cards(names: list[tuple[str, str, str]]) -> str:
    """A grid of pictures with links, of (name, title, words)."""
    return "::::{container} gallery\n" + "".join(_card(*one) for one in names) + "::::\n"


def _card(name: str, title: str, words: str) -> str:
    picture = f"[![]({UP}/{name}.png)]({name}.md)\n\n" if (STORED / f"{name}.png").is_file() else ""
    return f":::{{container}} tile\n{picture}[{title}]({name}.md)\n\n{words}\n:::\n"


@cache
def slides() -> dict[str, list[tuple[str, str, str]]]:
    """Of each experiment the (talk, slide, item) that it shows, by the tables of `talks.md`."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    talk = ""
    for line in (DOCS / "talks.md").read_text("utf-8").splitlines():
        talk = line.removeprefix("## ") if re.match(r"## \d{3} ", line) else talk
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if talk and len(cells) > 2 and not set(cells[0]) <= {"-", " "}:
            for name in cells[2].split(", "):
                found.setdefault(name, []).append((talk, cells[0], cells[1]))
    return found


def anchor(heading: str) -> str:
    """The anchor that MyST gives a heading.

    >>> anchor("000 On feature learning in neural networks")
    '000-on-feature-learning-in-neural-networks'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
