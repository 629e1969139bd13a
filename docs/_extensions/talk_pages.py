"""A page for each talk: its slides with the verdicts on them, and the figures that show these."""

from __future__ import annotations

import re
from collections.abc import Iterator

import stored_results
from stored_results import Slide

from gradfeat.lab.loading import experiment, names

HEAD = """# Talks

Slide by slide: what a run at the quick scale says of each statement. What was found otherwise is in
[the talks, item by item](../../../talks.md).

"""


def pages(folder: str) -> dict[str, str]:
    """Markdown by file."""
    talks: dict[str, list[tuple[str, Slide]]] = {}
    for name, slides in stored_results.slides().items():
        for slide in slides:
            talks.setdefault(slide.talk, []).append((name, slide))
    files = {talk: f"talk-{talk[:3]}" for talk in talks}
    rows = "\n".join(f"- [{talk}]({file}.md)" for talk, file in files.items())
    tree = "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(files.values()) + "\n```\n"
    found = {f"{folder}/index.md": f"{HEAD}{rows}{tree}"}
    return found | {f"{folder}/{files[t]}.md": "\n".join(_page(t, of)) for t, of in talks.items()}


def _page(talk: str, slides: list[tuple[str, Slide]]) -> Iterator[str]:
    yield f"# {talk}\n"
    place = f"../../../talks.md#{stored_results.anchor(talk)}"
    yield f"[Commands, and what we find otherwise]({place}).\n"
    yield "| slide | item | run | verdicts on its claims |\n|---|---|---|---|"
    for name, slide in sorted(slides, key=lambda one: one[1].order):
        link = f"[{name}](../experiments/{name}.md)"
        yield f"| {slide.slide} | {slide.item} | {link} | {_verdicts(name, slide.claims)} |"
    shown = {name: None for name, _ in slides if name in names()}
    yield "\n## Figures\n"
    words = {name: experiment(name).question for name in shown}
    yield stored_results.cards([(name, name, words[name]) for name in shown], "../experiments/")


def _verdicts(name: str, cited: str) -> str:
    """Outcomes of the claims that a row cites: "1, 2 hold"."""
    stored = stored_results.facts(name)
    if stored is None or cited == "-":
        return ""
    outcomes: dict[str, list[str]] = {}
    for number in _numbers(cited):
        if number <= len(stored["claims"]):
            outcome = stored["claims"][number - 1]["outcome"]
            outcomes.setdefault(outcome, []).append(str(number))
    return "; ".join(f"{', '.join(which)}: {outcome}" for outcome, which in outcomes.items())


def _numbers(cited: str) -> Iterator[int]:
    """The numbers of "1, 3 to 5".

    >>> [*_numbers("1, 3 to 5")]
    [1, 3, 4, 5]
    """
    for first, last in re.findall(r"(\d+)(?: to (\d+))?", cited):
        yield from range(int(first), int(last or first) + 1)
