"""Compute what the gallery shows, and store it in `docs/gallery/stored`: `make results`.

Of each experiment, at its quick scale: `NAME.json` (verdicts, and what made them), `NAME.csv` (mean
and standard error of each number, a row a cell) and `NAME.png`. Of each example of
`docs/gallery/examples`: `NAME.json` with what it prints, and `NAME.png` where it draws. So the site
holds no number that somebody typed, and is built without computing any.

    python tools/results.py [--store FILE] [--jobs N] [NAME ...]
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from gradfeat.lab import Experiment

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "docs" / "gallery" / "stored"
EXAMPLES = ROOT / "docs" / "gallery" / "examples"
#: Facts of a result's origin that the pages show.
FACTS = ("gradfeat", "torch", "numpy", "python")


def examples() -> list[str]:
    """Names of the scripts in the gallery."""
    return sorted(path.stem.replace("_", "-") for path in EXAMPLES.glob("*.py"))


def digest(text: str) -> str:
    """What a script's stored output belongs to."""
    return hashlib.sha256(text.encode()).hexdigest()


def of_experiment(name: str, store: Path, jobs: int) -> None:
    """Compute the cells that the store lacks; write verdicts, means and figure."""
    from gradfeat.cli.lab.figures import drawn
    from gradfeat.lab import Store, judge, run
    from gradfeat.lab.loading import experiment

    found = experiment(name)
    points = found.points("quick", None, None)
    with Store.open(store) as opened:
        table = run(found, store=opened, jobs=jobs, arrays=True)
        origins = [opened.provenance(point.key) or {} for point in points]
    verdicts = judge(found, table)
    _write(
        name,
        {
            "version": found.version,
            "text": found.source,
            "cells": len({json.dumps(point.cell) for point in points}),
            "results": len(table),
            "failed": len(table.attrs["failures"]),
            "seconds": _least(found, round(sum(each.get("seconds", 0) for each in origins))),
            "made by": {fact: sorted({str(each.get(fact)) for each in origins}) for fact in FACTS},
            "claims": [
                {
                    "text": claim.text,
                    "outcome": verdict.outcome,
                    "words": verdict.words,
                    "estimate": _plain(verdict.estimate),
                    "low": _plain(verdict.low),
                    "high": _plain(verdict.high),
                    "seeds": verdict.n,
                }
                for claim, verdict in verdicts
            ],
        },
    )
    means(table).to_csv(STORED / f"{name}.csv", float_format="%.5g")
    if figure := drawn(found, table, [point.cell for point in points]):
        save(figure, STORED / f"{name}.png")


def _plain(number: float) -> float | None:
    """JSON knows no nan."""
    return float(f"{number:.6g}") if math.isfinite(number) else None


def means(table: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard error over seeds of each number, a row a cell."""
    from gradfeat.cli.lab.summary_table import scalar_metrics

    metrics = scalar_metrics(table)
    groups = table.groupby(list(table.attrs["factors"]), sort=False)[metrics]
    found = groups.agg(["mean", "sem"])
    found.columns = [name if kind == "mean" else f"{name} s.e." for name, kind in found.columns]
    return found.assign(seeds=groups.size())


def save(figure: Figure, path: Path) -> None:
    """A small picture: 256 colours are enough for lines and maps."""
    held = io.BytesIO()
    figure.savefig(held, format="png", dpi=110, facecolor="white", bbox_inches="tight")
    _shrunk(held, path)


def _shrunk(picture: io.BytesIO, path: Path) -> None:
    from PIL import Image

    with Image.open(picture) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def of_example(name: str) -> None:
    """Keep what a script prints and draws."""
    printed, picture = outcome_of(name)
    _write(name, {"text": digest(_script(name)), "printed": printed})
    if picture:
        _shrunk(io.BytesIO(picture), STORED / f"{name}.png")


def _script(name: str) -> str:
    return (EXAMPLES / f"{name.replace('-', '_')}.py").read_text("utf-8")


def outcome_of(name: str) -> tuple[str, bytes | None]:
    """Run a script in a folder that has `examples/`: what it prints, and the picture it leaves."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "examples").symlink_to(ROOT / "examples")
        env = {**os.environ, "MPLBACKEND": "agg", "COLUMNS": "80", "NO_COLOR": "1"}
        words = [sys.executable, "-c", _script(name)]
        done = subprocess.run(words, cwd=place, env=env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{name}: status {done.returncode}\n{done.stderr}")
        picture = place / "figure.png"
        return done.stdout, picture.read_bytes() if picture.is_file() else None


def _least(found: Experiment, seconds: int) -> int:
    """The fewest seconds that this text of the trial took: on a busy machine it takes more."""
    path = STORED / f"{found.name}.json"
    old = json.loads(path.read_text("utf-8")) if path.exists() else {}
    same = (old.get("text"), old.get("results")) == (found.source, len(found.points("quick")))
    return min(old["seconds"], seconds) if same else seconds


def _write(name: str, facts: Mapping[str, Any]) -> None:
    STORED.mkdir(exist_ok=True)
    words = json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False)
    (STORED / f"{name}.json").write_text(f"{words}\n", "utf-8")


def main() -> None:
    """Make what is asked for: all, or the names given."""
    from gradfeat.lab.loading import names

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="experiments and examples; left out: all")
    parser.add_argument("--store", type=Path, default=ROOT / "gallery.sqlite")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    scripts = examples()
    for name in asked.names or [*names(), *scripts]:
        print(name, flush=True)
        if name in scripts:
            of_example(name)
        else:
            of_experiment(name, asked.store, asked.jobs)


if __name__ == "__main__":
    main()
