"""Processor time of every public formula of `gradfeat.theory`: one evaluation, and a curve.

    python benchmarks/formula_times.py

One evaluation is the slowest call in the formula's own example, a curve is 100 step sizes from 1 to
n^0.49 at n = 800. Returns 1 where an evaluation takes 50 ms or more, or a curve a second.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import formulas_more
import numpy as np

from gradfeat.maths.activations import CentredReLU, Tanh
from gradfeat.maths.polynomial_text import polynomial
from gradfeat.theory.committee import committee_flow
from gradfeat.theory.finite_step_errors import finite_step_errors, finite_step_share
from gradfeat.theory.gradient_direction import gradient_direction
from gradfeat.theory.one_step_spectrum import feature_spectrum, first_layer_outlier, step_spikes
from gradfeat.theory.reused_sample_errors import reused_sample_errors
from gradfeat.theory.second_step import second_gradient
from gradfeat.theory.teacher import Teacher

N_ROWS, PHI, PSI = 800, 0.5, 2 / 3
TEACHER = Teacher(polynomial("x1 + x1*x2/2 + He2(x1)/3 + He2(x3)/4"), 0.5)
SHAPE = (PHI, PSI, 0.05, CentredReLU(), TEACHER)
#: Calls of an example that are timed, the first of which fills caches.
TIMES = 5


def evaluation(module: str, name: str) -> float:
    """Milliseconds of the slowest call in the example, the least of several runs."""
    place = importlib.import_module(f"gradfeat.theory.{module}")
    formula = getattr(place, name)
    took: list[float] = []

    def timed(*given: Any, **named: Any) -> Any:
        start = time.process_time()
        found = formula(*given, **named)
        took.append(time.process_time() - start)
        return found

    slowest = []
    for _ in range(TIMES):
        took.clear()
        names = vars(place) | {name: timed}
        with contextlib.redirect_stdout(io.StringIO()):
            for example in doctest.DocTestParser().get_examples(formula.__doc__):
                exec(example.source, names)
        slowest.append(max(took))
    return 1000 * min(slowest)


def each(call: Callable[[float], object]) -> Callable[[np.ndarray], object]:
    """A formula that takes one step size a call."""
    return lambda etas: [call(float(eta)) for eta in etas]


def curves() -> dict[str, Callable[[np.ndarray], object]]:
    """Formulas that say what follows from a step size, as calls for many."""
    relu, sizes = CentredReLU(), {"phi": PHI, "psi": PSI, "n": N_ROWS}
    beta, part = gradient_direction(PHI, relu, TEACHER), TEACHER.target.part(1)
    setting = (PHI, PSI, relu, TEACHER)
    flow = ([[0.5]], [[0.1]], [[1.0]])
    return {
        "finite_step_errors": lambda eta: finite_step_errors(*SHAPE, eta=eta, n=N_ROWS),
        "finite_step_share": lambda eta: finite_step_share(*SHAPE, part=part, eta=eta, n=N_ROWS),
        "reused_sample_errors": lambda eta: reused_sample_errors(*SHAPE, eta=eta, n=N_ROWS),
        "feature_spectrum": each(lambda eta: feature_spectrum(*setting, eta=eta, n=N_ROWS)),
        "step_spikes": lambda eta: step_spikes(relu, beta, eta, **sizes),
        "first_layer_outlier": lambda eta: first_layer_outlier(*setting, eta=eta),
        "second_gradient": each(lambda eta: second_gradient(he_3, Tanh(), 0.25, eta / 10)),
        "committee_flow": each(lambda eta: committee_flow(*flow, eta)),
    }


def he_3(z: np.ndarray) -> np.ndarray:
    return (z**3 - 3 * z) / math.sqrt(6)


def main() -> int:
    formulas = formulas_more.public_formulas()
    found = {name: evaluation(module, name) for name, module in formulas.items()}
    slow = {name: one for name, one in found.items() if one >= 1}
    print("| function | one evaluation |\n|---|---|")
    for name in sorted(slow, key=lambda name: -slow[name]):
        print(f"| `{name}` | {slow[name]:.0f} ms |")
    print(f"| the other {len(found) - len(slow)} | less than 1 ms each |")
    print("\n| function | 100 step sizes |\n|---|---|")
    etas, took = N_ROWS ** np.linspace(0, 0.49, 100), {}
    for name, call in curves().items():
        start = time.process_time()
        call(etas)
        took[name] = time.process_time() - start
        print(f"| `{name}` | {took[name]:.2f} s |")
    return int(max(found.values()) >= 50 or max(took.values()) >= 1)


if __name__ == "__main__":
    sys.exit(main())
