"""Everything that a stranger may do, some hundred times each, and a table of what came of it.

``python tests/hostile/campaign.py`` runs all with the seeds of the tests;
``--only tables --times 10 --seed 5000`` ten times as many from another seed. Each fault is printed
with its seed and the command that shows it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))

from cli.lab_files import GROWS
from cli.tables import classes, quantity, written
from gradfeat.interface.compare import Comparison
from gradfeat.interface.diagnose import Diagnosis
from gradfeat.lab import Store
from gradfeat.rows.checkpoint import Checkpoint
from hostile.apart import in_child, short_of_disk, short_of_memory
from hostile.attempt import LOST, RIGHT, WRONG, Tally, attempt, judged, outcome, tree
from hostile.damage import hurt_checkpoint, hurt_model, hurt_store
from hostile.malformed import malformed
from hostile.mistaken import mistaken, odd_places

#: Tries of each part.
TRIES = {"tables": 250, "models": 150, "stores": 40, "checkpoints": 50, "options": 200}
TRIES |= {"kills": 100, "limits": 40}

#: One of so many results is drawn as a page, which takes longer than all else.
PAGES = 8

PREDICTION = "--activation relu --teacher 0,1 --phi 0.5 --psi 0.5 --alpha 0.1 --n 200"

METHODS = ("linear", "linear", "kernel", "rfm", "random-features", "gradient-features")


@contextlib.contextmanager
def _pages(wanted: bool) -> Iterator[None]:
    """Whether pages are drawn."""
    kinds = (Comparison, Diagnosis)
    kept = [kind._rendered for kind in kinds]
    for kind in kinds if not wanted else ():
        kind._rendered = lambda _: "<p>page</p>"  # pyright: ignore
    try:
        yield
    finally:
        for kind, rendered in zip(kinds, kept, strict=True):
            kind._rendered = rendered


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
    """Malformed tables through fit, stream, predict and diagnose."""
    for seed in seeds:
        draw = Random(seed)
        table, here = malformed(draw), home / str(seed)
        here.mkdir()
        path = here / f"t{table.ending}"
        path.write_bytes(table.data)
        asked = (f"--target={table.target}", "--time", "1", "--rare-classes", "drop")
        method, how = draw.choice(METHODS), f"seed {seed}"
        with _pages(seed % PAGES == 0):
            for kind, more in (("fit", ()), ("stream", ("--stream",))):
                fit = ("fit", path, *asked, "--methods", method, "--width", "8", *more)
                judged(tally, f"tables: {kind}", how, (*fit, "--out", here / kind), here)
                if (here / kind / "model.gradfeat").exists():
                    out = here / f"{kind}.csv"
                    words = ("predict", here / kind, path, "--out", out)
                    judged(tally, "tables: predict", how, words, here, _finite(out))
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
    with _pages(False):
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


def _experiment(home: Path) -> tuple[Path, Path]:
    """A file of an experiment with an array, and its store."""
    file, store = home / "grows.py", home / "good.sqlite"
    file.write_text(GROWS.replace('{"value"', '{"a": __import__("numpy").arange(3.0), "value"'))
    for scale in ("paper", "quick"):
        attempt("run", file, "--no-figure", "--store", store, "--scale", scale)
    return file, store


def stores(tally: Tally, seeds: range, home: Path) -> None:
    """Stores that SQLite reads, with other contents, through all that reads them."""
    file, good = _experiment(home)
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
        with _pages(False):
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
    file, store = _experiment(kept)
    table = written(quantity(60), kept)
    fit = [str(table), "--target", "y", "--time", "1"]
    model, where = kept / "model" / "model.gradfeat", ["--store", str(store)]
    with _pages(False):
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


def kills(tally: Tally, seeds: range, home: Path) -> None:
    """Commands killed at any moment: what was there is old or new, and the same command goes on."""
    file, store = _experiment(home)
    table = written(quantity(3000), home)
    fit = ("fit", table, "--target", "y", "--methods", "linear", "--time", "20", "--stream")
    right, out = home / "right", home / "out"
    with _pages(False):
        attempt(*fit, "--out", right)
        shutil.copytree(right, out)
        old = b"old"
        work: dict[str, tuple[tuple[object, ...], Path]] = {
            "fit": ((*fit, "--out", out, "--checkpoint", home / "c"), out / "model.gradfeat"),
            "predict": (("predict", right, table, "--out", home / "p.csv"), home / "p.csv"),
            "export": (("export", file, "--to", home / "e.csv", "--store", store), home / "e.csv"),
            "run": (("run", file, "--no-figure", "--store", home / "k.sqlite"), home / "k.sqlite"),
        }
        expected = {name: _finished(*work[name], table) for name in work}
        for seed in seeds:
            draw = Random(seed)
            name = draw.choice(sorted(work))
            words, place = work[name]
            if name in ("predict", "export"):
                place.write_bytes(old)
            if name == "run":
                for path in home.glob("k.sqlite*"):
                    path.unlink()
            in_child(*words, kill=draw.uniform(0.005, 0.7))
            between = place.read_bytes() if name in ("predict", "export") else old
            lost = between not in (old, expected[name])
            ran = attempt(*words)
            came = outcome(ran)
            same = came == RIGHT and _content(name, place, table) == expected[name]
            came = LOST if lost else came if same or came != RIGHT else WRONG
            tally.add(f"kills: {name}", came, f"seed {seed}: {ran.err[-300:]}")


def _finished(words: tuple[object, ...], place: Path, table: Path) -> bytes:
    attempt(*words)
    return _content(str(words[0]), place, table)


def _content(name: str, place: Path, table: Path) -> bytes:
    """What a command made, without the times at which it did."""
    if name == "run":
        with Store.open(place, readonly=True) as store:
            return store.table("grows", arrays=True).to_json().encode()
    if name == "fit":
        out = place.with_name("check.csv")
        attempt("predict", place, table, "--out", out)
        return out.read_bytes()
    return place.read_bytes()


@contextlib.contextmanager
def _full_disk(folder: Path, size: str = "96k") -> Iterator[bool]:
    """A small file system on a folder, where mounting is allowed."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        done = False
    try:
        yield done
    finally:
        if done:
            subprocess.run(["umount", str(folder)], check=False)


