"""How long the road is: files and functions of ours that a call goes through, and how deep.

    python tools/journeys.py                  # all four journeys, beside their targets
    python tools/journeys.py rfm --list       # one of them, its files in the order of first call
    python tools/journeys.py rfm --deepest    # and the calls that stand on the stack at its deepest

Counted are calls of functions under `src/gradfeat`, in every thread; not what a module or a class
body runs when it is imported. Comprehensions have frames of their own before Python 3.12, and count
there. Each journey has a process of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
HOUSE: Final = f"{ROOT / 'src' / 'gradfeat'}{os.sep}"

#: Set in the code of a function; not in that of a module or of a class body.
OPTIMIZED: Final = 0x1

#: The experiment that is run, and the functions in which its science begins.
EXPERIMENT: Final = "moniri24-errors"
SCIENCE: Final = ("batch", "trial")


@dataclass
class Road:
    """What was called: our functions in order of first call, and our deepest stack."""

    functions: dict[CodeType, None] = field(default_factory=dict)
    ours: dict[CodeType, bool] = field(default_factory=dict)
    deepest: list[str] = field(default_factory=list)
    before_science: list[str] | None = None
    _depth: dict[int, int] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """The profiler: called at every call of a Python function."""
        if event == "call" and self._is_ours(frame.f_code):
            code = frame.f_code
            known = code in self.functions
            stack = self._stack(frame)
            if stack is None:
                return
            self.functions.setdefault(code)
            if len(stack) > len(self.deepest):
                self.deepest = [_name(one) for one in reversed(stack)]
            if not known and self.before_science is None and _is_science(code):
                self.before_science = [_name(one) for one in reversed(stack[1:])]

    def _is_ours(self, code: CodeType) -> bool:
        if code not in self.ours:
            named = code.co_filename.startswith(HOUSE)
            self.ours[code] = named and bool(code.co_flags & OPTIMIZED)
        return self.ours[code]

    def _stack(self, frame: FrameType | None) -> list[CodeType] | None:
        """Our running functions, the last called first; None while a module is imported."""
        stack = []
        while frame is not None:
            code = frame.f_code
            if self._is_ours(code):
                stack.append(code)
            elif code.co_filename.startswith(HOUSE):
                return None
            frame = frame.f_back
        return stack

    def figures(self) -> dict[str, Any]:
        """All that is printed, as plain values."""
        return {
            "files": list(dict.fromkeys(_file(code) for code in self.functions)),
            "functions": len(self.functions),
            "deepest": self.deepest,
            "before": self.before_science,
        }


def _file(code: CodeType) -> str:
    return code.co_filename.removeprefix(HOUSE)


def _name(code: CodeType) -> str:
    return f"{_file(code)}: {code.co_qualname}"


def _is_science(code: CodeType) -> bool:
    return code.co_name in SCIENCE and f"catalogue{os.sep}" in _file(code)


def _traced(run: Callable[[], Any]) -> Road:
    """The road of one call, in this thread and those that it starts."""
    road = Road()
    threading.setprofile(road)
    sys.setprofile(road)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return road


def _table(n: int, d: int) -> tuple[Any, Any]:
    import numpy as np

    draw = np.random.default_rng(0)
    X = draw.standard_normal((n, d))
    return X, np.sin(X[:, 0] * X[:, 1]) + 0.1 * draw.standard_normal(n)


def rfm(_: Path) -> Road:
    """RFMRegressor().fit(X, y), 300 x 5"""
    import gradfeat

    X, y = _table(300, 5)
    return _traced(lambda: gradfeat.RFMRegressor().fit(X, y))


def _command(*words: str) -> Road:
    """A command of the command line, from its entry point on."""
    import gradfeat.cli as cli

    sys.argv = ["gradfeat", *words]

    def run() -> None:
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
            cli.main()

    def quietly() -> None:
        try:
            run()
        except SystemExit as end:
            if end.code:
                raise

    before = signal.getsignal(signal.SIGINT)
    try:
        return _traced(quietly)
    finally:
        signal.signal(signal.SIGINT, before)


def fit(folder: Path) -> Road:
    """gradfeat fit, four methods on a table in memory"""
    import numpy as np
    import pandas as pd

    X, y = _table(200, 3)
    frame = pd.DataFrame(X, columns=["one", "two", "three"])
    frame["kind"] = np.where(X[:, 2] > 0, "red", "blue")
    frame.assign(target=y).to_csv(folder / "table.csv", index=False)
    methods = "linear,random-features,gradient-features,rfm"
    return _command(
        "fit", str(folder / "table.csv"), "--target", "target", "--methods", methods,
        "--out", str(folder / "out"), "--time", "4", "--width", "64",
    )  # fmt: skip


def lab(folder: Path) -> Road:
    """one cell of gradfeat run moniri24-errors"""
    cell = "alpha=0.1", "setting=2", "n=120", "residual=y", "sample=fresh", "lam=0.01"
    settings = [word for one in cell for word in ("--set", one)]
    return _command(
        "run", EXPERIMENT, "--seeds", "1", *settings, "--store", str(folder / "store.sqlite"),
        "--figures", str(folder / "figures"),
    )  # fmt: skip


def dask(folder: Path) -> Road:
    """a Parquet file through gradient features on Dask"""
    import distributed
    import pandas as pd

    from gradfeat.models.gradient_step import GradientStep
    from gradfeat.rows import DaskEngine, from_parquet

    X, y = _table(400, 5)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(5)])
    frame.assign(y=y).to_parquet(folder / "rows.parquet")

    def run() -> None:
        with distributed.Client(
            processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None,
            set_as_default=False,
        ) as client:  # fmt: skip
            rows = from_parquet(str(folder / "rows.parquet"), target="y").on(DaskEngine(client))
            GradientStep(width=32).fit(rows)

    return _traced(run)


@dataclass(frozen=True)
class Journey:
    """A call that is traced, and how long its road may be."""

    trace: Callable[[Path], Road]
    files: int | None = None
    depth: int | None = None
    before: int | None = None


JOURNEYS: Final = {
    "rfm": Journey(rfm, files=45, depth=16),
    "fit": Journey(fit, files=90, depth=20),
    "lab": Journey(lab, before=8),
    "dask": Journey(dask, files=40, depth=16),
}


def _measured(name: str) -> dict[str, Any]:
    """The figures of a journey, traced in a process of its own."""
    words = [sys.executable, __file__, "--trace", name]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"the journey {name} failed: see above.")
    return json.loads(done.stdout.splitlines()[-1])


def _trace(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        road = JOURNEYS[name].trace(Path(folder))
    print(json.dumps(road.figures()))


def _against(value: int, most: int | None) -> str:
    if most is None:
        return f"{value:>4}{'':<7}"
    return f"{value:>4} / {most:<3}{'!' if value > most else ' '}"


def _show(name: str, *, files: bool, deepest: bool) -> None:
    journey, found = JOURNEYS[name], _measured(name)
    line = (
        f"{name:<5}{journey.trace.__doc__:<53}{_against(len(found['files']), journey.files)}"
        f"{found['functions']:>10}  {_against(len(found['deepest']), journey.depth)}"
    )
    if journey.before is not None:
        line += f"  {_against(len(found['before']), journey.before)}"
    print(line, flush=True)
    before = [] if found["before"] is None else ["  -- science --"]
    for shown, lines in ((files, found["files"]), (deepest, found["deepest"]),
                         (deepest, before + (found["before"] or []))):  # fmt: skip
        if shown and lines:
            print(*(f"     {one}" for one in lines), "", sep="\n")


def main() -> None:
    """Print a line a journey: files / target, functions, depth / target, calls before science."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(JOURNEYS)}")
    parser.add_argument("--list", action="store_true", help="files in the order of first call")
    parser.add_argument("--deepest", action="store_true", help="the deepest stack of our calls")
    parser.add_argument("--trace", choices=[*JOURNEYS], help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.trace:
        return _trace(asked.trace)
    if unknown := {*asked.names} - {*JOURNEYS}:
        parser.error(f"no journey {', '.join(sorted(unknown))}: there are {', '.join(JOURNEYS)}.")
    print(f"{'journey':<58}{'files':<12}{'functions':>8}  {'depth':<12}calls before science")
    for name in asked.names or JOURNEYS:
        _show(name, files=asked.list, deepest=asked.deepest)
    return None


if __name__ == "__main__":
    main()
