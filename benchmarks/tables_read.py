"""Print how each column of some tables is read.

    python benchmarks/tables_read.py TABLE...

One line a table, and one for each column that is not plain numbers: its kind, what was done to it,
cells that are missing because they are no such thing, and what was assumed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gradfeat.errors import SourceError, TableError
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import held
from gradfeat.table.encode import TableEncoder


def lines_of(path: str) -> list[str]:
    """How a table is read, a line a column."""
    try:
        frame = held(tables(path))
        encoder = TableEncoder().fit(frame)
    except (SourceError, TableError) as error:
        said = str(error).replace(str(path), Path(path).name)
        return [f"- `{Path(path).name}`: refused: {said}"]
    unread = {one.column: one for one in encoder.unread_}
    plain = [note.name for note in encoder.notes_ if note.treatment == "as it is"]
    out = [f"- `{Path(path).name}`, {len(frame):,} rows; plain numbers: {', '.join(plain) or '-'}"]
    for note in encoder.notes_:
        lost = unread.get(note.name)
        strays = f"; {lost.cells} strays, first {lost.example!r}" if lost else ""
        if note.treatment != "as it is" or note.remark or strays:
            example = frame[note.name].dropna().astype(str).head(1).tolist()
            said = f"{note.kind}, {note.distinct:,} distinct; {note.treatment}{strays}"
            out.append(
                f"  - {note.name} ({''.join(example)[:30]!r}): {said} {note.remark}".rstrip()
            )
    return out


if __name__ == "__main__":
    for given in sys.argv[1:]:
        print("\n".join(lines_of(given)))
