"""predict-error: the prediction as text, JSON or CSV, and its figure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from gradfeat.cli.guard import check_figure_file, write_figure
from gradfeat.cli.predict_error.read import PredictionSetting
from gradfeat.cli.terminal import Format, Terminal, records_in
from gradfeat.theory.column_gain import MOST_POWERS
from gradfeat.theory.predicted_errors import Prediction, sees_nothing
from gradfeat.theory.ridge_errors import RidgeErrors
from gradfeat.theory.teacher import Teacher
from gradfeat.wording import MISSING, counted, finite, listed, number, percent, plain, text_table

#: Step sizes along a curve, evenly; the middles of the limit's stairs come beside them.
CURVE_POINTS = 21
STAIRS = [0.25 * ((k - 1) / k + k / (k + 1)) for k in range(1, MOST_POWERS + 1)]
#: Exponents that are always drawn: those of the theory of the limit.
LOW, HIGH = 0.0, 0.5


def tell(
    setting: PredictionSetting, alphas: Sequence[float], output: str, figure: Path | None
) -> None:
    """Predict, draw where asked, and print; `Refused` of what cannot be drawn or written."""
    if figure is not None:
        check_figure_file(figure)
    found = [setting.predicted(alpha) for alpha in alphas]
    if figure is not None:
        _draw(setting, found, figure)
    match output:
        case "json":
            typer.echo(json.dumps(record(setting, found), indent=1, allow_nan=False))
        case "csv":
            typer.echo(records_in([_row(one) for one in found], Format.CSV), nl=False)
        case _:
            _print(setting, found, figure)


def record(setting: PredictionSetting, found: Sequence[Prediction]) -> dict[str, Any]:
    """All that is known, in JSON's own values."""
    teacher, sizes, options = setting.teacher, setting.sizes, setting.options
    return finite(
        {
            **asdict(sizes),
            "inputs": sizes.inputs,
            "width": sizes.width,
            "activation": options.activation,
            "teacher": [
                {"degrees": list(degrees), "coefficient": value}
                for degrees, value in zip(
                    teacher.target.degrees, teacher.target.coefficients, strict=True
                )
            ],
            "along": list(teacher.coefficients),
            "noise": float(np.asarray(teacher.noise)),
            "power": float(teacher.power),
            "linear_share": teacher.linear**2 / float(teacher.power),
            "penalty": options.penalty,
            "residual": options.residual,
            "sample": options.sample,
            "weights": options.weights,
            "head": options.head,
            "intercept": options.intercept,
            "gradient_rows": options.gradient_rows or sizes.n,
            "predictions": [{**asdict(one), "gain_percent": 100 * gain(one)} for one in found],
        }
    )


def _row(one: Prediction) -> dict[str, Any]:
    """A row of the table; what is not known is empty."""
    cells = {
        "alpha": one.alpha,
        "eta": one.eta,
        **_named("", one.errors),
        **_named("limit_", one.limit),
        **_named("random_features_", one.random_features),
        "best_linear": one.best_linear,
        "gain_percent": 100 * gain(one),
        "degree": one.degree,
        "alignment": one.alignment,
    }
    numbers = {name: value if math.isfinite(value) else "" for name, value in cells.items()}
    return {**numbers, "regime": one.regime}


def _named(prefix: str, errors: RidgeErrors) -> dict[str, float]:
    return {f"{prefix}{name}": float(value) for name, value in asdict(errors).items()}


def _print(setting: PredictionSetting, found: Sequence[Prediction], figure: Path | None) -> None:
    console = Terminal()
    console.print(Text(header(setting)))
    console.print()
    console.print(_table(found))
    console.print()
    for sentence in regimes(setting, found):
        console.print(Text(f"- {sentence}"))
    console.print()
    console.print(Text(advice(setting, found), style="bold"))
    if figure is not None:
        console.say(f"Figure: {figure}")


