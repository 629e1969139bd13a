"""A page for each experiment: its question, what it computes, its grids and its claims."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import stored_results
from stored_results import UP

from gradfeat.lab import Experiment
from gradfeat.lab.loading import experiment, names

HEAD = """# Experiments

Each is one file of `src/gradfeat/catalogue/`: a question, a trial, grids, claims and a figure.
`gradfeat run NAME` computes what is missing, judges the claims and draws the figure. Figures and
verdicts here are those of the quick scale, stored by `make results`;
by [talk and slide](../../../talks.md).

"""


def pages(folder: str) -> dict[str, str]:
    """Markdown by file."""
    found = [experiment(name) for name in names()]
    cards = stored_results.cards([(e.name, e.name, _cell(e.question)) for e in found])
    listed = "\n".join(e.name for e in found)
    tree = f"\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    index = HEAD + cards + tree
    return {f"{folder}/index.md": index} | {f"{folder}/{e.name}.md": _page(e) for e in found}


def _page(found: Experiment) -> str:
    return "\n".join(_lines(found))


def _lines(found: Experiment) -> Iterator[str]:
    yield f"# {found.name}\n"
    yield f"*{_text(found.question)}*\n"
    stored = stored_results.facts(found.name)
    yield from _stored(found, stored) if stored else []
    yield f"```text\ngradfeat run {found.name} --jobs 2\ngradfeat show {found.name}\n```\n"
    yield from _claims(found, stored or {"claims": []})
    yield from _slides(found.name)
    for title, words in _computed(found):
        if words:
            yield f"## {title}\n\n{_text(words)}\n"
    yield "## Settings\n"
    yield "| scale | settings | seeds |"
    yield "|---|---|---|"
    for scale in found.grids:
        yield f"| {scale} | {_settings(found, scale)} | {_seeds(found, scale)} |"


def older(found: Experiment, stored: dict[str, Any]) -> bool:
    """Whether results are of another text of the trial, or of another number of cells and seeds."""
    now = found.source, len(found.points("quick"))
    return (stored["text"], stored["results"]) != now


def _stored(found: Experiment, stored: dict[str, Any]) -> Iterator[str]:
    """The figure, with what it was made of."""
    if older(found, stored):
        yield ":::{admonition} Older results"
        yield "Figure and verdicts are of an earlier text of the trial, or of other settings."
        yield "`make results` makes them anew.\n:::\n"
    versions = ", ".join(f"{name} {'/'.join(of)}" for name, of in stored["made by"].items())
    yield stored_results.figure(
        found.name,
        f"Quick scale: {stored['cells']} settings, {stored['results']:,} results, in at most "
        f"{stored['seconds']:,} processor seconds by {versions}. "
        f"{{download}}`Means <{UP}/{found.name}.csv>`.",
    )


def _claims(found: Experiment, stored: dict[str, Any]) -> Iterator[str]:
    yield "## Claims\n"
    yield "[How a claim is judged](../../../reference/claims.md).\n"
    yield "| | claim | verdict | estimate [interval] | seeds | source |"
    yield "|---|---|---|---|---|---|"
    verdicts = {one["text"]: one for one in stored["claims"]}
    for number, claim in enumerate(found.claims, start=1):
        verdict = _verdict(verdicts.get(claim.text))
        yield f"| {number} | {_cell(claim.text)} | {verdict} | {_cell(claim.source)} |"
    yield ""
    for number, claim in enumerate(found.claims, start=1):
        one = verdicts.get(claim.text, {"outcome": "holds"})
        if one["outcome"] != "holds":
            yield f"- Claim {number}: {_text(one['words'])}"


def _verdict(one: dict[str, Any] | None) -> str:
    if one is None:
        return "not judged | | "
    ends = [one[name] for name in ("estimate", "low", "high")]
    words = "" if None in ends else "{:.4g} [{:.4g}, {:.4g}]".format(*ends)
    return f"{one['outcome']} | {words} | {one['seeds']}"


def _slides(name: str) -> Iterator[str]:
    rows = stored_results.slides().get(name, [])
    if rows:
        yield "\n## In the talks\n\n| talk | slide | item |\n|---|---|---|"
    for row in rows:
        place = f"../talks/talk-{row.talk[:3]}.md"
        yield f"| [{row.talk}]({place}) | {row.slide} | {row.item} |"
    yield ""


def _computed(found: Experiment) -> Iterator[tuple[str, str]]:
    """What `gradfeat show --about` says of trial and theory."""
    yield "What is computed", found.about.strip()
    yield "Each trial, and the numbers that it returns", inspect.getdoc(found.simulation) or ""
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
