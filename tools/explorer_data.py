"""Compute what the explorer shows, into `docs/explorer/data.json`: `make explorer` (15 minutes).

Theory on a grid of settings by `gradfeat.theory`, one simulation of each size and activation,
neurons from stored runs, metrics of a recursive feature machine, diagnoses of three tables. Arrays
are numbers in the order of their axes, the last one fastest.

    python tools/explorer_data.py [--store FILE] [PART ...]
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from gradfeat.maths.activations import activation
from gradfeat.theory.finite_step_errors import finite_step_errors
from gradfeat.theory.one_step_spectrum import feature_spectrum
from gradfeat.theory.ridge_errors import random_feature_errors
from gradfeat.theory.teacher import Teacher

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "explorer" / "data.json"

#: Rows of the theory and of the simulation.
N_ROWS = 1_000
AXES: dict[str, list[Any]] = {
    "c1": [0.5, 1.0],
    "c2": [0.0, 0.5, 1.0],
    "c3": [0.0, 0.4],
    "activation": ["centred_relu", "tanh", "sine"],
    "phi": [0.1, 0.25, 0.5],
    "psi": [0.25, 0.5, 1.0],
    "lambda": [0.001, 0.01, 0.1],
    "alpha": [round(0.05 * k, 2) for k in range(10)],
}
#: Simulated: one target, at every size, activation and penalty.
SIMULATED = {"c1": 1.0, "c2": 0.5, "c3": 0.0}
SIMULATED_ALPHAS, SEEDS = [0.0, 0.1, 0.2, 0.3, 0.4], 3
#: Values beyond the edge that are kept, and bins of the simulated spectrum.
OUTLIERS, BINS = 3, 36
#: A value this many edges away has left the bulk, and steps of the page's alpha between the grid's.
BEYOND, BETWEEN = 1.001, 5
#: Standard errors in a 95 % interval of a mean of so few draws, by Student's t.
INTERVAL = float(stdtrit(SEEDS - 1, 0.975))


def sigma(name: str) -> Any:
    """The activation of a name; "sine" is sin z - cos z + e^(-1/2), which has mean 0."""
    return activation(name)


def cells(*axes: str) -> list[dict[str, Any]]:
    """Every combination of values of the axes, the last one fastest."""
    return [dict(zip(axes, v, strict=True)) for v in itertools.product(*(AXES[a] for a in axes))]


def teacher(cell: dict[str, Any]) -> Teacher:
    """y = c1 He_1 + c2 He_2 + c3 He_3."""
    return Teacher.single((0.0, cell["c1"], cell["c2"], cell["c3"]))


def errors_of(cell: dict[str, Any]) -> tuple[list[float], float]:
    """Test errors at each alpha, and of random features, over E y^2."""
    setting = (cell["phi"], cell["psi"], cell["lambda"], sigma(cell["activation"]), teacher(cell))
    power = float(teacher(cell).power)
    eta = N_ROWS ** np.array(AXES["alpha"])
    stepped = finite_step_errors(*setting, eta=eta, n=N_ROWS).test_error / power
    return stepped.tolist(), float(random_feature_errors(*setting, n=N_ROWS).test_error) / power


def errors() -> dict[str, Any]:
    """Theory of the test error."""
    found = [errors_of(cell) for cell in cells("c1", "c2", "c3", *SIZES, "lambda")]
    # nan, where a step is beyond the theory, is null
    stepped = [
        round(value, 4) if np.isfinite(value) else None for values, _ in found for value in values
    ]
    return {"stepped": stepped, "fixed": [round(value, 4) for _, value in found]}


SIZES = ("activation", "phi", "psi")


def spectrum_of(cell: dict[str, Any]) -> list[float]:
    """c_1^2 and c_>1^2 of the bulk after the step, its edge; outliers over the edge, or 0."""
    found = feature_spectrum(
        cell["phi"], cell["psi"], sigma(cell["activation"]), teacher(cell),
        eta=N_ROWS ** cell["alpha"], n=N_ROWS,
    )  # fmt: skip
    beyond = np.zeros(OUTLIERS)
    kept = found.outliers[:OUTLIERS]
    beyond[: len(kept)] = kept / found.edge
    moments = [float(found.limit.linear), float(found.limit.nonlinear)]
    return [*moments, found.edge, *beyond.tolist()]


def spectra() -> dict[str, Any]:
    """Theory of the spectrum: six numbers a cell, of `spectrum_of`; outliers at each alpha."""
    alphas, values, counts = AXES["alpha"], [], []
    for cell in cells("c1", "c2", "c3", *SIZES):
        found = [spectrum_of({**cell, "alpha": alpha}) for alpha in alphas]
        values += [float(f"{value:.4g}") for row in found for value in row]
        counts.append(outlier_counts(cell, [outliers(row) for row in found]))
    return {"values": values, "counts": counts}


def outliers(row: list[float]) -> int:
    """How many values have left the bulk, of the numbers of `spectrum_of`."""
    return sum(value > BEYOND for value in row[3:])


def outlier_counts(cell: dict[str, Any], at_grid: list[int]) -> str:
    """A digit for each alpha of the page, a fifth of the grid's step apart.

    Between neighbours of the grid that have as many outliers there are as many.
    """
    digits = []
    for alpha, now, after in zip(AXES["alpha"], at_grid, at_grid[1:], strict=False):
        digits.append(now)
        for k in range(1, BETWEEN):
            one = {**cell, "alpha": round(alpha + 0.05 * k / BETWEEN, 2)}
            digits.append(now if now == after else outliers(spectrum_of(one)))
    return "".join(map(str, [*digits, at_grid[-1]]))


def simulated(cell: dict[str, Any], alpha: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Singular values of F/sqrt(n) and test errors over E y^2 at each penalty, of one draw."""
    rng = np.random.default_rng([seed, int(100 * alpha)])
    n, d = N_ROWS, round(cell["phi"] * N_ROWS)
    width = round(d / cell["psi"])
    f, target = sigma(cell["activation"]), teacher(cell)
    W = rng.standard_normal((width, d))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    a = rng.standard_normal(width) / np.sqrt(width)
    draws = [rng.standard_normal((n, d)) for _ in range(3)]
    c = np.asarray(target.coefficients)
    y, y_head, y_test = (np.polynomial.hermite_e.hermeval(X[:, 0], c) for X in draws)
    X, X_head, X_test = draws
    G = a[:, None] * ((f.derivative_values(X @ W.T) * y[:, None]).T @ X) / n
    W = W + n**alpha * G
    F, tested = f.values(X_head @ W.T), f.values(X_test @ W.T)
    U, s, Vt = np.linalg.svd(F / np.sqrt(n), full_matrices=False)
    projected = (U.T @ y_head) / np.sqrt(n)
    made = [tested @ (Vt.T @ (s / (s**2 + lam) * projected)) for lam in AXES["lambda"]]
    loss = [np.mean((one - y_test) ** 2) for one in made]
    return s, np.array(loss) / float(target.power)


