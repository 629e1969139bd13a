"""predict-error: what one gradient step will bring, before anything is trained."""

# Apart: options are read and help is shown without the theory, which takes seconds to import.

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from gradfeat.maths.step_names import HeadName, Residual, RowLaw, RowUse

#: lambda unless another is given: that of the talk's figures.
PENALTY = 0.01


def predict_error(
    activation: Annotated[
        str,
        typer.Option(
            help="relu, centred_relu, truncated_relu, tanh, erf, sine (sin z - cos z + e^-1/2), or "
            "polynomial:P0,P1,... of 1, z, z^2, ..."
        ),
    ],
    teacher: Annotated[
        str,
        typer.Option(
            help="The target: a polynomial of directions, 'x1 + x1*x2/2 + He2(x3)'; Hermite "
            "coefficients of one direction, 0,1,0.5; or setting-1, setting-2."
        ),
    ],
    phi: Annotated[str | None, typer.Option(help="Inputs / rows: 0.5, 2/3.")] = None,
    psi: Annotated[str | None, typer.Option(help="Inputs / neurons.")] = None,
    n: Annotated[
        int | None, typer.Option("--n", help="Rows, beside --phi and --psi; left out: 2400.")
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Rows, in place of the ratios.")] = None,
    inputs: Annotated[int | None, typer.Option(help="Inputs, beside --rows.")] = None,
    width: Annotated[int | None, typer.Option(help="Neurons, beside --rows.")] = None,
    alpha: Annotated[
        str | None,
        typer.Option(help="Step size n^alpha: 0.2, a list 0.1,0.3 or a range FIRST:LAST:COUNT."),
    ] = None,
    eta: Annotated[str | None, typer.Option(help="Step size itself, in place of --alpha.")] = None,
    noise: Annotated[
        float | None, typer.Option(help="Standard deviation; left out: the setting's, or 0.")
    ] = None,
    penalty: Annotated[
        float, typer.Option(help="lambda of the ridge |y - Fa|^2/n + lambda |a|^2.")
    ] = PENALTY,
    residual: Annotated[Residual, typer.Option(help="What weights the gradient.")] = "y",
    weights: Annotated[
        RowLaw, typer.Option(help="First weights: rows on the unit sphere, or N(0, I/d).")
    ] = "sphere",
    head: Annotated[
        HeadName, typer.Option(help="Law of the head that the step starts from.")
    ] = "gaussian",
    intercept: Annotated[
        bool, typer.Option("--intercept", help="Fit the head with an intercept.")
    ] = False,
    gradient_rows: Annotated[
        int | None, typer.Option(help="Rows of the gradient; left out: as many as of the head.")
    ] = None,
    sample: Annotated[
        RowUse, typer.Option(help="Rows of the head: new, or the gradient's own.")
    ] = "fresh",
    output: Annotated[
        Literal["text", "json", "csv"], typer.Option("--format", help="How it is written.")
    ] = "text",
    figure: Annotated[
        Path | None, typer.Option(help="Error against step size, to FILE.png, .svg or .pdf.")
    ] = None,
) -> None:
    """Predict training and test error after one gradient step on the first layer; train nothing.

    The inputs are Gaussian, x1, x2, ... of the target are any orthogonal directions of them. For
    example:

    \b
    gradfeat predict-error --phi 1/2 --psi 2/3 --activation centred_relu \\
        --teacher setting-2 --alpha 0.2
    """
    from gradfeat.cli.predict_error.printing import tell
    from gradfeat.cli.predict_error.read import Options, PredictionSetting, Sizes, step_sizes

    sizes = Sizes.of(phi, psi, n, rows, inputs, width)
    options = Options(
        activation, teacher, noise, penalty, residual, sample, weights, head, intercept,
        gradient_rows,
    )  # fmt: skip
    setting = PredictionSetting.of(sizes, options)
    tell(setting, step_sizes(alpha, eta, setting.sizes.n), output, figure)
