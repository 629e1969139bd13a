"""Fit every method to every table of the suite; one line of JSON a fit, resumable.

    python benchmarks/tabular/run.py --out FILE.jsonl [--tables a,b] [--methods m,n]
        [--splits 5] [--rows 4000] [--jobs 2] [--limit 900] [--redo METHOD]

What is in the file is not fitted again; `--redo METHOD` (a comma between several) drops its lines
first. Every fit has one thread and a process of its own. A fit that fails or takes more processor
seconds than the limit is a line with the reason.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fit_process import fit_line, one_thread
from lines import Key, dropped, key, read_lines
from methods import METHODS, Method
from table_list import TABLES, Table

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Cell:
    """One fit to be done."""

    table: Table
    split: int
    method: Method

    @property
    def key(self) -> Key:
        return self.table.name, self.split, self.method.name


def main() -> None:
    """Fit what is missing, one split of all tables after another."""
    options = _options()
    out: Path = options.out
    out.parent.mkdir(parents=True, exist_ok=True)
    names = {table.name for table in options.tables}
    lines = dropped(read_lines(out), set(options.redo), names)
    if options.redo:
        out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    _one_cap(lines, options.rows)
    done = {key(line) for line in lines}
    cells = [cell for cell in _cells(options) if cell.key not in done]
    print(f"{len(cells)} fits to do, {len(done)} in {out}", flush=True)
    with tempfile.TemporaryDirectory() as folder, out.open("a") as file:
        for number, line in enumerate(_all(cells, options, Path(folder)), start=1):
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(f"{number}/{len(cells)}", _in_words(line), flush=True)


def _options() -> argparse.Namespace:
    def chosen(every: tuple[Any, ...]) -> Any:
        by_name = {item.name: item for item in every}
        return lambda text: [by_name[name] for name in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", type=chosen(TABLES), default=list(TABLES))
    parser.add_argument("--methods", type=chosen(METHODS), default=list(METHODS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=900.0)
    parser.add_argument("--redo", type=lambda text: text.split(","), default=[])
    return parser.parse_args()


def _one_cap(lines: list[dict[str, Any]], rows: int) -> None:
    others = {line["cap"] for line in lines} - {rows}
    if others:
        raise SystemExit(
            f"--rows is {rows}, but the file has fits with --rows {others.pop()}: "
            "give that number, or another file."
        )


def _cells(options: argparse.Namespace) -> Iterator[Cell]:
    for split in range(options.splits):
        for table in options.tables:
            for method in options.methods:
                yield Cell(table, split, method)


def _all(cells: list[Cell], options: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """Lines as they come; splits are encoded one at a time, in processes that end."""
    with ThreadPoolExecutor(options.jobs) as pool:
        for start in range(0, len(cells), options.jobs):
            batch = cells[start : start + options.jobs]
            paths = [_split_file(cell, options.rows, folder) for cell in batch]
            yield from pool.map(lambda c, p: _line(c, p, options), batch, paths)


def _split_file(cell: Cell, cap: int, folder: Path) -> Path:
    path = folder / f"{cell.table.name}-{cell.split}.npz"
    if not path.exists():
        command = [sys.executable, HERE / "splits.py", cell.table.name, str(cell.split), str(cap)]
        subprocess.run([*command, path], env=one_thread(), check=True)
    return path


def _line(cell: Cell, path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measures of one fit, or why there are none."""
    table, split, method = cell.key
    head = {"table": table, "split": split, "method": method, "task": cell.table.task}
    head |= {"cap": options.rows, "date": time.strftime("%Y-%m-%d")}
    return head | fit_line(method, path, options.limit)


def _in_words(line: dict[str, Any]) -> str:
    name = f"{line['table']} {line['split']} {line['method']}"
    if "error" in line:
        return f"{name}: {line['error']}"
    return f"{name}: {line['score']:.4f} in {line['fit_s']:.1f} s, {line['peak_mb']:.0f} MB"


if __name__ == "__main__":
    main()
