"""What is predicted, where it holds and what to do with it, in sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from gradfeat.cli.predict_error.setting import PredictionSetting
from gradfeat.drawing.numbers import count, listed, number, percent
from gradfeat.theory.predicted_errors import Prediction

#: Relative changes of the test error that are told from none: what the theory is good for.
RESOLVED = 0.01

_RESIDUALS = {
    "y": "y",
    "y - f0": "y - f0, f0 the network before the step",
    "ba22": "y - f0 in the scaling of Ba22",
}


def steps(eta: float) -> str:
    """A step size, or a ratio, in three digits.

    Examples
    --------
    >>> steps(4.7432), steps(2400.0)
    ('4.74', '2,400')
    """
    return f"{eta:,.0f}" if eta >= 100 else f"{eta:.3g}"


def gain(one: Prediction) -> float:
    """Share of the test error of random features that the step takes away."""
    plain = float(one.random_features.test_error)
    return 1 - float(one.errors.test_error) / plain


def header(setting: PredictionSetting) -> str:
    """What is predicted: network, rows, step, head and target."""
    sizes, options = setting.sizes, setting.options
    head = "as many new rows" if options.sample == "fresh" else "the same rows"
    return (
        f"A network of {count(round(sizes.width), 'neuron')} ({options.activation}) on "
        f"{count(round(sizes.inputs), 'Gaussian input')}, phi = d/n = {steps(sizes.phi)} and psi = "
        f"d/N = {steps(sizes.psi)}: one gradient step of size eta = n^alpha on n = {sizes.n:,} "
        f"rows, the gradient weighted by {_RESIDUALS[options.residual]}; then ridge, lambda = "
        f"{options.penalty:g}, on {head}. The target has {_shares(setting)}."
    )


def _shares(setting: PredictionSetting) -> str:
    teacher = setting.teacher
    power, noise = float(teacher.power), float(np.square(teacher.noise))
    constant = teacher.coefficients[0] ** 2
    beyond = power - constant - teacher.linear**2 - noise
    parts = [f"{percent(teacher.linear**2 / power)} linear"]
    if beyond > 1e-9 * power:
        parts.append(f"{percent(beyond / power)} of higher degree")
    if constant > 0:
        parts.append(f"{percent(constant / power)} constant")
    parts.append(f"{percent(noise / power)} noise" if noise > 0 else "no noise")
    return f"E y^2 = {number(power)}: {listed(parts)}"


def regimes(found: Sequence[Prediction]) -> list[str]:
    """Where it holds, each sentence once, those shared by several step sizes last."""
    different = dict.fromkeys(one.regime for one in found)
    parts = [part for regime in different for part in re.split(r"(?<=\.) (?=[A-Z])", regime)]
    own = sorted(dict.fromkeys(parts), key=lambda part: parts.count(part) > 1)
    return [*_joined(own), _direction(found[0]), _assumed(found[0])]


def _joined(sentences: Sequence[str]) -> list[str]:
    """What is said alike of several alpha, once.

    Examples
    --------
    >>> _joined(["alpha = 0 is an edge.", "alpha < 0.", "alpha = 0.25 is an edge."])
    ['alpha = 0 and 0.25: an edge.', 'alpha < 0.']
    """
    said: dict[str, list[str]] = {}
    for sentence in sentences:
        alpha, _, what = sentence.removeprefix("alpha = ").partition(" is ")
        same = sentence.startswith("alpha = ") and what
        said.setdefault(what if same else sentence, []).extend([alpha] if same else [])
    return [
        f"alpha = {listed(values)}{':' if len(values) > 1 else ' is'} {what}" if values else what
        for what, values in said.items()
    ]


def _direction(one: Prediction) -> str:
    if math.isnan(one.alignment):
        return "The training loss has the ridge term in it."
    return (
        "The alignment |cos| of the step's direction with the target's is "
        f"{number(one.alignment)}; the training loss has the ridge term in it."
    )


def _assumed(one: Prediction) -> str:
    return (
        "All of it is for x ~ N(0, I), first weights on the unit sphere and large sizes. The best "
        f"linear model ({number(one.best_linear)}) is that of unlimited rows, with an intercept."
    )


def advice(found: Sequence[Prediction]) -> str:
    """What to do with it, in a sentence or two."""
    known = [one for one in found if math.isfinite(float(one.errors.test_error))]
    if not known:
        return (
            "No test error is predicted for this step: take 0 < alpha < 1/4, or new rows for the "
            "head (--sample fresh)."
        )
    best = min(known, key=lambda one: float(one.errors.test_error))
    what = f"A step of eta = {steps(best.eta)}"
    if len(found) > 1:
        what = f"Of these steps eta = {steps(best.eta)} (alpha = {best.alpha:.3g})"
    effect = _effect(best, len(found) > 1)
    return f"{what} is predicted to {effect} {_against_linear(best, number(best.best_linear))}"


def _effect(best: Prediction, of_several: bool) -> str:
    change = f"the test error by {percent(abs(gain(best)))} over random features"
    if abs(gain(best)) < RESOLVED:
        return (
            "change the test error by less than 1 %: random features do as well without a gradient."
        )
    if gain(best) > 0:
        return f"{'be the best and to ' if of_several else ''}lower {change}."
    return f"raise {change}: leave the first layer as it is."


def _against_linear(best: Prediction, linear: str) -> str:
    if float(best.errors.test_error) < best.best_linear:
        return (
            f"It is below the best linear model ({linear}): the network holds more than a linear "
            "model can, with however many rows."
        )
    return (
        f"It stays above the best linear model ({linear}), which a linear fit comes near given "
        "enough rows."
    )