def limits(tally: Tally, seeds: range, home: Path) -> None:
    """Too little disk and memory, in a child: a sentence, and earlier files as they were."""
    file, store = _experiment(home)
    table = written(quantity(2000), home)
    out, small = home / "out", home / "small"
    small.mkdir()
    fit = ("fit", table, "--target", "y", "--methods", "rfm", "--time", "2", "--out", out)
    with _pages(False):
        attempt(*fit)
        attempt("predict", out, table, "--out", out / "p.csv")
        work = (
            fit,
            ("predict", out, table, "--out", out / "p.csv"),
            ("export", file, "--to", out / "e.json", "--store", store),
            ("run", file, "--no-figure", "--store", out / "s.sqlite"),
        )
        for seed in seeds:
            draw = Random(seed)
            words = work[seed % len(work)]
            first: Callable[[], None] = (
                short_of_disk(draw.choice((4096, 6000, 20_000)))
                if (seed // len(work)) % 2
                else short_of_memory(draw.choice((1, 8, 30, 100)) * 2**20)
            )
            _limited(
                tally,
                f"limits: {'disk' if (seed // len(work)) % 2 else 'memory'}",
                seed,
                words,
                out,
                first,
            )
        with _full_disk(small) as mounted:
            for seed, command in enumerate(work if mounted else ()):
                where = [Path(str(w).replace(str(out), str(small))) if w == command[-1] else w
                         for w in command]  # fmt: skip
                (small / "kept").write_bytes(b"kept")
                with contextlib.suppress(OSError):
                    (small / "filler").write_bytes(bytes(80 * 1024))
                _limited(tally, "limits: full file system", seed, tuple(where), small, lambda: None)


def _limited(
    tally: Tally,
    kind: str,
    seed: int,
    words: tuple[object, ...],
    kept: Path,
    first: Callable[[], None],
) -> None:
    before = tree(kept)
    ran = in_child(*words, first=first)
    came, after = outcome(ran), tree(kept)
    lost = [n for n in before if "sqlite" not in n and after.get(n) != before[n]]
    came = LOST if lost and came != RIGHT else came
    tally.add(kind, came, f"seed {seed}: {words} {lost} {ran.err[-400:]}")


PARTS: dict[str, Callable[[Tally, range, Path], None]] = {
    "tables": tables,
    "models": models,
    "stores": stores,
    "checkpoints": checkpoints,
    "options": options,
    "kills": kills,
    "limits": limits,
}


def campaign(part: str, times: float = 1.0, seed: int = 0) -> Tally:
    """One part, in a folder of its own."""
    os.environ["MPLBACKEND"] = "Agg"
    tally, n = Tally(), max(1, round(TRIES[part] * times))
    with tempfile.TemporaryDirectory(prefix="gradfeat-hostile-") as home, contextlib.chdir(home):
        PARTS[part](tally, range(seed, seed + n), Path(home))
    return tally


def main() -> int:
    """Run the parts asked for, print the table and the faults; 1 where there are any."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--only", choices=PARTS, action="append")
    words.add_argument("--times", type=float, default=1.0)
    words.add_argument("--seed", type=int, default=0)
    asked, whole = words.parse_args(), Tally()
    for part in asked.only or PARTS:
        found = campaign(part, asked.times, asked.seed)
        whole.counts.update(found.counts)
        whole.faults += found.faults
    print(f"seeds from {asked.seed}, times {asked.times}\n{whole.table()}")  # noqa: T201
    for fault in whole.faults:
        print(repr(fault))  # noqa: T201
    return bool(whole.faults)


if __name__ == "__main__":
    sys.exit(main())
