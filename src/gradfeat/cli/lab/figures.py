"""Figures of experiments to files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gradfeat.cli.guard import FORMATS, Refused, write_figure
from gradfeat.cli.lab.selection import Selection
from gradfeat.lab.cells import Cell
from gradfeat.lab.experiment import Experiment
from gradfeat.maths.files import check_folder

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def file_stem(name: str) -> str:
    """Return the name of an experiment as the name of a file in this folder.

    >>> file_stem("shi22-accuracy"), file_stem("../a b")
    ('shi22-accuracy', 'a-b')
    """
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "experiment"


#: Characters of a file's name that say what it shows; what is cut off counts by a digest.
LONGEST = 100


@dataclass(frozen=True)
class Figures:
    """Where figures go, and in which formats."""

    folder: Path
    suffixes: tuple[str, ...]

    @classmethod
    def of(cls, folder: Path, formats: str) -> Figures:
        """Read the options."""
        suffixes = tuple(f".{name.strip().lower()}" for name in formats.split(","))
        if unknown := [suffix for suffix in suffixes if suffix not in FORMATS]:
            raise Refused(f"--format has {unknown[0][1:]!r}: allowed are png, svg, pdf.")
        check_folder(folder)
        return cls(folder, tuple(dict.fromkeys(suffixes)))

    def paths(self, experiment: Experiment, selection: Selection) -> list[Path]:
        """Return the files for what is selected of an experiment; others for other settings."""
        words = file_stem("-".join([experiment.name, *selection.words()]))
        digest = hashlib.sha256(words.encode()).hexdigest()[:8]
        stem = words if len(words) <= LONGEST else f"{words[:LONGEST]}-{digest}"
        return [self.folder / f"{stem}{suffix}" for suffix in self.suffixes]


def drawn(experiment: Experiment, table: pd.DataFrame, cells: Sequence[Cell]) -> Figure | None:
    """Return the figure of a table; None where the experiment has none, or the table no rows.

    Theory is asked about each cell with a row in the table, once.
    """
    from matplotlib.figure import Figure

    if experiment.figure is None or table.empty:
        return None
    try:
        there = set(zip(*(table[name] for name in experiment.factors), strict=True))
        each = {tuple(cell.values()): cell for cell in cells}  # given once a seed
        finished = [cell for values, cell in each.items() if values in there]
        figure = experiment.figure(table, experiment.theory_table(finished))
    except Exception as error:
        raise _failed(experiment, error) from error
    match figure:
        case Figure():
            return figure
        case _:
            raise Refused(
                f"the figure of {experiment.name!r} is a {type(figure).__name__}: return a "
                "matplotlib Figure."
            )


def _failed(experiment: Experiment, error: Exception) -> Refused:
    return Refused(
        f"the figure of {experiment.name!r} failed ({type(error).__name__}: {error}): correct "
        "its function; the results are kept."
    )


def saved(experiment: Experiment, figure: Figure, paths: Sequence[Path]) -> None:
    """Write a figure of an experiment to each path; folders are made."""
    for path in paths:
        try:
            write_figure(figure, path)
        except Refused:
            raise
        except Exception as error:  # some faults, such as a logarithm of no data, show only now
            raise _failed(experiment, error) from error
