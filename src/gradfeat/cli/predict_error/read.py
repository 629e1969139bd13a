"""The words of the command, read: numbers, lists, ranges, activations, targets, step sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gradfeat.cli.guard import Refused
from gradfeat.errors import choices
from gradfeat.maths.activations import NAMES, Activation, Polynomial
from gradfeat.maths.activations import activation as named
from gradfeat.maths.polynomial_text import polynomial
from gradfeat.maths.step_names import HeadName, Residual, RowLaw, RowUse
from gradfeat.theory.head_law import HeadLaw
from gradfeat.theory.predicted_errors import MOST_ALPHA, MOST_ROWS, Prediction, predict_error
from gradfeat.theory.teacher import Teacher

#: Values in a list or range, at most.
MOST_VALUES = 200
#: Of functions that are no polynomials; `gradfeat.maths.hermite.hermite_coefficients` has others.
_COEFFICIENTS = "0,0.606,0,-0.0606 of tanh or 0.798,0,0.399,0,-0.0332 of |x|"
#: Targets of the talk.
SETTINGS = {
    "setting-1": Teacher.single((0.0, 1.0), 1.0),
    "setting-2": Teacher.single((0.0, 1.0, 0.5**0.5)),
}


def number(option: str, text: str) -> float:
    """A finite number, or a fraction of two; of anything else `Refused`.

    >>> number("--phi", "0.5"), round(number("--psi", "2/3"), 3)
    (0.5, 0.667)
    """
    try:
        above, *below = (float(part) for part in text.split("/", 1))
        value = above / below[0] if below else above
    except (ValueError, ZeroDivisionError):
        value = math.nan
    if not math.isfinite(value):
        raise Refused(f"{option} has {text!r}: give a finite number such as 0.5, or a fraction 2/3")
    return value


def positive(option: str, text: str) -> float:
    """A number above 0; of any other `Refused`."""
    if (value := number(option, text)) <= 0:
        raise Refused(f"{option} is {text}: give a number above 0, such as 0.5 or 2/3")
    return value


def numbers(option: str, text: str) -> list[float]:
    """Numbers in a list, `0.1,0.2`, or COUNT of them evenly from FIRST to LAST.

    `Refused` where a part is no number, or there are too many.
    """
    if ":" not in text:
        found = [number(option, part.strip()) for part in text.split(",")]
        if len(found) > MOST_VALUES:
            raise Refused(f"{option} has {len(found)} values: give at most {MOST_VALUES}")
        return found
    parts = text.split(":")
    if len(parts) != 3 or not parts[2].strip().isdecimal():
        raise Refused(f"{option} is {text!r}: a range is FIRST:LAST:COUNT, such as 0:0.45:10")
    count = int(parts[2])
    if not 2 <= count <= MOST_VALUES:
        raise Refused(f"{option} is a range with COUNT {count}: give 2 to {MOST_VALUES}")
    first, last = (number(option, part) for part in parts[:2])
    return np.linspace(first, last, count).tolist()


def activation(text: str) -> Activation:
    """An activation by its name, or `polynomial:` and coefficients of 1, z, z^2, ...

    `Refused` of an unknown name, or of coefficients that are no numbers.
    """
    kind, colon, coefficients = text.partition(":")
    if kind == "polynomial" and colon:
        parts = coefficients.split(",")
        return Polynomial(tuple(number("--activation", part.strip()) for part in parts))
    if text in NAMES:
        return named(text)
    known = choices(text, [*NAMES, "polynomial:P0,P1,..."])
    raise Refused(
        f"--activation is {text!r}, which is none{known} sine stands for sin z - cos z + e^-1/2."
    )


def target(text: str, noise: float | None) -> Teacher:
    """A setting of the talk, the target of these Hermite coefficients, or of a polynomial.

    `Refused` where it is neither, or the noise is negative or not finite.

    >>> target("0,1,1/2", None).coefficients, float(target("setting-1", 0.5).noise)
    ((0.0, 1.0, 0.5), 0.5)
    >>> target("x1 + x1*x2/2", None).target.degrees
    ((1, 0), (1, 1))
    """
    if noise is not None and not 0 <= noise < math.inf:
        raise Refused(f"--noise is {noise:g}: give a standard deviation of 0 or more")
    try:
        if text in SETTINGS:
            known = SETTINGS[text]
            return known if noise is None else Teacher(known.target, noise)
        spread = 0.0 if noise is None else noise
        if text.strip() and text.strip("0123456789.,/eE+-_ ") == "":
            parts = (number("--teacher", part.strip()) for part in text.split(","))
            return Teacher.single(tuple(parts), spread)
        return Teacher(polynomial(text), spread)
    except ValueError as error:
        raise Refused(
            f"--teacher: {str(error).removesuffix('.')}; or {', '.join(SETTINGS)}; or, of another "
            "function g of one direction, its Hermite coefficients E[g(Z) He_k(Z)]/k!, k = 0, 1, "
            f"..., such as {_COEFFICIENTS}"
        ) from None


def step_sizes(alpha: str | None, eta: str | None, n: int) -> list[float]:
    """Exponents alpha of the step sizes n^alpha, given as such or by their sizes.

    `Refused` of both or none, and of a step below 0 or above n.

    >>> step_sizes(None, "0,10", 100)
    [-inf, 0.5]
    """
    if (alpha is None) == (eta is None):
        raise Refused("how large is the step? give one of --alpha (n^alpha) and --eta")
    if alpha is not None:
        found = numbers("--alpha", alpha)
    else:
        found = [_exponent(value, n) for value in numbers("--eta", eta or "")]
    if max(found) > MOST_ALPHA + 1e-12:
        raise Refused(
            f"a step of n^{max(found):.3g} is asked for: give alpha of at most {MOST_ALPHA:g}, "
            f"which is eta = {n}"
        )
    return found


def _exponent(eta: float, n: int) -> float:
    if eta < 0:
        raise Refused(f"--eta is {eta:g}: give a step size of 0 or more")
    return math.log(eta) / math.log(n) if eta > 0 else -math.inf


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
    residual: Residual
    sample: RowUse
    weights: RowLaw
    head: HeadName
    intercept: bool
    gradient_rows: int | None = None


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

        `Refused` of an unknown name, of coefficients that are no numbers, of more directions than
        inputs, and where y is always 0.
        """
        sigma, teacher = activation(options.activation), target(options.teacher, options.noise)
        if not teacher.power > 0:
            raise Refused("E y^2 is 0: give a target or noise that is not always 0")
        if teacher.target.r > sizes.inputs:
            raise Refused(
                f"the target's directions ({teacher.target.r}) are more than its inputs"
                f" ({sizes.inputs:.4g}): give as many inputs at least, by {_SIZES}"
            )
        return cls(sizes, options, sigma, teacher)

    def predicted(self, alpha: float) -> Prediction:
        """The prediction for eta = n^alpha.

        `Refused` of what the theory refuses, and where its equations cannot be solved.
        """
        sizes, options = self.sizes, self.options
        rows = options.gradient_rows
        own = None if rows is None else sizes.inputs / _count("--gradient-rows", rows)
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
                    residual=options.residual,
                    sample=options.sample,
                    rows=options.weights,
                    intercept=options.intercept,
                    head=HeadLaw.named(options.head),
                    gradient_phi=own,
                )
        except ValueError as error:
            raise Refused(str(error)) from None
        except ArithmeticError as error:
            raise Refused(
                f"the equations of theory cannot be solved at these numbers ({error}): give a "
                "smaller step, a larger penalty, or ratios and coefficients nearer to 1"
            ) from None
