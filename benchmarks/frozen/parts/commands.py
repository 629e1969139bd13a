"""What `gradfeat` writes: fits in memory and in passes, predictions, diagnosis, theory, plans."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import samples
from fits import Note

#: Seconds that no search of these tables reaches.
LONG = 100_000


def gradfeat(folder: Path, *words: object) -> str:
    """Run the command in this process, in `folder`; what it printed.

    Raises
    ------
    RuntimeError
        Where it did not end with 0.
    """
    from gradfeat.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    before = sys.argv, signal.getsignal(signal.SIGINT)
    sys.argv = ["gradfeat", *map(str, words)]
    code: object = 0
    with contextlib.chdir(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as done:
            code = done.code
        finally:
            sys.argv = before[0]
            signal.signal(signal.SIGINT, before[1])
    said, told = (stream.buffer.getvalue().decode() for stream in (out, err))
    if code:
        raise RuntimeError(f"{words[0]} ended with {code}: {told[-400:]}")
    return said


def note_results(note: Note, name: str, out: Path) -> None:
    """The numbers of a results.json, without times."""
    found = json.loads((out / "results.json").read_text())
    for method in found["methods"]:
        ends = [[s["estimate"], s["low"], s["high"]] for s in method["scores"].values()]
        label = f"{name}/{method['name']}"
        note(f"{label}/scores", ends, "1e-9")
        note(f"{label}/settings", json.dumps(method["settings"], sort_keys=True))
        note(f"{label}/rows and error", f"{method['rows_used']} {method['error']}")
    note(f"{name}/rows", [found[k] for k in ("n_rows", "n_train", "n_test")])
    kept = ("name", "kind", "distinct", "missing")
    note(f"{name}/columns", [str([column[k] for k in kept]) for column in found["columns"]])
    note(f"{name}/best", found["best"])
    if found["verdict"]:
        note(f"{name}/verdict", [found["verdict"][k] for k in ("answer", "learned", "fixed")])
        ends = [found["verdict"]["difference"][k] for k in ("estimate", "low", "high")]
        note(f"{name}/difference", ends, "1e-9")
    _note_directions(note, name, found)


def _note_directions(note: Note, name: str, found: dict[str, Any]) -> None:
    if read := found["directions"]:
        note(f"{name}/importances", read["importances"], "1e-9")
        note(f"{name}/eigenvalues", read["eigenvalues"], "1e-9")
        note(f"{name}/folded", np.abs(read.get("folded", [])), "1e-6")
    if step := found["first_step"]:
        note(f"{name}/first step, masses", [m["estimate"] for m in step["mass"]], "1e-9")
        note(f"{name}/first step, directions", step["folded"], "1e-6")
        note(f"{name}/first step, shares", [step["unexplained"], step["short"]], "1e-9")


def note_predictions(note: Note, name: str, path: Path) -> None:
    """A file that `gradfeat predict` wrote."""
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    for column in frame:
        values = frame[column]
        value = values.to_numpy() if values.dtype.kind in "iuf" else values.astype(str).tolist()
        note(f"{name}/{column}", value, "1e-9")


def _tables(folder: Path) -> dict[str, Path]:
    made = {"regression": samples.mixed(), "classification": samples.mixed_classes()}
    for task, frame in made.items():
        samples.written(frame, folder / f"{task}.csv")
    samples.written(samples.mixed(60, seed=9).drop(columns="y"), folder / "new.csv")
    return {task: folder / f"{task}.csv" for task in made}


def fit(note: Note, folder: Path) -> None:
    """All methods on a mixed table in memory, and predictions of the saved model."""
    for task, table in _tables(folder).items():
        _fit(note, folder, task, table, "--no-stream")
    early = ("--methods", "linear,rfm", "--time-column", "whole", "--ignore", "name,flag")
    _fit(note, folder, "ordered", folder / "regression.csv", "--no-stream", *early, "--seed", 5)


def fit_by_time(note: Note, folder: Path) -> None:
    """All methods where the rows held out are the last ones by a column, so told by the table."""
    for task, table in _tables(folder).items():
        _fit(note, folder, task, table, "--no-stream", "--time-column", "when")


def fit_stream(note: Note, folder: Path) -> None:
    """Methods that stream on the same tables: as CSV, in Parquet row groups, in processes."""
    methods = "linear,random-features,kernel,gradient-features,rfm"
    for task, table in _tables(folder).items():
        _fit(note, folder, task, table, "--stream", "--methods", methods)
    parts = folder / "parts"
    parts.mkdir()
    frame = pd.read_csv(folder / "regression.csv")
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_parquet(parts / f"{number}.parquet", row_group_size=50, index=False)
    few = ("--methods", "linear,gradient-features")
    _fit(note, folder, "parquet", parts, "--stream", *few)
    _fit(note, folder, "parquet, 2 processes", parts, "--jobs", 2, *few)


def _fit(note: Note, folder: Path, name: str, table: Path, *words: object) -> None:
    out = folder / f"out {name}"
    given = ("--target", "y", "--out", out, "--time", LONG, "--width", 128)
    gradfeat(folder, "fit", table, *given, *words)
    note_results(note, name, out)
    model = out / "model.gradfeat"
    if model.exists():
        gradfeat(folder, "predict", model, folder / "new.csv", "--out", folder / "said.csv")
        note_predictions(note, f"{name}/predict", folder / "said.csv")


def table(note: Note, folder: Path) -> None:
    """Diagnosis, another target on the same features, formats of tables."""
    tables = _tables(folder)
    for task, path in tables.items():
        gradfeat(folder, "diagnose", path, "--target", "y", "--out", folder / task)
        flat = flattened(json.loads((folder / task / "results.json").read_text()))
        for key, values in flat.items():
            note(f"diagnose {task}/{key}", values, "1e-9")
    words = ("--target", "y", "--methods", "gradient-features", "--time", LONG, "--width", 64)
    gradfeat(folder, "fit", tables["regression"], *words, "--out", folder / "out")
    model = folder / "out" / "model.gradfeat"
    other = samples.mixed(80, seed=4)
    other = other.assign(z=10 + 3 * other["a"].abs()).drop(columns="y")
    samples.written(other, folder / "other.csv")
    to = ("--target", "z", "--out", folder / "z.gradfeat")
    gradfeat(folder, "refit", model, folder / "other.csv", *to)
    said = folder / "refit.csv"
    gradfeat(folder, "predict", folder / "z.gradfeat", folder / "new.csv", "--out", said)
    note_predictions(note, "refit", said)
    _formats(note, folder, model)


def _formats(note: Note, folder: Path, model: Path) -> None:
    """The rows to predict in every format that is read; they say the same."""
    frame = pd.read_csv(folder / "new.csv")
    frame.to_csv(folder / "new.tsv", sep="\t", index=False)
    frame.to_csv(folder / "new.csv.gz", sep=";", index=False)
    frame.to_parquet(folder / "new.parquet", index=False)
    frame.to_json(folder / "new.jsonl", orient="records", lines=True)
    for kind in ("csv", "tsv", "csv.gz", "parquet", "jsonl"):
        out = folder / f"{kind}.parquet"
        gradfeat(folder, "predict", model, folder / f"new.{kind}", "--out", out)
        note_predictions(note, f"predict {kind}", out)


#: What differs from run to run, and words.
VOLATILE = (
    *("seconds", "version", "command", "sentence", "words", "data", "warnings", "notes"),
    *("treatment", "seed", "level"),
)


def flattened(found: Any, path: str = "") -> dict[str, Any]:
    """Numbers and short words of a JSON document by where they stand; lists of numbers as one.

    A list of objects gives the list of each of their values.
    """
    if any(word in path.rpartition(".")[2] for word in VOLATILE):
        return {}
    match found:
        case dict():
            parts = [flattened(v, f"{path}.{k}".strip(".")) for k, v in found.items()]
            return {k: v for part in parts for k, v in part.items()}
        case list() if found and all(isinstance(v, dict) for v in found):
            parts = [flattened(v, path) for v in found]
            return {k: _joined([part.get(k, np.nan) for part in parts]) for k in parts[0]}
        case list():
            return {path: [np.nan if v is None else v for v in np.ravel(found)]}
        case None:
            return {path: np.nan}
        case _:
            return {path: found}


def _joined(values: list[Any]) -> Any:
    """Values of several objects under one name."""
    try:
        return np.concatenate([np.ravel(np.asarray(value, dtype=float)) for value in values])
    except (TypeError, ValueError):
        return [str(value) for value in values]


NET = ("--activation", "centred_relu", "--teacher", "setting-2")
ASKED = {
    "talk": ("--phi", "1/2", "--psi", "2/3", *NET, "--alpha", "0.2,0.3"),
    "sizes": ("--rows", 900, "--inputs", 300, "--width", 500, *NET, "--eta", "1,3"),
    "same rows": ("--phi", ".5", "--psi", ".7", *NET, "--alpha", ".25", "--sample", "same"),
    "true residual": ("--phi", ".5", "--psi", ".7", *NET, "--alpha", ".25", "--residual", "y - f0"),
    "tanh, noise": (
        *("--phi", ".4", "--psi", ".9", "--activation", "tanh", "--teacher", "0,1,0.5"),
        *("--noise", ".3", "--penalty", ".05", "--alpha", ".1:.4:3"),
    ),
}
RATES = ("--no-calibration", "--rate", 20, "--network", 1200, "--read", 500, "--memory", 16)


def theory(note: Note, folder: Path) -> None:
    """predict-error, as JSON."""
    known = gradfeat(folder, "predict-error", "--help")
    reused = "reused" if "reused" in known else "same"  # as it was called in the frozen tree
    for name, words in ASKED.items():
        said = [reused if word == "same" else word for word in words]
        found = json.loads(gradfeat(folder, "predict-error", *said, "--format", "json"))
        for key, values in flattened(found).items():
            note(f"predict-error {name}/{key}", values, "1e-9")


def plan(note: Note, folder: Path) -> None:
    """What a fit by passes costs, at given rates: one entry a quantity, over its passes."""
    size = ("--rows", "1e9", "--columns", 200, "--width", 2048, "--workers", 64)
    for method in ("gradient-features", "random-features", "linear", "rfm", "kernel"):
        words = (*size, *RATES, "--method", method, "--format", "json")
        passes = json.loads(gradfeat(folder, "plan", *words))["passes"]
        note(f"{method}/pass", [one["pass"] for one in passes])
        for key, value in passes[0].items():
            if isinstance(value, int | float):
                note(f"{method}/{key}", [float(one[key]) for one in passes], "1e-9")
