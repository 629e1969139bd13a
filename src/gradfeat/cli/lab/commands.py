"""Words of the lab's commands and of `show`; what they do is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from gradfeat.cli.guard import Refused
from gradfeat.cli.lab import STORE
from gradfeat.cli.terminal import Format, Printed

FIGURES = Path("figures")

_ONE = "Name of an experiment (see `gradfeat list`), or path of your own .py file."

Name = Annotated[str, typer.Argument(help=_ONE)]
Names = Annotated[list[str], typer.Argument(metavar="NAME", help=_ONE)]
StoreFile = Annotated[Path, typer.Option("--store", help="File with the results.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE,...",
        help="Values of a setting in place of the grid's; may be given for several settings.",
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(help="How many seeds, in place of the scale's number.", min=1, max=100_000),
]
Jobs = Annotated[int, typer.Option(help="Processes that compute.", min=1, max=512)]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS|local",
        help="Compute on a Dask cluster, e.g. tcp://host:8786; local: one of --jobs workers here.",
    ),
]


def list_(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help=f"{_ONE} Left out: all.")
    ] = None,
    form: Printed = Format.TEXT,
) -> int:
    """List experiments: name, question, settings x seeds of each scale."""
    from gradfeat.cli.lab.list import list_experiments

    return list_experiments(names or [], form)


def run(
    names: Names,
    settings: Settings = None,
    seeds: Seeds = None,
    scale: Annotated[str, typer.Option(help="Which grid: quick, paper, ...")] = "quick",
    jobs: Jobs = 1,
    dask: Dask = None,
    store: StoreFile = STORE,
    device: Annotated[str, typer.Option(help="Torch device, e.g. cuda.")] = "cpu",
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Compute failed cells again.")
    ] = False,
    figures: Annotated[Path, typer.Option(help="Folder for the figures.")] = FIGURES,
    formats: Annotated[
        str, typer.Option("--format", help="Of the figures, comma-separated: png, svg, pdf.")
    ] = "png",
    no_figure: Annotated[bool, typer.Option("--no-figure", help="Draw nothing.")] = False,
) -> int:
    """Run experiments: compute the cells that the store lacks, judge the claims, draw the figure.

    A cell is settings and a seed. Every finished one is saved at once: after Ctrl-C or a crash
    the same command goes on. Exit code 1 if cells failed.

    A file of your own, say mine.py, is run by `gradfeat run mine.py`:

    \b
    from gradfeat.lab import Experiment
    def trial(n: int, *, seed: int):
        return {"error": 1 / n}
    grids = {"quick": {"n": [10, 20]}, "paper": {"n": [100, 200]}}
    EXPERIMENT = Experiment("mine", "Does it fall?", trial, grids, seeds=5)
    """
    from gradfeat.cli.lab.figures import Figures
    from gradfeat.cli.lab.run import run_experiments
    from gradfeat.cli.lab.selection import Request, Selection, parsed

    selection = Selection(scale, seeds, parsed(settings))
    request = Request(selection, store, jobs, device, retry_failed, dask)
    return run_experiments(names, request, None if no_figure else Figures.of(figures, formats))


def status(store: StoreFile = STORE, form: Printed = Format.TEXT) -> None:
    """Count what is in the store: done, failed, running, time."""
    from gradfeat.cli.lab.list import show_status

    show_status(store, form)


def verify(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help=f"{_ONE} Left out: all.")
    ] = None,
    scale: Annotated[str, typer.Option(help="Which grid: quick, paper, ...")] = "quick",
    seeds: Seeds = None,
    jobs: Jobs = 1,
    store: StoreFile = STORE,
    device: Annotated[str, typer.Option(help="Torch device, e.g. cuda.")] = "cpu",
    form: Printed = Format.TEXT,
) -> int:
    """Check the claims of experiments; exit code 1 if a claim fails or cells failed."""
    from gradfeat.cli.lab.run import verify_experiments
    from gradfeat.cli.lab.selection import Request, Selection

    return verify_experiments(
        names or [], Request(Selection(scale, seeds, {}), store, jobs, device), form
    )


def export(
    name: Name,
    to: Annotated[
        str,
        typer.Option(help="FILE.csv, .parquet or .json; or csv, parquet or json, for NAME.csv."),
    ],
    store: StoreFile = STORE,
    scale: Annotated[
        str | None, typer.Option(help="Only the cells of this grid; left out: all stored.")
    ] = None,
    settings: Settings = None,
    seeds: Seeds = None,
) -> None:
    """Write results as a table, a row for each settings and seed. CSV leaves arrays out."""
    from gradfeat.cli.lab.selection import Narrowed, parsed
    from gradfeat.cli.lab.show import export_table

    export_table(name, to, store, Narrowed(scale, seeds, parsed(settings)))


def show(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME|MODEL", help=f"{_ONE} Or a model that `gradfeat fit` wrote."),
    ],
    store: StoreFile = STORE,
    scale: Annotated[
        str | None, typer.Option(help="Which grid; left out: what the last run asked for.")
    ] = None,
    settings: Settings = None,
    seeds: Seeds = None,
    metrics: Annotated[
        str | None, typer.Option(help="Columns of the table, comma-separated.")
    ] = None,
    failures: Annotated[
        bool, typer.Option("--failures", help="Print tracebacks of failed cells.")
    ] = False,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the figure to this .png, .svg or .pdf file.")
    ] = None,
    about: Annotated[
        bool, typer.Option("--about", help="Say what the experiment computes, and read no store.")
    ] = False,
    card: Annotated[
        bool, typer.Option("--card", help="Of a model: print its card, a page of what it is.")
    ] = False,
    form: Annotated[
        Literal["text", "csv", "json", "html"],
        typer.Option("--format", help="Of what is printed; a card is text, in Markdown, or html."),
    ] = "text",
) -> None:
    """Show results of an experiment, or what a fitted model reads.

    Of an experiment: claims and means over seeds, with 95 % intervals; nothing is computed.
    """
    from gradfeat.cli.lab.show import View, is_model, show_experiment

    if form not in (allowed := ("text", "html") if card else ("text", "csv", "json")):
        of = "with" if card else "without"
        raise Refused(f"--format is {form}: {of} --card give {' or '.join(allowed)}.")
    if card or is_model(name):
        from gradfeat.cli.table.card import show_card
        from gradfeat.cli.table.models import show_model

        theirs = {"--scale": scale, "--set": settings, "--seeds": seeds, "--metrics": metrics}
        theirs |= {"--failures": failures, "--figure": figure, "--about": about}
        if told := [option for option, value in theirs.items() if value]:
            raise Refused(f"{told[0]} is of experiments, and '{name}' is a model: leave it out.")
        path = Path(name)
        return show_card(path, form == "html") if card else show_model(path, Format(form))
    if about:
        from gradfeat.cli.lab.list import show_about

        return show_about(name)
    from gradfeat.cli.lab.selection import Narrowed, parsed

    view = View(metrics, failures, figure, Format(form))
    return show_experiment(name, store, Narrowed(scale, seeds, parsed(settings)), view)
