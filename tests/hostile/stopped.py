"""Commands that are stopped, or kept short of disk and memory: what was there is old or new."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from cli.tables import quantity, written
from gradfeat.lab import Store
from hostile.apart import in_child, short_of_disk, short_of_memory
from hostile.attempt import LOST, RIGHT, WRONG, Tally, attempt, outcome, tree
from hostile.prepared import experiment, pages


def kills(tally: Tally, seeds: range, home: Path) -> None:
    """Commands killed at any moment: what was there is old or new, and the same command goes on."""
    file, store = experiment(home)
    table = written(quantity(3000), home)
    fit = ("fit", table, "--target", "y", "--methods", "linear", "--time", "20", "--stream")
    right, out = home / "right", home / "out"
    with pages(False):
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
    ran = attempt(*words)
    if ran.code:
        raise RuntimeError(f"{words[0]} does not work: {ran.err}")
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
    file, store = experiment(home)
    table = written(quantity(5000), home)
    out, small = home / "out", home / "small"
    small.mkdir()
    method = ("--methods", "gradient-features", "--stream")
    fit = ("fit", table, "--target", "y", *method, "--time", "2", "--out", out)
    with pages(False):
        in_child(*fit)  # what this process has freed a child could use
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
                else short_of_memory(draw.choice((1, 30, 75, 90, 120, 160)) * 2**20)
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
