"""Kill a sweep again and again at random moments: is anything lost, or computed twice?

    python benchmarks/kill_resume.py --kills 30 [--jobs 2]

A sweep runs in a process of its own and gets SIGKILL at a random moment; the next one resumes on
the same store. A side log holds what was computed, and what was reported finished. Exits with 1
where a result that was reported is lost, a saved cell is computed again, or the final table differs
from that of an undisturbed run.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from gradfeat.lab import Experiment, Progress, Store, run

LOG = "GRADFEAT_KILL_RESUME_LOG"


def note(words: str) -> None:
    """Append one line in one write; nothing is buffered when the process is killed."""
    descriptor = os.open(os.environ[LOG], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, f"{words}\n".encode())
    os.close(descriptor)


def trial(n: int, *, seed: int) -> dict[str, float | np.ndarray]:
    """Some numbers and an array, after a few milliseconds."""
    note(f"computed {n} {seed}")
    time.sleep(0.004)
    rng = np.random.default_rng([n, seed])
    return {"value": rng.standard_normal(), "array": rng.standard_normal(50)}


def experiment(cells: int) -> Experiment:
    """Ten seeds of cells / 10 settings."""
    return Experiment("kills", "?", trial, {"quick": {"n": range(cells // 10)}}, seeds=10)


def sweep(store: Path, cells: int, jobs: int) -> None:
    """Run what is left; say how much is finished after each commit."""

    def report(progress: Progress) -> None:
        note(f"reported {progress.done}")

    run(experiment(cells), store=store, jobs=jobs, progress=report)


def read_log(path: Path, kind: str) -> list[tuple[int, ...]]:
    """Return the numbers of the lines of one kind."""
    lines = [line.split() for line in path.read_text().splitlines()]
    return [tuple(map(int, line[1:])) for line in lines if line[0] == kind]


def kill_once(store: Path, log: Path, cells: int, jobs: int, rng: random.Random) -> bool:
    """Start a sweep and kill it; whether it was alive until then."""
    log.write_text("")
    context = multiprocessing.get_context("spawn" if jobs > 1 else "fork")
    process = context.Process(target=sweep, args=(store, cells, jobs))
    process.start()
    if rng.random() < 0.7:  # after its first commit; else at any moment of its start
        while process.is_alive() and len(read_log(log, "reported")) < 2:
            time.sleep(0.001)
    time.sleep(rng.uniform(0, 0.2))
    alive = process.is_alive()
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    return alive


def saved(store: Path) -> set[tuple[int, ...]]:
    """Return the (n, seed) that a store holds."""
    if not store.exists() or not store.stat().st_size:
        return set()
    with Store.open(store) as opened:
        table = opened.table("kills")
    return {(int(n), int(seed)) for n, seed in zip(table.get("n", ()), table["seed"], strict=True)}


def main() -> int:
    """Kill, resume, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--cells", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    rng, computed = random.Random(chosen.seed), Counter[tuple[int, ...]]()
    kills = lost = again = 0
    with tempfile.TemporaryDirectory() as folder:
        store, log = Path(folder) / "store.db", Path(folder) / "log"
        os.environ[LOG] = str(log)
        before: set[tuple[int, ...]] = set()
        for _ in range(chosen.kills):
            kills += kill_once(store, log, chosen.cells, chosen.jobs, rng)
            now = saved(store)
            reported = max((done for (done,) in read_log(log, "reported")), default=0)
            lost += len(before - now) + max(0, reported - len(now))
            again += sum(key in before for key in read_log(log, "computed"))
            computed.update(read_log(log, "computed"))
            before = now
        log.write_text("")
        final = run(experiment(chosen.cells), store=store, arrays=True)
        again += sum(key in before for key in read_log(log, "computed"))
        computed.update(read_log(log, "computed"))
        undisturbed = run(experiment(chosen.cells), arrays=True)
        left = sorted(path.name for path in Path(folder).iterdir())
    equal = final.drop(columns="array").equals(undisturbed.drop(columns="array")) and all(
        np.array_equal(a, b) for a, b in zip(final["array"], undisturbed["array"], strict=True)
    )
    redone = sum(count - 1 for count in computed.values())
    print(f"kills of a live sweep             {kills} of {chosen.kills}, {chosen.jobs} job(s)")
    print(f"cells, saved when last killed     {len(undisturbed)}, {len(before)}")
    print(f"reported or saved, then lost      {lost}")
    print(f"computed again after being saved  {again}")
    print(f"unsaved work done again           {redone} cells")
    print(f"final table as undisturbed        {'yes' if equal else 'NO'}")
    print(f"files left                        {', '.join(left)}")
    return 0 if equal and not lost and not again else 1


if __name__ == "__main__":
    sys.exit(main())
