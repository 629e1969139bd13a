"""Fits in memory, and what else the estimators of the public API do."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import samples
import torch

import gradfeat

#: Notes one number or array: its name, the value, the bound.
Note = Callable[..., None]

PAIRS = ("Linear", "RandomFeatures", "Kernel", "GradientFeature", "InducedNetwork", "RFM")
KERNELS = (
    *("laplace", "laplace-0.7", "laplace-1.4", "laplace-l1", "laplace-l1-0.7", "gaussian"),
    *("matern12", "matern32", "matern52", "ntk", "nngp", "erf-ntk", "polynomial2", "polynomial3"),
)
SOLVERS = ("direct", "cg", "nystrom_cg", "eigenpro", "nystrom", "richardson")
ACTIVATIONS = ("relu", "centred_relu", "truncated_relu", "tanh", "erf")


def settings(model: Any) -> str:
    """The settings of a fit as text, numbers to nine digits."""
    plain = {k: f"{v:.9g}" if isinstance(v, float) else v for k, v in model.settings_.items()}
    return json.dumps(plain, sort_keys=True, default=str)


def said(model: Any, new: np.ndarray) -> np.ndarray:
    """Predictions, or probabilities of classes."""
    return model.predict_proba(new) if hasattr(model, "classes_") else model.predict(new)


def note_fit(note: Note, name: str, model: Any, new: np.ndarray, bound: str = "1e-9") -> None:
    """Predictions, settings and the AGOP."""
    note(f"{name}/predictions", said(model, new), bound)
    note(f"{name}/settings", f"{settings(model)}, {model.n_effective_directions_} directions")
    note(f"{name}/agop", model.agop_, bound)


def note_all(note: Note, name: str, model: Any, new: np.ndarray) -> None:
    """The same, and what else is read from the AGOP; directions as projector, free of signs."""
    note_fit(note, name, model, new)
    note(f"{name}/importances", model.importances_, "1e-9")
    note(f"{name}/eigenvalues", model.eigenvalues_, "1e-9")
    V = model.directions_
    note(f"{name}/directions", V @ V.T, "1e-6")


def make(kind: str, **options: Any) -> Any:
    """An estimator by its name."""
    return getattr(gradfeat, kind)(**options)


def defaults(note: Note, folder: Path) -> None:
    """Every estimator as it comes, and with random_state 3."""
    del folder
    for pair in PAIRS:
        for kind, data in (("Regressor", samples.diabetes()), ("Classifier", samples.wine())):
            name = pair + kind
            note_all(note, name, make(name).fit(data.X, data.y), data.new)
            model = make(name, random_state=3).fit(data.X, data.y)
            note_fit(note, f"{name} seed 3", model, data.new)


def weighted(note: Note, folder: Path) -> None:
    """Weights, several outputs, two classes, no search."""
    del folder
    data = samples.made(300)
    two = np.stack([data.y, data.y**2], axis=1)
    for pair in PAIRS:
        options: dict[str, Any] = {"search": None}
        model = make(f"{pair}Regressor", **options)
        weights = model.fit(data.X, data.y, sample_weight=data.w)
        note_fit(note, f"{pair}Regressor weights", weights, data.new)
        note_fit(note, f"{pair}Regressor two outputs", model.fit(data.X, two), data.new)
        model = make(f"{pair}Classifier", **options)
        model.fit(data.X, samples.labels(data.y), sample_weight=data.w)
        note_fit(note, f"{pair}Classifier two classes, weights", model, data.new)
        note(f"{pair}Classifier/decision", model.decision_function(data.new), "1e-9")


#: Settings other than the defaults, by estimator.
OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("LinearRegressor", {"penalty_by": by}) for by in ("loo", "gcv", "validation")),
    *(("RandomFeaturesRegressor", {"penalty_by": by}) for by in ("loo", "gcv", "validation")),
    *(("GradientFeatureRegressor", {"penalty_by": by}) for by in ("loo", "gcv", "validation")),
    *(("RandomFeaturesRegressor", {"activation": a, "width": 64}) for a in ACTIVATIONS),
    *(("GradientFeatureRegressor", {"activation": a, "width": 64}) for a in ACTIVATIONS),
    ("GradientFeatureRegressor", {"n_steps": None, "whiten": True}),
    ("GradientFeatureRegressor", {"n_steps": 3, "update": "gradient", "search": None}),
    ("GradientFeatureRegressor", {"n_steps": 3, "whiten": False, "search": None}),
    ("GradientFeatureRegressor", {"n_steps": 0, "step_size": 2.0, "search": None}),
    ("GradientFeatureRegressor", {"search": "full", "width": 64, "n_steps": None}),
    ("GradientFeatureRegressor", {"standardise": False, "search": None}),
    ("GradientFeatureRegressor", {"dtype": "float32", "search": None}),
    ("InducedNetworkRegressor", {"B_a2": 2.0, "search": None}),
    ("InducedNetworkRegressor", {"B_a1": 5.0, "B_a2": 2.0, "B_b": 1.0, "search": None}),
    ("InducedNetworkRegressor", {"linear": "none", "biases": 8, "search": None}),
    ("InducedNetworkRegressor", {"linear": "moment", "whiten": True, "search": None}),
    ("InducedNetworkClassifier", {"loss": "logistic", "B_a2": 2.0, "search": None}),
    ("KernelRegressor", {"kernel": None}),
    ("KernelRegressor", {"dtype": "float32", "search": None}),
    ("RFMRegressor", {"diagonal": True}),
    ("RFMRegressor", {"agop_power": 0.5, "centre_gradients": True, "search": None}),
    ("RFMRegressor", {"kernel": "laplace", "n_iter": 2, "normalisation": "max", "search": None}),
    ("RFMRegressor", {"directions": 2, "agop_rows": 100}),
    ("RFMRegressor", {"directions": None}),
    ("RFMRegressor", {"search": "full"}),
    ("RFMClassifier", {"loss": "logistic", "n_iter": 2, "search": None}),
    ("RFMClassifier", {"loss": None, "n_iter": 2}),
    ("RFMClassifier", {"class_weight": "balanced"}),
)


def options(note: Note, folder: Path) -> None:
    """Parameters other than the defaults."""
    del folder
    data = samples.made(250)
    words = samples.labels(data.y, 3)
    for kind, given in OPTIONS:
        model = make(kind, **given).fit(data.X, words if "Classifier" in kind else data.y)
        loose = "1e-6" if "float32" in given.values() or "logistic" in given.values() else "1e-9"
        note_fit(note, f"{kind} {json.dumps(given)}", model, data.new, loose)


def kernels(note: Note, folder: Path) -> None:
    """Every kernel by its name, with its gradients; every solver."""
    del folder
    data = samples.made(200)
    for kernel in KERNELS:
        model = make("KernelRegressor", kernel=kernel, bandwidth=3.0, alpha=0.1, search=None)
        model.fit(data.X, data.y)
        note(f"{kernel}/predictions", model.predict(data.new), "1e-9")
        note(f"{kernel}/agop", model.agop_, "1e-9")
        rfm = make("RFMRegressor", kernel=kernel, n_iter=2, search=None).fit(data.X, data.y)
        note(f"RFM {kernel}/predictions", rfm.predict(data.new), "1e-9")
    data = samples.made(500)
    for solver in SOLVERS:
        for dtype in ("float64", "float32"):
            model = make("KernelRegressor", solver=solver, alpha=1.0, dtype=dtype, search=None)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(data.X, data.y)
            bound = "1e-9" if dtype == "float64" else "1e-6"
            note(f"{solver} {dtype}/predictions", model.predict(data.new), bound)


def _network() -> torch.nn.Module:
    """A small torch network with given weights."""
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    draw = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randn(p.shape, generator=draw))
    return net.double()


def tools(note: Note, folder: Path) -> None:
    """AGOP, the ansatz, directions, features, partial fits, heads, files."""
    data = samples.made(300)
    net = _network()
    inputs = torch.as_tensor(data.X)
    note("agop/torch", gradfeat.agop(net, inputs).detach().numpy(), "1e-9")
    note("agop/function", gradfeat.agop(lambda X: np.sin(X[:, 0]) * X[:, 1], data.X), "1e-6")
    centred = gradfeat.agop(net, inputs, centre=True, standardise=False, rows=50)
    note("agop/centred", centred.detach().numpy(), "1e-9")
    for i, layer in enumerate(gradfeat.neural_feature_ansatz(net, inputs)):
        plain = {k: v for k, v in vars(layer).items() if isinstance(v, int | float)}
        for key, value in sorted(plain.items()):
            note(f"ansatz/{i}/{key}", value, "1e-9")
    for task, y in (("regression", data.y), ("classification", samples.labels(data.y))):
        scores = gradfeat.AGOPTransformer(3, task=task).fit(data.X, y).transform(data.new)
        note(f"AGOPTransformer/{task}", np.abs(scores), "1e-6")
    _features(note, data)
    _files(note, data, folder)


def _features(note: Note, data: samples.Data) -> None:
    for pair in ("RandomFeatures", "GradientFeature"):
        model = make(f"{pair}Regressor", width=64).fit(data.X, data.y)
        note(f"{pair}/transform", model.transform(data.new), "1e-9")
        head = model.refit_head(data.X[:80], np.abs(data.y[:80]))
        note(f"{pair}/refit_head", head.predict(data.new), "1e-9")
        note(f"{pair}/score", model.score(data.X, data.y), "1e-9")
        classes = make(f"{pair}Classifier", width=64).fit(data.X, samples.labels(data.y))
        head = classes.refit_head(data.X[:80], samples.labels(np.abs(data.y[:80]), 3))
        note(f"{pair}Classifier/refit_head", head.predict_proba(data.new), "1e-9")
    for kind, more in (("LinearRegressor", {}), ("RandomFeaturesRegressor", {"width": 32})):
        model = make(kind, alpha=1.0, standardise=False, **more)
        for part in (slice(0, 100), slice(100, 180), slice(180, 300)):
            model.partial_fit(data.X[part], data.y[part], sample_weight=data.w[part])
        note(f"{kind}/partial_fit", model.predict(data.new), "1e-9")
        note(f"{kind}/leading_directions", np.abs(model.leading_directions(1)), "1e-6")


def _files(note: Note, data: samples.Data, folder: Path) -> None:
    """A model that was stored says the same, to the bit."""
    words = samples.labels(data.y, 3)
    for pair in PAIRS:
        for kind, y in (("Regressor", data.y), ("Classifier", words)):
            model = make(f"{pair}{kind}", search=None).fit(data.X, y)
            path = folder / f"{pair}{kind}.gradfeat"
            gradfeat.save(model, path)
            again = gradfeat.load(path)
            same = np.array_equal(said(model, data.new), said(again, data.new))
            note(f"{pair}{kind}/the same after save and load", bool(same))