def simulations() -> dict[str, Any]:
    """Histograms of the singular values of one draw, and mean test errors with standard errors."""
    rows = []
    for cell in cells(*SIZES):
        for alpha in SIMULATED_ALPHAS:
            setting = {**SIMULATED, **cell, "alpha": alpha}
            drawn = [simulated(setting, alpha, seed) for seed in range(SEEDS)]
            loss = np.array([one for _, one in drawn])
            edge = spectrum_of(setting)[2]
            values = drawn[0][0] / edge
            counts, _ = np.histogram(values, bins=BINS, range=(0, 1.2))
            rows.append(
                {
                    "values": len(values),
                    "counts": counts.tolist(),
                    "beyond": [round(float(v), 3) for v in values[values > 1.05][:4]],
                    "test": [round(float(v), 4) for v in loss.mean(0)],
                    "error": [round(float(v), 4) for v in loss.std(0, ddof=1) / SEEDS**0.5],
                }
            )
    return {"target": SIMULATED, "alphas": SIMULATED_ALPHAS, "seeds": SEEDS, "rows": rows}


#: Stored runs whose neurons are shown: experiment, settings, words.
NEURONS = (
    ("shi22-emergence", {"structure": "yes", "n": 1_000}, "patterns with structure"),
    ("shi22-emergence", {"structure": "no", "n": 1_000}, "the same without structure"),
    ("shi22-real", {"pair": "0/1", "training": "schedule"}, "digits 0 and 1"),
    ("shi22-real", {"pair": "3/8", "training": "schedule"}, "digits 3 and 8"),
    ("shi22-real", {"pair": "0/1", "training": "small"}, "digits 0 and 1, from a small start"),
    ("shi22-real", {"pair": "0/1", "training": "plain"}, "digits 0 and 1, plain descent"),
)