def _table(found: Sequence[Prediction]) -> Table:
    errors = ("training\nloss", "training\nerror", "test\nerror")
    headings = ("alpha", "eta", *errors, "gain", "limit's\ntest", "l")
    shown = text_table(headings, right=range(1, len(headings)), fold=(0, 7))
    for place, one in enumerate(found, 1):
        shown.add_row(*_cells(one), end_section=place == len(found))
    first = found[0]
    shown.add_row("random features", "0", *_errors(first.random_features), "", "", "")
    shown.add_row("best linear model", "", "", "", number(first.best_linear), "", "", "")
    return shown


def _cells(one: Prediction) -> list[str]:
    size = f"{one.alpha:.4g}".replace("-", "−") if one.eta > 0 else "no step"
    rounded = round(100 * gain(one), 1) + 0.0  # no -0.0
    share = MISSING if math.isnan(rounded) else f"{rounded:.1f} %".replace("-", "−")
    limit = number(float(one.limit.test_error))
    return [size, steps(one.eta), *_errors(one.errors), share, limit, plain(one.degree)]


def _errors(errors: RidgeErrors) -> list[str]:
    return [number(float(value)) for value in asdict(errors).values()]


def _draw(setting: PredictionSetting, found: Sequence[Prediction], path: Path) -> None:
    """Error against alpha, the steps asked for marked."""
    from gradfeat.figures.step_errors import step_errors

    there = [one for one in found if math.isfinite(one.alpha)]
    curve = [setting.predicted(alpha) for alpha in _along([one.alpha for one in there])]
    write_figure(step_errors(curve, there, n=setting.sizes.n).figure.figure, path)


def _along(alphas: Sequence[float]) -> list[float]:
    """Exponents of a curve over the theory's span, and over these."""
    low, high = min(LOW, *alphas), max(HIGH, *alphas)
    stairs = [alpha for alpha in STAIRS if low < alpha < high]
    return sorted([*np.linspace(low, high, CURVE_POINTS).tolist(), *stairs])


#: Relative changes of the test error that are told from none: what the theory is good for.
RESOLVED = 0.01

_RESIDUALS = {
    "y": "y",
    "y - f0": "y - f0, f0 the network before the step",
    "ba22": "y - f0 in the scaling of Ba22",
}


def steps(eta: float) -> str:
    """A step size, or a ratio, in three digits.

    >>> steps(4.7432), steps(2400.0)
    ('4.74', '2,400')
    """
    return f"{eta:,.0f}" if eta >= 100 else f"{eta:.3g}"


def gain(one: Prediction) -> float:
    """Share of the test error of random features that the step takes away."""
    return 1 - float(one.errors.test_error) / float(one.random_features.test_error)


