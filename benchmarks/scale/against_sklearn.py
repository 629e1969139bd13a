"""Gradient features in passes against scikit-learn's road for files larger than memory.

    python benchmarks/scale/data.py rows5 --rows 100000
    python benchmarks/scale/data.py rows6 --rows 1000000
    OMP_NUM_THREADS=1 python benchmarks/scale/against_sklearn.py rows6 --tune rows5

scikit-learn: StandardScaler and SGDRegressor by partial_fit, batch by batch of the same Parquet
folder, on 1,024 random Fourier features (RBFSampler) or on all products of two
columns (PolynomialFeatures); one pass for the scaler, then one or three for the regressor. Its
step size (and gamma) are the best by test error on the smaller folder, which favours it. One
thread each. Test error on 100,000 new rows whose law is that of the folder: R2 is at most .8
because of the noise, and "unexplained" is the share of E[y|x] missed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import data
import numpy as np
import pyarrow.dataset as ds
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from gradfeat import GradientFeatureRegressor, LinearRegressor, RandomFeaturesRegressor
from gradfeat.rows import Threads, from_parquet

WIDTH, TEST_ROWS = 1024, 100_000
STEPS = (1e-4, 1e-3, 1e-2)


def batches(folder: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Inputs and targets of the folder, 65,536 rows at a time."""
    for batch in ds.dataset(folder, format="parquet").to_batches(batch_size=65_536):
        frame = batch.to_pandas()
        y = frame.pop("y").to_numpy(np.float64)
        yield frame.to_numpy(np.float64), y


def sgd(folder: Path, features: Any, step: float, epochs: int) -> tuple[Any, float]:
    """A pipeline fitted in passes, and the seconds it took."""
    start, scaler = time.perf_counter(), StandardScaler()
    for X, _ in batches(folder):
        scaler.partial_fit(X)
    last = StandardScaler()  # of the features, from the first batch: SGD needs one scale
    model = SGDRegressor(eta0=step, learning_rate="invscaling", alpha=1e-6, random_state=0)
    begun = False
    for _ in range(epochs):
        for X, y in batches(folder):
            Z = scaler.transform(X)
            F = features.transform(Z) if begun else features.fit_transform(Z)
            F = last.transform(F) if begun else last.fit_transform(F)
            begun = True
            model.partial_fit(F, y)
    took = time.perf_counter() - start
    return make_pipeline(scaler, features, last, model), took


def ours(folder: Path, model: Any) -> tuple[Any, float]:
    """An estimator of gradfeat fitted to the folder, and the seconds it took."""
    start = time.perf_counter()
    model.fit(from_parquet(str(folder), "y").on(Threads(1)))
    return model, time.perf_counter() - start


def main() -> None:
    """Every road, as JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--tune", type=Path, required=True)
    args = parser.parse_args()
    X, y = data.rows(-1, TEST_ROWS, args.columns)
    truth = data.target(X.astype(np.float64), data.directions(args.columns))

    def score(model: Any, seconds: float) -> float:
        del seconds
        return -float(((y[:20_000] - model.predict(X[:20_000].astype(float))) ** 2).mean())

    def tell(name: str, model: Any, seconds: float) -> None:
        said = np.concatenate([model.predict(x) for x in np.array_split(X.astype(np.float64), 10)])
        r2 = 1 - float(((y - said) ** 2).mean() / y.var())
        error = float(((truth - said) ** 2).mean() / truth.var())
        line = {
            "method": name,
            "seconds": round(seconds, 1),
            "test_r2": round(r2, 4),
            "unexplained": round(error, 4),
        }
        print(json.dumps(line), flush=True)

    common = {"penalty_by": "gcv", "search": None}
    tell("gradfeat linear", *ours(args.folder, LinearRegressor(**common)))
    tell(
        "gradfeat random features",
        *ours(args.folder, RandomFeaturesRegressor(width=WIDTH, **common)),
    )
    net = GradientFeatureRegressor(width=WIDTH, whiten=True, **common)
    tell("gradfeat gradient features", *ours(args.folder, net))
    for name, makes in roads(args.columns).items():
        tried = [(make, step) for make in makes for step in STEPS]
        best = max(tried, key=lambda one: score(*sgd(args.tune, one[0](), one[1], 1)))
        for epochs in (1, 3):
            label = f"{name}, {best[0]()}, step {best[1]:g}, {epochs} epochs"
            tell(label, *sgd(args.folder, best[0](), best[1], epochs))


def roads(columns: int) -> dict[str, list[Callable[[], Any]]]:
    """Feature maps of scikit-learn, with what is to be chosen."""

    def fourier(gamma: float) -> Callable[[], Any]:
        return lambda: RBFSampler(gamma=gamma / columns, n_components=WIDTH, random_state=0)

    return {
        "SGD on random Fourier features": [fourier(g) for g in (0.01, 0.03, 0.1, 0.3)],
        "SGD on products of two columns": [lambda: PolynomialFeatures(2, include_bias=False)],
    }


if __name__ == "__main__":
    main()
