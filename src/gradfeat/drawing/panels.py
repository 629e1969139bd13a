"""A figure of several panels: its grid, one key for all of them, a caption; and its file."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Final, cast

from gradfeat.drawing import series, style
from gradfeat.maths.files import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LETTERS: Final = 14.0  # of a caption in one inch
_HANDLE: Final = 0.45  # inches of a legend entry beside its letters


def panels(
    n: int, columns: int = 3, size: tuple[float, float] = (3.4, 2.9)
) -> tuple[Figure, list[Axes]]:
    """A figure of `n` panels in rows of `columns`, each of `size` inches (width, height).

    Raises ValueError when `n` or `columns` is below 1.

    >>> figure, axes = panels(4, columns=3)
    >>> len(axes), figure.get_size_inches().round(1).tolist()
    (4, [10.2, 5.8])
    """
    from matplotlib.figure import Figure

    if min(n, columns) < 1:
        raise ValueError(f"{n} panels in {columns} columns were asked for: give at least 1 of each")
    columns = min(n, columns)
    rows = -(-n // columns)
    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    return figure, [figure.add_subplot(rows, columns, place + 1) for place in range(n)]


def shared_key(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend above the panels, with each label of `axes` once: points first, then lines."""
    found = {}
    for ax in axes:
        pairs = zip(*ax.get_legend_handles_labels(), strict=True)
        for handle, label in sorted(pairs, key=lambda pair: pair[0] not in ax.containers):
            found.setdefault(label, handle)
    if found:
        figure.legend(
            list(found.values()), list(found), loc="outside upper center",
            ncols=key_columns(list(found), figure.get_size_inches()[0]),
            frameon=False, fontsize=style.SMALL, labelcolor=style.INK, handletextpad=0.5,
        )  # fmt: skip


def key_columns(labels: Sequence[str], width: float) -> int:
    """Most columns of a legend of these labels that fit `width` inches, at least 1.

    >>> key_columns(["network", "random features"], 6.0), key_columns(["network"] * 9, 3.0)
    (2, 3)
    """
    for columns in range(len(labels), 1, -1):
        longest = [max(map(len, labels[place::columns])) for place in range(columns)]
        if sum(_HANDLE + letters / _LETTERS for letters in longest) <= width:
            return columns
    return 1


def finished(axes: Sequence[Axes], text: str) -> Figure:
    """The figure of these panels with their key and its caption."""
    figure = cast("Figure", axes[0].figure)
    shared_key(figure, axes)
    caption(figure, text)
    series.keep_levels_apart(figure, axes)
    return figure


def caption(figure: Figure, text: str) -> None:
    """Wrapped words under the panels, on the left: what was run, what bars and lines mean.

    A caption that fits two lines is read; what else there is to say is the experiment's `about`.
    """
    words = " ".join(text.split()).replace(" %", "\xa0%")  # a number and its % stay on one line
    lines = fill(words, int(_LETTERS * figure.get_size_inches()[0]))
    figure.supxlabel(lines, x=0.012, ha="left", fontsize=style.SMALL, color=style.QUIET)


# No dates, no versions, ids that do not change.
_METADATA: Final[dict[str, dict[str, None]]] = {
    ".png": {"Software": None},
    ".svg": dict.fromkeys(("Creator", "Date", "Format", "Type")),
    ".pdf": dict.fromkeys(("CreationDate", "Creator", "Producer")),
}
_SETTINGS: Final = {"svg.hashsalt": "gradfeat", "pdf.fonttype": 42}


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write PNG (200 dots an inch), SVG or PDF, by the suffix; an old file is replaced whole.

    Raises ValueError for any other suffix; OSError where the system refuses; an old file stays as
    it was.

    >>> from tempfile import TemporaryDirectory
    >>> from matplotlib.figure import Figure
    >>> with TemporaryDirectory() as folder:
    ...     save_figure(Figure(), Path(folder) / "empty.png")
    ...     (Path(folder) / "empty.png").read_bytes()[1:4]
    b'PNG'
    """
    from matplotlib import style as mpl_style

    suffix = check_suffix(path, tuple(_METADATA))
    buffer = BytesIO()
    with mpl_style.context(["default", _SETTINGS]):
        figure.savefig(buffer, format=suffix[1:], dpi=style.DPI, metadata=_METADATA[suffix])
    replace_file(path, buffer.getvalue())


def check_suffix(path: str | Path, allowed: tuple[str, ...]) -> str:
    """The suffix of `path` in small letters, or ValueError where it is not one of `allowed`."""
    suffix = Path(path).suffix.lower()
    if suffix not in allowed:
        raise ValueError(
            f"The figure's file is named '{Path(path).name}': end the name in "
            f"{' or '.join(allowed)}, which says how it is written."
        )
    return suffix
