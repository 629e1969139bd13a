"""A page for each experiment: its question, what it computes, its grids and its claims."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from gradfeat.lab import Experiment
from gradfeat.lab.loading import experiment, names

HEAD = """# Experiments

Each is one file of `src/gradfeat/catalogue/`: a question, a trial, grids, claims and a figure.
`gradfeat run NAME` computes what is missing, judges the claims and draws the figure.

| experiment | question | claims |
|---|---|---|
"""


def pages(folder: str) -> dict[str, str]:
    """Markdown by file."""
    found = [experiment(name) for name in names()]
    rows = [f"| [{e.name}]({e.name}.md) | {_cell(e.question)} | {len(e.claims)} |" for e in found]
    listed = "\n".join(e.name for e in found)
    tree = f"\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    index = HEAD + "\n".join(rows) + tree
    return {f"{folder}/index.md": index} | {f"{folder}/{e.name}.md": _page(e) for e in found}


def _page(found: Experiment) -> str:
    return "\n".join(_lines(found))


def _lines(found: Experiment) -> Iterator[str]:
    yield f"# {found.name}\n"
    yield f"*{_text(found.question)}*\n"
    for title, words in _computed(found):
        if words:
            yield f"## {title}\n\n{_text(words)}\n"
    yield f"```text\ngradfeat run {found.name} --jobs 2\ngradfeat show {found.name}\n```\n"
    yield "## Settings\n"
    yield "| scale | settings | seeds |"
    yield "|---|---|---|"
    for scale in found.grids:
        yield f"| {scale} | {_settings(found, scale)} | {_seeds(found, scale)} |"
    yield "\n## Claims\n"
    yield "[How a claim is judged](../../claims.md).\n"
    yield "| claim | source |"
    yield "|---|---|"
    for claim in found.claims:
        yield f"| {_cell(claim.text)} | {_cell(claim.source)} |"


def _computed(found: Experiment) -> Iterator[tuple[str, str]]:
    """What `gradfeat show --about` says of trial and theory."""
    yield "What is computed", found.about.strip()
    yield "Each cell and seed", inspect.getdoc(found.trial or found.batch) or ""
    yield "Theory", (inspect.getdoc(found.theory) or "") if found.theory else ""


def _settings(found: Experiment, scale: str) -> str:
    grid = found.grids[scale]
    products = [grid] if hasattr(grid, "items") else list(grid)
    return "; or ".join(_product(dict(one)) for one in products)


def _product(grid: dict) -> str:
    each = []
    for name, values in grid.items():
        many = values if isinstance(values, list | tuple | range) else [values]
        each.append(
            f"`{name}` = {', '.join(f'{v:g}' if isinstance(v, float) else str(v) for v in many)}"
        )
    return "; ".join(each)


def _seeds(found: Experiment, scale: str) -> int:
    return found.seeds if isinstance(found.seeds, int) else found.seeds[scale]


def _text(words: str) -> str:
    """Plain words with formulas as Markdown: stars and underscores are letters, but in code."""
    parts = words.split("`")
    parts[::2] = [re.sub(r"[\\*_<\[$]", r"\\\g<0>", part) for part in parts[::2]]
    return "`".join(parts)


def _cell(words: str) -> str:
    return " ".join(_text(words).replace("|", "\\|").split())
