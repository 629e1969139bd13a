"""export NAME: results as CSV, Parquet or JSON."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
from rich.console import Console

from gradfeat.cli.figures import file_stem
from gradfeat.cli.guard import Refused
from gradfeat.cli.selection import Narrowed
from gradfeat.cli.showing import selected
from gradfeat.lab import Store
from gradfeat.lab.errors import choices
from gradfeat.lab.export import FORMATS, export
from gradfeat.lab.loading import experiment as loaded
from gradfeat.lab.loading import names as shipped


def target(to: str, name: str) -> tuple[Path, str]:
    """Return the file to write and its format.

    Raises
    ------
    Refused
        Where `to` is neither a format nor a file that ends in one.

    Examples
    --------
    >>> target("csv", "demo"), target("a/b.JSON", "demo")
    ((PosixPath('demo.csv'), 'csv'), (PosixPath('a/b.JSON'), 'json'))
    """
    if to.lower() in FORMATS:
        return Path(f"{file_stem(name)}.{to.lower()}"), to.lower()
    kind = Path(to).suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise Refused(
            f"--to is {to!r}: give a file that ends in .csv, .parquet or .json, or one of the "
            "words csv, parquet, json."
        )
    return Path(to), kind


def export_table(name: str, to: str, path: Path, narrowed: Narrowed) -> None:
    """Write the rows of the newest version, or of a selection, and say how many."""
    own = name.endswith(".py") or name in shipped()
    title = loaded(name).name if own else name
    file, kind = target(to, title)
    if os.path.realpath(file) == os.path.realpath(path):
        raise Refused(f"--to is {str(file)!r}, the store itself: give another file.")
    with Store.open(path, readonly=True) as store:
        _check_stored(title, store, path)
        table, lost = _rows(name, title, own, store, path, narrowed, kind != "csv")
    if table.empty:
        raise Refused(f"no finished cell of {title!r} is in {str(path)!r}: there is nothing to do.")
    export(table, file, kind)
    text = f"{len(table):,} rows of {title}, version {table.attrs['version']}: {file}"
    if lost:
        text += f" ({lost:,} failed cells are left out)"
    Console(highlight=False).print(text, markup=False, soft_wrap=True)


def _check_stored(title: str, store: Store, path: Path) -> None:
    known = list(dict.fromkeys(store.status()["experiment"]))
    if title not in known:
        raise Refused(f"store {str(path)!r} has nothing of {title!r}{choices(title, known)}")


def _rows(
    name: str, title: str, own: bool, store: Store, path: Path, narrowed: Narrowed, arrays: bool
) -> tuple[pd.DataFrame, int]:
    """Return the table, and how many failures it leaves out."""
    if not narrowed.given:
        return store.table(title, arrays=arrays), len(store.failures(title))
    if not own:
        raise Refused(
            f"cells of {title!r} can be selected only with its file at hand: give its path, ending "
            "in .py, or leave out --scale, --set and --seeds."
        )
    experiment = loaded(name)
    selection = selected(name, experiment, store, path, narrowed)
    keys = [point.key for point in selection.points(experiment)]
    return store.table(experiment, keys, arrays), len(store.failures(experiment, keys))
