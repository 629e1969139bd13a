"""Files of figures that a command is asked to write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gradfeat.cli.guard import Refused
from gradfeat.drawing.panels import check_suffix, save_figure
from gradfeat.maths.files import refused

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")


def check_file(path: Path) -> None:
    """Refuse, before any work, a figure file of another format, or in no folder."""
    try:
        check_suffix(path, FORMATS)
    except ValueError as error:
        raise Refused(str(error)) from None
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise Refused(f"'{path}' is a folder or in none that exists: give a file in a folder.")


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure; its folder is made. `Refused` where the system does not let."""
    with refused(path, Refused):
        path.parent.mkdir(parents=True, exist_ok=True)
        save_figure(figure, path)
