"""predict-error: the prediction as text, JSON or CSV, and its figure."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from gradfeat.cli.figures import check_file, write_figure
from gradfeat.cli.predict_error.sentences import advice, gain, header, regimes, steps
from gradfeat.cli.predict_error.setting import PredictionSetting
from gradfeat.cli.terminal import Terminal
from gradfeat.drawing.numbers import MISSING, number, plain
from gradfeat.drawing.text_tables import text_table
from gradfeat.interface.plain_values import finite
from gradfeat.theory.column_gain import MOST_POWERS
from gradfeat.theory.predicted_errors import Prediction
from gradfeat.theory.ridge_errors import RidgeErrors

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
        check_file(figure)
    found = [setting.predicted(alpha) for alpha in alphas]
    if figure is not None:
        _draw(setting, found, figure)
    match output:
        case "json":
            typer.echo(json.dumps(record(setting, found), indent=1, allow_nan=False))
        case "csv":
            typer.echo(_csv(found), nl=False)
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
            "teacher": list(teacher.coefficients),
            "noise": float(np.asarray(teacher.noise)),
            "power": float(teacher.power),
            "linear_share": teacher.linear**2 / float(teacher.power),
            "penalty": options.penalty,
            "residual": options.residual,
            "sample": options.sample,
            "predictions": [{**asdict(one), "gain_percent": 100 * gain(one)} for one in found],
        }
    )


def _csv(found: Sequence[Prediction]) -> str:
    rows = [_row(one) for one in found]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


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
    numbers = {name: "" if math.isnan(value) else value for name, value in cells.items()}
    return {**numbers, "regime": one.regime}


def _named(prefix: str, errors: RidgeErrors) -> dict[str, float]:
    return {f"{prefix}{name}": float(value) for name, value in asdict(errors).items()}


def _print(setting: PredictionSetting, found: Sequence[Prediction], figure: Path | None) -> None:
    console = Terminal()
    console.print(Text(header(setting)))
    console.print()
    console.print(_table(found))
    console.print()
    for sentence in regimes(found):
        console.print(Text(f"- {sentence}"))
    console.print()
    console.print(Text(advice(found), style="bold"))
    if figure is not None:
        console.print(f"Figure: {figure}", markup=False, soft_wrap=True)


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
    size = f"{one.alpha:.4g}".replace("-inf", "-∞").replace("-", "−")
    rounded = round(100 * gain(one), 1) + 0.0  # no -0.0
    share = MISSING if math.isnan(rounded) else f"{number(rounded, 1)} %"
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
