"""The program: its commands in groups, and its entry point."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from io import TextIOWrapper
from types import FrameType
from typing import Annotated, cast

import typer

from gradfeat import __version__
from gradfeat.cli.guard import Refused, guarded
from gradfeat.cli.lab import commands as lab
from gradfeat.cli.plan.command import plan
from gradfeat.cli.predict_error.command import predict_error
from gradfeat.cli.table import commands as table
from gradfeat.maths.limits import reserve_for_products, share_one_heap

#: Seconds in which presses of Ctrl-C count as one.
SETTLING = 3.0

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Feature learning: fit and compare on your table; run experiments and check claims.",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"gradfeat {__version__}")
        raise typer.Exit


def program(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Options before the name of a command."""
    del version
    try:
        os.getcwd()
    except OSError:
        raise Refused("the current folder is gone, or closed to you: change to another.") from None
    reserve_for_products()


app.callback()(program)

GROUPS = {
    "Your table": {
        "diagnose": table.diagnose,
        "fit": table.fit,
        "predict": table.predict,
        "refit": table.refit,
        "plan": plan,
    },
    "Lab": {
        "list": lab.list_,
        "run": lab.run,
        "status": lab.status,
        "verify": lab.verify,
        "export": lab.export,
    },
    "Theory": {"predict-error": predict_error},
    "Both": {"show": lab.show},
}
for panel, commands in GROUPS.items():
    for name, command in commands.items():
        app.command(name, rich_help_panel=panel)(command)


def interrupts_count_once() -> None:
    """Ctrl-C pressed again within `SETTLING` seconds does not interrupt the tidying up.

    SIGTERM, as schedulers of jobs send it, is the same as Ctrl-C. Where the program was started
    with one of them ignored, that stays ignored.
    """
    last = -math.inf

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last - before > SETTLING:
            signal.default_int_handler(number, frame)

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)


def open_streams() -> None:
    """Streams that are closed (`>&-`) go nowhere: the next file would take their descriptors."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def own_surroundings() -> None:
    """Figures go to files, whatever MPLBACKEND a notebook left; COLUMNS below 20 is nobody's."""
    os.environ["MPLBACKEND"] = "agg"
    if (width := os.environ.get("COLUMNS", "")).isdecimal() and int(width) < 20:
        del os.environ["COLUMNS"]


def main() -> None:
    """Entry point of the `gradfeat` command."""
    open_streams()
    own_surroundings()
    for stream in (sys.stdout, sys.stderr):
        cast(TextIOWrapper, stream).reconfigure(errors="replace")
    interrupts_count_once()
    share_one_heap()
    code = guarded(app)
    for number in (signal.SIGINT, signal.SIGTERM):  # the interpreter ends undisturbed
        signal.signal(number, signal.SIG_IGN)
    sys.exit(code)
