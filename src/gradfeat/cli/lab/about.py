"""show --about: what an experiment computes and claims, in words; no store is read."""

# Apart: this command needs nothing of what shows results.

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from rich.text import Text

from gradfeat.cli.terminal import Terminal
from gradfeat.lab.cells import listed, products
from gradfeat.lab.experiment import Experiment
from gradfeat.lab.loading import experiment as loaded


def show_about(name: str) -> None:
    """Print question, text, what trial and theory compute, settings of the grids, and claims."""
    experiment, console = loaded(name), Terminal()
    console.print(Text(experiment.question, style="bold"))
    for title, text in _parts(experiment):
        if text:
            console.print(Text(f"\n{title}", style="bold"))
            console.print(Text(text))


def _parts(experiment: Experiment) -> Iterator[tuple[str, str]]:
    yield "What is computed", "\n\n".join(map(_filled, experiment.about.strip().split("\n\n")))
    yield "Each cell and seed", _docstring(experiment.trial or experiment.batch)
    yield "Theory", _docstring(experiment.theory)
    yield "Settings", "\n".join(_settings(experiment))
    yield "Claims", "\n".join(f"- {claim.text} [{claim.source}]" for claim in experiment.claims)


def _filled(paragraph: str) -> str:
    return " ".join(paragraph.split())


def _docstring(function: Callable[..., Any] | None) -> str:
    return textwrap.dedent(inspect.getdoc(function) or "") if function else ""


def _settings(experiment: Experiment) -> Iterator[str]:
    for scale, grid in experiment.grids.items():
        for part in products(grid):
            words = (
                f"{name} = {', '.join(map(str, listed(values)))}" for name, values in part.items()
            )
            yield f"{scale}: {'; '.join(words)}"
