"""What a prediction is asked about: sizes, network and target."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gradfeat.cli.guard import Refused
from gradfeat.cli.predict_error.read import activation, positive, target
from gradfeat.maths.activations import Activation
from gradfeat.maths.residuals import RESIDUALS
from gradfeat.theory.predicted_errors import MOST_ROWS, Prediction, predict_error
from gradfeat.theory.teacher import Teacher

#: Rows where only ratios are given: those of the talk's figures.
ROWS = 2400

_SIZES = "--phi and --psi (with --n), or --rows, --inputs and --width"


@dataclass(frozen=True)
class Sizes:
    """phi = d/n, psi = d/N and n rows; d inputs and N neurons."""

    phi: float
    psi: float
    n: int

    @property
    def inputs(self) -> float:
        return self.phi * self.n

    @property
    def width(self) -> float:
        return self.inputs / self.psi

    @classmethod
    def of(
        cls,
        phi: str | None,
        psi: str | None,
        n: int | None,
        rows: int | None,
        inputs: int | None,
        width: int | None,
    ) -> Sizes:
        """Read ratios, or sizes; of both, of half, and of numbers out of range `Refused`.

        Examples
        --------
        >>> Sizes.of(None, None, None, 1800, 900, 1200)
        Sizes(phi=0.5, psi=0.75, n=1800)
        """
        ratios, counts = (phi, psi, n), (rows, inputs, width)
        if any(r is not None for r in ratios) and any(c is not None for c in counts):
            raise Refused(f"ratios and sizes are mixed: give either {_SIZES}")
        if phi is not None and psi is not None:
            n = _count("--n", ROWS if n is None else n)
            return cls(positive("--phi", phi), positive("--psi", psi), n)
        if rows is None or inputs is None or width is None:
            raise Refused(f"the sizes are not all there: give {_SIZES}")
        n, d = _count("--rows", rows), _count("--inputs", inputs, 1)
        return cls(d / n, d / _count("--width", width, 1), n)


def _count(option: str, value: int, least: int = 2) -> int:
    if not least <= value <= MOST_ROWS:
        raise Refused(f"{option} is {value}: give {least} to {MOST_ROWS:.0e}")
    return value


@dataclass(frozen=True)
class Options:
    """Network, target and head, in words; no noise is that of the named setting, or 0."""

    activation: str
    teacher: str
    noise: float | None
    penalty: float
    residual: str
    sample: str


@dataclass(frozen=True)
class PredictionSetting:
    """A network before its step: `predicted(alpha)` says what the step will bring."""

    sizes: Sizes
    options: Options
    activation: Activation
    teacher: Teacher

    @classmethod
    def of(cls, sizes: Sizes, options: Options) -> PredictionSetting:
        """Read the words.

        `Refused` of an unknown name, of coefficients that are no numbers, and where y is always 0.
        """
        sigma, teacher = activation(options.activation), target(options.teacher, options.noise)
        with np.errstate(over="ignore"):
            power = float(teacher.power)
        if not 0 < power < math.inf:
            raise Refused(f"E y^2 is {power:g}: give a target and noise that make it finite, not 0")
        return cls(sizes, options, sigma, teacher)

    def predicted(self, alpha: float) -> Prediction:
        """The prediction for eta = n^alpha.

        `Refused` of what the theory refuses, and where its equations cannot be solved.
        """
        sizes, options = self.sizes, self.options
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                return predict_error(
                    sizes.phi,
                    sizes.psi,
                    self.activation,
                    self.teacher,
                    n=sizes.n,
                    alpha=alpha,
                    penalty=options.penalty,
                    residual=next(name for name in RESIDUALS if name == options.residual),
                    sample=options.sample,
                )
        except ValueError as error:
            raise Refused(str(error)) from None
        except ArithmeticError as error:
            raise Refused(
                f"the equations of theory cannot be solved at these numbers ({error}): give a "
                "smaller step, a larger penalty, or ratios and coefficients nearer to 1"
            ) from None