def header(setting: PredictionSetting) -> str:
    """What is predicted: network, rows, step, head and target."""
    sizes, options = setting.sizes, setting.options
    own = sizes.n if options.gradient_rows is None else options.gradient_rows
    new = "as many new rows" if own == sizes.n else f"{sizes.n:,} new rows"
    head = new if options.sample == "fresh" else "the gradient's rows, reused"
    size = "n = " if own == sizes.n else ""
    return (
        f"A network of {counted(round(sizes.width), 'neuron')} ({options.activation}) on "
        f"{counted(round(sizes.inputs), 'Gaussian input')}, phi = d/n = {steps(sizes.phi)} and psi "
        f"= d/N = {steps(sizes.psi)}: one gradient step of size eta = n^alpha on {size}{own:,} "
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


def regimes(setting: PredictionSetting, found: Sequence[Prediction]) -> list[str]:
    """Where it holds, each sentence once, those shared by several step sizes last."""
    different = dict.fromkeys(one.regime for one in found)
    parts = [part for regime in different for part in re.split(r"(?<=\.) (?=[A-Z])", regime)]
    own = sorted(dict.fromkeys(parts), key=lambda part: parts.count(part) > 1)
    return [
        *_joined(own),
        *_seen(setting.teacher),
        _direction(found[-1] if found[0].eta == 0 else found[0]),
        _assumed(setting, found[0]),
    ]


def _joined(sentences: Sequence[str]) -> list[str]:
    """What is said alike of several alpha, once.

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
        return "The training loss includes the ridge term, lambda |a|^2."
    return (
        "The step's direction and the target's have |cos| = "
        f"{number(one.alignment)}. The training loss includes the ridge term, lambda |a|^2."
    )


def _seen(teacher: Teacher) -> list[str]:
    """What one step sees of a target of several directions, or of one without a linear part."""
    varies = teacher.target_power - teacher.mean**2
    if sees_nothing(teacher):
        return ["E[y x] = 0: the step's direction is noise, and it finds none of the target's."]
    along = float(np.square(teacher.components(teacher.target.degree)[1:]).sum())
    if teacher.target.r == 1 or along > (1 - 1e-9) * varies:
        return []
    return [
        f"One step sees the direction of E[y x] alone: {percent(along / varies)} of the target's "
        "variance is a function of it, and the rest acts as noise."
    ]


#: First weights in words.
_WEIGHTS = {"sphere": "on the unit sphere", "gaussian": "from N(0, I/d)"}
_HEADS = {"gaussian": "Gaussian", "sign": "signs", "uniform": "uniform", "ones": "all alike"}


def _assumed(setting: PredictionSetting, one: Prediction) -> str:
    options = setting.options
    fitted = ", an intercept fitted" if options.intercept else ""
    return (
        f"The prediction assumes x ~ N(0, I), first weights {_WEIGHTS[options.weights]}, entries "
        f"of the first head {_HEADS[options.head]}{fitted}, and many rows, inputs and neurons. The "
        f"best linear model ({number(one.best_linear)}) is the linear function of least test error."
    )


def advice(setting: PredictionSetting, found: Sequence[Prediction]) -> str:
    """What to do with it, in a sentence or two."""
    if all(one.eta == 0 for one in found):
        return "No step is taken: give an eta above 0 to see what a gradient brings."
    known = [one for one in found if math.isfinite(float(one.errors.test_error))]
    if not known:
        reused = setting.options.sample == "reused"
        if math.isfinite(float(setting.predicted(0.0).errors.test_error)):
            new = ", or new rows (--sample fresh)" if reused else ""
            return f"No test error is predicted for this step: take a smaller one{new}."
        if reused and math.isfinite(float(found[0].random_features.test_error)):
            return "No test error is predicted at any step on these rows: --sample fresh takes new."
        return "No test error is predicted at these sizes, at no step."
    best = min(known, key=lambda one: float(one.errors.test_error))
    if best.eta == 0:
        return "None of these steps is predicted to do better than random features without a step."
    what = f"A step of eta = {steps(best.eta)}"
    if len(found) > 1:
        what = f"Of these steps eta = {steps(best.eta)} (alpha = {best.alpha:.3g})"
    effect = _effect(best, len(found) > 1)
    return f"{what} is predicted to {effect} {_against_linear(best, setting.teacher)}"


def _effect(best: Prediction, of_several: bool) -> str:
    change = f"the test error by {percent(abs(gain(best)))} over random features"
    if abs(gain(best)) < RESOLVED:
        return (
            "change the test error by less than 1 %: random features, without a step, do as well."
        )
    if gain(best) > 0:
        return f"{'be the best, and to ' if of_several else ''}lower {change}."
    return f"raise {change}: leave the first layer as it is."


def _against_linear(best: Prediction, teacher: Teacher) -> str:
    linear = number(best.best_linear)
    if float(best.errors.test_error) < best.best_linear:
        return (
            f"It is below that of the best linear model ({linear}): no linear model does as well, "
            "on however many rows."
        )
    if sees_nothing(teacher):
        return (
            f"It stays above the best linear model ({linear}), which is the mean of y: the target "
            "has no linear part."
        )
    return (
        f"It stays above that of the best linear model ({linear}), which linear regression comes "
        "near on enough rows."
    )
