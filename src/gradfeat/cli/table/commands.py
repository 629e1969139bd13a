"""Options of `diagnose`, `fit`, `predict` and `refit`; what they do is imported when they run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gradfeat.cli.guard import Stopped
from gradfeat.cli.terminal import Format, Printed, Printing, Quiet, Verbose
from gradfeat.errors import ModelFileError
from gradfeat.maths.limits import Deadline
from gradfeat.table.methods import JOBS, METHODS, SECONDS, SEEDS, WIDTH, WIDTHS

#: What the functions of Python that `diagnose` and `fit` stand for are not given by name.
_OF_THE_COMMAND = {"data", "out", "form", "quiet", "verbose"}

#: Names that --methods takes.
_METHODS = ", ".join(method.name for method in METHODS)

# Groups in the help: in one table the longest names would be cut at 80 columns.
reading = partial(typer.Option, rich_help_panel="How the table is read")
streaming = partial(typer.Option, rich_help_panel="Larger than memory")
seconds = partial(typer.Option, min=SECONDS[0], max=SECONDS[1])
seeds = partial(typer.Option, min=SEEDS[0], max=SEEDS[1])

Task = Annotated[
    Literal["auto", "regression", "classification"], typer.Option(help="What the target is.")
]
RareClasses = Annotated[
    Literal["refuse", "drop", "merge"],
    typer.Option(help="Classes of a single row: left out, or taken together as 'other'."),
]
Separator = Annotated[
    str | None,
    reading(
        help="Of delimited text: a character, or comma, semicolon, tab, bar or blanks; left out: "
        "found."
    ),
]
Comment = Annotated[
    str | None, reading(help="What lines of a text begin with that are left out; #: found.")
]
Header = Annotated[
    bool | None,
    reading(
        help="Whether the first line of a text names the columns; without, they are column_1, ...; "
        "left out: found."
    ),
]
Encoding = Annotated[
    str | None, reading(help="Of the characters of a text, such as cp1251; left out: found.")
]
Sheet = Annotated[str | None, reading(help="Of a workbook; left out: the first.")]

Missing = Annotated[
    list[str] | None,
    reading(
        help="A value that means missing, such as -999, or height=0 in one column; may be given "
        "again."
    ),
]
Category = Annotated[
    list[str] | None,
    reading(
        help="Column that is read as levels, such as codes 12E4 and 1.10; again for more, or with "
        "commas between them."
    ),
]
Dates = Annotated[
    Literal["day-first", "month-first"] | None,
    reading(
        help="How dates such as 3/4/2021 are read where the column does not tell.",
        case_sensitive=False,
    ),
]
TimeColumn = Annotated[
    str | None,
    typer.Option(help="Column of times: tests are on times not learned from; an input too."),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(
        help="Column of subjects that come again: tests are on subjects not learned from."
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        help="Column to leave out, such as one known later; again for more, or with commas "
        "between them."
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Refuse a table with cells that cannot be read, or levels never seen, in place of "
        "taking them as missing; nothing is written.",
    ),
]

Stream = Annotated[
    bool | None,
    streaming(
        help="Read the rows by pieces in place of holding them; left out: where they are many."
    ),
]
Jobs = Annotated[
    int | None, streaming(help="Stream the rows in so many processes.", min=JOBS[0], max=JOBS[1])
]
Dask = Annotated[
    str | None, streaming(help="Stream the rows on a Dask cluster: its address, or local.")
]
Kept = Annotated[
    Path | None,
    streaming(help="Folder of its own for interrupted passes; left out: OUT/checkpoint."),
]

Transform = Annotated[
    Literal["none", "log"],
    typer.Option(help="Learn the logarithm of the target; predictions are of the target."),
]


def diagnose(
    data: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, JSON (also .gz, .zip), Parquet, Feather or .xlsx; also a folder."
        ),
    ],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    task: Task = "auto",
    out: Annotated[Path, typer.Option(help="Folder for report and results.")] = Path(
        "gradfeat-diagnosis"
    ),
    time: Annotated[
        float, seconds(help="Seconds to spend, all in: reading, tests, models and page.")
    ] = 60.0,
    seed: Annotated[int, seeds(help="Of every random draw.")] = 0,
    time_column: TimeColumn = None,
    group_column: GroupColumn = None,
    ignore: Ignore = None,
    separator: Separator = None,
    comment: Comment = None,
    header: Header = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    missing: Missing = None,
    category: Category = None,
    dates: Dates = None,
    form: Printed = Format.TEXT,
    quiet: Quiet = False,
    verbose: Verbose = False,
    rare_classes: RareClasses = "refuse",
    target_transform: Transform = "none",
    stream: Stream = None,
    jobs: Jobs = None,
    dask: Dask = None,
    checkpoint: Kept = None,
) -> None:
    """Say what kind of signal a table holds: its degrees, directions, and the rows it needs."""
    deadline = Deadline.after(time)  # what is imported now takes time too
    _refuse_absent(data)
    options, printing = _options({**locals()}), Printing(data, out, form, quiet, verbose)
    from gradfeat.interface.diagnose import diagnose as diagnosed

    with going_on(options["checkpoint"]), printing.bar as bar:
        found = diagnosed(data, progress=bar.tell, **options)
    printing.found(found, deadline.before(-_late(time)))
    printing.console.say(f"\nReport: {out / 'report.html'}")


def fit(
    data: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, JSON (also .gz, .zip), Parquet, Feather or .xlsx; also a folder, a "
            "pattern of names, or a URL such as s3://..."
        ),
    ],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    task: Task = "auto",
    methods: Annotated[
        str | None, typer.Option(help=f"Comma-separated, of {_METHODS}; left out: all.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for report, model and results.")] = Path(
        "gradfeat-out"
    ),
    time: Annotated[
        float, seconds(help="Seconds to spend, all in: reading, fits, figures and page.")
    ] = 60.0,
    seed: Annotated[int, seeds(help="Of the split and every random draw.")] = 0,
    time_column: TimeColumn = None,
    group_column: GroupColumn = None,
    device: Annotated[str | None, typer.Option(help="Torch device, e.g. cuda.")] = None,
    ignore: Ignore = None,
    missing_target: Annotated[
        Literal["drop", "refuse"], typer.Option(help="Rows without a target.")
    ] = "drop",
    width: Annotated[
        int,
        typer.Option(help="Neurons of random and gradient features.", min=WIDTHS[0], max=WIDTHS[1]),
    ] = WIDTH,
    keep_identifiers: Annotated[
        bool, typer.Option("--keep-identifiers", help="Learn from columns that name rows, too.")
    ] = False,
    target_transform: Transform = "none",
    missing: Missing = None,
    category: Category = None,
    dates: Dates = None,
    stream: Stream = None,
    jobs: Jobs = None,
    dask: Dask = None,
    checkpoint: Kept = None,
    separator: Separator = None,
    comment: Comment = None,
    header: Header = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    form: Printed = Format.TEXT,
    quiet: Quiet = False,
    verbose: Verbose = False,
    rare_classes: RareClasses = "refuse",
) -> None:
    """Fit learned and fixed features to a table, compare them on held-out rows, write a report.

    Large tables stream piece by piece; when interrupted, the same command goes on.
    """
    deadline = Deadline.after(time)  # what is imported now takes time too
    _refuse_absent(data)
    options, printing = _options({**locals()}), Printing(data, out, form, quiet, verbose)
    from gradfeat.interface.compare import compare

    with going_on(options["checkpoint"]):
        with printing.bar as bar:
            found = compare(data, progress=bar.tell, **options)
        printing.found(found, deadline.before(-_late(time)))
    printing.files(found)


def _refuse_absent(data: str, model: Path | None = None) -> None:
    """Refuse files that are not there before libraries of numbers are imported, which takes long.

    Where a URL leads is seen when it is read.
    """
    from gradfeat.rows.sources.files import find_files

    if model is not None and not model.exists():
        raise ModelFileError.absent(model)
    if "://" not in data:
        find_files(data)


def _late(time: float) -> float:
    """Seconds after the time asked for until which figures are drawn, on a busy machine."""
    return 4.0 + 0.15 * time


def _command() -> str:
    return "gradfeat " + " ".join(shlex.quote(word) for word in sys.argv[1:])


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """What `diagnose` or `fit` was given, as the function of Python of that name takes it."""
    options = {n: value for n, value in given.items() if n not in _OF_THE_COMMAND}
    options |= {n: tuple(given[n] or ()) for n in ("ignore", "missing", "category")}
    if (methods := given.get("methods")) is not None:
        options["methods"] = [name.strip() for name in methods.split(",") if name.strip()]
    kept = given["checkpoint"] or given["out"] / "checkpoint"
    return options | {"dates": given["dates"] or "", "checkpoint": kept, "command": _command()}


def predict(
    model: Annotated[
        Path, typer.Argument(help="A model that `gradfeat fit` wrote, or the folder of the fit.")
    ],
    data: Annotated[
        str, typer.Argument(help="A table with the columns of the training table; also a folder.")
    ],
    out: Annotated[Path, typer.Option(help="File: CSV, .tsv, .jsonl or .parquet; - prints.")],
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of the table to copy beside the predictions, such as an identifier; again "
            "for more, or with commas between them."
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            help="Per cent, from 1 to below 100: add low and high ends (of classes: a set of them) "
            "that hold the target of so many new rows."
        ),
    ] = None,
    separator: Separator = None,
    comment: Comment = None,
    header: Header = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    strict: Strict = False,
) -> None:
    """Predict the target for the rows of a table, in their order; of classes also probabilities."""
    _refuse_absent(data, model)
    from gradfeat.cli.table.models import predict_table
    from gradfeat.rows.sources.text_options import text_options

    text = text_options(separator, comment, header, encoding, sheet)
    predict_table(model, data, out, tuple(keep or ()), interval, text, strict)


def refit(
    model: Annotated[
        Path,
        typer.Argument(
            help="A model that `gradfeat fit` wrote and that learned features, or its folder."
        ),
    ],
    data: Annotated[
        str, typer.Argument(help="A table with its columns and the new target; also a URL.")
    ],
    target: Annotated[str, typer.Option(help="Column to predict now.")],
    out: Annotated[Path, typer.Option(help="Model file to write.")],
    seed: Annotated[int, seeds(help="Of the rows held out.")] = 0,
    separator: Separator = None,
    comment: Comment = None,
    header: Header = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    missing: Missing = None,
    rare_classes: RareClasses = "refuse",
    strict: Strict = False,
) -> None:
    """Keep the features of a model, fit its head to another target, score it on held-out rows."""
    _refuse_absent(data, model)
    from gradfeat.cli.table.models import refit_table
    from gradfeat.rows.sources.text_options import text_options
    from gradfeat.table.request import Request

    request = Request(
        Path(data).name,
        target,
        seed=seed,
        command=_command(),
        missing=tuple(missing or ()),
        rare_classes=rare_classes,
        text=text_options(separator, comment, header, encoding, sheet),
    )
    refit_table(model, data, request, out, strict)


@contextmanager
def going_on(checkpoint: Path) -> Iterator[None]:
    """What Ctrl-C within the block leaves, where passes were finished."""
    try:
        yield
    except KeyboardInterrupt:
        if not checkpoint.exists():
            raise
        raise Stopped(
            f"stopped; the passes so far are kept in '{checkpoint}', and the same command goes on "
            "from there."
        ) from None
