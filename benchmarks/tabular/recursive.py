"""Recursive feature machines: gradfeat's estimators and the xrfm package.

xrfm wants held-out rows to choose its number of rounds: its default fits on four fifths, as its
documentation shows. Its search tries eight settings one parameter after another, from the default
on, and refits the best on all rows with the best number of rounds. Columns are standardised but
0/1 ones, as its documentation asks; so is the target.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from problem import Array, Fitted, Problem, squared_error
from search import Searched, Settings
from standardised import column_scale

DEFAULT = {"bandwidth": 10.0, "exponent": 1.0, "diag": False, "reg": 1e-3}
STEPS = (
    ({"diag": True},),
    ({"reg": 1e-2}, {"reg": 1e-1}),
    ({"bandwidth": 5.0}, {"bandwidth": 20.0}),
    ({"exponent": 0.7}, {"exponent": 1.3}),
)


def _gradfeat(problem: Problem, settings: Settings) -> Fitted:
    from gradfeat import RFMClassifier, RFMRegressor

    make = RFMClassifier if problem.classes else RFMRegressor
    model: Any = make(**settings).fit(problem.X, problem.y)
    return model.predict_proba if problem.classes else model.predict


def gradfeat(problem: Problem) -> Fitted:
    return _gradfeat(problem, {})


def gradfeat_full(problem: Problem) -> Fitted:
    return _gradfeat(problem, {"search": "full"})


def _xrfm(held: Problem, settings: Settings, rounds: int, *, choose: bool) -> tuple[Fitted, int]:
    """Fit on the held-out problem's training rows; also the number of rounds taken."""
    import torch
    from xrfm import xRFM

    centre, spread = column_scale(held.X, keep_binary=True)
    shift, unit = (0.0, 1.0) if held.classes else (held.y.mean(), held.y.std() or 1.0)

    def inputs(X: Array) -> Any:
        return torch.tensor((X - centre) / spread, dtype=torch.float32)

    def targets(y: Array) -> Any:
        return torch.tensor(y if held.classes else ((y - shift) / unit).astype(np.float32))

    machine = {**settings, "kernel": "l2_high_dim", "bandwidth_mode": "constant"}
    fit = {"reg": machine.pop("reg"), "iters": rounds, "return_best_params": choose}
    fit |= {"get_agop_best_model": choose, "early_stop_rfm": False}
    parameters = {"model": machine, "fit": fit}
    model: Any = xRFM(rfm_params=parameters, device="cpu", random_state=0, verbose=False)
    model.fit(inputs(held.X), targets(held.y), inputs(held.X_test), targets(held.y_test))

    def predict(X: Array) -> Array:
        if held.classes:
            return np.asarray(model.predict_proba(inputs(X)), float)
        return np.asarray(model.predict(inputs(X)), float).ravel() * unit + shift

    return predict, model.trees[0]["model"].best_iter


def xrfm(problem: Problem) -> Fitted:
    return _xrfm(problem.held_out(), DEFAULT, 5, choose=True)[0]


def xrfm_search(problem: Problem) -> Searched:
    held = problem.held_out()

    def tried(settings: Settings) -> tuple[float, Settings, int]:
        predict, rounds = _xrfm(held, settings, 5, choose=True)
        return squared_error(held, predict(held.X_test)), settings, rounds

    best = tried(DEFAULT)
    for step in STEPS:
        trials = [tried({**best[1], **change}) for change in step]
        best = min([best, *trials], key=lambda trial: trial[0])
    _, settings, rounds = best
    everything = Problem(problem.X, problem.y, held.X_test, held.y_test, problem.classes)
    predict, _ = _xrfm(everything, settings, rounds, choose=False)
    return Searched(predict, {**settings, "rounds": rounds})
