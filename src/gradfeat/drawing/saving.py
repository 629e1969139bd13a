"""Figures to files: the same figure gives the same bytes."""

# Apart: not the command line alone saves figures; benchmarks and users do.

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gradfeat.drawing.style import DPI
from gradfeat.maths.files import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        figure.savefig(buffer, format=suffix[1:], dpi=DPI, metadata=_METADATA[suffix])
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
