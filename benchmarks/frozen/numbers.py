"""Numbers of a fixed set of fits, taken before a change and compared after it.

    python benchmarks/frozen/numbers.py --out FILE.json      # take them
    python benchmarks/frozen/numbers.py --compare            # exit 1 if one is beyond its bound
    python benchmarks/frozen/numbers.py --compare --only kernels sources

Everything goes through the public API and the command line, on fixed seeds and one thread, so that
the same file runs on trees of different design (``--src FOLDER`` picks one). Each entry has a
bound: ``bits`` (equal), or the largest deviation relative to the largest number of the entry. What
was changed on purpose is in ``changed.json`` (a pattern of entries: why): shown, not counted.
"""

from __future__ import annotations

import sys
from pathlib import Path

# In place of this folder, whose `numbers` would hide Python's own (worker processes begin without).
if sys.path[0] == str(Path(__file__).parent):
    sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).parent / "parts"))

import argparse
import fnmatch
import json
import math
import tempfile
import time
import warnings
from typing import Any

import trees
from entries import Compared, compared, entry

HERE = Path(__file__).parent
KEPT = HERE / "numbers.json"
CHANGED = HERE / "changed.json"

Entries = dict[str, dict[str, Any]]


def groups() -> dict[str, Any]:
    """Groups by name, imported late: `--src` decides which gradfeat."""
    import commands
    import experiments
    import fits
    import streams

    return {
        "defaults": fits.defaults,
        "weighted": fits.weighted,
        "options": fits.options,
        "kernels": fits.kernels,
        "tools": fits.tools,
        "streams": streams.estimators,
        "sources": streams.sources,
        "engines": streams.engines,
        "fit": commands.fit,
        "fit-by-time": commands.fit_by_time,
        "fit-stream": commands.fit_stream,
        "table": commands.table,
        "theory": commands.theory,
        "plan": commands.plan,
        "lab": experiments.lab,
        "quick-cells": experiments.quick_cells,
    }


def taken(name: str, group: Any) -> Entries:
    """The entries of a group; one that fails leaves a note of its error and what it had."""
    found: Entries = {}

    def note(what: str, value: Any, bound: str = "bits") -> None:
        found[f"{name}/{what}"] = entry(value, bound)

    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            group(note, Path(folder))
        except Exception as error:
            print(f"{name} stopped: {type(error).__name__}: {error}", file=sys.stderr)
            note("stopped", f"{type(error).__name__}: {error}")
    spent = time.perf_counter() - start
    print(f"{name}: {len(found)} entries, {spent:.1f} s", file=sys.stderr, flush=True)
    return found


def reason(name: str, changed: dict[str, str]) -> str | None:
    """Why an entry was changed on purpose; None where it was not."""
    return next((why for pattern, why in changed.items() if fnmatch.fnmatch(name, pattern)), None)


def report(lines: list[Compared], changed: dict[str, str], *, every: bool) -> int:
    """Print what deviates (all with `every`), and how many; the exit code."""
    beyond = 0
    for line in sorted(lines, key=lambda line: -line.deviation):
        why = None if line.ok else reason(line.name, changed)
        word = "ok" if line.ok else "changed" if why else "BEYOND"
        beyond += word == "BEYOND"
        if every or not line.ok:
            told = line.remark or why or ""
            print(f"{word:8s}{line.deviation:9.1e}  {line.bound:6s} {line.name}  {told}"[:400])
    bits = sum(line.same_bits for line in lines)
    worst = max((line.deviation for line in lines if math.isfinite(line.deviation)), default=0.0)
    print(
        f"{len(lines)} entries: {bits} the same to the bit, {beyond} beyond their bounds; "
        f"largest finite deviation {worst:.1e}"
    )
    return int(beyond > 0)


def written(entries: Entries, path: Path) -> None:
    """One entry a line."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(e, separators=(',', ':'))}"
        for name, e in sorted(entries.items())
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> int:
    """Take the numbers, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="GROUP", help="some groups")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--all", action="store_true", help="print every entry")
    parser.add_argument("--kept", type=Path, default=KEPT)
    parser.add_argument("--out", type=Path, help="where to write what was taken")
    parser.add_argument("--src", help="folder that holds the package gradfeat")
    given = parser.parse_args()
    trees.use(given.src)
    import torch

    torch.set_num_threads(1)
    known = groups()
    names = given.only or list(known)
    if unknown := set(names) - set(known):
        parser.error(f"{sorted(unknown)}: the groups are {', '.join(known)}")
    found: Entries = {}
    for name in names:
        found.update(taken(name, known[name]))
    if given.out is not None:
        written(found, given.out)
    if not given.compare:
        return 0
    kept = json.loads(given.kept.read_text())
    changed = json.loads(CHANGED.read_text()) if CHANGED.exists() else {}
    chosen = {name: e for name, e in kept.items() if name.split("/")[0] in names}
    for name in sorted(set(found) - set(kept)):
        print(f"new      {name}")
    return report(
        [compared(n, e, found.get(n)) for n, e in chosen.items()], changed, every=given.all
    )


if __name__ == "__main__":
    sys.exit(main())
