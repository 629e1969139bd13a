"""What `make results` left in `docs/gallery/stored`: verdicts and figures of the gallery."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
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


def cards(names: list[tuple[str, str, str]], folder: str = "") -> str:
    """A grid of pictures with links, of (name, title, words); pages stand in `folder`."""
    return "::::{container} gallery\n" + "".join(_card(folder, *one) for one in names) + "::::\n"


def _card(folder: str, name: str, title: str, words: str) -> str:
    picture = (
        f"[![]({UP}/{name}.png)]({folder}{name}.md)\n\n"
        if (STORED / f"{name}.png").is_file()
        else ""
    )
    return f":::{{container}} tile\n{picture}[{title}]({folder}{name}.md)\n\n{words}\n:::\n"


@dataclass(frozen=True)
class Slide:
    """A row of `talks.md`: what a talk states, and the numbers of the claims that test it."""

    talk: str
    slide: str
    item: str
    claims: str
    order: int  #: Of the row in the file.


@cache
def slides() -> dict[str, list[Slide]]:
    """Of each experiment the rows of `talks.md` that name it."""
    found: dict[str, list[Slide]] = {}
    talk = ""
    for order, line in enumerate((DOCS / "talks.md").read_text("utf-8").splitlines()):
        if line.startswith("## "):
            talk = line.removeprefix("## ") if re.match(r"## \d{3} ", line) else ""
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if talk and len(cells) > 3 and not set(cells[0]) <= {"-", " "}:
            named, cited = cells[2].split(", "), cells[3].split("; ")
            for name, claims in zip(named, cited, strict=len(named) > 1):
                if name != "experiment":
                    found.setdefault(name, []).append(Slide(talk, *cells[:2], claims, order))
    return found


def anchor(heading: str) -> str:
    """The anchor that MyST gives a heading.

    >>> anchor("000 On feature learning in neural networks")
    '000-on-feature-learning-in-neural-networks'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
