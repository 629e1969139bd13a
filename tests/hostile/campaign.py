"""Everything that a stranger may do, some hundred times each, and a table of what came of it.

``python tests/hostile/campaign.py`` runs all with the seeds of the tests;
``--only tables --times 10 --seed 5000`` ten times as many from another seed. Each fault is printed
with its seed and the command that shows it.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))

from cli.tables import classes, quantity, written
from gradfeat.rows.checkpoint import Checkpoint
from hostile.attempt import Tally, attempt, judged
from hostile.damage import hurt_checkpoint, hurt_model, hurt_store
from hostile.malformed import malformed
from hostile.mistaken import mistaken, odd_places
from hostile.prepared import experiment, pages
from hostile.stopped import kills, limits

#: Tries of each part.
TRIES = {"tables": 1000, "models": 170, "stores": 60, "checkpoints": 70, "options": 200}
TRIES |= {"kills": 100, "limits": 40}

#: Tries of a part that one process makes before it takes others.
AT_ONCE = 100

#: One of so many results is drawn as a page, which takes longer than all else.
PAGES = 8

PREDICTION = "--activation relu --teacher 0,1 --phi 0.5 --psi 0.5 --alpha 0.1 --n 200"

METHODS = ("linear", "linear", "kernel", "rfm", "random-features", "gradient-features")


def _finite(path: Path, rows: int | None = None) -> Callable[[], str]:
    """Looks whether predictions are finite, and as many as rows."""

    def check() -> str:
        said = pd.read_csv(path)
        if rows is not None and len(said) != rows:
            return f"{len(said)} predictions for {rows} rows"
        numbers = said[[c for c in said if str(c).startswith(("predicted", "probability"))]]
        numbers = numbers.select_dtypes("number").to_numpy(float)
        return "" if np.isfinite(numbers).all() else "predictions that are not finite"

    return check


def tables(tally: Tally, seeds: range, home: Path) -> None:
    """Malformed tables through fit, held or streamed, and predict, and half through diagnose."""
    for seed in seeds:
        draw = Random(seed)
        table, here = malformed(draw), home / str(seed)
        here.mkdir()
        path = here / f"t{table.ending}"
        path.write_bytes(table.data)
        asked = (f"--target={table.target}", "--time", "1", "--rare-classes", "drop")
        method, how = draw.choice(METHODS), f"seed {seed}"
        with pages(seed % PAGES == 0):
            kind, more = (("fit", ()), ("stream", ("--stream",)))[seed % 2]
            fit = ("fit", path, *asked, "--methods", method, "--width", "8", *more)
            judged(tally, f"tables: {kind}", how, (*fit, "--out", here / kind), here)
            if (here / kind / "model.gradfeat").exists():
                out = here / f"{kind}.csv"
                words = ("predict", here / kind, path, "--out", out)
                judged(tally, "tables: predict", how, words, here, _finite(out))
            if seed % 4 < 2:
                words = ("diagnose", path, *asked, "--out", here / "diagnosis")
                judged(tally, "tables: diagnose", how, words, here)
        shutil.rmtree(here)


def _fitted(home: Path) -> list[Path]:
    """Models of several kinds, each beside its table ``t.csv``."""
    for name, frame in (("quantity", quantity(60)), ("classes", classes(60, 3))):
        table = written(frame, home, f"{name}.csv")
        for method in (*dict.fromkeys(METHODS), "induced-network", "boosting"):
            out = home / f"{name}-{method}"
            words = ("--target", "y", "--methods", method, "--time", "2", "--width", "8")
            attempt("fit", table, *words, "--out", out)
            shutil.copy(table, out / "t.csv")
    return sorted(home.glob("*/model.gradfeat"))


def models(tally: Tally, seeds: range, home: Path) -> None:
    """Damaged models with right checksums, through predict and show."""
    with pages(False):
        good = _fitted(home)
    bad, out, kept = home / "bad.gradfeat", home / "p.csv", home / "kept"
    kept.mkdir()
    for seed in seeds:
        draw = Random(seed)
        model = draw.choice(good)
        how = f"seed {seed}, {model.parent.name}, {hurt_model(draw, model, good, bad)}"
        out.unlink(missing_ok=True)
        words = ("predict", bad, model.parent / "t.csv", "--out", out)
        judged(tally, "models: predict", how, words, kept, _finite(out, 60))
        judged(tally, "models: show", how, ("show", bad), kept)


def stores(tally: Tally, seeds: range, home: Path) -> None:
    """Stores that SQLite reads, with other contents, through all that reads them."""
    file, good = experiment(home)
    bad, kept = home / "bad.sqlite", home / "kept"
    kept.mkdir()
    for seed in seeds:
        for path in home.glob("bad.sqlite*"):
            path.unlink()
        shutil.copy(good, bad)
        how = f"seed {seed}, {hurt_store(Random(seed), bad)}"
        for words in (
            ("status",),
            ("status", "--format", "json"),
            ("show", file),
            ("show", file, "--failures", "--scale", "paper"),
            ("export", "grows", "--to", home / "e.json"),
            ("export", file, "--to", home / "e.parquet"),
            ("run", file, "--no-figure"),
        ):
            judged(tally, f"stores: {words[0]}", how, (*words, "--store", bad), kept)


def checkpoints(tally: Tally, seeds: range, home: Path) -> None:
    """Checkpoints of finished passes, damaged with right digests: the fit goes on or refuses."""
    table, kept = written(quantity(200), home), home / "checkpoint"
    fit = ("fit", table, "--target", "y", "--methods", "linear", "--time", "5", "--stream")
    clear, Checkpoint.clear_opened = Checkpoint.clear_opened, lambda _: None
    try:
        with pages(False):
            attempt(*fit, "--out", home / "right", "--checkpoint", kept)
            attempt("predict", home / "right", table, "--out", home / "right.csv")
            right = (home / "right.csv").read_bytes()
            for seed in seeds:
                bad, out = home / "bad", home / "out"
                for path in (bad, out):
                    shutil.rmtree(path, ignore_errors=True)
                shutil.copytree(kept, bad)
                how = f"seed {seed}, {hurt_checkpoint(Random(seed), bad)}"
                words = (*fit, "--out", out, "--checkpoint", bad)
                judged(
                    tally, "checkpoints: fit", how, words, home / "right", _same(out, table, right)
                )
    finally:
        Checkpoint.clear_opened = clear


def _same(model: Path, table: Path, right: bytes) -> Callable[[], str]:
    """Looks whether a model predicts bit for bit what the right one does."""

    def check() -> str:
        out = model / "p.csv"
        attempt("predict", model, table, "--out", out)
        return "" if out.exists() and out.read_bytes() == right else "another model"

    return check


def options(tally: Tally, seeds: range, home: Path) -> None:
    """Wrong kinds of values for every option, and paths to what is no file."""
    kept, odd, out = (home / name for name in ("kept", "odd", "out"))
    for folder in (kept, odd, out):
        folder.mkdir()
    file, store = experiment(kept)
    table = written(quantity(60), kept)
    fit = [str(table), "--target", "y", "--time", "1"]
    model, where = kept / "model" / "model.gradfeat", ["--store", str(store)]
    with pages(False):
        gradient = ("--methods", "gradient-features", "--width", "8", "--ignore", "a")
        attempt("fit", *fit, *gradient, "--out", model.parent)
        working = {
            "fit": [*fit, "--methods", "linear", "--out", str(out / "fit")],
            "diagnose": [*fit, "--out", str(out / "diagnosis")],
            "predict": [str(model), str(table), "--out", str(out / "p.csv")],
            "refit": [str(model), str(table), "--target", "a", "--out", str(out / "refit")],
            "plan": ["--rows", "1e6", "--columns", "10", "--no-calibration", "--rate", "10"],
            "list": [str(file)],
            "run": [str(file), "--no-figure", "--store", str(out / "s.sqlite")],
            "status": where,
            "verify": [str(file), "--store", str(out / "s.sqlite")],
            "export": [str(file), "--to", str(out / "e.csv"), *where],
            "predict-error": shlex.split(PREDICTION),
            "show": [str(file), *where],
        }
        for path in kept.glob("calls"):  # the experiment notes its calls there
            path.unlink()
        with odd_places(odd) as places, contextlib.chdir(out):
            for seed in seeds:
                words = mistaken(Random(seed), working, places)
                judged(tally, f"options: {words[0]}", f"seed {seed}", tuple(words), kept)
                (kept / "calls").unlink(missing_ok=True)


PARTS: dict[str, Callable[[Tally, range, Path], None]] = {
    "tables": tables,
    "models": models,
    "stores": stores,
    "checkpoints": checkpoints,
    "options": options,
    "kills": kills,
    "limits": limits,
}


def campaign(part: str, seeds: range) -> Tally:
    """One part, in a folder of its own."""
    os.environ["MPLBACKEND"] = "Agg"
    tally = Tally()
    sys.modules.pop("grows", None)  # of the folder of the part before, in the same process
    with tempfile.TemporaryDirectory(prefix="gradfeat-hostile-") as home, contextlib.chdir(home):
        PARTS[part](tally, seeds, Path(home))
    return tally


def pieces(part: str, times: float = 1.0, seed: int = 0) -> list[tuple[str, range]]:
    """A part as calls of `campaign`, each with some of its seeds."""
    last = seed + max(1, round(TRIES[part] * times))
    return [(part, range(k, min(k + AT_ONCE, last))) for k in range(seed, last, AT_ONCE)]


def campaigns(calls: list[tuple[str, range]], jobs: int) -> Tally:
    """Several pieces, in so many processes."""
    whole, spawn = Tally(), multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, spawn) as pool:
        for found in pool.map(campaign, *zip(*calls, strict=True)):
            whole.counts.update(found.counts)
            whole.faults += found.faults
    return whole


def main() -> int:
    """Run the parts asked for, print the table and the faults; 1 where there are any."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--only", choices=PARTS, action="append")
    words.add_argument("--times", type=float, default=1.0)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--jobs", type=int, default=2)
    asked = words.parse_args()
    calls = [one for part in asked.only or PARTS for one in pieces(part, asked.times, asked.seed)]
    whole = campaigns(calls, asked.jobs)
    print(f"seeds from {asked.seed}, times {asked.times}\n{whole.table()}")  # noqa: T201
    for fault in whole.faults:
        print(repr(fault))  # noqa: T201
    return bool(whole.faults)


if __name__ == "__main__":
    sys.exit(main())
