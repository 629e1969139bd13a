"""Fits to rows that stream: sources, engines, estimators."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import samples
from fits import Note, make, note_all, note_fit, said
from trees import named

#: Rows of a piece: five pieces, the last one short.
PIECE = 113

#: Estimators that take rows, with what is given.
STREAMED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("LinearRegressor", {}),
    ("LinearRegressor", {"alpha": 2.0}),
    ("LinearRegressor", {"penalty_by": "gcv", "standardise": False}),
    ("LinearClassifier", {"penalty_by": "gcv"}),
    ("RandomFeaturesRegressor", {"width": 64, "alpha": 1.0}),
    ("RandomFeaturesRegressor", {"width": 64, "penalty_by": "gcv"}),
    ("RandomFeaturesRegressor", {"width": 64, "penalty_by": "validation"}),
    ("RandomFeaturesClassifier", {"width": 64}),
    ("GradientFeatureRegressor", {"width": 64, "alpha": 1.0, "whiten": True, "search": None}),
    ("GradientFeatureRegressor", {"width": 64, "penalty_by": "gcv", "search": None}),
    ("GradientFeatureRegressor", {"width": 64, "penalty_by": "loo"}),
    ("GradientFeatureRegressor", {"width": 64, "n_steps": 3, "whiten": False, "search": None}),
    ("GradientFeatureRegressor", {"width": 64, "n_steps": None, "penalty_by": "gcv"}),
    (
        "GradientFeatureRegressor",
        {"width": 64, "n_steps": 2, "update": "gradient", "search": None},
    ),
    ("GradientFeatureClassifier", {"width": 64, "penalty_by": "gcv"}),
    ("KernelRegressor", {"search": None}),
    ("KernelRegressor", {"kernel": None}),
    ("KernelClassifier", {}),
    ("RFMRegressor", {"kernel": "laplace", "n_iter": 2, "search": None}),
    ("RFMRegressor", {}),
    ("RFMClassifier", {}),
)


def frame_of(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> pd.DataFrame:
    """Inputs a, b, ..., target y, weight w."""
    inputs = {chr(97 + j): X[:, j] for j in range(X.shape[1])}
    return pd.DataFrame({**inputs, "y": y, "w": w})


def coefficients(model: Any) -> np.ndarray:
    """All tensors of a fitted predictor, one after the other by name.

    Thresholds of trees may be the largest float, of which no two can be added.
    """
    found = model.predictor_.tensors()
    every = np.concatenate([found[name].double().numpy().ravel() for name in sorted(found)])
    return np.clip(every, -1e300, 1e300)


def estimators(note: Note, folder: Path) -> None:
    """Every estimator that streams, on arrays in five pieces."""
    del folder
    data = samples.made(500)
    from_arrays, InProcess = named("from_arrays", "rows"), named("InProcess", "rows")
    classes = pd.qcut(data.y, 3, labels=False)
    frame = frame_of(data.X, data.y, data.w).assign(y=classes)
    for kind, given in STREAMED:
        if "Classifier" in kind:
            rows = named("from_frames", "rows")(frame, "y", weight="w", piece_rows=PIECE)
        else:
            rows = from_arrays(data.X, data.y, data.w, piece_rows=PIECE)
        model = make(kind, **given).fit(rows.on(InProcess()))
        name = f"{kind} {json.dumps(given)}"
        new = pd.DataFrame(data.new, columns=list("abcdef")) if "Classifier" in kind else data.new
        note_all(note, name, model, new)
        note(f"{name}/coefficients", coefficients(model), "1e-6")
    two = np.stack([data.y, np.abs(data.y)], axis=1)
    rows = from_arrays(data.X, two, piece_rows=PIECE)
    for kind in ("LinearRegressor", "GradientFeatureRegressor", "KernelRegressor", "RFMRegressor"):
        note_fit(note, f"{kind} two outputs", make(kind, search=None).fit(rows), data.new)
    model = make("LinearRegressor").fit(rows)
    for key, value in sorted(vars(model.score_rows(rows)).items()):
        note(f"score_rows/{key}", value, "1e-9")
    many = from_arrays(data.X, data.y, piece_rows=PIECE)
    head = make("GradientFeatureRegressor", width=32).fit(many)
    head = head.refit_head(data.X[:90], np.abs(data.y[:90]))
    note("refit_head after rows", head.predict(data.new), "1e-9")


def _sources(data: samples.Data, folder: Path) -> Iterator[tuple[str, Any]]:
    """The same rows from everything that they can come from."""
    frame, call = frame_of(data.X, data.y, data.w), lambda name: named(name, "rows")
    yield "arrays", call("from_arrays")(data.X, data.y, data.w, piece_rows=PIECE)
    frame.to_parquet(folder / "rows.parquet", index=False, row_group_size=PIECE)
    yield "parquet", call("from_parquet")(folder / "rows.parquet", "y", weight="w")
    frame.to_csv(folder / "rows.csv", index=False)
    yield "csv", call("from_csv")(folder / "rows.csv", "y", weight="w", piece_rows=PIECE)
    frame.to_csv(folder / "rows.csv.gz", index=False, sep=";")
    yield "csv.gz", call("from_csv")(folder / "rows.csv.gz", "y", weight="w", piece_rows=PIECE)
    yield "frames", call("from_frames")(frame, "y", weight="w", piece_rows=PIECE)
    for name, array in (("X", data.X), ("y", data.y), ("w", data.w)):
        np.save(folder / f"{name}.npy", array)
    paths = [folder / f"{name}.npy" for name in "Xyw"]
    yield "npy", call("from_npy")(*paths, piece_rows=PIECE)
    parts = [frame.iloc[i : i + PIECE] for i in range(0, len(frame), PIECE)]
    yield "iterator", call("from_iterator")(lambda: iter(parts), target="y", weight="w")
    import dask.dataframe as dd

    yield "dask", call("from_dask")(dd.from_pandas(frame, npartitions=5), target="y", weight="w")


def sources(note: Note, folder: Path) -> None:
    """Every kind of source: two fits, and whether the bits are those of arrays."""
    data = samples.made(500)
    for kind, given in (
        ("LinearRegressor", {"alpha": 1.0}),
        (
            "GradientFeatureRegressor",
            {"width": 64, "penalty_by": "gcv", "whiten": True, "search": None},
        ),
    ):
        for name, rows in _sources(data, folder):
            model = make(kind, **given).fit(rows.on(named("InProcess", "rows")()))
            new = data.new
            if name not in ("arrays", "npy"):
                new = pd.DataFrame(data.new, columns=list("abcdef"))
            note(f"{kind} {name}/predictions", model.predict(new), "1e-9")
            note(f"{kind} {name}/coefficients", coefficients(model), "1e-6")


def _engines(stack: ExitStack) -> Iterator[tuple[str, Any]]:
    yield "in process", named("InProcess", "rows")()
    yield "threads", named("Threads", "rows")(2)
    yield "pool", stack.enter_context(named("Pool", "rows")(2))
    client = stack.enter_context(named("local_cluster", "dask_client")(2))
    yield "dask", named("DaskEngine", "rows")(client)


def engines(note: Note, folder: Path) -> None:
    """Threads, processes and Dask give the bits of one process; an interrupted pass does too."""
    data = samples.made(500)
    frame = frame_of(data.X, data.y, data.w)
    frame.to_parquet(folder / "engines.parquet", index=False, row_group_size=PIECE)
    rows = named("from_parquet", "rows")(folder / "engines.parquet", "y", weight="w")
    new = pd.DataFrame(data.new, columns=list("abcdef"))
    chosen = [
        make("LinearRegressor", alpha=1.0),
        make("GradientFeatureRegressor", width=64, penalty_by="gcv", search=None),
        make("KernelRegressor", search=None),
        make("RFMRegressor", kernel="laplace", n_iter=1, search=None),
    ]
    first: dict[str, np.ndarray] = {}
    with ExitStack() as stack:
        for engine_name, engine in _engines(stack):
            for model in chosen:
                kind = type(model).__name__
                now = said(model.fit(rows.on(engine)), new)
                kept = first.setdefault(kind, now)
                note(f"{kind} {engine_name}/predictions", now, "1e-9")
                note(f"{kind} {engine_name}/bits of one process", bool(np.array_equal(kept, now)))
    kept = named("Checkpoint", "rows")(folder / "kept")
    threads = named("Threads", "rows")(1, checkpoint=kept)
    for run in ("first", "again"):
        model = chosen[1].fit(rows.on(threads))
        same = np.array_equal(model.predict(new), first["GradientFeatureRegressor"])
        note(f"checkpoint {run}/bits of one process", bool(same))
