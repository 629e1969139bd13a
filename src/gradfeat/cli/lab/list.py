"""list, status and show --about: experiments in words, and what a store has of them."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from gradfeat.cli.guard import refuse
from gradfeat.cli.lab.allowed import allowed
from gradfeat.cli.terminal import Format, Terminal, records_in
from gradfeat.errors import ExperimentError
from gradfeat.lab.cells import listed, products
from gradfeat.lab.experiment import Experiment
from gradfeat.lab.loading import experiment as loaded
from gradfeat.lab.loading import names as shipped
from gradfeat.lab.store import Store
from gradfeat.wording import duration, text_table


def list_experiments(names: Sequence[str], form: Format) -> int:
    """Print a row an experiment; return 2 where a file of several cannot be used."""
    problems, there = [], []
    for name in names or shipped():
        try:
            found = loaded(name)
        except ExperimentError as error:
            problems.append(str(error))
            continue
        there.append((name, found))
    if form is not Format.TEXT:
        sys.stdout.write(records_in([_record(*one) for one in there], form))
    elif there:
        Terminal().print(_experiments(there))
    for problem in problems:
        refuse(problem)
    return 2 if problems else 0


def _experiments(there: Sequence[tuple[str, Experiment]]) -> Table:
    table = text_table()
    table.add_column("experiment", no_wrap=True)
    table.add_column("question", ratio=1)
    table.add_column("settings x seeds", no_wrap=True)
    for name, found in there:
        table.add_row(Text(name), Text(found.question), Text(_sizes(found)))
    return table


def _record(name: str, found: Experiment) -> dict[str, str]:
    sizes = "; ".join(_sizes(found).splitlines())
    return {"experiment": name, "question": found.question, "settings x seeds": sizes}


def _sizes(experiment: Experiment) -> str:
    return "\n".join(
        f"{scale} {len(experiment.cells(scale))} x {len(experiment.seed_list(scale))}"
        for scale in experiment.grids
    )


def show_status(path: Path, form: Format) -> None:
    """Print a row for each experiment and version in the store."""
    with Store.open(path, readonly=True) as store:
        found = store.status()
    if form is not Format.TEXT:
        sys.stdout.write(records_in([dataclasses.asdict(one) for one in found], form))
        return
    if not found:
        Terminal().say(f"nothing is stored in {path} yet")
        return
    table = text_table()
    table.add_column("experiment", overflow="fold")
    running = ["running"] * any(one.running for one in found)
    names = ["version", "done", "failed", *running]
    for name in names:
        table.add_column(name, justify="right")
    table.add_column("last finished", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    for one in found:
        time = duration(one.seconds) if one.done + one.failed else ""
        counts = (f"{getattr(one, name):,}" for name in names)
        last = f"{datetime.fromisoformat(one.last).astimezone():%Y-%m-%d %H:%M}"
        table.add_row(Text(one.experiment), *counts, last, time)
    Terminal().print(table)


def show_about(name: str) -> None:
    """Print question, text, what trial and theory compute, settings of the grids, and claims."""
    experiment, console = loaded(name), Terminal()
    console.print(Text(experiment.question, style="bold"))
    for title, text in _parts(experiment):
        if text:
            console.print(Text(f"\n{title}", style="bold"))
            console.print(Text(text))
        if title == "Grids":
            console.print(Text("\nSettings", style="bold"))
            console.print(_settings(experiment))
            console.print(Text("What hangs on other settings is checked when a cell is computed."))


def _parts(experiment: Experiment) -> Iterator[tuple[str, str]]:
    yield "What is computed", _filled(experiment.about.strip())
    yield "Each trial, and the numbers that it returns", _docstring(experiment.simulation)
    yield "Theory", _docstring(experiment.theory)
    yield "Grids", "\n".join(_grids(experiment))
    claims = enumerate(experiment.claims, start=1)
    yield "Claims", "\n".join(f"{k}. {claim.text} [{claim.source}]" for k, claim in claims)


def _filled(text: str) -> str:
    """Each paragraph in one line, which the terminal breaks; lists and indented lines stay."""
    paragraphs = text.split("\n\n")
    lines = re.compile(r"^(\s|- |\d+\. |>>> )", re.MULTILINE)
    return "\n\n".join(p if lines.search(p) else " ".join(p.split()) for p in paragraphs)


def _docstring(function: Callable[..., Any] | None) -> str:
    return _filled(inspect.getdoc(function) or "") if function else ""


def _grids(experiment: Experiment) -> Iterator[str]:
    for scale, grid in experiment.grids.items():
        for part in products(grid):
            words = (f"{name} = {_values(listed(values))}" for name, values in part.items())
            yield f"{scale}: {'; '.join(words)}"


def _values(values: Sequence[Any]) -> str:
    """All of them, or the ends where they are many that count from 0.

    >>> _values([1, 2, 3]), _values(range(120))
    ('1, 2, 3', '0 to 119')
    """
    counts = len(values) > 9 and [*values] == [*range(len(values))]
    return f"0 to {values[-1]}" if counts else ", ".join(map(str, values))


def _settings(experiment: Experiment) -> Table:
    """Every setting, its default where it has one, and which values its checks let through."""
    table, found = text_table(), allowed(experiment)
    table.add_column("setting", no_wrap=True)
    table.add_column("default", no_wrap=True)
    table.add_column("allowed", ratio=1)
    kinds = {int: "whole numbers", float: "numbers", str: "names"}
    for name, factor in experiment.factors.items():
        default = "" if factor.default is None else f"{factor.default}"
        table.add_row(*map(Text, (name, default, found[name] or kinds[factor.kind])))
    return table