def neurons(store: Path) -> list[dict[str, Any]]:
    """Maps of neurons by step, of seed 0."""
    from gradfeat.lab import Store
    from gradfeat.lab.loading import experiment

    found = []
    with Store.open(store, readonly=True) as opened:
        for name, wanted, words in NEURONS:
            points = experiment(name).points("quick", [0], None)
            key = next(p.key for p in points if wanted.items() <= p.cell.items())
            arrays = opened.arrays(key)
            steps = [0, 1, 2, 60][: len(arrays["map_points"])]
            found.append(
                {
                    "words": words,
                    "experiment": name,
                    "points": np.round(arrays["map_points"], 3).tolist(),
                    "stars": np.round(arrays["map_stars"], 3).tolist(),
                    "steps": steps,
                    "cosines": np.round(median_cosines(arrays, steps), 3).tolist(),
                }
            )
    return found


def median_cosines(arrays: dict[str, np.ndarray], steps: list[int]) -> np.ndarray:
    """Median |cos| of the neurons with the star in the space of the inputs, at each step."""
    if "map_cosines" in arrays:
        return np.median(arrays["map_cosines"], axis=1)
    return arrays["mean_cosines"][np.isin(arrays["step"], steps)]


PAIRS = ((0, 1), (3, 8), (1, 7), (4, 9))
ROUNDS = 5


def metrics() -> list[dict[str, Any]]:
    """Diagonal and first eigenvector of an RFM's metric, round by round, on pairs of digits."""
    import torch
    from sklearn.datasets import load_digits

    from gradfeat.models.kernels.radial import Laplace
    from gradfeat.models.rfm import RFM
    from gradfeat.rows import in_memory

    X, labels = load_digits(return_X_y=True)
    found = []
    for pair in PAIRS:
        of_pair = np.isin(labels, pair)
        inputs = torch.tensor(X[of_pair] / 16)
        y = torch.tensor(np.where(labels[of_pair] == pair[1], 1.0, -1.0))[:, None]
        train, test = slice(0, None, 2), slice(1, None, 2)
        learner, rounds = RFM(Laplace(4.0), alpha=1e-2, n_iter=ROUNDS), []
        for machine in learner.fit_path(in_memory(inputs[train], y[train])):
            M = machine.M.numpy()
            vector = np.linalg.eigh(M)[1][:, -1]
            margin = float((machine(inputs[test]) * y[test]).mean())
            wrong = int(((machine(inputs[test]) * y[test]) <= 0).sum())
            rounds.append(
                {
                    "diagonal": np.round(np.diag(M) / M.trace(), 5).tolist(),
                    "vector": np.round(vector * np.sign(vector.sum()), 4).tolist(),
                    "margin": round(margin, 3),
                    "wrong": wrong,
                }
            )
        mean = [inputs[(y[:, 0] == sign)].mean(0).numpy().round(3).tolist() for sign in (-1, 1)]
        found.append({"pair": pair, "rounds": rounds, "means": mean, "tested": len(y[test])})
    return found


def tables() -> list[dict[str, Any]]:
    """What `gradfeat.diagnose` says of three tables."""
    import pandas as pd
    from sklearn.datasets import load_breast_cancer, load_diabetes

    import gradfeat

    asked = (
        ("Bicycle rentals", pd.read_csv(ROOT / "examples/data/bikeshare.csv"), "log_bikers"),
        ("Diabetes", load_diabetes(as_frame=True).frame, "target"),
        ("Breast cancer", load_breast_cancer(as_frame=True).frame, "target"),
    )
    found = []
    for words, table, target in asked:
        result = gradfeat.diagnose(table, target, time=120)
        loadings = result.directions.iloc[:, :1].dropna()
        found.append(
            {
                "words": words,
                "target": target,
                "rows": len(table),
                "degrees": json.loads(result.table.to_json(orient="records", double_precision=4)),
                "shares": json.loads(result.shares.to_json(orient="records", double_precision=4)),
                "loadings": [[k, round(float(v), 3)] for k, v in loadings.iloc[:, 0].items()],
                "verdict": result.verdict,
                "advice": result.advice,
            }
        )
    return found


def main() -> None:
    """Make the parts asked for, and keep the others."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--store", type=Path, default=ROOT / "gallery.sqlite")
    asked = parser.parse_args()
    parts: dict[str, Callable[[], Any]] = {
        "tables": tables,
        "metrics": metrics,
        "neurons": lambda: neurons(asked.store),
        "simulations": simulations,
        "spectra": spectra,
        "errors": errors,
    }
    data = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {}
    data |= {"axes": AXES, "rows": N_ROWS, "outliers": OUTLIERS, "interval": INTERVAL}
    for name in asked.parts or parts:
        print(name, flush=True)
        data[name] = parts[name]()
        FILE.write_text(json.dumps(data, separators=(",", ":"), ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    main()
